// KeychainSession+Versions: earlier versions of the items that a selection means.

import KeychainCore
import KeychainRuntime

extension ControlFailure {
    static let noVersion = ControlFailure(
        .notFound,
        "There is no such earlier version. `keychainctl history` lists those that are kept.")
}

extension KeychainSession {
    /// All versions that a selection means, those that were replaced last first.
    func versions(_ queries: [ItemQuery], number: UInt32? = nil) throws -> [ItemVersion] {
        var found: [ItemVersion] = []
        for query in queries {
            do {
                found += try unlocking { () throws(KeychainFailure) in
                    try keychain.perform(FindVersions(query, number: number), as: caller)
                }
            } catch let failure as KeychainFailure where failure.status == .itemNotFound {}
        }
        return found.sorted { $0.moment > $1.moment }
    }

    /// The one version that a selection and a number mean.
    ///
    /// - Throws: ``ControlFailure`` for none, or for those of several items.
    func version(_ queries: [ItemQuery], number: UInt32) throws -> ItemVersion {
        let found = try versions(queries, number: number)
        guard let version = found.first else { throw ControlFailure.noVersion }
        guard found.count == 1 else {
            throw ControlFailure(
                .failure,
                "\(found.count) items have a version \(number). Name one by its reference, as "
                    + "`keychainctl history` shows it.")
        }
        return version
    }

    /// The same with its secret.
    func openVersion(_ queries: [ItemQuery], number: UInt32) throws -> ItemSnapshot {
        let version = try version(queries, number: number)
        return try authenticating { authorization throws(KeychainFailure) in
            let opened = try keychain.perform(
                FindVersions(
                    version.query(authorization), number: number, includesData: true), as: caller)
            guard let found = opened.first else { throw .itemNotFound }
            return found.item
        }
    }

    /// Makes an item again what it was.
    func restore(
        _ queries: [ItemQuery], version number: UInt32, replacing: Bool
    ) throws -> ItemSnapshot {
        let version = try version(queries, number: number)
        return try authenticating { authorization throws(KeychainFailure) in
            try keychain.perform(
                RestoreVersion(
                    version.query(authorization), number: number, replaces: replacing),
                as: caller)
        }
    }
}

extension ItemVersion {
    /// The version's name and item, and no other's.
    fileprivate func query(_ authorization: Authorization) -> ItemQuery {
        var key: Attributes = [:]
        for name in item.itemClass.primaryKey {
            key[name] = item.attributes[name] ?? .empty(of: name.kind)
        }
        return ItemQuery(
            itemClass: item.itemClass, attributes: key, accessGroup: item.accessGroup,
            isSynchronizable: item.isSynchronizable, reference: item.reference,
            authorization: authorization)
    }
}
