// AttributeCoding: attribute values from Foundation objects and back.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

extension AttributeValue {
    /// The value of an attribute as its kind stores it.
    ///
    /// A boolean is a number to the attributes that take numbers and refused by all others; a
    /// UUID is its text to those that take text only.
    ///
    /// - Returns: nil when the kind doesn't take such a value (`errSecParam`).
    init?(_ value: DictionaryValue, kind: Attribute.Kind) {
        let given: AttributeValue
        switch value {
        case .string(let text): given = .string(text)
        case .data(let data): given = .data(data)
        case .boolean(let flag):
            guard kind == .number else { return nil }
            given = .number(flag ? 1 : 0)
        case .number(let number):
            guard let integer = Int64(exactly: number) else { return nil }
            given = .number(integer)
        case .date(let date): given = .date(date.timeIntervalSinceReferenceDate)
        case .uuid(let uuid):
            guard kind == .string else { return nil }
            given = .string(uuid.uuidString)
        case .null, .object: return nil
        }
        guard let converted = given.converted(to: kind) else { return nil }
        self = converted
    }

    /// The value as it stands in an attribute dictionary.
    var object: NSObject {
        switch self {
        case .string(let text): NSString(string: text)
        case .data(let data): NSData(data: data)
        case .number(let number): NSNumber(value: number)
        case .date(let seconds): NSDate(timeIntervalSinceReferenceDate: seconds)
        }
    }
}

#endif
