// DictionaryTests: what the builder makes, and what the four functions say to dictionaries.

import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

let queries = QueryBuilder(service: "org.example.fundamentals")

@Suite struct DictionaryTests {
    let keychain = TestKeychain()

    private func add(_ account: String, _ more: [CFString: Any] = [:]) -> OSStatus {
        var attributes = queries.addition(
            of: Data("secret".utf8), account: account, accessibility: .afterFirstUnlock)
        for (key, value) in more { attributes[key as String] = value }
        return keychain.withSecItem { SecItemAdd(attributes as CFDictionary, nil) }
    }

    private func copy(_ query: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        let status = keychain.withSecItem { SecItemCopyMatching(query as CFDictionary, &result) }
        return (status, result)
    }

    private func update(_ query: [String: Any], _ changes: [String: Any]) -> OSStatus {
        keychain.withSecItem { SecItemUpdate(query as CFDictionary, changes as CFDictionary) }
    }

    private func delete(_ query: [String: Any]) -> OSStatus {
        keychain.withSecItem { SecItemDelete(query as CFDictionary) }
    }

    // MARK: The builder

    @Test func `every query names class, service and the data-protection keychain`() {
        let dictionaries = [
            queries.everyItem(), queries.item(of: "a"), queries.secret(of: "a"),
            queries.listing(),
            queries.addition(of: Data(), account: "a", accessibility: .whenUnlocked),
        ]
        for dictionary in dictionaries {
            #expect(dictionary[kSecUseDataProtectionKeychain as String] as? Bool == true)
            #expect(
                dictionary[kSecClass as String] as? String == kSecClassGenericPassword as String)
            #expect(dictionary[kSecAttrService as String] as? String == queries.service)
        }
        let grouped = QueryBuilder(service: "s", accessGroup: "TEAM.shared")
        #expect(grouped.listing()[kSecAttrAccessGroup as String] as? String == "TEAM.shared")
    }

    @Test func `attributes with AnyHashable keys are looked up by Apple's constants`() throws {
        #expect(add("a") == errSecSuccess)
        var query = queries.item(of: "a")
        query[kSecReturnAttributes as String] = true
        let attributes = try #require(copy(query).result as? [AnyHashable: Any])
        #expect(attributes[kSecAttrAccount] as? String == "a")
        #expect(attributes[kSecAttrAccount as String] as? String == "a")
    }

    @Test func `a query holds no attribute but the primary key`() {
        #expect(
            Set(queries.item(of: "a").keys)
                == [
                    kSecClass as String, kSecAttrService as String, kSecAttrAccount as String,
                    kSecUseDataProtectionKeychain as String,
                ])
        #expect(queries.listing()[kSecReturnData as String] == nil)
        let change = queries.change(to: Data(), accessibility: .whenUnlocked)
        #expect(Set(change.keys) == [kSecValueData as String, kSecAttrAccessible as String])
    }

    @Test func `each dictionary is a fresh one`() {
        var first = queries.item(of: "a")
        first[kSecAttrLabel as String] = "L"
        #expect(queries.item(of: "a")[kSecAttrLabel as String] == nil)
    }

    // MARK: Results

    @Test(arguments: MatchLimit.allCases, ReturnKeys.combinations)
    func `a search gives the shape that its return keys and limit say`(
        limit: MatchLimit, returns: ReturnKeys
    ) {
        #expect(add("a") == errSecSuccess)
        #expect(add("b") == errSecSuccess)
        let found = copy(queries.search(queries.everyItem(), returning: returns, limit: limit))
        #expect(found.status == errSecSuccess)
        let shape = ResultShape(of: found.result) { $0 == Data("secret".utf8) }
        let expected = ResultShape.expected(returning: returns, limit: limit, count: 2)
        #expect(shape.satisfies(expected), "\(shape)")
    }

    @Test func `a shape satisfies none but its own, attributes aside`() {
        let dictionary = ResultShape.dictionary([.data, .persistentReference])
        #expect(
            ResultShape.dictionary([.attributes, .data, .persistentReference])
                .satisfies(dictionary))
        #expect(!dictionary.satisfies(.dictionary([.attributes, .data, .persistentReference])))
        #expect(!ResultShape.data.satisfies(.persistentReference))
        #expect(!ResultShape.array(of: .data, count: 1).satisfies(.array(of: .data, count: 2)))
        #expect(!ResultShape.nothing.satisfies(.data))
    }

    @Test func `the table of shapes has 32 rows`() {
        let shapes = MatchLimit.allCases.flatMap { limit in
            ReturnKeys.combinations.map {
                ResultShape.expected(returning: $0, limit: limit, count: 2).description
            }
        }
        #expect(shapes.count == 32)
        #expect(shapes.filter { $0 == "nothing" }.count == 2)
        #expect(shapes.filter { $0 == "empty array" }.count == 2)
        #expect(shapes.filter { $0 == "data" || $0 == "persistent reference" }.count == 2)
    }

    @Test func `success without a return key yields no result`() {
        #expect(add("a") == errSecSuccess)
        let found = copy(queries.item(of: "a"))
        #expect(found.status == errSecSuccess)
        #expect(found.result == nil)
    }

    @Test func `a search takes one without a limit, an update and a deletion take all`() {
        for account in ["a", "b", "c"] { #expect(add(account) == errSecSuccess) }
        var query = queries.everyItem()
        query[kSecReturnAttributes as String] = true
        #expect(copy(query).result is [String: Any])
        #expect(update(queries.everyItem(), [kSecAttrLabel as String: "L"]) == errSecSuccess)
        var labelled = queries.listing()
        labelled[kSecAttrLabel as String] = "L"
        #expect((copy(labelled).result as? [[String: Any]])?.count == 3)
        #expect(delete(queries.everyItem()) == errSecSuccess)
        #expect(copy(queries.everyItem()).status == errSecItemNotFound)
    }

    // MARK: Uniqueness

    @Test func `generic passwords differ by account, service, group and synchronizable alone`() {
        keychain.accessGroups = ["TEAM.app", "TEAM.shared"]
        #expect(add("a") == errSecSuccess)
        let ways: [[CFString: Any]] = [
            [kSecAttrAccount: "b"], [kSecAttrService: "other"],
            [kSecAttrAccessGroup: "TEAM.shared"], [kSecAttrSynchronizable: true],
        ]
        for way in ways {
            #expect(add("a", way) == errSecSuccess)
            #expect(add("a", way) == errSecDuplicateItem)
        }
        let same: [[CFString: Any]] = [
            [kSecAttrLabel: "L"], [kSecAttrDescription: "D"], [kSecAttrGeneric: Data("g".utf8)],
            [kSecAttrComment: "C"], [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked],
            [kSecValueData: Data("other".utf8)],
        ]
        for way in same { #expect(add("a", way) == errSecDuplicateItem) }
    }

    @Test func `internet passwords differ by their nine attributes alone`() {
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
        #expect(ways.count == 9)
        for way in ways {
            #expect(add(way) == errSecSuccess)
            #expect(add(way) == errSecDuplicateItem)
        }
        let same: [[CFString: Any]] = [
            [kSecAttrLabel: "L"], [kSecAttrDescription: "D"], [kSecAttrComment: "C"],
            [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock],
        ]
        for way in same { #expect(add(way) == errSecDuplicateItem) }
    }

    // MARK: Refusals

    @Test func `a search or return key in an update, deletion or addition is errSecParam`() {
        #expect(add("a") == errSecSuccess)
        var returning = queries.item(of: "a")
        returning[kSecReturnData as String] = true
        #expect(update(returning, [kSecAttrLabel as String: "L"]) == errSecParam)
        var limited = queries.item(of: "a")
        limited[kSecMatchLimit as String] = kSecMatchLimitOne
        #expect(update(limited, [kSecAttrLabel as String: "L"]) == errSecParam)
        #expect(delete(limited) == errSecParam)
        #expect(add("b", [kSecMatchLimit: kSecMatchLimitOne]) == errSecParam)
        #expect(copy(queries.item(of: "b")).status == errSecItemNotFound)
    }

    @Test func `a class among the changes of an update is refused, by Apple's code`() {
        #expect(add("a") == errSecSuccess)
        let changes: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrLabel as String: "L",
        ]
        #expect(update(queries.item(of: "a"), changes) == errSecNoSuchAttr)
        var labelled = queries.item(of: "a")
        labelled[kSecAttrLabel as String] = "L"
        #expect(copy(labelled).status == errSecItemNotFound)
    }

    // MARK: Statuses

    @Test func `each of the nine statuses has a text of its own`() {
        #expect(StatusRow.all.count == 9)
        #expect(
            StatusRow.all.map(\.status)
                == [0, -25299, -25300, -25308, -128, -25293, -50, -25303, -34018])
        #expect(Set(StatusRow.all.map(\.text)).count == 9)
        for row in StatusRow.all { #expect(!row.text.contains("OSStatus")) }
    }

    @Test(arguments: StatusRow.all)
    func `each of the nine statuses comes where the table says`(_ row: StatusRow) throws {
        #expect(try provoke(row.status) == row.status)
    }

    private func provoke(_ status: OSStatus) throws -> OSStatus {
        switch status {
        case errSecSuccess: return add("a")
        case errSecDuplicateItem:
            _ = add("a")
            return add("a")
        case errSecItemNotFound: return copy(queries.item(of: "nobody")).status
        case errSecInteractionNotAllowed:
            _ = add("a", [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked])
            try keychain.lock()
            return copy(queries.secret(of: "a")).status
        // Nothing here asks a person yet. What a program gets when one says no can be injected.
        case errSecUserCanceled:
            keychain.inject(.failure(.userCanceled), into: .search)
            return copy(queries.secret(of: "a")).status
        case errSecAuthFailed:
            return add("a", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
        case errSecParam: return add("a", [kSecReturnData: "yes"])
        case errSecNoSuchAttr: return add("a", [kSecAttrServer: "example.org"])
        case errSecMissingEntitlement:
            return add("a", [kSecAttrAccessGroup: "group.of.somebody.else"])
        default: return errSecInternalError
        }
    }
}
