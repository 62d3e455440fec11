// Rules: checks the rules for uniqueness, for limits and for the forms of results.

import Foundation
import SecItemFundamentals
import Security

extension Session {
    func uniqueness() throws {
        title("Which attributes distinguish passwords")
        try put("alice")
        let same: [(String, CFString, Any)] = [
            ("label", kSecAttrLabel, "L"), ("description", kSecAttrDescription, "D"),
            ("generic", kSecAttrGeneric, Data("g".utf8)),
        ]
        try adding(to: password("alice"), each: same, "the same", errSecDuplicateItem)
        try adding(
            to: password("alice"),
            each: [
                ("account", kSecAttrAccount, "bob"),
                ("mark as synchronizable", kSecAttrSynchronizable, true),
            ], "another", errSecSuccess)
        try removeEverything()

        let different: [(String, CFString, Any)] = [
            ("account", kSecAttrAccount, "bob"), ("server", kSecAttrServer, "b.example.org"),
            ("protocol", kSecAttrProtocol, kSecAttrProtocolHTTP),
            (
                "authentication type", kSecAttrAuthenticationType,
                kSecAttrAuthenticationTypeHTTPBasic
            ),
            ("port", kSecAttrPort, 8443), ("path", kSecAttrPath, "/login"),
            ("security domain", kSecAttrSecurityDomain, "staff"),
            ("mark as synchronizable", kSecAttrSynchronizable, true),
        ]
        try removeWebsites()
        let status = SecItem.add(Self.website)
        guard status == errSecSuccess else { throw KeychainError(status: status) }
        title("Which attributes distinguish internet passwords")
        try adding(
            to: Self.website, each: [("label", kSecAttrLabel, "L")], "the same",
            errSecDuplicateItem)
        try adding(to: Self.website, each: different, "another", errSecSuccess)
        try removeWebsites()
    }

    /// Adds items, each of which differs from a given item in one attribute, and checks the
    /// statuses.
    private func adding(
        to item: [String: Any], each: [(String, CFString, Any)], _ which: String,
        _ expected: OSStatus
    ) throws {
        var names: [String] = []
        for (name, key, value) in each {
            var other = item
            other[key as String] = value
            if SecItem.add(other) == expected { names.append(name) }
        }
        check(
            "\(which) item, \(expected), with another \(names.joined(separator: ", "))",
            names.count == each.count)
    }

    private static var website: [String: Any] {
        var item = KeychainQueryBuilder.buildQuery(
            forClass: kSecClassInternetPassword, account: "alice")
        item[kSecAttrServer as String] = "a.example.org"
        item[kSecAttrProtocol as String] = kSecAttrProtocolHTTPS
        item[kSecAttrAuthenticationType as String] = kSecAttrAuthenticationTypeHTMLForm
        item[kSecAttrPort as String] = 443
        item[kSecAttrPath as String] = "/"
        item[kSecAttrSecurityDomain as String] = "members"
        return item
    }

    private func removeWebsites() throws {
        for server in ["a.example.org", "b.example.org"] {
            var query = KeychainQueryBuilder.buildQuery(forClass: kSecClassInternetPassword)
            query[kSecAttrServer as String] = server
            query[kSecAttrSynchronizable as String] = kSecAttrSynchronizableAny
            try remove(query)
        }
    }

    func limits() throws {
        title("How many items a call affects")
        try put("a", "b", "c")
        var search = query()
        search[kSecReturnData as String] = true
        check("a search without a limit returns one item", find(search).result is Data)
        search[kSecMatchLimit as String] = kSecMatchLimitAll
        check(
            "a search with a limit of all returns all items",
            (find(search).result as? [Data])?.count == 3)
        let status = SecItem.update(query(), [kSecAttrLabel as String: "L"])
        search[kSecAttrLabel as String] = "L"
        check(
            "an update changes all items",
            status == errSecSuccess && (find(search).result as? [Data])?.count == 3)
        check(
            "a deletion deletes all items",
            SecItem.delete(query()) == errSecSuccess && find(search).status == errSecItemNotFound)
    }

    func shapes() throws {
        title(
            "What a search returns: two items, by limit and return keys, and the cast to use")
        try put("a", "bo")
        try removeKeys()
        try putKey("1")
        try putKey("2")
        for row in CastRow.all {
            // If two items match, a limit of one returns either of them.
            let password = row.limit == .one ? query("a") : query()
            let query = row.itemClass == .key ? Self.keys : password
            let found = find(
                KeychainQueryBuilder.buildSearch(query, returning: row.returns, limit: row.limit))
            let content = found.status == errSecSuccess ? row.read(found.result) : nil
            self.row(
                ["\(row)", row.cast, content ?? "another type"], content != nil)
        }
        try removeKeys()
        try everyCombination()
        bothStyles()
        try removeEverything()
    }

    private func everyCombination() throws {
        var count = 0
        for limit in MatchLimit.allCases {
            for returns in ReturnKeys.combinations {
                let search = KeychainQueryBuilder.buildSearch(
                    query(), returning: returns, limit: limit)
                let found = find(search)
                let shape = ResultShape(of: found.result) { $0 == Data("secret".utf8) }
                let expected = ResultShape.expected(returning: returns, limit: limit, count: 2)
                if found.status == errSecSuccess, shape.satisfies(expected) { count += 1 }
            }
        }
        check(
            "\(count) combinations of four return keys and two limits return what they promise",
            count == 32)
    }

    /// Checks that dictionaries with keys of type `CFString` and of type `String` find the same
    /// item.
    private func bothStyles() {
        let byConstant: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: Self.service,
            kSecAttrAccount: "a", kSecReturnData: true, kSecUseDataProtectionKeychain: true,
        ]
        var bridged: [String: Any] = [:]
        for (key, value) in byConstant { bridged[key as String] = value }
        let (status, result) = SecItem.copyMatching(byConstant)
        let same = find(bridged).result as? Data
        check(
            "[CFString: Any] and [String: Any] find the same items",
            status == errSecSuccess && result as? Data == Data("secret".utf8)
                && same == result as? Data)
    }

    // MARK: Keys with references

    private static var keys: [String: Any] {
        var query = KeychainQueryBuilder.buildQuery(forClass: kSecClassKey)
        query[kSecAttrLabel as String] = service
        return query
    }

    private func putKey(_ tag: String) throws {
        let parameters: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits as String: 256,
        ]
        guard let key = SecKeyCreateRandomKey(parameters as CFDictionary, nil) else {
            throw KeychainError(status: errSecParam)
        }
        var item = Self.keys
        item[kSecValueRef as String] = key
        item[kSecAttrApplicationTag as String] = Data(tag.utf8)
        let status = SecItem.add(item)
        guard status == errSecSuccess else { throw KeychainError(status: status) }
    }

    private func removeKeys() throws { try remove(Self.keys) }
}
