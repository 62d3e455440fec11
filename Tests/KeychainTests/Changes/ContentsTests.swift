// The sequence of changes to a keychain's items.

import Foundation
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainEngine
#endif

extension Keychain.Contents {
    /// The changes as text, in order.
    var summary: [String] { changes.map { "\($0.kind) \($0.account)" } }
    var accounts: [String] { items.map(\.account) }
}

@Suite(.timeLimit(.minutes(20))) struct ContentsTests {
    @Test(arguments: Way.allCases)
    func `an observed keychain first reports its items, then each change`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        try await keychain.save("1", for: KeychainKey("b"))
        try await keychain.save("1", for: KeychainKey("a"))
        var sequence = keychain.changes().makeAsyncIterator()
        let first = try #require(await sequence.next())
        #expect(first.accounts == ["a", "b"])
        #expect(first.changes.isEmpty)
        #expect(first.error == nil)
        try await keychain.save("1", for: KeychainKey("c"))
        let second = try #require(await sequence.next())
        #expect(second.summary == ["added c"])
        #expect(second.accounts == ["a", "b", "c"])
        try await keychain.save("2", for: KeychainKey("a"))
        #expect(await sequence.next()?.summary == ["updated a"])
        try await keychain.delete(.account("b"))
        let last = try #require(await sequence.next())
        #expect(last.summary == ["deleted b"])
        #expect(last.accounts == ["a", "c"])
    }

    @Test(arguments: Way.allCases)
    func `rapid changes are merged into their net result`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        for account in ["kept", "changed", "deleted", "replaced"] {
            try await keychain.save("1", for: KeychainKey(account))
        }
        var sequence = keychain.changes().makeAsyncIterator()
        #expect(await sequence.next()?.items.count == 4)
        try await keychain.save("2", for: KeychainKey("changed"))
        try await keychain.delete(.account("deleted"))
        try await keychain.delete(.account("replaced"))
        try await keychain.save("2", for: KeychainKey("replaced"))
        try await keychain.save("1", for: KeychainKey("new"))
        try await keychain.save("1", for: KeychainKey("brief"))
        try await keychain.delete(.account("brief"))
        let contents = try #require(await sequence.next())
        #expect(Set(contents.summary.prefix(2)) == ["deleted deleted", "deleted replaced"])
        #expect(
            contents.summary.dropFirst(2) == ["updated changed", "added replaced", "added new"])
        #expect(contents.accounts == ["changed", "kept", "new", "replaced"])
    }

    #if !canImport(Darwin)
    @Test func `observing a keychain reads no secret`() async throws {
        let temporary = try TemporaryEngine()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(temporary.engine))
        var sequence = keychain.changes().makeAsyncIterator()
        #expect(await sequence.next()?.items.isEmpty == true)
        for number in 0..<10 { try await keychain.save(number, for: KeychainKey("\(number)")) }
        while let contents = await sequence.next(), contents.items.count < 10 {}
        #expect(temporary.engine.openedSecretCount == 0)
    }

    @Test func `the observed list of items is kept while the keychain is locked, then updated`()
        async throws
    {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        var sequence = keychain.changes().makeAsyncIterator()
        #expect(await sequence.next()?.accounts == ["pin"])
        try test.lock()
        let locked = try #require(await sequence.next())
        #expect(locked.error?.code == .interactionNotAllowed)
        #expect(locked.accounts == ["pin"])
        #expect(locked.changes.isEmpty)
        try await keychain.save("x", for: .token)
        try test.unlock()
        let unlocked = try #require(await sequence.next())
        #expect(unlocked.error == nil)
        #expect(unlocked.summary == ["added token"])
        #expect(unlocked.accounts == ["pin", "token"])
    }

    @Test func `canceling ends the sequence and frees its resources`() async throws {
        let temporary = try TemporaryEngine()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(temporary.engine))
        let (elements, signal) = AsyncStream<Void>.makeStream()
        let consumer = Task {
            for await _ in keychain.changes() { signal.yield() }
            return Task.isCancelled
        }
        for await _ in elements { break }
        #expect(temporary.engine.isFollowed)
        consumer.cancel()
        #expect(await consumer.value)
        #expect(!temporary.engine.isFollowed)
    }
    #endif
}
