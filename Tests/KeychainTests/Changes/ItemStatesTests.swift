// The sequence of one item's states: the latest state is always reported, changes of other items
// are not, and all resources are freed at the end.

import Foundation
import KeychainCore
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainCrypto
import KeychainEngine
#endif

extension KeychainState where Value: Equatable {
    /// Whether the state is the expected value. `nil` stands for an absent item.
    func isValue(_ expected: Value?) -> Bool {
        switch self {
        case .value(let value): value == expected
        case .absent: expected == nil
        case .unavailable: false
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct ItemStatesTests {
    @Test(arguments: Way.allCases)
    func `an observed item first reports its current state, then each change`(way: Way) async throws
    {
        let keychain = try TestDatabase(way).keychain()
        var states = keychain.changes(of: .token).makeAsyncIterator()
        #expect(await states.next()?.isValue(nil) == true)
        try await keychain.save("1", for: .token)
        #expect(await states.next()?.isValue("1") == true)
        try await keychain.save("2", for: .token)
        #expect(await states.next()?.isValue("2") == true)
        try await keychain.delete(.token)
        #expect(await states.next()?.isValue(nil) == true)
        try await keychain.save("3", for: .token)
        #expect(await states.next()?.isValue("3") == true)
        // A sequence that begins now starts with the current state.
        var later = keychain.changes(of: .token).makeAsyncIterator()
        #expect(await later.next()?.isValue("3") == true)
    }

    @Test(arguments: Way.allCases)
    func `saving the same value again is reported as a change`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        try await keychain.save("1", for: .token)
        var states = keychain.changes(of: .token).makeAsyncIterator()
        #expect(await states.next()?.isValue("1") == true)
        try await keychain.save("1", for: .token)
        #expect(await states.next()?.isValue("1") == true)
    }

    @Test(arguments: Way.allCases)
    func `the last of many rapid changes is always seen`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        let consumer = Task {
            var last = -1
            for await state in keychain.changes(of: .counter) {
                guard let value = state.value else { continue }
                // Changes may be merged, but are never reported out of order.
                #expect(value > last)
                last = value
                if value == 200 { break }
            }
            return last
        }
        for number in 0...200 { try await keychain.save(number, for: .counter) }
        #expect(await consumer.value == 200)
    }

    @Test func `a slow consumer gets the latest state, not those before it`()
        async throws
    {
        let keychain = try TestDatabase(.typed).keychain()
        var states = keychain.changes(of: .counter).makeAsyncIterator()
        #expect(await states.next()?.isValue(nil) == true)
        for number in 0...50 { try await keychain.save(number, for: .counter) }
        #expect(await states.next()?.isValue(50) == true)
        try await keychain.delete(.counter)
        try await keychain.save(51, for: .counter)
        #expect(await states.next()?.isValue(51) == true)
    }

    @Test(arguments: Way.allCases)
    func `deleting an item and adding it again is reported as a change`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        try await keychain.save("1", for: .token)
        var states = keychain.changes(of: .token).makeAsyncIterator()
        #expect(await states.next()?.isValue("1") == true)
        try await keychain.delete(.token)
        try await keychain.save("1", for: .token)
        #expect(await states.next()?.isValue("1") == true)
    }

    #if !canImport(Darwin)
    @Test func `a lock is reported, and the state is reported again after the unlock`() async throws
    {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        var states = keychain.changes(of: .pin).makeAsyncIterator()
        #expect(await states.next()?.isValue("1234") == true)
        try test.database.setPasscode("passcode", allowsWeak: true)
        try await test.database.lock()
        #expect(await states.next()?.error?.code == .interactionNotAllowed)
        // The save changes another item. The observed item is still locked, which isn't reported
        // again.
        try await keychain.save("x", for: .token)
        try test.unlock()
        #expect(await states.next()?.isValue("1234") == true)
        try await test.database.lock()
        #expect(await states.next()?.error?.code == .interactionNotAllowed)
        try test.unlock()
        try await keychain.save("5678", for: .pin)
        while let state = await states.next() {
            if state.isValue("5678") { break }
            #expect(state.isValue("1234"))
        }
    }
    #endif

    #if !canImport(Darwin)
    @Test func `a locked item's state is reported when another engine removes the passcode`()
        async throws
    {
        let temporary = try TemporaryEngine()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(temporary.engine))
        try await keychain.save("1234", for: .pin)
        try temporary.engine.setPasscode(SecretBytes(copying: "passcode".utf8))
        try temporary.engine.lock()
        var states = keychain.changes(of: .pin).makeAsyncIterator()
        #expect(await states.next()?.error?.code == .interactionNotAllowed)
        let other = try KeychainEngine.open(
            directory: temporary.directory.path, options: .testing)
        defer { other.close() }
        try other.removePasscode(SecretBytes(copying: "passcode".utf8))
        #expect(await states.next()?.isValue("1234") == true)
    }
    #endif

    @Test func `with the SecItem functions an unlock is noticed without a notification`()
        async throws
    {
        let test = try TestDatabase(.secItem)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        try test.lock()
        var states = keychain.changes(of: .pin).makeAsyncIterator()
        #expect(await states.next()?.error?.code == .interactionNotAllowed)
        try test.unlock()
        #expect(await states.next()?.isValue("1234") == true)
    }

    @Test func `a value that can't be decoded is reported once, and the sequence continues`()
        async throws
    {
        let keychain = try TestDatabase(.typed).keychain()
        try await keychain.save("no number", for: KeychainKey("counter"))
        var states = keychain.changes(of: .counter).makeAsyncIterator()
        let error = try #require(await states.next()?.error)
        #expect(error.code == .decodingFailed)
        #expect(error.storedData == Data("no number".utf8))
        try await keychain.save(1, for: .counter)
        #expect(await states.next()?.isValue(1) == true)
    }

    #if !canImport(Darwin)
    @Test func `observing an item tries again to open a database that couldn't be opened`()
        async throws
    {
        let folder = DatabaseTests.Folder()
        try Data("x".utf8).write(to: folder.url)
        let database = KeychainDatabase(
            directory: folder.url.appending(path: "below"), accessGroups: ["g"])
        let keychain = Keychain(service: "s", in: database)
        var states = keychain.changes(of: .token).makeAsyncIterator()
        let error = try #require(await states.next()?.error)
        #expect(error.operation == .load)
        try FileManager.default.removeItem(at: folder.url)
        #expect(await states.next()?.isValue(nil) == true)
        try await keychain.save("1", for: .token)
        #expect(await states.next()?.isValue("1") == true)
    }
    #endif

    @Test func `observing a keychain that can't notify of changes gives an error`() async {
        let keychain = Keychain(
            service: "s", in: Way.typed.database(FailingService(status: .param)))
        var states = keychain.changes(of: .token).makeAsyncIterator()
        #expect(await states.next()?.error?.code == .unimplemented)
    }

    #if !canImport(Darwin)
    @Test func `the secret is read only when its item was changed`() async throws {
        let temporary = try TemporaryEngine()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(temporary.engine))
        try await keychain.save("1", for: .token)
        var states = keychain.changes(of: .token).makeAsyncIterator()
        #expect(await states.next()?.isValue("1") == true)
        #expect(temporary.engine.openedSecretCount == 1)
        // Changes to the other item don't cause a read of the observed item's secret.
        for number in 0..<10 { try await keychain.save(number, for: .counter) }
        try await keychain.save("2", for: .token)
        #expect(await states.next()?.isValue("2") == true)
        #expect(temporary.engine.openedSecretCount == 2)
    }
    #endif

    #if !canImport(Darwin)
    @Test func `canceling ends the sequence and frees its resources`() async throws {
        let temporary = try TemporaryEngine()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(temporary.engine))
        let (states, signal) = AsyncStream<Void>.makeStream()
        let consumer = Task {
            for await _ in keychain.changes(of: .token) { signal.yield() }
            // The loop ends when its task is canceled, and not before.
            return Task.isCancelled
        }
        for await _ in states { break }
        #expect(temporary.engine.isFollowed)
        consumer.cancel()
        #expect(await consumer.value)
        let deadline = Date(timeIntervalSinceNow: 60)
        while temporary.engine.isFollowed, Date() < deadline { await Task.yield() }
        #expect(!temporary.engine.isFollowed)
    }
    #endif

    #if !canImport(Darwin)
    @Test func `a sequence that is no longer used is freed`() async throws {
        let temporary = try TemporaryEngine()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(temporary.engine))
        for await _ in keychain.changes(of: .token) {
            #expect(temporary.engine.isFollowed)
            break
        }
        // The thread that read the last state may keep the subscription a little longer.
        let deadline = Date(timeIntervalSinceNow: 60)
        while temporary.engine.isFollowed, Date() < deadline { await Task.yield() }
        #expect(!temporary.engine.isFollowed)
    }
    #endif

    @Test func `a canceled task gets no state`() async throws {
        let keychain = try TestDatabase(.typed).keychain()
        let task = Task {
            // SAFETY: the task is used during the call only.
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            var states = keychain.changes(of: .token).makeAsyncIterator()
            return await states.next() == nil
        }
        #expect(await task.value)
    }

    @Test func `printing or dumping a state shows no value`() {
        let state = KeychainState.value("s3cr3t")
        var text = "\(state) " + String(reflecting: state)
        dump(state, to: &text)
        #expect(!text.contains("s3cr3t"))
        #expect(text.contains("value"))
    }
}
