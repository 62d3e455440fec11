// Sample: the items of a measured keychain: their names, their secrets, and which of them a
// measurement loads or changes.

import Foundation

enum Sample {
    /// The number of items with the same service. Listing one service returns this many items.
    static let itemsPerService = 10_000
    static let secretByteCount = 32

    static func service(of index: Int) -> String {
        "org.example.service-\(index / itemsPerService)"
    }

    static func account(of index: Int) -> String { "account-\(index)@example.org" }

    /// A secret that differs for every item, and is cheap to compute for a million items.
    static func secret(of index: Int) -> Data {
        var numbers = SplitMix(state: UInt64(truncatingIfNeeded: index))
        var bytes: [UInt8] = []
        while bytes.count < secretByteCount {
            let number = numbers.next()
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        return Data(bytes)
    }

    /// Sixteen bytes that stand in for an item's label in the blind index. Like labels, they are
    /// randomly distributed.
    static func key(of index: Int) -> Data {
        secret(of: index ^ 0x5EED).prefix(16)
    }

    /// `count` random indices of items to load or change, out of `size` items. They are the same
    /// in every run. An index can occur more than once.
    static func choice(of count: Int, from size: Int) -> [Int] {
        var numbers = SplitMix(state: 7)
        return (0..<count).map { _ in Int.random(in: 0..<size, using: &numbers) }
    }
}

/// The random number generator of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators".
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
