// ResultTests: the number of items that a call affects, the identity of items, and the results of
// searches.

import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

@Suite struct ResultTests {
    let keychain = TestKeychain()

    // MARK: Shapes

    /// The forms that Apple's documentation of the return keys promises for a password. The index
    /// of a form is the sum of its return keys: data 1, attributes 2, reference 4, persistent
    /// reference 8.
    private static let promised: [String] = [
        "nothing", "data", "dictionary: attributes", "dictionary: attributes, data",
        "nothing", "dictionary: attributes, data, class", "dictionary: attributes, class",
        "dictionary: attributes, data, class",
        "persistent reference", "dictionary: data, persistent reference",
        "dictionary: attributes, persistent reference",
        "dictionary: attributes, data, persistent reference",
        "dictionary: attributes, persistent reference, class",
        "dictionary: attributes, data, persistent reference, class",
        "dictionary: attributes, persistent reference, class",
        "dictionary: attributes, data, persistent reference, class",
    ]

    @Test func `return keys and limit determine a result's shape, in all 32 combinations`() {
        #expect(keychain.add("a") == errSecSuccess)
        #expect(keychain.add("b") == errSecSuccess)
        var ran: Set<String> = []
        for limit in MatchLimit.allCases {
            for returns in ReturnKeys.combinations {
                let found = keychain.copy(
                    KeychainQueryBuilder.buildSearch(query(), returning: returns, limit: limit))
                #expect(found.status == errSecSuccess)
                let shape = ResultShape(of: found.result) { $0 == Data("secret".utf8) }
                let element = Self.promised[returns.rawValue]
                let text =
                    limit == .one
                    ? element
                    : element == "nothing" ? "empty array" : "array of 2 × \(element)"
                #expect("\(shape)" == text)
                // The forms that the program expects are the same.
                let expected = ResultShape.expected(returning: returns, limit: limit, count: 2)
                #expect("\(expected)" == text)
                #expect(shape.satisfies(expected))
                if shape.satisfies(expected) { ran.insert("\(limit) \(returns)") }
            }
        }
        #expect(ran.count == 32)
    }

    @Test func `a result may have more attributes than expected, but no other difference`() {
        let dictionary = ResultShape.dictionary([.data, .persistentReference])
        #expect(dictionary.satisfies(dictionary))
        #expect(
            ResultShape.dictionary([.attributes, .data, .persistentReference])
                .satisfies(dictionary))
        #expect(!dictionary.satisfies(.dictionary([.attributes, .data, .persistentReference])))
        #expect(!ResultShape.data.satisfies(.persistentReference))
        #expect(!ResultShape.array(of: .data, count: 1).satisfies(.array(of: .data, count: 2)))
        #expect(!ResultShape.nothing.satisfies(.data))
    }

    @Test func `a search without a return key succeeds and returns no result`() {
        #expect(keychain.add("a") == errSecSuccess)
        let found = keychain.copy(query("a"))
        #expect(found.status == errSecSuccess)
        #expect(found.result == nil)
    }

    // MARK: Limits

    @Test func `without a limit, a search returns one item, but updates and deletions affect all`()
    {
        for account in ["a", "b", "c"] { #expect(keychain.add(account) == errSecSuccess) }
        #expect(keychain.copy(query().with(kSecReturnAttributes, true)).result is [String: Any])
        #expect(keychain.update(query(), [kSecAttrLabel as String: "L"]) == errSecSuccess)
        let labelled = query().with(kSecAttrLabel, "L").with(kSecReturnAttributes, true)
            .with(kSecMatchLimit, kSecMatchLimitAll)
        #expect((keychain.copy(labelled).result as? [[String: Any]])?.count == 3)
        #expect(keychain.delete(query()) == errSecSuccess)
        #expect(keychain.copy(query()).status == errSecItemNotFound)
    }

    // MARK: Uniqueness

    @Test func `only account, service, group and synchronizability distinguish generic passwords`()
        throws
    {
        keychain.accessGroups = ["TEAM.app", "TEAM.shared"]
        #expect(keychain.add("a") == errSecSuccess)
        let ways: [[CFString: Any]] = [
            [kSecAttrAccount: "b"], [kSecAttrService: "other"],
            [kSecAttrAccessGroup: "TEAM.shared"], [kSecAttrSynchronizable: true],
        ]
        for way in ways {
            #expect(keychain.add("a", way) == errSecSuccess)
            #expect(keychain.add("a", way) == errSecDuplicateItem)
        }
        let same: [[CFString: Any]] = [
            [kSecAttrLabel: "L"], [kSecAttrDescription: "D"], [kSecAttrGeneric: Data("g".utf8)],
            [kSecAttrComment: "C"], [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked],
            [kSecValueData: Data("other".utf8)],
        ]
        for way in same { #expect(keychain.add("a", way) == errSecDuplicateItem) }
        #expect(try keychain.items().count == 5)
    }

    @Test func `only nine attributes distinguish internet passwords`() throws {
        keychain.accessGroups = ["TEAM.app", "TEAM.shared"]
        let website: [CFString: Any] = [
            kSecClass: kSecClassInternetPassword, kSecAttrAccount: "a",
            kSecAttrServer: "example.org", kSecAttrProtocol: kSecAttrProtocolHTTPS,
            kSecAttrAuthenticationType: kSecAttrAuthenticationTypeHTMLForm, kSecAttrPort: 443,
            kSecAttrPath: "/", kSecAttrSecurityDomain: "members",
            kSecUseDataProtectionKeychain: true,
        ]
        func add(_ more: [CFString: Any]) -> OSStatus {
            let attributes = website.merging(more) { $1 }
            return keychain.withSecItem { SecItemAdd(attributes as CFDictionary, nil) }
        }
        #expect(add([:]) == errSecSuccess)
        let ways: [[CFString: Any]] = [
            [kSecAttrAccount: "b"], [kSecAttrServer: "example.com"],
            [kSecAttrProtocol: kSecAttrProtocolHTTP],
            [kSecAttrAuthenticationType: kSecAttrAuthenticationTypeHTTPBasic],
            [kSecAttrPort: 8443], [kSecAttrPath: "/login"], [kSecAttrSecurityDomain: "staff"],
            [kSecAttrAccessGroup: "TEAM.shared"], [kSecAttrSynchronizable: true],
        ]
        for way in ways {
            #expect(add(way) == errSecSuccess)
            #expect(add(way) == errSecDuplicateItem)
        }
        let same: [[CFString: Any]] = [
            [kSecAttrLabel: "L"], [kSecAttrDescription: "D"], [kSecAttrComment: "C"],
            [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock],
        ]
        for way in same { #expect(add(way) == errSecDuplicateItem) }
        #expect(try keychain.items().count == 10)
    }
}
