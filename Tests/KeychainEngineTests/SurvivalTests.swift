// Items of every class, with and without constraints, after damage, recovery and restoration.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct SurvivalTests {
    private static let password = Data("correct horse".utf8)
    private static let constraints: [AccessConstraints] = [
        [], .userPresence, .applicationPassword, [.userPresence, .applicationPassword],
    ]

    private static func attributes(_ itemClass: ItemClass, _ index: Int) -> Attributes {
        switch itemClass {
        case .genericPassword, .internetPassword:
            [itemClass.firstKey: .string("owner"), .account: .string("\(index)")]
        case .certificate:
            [
                .issuer: .data(Data("issuer".utf8)),
                .serialNumber: .data(Data([UInt8(index)])), .certificateType: .number(1),
                .certificateEncoding: .number(3), .subject: .data(Data("subject".utf8)),
                .publicKeyHash: .data(Data(repeating: UInt8(index), count: 20)),
                .subjectKeyID: .data(Data([0, 1, 2])), .label: .string("Certificate"),
            ]
        case .key:
            [
                .applicationLabel: .data(Data(repeating: UInt8(index), count: 20)),
                .applicationTag: .data(Data("tag".utf8)), .keyClass: .number(1),
                .type: .number(73), .keySizeInBits: .number(256),
                .effectiveKeySize: .number(256), .isPermanent: .number(1),
                .isPrivate: .number(1), .canSign: .number(1), .canDecrypt: .number(0),
            ]
        }
    }

    /// One item for each class and combination of constraints.
    private func keychain() throws -> (TemporaryKeychain, [ItemSnapshot]) {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        var items: [ItemSnapshot] = []
        for itemClass in ItemClass.allCases {
            for (index, constraints) in Self.constraints.enumerated() {
                items.append(
                    try keychain.engine.perform(
                        AddItem(
                            NewItem(
                                itemClass: itemClass, attributes: Self.attributes(itemClass, index),
                                protection: .always, constraints: constraints,
                                data: Data("\(itemClass.name) \(index)".utf8),
                                authorization: Authorization(applicationPassword: Self.password))),
                        as: keychain.caller))
            }
        }
        return (keychain, items)
    }

    private func expectAll(_ items: [ItemSnapshot], in keychain: TemporaryKeychain) throws {
        try keychain.engine.unlock(passcode: passcode("1234"))
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        for item in items {
            let query = ItemQuery(
                itemClass: item.itemClass, reference: item.reference,
                authorization: Authorization(grant: grant, applicationPassword: Self.password))
            #expect(
                try keychain.engine.perform(
                    FindItems(query, Retrieval(includesData: true)), as: keychain.caller) == [item])
            var bare = query
            bare.authorization = Authorization()
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        FindItems(bare, Retrieval(includesData: true)), as: keychain.caller)
                } == (item.constraints.isEmpty ? nil : .authenticationNeeded))
        }
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `every item is unchanged after reopening`() throws {
        let (keychain, items) = try keychain()
        #expect(items.count == 16)
        try keychain.reopen()
        try expectAll(items, in: keychain)
    }

    @Test func `a recovery brings back items of every class and with every constraint`() throws {
        let (keychain, items) = try keychain()
        keychain.engine.close()
        var bytes = try Data(contentsOf: URL(filePath: keychain.path(.database)))
        // This byte is in the header of the root page of an index.
        bytes[5 * 4096] ^= 0x10
        try bytes.write(to: URL(filePath: keychain.path(.database)))
        let report = try KeychainEngine.recover(
            directory: keychain.directory, passcode: passcode("1234"), options: .testing)
        #expect(report.itemCount == items.count)
        #expect(report.damagedItems.isEmpty)
        try keychain.reopen()
        try expectAll(items, in: keychain)
    }

    /// Flips a bit in every sealed secret, or flips it back.
    /// - Returns: The number of secrets.
    private func flipContents(_ keychain: TemporaryKeychain) throws -> Int {
        var count = 0
        // `forge` renews the tags of the pages, because the engine doesn't write to a page whose
        // tag is wrong.
        try forge(keychain) { bytes in
            let whole = Data(bytes)
            var start = whole.startIndex
            while let found = whole[start...].firstRange(of: Data("KCS2".utf8)) {
                bytes[found.lowerBound + 80] ^= 0x20
                start = found.upperBound
                count += 1
            }
        }
        return count
    }

    @Test func `each damaged item is set aside, and restored once it can be opened again`() throws {
        let (keychain, items) = try keychain()
        keychain.engine.close()
        try #require(try flipContents(keychain) >= items.count)
        try keychain.reopen()
        #expect(try keychain.engine.check(settingAside: true).setAsideCount == items.count)
        let damaged = try keychain.engine.restoreSetAside().map(\.outcome)
        #expect(damaged == items.map { _ in .damaged })
        // Closing a database with damaged pages doesn't empty its log.
        try keychain.engine.store.emptyLog()
        keychain.engine.close()
        _ = try flipContents(keychain)
        try keychain.reopen()
        let aside = Set(try keychain.engine.setAsideRows().map(\.row.reference))
        #expect(
            try keychain.engine.restoreSetAside(aside).allSatisfy { $0.outcome == .locked })
        try keychain.engine.unlock(passcode: passcode("1234"))
        // Rows whose bytes differ from the bytes that were set aside are restored only if their
        // references are given.
        let rows = Set(try keychain.engine.setAsideRows().map(\.row.reference))
        let outcomes = try keychain.engine.restoreSetAside(rows).map(\.outcome)
        #expect(outcomes == items.map { _ in .restored })
        try expectAll(items, in: keychain)
    }
}
