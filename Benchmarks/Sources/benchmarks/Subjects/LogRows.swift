// LogRows: the number of pages that a save writes to the write-ahead log, and thus to the disk. The
// pages are counted, so the figures are the same on every machine.

import BenchmarkFigures
import Foundation
import Keychain

enum LogRows {
    private static let saves = 41

    static func measure(_ level: Level) throws -> [Row] {
        Program.note("Counting frames of the log")
        let log = URL(fileURLWithPath: level.directory + "/keychain.db-wal")
        func count() throws -> Int { WriteAheadLog.frameCount(of: try Data(contentsOf: log)) }

        let keychain = Keychain(service: "org.example.log")
        func frames(_ name: (Int) -> String) throws -> Samples {
            var counts: [Double] = []
            while counts.count < saves {
                let key = KeychainKey<Data>(name(counts.count))
                let before = try count()
                try keychain.save(Sample.secret(of: counts.count), for: key)
                let more = try count() - before
                // A negative number means that the log was restarted in between.
                if more >= 0 { counts.append(Double(more)) }
            }
            return Samples(counts)
        }

        let new = try frames { "new \($0)" }
        let over = try frames { _ in "new 0" }
        return [
            Row(
                "log frames, save of a new item", new, .frames, [.itself(new, .logFramesOfNewItem)]),
            Row(
                "log frames, save over an item", over, .frames, [.itself(over, .logFramesOverItem)]),
        ]
    }
}
