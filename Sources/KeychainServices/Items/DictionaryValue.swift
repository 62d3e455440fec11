// DictionaryValue: the values of a request dictionary, told apart by their Foundation type.
//
// A number and a boolean are two types to Core Foundation and one class here. Foundation gives
// the two boolean objects out as `Bool` and every other number as `NSNumber`, also where the
// number is 1 and where `as? Bool` would succeed; so the type of a value decides, not a cast.

#if !canImport(Darwin)

internal import Foundation

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

    init(_ value: Any) {
        let type = Swift.type(of: value)
        if type == String.self, let text = value as? String {
            self = .string(text)
        } else if type == Bool.self, let flag = value as? Bool {
            self = .boolean(flag)
        } else if type == Data.self, let data = value as? Data {
            self = .data(data)
        } else if type == NSNumber.self, let number = value as? NSNumber {
            self = number.isBoolean ? .boolean(number.boolValue) : .number(number)
        } else if type == Date.self, let date = value as? Date {
            self = .date(date)
        } else {
            self.init(uncommon: value)
        }
    }

    /// What is left: Foundation objects that were not turned into Swift values, and optionals,
    /// which come from code that writes `kCFBooleanTrue as Any`.
    private init(uncommon value: Any) {
        switch value {
        case let optional as any OptionalValue:
            self = optional.wrapped.map { DictionaryValue($0) } ?? .null
        case let uuid as UUID: self = .uuid(uuid)
        case is NSNull: self = .null
        case let text as NSString: self = .string(String(text))
        case let data as NSData: self = .data(Data(data))
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

#endif
