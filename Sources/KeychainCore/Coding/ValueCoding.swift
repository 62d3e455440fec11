// ValueCoding: how messages encode the values in requests and answers.

#if canImport(Darwin)
import Foundation
#else
import FoundationEssentials
#endif

// MARK: Single fields

extension TombstonePolicy: CodedByPosition {}
extension LockState: CodedByPosition {}
extension VerificationState.Standing: CodedByPosition {}
extension DeviceKeyProtection: CodedByPosition {}
extension MachineState: CodedByPosition {}
extension SlotSummary.Kind: CodedByPosition {}

extension ItemClass: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(rawValue) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        guard let itemClass = ItemClass(rawValue: try reader.number()) else {
            throw .unreadable("an unknown class")
        }
        self = itemClass
    }
}

extension ProtectionClass: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(rawValue) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        guard let protection = ProtectionClass(rawValue: try reader.number()) else {
            throw .unreadable("an unknown protection class")
        }
        self = protection
    }
}

/// Only ``AccessConstraints/known`` bits are accepted.
extension AccessConstraints: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(rawValue) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(rawValue: try reader.number())
        guard isSubset(of: .known) else { throw .unreadable("access control with undefined bits") }
    }
}

extension ItemReference: MessageCodable {
    package func encode(to writer: inout MessageWriter) { value.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try Bytes16(from: &reader))
    }
}

extension AuthenticationGrant: MessageCodable {
    package func encode(to writer: inout MessageWriter) { token.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(token: try Bytes16(from: &reader))
    }
}

/// Encoded without the fields for biometric hardware: a service has no such hardware, and can't
/// trust a client's claims about it.
extension Authorization: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(grant, applicationPassword)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            grant: try .init(from: &reader), applicationPassword: try .init(from: &reader))
    }
}

/// Encoded without the name of the program, which the service determines itself.
extension AccessGroups: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(names, includesAll)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let names = try [String](from: &reader)
        self.init(try Bool(from: &reader) ? names + [Self.wildcard] : names)
    }
}

// MARK: Attributes

extension AttributeValue: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        switch self {
        case .string(let text):
            writer.number(0 as UInt8)
            text.encode(to: &writer)
        case .data(let data):
            writer.number(1 as UInt8)
            data.encode(to: &writer)
        case .number(let number):
            writer.number(2 as UInt8)
            writer.number(number)
        case .date(let seconds):
            writer.number(3 as UInt8)
            seconds.encode(to: &writer)
        }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        switch try reader.number() as UInt8 {
        case 0: self = .string(try String(from: &reader))
        case 1: self = .data(try Data(from: &reader))
        case 2: self = .number(try reader.number())
        case 3: self = .date(try Double(from: &reader))
        default: throw .unreadable("a value of an unknown type")
        }
    }
}

/// Encoded in the order of the attributes' codes. Each attribute occurs at most once.
extension Attributes: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(UInt32(clamping: count))
        for (attribute, value) in sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            writer.number(attribute.rawValue)
            value.encode(to: &writer)
        }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init()
        for _ in 0..<(try reader.number() as UInt32) {
            try reader.countElement()
            guard let attribute = Attribute(rawValue: try reader.number()) else {
                throw .unreadable("an unknown attribute")
            }
            let value = try AttributeValue(from: &reader)
            guard updateValue(value, forKey: attribute) == nil else {
                throw .unreadable("the attribute \(attribute.name) occurs twice")
            }
        }
    }

    /// Decodes the attributes of a request. Each value must have the kind of its attribute.
    fileprivate init(requestedIn reader: inout MessageReader) throws(KeychainFailure) {
        try self.init(from: &reader)
        for (attribute, value) in self where value.converted(to: attribute.kind) != value {
            throw .unreadable("the value of the attribute \(attribute.name) has the wrong type")
        }
    }
}

// MARK: Values of requests

extension NewItem: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(
            itemClass, attributes, accessGroup, protection, constraints, isSynchronizable,
            isTombstone, data, authorization, keepsExisting)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            itemClass: try .init(from: &reader), attributes: try .init(requestedIn: &reader),
            accessGroup: try .init(from: &reader), protection: try .init(from: &reader),
            constraints: try .init(from: &reader), isSynchronizable: try .init(from: &reader),
            isTombstone: try .init(from: &reader), data: try .init(from: &reader),
            authorization: try .init(from: &reader))
        keepsExisting = try Bool(from: &reader)
    }
}

extension ItemQuery: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(
            itemClass, attributes, accessGroup, protection, isSynchronizable, isTombstone,
            reference, hostOrSubdomain, authorization)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            itemClass: try .init(from: &reader), attributes: try .init(requestedIn: &reader),
            accessGroup: try .init(from: &reader), protection: try .init(from: &reader),
            isSynchronizable: try .init(from: &reader), isTombstone: try .init(from: &reader),
            reference: try .init(from: &reader), hostOrSubdomain: try .init(from: &reader),
            authorization: try .init(from: &reader))
    }
}

extension Retrieval: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(limit, includesData, includesAttributes, skipsConstrained)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            limit: try .init(from: &reader), includesData: try .init(from: &reader),
            includesAttributes: try .init(from: &reader),
            skipsConstrained: try .init(from: &reader))
    }
}

extension ItemChanges: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(
            attributes, accessGroup, protection, constraints, isSynchronizable, isTombstone, data)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            attributes: try .init(requestedIn: &reader), accessGroup: try .init(from: &reader),
            protection: try .init(from: &reader), constraints: try .init(from: &reader),
            isSynchronizable: try .init(from: &reader), isTombstone: try .init(from: &reader),
            data: try .init(from: &reader))
    }
}

extension IdentityQuery: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(certificate, key)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(certificate: try .init(from: &reader), key: try .init(from: &reader))
    }
}

extension IdentityChanges: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(certificate, key)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(certificate: try .init(from: &reader), key: try .init(from: &reader))
    }
}

extension NewSecureEnclaveKey: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(protection, constraints, authorization)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            protection: try .init(from: &reader), constraints: try .init(from: &reader),
            authorization: try .init(from: &reader))
    }
}
