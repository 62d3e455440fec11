// ScalingRows: loads and saves at every size, with all sizes in the same rounds.

import BenchmarkFigures
import Foundation
import Keychain

enum ScalingRows {
    private static let loads = Contest(rounds: 25, repetitions: 300)
    private static let saves = Contest(rounds: 15, repetitions: 15)

    static func measure(_ levels: [Level]) throws -> (rows: [Row], series: [Series]) {
        Program.note("Measuring loads and saves by number of items")
        for level in levels {
            try WorkingFolder.warm(level.directory)
            try WorkingFolder.warm(level.floor.path)
        }
        let load = try loads.run(levels.flatMap(loadOperations))
        let save = try saves.run(levels.flatMap(saveOperations))
        let change = try saves.run(levels.flatMap(changeOperations))
        // There are two operations per size: the keychain's and the floor's.
        func points(_ figures: [Samples], _ offset: Int) -> [Series.Point] {
            levels.enumerated().map { index, level in
                Series.Point(
                    itemCount: level.itemCount, nanoseconds: figures[2 * index + offset].median)
            }
        }
        let series = [
            Series(name: "save", color: "#b3261e", isDashed: false, points: points(save, 0)),
            Series(name: "save, floor", color: "#b3261e", isDashed: true, points: points(save, 1)),
            Series(name: "load", color: "#1a5fb4", isDashed: false, points: points(load, 0)),
            Series(name: "load, floor", color: "#1a5fb4", isDashed: true, points: points(load, 1)),
        ]
        let rows =
            rows("load", load, levels, growth: .loadGrowth) { _ in .load }
            + rows("save", save, levels, saveLimit) + rows("save over", change, levels, saveLimit)
        return (rows, series)
    }

    private static func saveLimit(_ level: Level) -> Limit {
        level.itemCount >= 1_000_000 ? .saveAtMillion : .save
    }

    private static func rows(
        _ name: String, _ figures: [Samples], _ levels: [Level], growth: Limit? = nil,
        _ limit: (Level) -> Limit
    ) -> [Row] {
        levels.enumerated().map { index, level in
            let figure = figures[2 * index]
            var comparisons: [Comparison] = [
                .times(figure, of: figures[2 * index + 1], "floor at this size", limit(level))
            ]
            if index > 0 {
                let first = "\(name) at \(Format.grouped(Double(levels[0].itemCount)))"
                comparisons.append(.times(figure, of: figures[0], first))
                if let growth {
                    let floorGrowth = figures[2 * index + 1] / figures[1]
                    comparisons.append(
                        .times(
                            figure, of: figures[0] * floorGrowth,
                            first + ", × the growth of the floor", growth))
                }
            }
            return Row(
                "\(name) at \(Format.grouped(Double(level.itemCount))) items", figure, .time,
                comparisons)
        }
    }

    // MARK: Operations

    private static func database(_ level: Level) -> KeychainDatabase {
        KeychainDatabase(directory: URL(fileURLWithPath: level.directory))
    }

    private static func loadOperations(_ level: Level) -> [(Int) throws -> Void] {
        let database = database(level)
        let indices = Sample.choice(of: 10_000, from: level.itemCount)
        let names = indices.map { index in
            (
                keychain: Keychain(service: Sample.service(of: index), in: database),
                key: KeychainKey<Data>(Sample.account(of: index)),
                floor: Sample.key(of: index)
            )
        }
        return [
            {
                let name = names[$0 % names.count]
                try LoadRows.load(name.keychain, name.key)
            },
            { _ = try level.floor.load(names[$0 % names.count].floor) },
        ]
    }

    private static func saveOperations(_ level: Level) -> [(Int) throws -> Void] {
        let keychain = Keychain(service: "org.example.scaling", in: database(level))
        return [
            { try keychain.save(Sample.secret(of: $0), for: KeychainKey<Data>("new-\($0)")) },
            // Names that other measurements haven't added.
            {
                try level.floor.add(
                    Sample.secret(of: $0), under: SaveRows.newName(1_000_000 + $0))
            },
        ]
    }

    /// Saves each item with its existing secret, because other measurements check it. The secret is
    /// sealed and written again.
    private static func changeOperations(_ level: Level) -> [(Int) throws -> Void] {
        let database = database(level)
        let indices = Sample.choice(of: 10_000, from: level.itemCount)
        return [
            {
                let index = indices[$0 % indices.count]
                try Keychain(service: Sample.service(of: index), in: database).save(
                    Sample.secret(of: index), for: KeychainKey<Data>(Sample.account(of: index)))
            },
            {
                let index = indices[$0 % indices.count]
                try level.floor.replace(Sample.secret(of: index), under: Sample.key(of: index))
            },
        ]
    }
}
