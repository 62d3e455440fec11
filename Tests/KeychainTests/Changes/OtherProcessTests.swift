// OtherProcessTests: sequences and observable items of this process while another process makes
// changes.

#if !canImport(Darwin)

import Testing

@testable import Keychain

extension ContentsTests {
    @Test func `a keychain reports another process's changes, but no changes to another service`()
        async throws
    {
        let test = try TestDatabase(.typed)
        let other = try OtherProcess(test)
        var sequence = test.keychain().changes().makeAsyncIterator()
        #expect(await sequence.next()?.items.isEmpty == true)
        try await test.keychain("another.service").save("1", for: .token)
        try other.save("1", for: "token")
        #expect(await sequence.next()?.summary == ["added token"])
        try other.save("2", for: "token")
        #expect(await sequence.next()?.summary == ["updated token"])
        try other.delete("token")
        #expect(await sequence.next()?.summary == ["deleted token"])
    }
}

extension ItemStatesTests {
    @Test func `another process's changes to an item are reported`() async throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        let other = try OtherProcess(test)
        var states = keychain.changes(of: .token).makeAsyncIterator()
        #expect(await states.next()?.isValue(nil) == true)
        for number in 0..<10 {
            try other.save("\(number)", for: "token")
            #expect(await states.next()?.isValue("\(number)") == true)
        }
        try other.delete("token")
        #expect(await states.next()?.isValue(nil) == true)
    }

    @Test func `the last of many rapid changes by another process is seen`() async throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        let other = try OtherProcess(test)
        let (begun, signal) = AsyncStream<Void>.makeStream()
        let consumer = Task {
            for await state in keychain.changes(of: .token) {
                signal.yield()
                if state.value == "100" { return true }
            }
            return false
        }
        for await _ in begun { break }
        for number in 0...100 { try other.save("\(number)", for: "token") }
        #expect(await consumer.value)
    }
}

extension ObservableSecretTests {
    @Test func `an observable item follows the changes of another process`() async throws {
        let test = try TestDatabase(.typed)
        let other = try OtherProcess(test)
        let item = ObservableSecret(.token, in: test.keychain())
        await item.ready()
        try other.save("1", for: "token")
        await until { item.value == "1" }
        try other.delete("token")
        await until { item.state?.isValue(nil) == true }
    }
}

#endif
