// PropertyListValue: what a property list can hold, as a value.

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

    /// The texts, where the value is a text or an array of nothing else.
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

    /// The value with each text in it replaced; keys of dictionaries stay.
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
    /// A list that is nested deeper is refused, so that no file makes its reader run out of stack.
    private static let depthLimit = 32

    /// How many arrays and dictionaries a list in a text form may have. Foundation reads these
    /// forms by recursion and without a limit: some hundred levels are the end of a small stack.
    private static let containerLimit = 256

    /// Whether Foundation's decoder may be given these bytes: it can't be driven out of its stack.
    static func isReadable(_ propertyList: Data) -> Bool {
        // The binary form is read value by value, which the limit of depth bounds.
        if propertyList.starts(with: Data("bplist".utf8)) { return true }
        var containers = 0
        var previous: UInt8 = 0
        for byte in propertyList {
            switch (previous, byte) {
            // Texts of more than one byte to a character would hide from this count.
            case (_, 0): return false
            // `<array`, `<dict`, and the brackets of the older form; some other things count too.
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
        // Text comes first because it is the most frequent; each attempt that fails is an error
        // that is made and thrown away.
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
