// CasesAreCovered: every case in Documentation/Cases.md is run, or is listed here with the reason
// why it isn't run.

import Foundation
import Testing

/// Cases that aren't run here, by reason.
private let leftOut: [String: [Int]] = [
    "about an access control that forbids deletion, which no public function creates": [217],
    "about the order of groups in entitlements: tested where entitlements are read": [265, 266],
    "about macOS, where a caller without entitlements has the token group": [268, 281],
    "differs: removing the passcode deletes items that require a passcode (Differences.md)": [307],
    "about a race inside one search: tested in the engine": [310],
    "about backups, which no function of Apple's API makes: tested in the engine": [
        356, 359, 361, 362,
    ],
    "about an upgrade from an older format: tested in FaultTests": [311, 353],
    "about metadata keys in the database: here they are in the keybag (Differences.md)": [
        346, 347,
    ],
    "about a file system that can't be written: tested in the engine": [352],
    "about an item whose access control and class disagree: both are one value here": [355],
]

/// The numbers of the cases in the document.
private func documentedCases() throws -> [Int] {
    let document = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Documentation/Cases.md").standardizedFileURL
    return try String(contentsOf: document, encoding: .utf8).split(separator: "\n")
        .compactMap { line in line.prefixMatch(of: /\| ([0-9]+) \|/).flatMap { Int($0.1) } }
}

@Test func `every case is run or left out with a reason`() throws {
    let run =
        [
            sectionA, sectionB, sectionC, sectionD, sectionE, sectionF, sectionG, sectionH,
            sectionI, sectionJ, sectionK, sectionL, sectionM, sectionN, sectionQ, sectionR,
            sectionS, sectionU,
        ].flatMap { $0.map(\.number) } + sectionO.map(\.number) + accessControlCases
        + secureEnclaveCases.map(\.number)
    let named = run + leftOut.values.flatMap { $0 }
    #expect(named.sorted() == (try documentedCases()))
    #expect(run.count == 289)
}
