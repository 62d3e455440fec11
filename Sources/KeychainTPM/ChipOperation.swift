// ChipOperation: the objects and the session that one use of the chip keeps loaded.
//   (1) A chip may have only three slots for objects and three for sessions; without a resource
//       manager, all programs share them. An operation uses at most two object slots and one
//       session slot. The code that begins an operation also ends it, on every path, and so frees
//       the slots. If the connection breaks in the meantime, the slots stay occupied until the chip
//       is restarted; a resource manager (/dev/tpmrm0) frees them even then.
//   (2) An operation uses nothing that another one left in the chip. A restart of the chip between
//       two operations therefore has no effect.

#if TPM

import KeychainCrypto
import KeychainCore

/// The source of the storage key.
enum StorageKey: Hashable {
    /// The owner of the machine has stored the key in the chip, which saves deriving it. If the
    /// stored object is not such a key, the key is derived.
    case persistent
    /// The key is derived for this operation.
    case derived

    /// The handle that the TCG assigns to the storage root key.
    static let handle: UInt32 = 0x8100_0001
}

struct ChipOperation {
    private let connection: TSSConnection
    private let source: StorageKey
    private let storageKey: Reference
    private let session: Reference
    private var objects: [Reference] = []

    /// The storage keys to try, the faster one first. A persistent key of the same kind can still
    /// differ from the derived one, and each object belongs to one of the two.
    static func storageKeys(
        _ connection: TSSConnection
    ) throws(ResponseFailure) -> [StorageKey] {
        let handles = try connection.handles(from: StorageKey.handle, atMost: 1)
        return handles.first == StorageKey.handle ? [.persistent, .derived] : [.derived]
    }

    /// Occupies a slot for a session and, if the storage key is derived, one for that key. If
    /// `names` is not `nil`, the storage key must have one of these names.
    init(
        beginningOn connection: TSSConnection, _ asked: StorageKey, named names: [[UInt8]]? = nil
    ) throws(ResponseFailure) {
        let (key, source) = try Self.reference(to: asked, connection)
        do throws(ResponseFailure) {
            if let names {
                guard names.contains(try connection.name(ofStorageKey: key)) else {
                    throw ResponseFailure(code: 0, command: .compareStorageKey)
                }
            }
            session = try connection.startSession(saltedTo: key)
        } catch {
            Self.release(key, source, connection)
            throw error
        }
        self.connection = connection
        self.source = source
        storageKey = key
    }

    /// Frees the slots of this operation.
    mutating func end() {
        while let object = objects.popLast() { connection.flush(object) }
        connection.flush(session)
        Self.release(storageKey, source, connection)
    }

    private static func reference(
        to source: StorageKey, _ connection: TSSConnection
    ) throws(ResponseFailure) -> (Reference, StorageKey) {
        if source == .persistent,
            let key = try connection.persistentStorageKey(StorageKey.handle)
        {
            return (key, .persistent)
        }
        return (try connection.createStorageKey(), .derived)
    }

    private static func release(
        _ key: Reference, _ source: StorageKey, _ connection: TSSConnection
    ) {
        switch source {
        case .persistent: connection.close(key)
        case .derived: connection.flush(key)
        }
    }

    /// The name of one of the chip's storage keys.
    static func name(
        of asked: StorageKey, _ connection: TSSConnection
    ) throws(ResponseFailure) -> [UInt8] {
        let (key, source) = try reference(to: asked, connection)
        defer { release(key, source, connection) }
        return try connection.name(ofStorageKey: key)
    }

    // MARK: Steps

    func create(
        _ kind: ObjectKind, authorization: SecretBytes, content: SecretBytes
    ) throws(ResponseFailure) -> WrappedObject {
        let made = try connection.create(
            kind, authorization: authorization, content: content, under: storageKey, session)
        guard let area = PublicArea(made.publicArea, kind) else {
            throw ResponseFailure(code: TSSConnection.wrongSize, command: .create)
        }
        return WrappedObject(publicArea: area, privateArea: made.privateArea)
    }

    mutating func load(
        _ wrapped: WrappedObject, authorization: SecretBytes
    ) throws(ResponseFailure) -> Reference {
        let reference = try connection.load(wrapped, under: storageKey, session)
        objects.append(reference)
        try connection.authorize(reference, authorization)
        return reference
    }

    func sign(_ digest: [UInt8], with key: Reference) throws(ResponseFailure) -> [UInt8] {
        try connection.sign(digest, with: key, session)
    }

    func multiply(
        _ point: [UInt8], by key: Reference
    ) throws(ResponseFailure) -> SecretBytes {
        defer { connection.overwriteAnswer() }
        return try connection.multiply(point, by: key, session)
    }

    func unseal(_ object: Reference) throws(ResponseFailure) -> SecretBytes {
        defer { connection.overwriteAnswer() }
        return try connection.unseal(object, session)
    }
}

#endif
