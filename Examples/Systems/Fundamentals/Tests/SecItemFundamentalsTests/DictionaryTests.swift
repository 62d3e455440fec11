// DictionaryTests: dictionaries with keys that the called function doesn't accept in them, and the
// actual behavior of Apple's functions where common claims about it are incorrect.

import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

@Suite struct DictionaryTests {
    let keychain = TestKeychain()
    let label: [String: Any] = [kSecAttrLabel as String: "L"]

    init() { #expect(keychain.add("a") == errSecSuccess) }

    private func isUnchanged() -> Bool {
        keychain.copy(query("a").with(kSecAttrLabel, "L")).status == errSecItemNotFound
            && keychain.secret("a") == "secret"
    }

    // MARK: Update

    @Test func `an update's query needs a class`() {
        #expect(keychain.update(query("a").without(kSecClass), label) == errSecParam)
        #expect(isUnchanged())
        #expect(keychain.update(query("a"), label) == errSecSuccess)
        #expect(!isUnchanged())
    }

    @Test(arguments: ReturnKeys.combinations.dropFirst())
    func `a return key in an update's query causes errSecParam`(returns: ReturnKeys) {
        let search = returns.keys.reduce(query("a")) { $0.with($1, true) }
        #expect(keychain.update(search, label) == errSecParam)
        #expect(isUnchanged())
    }

    @Test(arguments: MatchLimit.allCases)
    func `a limit in an update's query causes errSecParam`(limit: MatchLimit) {
        #expect(
            keychain.update(query("a").with(kSecMatchLimit, limit.value), label) == errSecParam)
        #expect(isUnchanged())
    }

    @Test func `a class among the changes is refused with errSecNoSuchAttr`() {
        #expect(
            keychain.update(query("a"), label.with(kSecClass, kSecClassGenericPassword)) == -25303)
        #expect(isUnchanged())
    }

    @Test(arguments: ReturnKeys.combinations.dropFirst())
    func `a return key among the changes is refused with errSecNoSuchAttr`(returns: ReturnKeys) {
        let changes = returns.keys.reduce(label) { $0.with($1, true) }
        #expect(keychain.update(query("a"), changes) == -25303)
        #expect(isUnchanged())
    }

    @Test func `a match key among the changes is refused with errSecNoSuchAttr`() {
        for (key, value) in [
            (kSecMatchLimit, kSecMatchLimitOne as Any), (kSecMatchLimit, kSecMatchLimitAll),
            (kSecMatchCaseInsensitive, true),
        ] {
            #expect(keychain.update(query("a"), label.with(key, value)) == -25303)
        }
        #expect(isUnchanged())
    }

    // MARK: Add

    @Test(arguments: MatchLimit.allCases)
    func `a limit in an add causes errSecParam`(limit: MatchLimit) {
        #expect(keychain.add("b", [kSecMatchLimit: limit.value]) == errSecParam)
        #expect(keychain.copy(query("b")).status == errSecItemNotFound)
    }

    @Test func `an add returns what its return keys request`() throws {
        let addition = KeychainQueryBuilder.buildAddition(
            of: Data("secret".utf8), account: "b", service: service,
            accessibility: kSecAttrAccessibleAfterFirstUnlock
        ).with(kSecReturnData, true).with(kSecReturnAttributes, true)
        var result: CFTypeRef?
        #expect(keychain.withSecItem { SecItem.add(addition, &result) } == errSecSuccess)
        let item = try #require(result as? [String: Any])
        #expect(item[kSecAttrAccount as String] as? String == "b")
        #expect(item[kSecValueData as String] as? Data == Data("secret".utf8))
    }

    // MARK: Delete

    @Test func `a limit of one in a delete causes errSecParam`() {
        #expect(
            keychain.delete(query("a").with(kSecMatchLimit, kSecMatchLimitOne)) == errSecParam)
        #expect(isUnchanged())
    }

    /// iOS rejects `kSecMatchLimitAll` in a delete. macOS ignores it, and so does this package.
    @Test func `a limit of all in a delete is accepted`() {
        #expect(keychain.add("b") == errSecSuccess)
        #expect(
            keychain.delete(query().with(kSecMatchLimit, kSecMatchLimitAll)) == errSecSuccess)
        #expect(keychain.copy(query()).status == errSecItemNotFound)
    }

    @Test(arguments: ReturnKeys.combinations.dropFirst())
    func `a return key in a delete is ignored`(returns: ReturnKeys) {
        let search = returns.keys.reduce(query("a")) { $0.with($1, true) }
        #expect(keychain.delete(search) == errSecSuccess)
        #expect(keychain.copy(query("a")).status == errSecItemNotFound)
    }

    // MARK: Search

    @Test
    func `without a class a search or deletion fails, and a search in another class finds nothing`()
    {
        #expect(keychain.copy(query("a").without(kSecClass)).status == errSecParam)
        #expect(keychain.delete(query("a").without(kSecClass)) == errSecParam)
        #expect(
            keychain.copy(
                KeychainQueryBuilder.buildQuery(
                    forClass: kSecClassInternetPassword, account: "a")
            ).status == errSecItemNotFound)
        #expect(isUnchanged())
    }

    // MARK: Claims that Apple's functions contradict

    // Each test states what Apple's functions do, not the claim.

    @Test
    func `if no passcode is set, adding an item that needs one causes errSecAuthFailed (-25293)`()
        throws
    {
        #expect(errSecAuthFailed == -25293)
        #expect(
            keychain.add(
                "b", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
                == -25293)
    }

    @Test func `errSecUserCanceled (-128) is returned if the user declines`() throws {
        #expect(errSecUserCanceled == -128)
        try keychain.setPasscode("1234")
        let control = try #require(
            SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
        let item = query("present").with(kSecAttrAccessControl, control)
            .with(kSecValueData, Data("secret".utf8))
        #expect(keychain.withSecItem { SecItem.add(item) } == errSecSuccess)
        keychain.person = .declining
        #expect(keychain.copy(query("present").with(kSecReturnData, true)).status == -128)
        keychain.person = .owner
        #expect(keychain.secret("present") == "secret")
    }

    @Test func `an attribute that the class doesn't have causes -25303 in all four functions`() {
        #expect(errSecNoSuchAttr == -25303)
        #expect(errSecInvalidOwnerEdit == -25244)
        #expect(keychain.add("b", [kSecAttrServer: "example.org"]) == -25303)
        let foreign = query("a").with(kSecAttrServer, "example.org")
        #expect(keychain.copy(foreign).status == -25303)
        #expect(keychain.update(foreign, label) == -25303)
        #expect(
            keychain.update(query("a"), [kSecAttrServer as String: "example.org"]) == -25303)
        #expect(keychain.delete(foreign) == -25303)
        #expect(isUnchanged())
    }

    @Test func `an update can change the account and the service of an item`() throws {
        let search = { (query: [String: Any]) in
            KeychainQueryBuilder.buildSearch(query, returning: .persistentReference, limit: .one)
        }
        let before = try #require(keychain.copy(search(query("a"))).result as? Data)
        let changes: [String: Any] = [
            kSecAttrAccount as String: "b", kSecAttrService as String: "moved",
        ]
        #expect(keychain.update(query("a"), changes) == errSecSuccess)
        #expect(keychain.copy(query("a")).status == errSecItemNotFound)
        let moved = KeychainQueryBuilder.buildQuery(account: "b", service: "moved")
        #expect(keychain.copy(search(moved)).result as? Data == before)
    }

    @Test func `changing an account to another item's account fails as a duplicate`() {
        #expect(keychain.add("b") == errSecSuccess)
        #expect(
            keychain.update(query("b"), [kSecAttrAccount as String: "a"])
                == errSecDuplicateItem)
        #expect(keychain.secret("a") == "secret")
        #expect(keychain.secret("b") == "secret")
    }

    // MARK: Types of dictionary keys

    @Test func `dictionary keys of type CFString and of type String are equivalent`() {
        let byConstant: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service,
            kSecAttrAccount: "styled", kSecValueData: Data("v".utf8),
            kSecUseDataProtectionKeychain: true,
        ]
        #expect(
            keychain.withSecItem { SecItemAdd(byConstant as CFDictionary, nil) }
                == errSecSuccess)
        #expect(keychain.secret("styled") == "v")
        let search: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a", kSecReturnData: true,
        ]
        let (status, result) = keychain.withSecItem { SecItem.copyMatching(search) }
        #expect(status == errSecSuccess)
        #expect(result as? Data == Data("secret".utf8))
    }

    @Test func `Apple's constants find attributes in a result whose keys are AnyHashable`() throws {
        let found = keychain.copy(query("a").with(kSecReturnAttributes, true))
        let attributes = try #require(found.result as? [AnyHashable: Any])
        #expect(attributes[kSecAttrAccount] as? String == "a")
        #expect(attributes[kSecAttrAccount as String] as? String == "a")
    }
}
