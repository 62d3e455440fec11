// DictionaryValue: the values of a request dictionary, told apart by their Foundation type, and
// attribute values from Foundation objects and back.
//
// A number and a boolean are two types to Core Foundation and one class here. Foundation gives the
// two boolean objects out as `Bool` and every other number as `NSNumber`, also where the number is
// 1 and where `as? Bool` would succeed; so the type of a value decides, not a cast.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

/// A value as the rules of the request dictionaries see it.
enum DictionaryValue {
    case string(String)
    case data(Data)
    case boolean(Bool)
    case number(NSNumber)
    case date(Date)
    case uuid(UUID)
    case null
    case object(AnyObject)

    /// A value of a Swift or a Foundation dictionary, as it stands there.
    init(_ value: Any) {
        let type = Swift.type(of: value)
        if type == String.self || type == NSString.self, let text = value as? String {
            self = .string(text)
        } else if type == Bool.self, let flag = value as? Bool {
            self = .boolean(flag)
        } else if type == Data.self, let data = value as? Data {
            self = .data(data)
        } else if type == NSData.self, let data = value as? NSData {
            self = .data(data.contents)
        } else if type is NSNumber.Type, let number = value as? NSNumber {
            self = number.isBoolean ? .boolean(number.boolValue) : .number(number)
        } else if type == Date.self, let date = value as? Date {
            self = .date(date)
        } else {
            self.init(uncommon: value)
        }
    }

    /// What is left: other classes of Foundation, and optionals, which come from code that writes
    /// `kCFBooleanTrue as Any`.
    private init(uncommon value: Any) {
        switch value {
        case let optional as any OptionalValue:
            self = optional.wrapped.map { DictionaryValue($0) } ?? .null
        case let uuid as UUID: self = .uuid(uuid)
        case is NSNull: self = .null
        case let text as NSString: self = .string(String(text))
        case let data as NSData: self = .data(data.contents)
        case let number as NSNumber:
            self = number.isBoolean ? .boolean(number.boolValue) : .number(number)
        case let date as NSDate: self = .date(date as Date)
        default: self = .object(value as AnyObject)
        }
    }
}

/// An optional of any type.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}

// MARK: - Attribute values

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
