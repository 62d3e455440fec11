// Concealment: replaces secrets in a stream of bytes with a mark.
//   (1) A secret is found regardless of how the stream is split into reads: bytes that may be the
//       beginning of a secret are held back until more bytes arrive or the stream ends.
//   (2) Secrets that overlap or touch are replaced together by one mark. So no part of a secret
//       remains when it overlaps another that was found first.
//   (3) Only the exact bytes are found: no other encoding, and nothing that was altered or broken
//       into lines.

struct Concealment {
    static let mark = Array("<concealed>".utf8)
    /// The minimum length of a secret. A shorter one would occur throughout ordinary output.
    static let shortest = 4

    private let secrets: [[UInt8]]
    /// The indexes of the secrets that begin with each byte.
    private let beginnings: [[Int]]
    private let longest: Int

    /// The bytes that are held back.
    private var kept: [UInt8] = []
    /// How many bytes at the start of ``kept`` belong to a secret that began before them.
    private var coveredCount = 0
    /// Whether the last output was a mark.
    private var isMarked = false

    /// - Parameter secrets: Secrets of at least ``shortest`` bytes each.
    init(_ secrets: some Sequence<[UInt8]>) {
        self.secrets = Array(Set(secrets))
        var beginnings = [[Int]](repeating: [], count: 256)
        for (index, secret) in self.secrets.enumerated() {
            if let first = secret.first { beginnings[Int(first)].append(index) }
        }
        self.beginnings = beginnings
        longest = self.secrets.map(\.count).max() ?? 0
    }

    /// Adds the next bytes of the stream.
    ///
    /// - Returns: The bytes to pass on.
    mutating func add(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        kept += bytes
        return pass(upTo: undecided)
    }

    /// - Returns: The bytes that were held back, with secrets replaced, to be passed on at the end
    ///   of the stream.
    mutating func finish() -> [UInt8] {
        pass(upTo: kept.count)
    }

    /// The first position at which the bytes could become a secret if more bytes follow.
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

    /// Removes the first bytes from ``kept``, and returns them with secrets replaced.
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
