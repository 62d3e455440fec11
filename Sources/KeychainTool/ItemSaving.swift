// ItemSaving: a secret saved under a name, over the item that has it or as a new one.

import ArgumentParser
import FoundationEssentials
import KeychainCore
import KeychainRuntime

struct ItemSaving {
    let itemClass: ItemClass
    /// The whole name: an item that has more key attributes than these is another one.
    let keys: Attributes
    var remarks: Attributes = [:]
    /// nil: of any group; a new item goes to the first of the entitlements.
    var group: String?
    /// nil: of an item that is there, either; a new one isn't.
    var isSynchronizable: Bool?
    /// nil: that of the item that is there; of a new one, after the first unlock.
    var protection: ProtectionClass?
    /// Whether an item that is there is an error.
    var isNew = false
    /// Whether what is replaced is kept as an earlier version.
    var keepsVersions = true

    func save(_ secret: Data, in session: KeychainSession) throws {
        // Another process may add or delete the item between the two steps.
        for _ in 0..<8 {
            do {
                guard let existing = try existing(session) else {
                    return try add(secret, session)
                }
                guard !isNew else { throw KeychainFailure.duplicateItem }
                return try change(existing, to: secret, session)
            } catch let failure as KeychainFailure
                where !isNew
                && (failure.status == .duplicateItem || failure.status == .itemNotFound)
            {
                continue
            }
        }
        throw ControlFailure(
            .failure, "Other processes keep changing the item. Nothing was changed. Try again.")
    }

    /// The item that has the whole name; nil where there is none.
    func existing(_ session: KeychainSession) throws -> ItemSnapshot? {
        let query = ItemQuery(
            itemClass: itemClass, attributes: keys, accessGroup: group,
            isSynchronizable: isSynchronizable)
        let found: [ItemSnapshot]
        do {
            found = try session.find([query])
        } catch let failure as KeychainFailure where failure.status == .decode {
            // What is there can't be read. Adding sets it aside.
            return nil
        }
        let same = found.filter { item in
            itemClass.primaryKey.allSatisfy { name in
                let empty = AttributeValue.empty(of: name.kind)
                return (item.attributes[name] ?? empty).isEqual(to: keys[name] ?? empty)
            }
        }
        guard same.count <= 1 else { throw ControlFailure.ambiguous(same) }
        return same.first
    }

    private func add(_ secret: Data, _ session: KeychainSession) throws {
        let item = NewItem(
            itemClass: itemClass, attributes: keys.merging(remarks) { $1 }, accessGroup: group,
            protection: protection ?? .afterFirstUnlock,
            isSynchronizable: isSynchronizable ?? false, data: secret)
        _ = try session.unlocking { () throws(KeychainFailure) in
            try session.keychain.perform(AddItem(item), as: session.caller)
        }
    }

    private func change(_ item: ItemSnapshot, to secret: Data, _ session: KeychainSession) throws {
        // Another class takes constraints away unless they are named beside it.
        let changes = ItemChanges(
            attributes: remarks, protection: protection,
            constraints: protection.map { _ in item.constraints }, data: secret)
        _ = try session.authenticating { authorization throws(KeychainFailure) in
            let query = ItemQuery(
                itemClass: itemClass, isSynchronizable: nil, reference: item.reference,
                authorization: authorization)
            return try session.keychain.perform(
                UpdateItems(query, changes, keepsVersions: keepsVersions), as: session.caller)
        }
    }
}

// MARK: - By options

extension ItemSaving {
    init(key: KeyOptions, remarks: Attributes, accessible: AccessibilityName?, new: Bool) {
        self.init(
            itemClass: key.itemClass ?? .genericPassword, keys: key.attributes, remarks: remarks,
            group: key.group, isSynchronizable: key.synchronizable,
            protection: accessible?.protection, isNew: new)
    }

    func validate() throws {
        if isSynchronizable == true, protection?.isThisDeviceOnly == true {
            throw ValidationError(
                "To be synchronizable and to stay on this device contradict each other.")
        }
    }
}
