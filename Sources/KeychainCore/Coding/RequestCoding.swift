// RequestCoding: how messages encode requests.

#if canImport(Darwin)
import Foundation
#else
import FoundationEssentials
#endif

extension AddItem {
    package func encode(to writer: inout MessageWriter) { item.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension AddItems {
    package func encode(to writer: inout MessageWriter) { items.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension FindItems {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, retrieval)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), try .init(from: &reader))
    }
}

extension UpdateItems {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, changes, keepsVersions)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), try .init(from: &reader),
            keepsVersions: try .init(from: &reader))
    }
}

extension PutItem {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(item, query, changes, keepsVersions)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), orChange: try .init(from: &reader),
            try .init(from: &reader), keepsVersions: try .init(from: &reader))
    }
}

extension DeleteItems {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, tombstones, keepsVersions)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), tombstones: try .init(from: &reader),
            keepsVersions: try .init(from: &reader))
    }
}

// MARK: Identities

extension FindIdentities {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, retrieval)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), try .init(from: &reader))
    }
}

extension UpdateIdentities {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, changes)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), try .init(from: &reader))
    }
}

extension DeleteIdentities {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, tombstones)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), tombstones: try .init(from: &reader))
    }
}

// MARK: Hardware keys

extension MakeSecureEnclaveKey {
    package func encode(to writer: inout MessageWriter) { key.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension SignDigest {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(digest, key, authorization)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), with: try .init(from: &reader),
            authorization: try .init(from: &reader))
    }
}

extension DeriveSharedSecret {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(key, publicKey, authorization)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            of: try .init(from: &reader), with: try .init(from: &reader),
            authorization: try .init(from: &reader))
    }
}

// MARK: The keychain as a whole

/// A request without parameters.
package protocol BareRequest: GeneralRequest {
    init()
}

extension BareRequest {
    package func encode(to writer: inout MessageWriter) {}
    package init(from reader: inout MessageReader) throws(KeychainFailure) { self.init() }
}

extension HasPasscode: BareRequest {}
extension HasSecureEnclave: BareRequest {}
extension Lock: BareRequest {}
extension LockAll: BareRequest {}
extension ReadStatus: BareRequest {}
extension ReadStatistics: BareRequest {}
extension CheckKeychain: BareRequest {}
extension ListSlots: BareRequest {}

extension Authenticate {
    package func encode(to writer: inout MessageWriter) { passcode.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(passcode: try .init(from: &reader))
    }
}

extension AcceptsGrant {
    package func encode(to writer: inout MessageWriter) { grant.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension Unlock {
    package func encode(to writer: inout MessageWriter) { passcode.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(passcode: try .init(from: &reader))
    }
}

extension SetPasscode {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(passcode, allowsWeak)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), allowsWeak: try .init(from: &reader))
    }
}

extension ChangePasscode {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(old, new, allowsWeak)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            from: try SecretBytes(from: &reader), to: try SecretBytes(from: &reader),
            allowsWeak: try .init(from: &reader))
    }
}

extension RemovePasscode {
    package func encode(to writer: inout MessageWriter) { passcode.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension UnlockWith {
    package func encode(to writer: inout MessageWriter) { way.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension ChangeSlots {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(change, proof, allowsWeak)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), provedBy: try .init(from: &reader),
            allowsWeak: try .init(from: &reader))
    }
}

extension RotateKeys {
    package func encode(to writer: inout MessageWriter) { writer.encode(proof) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(provedBy: try .init(from: &reader))
    }
}

extension ChangeSlots.Change: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        switch self {
        case .add(let way):
            writer.number(0 as UInt8)
            way.encode(to: &writer)
        case .remove(let number):
            writer.number(1 as UInt8)
            writer.number(number)
        case .bind: writer.number(2 as UInt8)
        case .unbind: writer.number(3 as UInt8)
        }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        switch try reader.number() as UInt8 {
        case 0: self = .add(try .init(from: &reader))
        case 1: self = .remove(try reader.number())
        case 2: self = .bind
        case 3: self = .unbind
        default: throw .unreadable("an unknown change of slots")
        }
    }
}

extension WayIn: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        switch self {
        case .passcode: writer.number(0 as UInt8)
        case .recoveryCode: writer.number(1 as UInt8)
        case .credential: writer.number(2 as UInt8)
        }
        secret.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let kind: UInt8 = try reader.number()
        let secret = try SecretBytes(from: &reader)
        switch kind {
        case 0: self = .passcode(secret)
        case 1: self = .recoveryCode(secret)
        case 2: self = .credential(secret)
        default: throw .unreadable("an unknown way in")
        }
    }
}
