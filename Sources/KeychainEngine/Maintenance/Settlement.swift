// Settlement: which of the rows that a recovery found are items, decided by an authentic header.
//   (1) A header's digest is a sum over all items, so it tells which rows make it up.
//   (2) Where no header's digest comes out, a whole row that no cell leads to counts as an item
//       only if all that was found is needed to reach the header's count.

import KeychainCrypto
import KeychainStore

struct Settlement {
    /// Whether the copied rows, the chosen ones and a damaged one make up a header's digest.
    private(set) var isVerified = false
    /// By the header that decided, or the newest; nil where there is none.
    private(set) var expectedCount: Int?
    /// Those of the doubtful rows that are items, by index.
    private(set) var items: [Int] = []
    /// Those of which nothing is known. The others were deleted.
    private(set) var undecided: [Int] = []
    /// Those of the damaged rows that are items or may be.
    private(set) var damaged: [Int] = []

    /// One of a transaction that did not end may be ahead of the last commit.
    private static let examinedHeaderCount = 3
    /// Bounds of the search, which takes time with their product.
    private static let longestSearch = (doubtful: 200, damaged: 16)

    /// - Parameters:
    ///   - headers: Authentic ones, the newest first.
    ///   - last: The generation of the last acknowledged commit, where it is known.
    ///   - copied: How many rows are items beyond doubt, and the sum of their contributions.
    ///   - doubtful: The contributions of whole rows that may be items.
    ///   - damaged: The contributions of damaged rows, as far as their bytes still tell.
    init(
        headers: [StoreHeader], last: UInt64?, copied: (count: Int, digest: StoreDigest),
        doubtful: [StoreDigest], damaged: [StoreDigest]
    ) {
        let sums = Sums(of: doubtful, first: Self.longestSearch.doubtful)
        // An older header vouches for items that were changed or deleted since.
        let headers = headers.filter { $0.generation >= last ?? 0 }
        for header in headers.prefix(Self.examinedHeaderCount) {
            let missing = header.digest - copied.digest
            for lost in [nil] + damaged.indices.prefix(Self.longestSearch.damaged).map({ $0 }) {
                let rest = lost.map { missing - damaged[$0] } ?? missing
                guard let items = sums.indexes(for: rest) else { continue }
                isVerified = true
                expectedCount = Int(clamping: header.itemCount)
                self.items = items
                self.damaged = lost.map { [$0] } ?? []
                return
            }
        }
        expectedCount = headers.first.map { Int(clamping: $0.itemCount) }
        self.damaged = Array(damaged.indices)
        if expectedCount == copied.count + damaged.count + doubtful.count {
            items = Array(doubtful.indices)
        } else {
            undecided = Array(doubtful.indices)
        }
    }
}

/// Sums of up to four of some contributions, or of all but up to four.
private struct Sums {
    private let count: Int
    private let total: StoreDigest
    /// Sums of none, one or two; two of those make up to four.
    private var ofTwo: [StoreDigest: [Int]] = [.zero: []]

    init(of contributions: [StoreDigest], first limit: Int) {
        count = contributions.count
        total = contributions.reduce(.zero, +)
        for (index, first) in contributions.prefix(limit).enumerated() {
            ofTwo[first] = [index]
            for other in contributions.indices.prefix(limit).dropFirst(index + 1) {
                ofTwo[first + contributions[other]] = [index, other]
            }
        }
    }

    /// The contributions that make up a sum; nil where none do.
    func indexes(for sum: StoreDigest) -> [Int]? {
        if let few = fewIndexes(for: sum) { return few }
        guard let leftOut = fewIndexes(for: total - sum) else { return nil }
        return (0..<count).filter { !leftOut.contains($0) }
    }

    private func fewIndexes(for sum: StoreDigest) -> [Int]? {
        for (part, indexes) in ofTwo {
            guard let others = ofTwo[sum - part], Set(others).isDisjoint(with: indexes) else {
                continue
            }
            return (indexes + others).sorted()
        }
        return nil
    }
}
