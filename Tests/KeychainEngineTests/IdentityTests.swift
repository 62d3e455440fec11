// Identities: a certificate and its private key, which are added, found, changed and deleted
// together.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Synchronization
import Testing

@Suite struct IdentityTests {
    private let caller = AccessGroups(["G1", "G2"])

    private func engine() throws -> KeychainEngine {
        try KeychainEngine.open(try MemoryPlace(), options: .testing)
    }

    private func hash(_ key: UInt8) -> AttributeValue {
        .data(Data(repeating: key, count: 20))
    }

    private func certificate(
        _ serial: UInt8, of key: UInt8, group: String? = nil, isSynchronizable: Bool = false
    ) -> NewItem {
        NewItem(
            itemClass: .certificate,
            attributes: [
                .certificateType: .number(1), .issuer: .data(Data("issuer".utf8)),
                .serialNumber: .data(Data([serial])), .publicKeyHash: hash(key),
                .label: .string("L\(serial)"),
            ],
            accessGroup: group, isSynchronizable: isSynchronizable,
            data: Data("certificate \(serial)".utf8))
    }

    private func key(
        _ key: UInt8, isPrivate: Bool = true, group: String? = nil,
        constraints: AccessConstraints = [], password: Data? = nil
    ) -> NewItem {
        NewItem(
            itemClass: .key,
            attributes: [
                .applicationLabel: hash(key), .keyClass: .number(isPrivate ? 1 : 0),
                .isPrivate: .number(isPrivate ? 1 : 0), .type: .number(73),
                .keySizeInBits: .number(256),
            ],
            accessGroup: group, constraints: constraints, data: Data("key \(key)".utf8),
            authorization: Authorization(applicationPassword: password))
    }

    private func query(
        certificate: Attributes = [:], key: Attributes = [:],
        authorization: Authorization = Authorization()
    ) -> IdentityQuery {
        IdentityQuery(
            certificate: ItemQuery(itemClass: .certificate, attributes: certificate),
            key: ItemQuery(itemClass: .key, attributes: key, authorization: authorization))
    }

    private func find(
        _ engine: KeychainEngine, _ query: IdentityQuery, limit: Int? = nil,
        includesData: Bool = true, skips: Bool = false
    ) throws -> [String] {
        try engine.perform(
            FindIdentities(
                query, Retrieval(limit: limit, includesData: includesData, skipsConstrained: skips)),
            as: caller
        ).map { identity in
            [identity.certificate.data, identity.key.data]
                .map { $0.map { String(decoding: $0, as: UTF8.self) } ?? "-" }
                .joined(separator: ", ")
        }
    }

    private func itemCount(_ engine: KeychainEngine) throws -> Int {
        let report = try engine.check()
        #expect(report.isSound)
        return report.itemCount
    }

    // MARK: Adding

    /// Adds both parts as `SecItemAdd` does.
    private func add(
        _ engine: KeychainEngine, _ certificate: NewItem, _ key: NewItem
    ) throws -> Identity {
        var certificate = certificate
        certificate.keepsExisting = true
        let added = try engine.perform(AddItems([certificate, key]), as: caller)
        try #require(added.count == 2)
        return Identity(certificate: added[0], key: added[1])
    }

    @Test func `if a step of adding a list fails, none of its items is added`() throws {
        let engine = try engine()
        let items = [certificate(1, of: 7), key(7), certificate(2, of: 8), key(8)]
        try expectAllOrNothing(engine) {
            _ = try engine.perform(AddItems(items), as: caller)
        }
        #expect(try itemCount(engine) == 4)
    }

    @Test func `adding a list of items accepts existing ones only if the request allows that`()
        throws
    {
        let engine = try engine()
        let first = try engine.perform(AddItem(key(7)), as: caller)
        var kept = key(7)
        kept.keepsExisting = true
        let added = try engine.perform(AddItems([kept, key(8), kept]), as: caller)
        #expect(added.map(\.reference).filter { $0 == first.reference }.count == 2)
        #expect(
            status { _ = try engine.perform(AddItems([key(9), key(7)]), as: caller) }
                == .duplicateItem)
        #expect(status { _ = try engine.perform(AddItems([]), as: caller) } == .param)
        #expect(try itemCount(engine) == 2)
    }

    @Test func `an existing item that an addition returns is noted for the audit, too`() throws {
        let engine = try engine()
        let first = try engine.perform(AddItem(key(7)), as: caller)
        var kept = key(7)
        kept.keepsExisting = true
        let other = key(8)
        let touched = TouchedItems()
        let added = try touched.collecting { () throws(KeychainFailure) in
            try engine.perform(AddItems([kept, other]), as: caller)
        }
        #expect(added[0].reference == first.reference)
        #expect(touched.references.count == 2)
        #expect(Set(touched.references) == Set(added.map(\.reference)))
    }

    @Test func `certificate and key are added, and found as an identity`() throws {
        let engine = try engine()
        let added = try add(engine, certificate(1, of: 7), key(7))
        #expect(added.certificate.data == Data("certificate 1".utf8))
        #expect(try find(engine, query()) == ["certificate 1, key 7"])
        #expect(try find(engine, query(), includesData: false) == ["-, -"])
        let found = try engine.perform(
            FindIdentities(query(), Retrieval(includesData: true)), as: caller)
        #expect(found == [added])
    }

    @Test func `an existing certificate is reused, and an existing key is a duplicate`() throws {
        let engine = try engine()
        let first = try engine.perform(AddItem(certificate(1, of: 7)), as: caller)
        let added = try add(engine, certificate(1, of: 7), key(7))
        #expect(added.certificate.reference == first.reference)
        #expect(try itemCount(engine) == 2)
        #expect(
            status {
                _ = try add(engine, certificate(2, of: 7), key(7))
            } == .duplicateItem)
        // Neither the certificate nor the key was added.
        #expect(try itemCount(engine) == 2)
    }

    @Test
    func `an identity is refused if another key's certificate has its issuer and serial number`()
        throws
    {
        let engine = try engine()
        _ = try engine.perform(AddItem(certificate(1, of: 7)), as: caller)
        #expect(
            status {
                _ = try add(engine, certificate(1, of: 8), key(8))
            } == .duplicateItem)
        // The key isn't added either: without its certificate, the key would form no identity.
        #expect(try itemCount(engine) == 1)
    }

    /// Makes a write fail at each of its steps in turn, and expects that nothing has changed. Then
    /// lets the write succeed.
    private func expectAllOrNothing(
        _ engine: KeychainEngine, _ body: () throws -> Void
    ) throws {
        let before = try engine.store.header().generation
        let stop = KeychainFailure(.ioError, "Stopped.")
        var step = 0
        while true {
            let count = Counter()
            let probe = WriteProbe { [step] moment in
                guard moment != .committed, count.next() == step + 1 else { return nil }
                return stop
            }
            let result = WriteProbe.$current.withValue(probe) { status(body) }
            if result == nil { break }
            // If a failed write had an effect, later writes would fail too, so the loop must stop.
            try #require(result == .ioError)
            try #require(try engine.store.header().generation == before)
            step += 1
        }
        // A write fails at the beginning, after each of the two rows and the header, and before the
        // commit.
        #expect(step >= 5)
        #expect(try engine.store.header().generation == before + 1)
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    @Test func `a fault at any step of a change leaves certificate and key unchanged`() throws {
        let engine = try engine()
        try expectAllOrNothing(engine) {
            _ = try add(engine, certificate(1, of: 7), key(7))
        }
        #expect(try itemCount(engine) == 2)
        try expectAllOrNothing(engine) {
            try engine.perform(
                UpdateIdentities(
                    query(),
                    IdentityChanges(
                        certificate: ItemChanges(accessGroup: "G2"),
                        key: ItemChanges(accessGroup: "G2"))), as: caller)
        }
        #expect(try find(engine, query()) == ["certificate 1, key 7"])
        try expectAllOrNothing(engine) {
            try engine.perform(DeleteIdentities(query(), tombstones: .automatic), as: caller)
        }
        #expect(try itemCount(engine) == 0)
    }

    @Test func `the caller must have access to the groups of both certificate and key`() throws {
        let engine = try engine()
        for (certificateGroup, keyGroup) in [("G3", "G1"), ("G1", "G3")] {
            #expect(
                status {
                    _ = try add(
                        engine, certificate(1, of: 7, group: certificateGroup),
                        key(7, group: keyGroup))
                } == .missingEntitlement)
        }
        #expect(try itemCount(engine) == 0)
        _ = try add(engine, certificate(1, of: 7), key(7))
        var foreign = query()
        foreign.key.accessGroup = "G3"
        #expect(
            status {
                try engine.perform(DeleteIdentities(foreign, tombstones: .automatic), as: caller)
            } == .missingEntitlement)
        #expect(
            status {
                try engine.perform(
                    UpdateIdentities(
                        query(),
                        IdentityChanges(
                            certificate: ItemChanges(), key: ItemChanges(accessGroup: "G3"))),
                    as: caller)
            } == .missingEntitlement)
        #expect(try find(engine, query()) == ["certificate 1, key 7"])
    }

    // MARK: Finding

    @Test func `only a private key with the certificate's public key makes an identity`() throws {
        let engine = try engine()
        _ = try engine.perform(AddItem(certificate(1, of: 7)), as: caller)
        _ = try engine.perform(AddItem(key(7, isPrivate: false)), as: caller)
        _ = try engine.perform(AddItem(key(8)), as: caller)
        #expect(status { _ = try find(engine, query()) } == .itemNotFound)
        _ = try engine.perform(AddItem(key(7)), as: caller)
        #expect(try find(engine, query()) == ["certificate 1, key 7"])
        var unhashed = certificate(2, of: 8)
        unhashed.attributes[.publicKeyHash] = nil
        _ = try engine.perform(AddItem(unhashed), as: caller)
        #expect(try find(engine, query()) == ["certificate 1, key 7"])
    }

    @Test
    func `a search can name attributes of certificate and key, and its limit counts identities`()
        throws
    {
        let engine = try engine()
        _ = try add(engine, certificate(1, of: 7), key(7))
        _ = try engine.perform(AddItem(certificate(2, of: 7)), as: caller)
        _ = try add(engine, certificate(3, of: 8), key(8))
        #expect(
            try find(engine, query())
                == ["certificate 1, key 7", "certificate 2, key 7", "certificate 3, key 8"])
        #expect(
            try find(engine, query(certificate: [.label: .string("L2")]))
                == ["certificate 2, key 7"])
        #expect(
            try find(engine, query(key: [.applicationLabel: hash(8)])) == ["certificate 3, key 8"])
        #expect(try find(engine, query(), limit: 1).count == 1)
        #expect(try find(engine, query(), limit: 2).count == 2)
        #expect(status { _ = try find(engine, query(), limit: 0) } == .itemNotFound)
    }

    @Test func `a key with constraints requires authentication, or its identity is skipped`() throws
    {
        let engine = try engine()
        let password = Data("p".utf8)
        _ = try add(
            engine, certificate(1, of: 7),
            key(7, constraints: .applicationPassword, password: password))
        _ = try add(engine, certificate(2, of: 8), key(8))
        #expect(try find(engine, query(), includesData: false).count == 2)
        #expect(status { _ = try find(engine, query()) } == .authenticationNeeded)
        #expect(try find(engine, query(), limit: 1, skips: true) == ["certificate 2, key 8"])
        let proof = query(authorization: Authorization(applicationPassword: password))
        #expect(try find(engine, proof) == ["certificate 1, key 7", "certificate 2, key 8"])
        // The certificate alone requires no authentication.
        #expect(
            try engine.perform(
                FindItems(
                    ItemQuery(itemClass: .certificate), Retrieval(limit: nil, includesData: true)),
                as: caller
            ).count == 2)
    }

    @Test func `a search for identities ignores a constrained certificate without a key`() throws {
        let engine = try engine()
        var lone = certificate(1, of: 9)
        lone.constraints = .applicationPassword
        lone.authorization.applicationPassword = Data("p".utf8)
        _ = try engine.perform(AddItem(lone), as: caller)
        _ = try add(engine, certificate(2, of: 8), key(8))
        #expect(try find(engine, query()) == ["certificate 2, key 8"])
    }

    // MARK: Changing

    @Test func `an update changes all identities that match when the update begins`() throws {
        let engine = try engine()
        // The key is in two groups and has two certificates, which makes four identities.
        _ = try add(engine, certificate(1, of: 7), key(7))
        _ = try add(
            engine, certificate(2, of: 7),
            key(7, group: "G2"))
        let all = FindIdentities(query(), Retrieval(limit: nil, includesData: true))
        let before = try engine.perform(all, as: caller)
        #expect(before.count == 4)
        let changes = IdentityChanges(
            certificate: ItemChanges(attributes: [.label: .string("new")]),
            key: ItemChanges(attributes: [.label: .string("new")]))
        #expect(
            try engine.perform(
                UpdateIdentities(query(certificate: [.label: .string("L1")]), changes), as: caller)
                == 2)
        #expect(
            try find(engine, query(certificate: [.label: .string("new")])).count == 2)
        #expect(
            status { _ = try find(engine, query(certificate: [.label: .string("L1")])) }
                == .itemNotFound)
        #expect(try find(engine, query(certificate: [.label: .string("L2")])).count == 2)
        #expect(try find(engine, query(key: [.label: .string("new")])).count == 4)
        // Apart from labels and modification dates, each certificate and key is unchanged.
        func unlabeled(_ identities: [Identity]) -> Set<ItemSnapshot> {
            Set(
                identities.flatMap { [$0.certificate, $0.key] }.map { item in
                    var item = item
                    item.attributes[.label] = nil
                    item.attributes[.modificationDate] = nil
                    return item
                })
        }
        let after = try engine.perform(all, as: caller)
        #expect(unlabeled(after) == unlabeled(before))
    }

    @Test func `an update of a constrained key requires authentication, or changes nothing`() throws
    {
        let engine = try engine()
        let password = Data("p".utf8)
        _ = try add(
            engine, certificate(1, of: 7),
            key(7, constraints: .applicationPassword, password: password))
        let changes = IdentityChanges(
            certificate: ItemChanges(attributes: [.label: .string("new")]),
            key: ItemChanges(attributes: [.label: .string("new")]))
        #expect(
            status { try engine.perform(UpdateIdentities(query(), changes), as: caller) }
                == .authenticationNeeded)
        #expect(
            status {
                _ = try find(engine, query(certificate: [.label: .string("new")]))
            } == .itemNotFound)
        let proof = query(authorization: Authorization(applicationPassword: password))
        #expect(try engine.perform(UpdateIdentities(proof, changes), as: caller) == 1)
    }

    // MARK: Deleting

    @Test func `deleting an identity keeps the key while another certificate has its public key`()
        throws
    {
        let engine = try engine()
        _ = try add(engine, certificate(1, of: 7), key(7))
        _ = try engine.perform(AddItem(certificate(2, of: 7)), as: caller)
        #expect(
            try engine.perform(
                DeleteIdentities(
                    query(certificate: [.label: .string("L1")]), tombstones: .automatic), as: caller
            )
                == 1)
        #expect(try find(engine, query()) == ["certificate 2, key 7"])
        #expect(
            try engine.perform(DeleteIdentities(query(), tombstones: .automatic), as: caller) == 1)
        #expect(try itemCount(engine) == 0)
        #expect(
            status {
                try engine.perform(DeleteIdentities(query(), tombstones: .automatic), as: caller)
            } == .itemNotFound)
    }

    /// Changes one byte of the encrypted attributes of the certificate with the given label.
    private func damage(_ label: String, in keychain: TemporaryKeychain) throws {
        let query = ItemQuery(itemClass: .certificate, attributes: [.label: .string(label)])
        let row = try #require(try keychain.rows(query).first)
        keychain.engine.close()
        // `forge` renews the tags of the pages.
        try forge(keychain) { bytes in
            let found = try #require(Data(bytes).firstRange(of: row.metadata))
            bytes[found.upperBound - 1] ^= 1
        }
        try keychain.reopen()
    }

    @Test func `deleting an identity keeps the key while a damaged certificate has its public key`()
        throws
    {
        let keychain = try TemporaryKeychain()
        _ = try add(keychain.engine, certificate(1, of: 7), key(7))
        _ = try keychain.engine.perform(AddItem(certificate(2, of: 7)), as: caller)
        try damage("L2", in: keychain)
        let first = query(certificate: [.label: .string("L1")])
        #expect(
            try keychain.engine.perform(
                DeleteIdentities(first, tombstones: .automatic), as: caller) == 1)
        let keys = try keychain.engine.perform(
            FindItems(ItemQuery(itemClass: .key), Retrieval()), as: caller)
        #expect(keys.count == 1)
        let other = query(certificate: [.label: .string("L2")])
        #expect(
            status {
                try keychain.engine.perform(
                    DeleteIdentities(other, tombstones: .automatic), as: caller)
            } == .decode)
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateIdentities(
                        other,
                        IdentityChanges(certificate: ItemChanges(), key: ItemChanges())),
                    as: caller)
            } == .decode)
    }

    @Test func `deleting all identities of a key deletes the key`() throws {
        let engine = try engine()
        _ = try add(engine, certificate(1, of: 7), key(7))
        _ = try engine.perform(AddItem(certificate(2, of: 7)), as: caller)
        _ = try engine.perform(AddItem(certificate(3, of: 9)), as: caller)
        #expect(
            try engine.perform(DeleteIdentities(query(), tombstones: .automatic), as: caller) == 2)
        // A certificate without a key is not an identity.
        #expect(try itemCount(engine) == 1)
    }

    @Test func `deleting identities requires no authentication`() throws {
        let engine = try engine()
        _ = try add(
            engine, certificate(1, of: 7),
            key(7, constraints: .applicationPassword, password: Data()))
        #expect(try engine.perform(DeleteIdentities(query(), tombstones: .never), as: caller) == 1)
        #expect(try itemCount(engine) == 0)
    }
}
