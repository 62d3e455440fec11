// Observable items and property wrappers agree with the keychain and with each other.

import Foundation
import Observation
import Synchronization
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainEngine
#endif

/// Waits until a condition on observable properties holds.
@MainActor func until(_ condition: @MainActor () -> Bool) async {
    while true {
        let (changes, signal) = AsyncStream<Void>.makeStream()
        // Observation begins while the condition is evaluated, so no change is missed.
        if withObservationTracking(condition, onChange: { signal.yield() }) { return }
        for await _ in changes { break }
    }
}

@MainActor @Suite(.timeLimit(.minutes(20))) struct ObservableSecretTests {
    @Test(arguments: Way.allCases)
    func `an observable item follows the changes of its secret`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        let item = ObservableSecret(.token, in: keychain)
        #expect(item.state == nil)
        #expect(await item.ready().isValue(nil))
        try await keychain.save("1", for: .token)
        await until { item.value == "1" }
        try await keychain.delete(.token)
        await until { item.state?.isValue(nil) == true }
    }

    @Test(arguments: Way.allCases)
    func `a save through one observable item is at once visible in others`(way: Way) async throws {
        let test = try TestDatabase(way)
        let one = ObservableSecret(.token, in: test.keychain())
        let other = ObservableSecret(.token, in: test.keychain(accessibility: .whenUnlocked))
        let elsewhere = ObservableSecret(.token, in: test.keychain("another.service"))
        one.assign("1")
        #expect(one.value == "1")
        #expect(other.value == "1")
        #expect(elsewhere.value == nil)
        try await other.save("2")
        #expect(one.value == "2")
        #expect(try await test.keychain().load(.token) == "2")
        #expect(try await one.delete())
        #expect(other.state?.isValue(nil) == true)
        #expect(try await test.keychain().load(.token) == nil)
        #expect(try await !other.delete())
    }

    @Test(arguments: Way.allCases)
    func `a deletion right after a save through an observable item is noticed`(
        way: Way
    ) async throws {
        let keychain = try TestDatabase(way).keychain()
        let item = ObservableSecret(.token, in: keychain)
        #expect(await item.ready().isValue(nil))
        item.assign("1")
        // The handler is called at the end of the save, before the item can be read again: the
        // reader has seen no item, and will see none again.
        withObservationTracking {
            _ = item.isSaving
        } onChange: {
            #expect(throws: Never.self) { try keychain.delete(.token) }
        }
        await until { item.state?.isValue(nil) == true }
    }

    @Test func `observable items with one key and different types share the secret`() async throws {
        let keychain = try TestDatabase(.typed).keychain()
        let text = ObservableSecret(KeychainKey<String>("n"), in: keychain)
        let number = ObservableSecret(KeychainKey<Int>("n"), in: keychain)
        try await text.save("41")
        #expect(number.value == 41)
        try await text.save("no number")
        #expect(number.value == nil)
        #expect(number.error?.code == .decodingFailed)
        #expect(text.error == nil)
        try await number.save(42)
        #expect(text.value == "42")
        #expect(number.error == nil)
    }

    @Test func `assignments are written in order, and the last value remains`() async throws {
        let keychain = try TestDatabase(.typed).keychain()
        let item = ObservableSecret(.counter, in: keychain)
        for number in 0...500 { item.assign(number) }
        #expect(item.value == 500)
        #expect(item.isSaving)
        await until { !item.isSaving }
        #expect(item.value == 500)
        #expect(try await keychain.load(.counter) == 500)
        item.assign(nil)
        #expect(item.value == nil)
        await until { !item.isSaving }
        #expect(try await keychain.load(.counter) == nil)
    }

    @Test func `an assigned value is written even if the object is no longer used`()
        async throws
    {
        let keychain = try TestDatabase(.typed).keychain()
        ObservableSecret(.token, in: keychain).assign("1")
        for await state in keychain.changes(of: .token) where state.value == "1" { break }
        #expect(try await keychain.load(.token) == "1")
    }

    @Test func `a failed save keeps the previous value and shows the error`() async throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain(synchronizable: true)
        let one = ObservableSecret(.token, in: keychain)
        let other = ObservableSecret(
            KeychainKey<String>("token", accessibility: .whenUnlockedThisDeviceOnly), in: keychain)
        try await one.save("1")
        await #expect(throws: KeychainError.self) { try await other.save("2") }
        #expect(one.value == "1")
        #expect(one.error?.code == .param)
        try await one.save("3")
        #expect(other.value == "3")
        #expect(other.error == nil)
    }

    @Test func `an assignment that the keychain refuses is undone`() async throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        let token = ObservableSecret(.token, in: keychain)
        let other = ObservableSecret(.token, in: keychain)
        try await token.save("1")
        // This accessibility requires a passcode, and no passcode is set.
        let strict = ObservableSecret(
            KeychainKey<String>("token", accessibility: .whenPasscodeSetThisDeviceOnly),
            in: keychain)
        strict.assign("2")
        #expect(other.value == "2")
        await until { !strict.isSaving }
        for item in [token, other, strict] {
            #expect(item.value == "1")
            #expect(item.error?.code == .authFailed)
        }
        #expect(try await keychain.load(.token) == "1")
    }

    @Test
    func `an observable item shows the stored value if a save before the first read is refused`()
        async throws
    {
        let keychain = try TestDatabase(.typed).keychain()
        try await keychain.save("1", for: .token)
        let strict = ObservableSecret(
            KeychainKey<String>("token", accessibility: .whenPasscodeSetThisDeviceOnly),
            in: keychain)
        await #expect(throws: KeychainError.self) { try await strict.save("2") }
        #expect(await strict.ready().isValue("1"))
    }

    @Test func `a locked item is unavailable and returns after the unlock`() async throws {
        let test = try TestDatabase(.typed)
        let item = ObservableSecret(.pin, in: test.keychain())
        try await item.save("1234")
        try test.lock()
        await until { item.error?.code == .interactionNotAllowed }
        #expect(item.value == nil)
        try test.unlock()
        await until { item.value == "1234" }
        #expect(item.error == nil)
    }

    /// A value whose release can be observed.
    private final class Canary: Sendable {
        let text: String

        init(_ text: String) { self.text = text }
    }

    @Test func `an observable item releases the previous value after a save`() async throws {
        let key = KeychainKey<Canary>(
            "canary", encode: { Data($0.text.utf8) },
            decode: { Canary(String(decoding: $0, as: UTF8.self)) })
        let item = ObservableSecret(key, in: try TestDatabase(.typedInMemory).keychain())
        try await item.save(Canary("1"))
        weak let first = item.value
        #expect(first?.text == "1")
        try await item.save(Canary("2"))
        // No code has read the new value yet.
        #expect(first == nil)
        #expect(item.value?.text == "2")
    }

    #if !canImport(Darwin)
    @Test func `an observable item that is no longer used stops observing`() async throws {
        let temporary = try TemporaryEngine()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(temporary.engine))
        var item: ObservableSecret<String>? = ObservableSecret(.token, in: keychain)
        await item?.ready()
        #expect(temporary.engine.isFollowed)
        item = nil
        let deadline = Date(timeIntervalSinceNow: 60)
        while temporary.engine.isFollowed, Date() < deadline { await Task.yield() }
        #expect(!temporary.engine.isFollowed)
    }

    @Test func `database objects with the same folder and access groups count as one database`()
        async throws
    {
        let folder = DatabaseTests.Folder()
        func item(_ groups: [String]) -> ObservableSecret<String> {
            ObservableSecret(
                .token,
                in: Keychain(
                    service: "s",
                    in: KeychainDatabase(directory: folder.url, accessGroups: groups)))
        }
        let items = [item(["g"]), item(["g"]), item(["h"])]
        try await items[0].save("1")
        #expect(items[1].value == "1")
        #expect(await items[2].ready().isValue(nil))
    }
    #endif

    // MARK: Properties

    @MainActor private final class Session {
        @KeychainStored<String> var token: String?

        init(_ keychain: Keychain) {
            _token = KeychainStored(.token, in: keychain)
        }
    }

    @Test func `two properties with the same key show the same value`() async throws {
        let keychain = try TestDatabase(.typed).keychain()
        let one = Session(keychain)
        let other = Session(keychain)
        one.token = "1"
        #expect(other.token == "1")
        try await other.$token.save("2")
        #expect(one.token == "2")
        one.token = nil
        #expect(other.token == nil)
        await until { !other.$token.isSaving }
        #expect(try await keychain.load(.token) == nil)
        try await keychain.save("3", for: .token)
        await until { one.token == "3" && other.token == "3" }
    }
}
