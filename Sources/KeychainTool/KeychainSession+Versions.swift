// KeychainSession+Versions: earlier versions of the items that a selection matches.

import KeychainCore
import KeychainRuntime

extension ControlFailure {
    static let noVersion = ControlFailure(
        .notFound,
        "There is no such version. `keychainctl history` lists the available ones.")
}

extension KeychainSession {
    /// Returns the versions that a selection matches, the most recently replaced first: those with
    /// the given number, or all if the number is `nil`.
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

    /// Returns the one version that a selection and a number match.
    ///
    /// - Throws: ``ControlFailure`` if no version matches, or if several match: versions of
    ///   different items, or of one item under different names.
    func version(_ queries: [ItemQuery], number: UInt32) throws -> ItemVersion {
        let found = try versions(queries, number: number)
        guard let version = found.first else { throw ControlFailure.noVersion }
        guard found.count == 1 else {
            throw ControlFailure(
                .failure,
                "\(found.count) versions have the number \(number). Select one by its name, or by "
                    + "its reference: `keychainctl history` shows both.")
        }
        return version
    }

    /// Returns the one version that a selection and a number match, with its secret.
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

    /// Restores an item to an earlier version. If `replacing` is set, another item that now has the
    /// name of that version is deleted, and kept as a version itself if the history policy permits
    /// versions.
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
    /// A query for the versions of the same item that have the same primary key as this version.
    /// The item may have had other primary keys at other times.
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
