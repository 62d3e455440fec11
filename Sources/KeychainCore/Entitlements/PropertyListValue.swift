// PropertyListValue: the value types of property lists.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

package enum PropertyListValue: Hashable, Sendable {
    case text(String)
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case date(Date)
    case data(Data)
    indirect case array([PropertyListValue])
    indirect case dictionary([String: PropertyListValue])

    /// The strings, if the value is a string or an array of only strings; otherwise `nil`.
    package var texts: [String]? {
        switch self {
        case .text(let text): return [text]
        case .array(let values):
            let texts = values.compactMap { value -> String? in
                guard case .text(let text) = value else { return nil }
                return text
            }
            return texts.count == values.count ? texts : nil
        default: return nil
        }
    }

    /// Returns the value with every string in it transformed, except the keys of dictionaries.
    func mapTexts(_ transform: (String) -> String) -> PropertyListValue {
        switch self {
        case .text(let text): .text(transform(text))
        case .array(let values): .array(values.map { $0.mapTexts(transform) })
        case .dictionary(let values): .dictionary(values.mapValues { $0.mapTexts(transform) })
        default: self
        }
    }
}

extension PropertyListValue: Decodable {
    /// The maximum nesting depth. Deeper lists are rejected, so that no file can overflow the
    /// stack.
    private static let depthLimit = 32

    /// The maximum number of arrays and dictionaries in a text form of a list. Foundation parses
    /// these forms recursively and without a limit; a few hundred levels overflow a small stack.
    private static let containerLimit = 256

    /// Whether the bytes can be passed to Foundation's decoder without the risk of a stack
    /// overflow.
    static func isReadable(_ propertyList: Data) -> Bool {
        // The binary form is decoded value by value, within the depth limit.
        if propertyList.starts(with: Data("bplist".utf8)) { return true }
        var containers = 0
        var previous: UInt8 = 0
        for byte in propertyList {
            switch (previous, byte) {
            // The count doesn't work in UTF-16 and UTF-32. These encodings are rejected: their
            // ASCII characters contain zero bytes.
            case (_, 0): return false
            // `<array`, `<dict`, and the brackets of the older form. Some other elements, and
            // brackets in texts, are counted too.
            case (UInt8(ascii: "<"), UInt8(ascii: "a")), (UInt8(ascii: "<"), UInt8(ascii: "d")),
                (_, UInt8(ascii: "(")), (_, UInt8(ascii: "{")):
                containers += 1
            default: break
            }
            previous = byte
        }
        return containers <= containerLimit
    }

    package init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= Self.depthLimit else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "The list is nested too deeply."))
        }
        let container = try decoder.singleValueContainer()
        // Text is tried first because it is the most frequent: each failed attempt creates an error
        // that is then discarded.
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let boolean = try? container.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let real = try? container.decode(Double.self) {
            self = .real(real)
        } else if let date = try? container.decode(Date.self) {
            self = .date(date)
        } else if let data = try? container.decode(Data.self) {
            self = .data(data)
        } else if var elements = try? decoder.unkeyedContainer() {
            var values: [PropertyListValue] = []
            while !elements.isAtEnd { values.append(try elements.decode(PropertyListValue.self)) }
            self = .array(values)
        } else {
            self = .dictionary(try container.decode([String: PropertyListValue].self))
        }
    }
}
