// ListRows: reading the attributes of many items at once.

import BenchmarkFigures
import Foundation
import Keychain

enum ListRows {
    private static let rounds = 11

    static func measure(_ ladder: Ladder) throws -> [Row] {
        Program.note("Measuring lists")
        guard
            let level = ladder.levels.first(where: { $0.itemCount >= 10 * Sample.itemsPerService })
        else { return [] }
        let database = KeychainDatabase(directory: URL(fileURLWithPath: level.directory))
        let keychain = Keychain(service: Sample.service(of: 0), in: database)
        let contest = Contest(rounds: rounds, repetitions: 1)
        let times = try contest.run([
            { _ in
                guard try keychain.items().count == Sample.itemsPerService else {
                    throw WrongAnswer(description: "A list has an unexpected number of items.")
                }
            }
        ])
        let rate = times[0].map { Double(Sample.itemsPerService) / $0 * 1e9 }
        let count = Format.grouped(Double(Sample.itemsPerService))
        return [
            Row(
                "list attributes of \(count) of \(Format.grouped(Double(level.itemCount)))",
                rate, .itemsPerSecond, [.itself(rate, .list)])
        ]
    }
}
