// FloorQueue: the floor for several threads, whose rows share commits as the keychain's do.
//   (1) Who has the turn commits for all that wait; the others find their rows committed when it is
//       theirs.

import Foundation
import Synchronization

/// The floor is used by the thread that has the lock `turn` alone.
final class FloorQueue: @unchecked Sendable {
    private struct Row {
        let number: Int
        let name: Data
        let secret: Data
    }

    private let floor: Floor
    private let turn = NSLock()
    private let waiting = Mutex<(rows: [Row], count: Int)>(([], 0))
    /// The numbers of rows below this one are committed; guarded by `turn`.
    private var committed = 0

    init(_ floor: Floor) { self.floor = floor }

    /// Returns after the commit that the changed row is in.
    func replace(_ secret: Data, under name: Data) throws {
        let number = waiting.withLock { waiting in
            waiting.rows.append(Row(number: waiting.count, name: name, secret: secret))
            waiting.count += 1
            return waiting.count - 1
        }
        try turn.withLock {
            guard number >= committed else { return }
            let rows = waiting.withLock { waiting in
                defer { waiting.rows = [] }
                return waiting.rows
            }
            try floor.together {
                for row in rows { try floor.replace(row.secret, under: row.name) }
            }
            committed = (rows.last?.number ?? number) + 1
        }
    }
}
