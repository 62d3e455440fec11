// RequestCoding: requests in messages.

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
        writer.encode(query, changes)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), try .init(from: &reader))
    }
}

extension PutItem {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(item, query, changes)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), orChange: try .init(from: &reader),
            try .init(from: &reader))
    }
}

extension DeleteItems {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, tombstones)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), tombstones: try .init(from: &reader))
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

// MARK: Keys in hardware

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

/// A request that says nothing but which it is.
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
extension CheckKeychain: BareRequest {}

extension Authenticate {
    package func encode(to writer: inout MessageWriter) { passcode.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(passcode: try .init(from: &reader))
    }
}

extension Unlock {
    package func encode(to writer: inout MessageWriter) { passcode.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(passcode: try .init(from: &reader))
    }
}

extension SetPasscode {
    package func encode(to writer: inout MessageWriter) { passcode.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension ChangePasscode {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(old, new)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(from: try SecretBytes(from: &reader), to: try SecretBytes(from: &reader))
    }
}

extension RemovePasscode {
    package func encode(to writer: inout MessageWriter) { passcode.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}
