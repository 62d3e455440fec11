// The sizes that a row reveals.

import Foundation
import KeychainCore
import KeychainCrypto
import Testing

@testable import KeychainSQLite

@Suite struct PaddingTests {
    @Test func `there are few padded sizes, and all but the smallest add at most 12 percent`() {
        // The padded size (see `Padding`) for each content size. A padded size includes the 4-byte
        // length prefix.
        let expected = [
            0: 32, 28: 32, 29: 36, 60: 64, 61: 72, 100: 104, 124: 128, 125: 144, 252: 256, 253: 272,
            1000: 1024, 1021: 1088, 4096: 4352, 1_000_000: 1_015_808,
        ]
        for (count, padded) in expected {
            #expect(Padding.byteCount(ofContent: count, floor: 32) == padded, "\(count)")
        }
        var last = 0
        var steps = 0
        for count in 0...100_000 {
            let padded = Padding.byteCount(ofContent: count, floor: 32)
            #expect(padded >= count + 4 && padded >= last)
            if count + 4 > 32 { #expect(Double(padded) <= Double(count + 4) * 1.12) }
            if padded != last { steps += 1 }
            last = padded
        }
        #expect(steps < 200)
        #expect(Padding.byteCount(ofContent: 3, floor: 256) == 256)
    }

    @Test(arguments: [0, 1, 27, 28, 29, 300])
    func `each content has exactly one padded form`(count: Int) {
        let content = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 + 1) })
        let padded = Padding.padded(content, floor: 32)
        #expect(Padding.content(of: padded, floor: 32).map { padded[$0] } == content)
        #expect(Padding.content(of: padded + [0], floor: 32) == nil)
        #expect(Padding.content(of: padded.dropLast(), floor: 32) == nil)
        for index in padded.indices where index < 4 || index >= 4 + count {
            var altered = padded
            altered[index] ^= 1
            let other = Padding.content(of: altered, floor: 32)
            // If the length's last bit changes, the result may be the padded form of other content:
            // the same content and one more byte, which is zero.
            #expect(other == nil || index == 3 && other?.count == count ^ 1)
            #expect(other.map { altered[$0] } != content)
        }
        #expect(Padding.content(of: Data(), floor: 32) == nil)
        #expect(Padding.content(of: Data(repeating: 255, count: 64), floor: 32) == nil)
    }

    @Test func `short secrets have one padded size, and usual attributes have three`() {
        let keys = ClassKeys(
            classKey: .random(byteCount: 32), metadataKey: .random(byteCount: 32))
        var sizes: Set<[Int]> = []
        for length in 0...28 {
            let record = ItemRecord(
                itemClass: .genericPassword,
                attributes: [
                    .service: .string(String(repeating: "s", count: length)),
                    .account: .string("account"), .creationDate: .date(1),
                ], accessGroup: "group", isSynchronizable: false, isTombstone: false,
                secretTag: [UInt8](repeating: 1, count: 16))
            let binding = RowBinding(
                keychainID: [UInt8](repeating: 1, count: 16), reference: .random(), protection: 6,
                labels: RowLabels(record, index: BlindIndex(key: .random(byteCount: 32))))
            let secret = RowSealing.seal(
                secret: Data(count: length), itemClass: .genericPassword, constraints: [],
                for: binding, keys: keys)
            let row = SealedRow(binding, record, keys: keys, secret: secret.bytes)
            sizes.insert([row.metadata.count, row.secret?.count ?? 0])
        }
        #expect(Set(sizes.map { $0[0] - 8 - 28 }) == [128, 144, 160])
        #expect(Set(sizes.map { $0[1] }) == [12 + 68 + 28 + 32])
    }
}
