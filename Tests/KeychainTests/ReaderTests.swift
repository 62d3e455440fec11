// ReaderTests: concurrent reads while a writer saves over an item.

import Foundation
import Testing

@testable import Keychain

@Suite(.timeLimit(.minutes(20))) struct ReaderTests {
    @Test(arguments: Way.allCases)
    func `no reader sees an item missing or half saved during a save`(
        way: Way
    ) async throws {
        let keychain = try TestDatabase(way).keychain()
        try await keychain.save(Self.value(0), for: .token)
        let reference = try #require(try await keychain.item(.token)).persistentReference
        let isDone = Shared(false)
        let readCount = Shared(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    repeat {
                        let value = try #require(try await keychain.load(.token))
                        #expect(value.count == 2000 && Set(value).count == 1)
                        let item = try #require(try await keychain.item(.token))
                        #expect(item.persistentReference == reference)
                        readCount.withLock { $0 += 1 }
                    } while !isDone.withLock { $0 }
                }
            }
            group.addTask {
                defer { isDone.withLock { $0 = true } }
                var number = 0
                // The saves end once there are at least 40 saves and 40 reads, or after 5000 saves.
                while number < 40 || readCount.withLock({ $0 }) < 40, number < 5000 {
                    number += 1
                    try await keychain.save(Self.value(number), for: .token)
                }
            }
            try await group.waitForAll()
        }
        #expect(readCount.withLock { $0 } >= 40)
    }

    private static func value(_ number: Int) -> String {
        String(repeating: "\(number % 10)", count: 2000)
    }
}
