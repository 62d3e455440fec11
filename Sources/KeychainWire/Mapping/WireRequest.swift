// WireRequest: requests in messages.

import FoundationEssentials
import KeychainCrypto
import KeychainModel
import SwiftProtobuf

extension WireRequest {
    init(_ request: ServiceRequest) {
        self.init()
        id = request.id
        if !request.claim.isEmpty { claim = WireAccessGroups(request.claim) }
        operation =
            OneOf_Operation(identities: request.operation)
            ?? OneOf_Operation(request.operation)
    }

    /// - Throws: `param` for what is no request; `unimplemented` for one that isn't known.
    func request() throws(KeychainFailure) -> ServiceRequest {
        guard let operation else {
            throw KeychainFailure(
                .unimplemented,
                "The keychain service doesn't know this request. Update it, and start it anew.")
        }
        return ServiceRequest(id: id, claim: claim.groups, try operation.operation())
    }
}

extension WireRequest.OneOf_Operation {
    /// nil for requests about identities.
    fileprivate init?(_ operation: ServiceOperation) {
        switch operation {
        case .hello(let hello): self = .hello(.with { $0.version = hello.version })
        case .add(let item): self = .add(WireNewItem(item))
        case .addAll(let items): self = .addAll(.with { $0.items = items.map(WireNewItem.init) })
        case .find(let query, let retrieval):
            self = .find(
                .with {
                    $0.query = WireItemQuery(query)
                    $0.retrieval = WireRetrieval(retrieval)
                })
        case .update(let query, let changes):
            self = .update(
                .with {
                    $0.query = WireItemQuery(query)
                    $0.changes = WireItemChanges(changes)
                })
        case .put(let item, let query, let changes):
            self = .put(
                .with {
                    $0.item = WireNewItem(item)
                    $0.query = WireItemQuery(query)
                    $0.changes = WireItemChanges(changes)
                })
        case .delete(let query, let policy):
            self = .delete(
                .with {
                    $0.query = WireItemQuery(query)
                    $0.tombstones = WireTombstonePolicy(policy)
                })
        case .findIdentities, .updateIdentities, .deleteIdentities:
            return nil
        case .authenticate(let passcode): self = .authenticate(passcode)
        case .knowsPasscode: self = .knowsPasscode(WireNothing())
        case .subscribe: self = .subscribe(WireNothing())
        case .unsubscribe(let id): self = .unsubscribe(id)
        case .hasSecureEnclave: self = .hasSecureEnclave_p(WireNothing())
        case .makeSecureEnclaveKey(let key):
            self = .makeSecureEnclaveKey(WireNewSecureEnclaveKey(key))
        case .sign(let digest, let key, let authorization):
            self = .sign(
                .with {
                    $0.digest = digest
                    $0.key = key
                    $0.authorization = WireAuthorization(authorization)
                })
        case .sharedSecret(let key, let publicKey, let authorization):
            self = .sharedSecret(
                .with {
                    $0.key = key
                    $0.publicKey = publicKey
                    $0.authorization = WireAuthorization(authorization)
                })
        case .unlock(let passcode): self = .unlock(Data(passcode: passcode))
        case .lock: self = .lock(WireNothing())
        case .lockAll: self = .lockAll(WireNothing())
        case .setPasscode(let passcode): self = .setPasscode(Data(passcode: passcode))
        case .changePasscode(let old, let new):
            self = .changePasscode(
                .with {
                    $0.old = Data(passcode: old)
                    $0.new = Data(passcode: new)
                })
        case .removePasscode(let passcode): self = .removePasscode(Data(passcode: passcode))
        case .status: self = .status(WireNothing())
        case .check: self = .check(WireNothing())
        }
    }

    fileprivate func operation() throws(KeychainFailure) -> ServiceOperation {
        switch self {
        case .hello(let message): return .hello(ClientHello(version: message.version))
        case .add(let message): return .add(try message.item())
        case .addAll(let message):
            var items: [NewItem] = []
            for item in message.items { items.append(try item.item()) }
            return .addAll(items)
        case .find(let message):
            return .find(
                try message.query.query(),
                try message.retrieval.retrieval(isThere: message.hasRetrieval))
        case .update(let message):
            return .update(
                try message.query.query(),
                try message.changes.changes(isThere: message.hasChanges))
        case .put(let message):
            return .put(
                try message.item.item(), orChange: try message.query.query(),
                try message.changes.changes(isThere: message.hasChanges))
        case .delete(let message):
            return .delete(try message.query.query(), try message.tombstones.policy())
        case .authenticate(let passcode): return .authenticate(passcode: passcode)
        case .knowsPasscode: return .knowsPasscode
        case .subscribe: return .subscribe
        case .unsubscribe(let id): return .unsubscribe(id)
        case .hasSecureEnclave_p: return .hasSecureEnclave
        case .makeSecureEnclaveKey(let message): return .makeSecureEnclaveKey(try message.key())
        case .sign(let message):
            return .sign(
                digest: message.digest, key: message.key,
                try message.authorization.authorization())
        case .sharedSecret(let message):
            return .sharedSecret(
                key: message.key, publicKey: message.publicKey,
                try message.authorization.authorization())
        case .unlock(let passcode): return .unlock(passcode: SecretBytes(copying: passcode))
        case .lock: return .lock
        case .lockAll: return .lockAll
        case .setPasscode(let passcode): return .setPasscode(SecretBytes(copying: passcode))
        case .changePasscode(let message):
            return .changePasscode(
                from: SecretBytes(copying: message.old), to: SecretBytes(copying: message.new))
        case .removePasscode(let passcode): return .removePasscode(SecretBytes(copying: passcode))
        case .status: return .status
        case .check: return .check
        case .findIdentities, .updateIdentities, .deleteIdentities:
            break
        }
        guard let operation = try identityOperation() else {
            throw .param("This is no request to the keychain service.")
        }
        return operation
    }
}
