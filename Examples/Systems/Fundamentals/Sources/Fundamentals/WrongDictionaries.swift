// WrongDictionaries: passes keys in dictionaries that don't accept them, and shows that some claims
// about Apple's functions are incorrect.

import Foundation
import SecItemFundamentals
import Security

extension Session {
    func wrongDictionaries() throws {
        title("A key in the wrong dictionary")
        try put("alice")
        let label: [String: Any] = [kSecAttrLabel as String: "L"]

        answer(
            "a class in an update's query", errSecSuccess,
            SecItem.update(query("alice"), [kSecAttrComment as String: "C"]))
        answer(
            "a return key in an update's query", errSecParam,
            SecItem.update(with(kSecReturnData, true), label))
        answer(
            "a limit in an update's query", errSecParam,
            SecItem.update(with(kSecMatchLimit, kSecMatchLimitOne), label))
        let foreign: [(String, CFString, Any)] = [
            ("class", kSecClass, kSecClassGenericPassword),
            ("return key", kSecReturnData, true), ("limit", kSecMatchLimit, kSecMatchLimitOne),
        ]
        for (name, key, value) in foreign {
            answer(
                "a \(name) among an update's changes", errSecNoSuchAttr,
                SecItem.update(
                    query("alice"), label.merging([key as String: value]) { _, new in new }))
        }
        var limited = password("bob")
        limited[kSecMatchLimit as String] = kSecMatchLimitOne
        answer("a limit in an add", errSecParam, SecItem.add(limited))
        answer(
            "a limit of one in a delete", errSecParam,
            SecItem.delete(with(kSecMatchLimit, kSecMatchLimitOne)))
        var classless = query("alice")
        classless[kSecClass as String] = nil
        answer("no class in a search", errSecParam, find(classless).status)
        check(
            "the refused calls changed nothing",
            find(query("alice").merging(label) { $1 }).status == errSecItemNotFound
                && find(query("bob")).status == errSecItemNotFound)

        var addition = password("carol")
        addition[kSecReturnPersistentRef as String] = true
        var result: CFTypeRef?
        let status = SecItem.add(addition, &result)
        check(
            "a return key in an add: \(status), and \((result as? Data)?.count ?? 0) bytes",
            status == errSecSuccess && (result as? Data)?.count == 20)
        answer(
            "a return key in a delete, which ignores it", errSecSuccess,
            SecItem.delete(with(kSecReturnData, true)))
        check("and the item is deleted", find(query("alice")).status == errSecItemNotFound)
        try removeEverything()
    }

    private func with(_ key: CFString, _ value: Any) -> [String: Any] {
        query("alice").merging([key as String: value]) { _, new in new }
    }

    private func answer(_ what: String, _ expected: OSStatus, _ status: OSStatus) {
        check("\(what): \(status)", status == expected)
    }

    func contradictedClaims() throws {
        title("Claims that Apple's functions contradict")
        check(
            "-25293 is errSecAuthFailed; errSecUserCanceled is \(errSecUserCanceled)",
            errSecAuthFailed == -25293 && errSecUserCanceled == -128)
        try put("alice")
        var search = query("alice")
        search[kSecAttrServer as String] = "example.org"
        let status = find(search).status
        check(
            "an attribute that the class doesn't have: \(status), not \(errSecInvalidOwnerEdit)",
            status == -25303 && errSecInvalidOwnerEdit == -25244)

        let before = reference("alice")
        answer(
            "an update changes the account", errSecSuccess,
            SecItem.update(query("alice"), [kSecAttrAccount as String: "carol"]))
        answer(
            "an update changes the service", errSecSuccess,
            SecItem.update(
                query("carol"), [kSecAttrService as String: "\(Self.service).moved"]))
        answer(
            "an update restores the service", errSecSuccess,
            SecItem.update(
                KeychainQueryBuilder.buildQuery(
                    account: "carol", service: "\(Self.service).moved"),
                [kSecAttrService as String: Self.service]))
        check(
            "and the item keeps its persistent reference",
            before != nil && reference("carol") == before && secret("carol") == "secret")
        try put("dave")
        answer(
            "an update to an account that another item has", errSecDuplicateItem,
            SecItem.update(query("dave"), [kSecAttrAccount as String: "carol"]))
        try removeEverything()
    }
}
