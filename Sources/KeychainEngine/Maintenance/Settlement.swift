// Settlement: which of the rows that a recovery found are items, decided by an authentic header.
//   (1) A header's digest is a sum over all items, so it tells whether a set of rows is all of them.
//   (2) One set is tried, or two: what cells lead to, without the damaged rows and with them, and
//       as many of the other rows, in the order in which they were found, as the count still lacks.

import KeychainCrypto
import KeychainSQLite

struct Settlement {
    /// Whether the rows make up the header's digest and its count.
    let isVerified: Bool
    /// How many rows, from the first on, that no cell leads to are items.
    let strayCount: Int
    /// Whether the damaged rows are items. Where nothing is verified they may be.
    let areDamagedItems: Bool

    /// - Parameters:
    ///   - header: The one of the last commit; nil where none is found, or only an older one.
    ///   - copied: How many whole rows cells lead to, and the sum of their contributions.
    ///   - stray: The contributions of whole rows that no cell leads to.
    ///   - damaged: The contributions of damaged rows that cells lead to, as far as their bytes
    ///     still tell.
    init(
        _ header: StoreHeader?, copied: (count: Int, digest: StoreDigest), stray: [StoreDigest],
        damaged: [StoreDigest]
    ) {
        for lost in damaged.isEmpty ? [[]] : [[], damaged] {
            guard let header else { break }
            let missing = Int(clamping: header.itemCount) - copied.count - lost.count
            guard stray.indices.contains(missing) || missing == stray.count else { continue }
            guard (stray.prefix(missing) + lost).reduce(copied.digest, +) == header.digest else {
                continue
            }
            (isVerified, strayCount, areDamagedItems) = (true, missing, !lost.isEmpty)
            return
        }
        (isVerified, strayCount, areDamagedItems) = (false, 0, true)
    }
}
