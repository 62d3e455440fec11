// RandomCircleTests: random operations of three machines, with outages, ends of processes and wrong
// clocks. The model has the latest acknowledged changes of each account.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSynchronization
import SynchronizationTestSupport
import TestPrograms
import Testing

@Suite struct `Random operations of a circle` {
    /// The latest acknowledged changes of each account, by modification date.
    private struct Model {
        private struct Latest {
            var modified: Double
            /// The values with this modification date. `nil` is a deletion.
            var values: Set<String?>
        }

        private var latest: [String: Latest] = [:]

        mutating func note(_ account: String, _ value: String?, _ modified: Double) {
            let before = latest[account]?.modified ?? 0
            if before < modified { latest[account] = Latest(modified: modified, values: [value]) }
            if before == modified { latest[account]?.values.insert(value) }
        }

        /// Whether a machine has the latest value of each account. If several changes have the same
        /// date, a deletion wins. Without a deletion, any of them may win.
        func allows(_ values: [String: String]) -> Bool {
            let expected = latest.filter { !$0.value.values.contains(nil) }
            return values.count == expected.count
                && values.allSatisfy { expected[$0.key]?.values.contains($0.value) ?? false }
        }
    }

    /// The modification date of an item or its tombstone.
    private func modified(_ account: String, isTombstone: Bool, on device: Device) throws -> Double
    {
        var query = Device.query(account)
        query.isTombstone = isTombstone
        let found = try device.engine.perform(FindItems(query), as: Device.caller)
        guard case .date(let date) = found.first?.attributes[.modificationDate] else {
            throw KeychainFailure.itemNotFound
        }
        return date
    }

    @Test(arguments: 1...24)
    func `after random operations all machines converge on the latest changes`(seed: Int)
        async throws
    {
        var random = SeededGenerator(seed: UInt64(seed))
        let server = MemoryStore()
        let devices = try (0..<3).map { number in
            let clock = TestClock()
            // No two clocks ever show the same time. Two machines whose clocks are behind an item's
            // date can still give the item the same date.
            clock.now += Double(number) / 10
            return try Device("machine \(number)", server, clock: clock)
        }
        try await devices[0].found()
        try await devices[0].add(devices[1])
        try await devices[0].add(devices[2])
        var model = Model()
        for step in 0..<240 {
            let device = devices[Int.random(in: 0..<3, using: &random)]
            let account = "item \(Int.random(in: 0..<6, using: &random))"
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<6:
                let value = "\(seed) \(step)"
                try device.set(account, value)
                model.note(
                    account, value, try modified(account, isTombstone: false, on: device))
            case 6..<8:
                guard (try? device.delete(account)) != nil else { continue }
                model.note(account, nil, try modified(account, isTombstone: true, on: device))
            case 8..<15: _ = try? await device.settle()
            case 15: try device.restart()
            case 16: server.setUnreachable(Bool.random(using: &random))
            case 17: server.leaveUnanswered(1)
            case 18: device.clock.now += Double(Int.random(in: 0..<100_000, using: &random))
            default: server.setUnreachable(false)
            }
        }
        server.setUnreachable(false)
        server.leaveUnanswered(0)
        try await converge(devices[0], devices[1], devices[2])
        let first = try devices[0].values()
        for device in devices {
            let values = try device.values()
            #expect(model.allows(values), "\(device.name), seed \(seed): \(values), \(model)")
            #expect(values == first)
            let status = try await device.status()
            #expect(status.notices == [])
            #expect(status.waitingCount == 0)
        }
    }
}
