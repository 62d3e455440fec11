// The answers of a keychain with a passcode before its first unlock, and what its files reveal.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct FirstUnlockTests {
    private func item(
        _ account: String, _ protection: ProtectionClass, _ attributes: Attributes = [:]
    ) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: genericPassword(account).merging(attributes) { $1 },
            protection: protection, data: Data("secret \(account)".utf8))
    }

    private func query(_ account: String? = nil) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: account.map { genericPassword($0) } ?? [.service: .string("service")])
    }

    private func found(
        _ keychain: TemporaryKeychain, _ query: ItemQuery, limit: Int? = 1
    ) throws -> [String] {
        try keychain.engine.perform(
            FindItems(query, Retrieval(limit: limit, includesData: true)), as: keychain.caller
        ).map { String(decoding: $0.data ?? Data(), as: UTF8.self) }
    }

    /// A keychain with a passcode and three items: one that is always available, one that is
    /// available after the first unlock, and one that is available when unlocked.
    private func keychain(isReopened: Bool = true) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        for (account, protection) in [
            ("open", ProtectionClass.always), ("guarded", .afterFirstUnlock),
            ("locked", .whenUnlocked),
        ] {
            _ = try keychain.engine.perform(AddItem(item(account, protection)), as: keychain.caller)
        }
        if isReopened { try keychain.reopen() }
        return keychain
    }

    // MARK: Searches

    @Test func `before the first unlock, a search works only if always-available items suffice`()
        throws
    {
        let keychain = try keychain()
        #expect(try found(keychain, query("open")) == ["secret open"])
        // An incomplete list isn't returned.
        for limit in [nil, 2] {
            #expect(
                status { _ = try found(keychain, query(), limit: limit) } == .interactionNotAllowed)
        }
        var always = query()
        always.protection = .always
        #expect(try found(keychain, always, limit: nil) == ["secret open"])
        for account in ["guarded", "locked", "absent"] {
            #expect(
                status { _ = try found(keychain, query(account)) } == .interactionNotAllowed)
        }
        var ofOpenTier = query("absent")
        ofOpenTier.protection = .always
        #expect(status { _ = try found(keychain, ofOpenTier) } == .itemNotFound)
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(status { _ = try found(keychain, query("absent")) } == .itemNotFound)
        #expect(
            try found(keychain, query(), limit: nil)
                == ["secret open", "secret guarded", "secret locked"])
        #expect(try found(keychain, query(), limit: 2) == ["secret open", "secret guarded"])
    }

    @Test
    func `before the first unlock, always-available items can be changed but not added or deleted`()
        throws
    {
        let keychain = try keychain()
        let caller = keychain.caller
        for protection in [ProtectionClass.always, .afterFirstUnlock, .whenUnlocked] {
            #expect(
                status {
                    _ = try keychain.engine.perform(AddItem(item("new", protection)), as: caller)
                } == .interactionNotAllowed)
            #expect(
                status {
                    _ = try keychain.engine.perform(AddItems([item("new", protection)]), as: caller)
                } == .interactionNotAllowed)
        }
        for account in ["open", "guarded", "absent"] {
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        DeleteItems(query(account), tombstones: .automatic), as: caller)
                } == .interactionNotAllowed)
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        PutItem(
                            item(account, .always), orChange: query(account),
                            ItemChanges(data: Data("new".utf8))), as: caller)
                } == .interactionNotAllowed)
        }
        let changes = ItemChanges(
            attributes: [.label: .string("L")], data: Data("changed".utf8))
        #expect(
            try keychain.engine.perform(UpdateItems(query("open"), changes), as: caller) == 1)
        for account in ["guarded", "absent"] {
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        UpdateItems(query(account), changes), as: caller)
                } == .interactionNotAllowed)
        }
        // The new primary key may belong to an item that can't be seen.
        #expect(
            status {
                _ = try keychain.engine.perform(
                    UpdateItems(
                        query("open"), ItemChanges(attributes: [.account: .string("guarded")])),
                    as: caller)
            } == .interactionNotAllowed)
        #expect(try keychain.engine.check().isSound)
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(try found(keychain, query("open")) == ["changed"])
        #expect(try keychain.engine.check().isSound)
        #expect(try keychain.engine.status().itemCount == 3)
    }

    @Test func `after a lock, after-first-unlock items can still be read and added`() throws {
        let keychain = try keychain(isReopened: false)
        try keychain.engine.lock()
        #expect(status { _ = try found(keychain, query("absent")) } == .itemNotFound)
        #expect(status { _ = try found(keychain, query("locked")) } == .interactionNotAllowed)
        #expect(try found(keychain, query("guarded")) == ["secret guarded"])
        _ = try keychain.engine.perform(
            AddItem(item("new", .afterFirstUnlock)), as: keychain.caller)
        try keychain.engine.perform(
            DeleteItems(query("locked"), tombstones: .automatic), as: keychain.caller)
        try keychain.engine.lockAll()
        #expect(status { _ = try found(keychain, query("absent")) } == .interactionNotAllowed)
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `removing the passcode makes all items readable, even before the first unlock`()
        throws
    {
        let keychain = try keychain()
        try keychain.engine.removePasscode(passcode("1234"))
        #expect(try found(keychain, query("locked")) == ["secret locked"])
        #expect(status { _ = try found(keychain, query("absent")) } == .itemNotFound)
        #expect(try keychain.engine.check().isSound)
    }

    // MARK: Both tiers

    @Test func `a primary key is unique across both tiers`() throws {
        let keychain = try keychain(isReopened: false)
        for (account, protection) in [
            ("open", ProtectionClass.whenUnlocked), ("guarded", .alwaysThisDeviceOnly),
        ] {
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        AddItem(item(account, protection)), as: keychain.caller)
                } == .duplicateItem)
        }
        #expect(
            status {
                _ = try keychain.engine.perform(
                    UpdateItems(
                        query("open"), ItemChanges(attributes: [.account: .string("guarded")])),
                    as: keychain.caller)
            } == .duplicateItem)
    }

    @Test(arguments: [ProtectionClass.always, .whenUnlocked])
    func `an item that moves to the other tier is found there`(protection: ProtectionClass) throws {
        let keychain = try keychain(isReopened: false)
        let account = protection == .always ? "guarded" : "open"
        let before = try #require(keychain.rows(query(account)).first)
        try keychain.engine.perform(
            UpdateItems(query(account), ItemChanges(protection: protection)), as: keychain.caller)
        let after = try #require(keychain.rows(query(account)).first)
        #expect(before.id == after.id && before.reference == after.reference)
        #expect(!after.labels.haveKey(of: before.labels))
        #expect(Set(after.labels.terms).isDisjoint(with: before.labels.terms))
        #expect(try found(keychain, query(account)) == ["secret \(account)"])
        #expect(try keychain.engine.check().isSound)
        #expect(
            try keychain.engine.store.header().count(of: .open) == (protection == .always ? 2 : 0))
        try keychain.reopen()
        let isFound = status { _ = try found(keychain, query(account)) } == nil
        #expect(isFound == (protection == .always))
    }

    // MARK: The contents of the files

    @Test func `without the passcode, a guess at a guarded item's name can't be verified`() throws {
        let keychain = try keychain(isReopened: false)
        let rows = try ["open", "guarded", "locked"].map {
            try #require(keychain.rows(query($0)).first)
        }
        try keychain.reopen()
        // An attacker who has the files but not the passcode can derive only these keys.
        let folder = StoreFolder(path: keychain.directory)
        let deviceKey = try DeviceKeyFile.decode(try #require(try folder.read(.deviceKey))).key
        let hierarchy = try KeyHierarchy(
            Keybag.parse(try #require(try folder.read(.keybag)).plainBytes), deviceKey: deviceKey)
        #expect(try hierarchy.guardedTierWithoutPasscode() == nil)
        let keys = try hierarchy.openTier()
        let indexes = [BlindIndex(key: keys.indexKey), BlindIndex(key: keys.integrityKey)]
        for (account, row) in zip(["open", "guarded", "locked"], rows) {
            let record = ItemRecord(
                itemClass: .genericPassword, attributes: genericPassword(account),
                accessGroup: "G1", isSynchronizable: false, isTombstone: false)
            let own = row.labels
            let guessed = indexes.map { RowLabels(record, index: $0) }
            let hits = guessed.filter {
                $0.group == own.group || $0.first == own.first || $0.second == own.second
                    || $0.rest == own.rest
            }
            #expect(hits.isEmpty == (account != "open"))
        }
        #expect(try keychain.engine.status().itemCount == 3)
    }

    @Test func `the header's data about guarded items can't be forged with the device key alone`()
        throws
    {
        let keychain = try keychain(isReopened: false)
        let store = keychain.engine.store
        let both = store.tiers
        let openOnly = StoreTiers(open: both.open, guarded: nil)
        let header = try store.header()
        let bytes = header.encoded(with: both)
        #expect(bytes.count == StoreHeader.byteCount)
        #expect(StoreHeader(bytes, both)?.digest(of: .guarded) == header.digest(of: .guarded))
        // Without the keys of the guarded tier, the header can be read, including the item count.
        // Encoding the header again yields the same bytes.
        let read = try #require(StoreHeader(bytes, openOnly))
        #expect(read.count(of: .guarded) == 2 && read.digest(of: .guarded) == nil)
        #expect(read.encoded(with: openOnly) == bytes)
        // These bytes are the guarded part of the header, which the format document describes: item
        // count, number of writes, mask value, masked digest and tag.
        for offset in 104..<200 {
            var altered = bytes
            altered[offset] ^= 1
            #expect(StoreHeader(altered, openOnly) == nil)
            let tag = both.open.authenticator.tag(of: Array(altered.dropLast(32)))
            altered = altered.dropLast(32) + tag
            #expect(StoreHeader(altered, openOnly) != nil)
            #expect(StoreHeader(altered, both) == nil, "offset \(offset)")
        }
        // With the keys of the open tier alone, a row of the guarded tier can't be deleted either.
        let row = try #require(keychain.rows(query("guarded")).first)
        try keychain.reopen()
        let locked = keychain.engine.store
        #expect(
            status {
                _ = try locked.write(keybagGeneration: try locked.header().keybagGeneration) {
                    transaction throws(KeychainFailure) in
                    try transaction.delete(row)
                }
            } == .interactionNotAllowed)
    }

    // MARK: Internet passwords

    @Test func `a query that differs in one attribute doesn't match a locked internet password`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        let name: Attributes = [.server: .string("host"), .account: .string("me")]
        let parts: Attributes = [
            .path: .string("/"), .port: .number(8443), .protocolType: .string("htps"),
            .authenticationType: .string("form"), .securityDomain: .string("realm"),
        ]
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .internetPassword, attributes: name.merging(parts) { $1 },
                    protection: .whenUnlocked, data: Data("secret".utf8))), as: keychain.caller)
        try keychain.engine.lock()
        for part in parts.keys {
            let attributes = name.merging(parts) { $1 }.merging([part: .empty(of: part.kind)]) {
                $1
            }
            let query = ItemQuery(itemClass: .internetPassword, attributes: attributes)
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        FindItems(query, Retrieval()), as: keychain.caller)
                } == .itemNotFound)
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        DeleteItems(query, tombstones: .automatic), as: keychain.caller)
                } == .itemNotFound)
        }
        let same = ItemQuery(
            itemClass: .internetPassword, attributes: name.merging(parts) { $1 })
        #expect(
            status {
                _ = try keychain.engine.perform(FindItems(same, Retrieval()), as: keychain.caller)
            } == .interactionNotAllowed)
        try keychain.engine.unlock(passcode: passcode("1234"))
        // An item without the optional parts matches a query for empty parts.
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .internetPassword, attributes: name, protection: .whenUnlocked,
                    data: Data("bare".utf8))), as: keychain.caller)
        let absent = parts.keys.reduce(into: name) { $0[$1] = .empty(of: $1.kind) }
        #expect(
            try found(
                keychain, ItemQuery(itemClass: .internetPassword, attributes: absent), limit: nil)
                == ["bare"])
    }

    // MARK: Updates

    @Test func `an item that gets another name and group keeps its secret`() throws {
        let keychain = try keychain(isReopened: false)
        let before = try #require(keychain.rows(query("guarded")).first)
        try keychain.engine.perform(
            UpdateItems(
                query("guarded"),
                ItemChanges(attributes: [.account: .string("other")], accessGroup: "G2")),
            as: keychain.caller)
        let after = try #require(keychain.rows(query("other")).first)
        #expect(after.secret != before.secret)
        #expect(after.secret?.dropFirst(80) == before.secret?.dropFirst(80))
        #expect(try found(keychain, query("other")) == ["secret guarded"])
        #expect(try keychain.engine.check().isSound)
        // Changing an attribute that has no label leaves the sealed secret as it is.
        try keychain.engine.perform(
            UpdateItems(query("other"), ItemChanges(attributes: [.comment: .string("c")])),
            as: keychain.caller)
        #expect(try keychain.rows(query("other")).first?.secret == after.secret)
        #expect(try found(keychain, query("other")) == ["secret guarded"])
    }
}
