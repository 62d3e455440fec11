// Statuses: causes every status of the table except those that require a locked keychain or a user,
// and shows the accessibility values.

import Foundation
import SecItemFundamentals
import Security

extension Session {
    func statuses() throws {
        title("What each status says")
        var foreignGroup = query("alice")
        foreignGroup[kSecAttrAccessGroup as String] = "TEAM.other"
        var foreignAttribute = query("alice")
        foreignAttribute[kSecAttrServer as String] = "example.org"
        var textForBoolean = query("alice")
        textForBoolean[kSecReturnData as String] = "yes"
        let late = KeychainQueryBuilder.buildAddition(
            of: Data("secret".utf8), account: "late", service: Self.service,
            accessibility: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)

        let provoked: [OSStatus: OSStatus] = [
            errSecSuccess: SecItem.add(password("alice")),
            errSecDuplicateItem: SecItem.add(password("alice")),
            errSecItemNotFound: find(query("bob")).status,
            // The item requires a passcode, and this keychain has none.
            errSecAuthFailed: SecItem.add(late),
            errSecParam: find(textForBoolean).status,
            errSecNoSuchAttr: find(foreignAttribute).status,
            errSecMissingEntitlement: find(foreignGroup).status,
        ]
        for row in StatusRow.all {
            if let status = provoked[row.status] {
                check("\(row)", status == row.status)
            } else {
                // The tests cause the statuses that require a locked keychain or a user who
                // cancels.
                check("\(row)", row.text != "OSStatus \(row.status)")
            }
        }
        try removeEverything()
    }

    func accessibility() throws {
        title("When an item can be read")
        for accessibility in Accessibility.allCases {
            let name = "\(accessibility)"
            let status = SecItem.add(
                KeychainQueryBuilder.buildAddition(
                    of: Data("secret".utf8), account: name, service: Self.service,
                    accessibility: accessibility.attribute))
            if accessibility == .whenPasscodeSetThisDeviceOnly {
                check("\(name): \(status) without a passcode", status == errSecAuthFailed)
            } else {
                let stored = attribute(of: name)
                check(
                    "\(name): \(stored ?? "none")", stored == accessibility.attribute as String)
            }
        }
        let status = SecItem.update(
            query("whenUnlocked"),
            [kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlockedThisDeviceOnly])
        check(
            "an update changes the accessibility",
            status == errSecSuccess
                && attribute(of: "whenUnlocked")
                    == kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String
        )
        try removeEverything()
    }

    private func attribute(of account: String) -> String? {
        let search = KeychainQueryBuilder.buildQuery(
            account: account, service: Self.service, returnAttributes: true)
        let item = find(search).result as? [String: Any]
        return item?[kSecAttrAccessible as String] as? String
    }
}
