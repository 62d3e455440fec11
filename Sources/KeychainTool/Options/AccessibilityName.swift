// AccessibilityName: the names of protection classes and of item classes on the command line.

import ArgumentParser
package import KeychainCore

extension ProtectionClass {
    /// The name on the command line: the words of Apple's constant, joined by hyphens.
    package var commandLineName: String {
        switch self {
        case .whenUnlocked: "when-unlocked"
        case .afterFirstUnlock: "after-first-unlock"
        case .always: "always"
        case .whenUnlockedThisDeviceOnly: "when-unlocked-this-device-only"
        case .afterFirstUnlockThisDeviceOnly: "after-first-unlock-this-device-only"
        case .alwaysThisDeviceOnly: "always-this-device-only"
        case .whenPasscodeSetThisDeviceOnly: "when-passcode-set-this-device-only"
        }
    }

    /// Accepts the names above, `when-passcode-set`, and the values of `kSecAttrAccessible`.
    package init?(commandLineName name: String) {
        if name == "when-passcode-set" {
            self = .whenPasscodeSetThisDeviceOnly
        } else if let match = Self.allCases.first(where: { $0.commandLineName == name })
            ?? ProtectionClass(code: name)
        {
            self = match
        } else {
            return nil
        }
    }
}

struct AccessibilityName: ExpressibleByArgument {
    let protection: ProtectionClass

    init?(argument: String) {
        guard let protection = ProtectionClass(commandLineName: argument) else { return nil }
        self.protection = protection
    }

    static var allValueStrings: [String] { ProtectionClass.allCases.map(\.commandLineName) }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

/// A class of items.
enum ClassName: String, CaseIterable, ExpressibleByArgument {
    case generic
    case internet
    case certificate
    case key

    var itemClass: ItemClass {
        switch self {
        case .generic: .genericPassword
        case .internet: .internetPassword
        case .certificate: .certificate
        case .key: .key
        }
    }

    /// The noun for an item of the class, such as "generic password".
    var noun: String {
        switch self {
        case .generic, .internet: rawValue + " password"
        case .certificate, .key: rawValue
        }
    }

    init(_ itemClass: ItemClass) {
        switch itemClass {
        case .genericPassword: self = .generic
        case .internetPassword: self = .internet
        case .certificate: self = .certificate
        case .key: self = .key
        }
    }
}
