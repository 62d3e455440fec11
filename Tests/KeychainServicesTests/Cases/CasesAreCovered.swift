// CasesAreCovered: every case is either run or named here with the reason why not.

import Testing

/// Rows that are left to the part that they are about.
private let leftOut: [String: [Int]] = [
    "about a control that forbids deletion, which no public function makes": [217],
    "about the order of groups in entitlements: tested where entitlements are read": [265, 266],
    "about macOS, where a caller without entitlements has the token group": [268, 281],
    "differs: an item that needs a passcode goes with the passcode (Differences.md)": [307],
    "about a race inside one search: tested in the engine": [310],
    "about an upgrade from an older format, of which there is none": [311, 353],
    "about metadata keys in the database: here they are in the keybag (Differences.md)": [
        346, 347,
    ],
    "about a file system that can't be written: tested in the engine": [352],
    "about an access control restored with another class: both are one value here": [355],
]

/// The numbers of the cases from section A to S, but for P.
private let cases: [ClosedRange<Int>] = [
    1...2, 4...5, 7...8, 10...14, 16...17, 19...20, 22...23, 25...26, 28...29, 31...32, 34...35,
    37...38, 40...41, 43...44, 46...47, 49...50, 52...53, 55...56, 58...59, 61...62, 64...65,
    67...68, 70...71, 73...74, 76...77, 79...80, 82...83, 85...86, 88...89, 91...92, 94...95,
    97...98, 100...101, 103...104, 106...107, 109...110, 112...113, 115...116, 118...119, 121...122,
    124...125, 127...128, 130...131, 133...134, 136...137, 139...140, 142...143, 145...146,
    148...149, 151...152, 154...155, 157...161, 163...164, 166...167, 169...170, 172...173,
    175...176, 178...179, 181...182, 184...185, 187...188, 190...191, 193...194, 196...197,
    199...200, 202...203, 205...206, 208...209, 211...212, 214...215, 217...218, 220...221,
    223...224, 226...227, 229...230, 232...233, 235...236, 238...239, 241...242, 244...245,
    247...248, 250...251, 253...254, 256...257, 259...260, 262...263, 265...266, 268...269,
    271...272, 274...275, 277...278, 280...281, 283...284, 286...287, 289...290, 292...293,
    295...296, 298...299, 301...302, 304...305, 307...308, 310...311, 313...314, 316...317,
    319...320, 322...323, 325...326, 328...329, 331...332, 334...335, 337...338, 340...341,
    343...344, 346...347, 349...350, 352...353, 355...355,
    364...365, 367...368, 370...371, 373...374, 376...377, 379...380, 382...383, 385...386,
    388...389, 391...392, 394...395, 397...398, 400...401, 403...404, 406...407,
    409...410, 412...413, 415...416, 418...419, 421...422, 424...425, 427...428, 430...431,
    433...434, 436...437, 439...440, 442...443, 445...446,
]

@Test func `every case is run or left out with a reason`() {
    let run =
        [
            sectionA, sectionB, sectionC, sectionD, sectionE, sectionF, sectionG, sectionH,
            sectionI, sectionJ, sectionK, sectionL, sectionM, sectionN, sectionQ, sectionR,
            sectionS,
        ].flatMap { $0.map(\.number) } + sectionO.map(\.number) + accessControlCases
        + secureEnclaveCases.map(\.number)
    let named = run + leftOut.values.flatMap { $0 }
    #expect(named.sorted() == cases.flatMap { Array($0) })
    #expect(run.count == 282)
}
