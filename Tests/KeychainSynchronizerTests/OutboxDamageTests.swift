// OutboxDamageTests: a bit flips in the database page that holds the state of a keychain's circle,
// or in the page that holds the list of unsent changes. Then items are changed and exchanged.
//   (1) Nothing is sent that wasn't written.
//   (2) The damage is noticed, by a failure or by `check`, and a recovery brings back every change,
//       which is then sent.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import KeychainSynchronization
import SynchronizationTestSupport
import TestPrograms
import Testing

@Suite struct `Damage to the outbox` {
    /// Two keychains in folders, and the records of their circle, at the moment when one of them
    /// has changes to send.
    private final class Circle: Sendable {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "outbox-\(UUID().uuidString.prefix(8))")
        let records: [String: [UInt8]]
        let now: Double

        init() async throws {
            let server = MemoryStore()
            let one = try Device("one", server, folder: folder.appending(path: "one").path)
            let two = try Device("two", server, folder: folder.appending(path: "two").path)
            try await one.found()
            try await one.add(two)
            for account in ["a", "b", "c"] { try one.set(account, "sent") }
            try await converge(one, two)
            try one.set("a", "waiting")
            try one.set("d", "waiting")
            try one.delete("b")
            for device in [one, two] { device.engine.close() }
            records = server.records
            now = one.clock.now
        }

        deinit { try? FileManager.default.removeItem(at: folder) }
    }

    /// One machine's database page with a flipped bit.
    private struct Flip {
        let page: RootPage
        let position: Int
        var description: String { "\(page) at \(position)" }

        func damage(_ folder: URL) throws {
            let file = folder.appending(path: "keychain.db")
            var bytes = [UInt8](try Data(contentsOf: file))
            bytes[page.bytes.lowerBound + position] ^= 1 << (position % 8)
            let handle = try FileHandle(forWritingTo: file)
            try handle.write(contentsOf: Data(bytes))
            try handle.close()
        }
    }

    /// The values that machine two may have after an exchange with machine one, whose database is
    /// damaged. `nil` stands for no item.
    private static let written: [String: Set<String?>] = [
        "a": ["sent", "waiting"], "b": ["sent", nil], "c": ["sent"], "d": ["waiting", nil],
        "e": ["new", nil],
    ]
    private static let latest = ["a": "waiting", "c": "sent", "d": "waiting", "e": "new"]

    @Test(arguments: [RootPage.outbox, .state])
    func `after a flipped bit, no wrong value is sent and no acknowledged change is lost`(
        _ page: RootPage
    ) async throws {
        let circle = try await Circle()
        var count = 0
        // The odd stride reaches each bit of a byte, each byte of a word and each part of the page.
        for position in stride(from: 0, to: page.bytes.count, by: 151) {
            try await examine(Flip(page: page, position: position), of: circle)
            count += 1
        }
        #expect(count > 25)
    }

    private func examine(_ flip: Flip, of circle: Circle) async throws {
        let copy = circle.folder.appendingPathExtension("copy-\(flip.page)")
        try FileManager.default.copyItem(at: circle.folder, to: copy)
        defer { try? FileManager.default.removeItem(at: copy) }
        let (here, there) = (copy.appending(path: "one"), copy.appending(path: "two"))
        try flip.damage(here)
        let server = MemoryStore()
        server.records = circle.records
        let clock = TestClock()
        clock.now = circle.now + 10
        let two = try Device("two", server, clock: clock, folder: there.path)
        defer { two.engine.close() }

        var isNoticed = false
        var isAcknowledged = false
        do {
            let one = try Device("one", server, clock: clock, folder: here.path)
            defer { one.engine.close() }
            do {
                try one.set("e", "new")
                isAcknowledged = true
                try await one.settle()
            } catch let failure as KeychainFailure {
                #expect(Self.tellsOfDamage(failure), "\(flip.description): \(failure)")
            }
            isNoticed = try !one.engine.check().isSound
        } catch let failure as KeychainFailure {
            #expect(Self.tellsOfDamage(failure), "\(flip.description): \(failure)")
            isNoticed = true
        }
        #expect(isNoticed, "\(flip.description)")
        try await two.settle()
        let values = try two.values()
        for (account, allowed) in Self.written {
            #expect(allowed.contains(values[account]), "\(flip.description): \(values)")
        }
        #expect(Set(values.keys).isSubset(of: Self.written.keys), "\(flip.description)")

        // A recovery discards the outbox. The next session finds the changes that weren't sent.
        _ = try KeychainEngine.recover(directory: here.path, options: .testing)
        let one = try Device("one", server, clock: clock, folder: here.path)
        defer { one.engine.close() }
        if !isAcknowledged { try one.set("e", "new") }
        try await converge(one, two)
        #expect(try two.values() == Self.latest, "\(flip.description)")
        #expect(try one.values() == Self.latest, "\(flip.description)")
        #expect(try await two.status().notices == [], "\(flip.description)")
    }

    private static func tellsOfDamage(_ failure: KeychainFailure) -> Bool {
        failure.cause == .damage || failure.status == .invalidKeychain
    }
}
