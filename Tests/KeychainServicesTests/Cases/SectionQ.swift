// SectionQ: searches by the content of certificates, and searches by host.

import Foundation
import KeychainServices
import Testing

/// Adds six self-signed certificates: two for mail, two for clients, two for servers.
private func withSix(_ k: Client) throws -> CertificateFixtures {
    let fixtures = try CertificateFixtures.shared()
    for fixture in fixtures.mail + fixtures.clients + fixtures.servers {
        k.add(["ref": fixture.certificate]).gives(0)
    }
    return fixtures
}

/// Adds the root and the intermediate as certificates, and both leaves as identities.
private func withChain(_ k: Client) throws -> CertificateFixtures {
    let fixtures = try CertificateFixtures.shared()
    k.add(["ref": fixtures.root.certificate]).gives(0)
    k.add(["ref": fixtures.intermediate.certificate]).gives(0)
    for leaf in fixtures.leaves { k.add(["ref": try leaf.identity]).gives(0) }
    return fixtures
}

private func mailPolicy(_ address: String? = nil) throws -> SecPolicy {
    var properties: Entries = [:]
    properties["\(kSecPolicyName)"] = address
    return try #require(
        SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, properties as NSDictionary))
}

/// The subject of a certificate in the form that `kSecMatchIssuers` takes.
private func name(_ certificate: SecCertificate) throws -> Data {
    try #require(SecCertificateCopyNormalizedSubjectSequence(certificate)) as Data
}

private let inside = CertificateFixtures.today

let sectionQ: [Row] = [
    Row(364, "a certificate's item gets its attributes from the certificate") { k in
        let leaf = try CertificateFixtures.shared().leaves[0]
        k.add(["ref": leaf.certificate]).gives(0)
        let attributes = try k.copy(cert(["R.attrs": true])).givesDictionary()
        for name in ["issr", "subj", "slnr", "skid", "pkhh"] {
            #expect((attributes[name] as? Data)?.isEmpty == false, "\(name)")
        }
        #expect(attributes["ctyp"] as? NSNumber == 3)
        #expect(attributes["cenc"] as? NSNumber == 3)
        #expect(attributes["labl"] as? String == "Leaf One")
        #expect((attributes["pkhh"] as? Data)?.count == 20)
    },
    Row(365, "a certificate is found by the hash of its public key") { k in
        let fixtures = try withSix(k)
        let attributes = try #require(SecKeyCopyAttributes(fixtures.mail[1].key) as? Entries)
        let found = k.copy(
            cert(["pkhh": try #require(attributes["klbl"] as? Data), "R.ref": true]))
        #expect(found.gives(0).result as? SecCertificate == fixtures.mail[1].certificate)
    },
    Row(367, "a policy for mail finds certificates for mail") { k in
        _ = try withSix(k)
        try k.copy(
            cert([
                "policy": try mailPolicy(), "validOn": inside, "limit": all, "R.ref": true,
            ])
        ).givesArray(2)
    },
    Row(368, "a policy for mail can name the address") { k in
        let fixtures = try withSix(k)
        let found = try k.copy(
            cert([
                "policy": try mailPolicy("one@example.org"), "validOn": inside, "limit": all,
                "R.ref": true,
            ])
        ).givesArray(1)
        #expect(found.first as? SecCertificate == fixtures.mail[0].certificate)
    },
    Row(370, "a policy for clients finds certificates for clients") { k in
        _ = try withSix(k)
        try k.copy(
            cert([
                "policy": SecPolicyCreateSSL(false, nil), "validOn": inside, "limit": all,
                "R.ref": true,
            ])
        ).givesArray(2)
    },
    Row(371, "a search by policy finds no certificate outside its validity period") { k in
        _ = try withSix(k)
        let policies = [try mailPolicy(), SecPolicyCreateSSL(false, nil)]
        for policy in policies {
            for day in [CertificateFixtures.dayBefore, CertificateFixtures.dayAfter] {
                k.copy(cert(["policy": policy, "validOn": day, "limit": all, "R.ref": true]))
                    .gives(-25300)
            }
        }
    },
    Row(373, "a search by date finds no certificate outside its validity period") { k in
        _ = try withSix(k)
        for day in [CertificateFixtures.dayBefore, CertificateFixtures.dayAfter] {
            k.copy(cert(["validOn": day, "R.ref": true])).gives(-25300)
        }
        try k.copy(cert(["validOn": inside, "limit": all, "R.ref": true])).givesArray(6)
    },
    Row(374, "null as kSecMatchValidOnDate stands for now") { k in
        let certificate = try CertificateMaker().make("expired", subject: "/CN=Expired", days: -1)
        k.add(["ref": certificate]).gives(0)
        k.copy(cert(["validOn": NSNull()])).gives(-25300)
        k.copy(cert()).gives(0)
    },
    Row(376, "a search for trusted certificates finds no untrusted self-signed one") { k in
        _ = try withSix(k)
        k.copy(cert(["trusted": true, "R.ref": true])).gives(-25300)
    },
    Row(377, "kSecMatchTrustedOnly with the value false filters nothing") { k in
        _ = try withSix(k)
        k.copy(cert(["trusted": false, "R.ref": true])).gives(0)
    },
    Row(379, "identities are found by any issuer above them") { k in
        let fixtures = try withChain(k)
        for issuer in [fixtures.root, fixtures.intermediate] {
            let found = try k.copy(
                idnt([
                    "issuers": [try name(issuer.certificate)], "limit": all, "R.ref": true,
                ])
            ).givesArray(2)
            #expect(found.allSatisfy { $0 is SecIdentity })
        }
    },
    Row(380, "certificates are found by their issuer") { k in
        let fixtures = try withChain(k)
        try k.copy(
            cert([
                "issuers": [try name(fixtures.intermediate.certificate)], "limit": 0x7fff,
                "R.ref": true,
            ])
        ).givesArray(2)
    },
    Row(382, "a search for passwords by issuer is not implemented") { k in
        k.copy(genp(["issuers": [bytes("x")]])).gives(-4)
    },
    Row(383, "a search for passwords by policy is not implemented") { k in
        k.copy(genp(["policy": SecPolicyCreateBasicX509()])).gives(-4)
    },
    Row(385, "a password is found by the domain above its host") { k in
        k.add(inet(["srvr": "origin.example.com"])).gives(0)
        k.copy(inet(["host": "example.com"])).gives(0)
    },
    Row(386, "a password is found by its own host") { k in
        k.add(inet(["srvr": "origin.example.com"])).gives(0)
        k.copy(inet(["host": "origin.example.com"])).gives(0)
    },
    Row(388, "a host matches a domain only at a dot") { k in
        k.add(inet(["srvr": "foobar.com"])).gives(0)
        k.copy(inet(["host": "bar.com"])).gives(-25300)
    },
    Row(389, "a host that isn't text is refused") { k in
        k.copy(inet(["host": 5])).gives(-50)
    },
    Row(391, "a certificate without a mail address matches no address") { k in
        k.add(["ref": try CertificateFixtures.shared().root.certificate]).gives(0)
        k.copy(cert(["email": "a@b.com"])).gives(-25300)
    },
    Row(392, "a mail address that isn't text is refused") { k in
        k.copy(cert(["email": 5])).gives(-50)
    },
]

@Suite("Q. Certificate matching") struct SectionQ {
    @Test(.cases(4 * 20), arguments: Backend.allCases, sectionQ)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `a mail address matches regardless of case`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let fixtures = try withSix(k)
        let found = k.copy(cert(["email": "TWO@example.ORG", "R.ref": true])).gives(0).result
        #expect(found as? SecCertificate == fixtures.mail[1].certificate)
    }

    @Test(arguments: Backend.allCases)
    func `a limit counts only the items that pass the filter`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let fixtures = try withSix(k)
        let wanted: Entries = [
            "policy": SecPolicyCreateSSL(true, "two.example.org" as NSString),
            "validOn": inside, "limit": one, "R.ref": true,
        ]
        let found = k.copy(cert(wanted)).gives(0).result
        #expect(found as? SecCertificate == fixtures.servers[1].certificate)
    }

    // SecItem.m, SecItemAttributesPrepare: an issuer must be data. A whole DER name is replaced by
    // the name's content, in queries and in changes.
    @Test(arguments: Backend.allCases)
    func `an issuer can be given as a whole DER name or as the name's content`(on backend: Backend)
        throws
    {
        let k = Client(try backend.open(), groups: ["G1"])
        let leaf = try withChain(k).leaves[0]
        let name = try #require(SecCertificateCopyNormalizedIssuerSequence(leaf.certificate))
        let attributes = try k.copy(
            cert(["labl": "Leaf One", "R.attrs": true])
        ).givesDictionary()
        let content = try #require(attributes["issr"] as? Data)
        #expect(content != name as Data)
        for issuer in [name as Data, content] {
            let query = cert(["issr": issuer, "limit": all, "R.ref": true])
            try k.copy(query).givesArray(2)
            k.copy(idnt(["issr": issuer])).gives(0)
        }
        k.copy(cert(["issr": bytes("CN=Fixture Intermediate")])).gives(-25300)
        k.copy(cert(["issr": "CN=Fixture Intermediate"])).gives(-50)
        k.copy(cert(["issr": 5])).gives(-50)
        k.update(cert(["labl": "Leaf One"]), ["issr": "text"]).gives(-50)
        k.update(cert(["labl": "Leaf One"]), ["issr": name as Data, "icmt": "x"]).gives(-25303)
        k.update(cert(["labl": "Leaf One"]), ["issr": name as Data]).gives(0)
        try k.copy(cert(["issr": content, "limit": all, "R.ref": true])).givesArray(2)
        k.delete(cert(["issr": name as Data])).gives(0)
        k.copy(cert(["issr": content])).gives(-25300)
    }

    @Test func `a value of the wrong type for a match key is refused`() throws {
        let k = Client(try Backend.model.open(), groups: ["G1"])
        k.copy(cert(["policy": "SSL"])).gives(-50)
        k.copy(cert(["issuers": "CN=Root"])).gives(-50)
        k.copy(cert(["issuers": ["CN=Root"]])).gives(-50)
        k.copy(cert(["validOn": "today"])).gives(-50)
        k.copy(cert(["trusted": 1])).gives(-50)
    }
}
