// DictionaryValue: the values of a request dictionary, distinguished by Foundation type, and the
// conversion between attribute values and Foundation objects.
//
// Core Foundation distinguishes numbers from booleans, but here both are `NSNumber`. Foundation
// returns the two boolean objects as `Bool` and every other number as `NSNumber`, even if the
// number is 1 and `as? Bool` would succeed. So the type of a value is tested; a cast is not enough.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

/// A value, classified as the rules for request dictionaries require.
enum DictionaryValue {
    case string(String)
    case data(Data)
    case boolean(Bool)
    case number(NSNumber)
    case date(Date)
    case uuid(UUID)
    case null
    case object(AnyObject)

    /// Classifies a value of a Swift or Foundation dictionary.
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

    /// Classifies the remaining types: Swift's numbers, other Foundation types, and optionals,
    /// which occur in code that writes `kCFBooleanTrue as Any`.
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
    /// The value of an attribute, converted to the type that attributes of this kind have.
    ///
    /// Attributes that take numbers convert a boolean to a number; all others reject it. Attributes
    /// that take only strings convert a UUID to its text.
    ///
    /// - Returns: `nil` if the kind doesn't accept such a value (`errSecParam`).
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

    /// The value as an object in an attribute dictionary.
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
