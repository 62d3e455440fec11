// Statuses: each status of the table, brought about where the API has a way to it.

import Foundation
import SecItemFundamentals
import Security

@MainActor func dictionaries(_ session: Session) {
    session.title("A key in the wrong dictionary is refused, not ignored")
    removeEverything()
    _ = add(password("alice"))
    let query = queries.item(of: "alice")
    let label: [String: Any] = [kSecAttrLabel as String: "L"]

    var returning = query
    returning[kSecReturnData as String] = true
    session.check("a return key in an update", update(returning, label) == errSecParam)
    var limited = query
    limited[kSecMatchLimit as String] = kSecMatchLimitOne
    session.check("a limit in an update", update(limited, label) == errSecParam)
    session.check("a limit in a deletion", delete(limited) == errSecParam)
    var addition = password("bob")
    addition[kSecMatchLimit as String] = kSecMatchLimitOne
    session.check("a limit in an addition", add(addition) == errSecParam)
    var classless = query
    classless[kSecClass as String] = nil
    session.check("no class in a search", find(classless).status == errSecParam)
    // The class has four characters as attributes have, and is read as one that no class has.
    session.check(
        "a class among the changes of an update, by Apple's code for it, errSecNoSuchAttr",
        update(query, [kSecClass as String: kSecClassGenericPassword]) == errSecNoSuchAttr)
    session.check(
        "nothing was changed by any of them",
        find(queries.search(query.merging(label) { $1 }, returning: [], limit: .one)).status
            == errSecItemNotFound)
}

@MainActor func statuses(_ session: Session) {
    session.title("What each status says")
    removeEverything()
    var foreignGroup = queries.item(of: "alice")
    foreignGroup[kSecAttrAccessGroup as String] = "group.of.somebody.else"
    var foreignAttribute = queries.item(of: "alice")
    foreignAttribute[kSecAttrServer as String] = "example.org"
    var numberForBoolean = queries.item(of: "alice")
    numberForBoolean[kSecReturnData as String] = "yes"
    let late = queries.addition(
        of: Data("secret".utf8), account: "late", accessibility: .whenPasscodeSetThisDeviceOnly)

    let provoked: [OSStatus: OSStatus] = [
        errSecSuccess: add(password("alice")),
        errSecDuplicateItem: add(password("alice")),
        errSecItemNotFound: find(queries.item(of: "nobody")).status,
        // The item needs a passcode, and this keychain has none.
        errSecAuthFailed: add(late),
        errSecParam: find(numberForBoolean).status,
        errSecNoSuchAttr: find(foreignAttribute).status,
        errSecMissingEntitlement: find(foreignGroup).status,
    ]
    for row in StatusRow.all {
        if let status = provoked[row.status] {
            session.check("\(row)", status == row.status)
        } else {
            session.check("\(row)", !row.text.hasPrefix("OSStatus"))
        }
        print("      \(row.cause) \(row.answer)")
    }
    print(
        """

          errSecInteractionNotAllowed comes where the keychain is locked: `Fundamentals locked`
          shows it. errSecUserCanceled comes where a person is asked. Nothing in this program
          asks anybody, so it is text here; the tests inject it.
        """)
}

@MainActor func accessibility(_ session: Session) {
    session.title("When an item can be read")
    removeEverything()
    for accessibility in Accessibility.allCases where accessibility.needsNoPasscode {
        let name = "\(accessibility)"
        let attributes = queries.addition(
            of: Data("secret".utf8), account: name, accessibility: accessibility)
        let found = add(attributes) == errSecSuccess ? attribute(of: name) : nil
        session.check("\(name): \(found ?? "none")", found == accessibility.attribute as String)
    }
    _ = add(password("plain"))
    session.check(
        "an update changes it",
        update(
            queries.item(of: "plain"),
            [kSecAttrAccessible as String: Accessibility.whenUnlockedThisDeviceOnly.attribute])
            == errSecSuccess
            && attribute(of: "plain")
                == Accessibility.whenUnlockedThisDeviceOnly.attribute as String
    )
    session.check(
        "whenPasscodeSetThisDeviceOnly: none without a passcode",
        find(queries.item(of: "whenPasscodeSetThisDeviceOnly")).status == errSecItemNotFound)
}

private func attribute(of account: String) -> String? {
    let search = queries.search(
        queries.item(of: account), returning: .attributes, limit: .one)
    let item = find(search).result as? [String: Any]
    return item?[kSecAttrAccessible as String] as? String
}

extension Accessibility {
    fileprivate var needsNoPasscode: Bool { self != .whenPasscodeSetThisDeviceOnly }
}
