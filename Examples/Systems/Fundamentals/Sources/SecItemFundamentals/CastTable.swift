// CastTable: the Swift type of the result for each return key, and for data with attributes, at
// each limit. Every row can be executed.

import Foundation
import Security

/// One row: a search, and the cast that reads its result.
public struct CastRow: Sendable, CustomStringConvertible {
    /// The return keys.
    public let returns: ReturnKeys
    /// The limit.
    public let limit: MatchLimit
    /// The class that is searched.
    public let itemClass: ItemClass
    /// The source text of the cast.
    public let cast: String
    /// Casts a result and describes its content. Returns `nil` if the result has a different type.
    public let read: @Sendable (CFTypeRef?) -> String?

    /// The classes that the table shows.
    public enum ItemClass: Sendable {
        /// Generic passwords, which have no reference objects.
        case genericPassword
        /// Keys, whose reference object is a `SecKey`.
        case key
    }

    /// The limit, the return keys and the class.
    public var description: String {
        "\(limit), \(returns)\(itemClass == .key ? " of keys" : "")"
    }

    /// The rows.
    public static let all: [CastRow] =
        [
            CastRow(returns: .data, cast: "as? Data") { ($0 as? Data).map(size) },
            CastRow(returns: .data, limit: .all, cast: "as? [Data]") {
                ($0 as? [Data])?.map(size).joined(separator: ", ")
            },
            CastRow(returns: .attributes, cast: "as? [String: Any]") {
                ($0 as? [String: Any]).flatMap(account)
            },
            CastRow(returns: .attributes, limit: .all, cast: "as? [[String: Any]]") {
                ($0 as? [[String: Any]])?.compactMap(account).joined(separator: ", ")
            },
            CastRow(returns: [.data, .attributes], cast: "as? [String: Any]") {
                ($0 as? [String: Any]).flatMap(accountAndData)
            },
            CastRow(returns: [.data, .attributes], limit: .all, cast: "as? [[String: Any]]") {
                ($0 as? [[String: Any]])?.compactMap(accountAndData).joined(separator: ", ")
            },
            CastRow(returns: .reference, cast: "== nil") { $0 == nil ? "no result" : nil },
            CastRow(returns: .reference, limit: .all, cast: "as? [AnyObject]") {
                ($0 as? [AnyObject]).map { "\($0.count) elements" }
            },
            CastRow(returns: .persistentReference, cast: "as? Data") { ($0 as? Data).map(size) },
            CastRow(returns: .persistentReference, limit: .all, cast: "as? [Data]") {
                ($0 as? [Data])?.map(size).joined(separator: ", ")
            },
            CastRow(returns: .reference, itemClass: .key, cast: "type ID, as! SecKey") {
                $0.flatMap(secKey).flatMap(keySize)
            },
            CastRow(
                returns: .reference, limit: .all, itemClass: .key,
                cast: "as? [AnyObject]"
            ) {
                ($0 as? [AnyObject])?.compactMap(secKey).compactMap(keySize)
                    .joined(separator: ", ")
            },
        ]

    private init(
        returns: ReturnKeys, limit: MatchLimit = .one, itemClass: ItemClass = .genericPassword,
        cast: String, read: @escaping @Sendable (CFTypeRef?) -> String?
    ) {
        self.returns = returns
        self.limit = limit
        self.itemClass = itemClass
        self.cast = cast
        self.read = read
    }

    /// Casts an object to a key.
    ///
    /// - Parameter object: Any object.
    /// - Returns: The key, or `nil` if the object is of another class.
    public static func secKey(_ object: AnyObject) -> SecKey? {
        guard CFGetTypeID(object) == SecKeyGetTypeID() else { return nil }
        // A Core Foundation type requires a forced cast. The guard above makes the cast safe.
        // swift-format-ignore: NeverForceUnwrap
        return (object as! SecKey)
    }
}

private func size(_ data: Data) -> String { "\(data.count) bytes" }

private func account(_ attributes: [String: Any]) -> String? {
    attributes[kSecAttrAccount as String] as? String
}

private func accountAndData(_ attributes: [String: Any]) -> String? {
    guard let account = account(attributes),
        let data = attributes[kSecValueData as String] as? Data
    else { return nil }
    return "\(account) with \(size(data))"
}

private func keySize(_ key: SecKey) -> String? {
    let attributes = SecKeyCopyAttributes(key) as? [String: Any]
    return (attributes?[kSecAttrKeySizeInBits as String] as? Int).map { "a key of \($0) bits" }
}
