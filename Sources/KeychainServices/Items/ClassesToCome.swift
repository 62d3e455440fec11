// ClassesToCome: the classes that Apple has and this keychain doesn't keep yet.
//
// Everything that is answered with `errSecUnimplemented` for that reason is answered through
// this file. What a dictionary can get wrong about these classes is still told apart.

#if !canImport(Darwin)

internal import KeychainModel

/// A class whose items can't be kept yet. The raw value is Apple's `kSecClass…` constant.
enum ClassToCome: String {
    case certificate = "cert"
    case key = "keys"
    case identity = "idnt"

    /// Whether items of the class have the attribute of these four characters.
    func has(_ name: String) -> Bool {
        switch self {
        case .certificate: Self.certificateAttributes.contains(name)
        case .key: Self.keyAttributes.contains(name)
        case .identity:
            Self.certificateAttributes.contains(name) || Self.keyAttributes.contains(name)
        }
    }

    private static let certificateAttributes: Set<String> = Set(
        commonAttributes + ["ctyp", "cenc", "subj", "issr", "slnr", "skid", "pkhh"])
    private static let keyAttributes: Set<String> = Set(
        commonAttributes + [
            "kcls", "klbl", "atag", "crtr", "type", "bsiz", "esiz", "sdat", "edat", "perm",
            "priv", "modi", "sens", "asen", "extr", "next", "encr", "decr", "drve", "sign",
            "vrfy", "snrc", "vyrc", "wrap", "unwp",
        ])
    private static let commonAttributes = [
        "cdat", "mdat", "labl", "alis", "vwht", "tkid", "ggrp", "sysb", "pcss", "pcsk", "pcsi",
    ]
}

extension KeychainFailure {
    /// The answer to a request for something of Apple's that is not built.
    static func notBuilt(_ what: String) -> KeychainFailure {
        KeychainFailure(.unimplemented, "Not implemented: \(what).")
    }
}

#endif
