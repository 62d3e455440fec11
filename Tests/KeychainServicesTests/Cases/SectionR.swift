// SectionR: identities, the join of a private key and a certificate.

import Foundation
import KeychainServices
import Testing

private func fixture() throws -> FixtureIdentity { try CertificateFixtures.shared().root }

/// The application label of a fixture's key, which is the hash of its public key.
private func label(_ fixture: FixtureIdentity) throws -> Data {
    let attributes = try #require(SecKeyCopyAttributes(fixture.key) as? Entries)
    return try #require(attributes["klbl"] as? Data)
}

let sectionR: [Row] = [
    Row(394, "a certificate alone isn't an identity") { k in
        k.add(["ref": try fixture().certificate]).gives(0)
        k.copy(idnt()).gives(-25300)
    },
    Row(395, "a key alone isn't an identity") { k in
        k.add(["ref": try fixture().key]).gives(0)
        k.copy(idnt()).gives(-25300)
    },
    Row(397, "an identity is added as two items") { k in
        k.add(["ref": try fixture().identity]).gives(0)
        try k.copy(cert(["R.attrs": true, "limit": all])).givesArray(1)
        try k.copy(keys(["R.attrs": true, "limit": all])).givesArray(1)
        k.copy(idnt()).gives(0)
    },
    Row(398, "an identity can't be added twice") { k in
        k.add(["ref": try fixture().identity]).gives(0)
        k.add(["ref": try fixture().identity, "R.pref": true]).gives(-25299)
    },
    Row(400, "the label of a new identity is given to its certificate and its key") { k in
        k.add(["ref": try fixture().identity, "labl": "zomg"]).gives(0)
        for entries in [idnt(), cert(), keys()] {
            k.copy(entries.merging(["labl": "zomg"]) { $1 }).gives(0)
        }
    },
    Row(401, "an identity is found by its certificate's issuer") { k in
        let fixture = try fixture()
        k.add(["ref": try fixture.identity]).gives(0)
        let issuer = try #require(
            SecCertificateCopyNormalizedIssuerSequence(fixture.certificate))
        // The attribute `issr` is this DER sequence without its tag and length.
        let attributes = try k.copy(cert(["R.attrs": true])).givesDictionary()
        let stored = try #require(attributes["issr"] as? Data)
        #expect((issuer as Data).suffix(stored.count) == stored)
        let found = k.copy(idnt(["issr": stored, "R.ref": true])).gives(0).result
        #expect(found as? SecIdentity == (try fixture.identity))
    },
    Row(403, "an identity is found only in its own group") { k in
        k.add(["ref": try fixture().identity, "agrp": "G1", "labl": "L"]).gives(0)
        k.copy(idnt(["agrp": "G1", "labl": "L"])).gives(0)
        k.copy(idnt(["agrp": "G2", "labl": "L"])).gives(-25300)
    },
    Row(404, "an identity in two groups is found only by a caller in both groups") { k in
        k.add(["ref": try fixture().certificate, "agrp": "G1"]).gives(0)
        k.member(of: "G3").add(["ref": try fixture().key]).gives(0)
        k.copy(idnt()).gives(-25300)
        k.member(of: "G1", "G3").copy(idnt()).gives(0)
    },
    Row(406, "the data of an identity are the data of its private key") { k in
        k.add(["ref": try fixture().identity]).gives(0)
        let key = try k.copy(keys(["R.data": true])).givesData()
        try k.copy(idnt(["R.data": true])).givesData(key)
    },
]

@Suite("R. Identities") struct SectionR {
    @Test(.cases(4 * 9), arguments: Backend.allCases, sectionR)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `an identity has the attributes of both parts, and the certificate's take precedence`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let fixture = try fixture()
        k.add(["ref": fixture.key, "labl": "key", "atag": bytes("tag")]).gives(0)
        k.add(["ref": fixture.certificate, "labl": "certificate"]).gives(0)
        let every: Entries = ["R.attrs": true, "R.data": true, "R.ref": true]
        let whole = try k.copy(idnt(every)).givesDictionary()
        #expect(whole["labl"] as? String == "certificate")
        #expect(whole["atag"] as? Data == bytes("tag"))
        #expect(whole["class"] as? String == "idnt")
        #expect(whole["certdata"] as? Data == fixture.der)
        #expect(whole["v_Ref"] as? SecIdentity == (try fixture.identity))
        k.copy(idnt(["atag": bytes("tag")])).gives(0)
        k.copy(idnt(["atag": bytes("other")])).gives(-25300)
    }

    @Test(arguments: Backend.allCases)
    func `an identity is in the group of its certificate, even if its key is in another group`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1", "G2"])
        k.add(["ref": try fixture().certificate, "agrp": "G1"]).gives(0)
        k.add(["ref": try fixture().key, "agrp": "G2"]).gives(0)
        k.copy(idnt(["agrp": "G1"])).gives(0)
        k.copy(idnt(["agrp": "G2"])).gives(-25300)
    }

    @Test(arguments: Backend.allCases)
    func `adding an identity uses a certificate that exists already`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let reference = try k.add(["ref": try fixture().certificate, "R.pref": true]).givesData()
        let identity = try k.add(["ref": try fixture().identity, "R.pref": true]).givesData()
        #expect(identity.suffix(16) == reference.suffix(16))
    }

    @Test(arguments: Backend.allCases)
    func `adding an identity uses a key that exists already`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(["ref": try fixture().key, "labl": "K"]).gives(0)
        let identity = try k.add(["ref": try fixture().identity, "R.pref": true]).givesData()
        let certificate = try k.copy(cert(["R.pref": true])).givesData()
        #expect(identity.suffix(16) == certificate.suffix(16))
        k.copy(keys(["labl": "K"])).gives(0)
        try k.copy(keys(["R.attrs": true, "limit": all])).givesArray(1)
        k.copy(idnt()).gives(0)
        k.add(["ref": try fixture().identity]).gives(-25299)
    }

    @Test(arguments: Backend.allCases)
    func `if an identity can't be added completely, neither part is added`(on backend: Backend)
        throws
    {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(["ref": try fixture().identity, "agrp": "G2"]).gives(-34018)
        try k.keychain.lock()
        // While the keychain is locked, a certificate can be added, but not a key.
        k.add(["ref": try fixture().identity]).gives(-25308)
        try k.keychain.unlock()
        k.copy(cert()).gives(-25300)
        k.copy(keys()).gives(-25300)
    }

    @Test
    func `a call is refused if its data, attributes or object don't fit the class`() throws {
        let k = Client(try Backend.model.open(), groups: ["G1"])
        k.add(idnt(["data": bytes("x")])).gives(-50)
        k.copy(idnt(["svce": "s"])).gives(-25303)
        k.add(["ref": NSObject()]).gives(-50)
        k.add(["class": "keys", "ref": try fixture().certificate]).gives(-50)
        k.update(idnt(), ["v_Data": bytes("x")]).gives(-50)
    }

    @Test(arguments: Backend.allCases)
    func `an identity is created from a certificate and its key in the keychain`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let fixture = try fixture()
        #expect(k.makeIdentity(fixture.certificate).status == errSecItemNotFound)
        k.add(["ref": fixture.key]).gives(0)
        let made = k.makeIdentity(fixture.certificate)
        #expect(made.status == errSecSuccess)
        #expect(made.identity == (try fixture.identity))
        let other = try CertificateFixtures.shared().intermediate.key
        #expect(SecIdentityCreate(nil, fixture.certificate, other) == nil)
    }

    @Test(arguments: Backend.allCases)
    func `an identity is created even if other keys have the same application label as its key`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let fixture = try fixture()
        let other = try CertificateFixtures.shared().intermediate.key
        // Several such keys are added, because the order in which a search visits keys with the
        // same application label is not defined.
        for tag in ["1", "2", "3", "4"] {
            k.add(["ref": other, "klbl": try label(fixture), "atag": bytes(tag)]).gives(0)
        }
        let none = k.makeIdentity(fixture.certificate)
        #expect(none.status == errSecItemNotFound)
        #expect(none.identity == nil)
        k.add(["ref": fixture.key]).gives(0)
        let made = k.makeIdentity(fixture.certificate)
        #expect(made.status == errSecSuccess)
        #expect(made.identity == (try fixture.identity))
    }

    @Test(arguments: Backend.allCases)
    func `no object is returned for an identity whose key doesn't match its certificate`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let fixture = try fixture()
        let other = try CertificateFixtures.shared().intermediate.key
        k.add(["ref": fixture.certificate]).gives(0)
        k.add(["ref": other, "klbl": try label(fixture)]).gives(0)
        // A search compares the key's application label with the hash of the public key that is
        // among the certificate's attributes.
        k.copy(idnt()).gives(0)
        k.copy(idnt(["R.ref": true])).givesNil()
        let found = try k.copy(idnt(["R.ref": true, "R.attrs": true])).givesDictionary()
        #expect(found["v_Ref"] == nil)
        #expect(found["certdata"] as? Data == fixture.der)
        k.delete(["ref": other, "klbl": try label(fixture)]).gives(0)
        k.add(["ref": fixture.key]).gives(0)
        let identity = k.copy(idnt(["R.ref": true])).gives(0).result
        #expect(identity as? SecIdentity == (try fixture.identity))
    }

    @Test(arguments: Backend.allCases)
    func `a key is found by its attributes and by reference`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let key = try fixture().key
        k.add(["ref": key, "atag": bytes("tag"), "labl": "mine"]).gives(0)
        for entries: Entries in [
            ["atag": bytes("tag")], ["labl": "mine"], ["kcls": "1"], ["type": "73"],
            ["bsiz": 256], ["sign": true], ["ref": key],
        ] {
            k.copy(keys(entries)).gives(0)
        }
        k.copy(keys(["sign": false])).gives(-25300)
        k.delete(["ref": key]).gives(0)
        k.copy(keys()).gives(-25300)
    }
}

extension Client {
    /// Creates an identity from a certificate and its key in the keychain.
    fileprivate func makeIdentity(
        _ certificate: SecCertificate
    ) -> (status: OSStatus, identity: SecIdentity?) {
        var identity: SecIdentity?
        // SAFETY: the variable outlives the call.
        let status = withKeychain {
            unsafe SecIdentityCreateWithCertificate(nil, certificate, &identity)
        }
        return (status, identity)
    }
}
