// StatusTests: causes each of the nine statuses in StatusTable.

import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

@Suite struct StatusTests {
    let keychain = TestKeychain()

    @Test func `each of the nine statuses has a different text`() {
        #expect(
            StatusRow.all.map(\.status)
                == [0, -25299, -25300, -25308, -128, -25293, -50, -25303, -34018])
        #expect(
            StatusRow.all.map(\.name) == [
                "errSecSuccess", "errSecDuplicateItem", "errSecItemNotFound",
                "errSecInteractionNotAllowed", "errSecUserCanceled", "errSecAuthFailed",
                "errSecParam", "errSecNoSuchAttr", "errSecMissingEntitlement",
            ])
        for row in StatusRow.all {
            #expect(!row.text.contains("OSStatus"))
            #expect(row.text == SecCopyErrorMessageString(row.status, nil) as String?)
            #expect(StatusRow.all.filter { $0.text == row.text }.count == 1)
        }
    }

    @Test(arguments: StatusRow.all)
    func `each of the nine statuses is returned for the cause in StatusTable`(_ row: StatusRow)
        throws
    {
        #expect(try provoke(row.status) == row.status)
    }

    private func provoke(_ status: OSStatus) throws -> OSStatus {
        switch status {
        case errSecSuccess: return keychain.add("a")
        case errSecDuplicateItem:
            #expect(keychain.add("a") == errSecSuccess)
            return keychain.add("a")
        case errSecItemNotFound: return keychain.copy(query("none")).status
        case errSecInteractionNotAllowed:
            #expect(
                keychain.add("a", [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked]) == 0)
            try keychain.lock()
            return keychain.copy(query("a").with(kSecReturnData, true)).status
        case errSecUserCanceled:
            try keychain.setPasscode("1234")
            let control = try #require(
                SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil))
            let item = query("a").with(kSecAttrAccessControl, control)
                .with(kSecValueData, Data("secret".utf8))
            #expect(keychain.withSecItem { SecItem.add(item) } == errSecSuccess)
            keychain.person = .declining
            return keychain.copy(query("a").with(kSecReturnData, true)).status
        case errSecAuthFailed:
            return keychain.add(
                "a", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
        case errSecParam: return keychain.add("a", [kSecReturnData: "yes"])
        case errSecNoSuchAttr: return keychain.add("a", [kSecAttrServer: "example.org"])
        case errSecMissingEntitlement:
            return keychain.add("a", [kSecAttrAccessGroup: "TEAM.other"])
        default: return errSecInternalError
        }
    }
}
