// ExistingCodeTests: the ways in which existing code builds requests and reads results.

import Foundation
import KeychainServices
import Testing

@Suite struct ExistingCodeTests {
    private let k: Client

    init() throws {
        k = Client(try Backend.embeddedEngine.open(), groups: ["G1"])
    }

    private func copy(_ query: CFDictionary) -> CFTypeRef? {
        var result: CFTypeRef?
        // SAFETY: the variable outlives the call.
        let status = k.withKeychain { unsafe SecItemCopyMatching(query, &result) }
        #expect(status == errSecSuccess)
        return result
    }

    @Test func `dictionaries of every kind are accepted as requests`() throws {
        let account = "account"
        let byString: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "service",
            kSecAttrAccount as String: account,
            kSecValueData as String: Data("secret".utf8),
        ]
        #expect(k.withKeychain { SecItemAdd(byString as CFDictionary, nil) } == errSecSuccess)

        let byConstant: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecReturnData: true,
        ]
        let byObject: [NSString: AnyObject] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: account as NSString,
            kSecReturnData: kCFBooleanTrue,
        ]
        let byHashable: [AnyHashable: Any] = [
            kSecClass as String: kSecClassGenericPassword as String,
            kSecAttrAccount as String: account, kSecReturnData as String: kCFBooleanTrue as Any,
            kSecMatchLimit as String: kSecMatchLimitOne,
        ]
        let mutable = NSMutableDictionary()
        mutable[kSecClass as String] = kSecClassGenericPassword
        mutable[kSecAttrAccount as String] = account
        mutable[kSecReturnData as String] = kCFBooleanTrue
        for query in [
            byConstant as CFDictionary, byObject as CFDictionary, byHashable as CFDictionary,
            mutable,
        ] {
            #expect(copy(query) as? Data == Data("secret".utf8))
        }
    }

    @Test func `optional values in a dictionary count as their values`() throws {
        let account: String? = "account"
        k.add(["class": "genp", "acct": account as Any, "data": Data("x".utf8) as Data? as Any])
            .gives(0)
        k.copy(genp(["acct": "account"])).gives(0)
        let nothing: String? = nil
        k.add(genp(["acct": "other", "labl": nothing as Any])).gives(-50)
        try k.copy(genp(["R.data": kCFBooleanTrue as Any])).givesData(bytes("x"))
    }

    @Test func `a single item can be cast to a dictionary`() throws {
        k.add(GP("a", "s", ["data": bytes("x"), "labl": "L", "crtr": 7, "gena": bytes("g")]))
            .gives(0)
        let result = copy(
            [
                kSecClass: kSecClassGenericPassword, kSecReturnData: true,
                kSecReturnAttributes: true,
            ] as CFDictionary)

        let byString = try #require(result as? [String: Any])
        #expect(byString[kSecAttrAccount as String] as? String == "a")
        #expect(byString[kSecValueData as String] as? Data == bytes("x"))
        #expect(byString[kSecAttrGeneric as String] as? Data == bytes("g"))
        #expect(byString[kSecAttrCreator as String] as? Int == 7)
        #expect(byString[kSecAttrCreator as String] as? NSNumber == 7)
        #expect(byString[kSecAttrSynchronizable as String] as? Bool == false)
        #expect(byString[kSecAttrModificationDate as String] as? Date != nil)
        #expect(
            byString[kSecAttrAccessible as String] as? String
                == kSecAttrAccessibleWhenUnlocked as String)

        let byConstant = try #require(result as? [CFString: Any])
        #expect(byConstant[kSecAttrService] as? String == "s")
        #expect(byConstant[kSecValueData] as? Data == bytes("x"))

        let object = try #require(result as? NSDictionary)
        #expect(object[kSecAttrLabel as String] as? String == "L")
        #expect(object.value(forKey: kSecAttrAccount as String) as? String == "a")

        let byHashable = try #require(result as? [AnyHashable: Any])
        #expect(byHashable[kSecAttrAccount as String] as? String == "a")
        #expect((result as? [String: AnyObject])?[kSecAttrAccount as String] as? String == "a")
    }

    @Test func `several items can be cast to an array`() throws {
        for account in ["a", "b"] {
            k.add(GP(account, "s", ["data": bytes(account)])).gives(0)
        }
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnAttributes: kCFBooleanTrue!,
        ]
        let result = copy(query as CFDictionary)
        let byString = try #require(result as? [[String: Any]])
        #expect(byString.compactMap { $0[kSecAttrAccount as String] as? String } == ["a", "b"])
        let byConstant = try #require(result as? [[CFString: Any]])
        #expect(byConstant.compactMap { $0[kSecAttrAccount] as? String } == ["a", "b"])
        #expect((result as? [NSDictionary])?.count == 2)
        #expect((result as? NSArray)?.count == 2)
        #expect((result as? [AnyObject])?.count == 2)

        let data = copy(
            query.merging([kSecReturnData: true, kSecReturnAttributes: false]) { $1 }
                as CFDictionary)
        #expect(data as? [Data] == [bytes("a"), bytes("b")])
    }

    @Test func `data can be cast to Data`() throws {
        k.add(GP("a", "s", ["data": Data([0, 255, 10])])).gives(0)
        let result = copy(
            [kSecClass: kSecClassGenericPassword, kSecReturnData: true] as CFDictionary)
        #expect(result as? Data == Data([0, 255, 10]))
        #expect((result as? NSData)?.length == 3)
        #expect((result as? CFData).map { CFGetTypeID($0) } == CFDataGetTypeID())
        #expect(!(result is String))
    }

    @Test func `the result variable may be declared as AnyObject`() throws {
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        let query = genp(["R.data": true])
        var item: AnyObject?
        // SAFETY: the variable outlives the call.
        let status = k.withKeychain { unsafe SecItemCopyMatching(dictionary(query), &item) }
        #expect(status == noErr)
        guard let data = item as? Data, let text = String(data: data, encoding: .utf8) else {
            Issue.record("no text")
            return
        }
        #expect(text == "x")
    }

    @Test func `a SHA-1 digest in a query selects the items for searches, updates and deletions`()
        throws
    {
        k.add(GP("a", "s", ["data": bytes("1")])).gives(0)
        k.add(GP("b", "s", ["data": bytes("2")])).gives(0)
        let found = try k.copy(GP("b", "s", ["R.data": true, "R.attrs": true])).givesDictionary()
        let digest = try #require(found["sha1"] as? Data)
        try k.copy(genp(["sha1": digest, "R.data": true])).givesData(bytes("2"))
        k.copy(genp(["sha1": Data(repeating: 0, count: 20)])).gives(-25300)
        k.update(genp(["sha1": digest]), ["labl": "L"]).gives(0)
        k.copy(GP("a", "s", ["labl": "L"])).gives(-25300)
        k.delete(genp(["sha1": digest])).gives(0)
        k.copy(GP("a", "s")).gives(0)
        k.copy(GP("b", "s")).gives(-25300)
        // SecDbItem.c, copySHA1: a digest is data of 20 bytes.
        for wrong in [5, true, "digest", digest + [0], Data()] as [Any] {
            k.copy(genp(["sha1": wrong])).gives(-50)
        }
    }

    @Test func `a query for another user's items matches none`() throws {
        k.add(GP("a", "s")).gives(0)
        k.copy(genp(["musr": Data()])).gives(0)
        k.copy(genp(["musr": Data(repeating: 1, count: 16)])).gives(-25300)
        k.update(genp(["musr": Data(repeating: 1, count: 16)]), ["labl": "x"]).gives(-25300)
        k.delete(genp(["musr": Data(repeating: 1, count: 16)])).gives(-25300)
        k.copy(genp(["musr": Data(repeating: 1, count: 16), "agrp": "X"])).gives(-34018)
        k.copy(genp(["musr": true])).gives(-50)
    }

    @Test func `a search can match a host and its subdomains`() throws {
        k.add(inet(["srvr": "origin.example.com"])).gives(0)
        for host in ["example.com", "origin.example.com", "com"] {
            k.copy(inet(["host": host])).gives(0)
        }
        for host in ["ample.com", "Example.com", "x.origin.example.com"] {
            k.copy(inet(["host": host])).gives(-25300)
        }
        for index in 1...5 { k.add(inet(["srvr": "other\(index).org"])).gives(0) }
        k.add(inet(["srvr": "last.example.com"])).gives(0)
        try k.copy(inet(["host": "example.com", "R.attrs": true, "limit": all])).givesArray(2)
        let last = try k.copy(inet(["host": "last.example.com", "R.attrs": true, "limit": one]))
            .givesDictionary()
        #expect(last["srvr"] as? String == "last.example.com")
        k.copy(inet(["host": 5])).gives(-50)
        k.copy(genp(["host": "example.com"])).gives(-4)
        k.copy(genp(["policy": SecPolicyCreateBasicX509()])).gives(-4)
        k.copy(genp(["m_Issuers": [bytes("x")]])).gives(-4)
        k.copy(genp(["m_ValidOnDate": 5])).gives(-50)
        k.copy(genp(["m_EmailAddressIfPresent": 5])).gives(-50)
        k.copy(genp(["m_TrustedOnly": 5])).gives(-50)
    }

    @Test func `an access control in a query stands for its protection class`() throws {
        k.add(GP("a", "s", ["pdmn": "ck"])).gives(0)
        let ck = try #require(accessControl("ck"))
        let ak = try #require(accessControl("ak"))
        k.copy(GP("a", "s", ["accc": ck])).gives(0)
        k.copy(GP("a", "s", ["accc": ak])).gives(-25300)
        k.copy(GP("a", "s", ["accc": try #require(accessControl("ck", .userPresence))])).gives(0)
        k.delete(GP("a", "s", ["accc": ak])).gives(-25300)
        k.delete(GP("a", "s", ["accc": ck])).gives(0)
    }
}
