// Contest: measures several operations side by side.
//   (1) Each round runs all operations, so that other activity of the machine affects all of them.
//   (2) Each round begins with the next operation, so that no operation is always the first. The
//       cyclic order stays the same, so an operation always follows the same other operation,
//       except in the rounds that it begins.
//   (3) The first round warms up caches and isn't counted.

import BenchmarkFigures

struct Contest {
    /// The number of rounds that are counted.
    let rounds: Int
    /// The number of repetitions of each operation in a round.
    let repetitions: Int

    /// - Parameter operations: The operations. Each call of an operation receives a larger number
    ///   than the previous call of that operation.
    /// - Returns: For each operation its mean time in each round, in nanoseconds.
    /// - Throws: The errors of the operations.
    func run(_ operations: [(Int) throws -> Void]) throws -> [Samples] {
        var times = [[Double]](repeating: [], count: operations.count)
        for round in 0...rounds {
            for position in operations.indices {
                let chosen = (position + round) % operations.count
                let start = Instant.now
                for repetition in 0..<repetitions {
                    try operations[chosen](round * repetitions + repetition)
                }
                let time = Instant.now.nanoseconds(since: start) / Double(repetitions)
                if round > 0 { times[chosen].append(time) }
            }
        }
        return times.map { Samples($0) }
    }
}
