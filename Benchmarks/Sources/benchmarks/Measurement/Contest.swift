// Contest: several operations measured side by side.
//   (1) Every round runs all of them, so that whatever else the machine does hits all.
//   (2) The order changes from round to round, so that none always follows the same one.
//   (3) The first round warms caches up and isn't counted.

import BenchmarkFigures

struct Contest {
    /// How often the whole set is run and counted.
    let rounds: Int
    /// How often an operation is repeated in a round.
    let repetitions: Int

    /// - Parameter operations: Each is given a number that counts up and never repeats.
    /// - Returns: For each operation its mean time in each round, in nanoseconds.
    /// - Throws: What an operation throws.
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
