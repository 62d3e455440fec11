// ResultShape: the form of SecItemCopyMatching's result for each combination of return keys and
// limit.

import Foundation
import Security

/// The form of a result, without its content.
public enum ResultShape: Equatable, Sendable, CustomStringConvertible {
    /// No result.
    case nothing
    /// The secret.
    case data
    /// A persistent reference of 20 bytes.
    case persistentReference
    /// A dictionary with these parts.
    case dictionary(Parts)
    /// An array of elements with this form.
    indirect case array(of: ResultShape, count: Int)
    /// Any other form.
    case other

    /// The parts of a dictionary.
    public struct Parts: OptionSet, Hashable, Sendable {
        /// One bit for each part.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Attributes, including the account.
        public static let attributes = Parts(rawValue: 1)
        /// `kSecValueData`.
        public static let data = Parts(rawValue: 2)
        /// `kSecValuePersistentRef`.
        public static let persistentReference = Parts(rawValue: 4)
        /// `kSecClass`, which is returned only together with a reference.
        public static let itemClass = Parts(rawValue: 8)
        /// `kSecValueRef`.
        public static let reference = Parts(rawValue: 16)
    }

    /// Determines the form of a result.
    ///
    /// - Parameters:
    ///   - result: The result of the function.
    ///   - isSecret: Whether data are the secret rather than a persistent reference.
    public init(of result: CFTypeRef?, isSecret: (Data) -> Bool) {
        guard let result = result else {
            self = .nothing
            return
        }
        if let data = result as? Data {
            self = isSecret(data) ? .data : data.count == 20 ? .persistentReference : .other
        } else if let entries = result as? [String: Any] {
            self = .dictionary(Parts(of: entries))
        } else if let elements = result as? [AnyObject] {
            let shapes = elements.map { ResultShape(of: $0, isSecret: isSecret) }
            let first = shapes.first ?? .nothing
            self =
                shapes.allSatisfy { $0 == first } ? .array(of: first, count: shapes.count) : .other
        } else {
            self = .other
        }
    }

    /// The form of the result of a search for passwords on iOS.
    ///
    /// - Parameters:
    ///   - returns: The return keys.
    ///   - limit: The limit.
    ///   - count: The number of matching items, at least 1.
    /// - Returns: The form.
    public static func expected(
        returning returns: ReturnKeys, limit: MatchLimit, count: Int
    ) -> ResultShape {
        let element = expected(returning: returns)
        switch limit {
        case .one: return element
        // An element without content is omitted.
        case .all: return .array(of: element, count: element == .nothing ? 0 : count)
        }
    }

    private static func expected(returning returns: ReturnKeys) -> ResultShape {
        switch returns {
        // Passwords have no reference objects.
        case [], .reference: return .nothing
        case .data: return .data
        case .persistentReference: return .persistentReference
        // According to Apple's documentation, only the requested parts are returned. A device may
        // add attributes: don't read them.
        case [.data, .persistentReference]: return .dictionary([.data, .persistentReference])
        default:
            var parts: Parts = []
            if !returns.isDisjoint(with: [.attributes, .reference]) { parts.insert(.attributes) }
            if returns.contains(.data) { parts.insert(.data) }
            if returns.contains(.persistentReference) { parts.insert(.persistentReference) }
            if returns.contains(.reference) { parts.insert(.itemClass) }
            return .dictionary(parts)
        }
    }

    /// Whether a result of this form contains everything that another form promises. It may contain
    /// additional attributes.
    public func satisfies(_ promised: ResultShape) -> Bool {
        switch (self, promised) {
        case (.dictionary(let parts), .dictionary(let expected)):
            return parts == expected || parts == expected.union(.attributes)
        case (.array(let element, let count), .array(let expected, let expectedCount)):
            return count == expectedCount && element.satisfies(expected)
        default: return self == promised
        }
    }

    /// A description of the form.
    public var description: String {
        switch self {
        case .nothing: return "nothing"
        case .data: return "data"
        case .persistentReference: return "persistent reference"
        case .dictionary(let parts): return "dictionary: \(parts)"
        case .array(_, 0): return "empty array"
        case .array(let element, let count): return "array of \(count) × \(element)"
        case .other: return "something else"
        }
    }
}

extension ResultShape.Parts: CustomStringConvertible {
    init(of entries: [String: Any]) {
        self = []
        if entries[kSecAttrAccount as String] is String { insert(.attributes) }
        if entries[kSecValueData as String] is Data { insert(.data) }
        if (entries[kSecValuePersistentRef as String] as? Data)?.count == 20 {
            insert(.persistentReference)
        }
        if entries[kSecClass as String] is String { insert(.itemClass) }
        if entries[kSecValueRef as String] != nil { insert(.reference) }
    }

    /// The names of the parts.
    public var description: String {
        let names: [(ResultShape.Parts, String)] = [
            (.attributes, "attributes"), (.data, "data"),
            (.persistentReference, "persistent reference"), (.itemClass, "class"),
            (.reference, "reference"),
        ]
        return names.filter { contains($0.0) }.map { $0.1 }.joined(separator: ", ")
    }
}
