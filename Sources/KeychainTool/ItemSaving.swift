// ItemSaving: saves a secret under a name, in the existing item with this name or in a new item.

import ArgumentParser
import FoundationEssentials
import KeychainCore
import KeychainRuntime

struct ItemSaving {
    let itemClass: ItemClass
    /// The complete name: an item with further primary key attributes is a different item.
    let keys: Attributes
    var remarks: Attributes = [:]
    /// The access group. With `nil`, an existing item of any group is changed, and a new item goes
    /// into the first group of the entitlements or, without entitlements, into the group "default".
    var group: String?
    /// With `nil`, an existing item is changed whether or not it is synchronizable, and a new item
    /// is not synchronizable.
    var isSynchronizable: Bool?
    /// With `nil`, an existing item keeps its protection class, and a new item is readable after
    /// the first unlock.
    var protection: ProtectionClass?
    /// Whether an existing item is an error.
    var isNew = false
    /// Whether the replaced item is kept as an earlier version.
    var keepsVersions = true

    func save(_ secret: Data, in session: KeychainSession) throws {
        // Another process may add or delete the item between the search and the change.
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

    /// The item that has exactly this name, or `nil` if there is none that can be read.
    ///
    /// - Throws: ``ControlFailure`` if several items have the name: in different groups, or one
    ///   that is synchronizable and one that isn't.
    func existing(_ session: KeychainSession) throws -> ItemSnapshot? {
        let query = ItemQuery(
            itemClass: itemClass, attributes: keys, accessGroup: group,
            isSynchronizable: isSynchronizable)
        let found: [ItemSnapshot]
        do {
            found = try session.find([query])
        } catch let failure as KeychainFailure where failure.status == .decode {
            // The existing item is damaged or was lost. Adding the new item sets a damaged item
            // aside.
            return nil
        }
        let same = found.filter { item in
            itemClass.primaryKey.allSatisfy { name in
                let empty = AttributeValue.empty(of: name.kind)
                return (item.attributes[name] ?? empty).isEqual(to: keys[name] ?? empty)
            }
        }
        guard same.count <= 1 else {
            throw ControlFailure.ambiguous(same, hasClassAndLabel: false)
        }
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
        // Changing the protection class removes the constraints, unless they are passed as well.
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

// MARK: - Creation from options

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
                "--synchronizable and a this-device-only class of --accessible can't be combined.")
        }
    }
}
