// The dictionaries for the SecItem functions, key by key.

import Foundation
import Keychain
import KeychainCore
import KeychainServices
import Testing

@testable import KeychainSecItem

@Suite struct SecItemQueryTests {
    let namespace = Namespace(service: "s", accessGroup: "g", isSynchronizable: false)
    var item: ItemSelector { ItemSelector(namespace: namespace, account: "a") }

    func keys(_ query: SecItemQuery.Dictionary) -> Set<String> {
        Set(query.keys.map { $0 as String })
    }

    static let identity: Set<String> = ["class", "svce", "agrp", "sync", "nleg"]

    @Test func `every query names class, service, group, sync and the keychain`() {
        for query in [
            SecItemQuery.all(namespace), SecItemQuery.item(item), SecItemQuery.list(namespace),
            SecItemQuery.search(item, data: true, attributes: false),
            SecItemQuery.addition(
                item,
                ItemContents(data: Data(), label: nil, accessibility: "ak")),
        ] {
            #expect(keys(query).isSuperset(of: Self.identity))
            #expect(query[kSecClass] as? String == kSecClassGenericPassword as String)
            #expect(query[kSecAttrService] as? String == "s")
            #expect(query[kSecAttrSynchronizable] as? Bool == false)
            #expect(query[kSecUseDataProtectionKeychain] as? Bool == true)
        }
    }

    @Test func `an item is named by its account and its version`() {
        #expect(keys(SecItemQuery.item(item)) == Self.identity.union(["acct"]))
        var old = item
        old.version = 12.345678
        let query = SecItemQuery.item(old)
        #expect(keys(query) == Self.identity.union(["acct", "mdat"]))
        #expect(
            (query[kSecAttrModificationDate] as? Date)?.timeIntervalSinceReferenceDate
                == 12.345678)
    }

    @Test func `a listing asks for no secret`() {
        #expect(
            keys(SecItemQuery.list(namespace))
                == Self.identity.union(["m_Limit", "r_Attributes", "r_PersistentRef"]))
        #expect(
            keys(SecItemQuery.search(item, data: false, attributes: true))
                == Self.identity.union(["acct", "m_Limit", "r_Attributes", "r_PersistentRef"]))
    }

    @Test func `a change holds attributes and the secret only`() {
        let contents = ItemContents(
            data: Data([1]), label: "l", accessibility: "cku")
        let changes = SecItemQuery.changes(contents)
        #expect(keys(changes) == ["v_Data", "pdmn", "labl"])
        #expect(changes[kSecAttrAccessible] as? String == "cku")
    }

    @Test func `no group is named where none is chosen`() {
        let query = SecItemQuery.all(
            Namespace(service: "s", accessGroup: nil, isSynchronizable: true))
        #expect(keys(query) == ["class", "svce", "sync", "nleg"])
        #expect(query[kSecAttrSynchronizable] as? Bool == true)
    }

    @Test func `an accessibility is named by Apple's constant`() {
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
