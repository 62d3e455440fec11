// Contest: several operations measured side by side.
//   (1) Every round runs all of them, so that whatever else the machine does hits all.
//   (2) The order changes from round to round, so that none always follows the same one.
//   (3) The first round warms caches up and isn't counted.

struct Contest {
    /// How often the whole set is run and counted.
    let rounds: Int
    /// How often an operation is repeated in a round.
    let repetitions: Int

    /// - Parameter operations: Each is given a number that counts up and never repeats.
    /// - Returns: For each operation the median over the rounds of its mean time, in nanoseconds.
    /// - Throws: What an operation throws.
    func run(_ operations: [(Int) throws -> Void]) throws -> [Double] {
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
        return times.map(median)
    }
}

/// The middle value, or the mean of the two in the middle.
func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
