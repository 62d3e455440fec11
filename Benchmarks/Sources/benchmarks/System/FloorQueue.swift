// FloorQueue: lets several threads write to a `Floor`, a database without a keychain, with group
// commit like the keychain's.
//   (1) The thread that holds the lock `turn` commits the rows of all waiting threads. When the
//       waiting threads acquire the lock, their rows are already committed.
//   (2) A batch leaves the queue before its commit. After a batch has failed, `replace` throws the
//       error of that batch for every row that isn't committed.

import Foundation
import Synchronization

/// Only the thread that holds the lock `turn` uses the floor.
final class FloorQueue: @unchecked Sendable {
    private struct Row {
        let number: Int
        let name: Data
        let secret: Data
    }

    private let floor: Floor
    private let turn = NSLock()
    private let waiting = Mutex<(rows: [Row], count: Int)>(([], 0))
    /// Rows with numbers below this are committed. Guarded by `turn`.
    private var committed = 0
    /// The error of the first batch that failed. Guarded by `turn`.
    private var failure: (any Error)?

    init(_ floor: Floor) { self.floor = floor }

    /// Changes a row, and returns after its commit.
    func replace(_ secret: Data, under name: Data) throws {
        let number = waiting.withLock { waiting in
            waiting.rows.append(Row(number: waiting.count, name: name, secret: secret))
            waiting.count += 1
            return waiting.count - 1
        }
        try turn.withLock {
            guard number >= committed else { return }
            if let failure { throw failure }
            let rows = waiting.withLock { waiting in
                defer { waiting.rows = [] }
                return waiting.rows
            }
            do {
                try floor.together {
                    for row in rows { try floor.replace(row.secret, under: row.name) }
                }
            } catch {
                failure = error
                throw error
            }
            committed = (rows.last?.number ?? number) + 1
        }
    }
}
