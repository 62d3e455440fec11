// ItemListTests: `kSecUseItemList` in an add: all objects of the list are added, or none.

import Foundation
import KeychainServices
import Testing

@Suite struct `Item lists` {
    static let combinations = Backend.allCases

    /// A caller of a new keychain, in the groups G1 and G2.
    private func client(_ backend: Backend) throws -> Client {
        Client(try backend.open(), groups: ["G1", "G2"])
    }

    private func count(_ entries: Entries, _ client: Client) throws -> Int {
        let found = client.copy(entries.merging(["R.attrs": true, "limit": all]) { $1 })
        if found.status == -25300 { return 0 }
        return try #require(found.gives(0).result as? [[String: Any]]).count
    }

    @Test(arguments: combinations)
    func `certificates, keys and identities in a list are added together`(
        _ backend: Backend
    ) throws {
        let (k, fixtures) = (try client(backend), try CertificateFixtures.shared())
        let list: [Any] = [
            fixtures.root.certificate, fixtures.intermediate.key, try fixtures.leaves[0].identity,
        ]
        let result = k.add(["u_ItemList": list, "R.ref": true, "agrp": "G2"]).gives(0).result
        let objects = try #require(result as? [AnyObject])
        try #require(objects.count == 3)
        #expect(objects[0] as? SecCertificate == fixtures.root.certificate)
        #expect(objects[1] is SecKey)
        #expect(objects[2] as? SecIdentity == (try fixtures.leaves[0].identity))
        #expect(try count(cert(["agrp": "G2"]), k) == 2)
        #expect(try count(keys(["agrp": "G2"]), k) == 2)
        #expect(try count(idnt(), k) == 1)
    }

    @Test(arguments: combinations)
    func `a duplicate in a list prevents adding any item of the list`(_ backend: Backend) throws {
        let (k, fixtures) = (try client(backend), try CertificateFixtures.shared())
        k.add(["ref": fixtures.root.certificate]).gives(0)
        let list: [Any] = [
            fixtures.intermediate.certificate, fixtures.leaves[0].key, fixtures.root.certificate,
        ]
        k.add(["u_ItemList": list]).gives(-25299)
        let twice: [Any] = [fixtures.leaves[0].key, fixtures.leaves[0].key]
        k.add(["u_ItemList": twice]).gives(-25299)
        #expect(try count(cert(), k) == 1)
        #expect(try count(keys(), k) == 0)
    }

    @Test(arguments: combinations)
    func `an identity in a list may have a certificate that exists already`(
        _ backend: Backend
    ) throws {
        let (k, fixtures) = (try client(backend), try CertificateFixtures.shared())
        k.add(["ref": fixtures.leaves[0].certificate]).gives(0)
        let identities = try fixtures.leaves.map { try $0.identity }
        k.add(["u_ItemList": identities]).gives(0)
        #expect(try count(idnt(), k) == 2)
        // But the key must not exist already.
        k.add(["u_ItemList": [fixtures.root.certificate, identities[0]] as [Any]]).gives(-25299)
        #expect(try count(cert(), k) == 2)
    }

    @Test(arguments: combinations)
    func `a foreign group, a locked class or an unsupported object prevents adding any item`(
        _ backend: Backend
    ) throws {
        let keychain = try backend.open()
        let k = Client(keychain, groups: ["G1", "G2"])
        let fixtures = try CertificateFixtures.shared()
        let list: [Any] = [fixtures.root.certificate, fixtures.leaves[0].key]
        k.add(["u_ItemList": list, "agrp": "G3"]).gives(-34018)
        for wrong: Any in [
            [Any](), [fixtures.root.certificate, "text"] as [Any], "text", 1, ["a": 1],
        ] {
            k.add(["u_ItemList": wrong]).gives(-50)
        }
        try keychain.lock()
        // The certificate alone could be added: its default protection class is
        // `kSecAttrAccessibleAlways`.
        k.add(["u_ItemList": list]).gives(-25308)
        try keychain.unlock()
        #expect(try count(cert(), k) == 0)
        #expect(try count(keys(), k) == 0)
    }

    @Test(arguments: combinations)
    func `a list can't be combined with a value, a limit or a class that some objects don't have`(
        _ backend: Backend
    ) throws {
        let (k, fixtures) = (try client(backend), try CertificateFixtures.shared())
        let list: [Any] = [fixtures.root.certificate, fixtures.leaves[0].key]
        for more: Entries in [
            ["class": "cert"], ["class": "genp"], ["data": bytes("x")], ["limit": all],
            ["ref": fixtures.root.certificate],
        ] {
            k.add(more.merging(["u_ItemList": list]) { $1 }).gives(-50)
        }
        k.add(["u_ItemList": list, "svce": "an attribute of passwords"]).gives(-25303)
        #expect(try count(cert(), k) == 0)
        k.add(["class": "cert", "u_ItemList": [fixtures.root.certificate]]).gives(0)
        #expect(try count(cert(), k) == 1)
    }

    @Test(arguments: combinations)
    func `attributes apply to each object in the list whose class has them`(_ backend: Backend)
        throws
    {
        let (k, fixtures) = (try client(backend), try CertificateFixtures.shared())
        let list: [Any] = [fixtures.root.certificate, fixtures.leaves[0].key]
        let added = k.add([
            "u_ItemList": list, "labl": "L", "atag": bytes("tag"), "pdmn": "ck", "R.attrs": true,
        ]).gives(0).result
        let attributes = try #require(added as? [[String: Any]])
        #expect(attributes.map { $0["labl"] as? String } == ["L", "L"])
        #expect(attributes.map { $0["pdmn"] as? String } == ["ck", "ck"])
        #expect(attributes.map { $0["atag"] as? Data } == [nil, bytes("tag")])
    }

    @Test(arguments: combinations)
    func `searches and updates refuse a list, and deletions refuse a list without a class`(
        _ backend: Backend
    ) throws {
        let (k, fixtures) = (try client(backend), try CertificateFixtures.shared())
        let list: [Any] = [fixtures.root.certificate]
        for entries: Entries in [["u_ItemList": list], cert(["u_ItemList": list])] {
            k.copy(entries).gives(-50)
            k.update(entries, ["labl": "L"]).gives(-50)
        }
        k.delete(["u_ItemList": list]).gives(-50)
    }
}
