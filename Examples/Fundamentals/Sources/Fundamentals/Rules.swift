// Rules: uniqueness, limits and result shapes, shown with bare calls.

import Foundation
import SecItemFundamentals
import Security

func add(_ attributes: [String: Any]) -> OSStatus {
    SecItemAdd(attributes as CFDictionary, nil)
}

func update(_ query: [String: Any], _ changes: [String: Any]) -> OSStatus {
    SecItemUpdate(query as CFDictionary, changes as CFDictionary)
}

func delete(_ query: [String: Any]) -> OSStatus {
    SecItemDelete(query as CFDictionary)
}

func find(_ query: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
    var result: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    return (status, result)
}

func password(_ account: String, _ secret: String = "secret") -> [String: Any] {
    queries.addition(
        of: Data(secret.utf8), account: account, accessibility: .afterFirstUnlock)
}

/// Leaves the service as it was found: empty.
func removeEverything() {
    _ = delete(queries.everyItem())
}

@MainActor func uniqueness(_ session: Session) {
    session.title("What makes a generic password the same one")
    removeEverything()
    session.check("an item is added", add(password("alice")) == errSecSuccess)
    let same: [(String, CFString, Any)] = [
        ("label", kSecAttrLabel, "L"), ("description", kSecAttrDescription, "D"),
        ("generic", kSecAttrGeneric, Data("g".utf8)),
    ]
    for (name, key, value) in same {
        var other = password("alice")
        other[key as String] = value
        session.check("another \(name) is the same item", add(other) == errSecDuplicateItem)
    }
    var synchronizable = password("alice")
    synchronizable[kSecAttrSynchronizable as String] = true
    session.check("another account is another item", add(password("bob")) == errSecSuccess)
    session.check("a synchronizable one is another item", add(synchronizable) == errSecSuccess)
    var everywhere = queries.everyItem()
    everywhere[kSecAttrSynchronizable as String] = kSecAttrSynchronizableAny
    session.check("all three are deleted by one call", delete(everywhere) == errSecSuccess)

    session.title("What makes an internet password the same one")
    let website: [String: Any] = [
        kSecClass as String: kSecClassInternetPassword,
        kSecUseDataProtectionKeychain as String: true,
        kSecAttrAccount as String: "alice",
        kSecAttrServer as String: "fundamentals.example.org",
        kSecAttrProtocol as String: kSecAttrProtocolHTTPS,
        kSecAttrAuthenticationType as String: kSecAttrAuthenticationTypeHTMLForm,
        kSecAttrPort as String: 443,
        kSecAttrPath as String: "/",
        kSecAttrSecurityDomain as String: "members",
    ]
    let different: [(String, CFString, Any)] = [
        ("account", kSecAttrAccount, "bob"), ("server", kSecAttrServer, "other.example.org"),
        ("protocol", kSecAttrProtocol, kSecAttrProtocolHTTP),
        (
            "authentication type", kSecAttrAuthenticationType,
            kSecAttrAuthenticationTypeHTTPBasic
        ),
        ("port", kSecAttrPort, 8443), ("path", kSecAttrPath, "/login"),
        ("security domain", kSecAttrSecurityDomain, "staff"),
        ("mark as synchronizable", kSecAttrSynchronizable, true),
    ]
    var every = website
    for (_, key, _) in different { every[key as String] = nil }
    every[kSecAttrSynchronizable as String] = kSecAttrSynchronizableAny
    for server in ["fundamentals.example.org", "other.example.org"] {
        every[kSecAttrServer as String] = server
        _ = delete(every)
    }
    session.check("an item is added", add(website) == errSecSuccess)
    for (name, key, value) in different {
        var other = website
        other[key as String] = value
        session.check("another \(name) is another item", add(other) == errSecSuccess)
    }
    var labelled = website
    labelled[kSecAttrLabel as String] = "L"
    session.check("another label is the same item", add(labelled) == errSecDuplicateItem)
    for server in ["fundamentals.example.org", "other.example.org"] {
        every[kSecAttrServer as String] = server
        _ = delete(every)
    }
}

@MainActor func limits(_ session: Session) {
    session.title("How many items a call takes")
    removeEverything()
    for account in ["a", "b", "c"] { _ = add(password(account)) }
    var query = queries.everyItem()
    query[kSecReturnData as String] = true
    session.check("a search gives one without a limit", find(query).result is Data)
    query[kSecMatchLimit as String] = kSecMatchLimitAll
    session.check("with a limit of all it gives all", (find(query).result as? [Data])?.count == 3)
    session.check(
        "an update takes all",
        update(queries.everyItem(), [kSecAttrLabel as String: "L"]) == errSecSuccess)
    query = queries.search(queries.everyItem(), returning: .attributes, limit: .all)
    query[kSecAttrLabel as String] = "L"
    session.check("and all have changed", (find(query).result as? [[String: Any]])?.count == 3)
    session.check("a deletion takes all", delete(queries.everyItem()) == errSecSuccess)
    session.check("and nothing is left", find(queries.listing()).status == errSecItemNotFound)
}

@MainActor func results(_ session: Session) {
    session.title("What a search gives: two items, by return keys and limit")
    removeEverything()
    for account in ["a", "b"] { _ = add(password(account)) }
    for limit in MatchLimit.allCases {
        for returns in ReturnKeys.combinations {
            let found = find(queries.search(queries.everyItem(), returning: returns, limit: limit))
            let shape = ResultShape(of: found.result) { $0 == Data("secret".utf8) }
            let expected = ResultShape.expected(returning: returns, limit: limit, count: 2)
            session.row(
                ["\(limit): \(returns)", "\(shape)"],
                found.status == errSecSuccess && shape.satisfies(expected))
        }
    }
    session.check(
        "success without a return key yields no result",
        find(queries.item(of: "a")) == (errSecSuccess, nil))
}

private func == (
    left: (status: OSStatus, result: CFTypeRef?), right: (status: OSStatus, result: CFTypeRef?)
) -> Bool {
    left.status == right.status && left.result == nil && right.result == nil
}
