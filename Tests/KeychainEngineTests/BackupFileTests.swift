// Damaged, forged and large backups, and the example in the format document.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Synchronization
import Testing

@Suite struct BackupFileTests {
    private let fixture = BackupFixture()

    @Test func `a backup with a flipped bit is refused, and the keychain doesn't change`() throws {
        let keychain = try fixture.keychain()
        for account in ["a", "b", "c"] { try fixture.add(account, to: keychain) }
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        let whole = backup.bytes
        let other = try fixture.keychain()
        let generation = try other.engine.status().generation
        for position in stride(from: 0, to: whole.count, by: 13) {
            backup.bytes = whole
            backup.bytes[position] ^= 1 << UInt8(position % 8)
            let status = status { _ = try other.engine.restore(backup.source, .replace) }
            #expect(status == .decode || status == .authFailed, "byte \(position)")
        }
        for count in [0, 10, 200, whole.count - 1] {
            backup.bytes = whole.prefix(count)
            #expect(status { _ = try other.engine.restore(backup.source, .replace) } == .decode)
        }
        #expect(try other.engine.status().generation == generation)
        backup.bytes = whole
        #expect(try other.engine.restore(backup.source, .replace).added.count == 3)
    }

    @Test func `a backup can't be opened with another age identity`() throws {
        let keychain = try fixture.keychain()
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        var source = backup.source
        source = BackupSource(
            descriptor: source.descriptor, identities: [.x25519(.random(byteCount: 32))])
        #expect(status { _ = try keychain.engine.restore(source, .replace) } == .authFailed)
    }

    /// Anyone who knows the recipient can encrypt a forged backup to that recipient.
    @Test func `a backup with invalid lines is refused, and the keychain doesn't change`() throws {
        let keychain = try fixture.keychain()
        try fixture.add("a", to: keychain)
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        let lines = try backup.lines
        #expect(lines.count == 3)
        let item = lines[1]
        func changed(_ text: String, _ other: String) throws -> [String] {
            try #require(item.contains(text), "\(text)")
            return [lines[0], item.replacingOccurrences(of: text, with: other), lines[2]]
        }
        let wrong: [[String]] = [
            [], [lines[0]], Array(lines.dropLast()), Array(lines.dropFirst()),
            [lines[0], lines[2]], lines + [lines[2]], lines + [item],
            [lines[0], lines[0], item, lines[2]], [lines[0], item, item, lines[2]],
            [lines[0], "{}", item, lines[2]],
            [lines[0], String(item.dropLast()) + "," + lines[2].dropFirst(), lines[2]],
            [lines[0], "x", lines[2]],
            try changed("\"genp\"", "\"gene\""), try changed("\"ak\"", "\"akpu\""),
            try changed("\"ak\"", "\"aku\""), try changed("\"mdat\"", "\"xxxx\""),
            try changed("\"G1\"", "\"*\""), try changed("\"G1\"", "\"\""),
            try changed("\"reference\":\"", "\"reference\":\"0"),
            try changed("{\"date\":1000}", "{\"number\":1000}"),
            try changed("{\"date\":1000}", "{\"date\":1000,\"number\":1}"),
            try changed("\"class\"", "\"constraints\":4,\"class\""),
            try changed("\"class\"", "\"constraints\":2147483648,\"class\""),
            try changed("\"class\"", "\"passwordSealed\":true,\"class\""),
            [lines[0].replacingOccurrences(of: "backup", with: "other")] + lines.dropFirst(),
        ]
        for lines in wrong {
            try backup.write(lines)
            #expect(
                status { _ = try keychain.engine.restore(backup.source, .replace) } == .decode,
                "\(lines)")
        }
        #expect(wrong.count == 25)
        try backup.write(
            [lines[0].replacingOccurrences(of: "\"version\":1", with: "\"version\":2")]
                + lines.dropFirst())
        #expect(
            status { _ = try keychain.engine.restore(backup.source, .replace) } == .wrongVersion)
        #expect(try fixture.secrets(keychain) == ["a": "secret"])
        try backup.write(lines)
        #expect(try keychain.engine.restore(backup.source, .merge).keptCount == 1)
    }

    /// The example was written by a Python program that implements only the format document.
    @Test func `the example in the format document is read correctly`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let document = try String(
            contentsOf: root.appending(path: "Documentation/Formats/backup-v1.md"),
            encoding: .utf8)
        let lines = document.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("{\"head\"") })
        let backup = try TestBackup()
        try backup.write(Array(lines[start..<start + 6]))
        var options = EngineOptions.testing
        options.machine = Machine(identity: SecretBytes(copying: Array(0..<16)))
        let keychain = try TemporaryKeychain(options: options)
        let restoration = try keychain.engine.restore(backup.source, .merge)
        #expect(restoration.summary.created == 800_000_001.25)
        #expect(fixture.accounts(restoration.summary.leftOut) == ["edsger"])
        #expect(try fixture.secrets(keychain) == ["ada": "tiger", "grace": "cobol"])
        #expect(
            try fixture.items(keychain).map(\.reference.description) == [
                "000102030405060708090a0b0c0d0e0f", "101112131415161718191a1b1c1d1e1f",
            ])
        // The engine writes the line of the first item exactly as the document shows it.
        let again = try TestBackup()
        try again.make(keychain.engine)
        #expect(try again.lines.contains(lines[start + 1]))
    }

    @Test func `10,000 items are backed up and restored, and restoring reports progress`() throws {
        let keychain = try fixture.keychain()
        let count = 10_000
        for start in stride(from: 0, to: count, by: 1000) {
            _ = try keychain.engine.perform(
                AddItems(
                    (start..<start + 1000).map {
                        NewItem(
                            itemClass: .genericPassword, attributes: genericPassword("\($0)"),
                            data: Data("secret \($0)".utf8))
                    }), as: fixture.everything)
        }
        let backup = try TestBackup()
        let steps = Mutex<[RequestProgress]>([])
        let timer = ContinuousClock()
        let writing = try timer.measure { try backup.make(keychain.engine) }
        let other = try fixture.keychain()
        let reading = try timer.measure {
            let restoration = try other.engine.restore(backup.source, .merge) { progress in
                steps.withLock { $0.append(progress) }
            }
            #expect(restoration.added.count == count)
        }
        #expect(steps.withLock { $0.count } == count / 100)
        #expect(steps.withLock { $0.allSatisfy { $0.total == count } })
        #expect(try other.engine.status().itemCount == UInt64(count))
        print("10,000 items: backed up in \(writing), restored in \(reading)")
    }
}
