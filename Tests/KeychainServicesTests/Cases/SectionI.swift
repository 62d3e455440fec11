// SectionI: SecItemDelete.

import Foundation
import KeychainServices
import Testing

/// The SHA-1 hash of a fixture's public key, as in the attributes of the key.
private func publicKeyHash(_ fixture: FixtureIdentity) -> Data {
    let attributes = SecKeyCopyAttributes(fixture.key) as? Entries
    return attributes?["klbl"] as? Data ?? Data()
}

let sectionI: [Row] = [
    Row(212, "deleting an identity keeps a key that another certificate needs") { k in
        let fixture = try CertificateFixtures.shared().root
        k.add(["ref": try fixture.identity]).gives(0)
        k.delete(idnt()).gives(0)
        k.copy(cert()).gives(-25300)
        k.copy(keys()).gives(-25300)

        k.add(["ref": try fixture.identity]).gives(0)
        k.add(cert(["slnr": bytes("other"), "pkhh": publicKeyHash(fixture)])).gives(0)
        k.delete(idnt(["labl": "Fixture Root"])).gives(0)
        k.copy(keys()).gives(0)
        k.copy(idnt()).gives(0)
    },
    Row(214, "an identity is deleted by its persistent reference") { k in
        let identity = try CertificateFixtures.shared().root.identity
        let reference = try k.add(["ref": identity, "R.pref": true]).givesData()
        k.delete(["pref": reference]).gives(0)
        k.copy(idnt()).gives(-25300)
        k.copy(keys()).gives(-25300)
    },
    Row(215, "deleting an identity's certificate leaves its key") { k in
        let fixture = try CertificateFixtures.shared().root
        k.add(["ref": try fixture.identity]).gives(0)
        k.delete(["ref": fixture.certificate]).gives(0)
        k.copy(idnt()).gives(-25300)
        k.copy(keys()).gives(0)
    },
    Row(200, "all matches are deleted") { k in
        for index in 1...3 { k.add(GP("a\(index)", "s")).gives(0) }
        k.add(GP("a1", "t")).gives(0)
        k.delete(genp(["svc": "s"])).gives(0)
        k.copy(genp(["svc": "s"])).gives(-25300)
        k.copy(genp(["svc": "t"])).gives(0)
    },
    Row(202, "a delete leaves synchronizable items by default") { k in
        k.add(GP("a", "s")).gives(0)
        k.add(GP("a", "s", ["sync": true])).gives(0)
        k.delete(genp()).gives(0)
        k.copy(GP("a", "s")).gives(-25300)
        k.copy(GP("a", "s", ["sync": true])).gives(0)
    },
    Row(203, "one delete can delete both local and synchronizable items") { k in
        k.add(GP("a", "s")).gives(0)
        k.add(GP("a", "s", ["sync": true])).gives(0)
        k.delete(genp(["sync": any])).gives(0)
        k.copy(genp(["sync": any])).gives(-25300)
    },
    // Differences.md: iOS returns -50. macOS ignores the limit, so code for macOS may pass it.
    Row(205, "a limit of all is accepted in a delete") { k in
        k.add(GP("a", "s")).gives(0)
        k.add(GP("b", "s")).gives(0)
        k.delete(genp(["svc": "s", "limit": all])).gives(0)
        k.copy(genp()).gives(-25300)
    },
    Row(206, "a delete takes no match key except a limit of all") { k in
        k.add(GP("a", "s")).gives(0)
        k.delete(GP("a", "s", ["m_CaseInsensitive": true])).gives(-50)
        k.delete(GP("a", "s", ["limit": one])).gives(-50)
        k.delete(GP("a", "s", ["limit": 5])).gives(-50)
        k.delete(GP("a", "s", ["limit": all, "m_CaseInsensitive": true])).gives(-50)
        k.copy(GP("a", "s")).gives(0)
    },
    Row(208, "data in the query of a delete isn't used as a filter") { k in
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        k.delete(GP("a", "s", ["data": bytes("zzz")])).gives(0)
        k.copy(GP("a", "s")).gives(-25300)
    },
    Row(209, "a foreign group is refused") { k in
        k.member(of: "X").add(GP("a", "s")).gives(0)
        k.delete(genp(["agrp": "X"])).gives(-34018)
        k.member(of: "X").copy(GP("a", "s")).gives(0)
    },
    Row(211, "a delete that matches nothing finds no item") { k in
        k.add(GP("a", "s")).gives(0)
        k.delete(genp(["labl": "nope"])).gives(-25300)
        k.copy(GP("a", "s")).gives(0)
    },
    Row(218, "a locked item can be deleted") { k in
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        try k.keychain.lock()
        k.delete(GP("a", "s")).gives(0)
        try k.keychain.unlock()
        k.copy(GP("a", "s")).gives(-25300)
    },
]

@Suite("I. SecItemDelete") struct SectionI {
    @Test(.cases(4 * 12), arguments: Backend.allCases, sectionI)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `a query without a class deletes nothing`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(GP("a", "s")).gives(0)
        k.delete([:]).gives(-50)
        k.delete(["acct": "a"]).gives(-50)
        k.copy(GP("a", "s")).gives(0)
        k.delete(genp()).gives(0)
        k.delete(genp()).gives(-25300)
    }
}
