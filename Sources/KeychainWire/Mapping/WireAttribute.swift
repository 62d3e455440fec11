// WireAttribute: attributes and their values in messages.

import FoundationEssentials
import KeychainModel

extension WireAttribute {
    fileprivate init(_ attribute: Attribute, _ value: AttributeValue) {
        self.init()
        code = attribute.rawValue
        self.value =
            switch value {
            case .string(let text): .text(text)
            case .data(let data): .data(data)
            case .number(let number): .number(number)
            case .date(let seconds): .date(seconds)
            }
    }

    /// - Throws: `param` for an attribute that isn't known, or without a value.
    fileprivate func attribute() throws(KeychainFailure) -> (Attribute, AttributeValue) {
        guard let attribute = Attribute(rawValue: code) else {
            throw .param("A message of the keychain service names an attribute that isn't known.")
        }
        switch value {
        case .text(let text): return (attribute, .string(text))
        case .data(let data): return (attribute, .data(data))
        case .number(let number): return (attribute, .number(number))
        case .date(let seconds): return (attribute, .date(seconds))
        case nil: throw .param("The attribute \(attribute.name) has no value.")
        }
    }
}

extension [WireAttribute] {
    /// In the order of their codes.
    init(_ attributes: Attributes) {
        self = attributes.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { WireAttribute($0.key, $0.value) }
    }

    /// - Throws: `param` for an attribute that isn't known, has no value or is there twice.
    func attributes() throws(KeychainFailure) -> Attributes {
        var attributes = Attributes(minimumCapacity: count)
        for message in self {
            let (attribute, value) = try message.attribute()
            guard attributes.updateValue(value, forKey: attribute) == nil else {
                throw .param("The attribute \(attribute.name) is there twice.")
            }
        }
        return attributes
    }

    /// The attributes of a request, which have values of their kind.
    /// - Throws: `param` for a value of another kind, and as ``attributes()``.
    func requestedAttributes() throws(KeychainFailure) -> Attributes {
        let attributes = try attributes()
        for (attribute, value) in attributes {
            guard value.converted(to: attribute.kind) == value else {
                throw .param("The value of the attribute \(attribute.name) is of another kind.")
            }
        }
        return attributes
    }
}
