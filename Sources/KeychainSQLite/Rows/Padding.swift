// Padding: hides the exact size of a sealed value. Only the padded size is revealed.
// Documentation/Formats/row-v2.md, "Padding".
//   (1) The steps are those of Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted
//       Files and Communication with PURBs", 2019): a size of n bytes reveals O(log2(log2(n)))
//       bits, at a cost of at most 12 % more bytes. All sizes below a floor become the floor.
//   (2) Each content has one padded form, and `content` accepts no other.

package import FoundationEssentials
import KeychainCore

package enum Padding {
    /// The size of the length prefix.
    private static let headByteCount = 4
    /// The smallest padded size of metadata. The metadata of a typical password has 120 to 150
    /// bytes and is padded to 128, 144 or 160 bytes.
    package static let metadataFloor = 128
    /// The smallest padded size of a secret. All secrets of up to 28 bytes have this size.
    package static let secretFloor = 32

    /// The size that a content of `count` bytes is padded to.
    static func byteCount(ofContent count: Int, floor: Int) -> Int {
        let needed = headByteCount + count
        guard needed > floor else { return floor }
        // The position of the highest bit, and how many of the bits below it are kept. Rounding up
        // clears the others.
        let exponent = Int.bitWidth - 1 - needed.leadingZeroBitCount
        let kept = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = (1 << max(0, exponent - kept)) - 1
        return (needed + mask) & ~mask
    }

    /// The content's size as `u32` ‖ the content ‖ zeros.
    package static func padded(_ content: some Collection<UInt8>, floor: Int) -> Data {
        let byteCount = byteCount(ofContent: content.count, floor: floor)
        var padded = Data(capacity: byteCount)
        padded.append(bigEndian: UInt32(truncatingIfNeeded: content.count))
        padded.append(contentsOf: content)
        padded.count = byteCount
        return padded
    }

    /// The range of the content in its padded form; `nil` for bytes that are not a valid padded
    /// form.
    package static func content(of padded: Data, floor: Int) -> Range<Int>? {
        guard let count = padded.uint32(at: 0).map({ Int($0) }),
            count <= padded.count - headByteCount,
            byteCount(ofContent: count, floor: floor) == padded.count,
            padded.isZero(from: headByteCount + count)
        else { return nil }
        return headByteCount..<headByteCount + count
    }
}
