// SearchKeys: what a search gives, and of how many items, by Apple's constants.

import Foundation
import Security

/// What a search gives of an item.
public struct ReturnKeys: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// One bit for each key.
    public let rawValue: Int

    /// The keys of these bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The secret, `kSecReturnData`.
    public static let data = ReturnKeys(rawValue: 1)
    /// The attributes, `kSecReturnAttributes`.
    public static let attributes = ReturnKeys(rawValue: 2)
    /// An object that stands for the item, `kSecReturnRef`. Passwords have none on iOS.
    public static let reference = ReturnKeys(rawValue: 4)
    /// Bytes that name the item as long as it exists, `kSecReturnPersistentRef`.
    public static let persistentReference = ReturnKeys(rawValue: 8)

    /// All 16 combinations.
    public static let combinations = (0..<16).map { ReturnKeys(rawValue: $0) }

    /// Apple's constants of these keys.
    public var keys: [CFString] {
        var keys: [CFString] = []
        if contains(.data) { keys.append(kSecReturnData) }
        if contains(.attributes) { keys.append(kSecReturnAttributes) }
        if contains(.reference) { keys.append(kSecReturnRef) }
        if contains(.persistentReference) { keys.append(kSecReturnPersistentRef) }
        return keys
    }

    /// The keys in words.
    public var description: String {
        let names: [(ReturnKeys, String)] = [
            (.data, "data"), (.attributes, "attributes"), (.reference, "reference"),
            (.persistentReference, "persistent"),
        ]
        let parts = names.filter { contains($0.0) }.map { $0.1 }
        return parts.isEmpty ? "no key" : parts.joined(separator: " + ")
    }
}

/// Of how many items a search gives something.
public enum MatchLimit: CaseIterable, Sendable {
    /// One, which is what `SecItemCopyMatching` does without a limit.
    case one
    /// All, as an array.
    case all

    /// The value of `kSecMatchLimit`.
    public var value: CFString {
        switch self {
        case .one: return kSecMatchLimitOne
        case .all: return kSecMatchLimitAll
        }
    }
}
