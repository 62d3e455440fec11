// AuditTests: how the audit continues after the service has ended or was killed, after records were
// lost, and when a new file begins.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import Synchronization
import Testing

@testable import KeychainDaemon

private let own = AccessGroups(["default"])

@Suite struct `The audit` {
    @Test(arguments: [
        "/usr/bin/app", "", "-", " ", "%", "/a b\n9 0 0 0 - delete - 0 - 00", "é\u{202E}\u{7F}",
        "%2d",
    ])
    func `a record round-trips, whatever the program's name contains`(
        _ identity: String
    ) throws {
        var record = AuditRecord(
            number: 7, moment: 1_777_636_800_123, user: 1000, process: 4711, identity: identity,
            operation: "find", itemClass: "genp", result: -25300,
            items: (0..<20).map { Bytes16(high: 1, low: $0) })
        #expect(record.unnamedItemCount == 4)
        #expect(record.encoded.allSatisfy { (0x20...0x7E).contains($0) })
        #expect(AuditRecord(encoded: record.encoded) == record)
        record.identity = String(repeating: "\n", count: 10_000)
        #expect(record.encoded.count < AuditRecord.lineByteLimit - 100)
    }

    @Test func `the audit continues after a restart of the service`() throws {
        let sample = try AuditSample()
        for count in [3, 0, 2] { try sample.write(count) }
        let found = try sample.verify()
        #expect(found.findings.isEmpty)
        #expect(found.validCount == 11)
        #expect(try sample.records().map(\.number) == Array(1...11))
        #expect(
            try sample.records().map(\.operation) == [
                "audit-start", "find", "find", "find", "audit-end", "audit-start", "audit-end",
                "audit-start", "find", "find", "audit-end",
            ])
    }

    @Test
    func `a half-written record isn't reported as an attack, and the next start notes its removal`()
        throws
    {
        let sample = try AuditSample()
        try sample.write(3, isKilled: true)
        let file = try FileHandle(forWritingTo: URL(filePath: sample.file))
        try file.seekToEnd()
        try file.write(contentsOf: Data("5 1777636800123 1000 47".utf8))
        try file.close()
        #expect(try sample.verify().unfinishedByteCount == 23)
        #expect(try sample.findings().isEmpty)
        try sample.write(1)
        let found = try sample.verify()
        #expect(found.findings.isEmpty && found.unfinishedByteCount == 0)
        #expect(found.validCount == 7)
        let start = try #require(try sample.records().first { $0.number == 5 })
        #expect(start.operation == "audit-start" && start.result == 23)
        #expect(
            sample.log.all.contains("notice audit: 23 bytes of an unfinished record were removed\n")
        )
    }

    @Test func `records that the anchor doesn't cover yet are accepted`() throws {
        let sample = try AuditSample()
        try sample.write(3, isKilled: true)
        let anchor = try sample.position()
        try sample.write(1, isKilled: true)
        // The process was killed after it wrote the records and before it wrote the anchor.
        try sample.write(anchor)
        #expect(try sample.findings().isEmpty)
        try sample.write(1)
        #expect(try sample.findings().isEmpty)
        #expect(try sample.records().map(\.number) == Array(1...9))
    }

    @Test func `if the anchor is too long, a new audit begins, and the next start continues it`()
        throws
    {
        let sample = try AuditSample()
        try sample.write(1)
        let first = try sample.position().chain
        let anchor = try FileHandle(forWritingTo: URL(filePath: sample.folder.anchorPath))
        try anchor.seekToEnd()
        try anchor.write(contentsOf: Data([0]))
        try anchor.close()
        #expect(status { _ = try sample.folder.position() } == .ioError)
        try sample.write(1)
        #expect(
            sample.log.all.contains { $0.hasPrefix("error the previous audit can't be continued") })
        let second = try sample.position().chain
        #expect(second != first)
        try sample.write(1)
        #expect(try sample.position().chain == second)
        #expect(try sample.verify().validCount == 6)
        #expect(try sample.findings().isEmpty)
    }

    @Test func `records lost in a power failure are reported, and the audit continues after them`()
        throws
    {
        let sample = try AuditSample()
        try sample.write(3, isKilled: true)
        try sample.change { $0.removeLast(2) }
        try sample.write(1)
        #expect(try sample.findings() == [.missing(3...4)])
        #expect(
            try sample.records().map(\.operation) == [
                "audit-start", "find", "audit-gap", "audit-start", "find", "audit-end",
            ])
        #expect(sample.log.all.contains { $0.hasPrefix("error records of the audit are missing") })
    }

    @Test func `the audit's encoding matches the example in its format document`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let document = try String(
            contentsOf: root.appending(path: "Documentation/Formats/audit-v1.md"), encoding: .utf8)
        let origin = AuditOrigin(RecoveryCode(bytes: SecretBytes(copying: Array(0..<16))))
        let item = try #require(ItemReference(bytes: Array(repeating: 1, count: 16)))
        let record = AuditRecord(
            number: 1, moment: 1_777_636_800_123, user: 1000, process: 4711,
            identity: "/opt/my app", operation: "find", itemClass: "genp",
            items: [AuditItemLabels(key: origin.itemKey).label(of: item)])
        let file = AuditFolder(path: "/").file(origin.chain, from: 1)
        for line in [
            AuditFolder.header(of: file, after: .none),
            AuditRecord.line(record.encoded, tag: origin.firstKey.tag(of: record.encoded)),
        ] {
            #expect(document.contains("\n    " + String(decoding: line, as: UTF8.self)))
        }
        let anchor = AuditPosition(origin).encoded.plainBytes
        #expect(anchor.count == AuditPosition.byteCount)
        #expect(Array(anchor[..<8]) == Array("KCAU".utf8) + [0, 0, 0, 1])
        #expect(Array(anchor[24..<32]) == [0, 0, 0, 0, 0, 0, 0, 1])
        #expect(Array(anchor[32..<64]) == origin.firstKey.bytes.plainBytes)
        #expect(
            Array(anchor[144...]) == Array(Fingerprint.sha256(of: Array(anchor[..<144]))[..<16]))
    }

    // MARK: Files

    private func rotated(_ count: Int, keeping fileCount: Int) throws -> AuditSample {
        var limits = AuditLimits()
        limits.fileByteCount = 2000
        limits.fileCount = fileCount
        let sample = try AuditSample(limits)
        try sample.write(count / 2)
        try sample.write(count / 2)
        return sample
    }

    @Test func `the audit continues in further files, and verification reports each missing file`()
        throws
    {
        let sample = try rotated(100, keeping: 100)
        let files = try sample.folder.files()
        #expect(files.count > 5)
        #expect(try sample.verify().validCount == 104)
        #expect(try sample.findings().isEmpty)
        let whole = try sample.snapshot()
        for (index, file) in files.enumerated() {
            try FileManager.default.removeItem(atPath: file.path)
            let next = index + 1 < files.count ? files[index + 1].first : 105
            #expect(try sample.findings() == [.missing(file.first...next - 1)])
            try sample.restore(whole)
        }
    }

    @Test
    func `pruning the oldest audit files is recorded, and another missing file is reported`()
        throws
    {
        let sample = try rotated(100, keeping: 3)
        let files = try sample.folder.files()
        #expect(files.count == 3)
        let found = try sample.verify()
        #expect(found.findings.isEmpty)
        #expect(found.first == files[0].first && found.first > 1)
        #expect(
            try sample.records().contains {
                $0.operation == "audit-prune" && $0.result == Int64(found.first) - 1
            })
        try FileManager.default.removeItem(atPath: files[0].path)
        #expect(try sample.findings() == [.missing(files[0].first...files[1].first - 1)])
    }

    @Test func `audit files pruned at a restart of the service aren't reported as missing`() throws
    {
        var limits = AuditLimits()
        limits.fileByteCount = 2000
        limits.fileCount = 3
        let sample = try AuditSample(limits)
        for _ in 0..<60 { try sample.write(1) }
        #expect(try sample.folder.files().count == 3)
        #expect(try sample.findings().isEmpty)
    }

    // MARK: Requests

    @Test func `a record says who requested what, and identifies items without their names`() throws
    {
        let service = try TestService()
        let client = service.client()
        let folder = service.auditFolder
        _ = try client.perform(AddItem(password("ACCOUNT-7", "SECRET-7")), as: own)
        _ = try client.perform(AddItem(password("other")), as: own)
        // When the caller gets the secret, the record is already in the file.
        #expect(try client.load("ACCOUNT-7", as: own) == "SECRET-7")
        #expect(try folder.records().last?.operation == "find")
        let changes = ItemChanges(data: Data("SECRET-7b".utf8))
        let query = passwordQuery("ACCOUNT-7")
        _ = try client.perform(UpdateItems(query, changes), as: own)
        _ = try client.perform(
            PutItem(password("ACCOUNT-7"), orChange: query, changes), as: own)
        _ = try client.perform(
            FindItems(ItemQuery(itemClass: .genericPassword), Retrieval(limit: nil)), as: own)
        _ = try client.perform(DeleteItems(query, tombstones: .never), as: own)
        #expect(try client.load("ACCOUNT-7", as: own) == nil)
        service.stop()

        let all = try folder.records()
        let items = all.filter { $0.itemClass == "genp" }
        #expect(
            items.map(\.operation) == [
                "add", "add", "find", "update", "put", "find", "delete", "find",
            ])
        #expect(items.map(\.result) == [0, 0, 0, 0, 0, 0, 0, -25300])
        let label = try #require(items[0].items.first)
        let other = try #require(items[1].items.first)
        #expect(label != other)
        #expect(
            items.map(\.items) == [
                [label], [other], [label], [label], [label], [label, other], [label], [],
            ])
        let executable = try thisExecutable()
        for record in items {
            #expect(record.user == geteuid() && record.process == getpid())
            #expect(record.identity == executable)
            #expect(abs(Double(record.moment) / 1000 - Date().timeIntervalSince1970) < 600)
        }
        #expect(all.first?.operation == "audit-start" && all.last?.operation == "audit-end")
        #expect(all.contains { $0.operation == "hello" })
        let position = try #require(try folder.position())
        let key = try #require(try folder.verificationKey(of: position.chain))
        #expect(try AuditVerification(folder, key: key).findings.isEmpty)
        for file in try folder.files() {
            #expect(!(try String(contentsOfFile: file.path, encoding: .utf8)).contains("-7"))
        }
    }

    @Test func `a refused connection is recorded`() throws {
        let service = try TestService { $0.isRegistryOnly = true }
        #expect(
            status { _ = try service.client().perform(HasPasscode()) } == .missingEntitlement)
        let hello = try #require(
            try service.auditFolder.records().first { $0.operation == "hello" })
        #expect(hello.result == Int64(Status.missingEntitlement.rawValue))
    }

    @Test func `the requests of eight concurrent clients are all recorded`() throws {
        let service = try TestService()
        let failures = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 8) { index in
            do {
                let client = service.client()
                for number in 0..<20 {
                    let account = "\(index) \(number)"
                    _ = try client.perform(AddItem(password(account)), as: own)
                    guard try client.load(account, as: own) == account else { throw NoAudit() }
                }
            } catch {
                failures.withLock { $0 += 1 }
            }
        }
        service.stop()
        #expect(failures.withLock { $0 } == 0)
        let folder = service.auditFolder
        let all = try folder.records()
        #expect(all.map(\.number) == Array(1...UInt64(all.count)))
        #expect(all.count { $0.operation == "add" } == 160)
        #expect(all.count { $0.operation == "find" } == 160)
        let position = try #require(try folder.position())
        let key = try #require(try folder.verificationKey(of: position.chain))
        #expect(try AuditVerification(folder, key: key).findings.isEmpty)
    }

    @Test func `a folder that can't be listed is reported with the system's reason`() throws {
        let folder = try TemporaryFolder()
        let audit = AuditFolder(path: folder.path + "/audit")
        let absence = #expect(throws: KeychainFailure.self) { try audit.files() }
        #expect(absence?.status == .itemNotFound)
        // A file in the folder's place is not reported as a lack of permission.
        try Data().write(to: URL(filePath: audit.path))
        let failure = #expect(throws: KeychainFailure.self) { try audit.files() }
        #expect(failure?.status == .ioError)
        #expect(failure?.reason == "Can't read \(audit.path): \(errorText(ENOTDIR)).")
    }

    @Test func `with an audit folder that others may write to, requests for items fail`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("keychain")
        _ = try folder.makeFolder("keychain/audit", mode: 0o777)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o777], ofItemAtPath: folder.path + "/keychain/audit")
        let service = try TestService(folder: folder)
        let client = service.client()
        #expect(status { _ = try client.perform(AddItem(password("a")), as: own) } == .notAvailable)
        #expect(try client.perform(HasPasscode()) == false)
        let problems = service.log.all.filter { $0.hasPrefix("error the audit can't be written") }
        #expect(problems.count == 1, "the failure is logged once")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: folder.path + "/keychain/audit")
        _ = try client.perform(AddItem(password("a")), as: own)
        #expect(try client.load("a", as: own) == "a")
    }
}

private struct NoAudit: Error {}
