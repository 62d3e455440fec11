// SearchKeys: the return keys and limits of a search, with Apple's constants.

import Foundation
import Security

/// The parts of an item that a search returns.
public struct ReturnKeys: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// One bit for each key.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The secret, `kSecReturnData`.
    public static let data = ReturnKeys(rawValue: 1)
    /// The attributes, `kSecReturnAttributes`.
    public static let attributes = ReturnKeys(rawValue: 2)
    /// An object that represents the item, `kSecReturnRef`. On iOS, passwords have no such object.
    public static let reference = ReturnKeys(rawValue: 4)
    /// Bytes that identify the item for as long as it exists, `kSecReturnPersistentRef`.
    public static let persistentReference = ReturnKeys(rawValue: 8)

    /// All 16 combinations.
    public static let combinations = (0..<16).map { ReturnKeys(rawValue: $0) }

    /// Apple's constants for these keys.
    public var keys: [CFString] {
        var keys: [CFString] = []
        if contains(.data) { keys.append(kSecReturnData) }
        if contains(.attributes) { keys.append(kSecReturnAttributes) }
        if contains(.reference) { keys.append(kSecReturnRef) }
        if contains(.persistentReference) { keys.append(kSecReturnPersistentRef) }
        return keys
    }

    /// The names of the keys.
    public var description: String {
        let names: [(ReturnKeys, String)] = [
            (.data, "data"), (.attributes, "attributes"), (.reference, "reference"),
            (.persistentReference, "persistent"),
        ]
        let parts = names.filter { contains($0.0) }.map { $0.1 }
        return parts.isEmpty ? "no key" : parts.joined(separator: " + ")
    }
}

/// The number of items that a search returns.
public enum MatchLimit: CaseIterable, Sendable {
    /// One item, which is the default of `SecItemCopyMatching`.
    case one
    /// All items, as an array.
    case all

    /// The value of `kSecMatchLimit`.
    public var value: CFString {
        switch self {
        case .one: return kSecMatchLimitOne
        case .all: return kSecMatchLimitAll
        }
    }
}
