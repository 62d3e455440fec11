// The dictionaries passed to the SecItem functions, key by key.

import Foundation
import Keychain
import KeychainCore
import KeychainServices
import Testing

@testable import KeychainSecItem

@Suite struct SecItemQueryTests {
    let all = ItemQuery(
        itemClass: .genericPassword, attributes: [.service: .string("s")], accessGroup: "g")
    var item: ItemQuery {
        var item = all
        item.attributes[.account] = .string("a")
        return item
    }
    let listing = Retrieval(limit: nil)

    func new(_ protection: ProtectionClass, constraints: AccessConstraints = []) -> NewItem {
        NewItem(
            itemClass: .genericPassword, attributes: item.attributes, accessGroup: "g",
            protection: protection, constraints: constraints, data: Data())
    }

    func keys(_ query: SecItemQuery.Dictionary) -> Set<String> {
        Set(query.keys.map { $0 as String })
    }

    static let identity: Set<String> = ["class", "svce", "agrp", "sync", "nleg"]

    @Test
    func `a query has class, service, any chosen group, synchronizability and data protection`()
        throws
    {
        for query in [
            try SecItemQuery.query(all), try SecItemQuery.query(item),
            try SecItemQuery.search(all, listing),
            try SecItemQuery.search(item, Retrieval(includesData: true)),
            try SecItemQuery.addition(new(.whenUnlocked)),
        ] {
            #expect(keys(query).isSuperset(of: Self.identity))
            #expect(query[kSecClass] as? String == kSecClassGenericPassword as String)
            #expect(query[kSecAttrService] as? String == "s")
            #expect(query[kSecAttrSynchronizable] as? Bool == false)
            #expect(query[kSecUseDataProtectionKeychain] as? Bool == true)
        }
    }

    @Test func `an item is identified by its account, and by its modification date if given`()
        throws
    {
        #expect(keys(try SecItemQuery.query(item)) == Self.identity.union(["acct"]))
        var old = item
        old.attributes[.modificationDate] = .date(12.345678)
        let query = try SecItemQuery.query(old)
        #expect(keys(query) == Self.identity.union(["acct", "mdat"]))
        #expect(
            (query[kSecAttrModificationDate] as? Date)?.timeIntervalSinceReferenceDate
                == 12.345678)
    }

    @Test func `a listing requests no secret`() throws {
        #expect(
            keys(try SecItemQuery.search(all, listing))
                == Self.identity.union(["m_Limit", "r_Attributes", "r_PersistentRef"]))
        #expect(
            keys(try SecItemQuery.search(item, Retrieval()))
                == Self.identity.union(["acct", "m_Limit", "r_Attributes", "r_PersistentRef"]))
    }

    @Test func `a change contains only attributes and the secret`() throws {
        let contents = ItemChanges(
            attributes: [.label: .string("l")], protection: .afterFirstUnlockThisDeviceOnly,
            data: Data([1]))
        let changes = try SecItemQuery.changes(contents)
        #expect(keys(changes) == ["v_Data", "pdmn", "labl"])
        #expect(changes[kSecAttrAccessible] as? String == "cku")
    }

    @Test func `an access control replaces the accessibility`() throws {
        let addition = try SecItemQuery.addition(
            new(.whenUnlockedThisDeviceOnly, constraints: .userPresence))
        #expect(keys(addition).isSuperset(of: ["accc"]))
        #expect(addition[kSecAttrAccessible] == nil)
    }

    @Test func `a query contains no access group unless one was chosen`() throws {
        let query = try SecItemQuery.query(
            ItemQuery(
                itemClass: .genericPassword, attributes: [.service: .string("s")],
                isSynchronizable: true))
        #expect(keys(query) == ["class", "svce", "sync", "nleg"])
        #expect(query[kSecAttrSynchronizable] as? Bool == true)
    }

    @Test func `a request that a dictionary can't fully express is refused`() {
        let certificates = ItemQuery(itemClass: .certificate)
        let subdomains = ItemQuery(itemClass: .internetPassword, hostOrSubdomain: "h")
        let tombstones = ItemQuery(itemClass: .genericPassword, isTombstone: true)
        let unnamed = ItemQuery(
            itemClass: .genericPassword, attributes: [.alias: .string("a")])
        for query in [certificates, subdomains, tombstones, unnamed] {
            #expect(throws: SecItemHandler.unimplemented) { try SecItemQuery.query(query) }
        }
        #expect(throws: SecItemHandler.unimplemented) {
            try SecItemQuery.search(item, Retrieval(skipsConstrained: true))
        }
        #expect(throws: SecItemHandler.unimplemented) {
            try SecItemQuery.changes(ItemChanges(isTombstone: true))
        }
    }

    @Test(arguments: [20, 12])
    func `a persistent reference of 20 or 12 bytes is kept unchanged, one byte more is refused`(
        byteCount: Int
    ) throws {
        let bytes = Data("genp".utf8) + Data((1...UInt8(byteCount - 4)))
        let reference = try #require(ItemReference(persistent: bytes))
        #expect(reference.persistent(of: .genericPassword) == bytes)
        #expect(ItemReference(persistent: bytes + [0]) == nil)
    }

    @Test func `an accessibility is translated to Apple's constant`() {
        let rows: [(Keychain.Accessibility, CFString)] = [
            (.whenUnlocked, kSecAttrAccessibleWhenUnlocked),
            (.afterFirstUnlock, kSecAttrAccessibleAfterFirstUnlock),
            (.whenUnlockedThisDeviceOnly, kSecAttrAccessibleWhenUnlockedThisDeviceOnly),
            (.afterFirstUnlockThisDeviceOnly, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly),
            (.whenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly),
        ]
        for (accessibility, constant) in rows {
            #expect(accessibility.rawValue == constant as String)
            #expect(!accessibility.description.hasPrefix(accessibility.rawValue))
            let thisDeviceOnly = (constant as String).hasSuffix("u")
            #expect(accessibility.isThisDeviceOnly == thisDeviceOnly)
        }
    }
}
