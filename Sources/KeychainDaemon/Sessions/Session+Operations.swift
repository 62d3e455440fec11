// Session+Operations: requests to the engine.

import KeychainCrypto
import KeychainEngine
import KeychainModel
import KeychainWire

extension Session {
    /// Carries out anything but the first request.
    func perform(_ request: ServiceRequest) throws(KeychainFailure) -> ServiceAnswer {
        if request.operation.isAdministration {
            try checkAdministration()
            return try administer(request, try keychain.engine())
        }
        let engine = try keychain.engine()
        switch request.operation {
        case .findIdentities, .updateIdentities, .deleteIdentities:
            return try performOnIdentities(
                request.operation, engine, as: try caller(request))
        case .authenticate(let passcode):
            let grant = try engine.authenticate(passcode: passcode)
            keychain.noteUse()
            return .grant(grant)
        case .knowsPasscode: return .flag(try engine.knowsPasscode())
        case .subscribe:
            try subscribe(request.id, engine)
            return .done
        case .unsubscribe(let id):
            unsubscribe(id)
            return .done
        case .hasSecureEnclave: return .flag(try engine.hasSecureEnclave())
        case .makeSecureEnclaveKey, .sign, .sharedSecret:
            return try performOnHardware(request.operation, engine, as: try caller(request))
        default:
            return try performOnItems(request.operation, engine, as: try caller(request))
        }
    }

    private func performOnItems(
        _ operation: ServiceOperation, _ engine: KeychainEngine, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceAnswer {
        switch operation {
        case .add(let item):
            let added = try engine.add(item, as: caller)
            noteUse(of: [added])
            return .item(added)
        case .addAll(let items):
            let added = try engine.addAll(items, as: caller)
            noteUse(of: added)
            return .items(added)
        case .find(let query, let retrieval):
            let found = try engine.find(query, retrieval, as: caller)
            noteUse(of: found)
            return .items(found)
        case .update(let query, let changes):
            return .count(try engine.update(query, changes, as: caller))
        case .put(let item, let query, let changes):
            try engine.put(item, orChange: query, changes, as: caller)
            if item.protection.availability == .whileUnlocked { keychain.noteUse() }
            return .done
        case .delete(let query, let policy):
            return .count(try engine.delete(query, tombstones: policy, as: caller))
        default: throw Self.unknown
        }
    }

    private func performOnIdentities(
        _ operation: ServiceOperation, _ engine: KeychainEngine, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceAnswer {
        switch operation {
        case .findIdentities(let query, let retrieval):
            let found = try engine.findIdentities(query, retrieval, as: caller)
            noteUse(of: found.map(\.key))
            return .identities(found)
        case .updateIdentities(let query, let changes):
            return .count(try engine.updateIdentities(query, changes, as: caller))
        case .deleteIdentities(let query, let policy):
            return .count(try engine.deleteIdentities(query, tombstones: policy, as: caller))
        default: throw Self.unknown
        }
    }

    private func performOnHardware(
        _ operation: ServiceOperation, _ engine: KeychainEngine, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceAnswer {
        switch operation {
        case .makeSecureEnclaveKey(let key):
            return .secureEnclaveKey(try engine.makeSecureEnclaveKey(key, as: caller))
        case .sign(let digest, let key, let authorization):
            let signature = try engine.sign(
                digest: digest, with: key, authorization: authorization, as: caller)
            keychain.noteUse()
            return .data(signature)
        case .sharedSecret(let key, let publicKey, let authorization):
            let secret = try engine.sharedSecret(
                of: key, with: publicKey, authorization: authorization, as: caller)
            keychain.noteUse()
            return .data(secret)
        default: throw Self.unknown
        }
    }

    private func administer(
        _ request: ServiceRequest, _ engine: KeychainEngine
    ) throws(KeychainFailure) -> ServiceAnswer {
        switch request.operation {
        case .unlock(let passcode):
            try engine.unlock(passcode: passcode)
            keychain.noteUse()
        case .lock: try engine.lock()
        case .lockAll: try engine.lockAll()
        case .setPasscode(let passcode):
            try engine.setPasscode(passcode)
            keychain.noteUse()
        case .changePasscode(let old, let new):
            try engine.changePasscode(from: old, to: new)
            keychain.noteUse()
        case .removePasscode(let passcode): return .count(try engine.removePasscode(passcode))
        case .status: return .status(try engine.status())
        case .check:
            var last = ContinuousClock.now
            return .report(
                try engine.check { done, total in
                    guard last.duration(to: .now) > .milliseconds(100) else { return }
                    last = .now
                    report(request.id, done, total)
                })
        default: throw Self.unknown
        }
        return .done
    }

    private static let unknown = KeychainFailure(
        .unimplemented, "The keychain service doesn't know this request.")

    /// An unlocked keychain stays so for as long as what needs it is read.
    private func noteUse(of items: [Item]) {
        if items.contains(where: { $0.protection.availability == .whileUnlocked && $0.data != nil })
        {
            keychain.noteUse()
        }
    }
}

extension ServiceOperation {
    /// Class and names of the attributes that it is about, for logs; no value. nil: it is about no
    /// items.
    var shape: String? {
        switch self {
        case .add(let item), .put(let item, _, _): item.shape
        case .find(let query, _), .update(let query, _), .delete(let query, _): query.shape
        case .addAll(let items): items.map(\.shape).joined(separator: ", ")
        case .findIdentities(let query, _), .updateIdentities(let query, _),
            .deleteIdentities(let query, _):
            "\(query.certificate.shape), \(query.key.shape)"
        default: nil
        }
    }
}

extension NewItem {
    fileprivate var shape: String {
        ItemQuery(itemClass: itemClass, attributes: attributes, accessGroup: accessGroup).shape
    }
}
