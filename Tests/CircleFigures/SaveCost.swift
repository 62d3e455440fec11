// SaveCost: how much longer a save takes because of synchronization. It is measured in a program
// that was built with synchronization and whose keychain is in no circle, and in a circle. In a
// circle, each change of a synchronizable item is also added to the outbox.

#if Synchronization

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSynchronizer
import SynchronizationTestSupport

struct SaveCost {
    private static let roundCount = 20
    private static let saveCount = 500
    /// The longest time of a save in no circle, as a multiple of that without synchronization.
    static let limit = 1.05

    private let without: KeychainEngine
    private let inNoCircle: KeychainEngine
    private let inCircle: KeychainEngine

    /// - Parameters:
    ///   - folder: The folder for two new keychains. It should be in memory, where the time of a
    ///     save isn't that of a disk.
    ///   - device: A machine of a circle, whose keychain is in the same file system.
    /// - Throws: An error if a keychain can't be created.
    init(in folder: URL, _ device: Device) throws {
        func open(_ name: String, _ synchronization: (any SynchronizationAnswerer)?) throws
            -> KeychainEngine
        {
            var options = EngineOptions.testing
            options.synchronization = { synchronization }
            return try KeychainEngine.open(
                directory: folder.appending(path: name).path, options: options)
        }
        without = try open("without", nil)
        inNoCircle = try open("in no circle", Synchronizer())
        inCircle = device.engine
    }

    /// Measures saves over items that are marked for synchronization. Each round measures all three
    /// keychains, each time in another order.
    ///
    /// - Returns: Whether the limit holds. It is missed if at least three quarters of the rounds
    ///   miss it.
    /// - Throws: An error if a save fails.
    func measure() throws -> Bool {
        let engines = [without, inNoCircle, inCircle]
        var rounds: [[Double]] = []
        for round in 0...Self.roundCount {
            var times = [0.0, 0.0, 0.0]
            for place in engines.indices {
                let index = (place + round) % engines.count
                times[index] = try Self.timeOfSave(in: engines[index])
            }
            // The first round creates the items.
            if round > 0 { rounds.append(times) }
        }
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        Figures.print(
            "a save in a program without synchronization",
            String(format: "%.1f µs", median(rounds.map { $0[0] })))
        for (name, index) in [("a save in no circle", 1), ("a save in a circle", 2)] {
            let ratio = median(rounds.map { $0[index] / $0[0] })
            Figures.print(name, String(format: "× %.2f", ratio))
        }
        return rounds.count { $0[1] / $0[0] > Self.limit } * 4 < rounds.count * 3
    }

    /// The mean time of one save, in microseconds.
    private static func timeOfSave(in engine: KeychainEngine) throws -> Double {
        let start = ContinuousClock.now
        for number in 0..<saveCount {
            let account = "cost \(number % 50)"
            let data = Data("a password of that item".utf8)
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: [.service: .string("s"), .account: .string(account)],
                accessGroup: Device.group, protection: .whenUnlocked, isSynchronizable: true,
                data: data)
            let query = Device.query(account, group: Device.group)
            try engine.perform(
                PutItem(item, orChange: query, ItemChanges(data: data)), as: Device.caller)
        }
        return start.duration(to: .now) / .microseconds(saveCount)
    }
}

#endif
