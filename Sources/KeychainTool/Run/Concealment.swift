// Concealment: a stream of bytes with a mark in the place of secrets.
//   (1) A secret is found however the stream is cut into reads: what may be its beginning is kept
//       back until more has come, or the stream ends.
//   (2) Where secrets overlap or touch, all of it is one mark: no part of one is left because another
//       was found first.
//   (3) Only the exact bytes are found: no other encoding, and nothing that was changed or broken
//       into lines.

struct Concealment {
    static let mark = Array("<concealed>".utf8)
    /// A secret of fewer bytes would be found in ordinary output everywhere.
    static let shortest = 4

    private let secrets: [[UInt8]]
    /// The secrets that begin with a byte.
    private let beginnings: [[Int]]
    private let longest: Int

    /// What is kept back.
    private var kept: [UInt8] = []
    /// How many bytes of ``kept``, from its start, belong to a secret that began before it.
    private var coveredCount = 0
    /// Whether a mark is the last that was passed on.
    private var isMarked = false

    /// - Parameter secrets: Each of ``shortest`` bytes or more.
    init(_ secrets: some Sequence<[UInt8]>) {
        self.secrets = Array(Set(secrets))
        var beginnings = [[Int]](repeating: [], count: 256)
        for (index, secret) in self.secrets.enumerated() {
            if let first = secret.first { beginnings[Int(first)].append(index) }
        }
        self.beginnings = beginnings
        longest = self.secrets.map(\.count).max() ?? 0
    }

    /// Takes the next bytes of the stream.
    ///
    /// - Returns: What can be passed on.
    mutating func add(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        kept += bytes
        return pass(upTo: undecided)
    }

    /// - Returns: What was kept back, at the end of the stream.
    mutating func finish() -> [UInt8] {
        pass(upTo: kept.count)
    }

    /// From where on more bytes could make a secret of what is there.
    private var undecided: Int {
        let first = max(0, kept.count - longest + 1)
        guard first < kept.count else { return kept.count }
        return (first..<kept.count).first { start in
            let rest = kept[start...]
            return beginnings[Int(kept[start])].contains {
                rest.count < secrets[$0].count && secrets[$0].starts(with: rest)
            }
        } ?? kept.count
    }

    /// Takes the first bytes out of what is kept.
    private mutating func pass(upTo end: Int) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(end)
        for start in 0..<end {
            for secret in beginnings[Int(kept[start])] {
                let after = start + secrets[secret].count
                guard after <= kept.count,
                    kept[start..<after].elementsEqual(secrets[secret])
                else { continue }
                if !isMarked { result += Self.mark }
                isMarked = true
                coveredCount = max(coveredCount, after)
            }
            guard start >= coveredCount else { continue }
            result.append(kept[start])
            isMarked = false
        }
        kept.removeFirst(end)
        coveredCount = max(0, coveredCount - end)
        return result
    }
}
