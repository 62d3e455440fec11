// ServiceOperation: everything that can be asked of the service.

package import FoundationEssentials
package import KeychainCrypto
package import KeychainModel

/// What a client asks for. Each is a method of ``KeychainService`` or `KeychainAdministration`,
/// but for the first and for the end of a subscription.
package enum ServiceOperation: Sendable {
    case hello(ClientHello)

    case add(NewItem)
    case addAll([NewItem])
    case find(ItemQuery, Retrieval)
    case update(ItemQuery, ItemChanges)
    case put(NewItem, orChange: ItemQuery, ItemChanges)
    case delete(ItemQuery, TombstonePolicy)

    case findIdentities(IdentityQuery, Retrieval)
    case updateIdentities(IdentityQuery, IdentityChanges)
    case deleteIdentities(IdentityQuery, TombstonePolicy)

    case authenticate(passcode: Data)
    case knowsPasscode
    case subscribe
    /// The id of the request that began the subscription.
    case unsubscribe(UInt64)

    case hasSecureEnclave
    case makeSecureEnclaveKey(NewSecureEnclaveKey)
    case sign(digest: Data, key: Data, Authorization)
    case sharedSecret(key: Data, publicKey: Data, Authorization)

    case unlock(passcode: SecretBytes)
    case lock
    case lockAll
    case setPasscode(SecretBytes)
    case changePasscode(from: SecretBytes, to: SecretBytes)
    case removePasscode(SecretBytes)
    case status
    case check
}

extension ServiceOperation {
    /// Whether it is one of `KeychainAdministration`, which not every client may ask for.
    package var isAdministration: Bool {
        switch self {
        case .unlock, .lock, .lockAll, .setPasscode, .changePasscode, .removePasscode, .status,
            .check:
            true
        default: false
        }
    }

    /// Whether it changes nothing that is kept, so that a client whose connection broke may ask
    /// again. A key that hardware makes is not kept.
    package var isRead: Bool {
        switch self {
        case .hello, .find, .findIdentities, .knowsPasscode, .subscribe, .unsubscribe,
            .hasSecureEnclave, .makeSecureEnclaveKey, .sign, .sharedSecret, .status, .check:
            true
        case .add, .addAll, .update, .put, .delete, .updateIdentities, .deleteIdentities,
            .authenticate, .unlock, .lock, .lockAll, .setPasscode, .changePasscode,
            .removePasscode:
            false
        }
    }

    /// Whether it may derive keys from a passcode or a password, which is slow on purpose.
    package var derivesKeys: Bool {
        switch self {
        case .authenticate, .unlock, .setPasscode, .changePasscode, .removePasscode: true
        case .add(let item): item.authorization.applicationPassword != nil
        case .addAll(let items):
            items.contains { $0.authorization.applicationPassword != nil }
        case .find(let query, _), .delete(let query, _):
            query.authorization.applicationPassword != nil
        case .update(let query, _): query.authorization.applicationPassword != nil
        case .put(let item, let query, _):
            item.authorization.applicationPassword != nil
                || query.authorization.applicationPassword != nil
        case .findIdentities(let query, _), .updateIdentities(let query, _),
            .deleteIdentities(let query, _):
            query.certificate.authorization.applicationPassword != nil
                || query.key.authorization.applicationPassword != nil
        case .makeSecureEnclaveKey(let key): key.authorization.applicationPassword != nil
        case .sign(_, _, let authorization), .sharedSecret(_, _, let authorization):
            authorization.applicationPassword != nil
        case .hello, .knowsPasscode, .subscribe, .unsubscribe, .hasSecureEnclave, .lock, .lockAll,
            .status, .check:
            false
        }
    }

    /// Its name, for logs. It holds nothing of what is asked.
    package var name: String {
        switch self {
        case .hello: "hello"
        case .add: "add"
        case .addAll: "add all"
        case .find: "find"
        case .update: "update"
        case .put: "put"
        case .delete: "delete"
        case .findIdentities: "find identities"
        case .updateIdentities: "update identities"
        case .deleteIdentities: "delete identities"
        case .authenticate: "authenticate"
        case .knowsPasscode: "knows passcode"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .hasSecureEnclave: "has Secure Enclave"
        case .makeSecureEnclaveKey: "make Secure Enclave key"
        case .sign: "sign"
        case .sharedSecret: "shared secret"
        case .unlock: "unlock"
        case .lock: "lock"
        case .lockAll: "lock all"
        case .setPasscode: "set passcode"
        case .changePasscode: "change passcode"
        case .removePasscode: "remove passcode"
        case .status: "status"
        case .check: "check"
        }
    }
}

extension ServiceOperation: CustomStringConvertible, CustomReflectable {
    package var description: String { name }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The first request of a connection.
package struct ClientHello: Hashable, Sendable {
    /// The one version of the protocol that the client speaks.
    package var version: UInt32

    package init(version: UInt32 = WireLimits.version) {
        self.version = version
    }
}
