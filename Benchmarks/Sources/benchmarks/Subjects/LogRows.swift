// LogRows: how many pages a save writes to the log, which is what a disk has to take. They are
// counted: they are the same on every machine.

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
                // The log was begun anew meanwhile.
                if more >= 0 { counts.append(Double(more)) }
            }
            return Samples(counts)
        }

        let new = try frames { "new \($0)" }
        let over = try frames { _ in "new 0" }
        return [
            Row("log of a new item", new, .frames, [.itself(new, .logFramesOfNewItem)]),
            Row("log over an item", over, .frames, [.itself(over, .logFramesOverItem)]),
        ]
    }
}
