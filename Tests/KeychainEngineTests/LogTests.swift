// LogTests: what the engine logs, and what it never logs.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import Logging
import Synchronization
import Testing

/// A log handler that keeps all lines in memory.
private final class MemoryLog: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func logger() -> Logger {
        var logger = Logger(label: "keychain") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: MemoryLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        init(log: MemoryLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let entries = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted()
            let line = ([event.message.description] + entries).joined(separator: "|")
            log.lines.withLock { $0.append(line) }
        }
    }
}

@Suite struct LogTests {
    @Test func `the log contains operation, query shape and status, and no values`() throws {
        let log = MemoryLog()
        var options = EngineOptions.testing
        options.log = log.logger()
        let keychain = try TemporaryKeychain(options: options)
        var attributes = genericPassword("ACCOUNT-7", "SERVICE-7")
        attributes[.label] = .string("LABEL-7")
        attributes[.generic] = .data(Data("GENERIC-7".utf8))
        let item = NewItem(
            itemClass: .genericPassword, attributes: attributes, protection: .whenUnlocked,
            data: Data("SECRET-7".utf8))
        var query = ItemQuery(itemClass: .genericPassword, attributes: attributes)
        query.accessGroup = "G1"
        let caller = keychain.caller

        _ = try keychain.engine.perform(AddItem(item), as: caller)
        #expect(
            status { _ = try keychain.engine.perform(AddItem(item), as: caller) } == .duplicateItem)
        _ = try keychain.engine.perform(FindItems(query, Retrieval(includesData: true)), as: caller)
        try keychain.engine.perform(
            UpdateItems(query, ItemChanges(data: Data("SECRET-7 changed".utf8))), as: caller)
        _ = try keychain.engine.perform(DeleteItems(query, tombstones: .automatic), as: caller)
        #expect(
            status { _ = try keychain.engine.perform(FindItems(query, Retrieval()), as: caller) }
                == .itemNotFound)

        let shape = "acct gena labl svce"
        #expect(
            log.all == [
                "add|query=genp \(shape)|status=0", "add|query=genp \(shape)|status=-25299",
                "find|query=genp acct agrp gena labl svce|status=0",
                "update|query=genp acct agrp gena labl svce|status=0",
                "delete|query=genp acct agrp gena labl svce|status=0",
                "find|query=genp acct agrp gena labl svce|status=-25300",
            ])
        #expect(!log.all.joined().contains("-7"))
    }

    @Test func `requests about identities are logged without values`() throws {
        let log = MemoryLog()
        var options = EngineOptions.testing
        options.log = log.logger()
        let engine = try KeychainEngine.open(try MemoryPlace(), options: options)
        let caller = AccessGroups(["G1"])
        let hash = AttributeValue.data(Data(repeating: 7, count: 20))
        let certificate = NewItem(
            itemClass: .certificate,
            attributes: [
                .issuer: .data(Data("ISSUER-7".utf8)), .serialNumber: .data(Data("7".utf8)),
                .publicKeyHash: hash,
            ],
            data: Data("SECRET-7".utf8))
        let key = NewItem(
            itemClass: .key, attributes: [.applicationLabel: hash, .isPrivate: .number(1)],
            data: Data("SECRET-7".utf8))
        let query = IdentityQuery(
            certificate: ItemQuery(
                itemClass: .certificate, attributes: [.issuer: .data(Data("ISSUER-7".utf8))]),
            key: ItemQuery(itemClass: .key))
        let changes = ItemChanges(attributes: [.label: .string("LABEL-7")])
        _ = try engine.perform(AddItems([certificate, key]), as: caller)
        #expect(
            status { _ = try engine.perform(AddItems([certificate, key]), as: caller) }
                == .duplicateItem)
        try engine.perform(
            UpdateIdentities(query, IdentityChanges(certificate: changes, key: changes)), as: caller
        )
        try engine.perform(DeleteIdentities(query, tombstones: .automatic), as: caller)
        #expect(
            log.all == [
                "addAll|query=cert issr pkhh slnr, keys klbl priv|status=0",
                "addAll|query=cert issr pkhh slnr, keys klbl priv|status=-25299",
                "updateIdentities|query=cert issr, keys|status=0",
                "deleteIdentities|query=cert issr, keys|status=0",
            ])
    }
}
