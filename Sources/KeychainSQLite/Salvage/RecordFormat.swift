// RecordFormat: the parts of SQLite's file format that salvage reads: numbers, the fixed sizes of
// this store's files, the headers of records (file format, 2.1) of `items` and `set_aside`, and the
// magics of blobs.
//   (1) Numbers are big-endian (file format, 1.3 and 4.1). Reading beyond the available bytes
//       returns `nil`. Nothing here traps.
//   (2) Sizes are constants and not read from the file, so that a flipped byte in a header doesn't
//       cost the whole file. Local and overflow sizes: file format, 1.6, "Cell payload overflow
//       pages".
//   (3) A record's header is its own byte count as a varint, then one serial type per column: 0
//       NULL; 1...6 integers of 1, 2, 3, 4, 6, 8 bytes; 7 a float; 8, 9 the numbers 0 and 1; N >=
//       12 even: a blob of (N-12)/2 bytes; N >= 13 odd: a text of (N-13)/2 bytes.

import FoundationEssentials
import KeychainCore
import KeychainCrypto

// MARK: - Headers of records

struct RecordHeader {
    /// The size of the header in bytes.
    private let byteCount: Int
    /// The types of the columns before `uuid`: in `items`, `id`; in `set_aside`, `id`, `at`,
    /// `reason` and, in version 2, `tag`.
    private let leading: [UInt64]
    private let protection: UInt64
    private let metaByteCount: Int
    private let termsByteCount: Int
    /// `nil` for NULL.
    private let secretByteCount: Int?
    /// The offset of uuid from the start of the payload.
    let uuidOffset: Int
    /// The number of bytes of header and columns together.
    let payloadByteCount: Int

    private static let rowColumnCount = 9
    private static let label: UInt64 = 44
    /// The types of a blob of 0 and of 32 bytes.
    private static let tags: [UInt64] = [12, 76]
    /// The largest accepted column size: above any limit of the store, and small enough that sums
    /// of sizes don't overflow.
    private static let mostColumnByteCount: UInt64 = 1 << 30

    /// The header at `start`; `nil` if there is no header of a row of `items` or `set_aside`.
    init?(_ page: FormatBytes, at start: Int, _ format: SalvageFormat) {
        let limit = format.bTree.usableByteCount
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
        guard count >= 1, types[0] == 0,
            count == 1 || Self.areOfSetAside(types.prefix(count), format)
        else { return nil }
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

    /// Whether these are the types of id, at, reason and, in version 2, a tag of 32 bytes, or of 0
    /// bytes if the row isn't authenticated. In version 2, a record with id, at and reason but no
    /// tag is a row of `versions`, which contains earlier versions of items. Such rows are not
    /// salvaged.
    private static func areOfSetAside(
        _ types: ArraySlice<UInt64>, _ format: SalvageFormat
    ) -> Bool {
        switch (format.version, types.count) {
        case (1, 3): types[2] >= 13 && types[2] % 2 == 1
        case (2, 4): [1, 2, 3, 4, 5, 6, 8, 9].contains(types[2]) && tags.contains(types[3])
        default: false
        }
    }

    // MARK: Columns

    /// The row in a payload with this header. The payload may lack the end of the secret.
    /// - Returns: `nil` if the payload can't be a row.
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
        let end = middle + Self.byteCount(leading[2])
        let bits = Self.integer(leading[1], Array(payload[start..<middle]))
        // SQLite stores an integral value of a REAL column as an integer.
        let moment =
            leading[1] == 7 ? Double(bitPattern: UInt64(bitPattern: bits)) : Double(bits)
        let reason = Array(payload[middle..<end])
        guard leading.count > 3 else {
            return SalvagedRow.Aside(
                moment: moment,
                reason: SetAsideReason.number(
                    ofVersion1: String(decoding: reason, as: UTF8.self)), tag: nil)
        }
        return SalvagedRow.Aside(
            moment: moment, reason: Self.integer(leading[2], reason),
            tag: Array(payload[end..<uuidOffset]))
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

// MARK: - Numbers

/// A range of bytes of a database or WAL file.
struct FormatBytes {
    var bytes: [UInt8]

    init(count: Int) {
        bytes = [UInt8](repeating: 0, count: count)
    }

    var count: Int {
        bytes.count
    }

    func uint8(at offset: Int) -> Int? {
        guard offset >= 0, offset < bytes.count else { return nil }
        return Int(bytes[offset])
    }

    func uint16(at offset: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - 2 else { return nil }
        return Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
    }

    func uint32(at offset: Int) -> UInt32? {
        guard offset >= 0, offset <= bytes.count - 4 else { return nil }
        return UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16
            | UInt32(bytes[offset + 2]) << 8 | UInt32(bytes[offset + 3])
    }

    /// A variable-length integer (file format, 1.6): 7 bits per byte, high bit set on all but the
    /// last byte; the ninth byte contributes all 8 bits.
    func varint(at offset: Int, limit: Int) -> (value: UInt64, end: Int)? {
        let limit = min(limit, bytes.count)
        guard offset >= 0 else { return nil }
        var value: UInt64 = 0
        var position = offset
        while position < limit {
            let byte = bytes[position]
            position += 1
            if position - offset == 9 {
                return (value << 8 | UInt64(byte), position)
            }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return (value, position) }
        }
        return nil
    }

    /// The number of bytes of the varint that SQLite writes for a value. SQLite always uses the
    /// shortest form.
    static func varintByteCount(_ value: UInt64) -> Int {
        var count = 1
        var rest = value >> 7
        while rest > 0, count < 9 {
            count += 1
            rest >>= 7
        }
        return count
    }

    /// Whether the four bytes of `magic` are at `offset`.
    func holds(_ magic: UInt32, at offset: Int) -> Bool {
        uint32(at: offset) == magic
    }

    /// The offsets at which `magic` occurs entirely below `limit`, at most `most` of them.
    ///
    /// No magic used here ends with its own first bytes, so hits do not overlap.
    func offsets(of magic: UInt32, below limit: Int, most: Int) -> [Int] {
        let first = UInt8(magic >> 24)
        let second = UInt8(truncatingIfNeeded: magic >> 16)
        let last = min(limit, bytes.count) - 4
        var found: [Int] = []
        var position = 0
        while position <= last {
            if bytes[position] == first, bytes[position + 1] == second,
                holds(magic, at: position)
            {
                found.append(position)
                if found.count == most { break }
            }
            position += 1
        }
        return found
    }
}

// MARK: - Sizes

struct BTreeFormat {
    /// The number of bytes of a page for b-tree and overflow content; the tag or the checksum
    /// follows.
    let usableByteCount: Int

    init(reservedByteCount: Int) {
        usableByteCount = PageFormat.pageByteCount - reservedByteCount
    }

    /// The number of bytes of the database header before the b-tree header of page 1.
    static let databaseHeaderByteCount = PageFormat.headerByteCount
    /// The largest payload of a table-leaf cell without overflow pages.
    var mostLocalByteCount: Int { usableByteCount - 35 }
    /// The smallest part of a payload in the leaf if overflow pages are used.
    var leastLocalByteCount: Int { (usableByteCount - 12) * 32 / 255 - 23 }
    /// The number of content bytes of an overflow page. They follow the page number of the next
    /// overflow page.
    var overflowContentByteCount: Int { usableByteCount - 4 }
    /// The first byte of a table-leaf page.
    static let tableLeaf = 0x0D

    /// The number of bytes of a payload that are in the leaf page.
    func localByteCount(ofPayload payloadByteCount: Int) -> Int {
        guard payloadByteCount > mostLocalByteCount else { return payloadByteCount }
        let local =
            leastLocalByteCount
            + (payloadByteCount - leastLocalByteCount) % overflowContentByteCount
        return local <= mostLocalByteCount ? local : leastLocalByteCount
    }
}

/// The magics that salvage searches for, and the layout of the bytes around them.
enum BlobFormat {
    /// "KCM1" and "KCM2": the metadata of a row of either version.
    static let metaMagics: [UInt32] = [0x4B43_4D31, 0x4B43_4D32]
    /// The number of bytes of uuid, protection, grp, k1, k2, k3, which precede the metadata.
    static let metaOffset = 16 + 1 + 16 * 4
    /// "KCHD": the store's header.
    static let headerMagic: UInt32 = 0x4B43_4844
    /// "KCKB", version byte, three bytes, then the keybag's byte count as UInt32 at offset 8.
    static let keybagMagic: UInt32 = 0x4B43_4B42
    static let keybagLengthOffset = 8
    static let keybagByteCounts: ClosedRange<UInt32> = 12...16384
}
