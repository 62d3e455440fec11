// Changes that depend on the current value, with and without concurrent callers.

import Foundation
import Synchronization
import Testing

@testable import Keychain

@Suite struct ExchangeTests {
    @Test(arguments: Way.allCases)
    func `a value that equals the expected value is exchanged`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("old", for: .token)
        let result = try keychain.compareExchange(expected: "old", desired: "new", for: .token)
        #expect(result.exchanged)
        #expect(result.original == "old")
        #expect(try keychain.load(.token) == "new")
    }

    @Test(arguments: Way.allCases)
    func `a value that differs from the expected value isn't exchanged`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("old", for: .token)
        let before = try keychain.item(.token)
        for expected in ["other", nil] {
            let result = try keychain.compareExchange(
                expected: expected, desired: "new", for: .token)
            #expect(!result.exchanged)
            #expect(result.original == "old")
        }
        #expect(try keychain.load(.token) == "old")
        #expect(try keychain.item(.token) == before)
    }

    @Test(arguments: Way.allCases)
    func `absence can be the expected or the new state`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        #expect(
            try !keychain.compareExchange(expected: "x", desired: "y", for: .token).exchanged)
        #expect(try !keychain.exists(.token))
        #expect(try keychain.compareExchange(expected: nil, desired: nil, for: .token).exchanged)
        #expect(try !keychain.exists(.token))
        #expect(try keychain.compareExchange(expected: nil, desired: "x", for: .token).exchanged)
        #expect(try keychain.load(.token) == "x")
        #expect(try keychain.compareExchange(expected: "x", desired: nil, for: .token).exchanged)
        #expect(try !keychain.exists(.token))
    }

    @Test(arguments: Way.allCases)
    func `an update keeps the item and returns the closure's result`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let first = try keychain.update(.counter) { count -> String in
            #expect(count == nil)
            count = 1
            return "first"
        }
        let before = try #require(try keychain.item(.counter))
        try keychain.update(.counter) { $0 = ($0 ?? 0) + 1 }
        let after = try #require(try keychain.item(.counter))
        #expect(first == "first")
        #expect(try keychain.load(.counter) == 2)
        #expect(after.persistentReference == before.persistentReference)
        #expect(after.creationDate == before.creationDate)
    }

    @Test(arguments: Way.allCases)
    func `an update that changes nothing writes nothing`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("x", for: .token)
        let before = try keychain.item(.token)
        try keychain.update(.token) { _ in }
        try keychain.update(.token) { $0 = "x" }
        #expect(try keychain.item(.token) == before)
    }

    @Test(arguments: Way.allCases)
    func `a closure that throws changes nothing`(way: Way) throws {
        struct Stop: Error {}
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("x", for: .token)
        #expect(throws: Stop.self) {
            try keychain.update(.token) { value in
                value = "y"
                throw Stop()
            }
        }
        #expect(try keychain.load(.token) == "x")
    }

    @Test(arguments: Way.allCases)
    func `if another caller changes the item meanwhile, the closure runs again`(way: Way)
        throws
    {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save(10, for: .counter)
        var seen: [Int?] = []
        try keychain.update(.counter) { count in
            seen.append(count)
            // The other caller makes a change, then a deletion, then an addition.
            switch seen.count {
            case 1: try keychain.save(20, for: .counter)
            case 2: try keychain.delete(.counter)
            case 3: try keychain.save(30, for: .counter)
            default: break
            }
            count = (count ?? 0) + 1
        }
        #expect(seen == [10, 20, nil, 30])
        #expect(try keychain.load(.counter) == 31)
    }

    @Test(arguments: Way.allCases)
    func `a deletion that expects an outdated value doesn't happen`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("old", for: .token)
        var attempts = 0
        try keychain.update(.token) { value in
            attempts += 1
            if attempts == 1 {
                try keychain.save("new", for: .token)
                value = nil
            }
        }
        #expect(attempts == 2)
        #expect(try keychain.load(.token) == "new")
    }

    @Test(arguments: Way.allCases)
    func `no increment of many concurrent tasks is lost`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    for _ in 0..<10 {
                        try await keychain.update(.counter) { $0 = ($0 ?? 0) + 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await keychain.load(.counter) == 200)
    }

    @Test(arguments: Way.allCases)
    func `many tasks that create a value at the same time all get the same value`(way: Way)
        async throws
    {
        let keychain = try TestDatabase(way).keychain()
        let values = try await withThrowingTaskGroup(of: UUID.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await keychain.load(KeychainKey<UUID>("id"), orAdd: { UUID() })
                }
            }
            return try await group.reduce(into: Set<UUID>()) { $0.insert($1) }
        }
        #expect(values.count == 1)
        #expect(try await keychain.load(KeychainKey<UUID>("id")) == values.first)
    }
}
