// RecordHeader: the header of a record (file format, 2.1), where it is that of a row of `items` or
// of `set_aside`.
//
// A header is its own byte count as a varint, then one serial type a column:
//   0 NULL; 1...6 integers of 1, 2, 3, 4, 6, 8 bytes; 7 a float; 8, 9 the numbers 0 and 1;
//   N >= 12 even: a blob of (N-12)/2 bytes; N >= 13 odd: a text of (N-13)/2 bytes.

import FoundationEssentials
import KeychainCrypto
import KeychainCore

struct RecordHeader {
    /// Bytes of the header.
    private let byteCount: Int
    /// The types of the columns in front of uuid: id; in `set_aside` also at and reason.
    private let leading: [UInt64]
    private let protection: UInt64
    private let metaByteCount: Int
    private let termsByteCount: Int
    /// Nil for NULL.
    private let secretByteCount: Int?
    /// Where uuid stands, from the start of the payload.
    let uuidOffset: Int
    /// The bytes of header and columns together.
    let payloadByteCount: Int

    private static let rowColumnCount = 9
    private static let label: UInt64 = 44
    /// The largest column that is believed: above any limit of the store, below any overflow.
    private static let mostColumnByteCount: UInt64 = 1 << 30

    /// The header at `start`, nil if there is none of this shape.
    init?(_ page: FormatBytes, at start: Int) {
        let limit = BTreeFormat.usableByteCount
        guard let size = page.varint(at: start, limit: limit),
            size.value >= UInt64(1 + Self.rowColumnCount), size.value <= 64
        else { return nil }
        let end = start + Int(size.value)
        var types: [UInt64] = []
        var position = size.end
        while position < end {
            guard let type = page.varint(at: position, limit: min(end, limit)) else { return nil }
            types.append(type.value)
            position = type.end
        }
        let count = types.count - Self.rowColumnCount
        guard count == 1 || count == 3, types[0] == 0, count == 1 || types[2] % 2 == 1 else {
            return nil
        }
        leading = Array(types[..<count])
        let row = Array(types[count...])
        guard row[0] == Self.label, [1, 2, 8, 9].contains(row[1]),
            row[2...5].allSatisfy({ $0 == Self.label }),
            let meta = Self.blobByteCount(row[6]), let terms = Self.blobByteCount(row[7]),
            terms % 16 == 0, let secret = row[8] == 0 ? 0 : Self.blobByteCount(row[8])
        else { return nil }
        protection = row[1]
        metaByteCount = meta
        termsByteCount = terms
        secretByteCount = row[8] == 0 ? nil : secret
        byteCount = end - start
        uuidOffset = byteCount + leading.reduce(0) { $0 + Self.byteCount($1) }
        payloadByteCount = uuidOffset + 5 * 16 + Self.byteCount(protection) + meta + terms + secret
    }

    // MARK: Columns

    /// The row in a payload of this header, which may lack the end of the secret.
    /// - Returns: nil for one that can't be a row.
    func row(in payload: [UInt8], rowid: Int64?) -> SalvagedRow? {
        var rest = payload.dropFirst(uuidOffset)
        func take(_ count: Int) -> [UInt8]? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard let reference = take(16).flatMap({ ItemReference(bytes: $0) }),
            let protectionBytes = take(Self.byteCount(protection)),
            case let protection = UInt8(
                truncatingIfNeeded: Self.integer(protection, protectionBytes)),
            let group = take(16).flatMap({ Label($0) }),
            let first = take(16).flatMap({ Label($0) }),
            let second = take(16).flatMap({ Label($0) }),
            let others = take(16).flatMap({ Label($0) }),
            let metadata = take(metaByteCount), let termBytes = take(termsByteCount)
        else { return nil }
        let terms = stride(from: 0, to: termBytes.count, by: 16).compactMap {
            Label(termBytes[$0..<$0 + 16])
        }
        let secret = secretByteCount.map { Data(rest.prefix($0)) }
        let row = SealedRow(
            id: rowid ?? 0, reference: reference, protection: protection,
            labels: RowLabels(
                group: group, first: first, second: second, rest: others, terms: terms),
            metadata: Data(metadata), secret: secret)
        return SalvagedRow(row: row, aside: leading.count == 1 ? nil : aside(payload))
    }

    /// When and why the row was set aside.
    private func aside(_ payload: [UInt8]) -> SalvagedRow.Aside {
        let start = byteCount + Self.byteCount(leading[0])
        let middle = start + Self.byteCount(leading[1])
        let bits = Self.integer(leading[1], Array(payload[start..<middle]))
        return SalvagedRow.Aside(
            // SQLite stores a whole number as an integer.
            moment: leading[1] == 7 ? Double(bitPattern: UInt64(bitPattern: bits)) : Double(bits),
            reason: String(decoding: payload[middle..<uuidOffset], as: UTF8.self))
    }

    private static func integer(_ type: UInt64, _ bytes: [UInt8]) -> Int64 {
        if type == 9 { return 1 }
        let sign: Int64 = (bytes.first ?? 0) < 0x80 ? 0 : -1
        return bytes.reduce(sign) { $0 << 8 | Int64($1) }
    }

    // MARK: Types

    private static func blobByteCount(_ type: UInt64) -> Int? {
        type >= 12 && type % 2 == 0 && (type - 12) / 2 <= mostColumnByteCount
            ? byteCount(type) : nil
    }

    private static func byteCount(_ type: UInt64) -> Int {
        switch type {
        case 0, 8...11: 0
        case 1...4: Int(type)
        case 5: 6
        case 6, 7: 8
        default: Int(min((type - 12) / 2, mostColumnByteCount))
        }
    }
}
