// RecordHeader: the header of a record (file format, 2.1) and the shape of an item row in it.
//
// A header is its own byte count as a varint, then one serial type a column:
//   0 NULL; 1...6 integers of 1, 2, 3, 4, 6, 8 bytes; 7 a float; 8, 9 the numbers 0 and 1;
//   N >= 12 even: a blob of (N-12)/2 bytes; N >= 13 odd: a text of (N-13)/2 bytes.

/// Where the parts of a row's body end: uuid to k3 have fixed places, then meta, terms, secret.
struct BodySplit: Hashable {
    var metaByteCount: Int
    var termsByteCount: Int
    /// Nil for NULL.
    var secretByteCount: Int?

    var bodyByteCount: Int {
        BlobFormat.metaOffset + metaByteCount + termsByteCount + (secretByteCount ?? 0)
    }

    /// The byte count of the record header of such a row in `items`.
    var itemsHeaderByteCount: Int {
        // The count itself; id, uuid, protection, grp, k1, k2, k3 take a byte each.
        1 + 7 + FormatBytes.varintByteCount(Self.blobType(metaByteCount))
            + FormatBytes.varintByteCount(Self.blobType(termsByteCount))
            + (secretByteCount.map { FormatBytes.varintByteCount(Self.blobType($0)) } ?? 1)
    }

    private static func blobType(_ byteCount: Int) -> UInt64 {
        UInt64(byteCount) * 2 + 12
    }
}

/// A record header whose last nine columns are those of an item row.
struct RecordHeader {
    /// Bytes of the header.
    let byteCount: Int
    /// Bytes of the columns in front of uuid.
    let leadingByteCount: Int
    let leadingColumnCount: Int
    let split: BodySplit

    /// The byte count of header and body together.
    var payloadByteCount: Int {
        byteCount + leadingByteCount + split.bodyByteCount
    }

    /// Where uuid stands, from the start of the payload.
    var uuidOffset: Int {
        byteCount + leadingByteCount
    }

    /// Serial types of uuid, protection, grp, k1, k2, k3.
    private static let fixedTypes: [UInt64] = [44, 1, 44, 44, 44, 44]
    private static let rowColumnCount = 9
    private static let mostColumns = 20
    /// The largest column that is believed: above any limit of the store, below any overflow.
    private static let mostColumnByteCount: UInt64 = 1 << 30

    /// The header at `start`, nil if there is none of this shape.
    init?(_ page: FormatBytes, at start: Int) {
        let limit = BTreeFormat.usableByteCount
        guard let size = page.varint(at: start, limit: limit),
            size.value >= UInt64(1 + Self.rowColumnCount), size.value <= 256
        else { return nil }
        let end = start + Int(size.value)
        var types: [UInt64] = []
        types.reserveCapacity(12)
        var position = size.end
        while position < end, types.count < Self.mostColumns {
            guard let type = page.varint(at: position, limit: min(end, limit)) else { return nil }
            types.append(type.value)
            position = type.end
        }
        guard position == end, types.count > Self.rowColumnCount else { return nil }

        let leading = types.count - Self.rowColumnCount
        guard types[leading..<(leading + 6)].elementsEqual(Self.fixedTypes),
            let meta = Self.blobByteCount(types[leading + 6]),
            let terms = Self.blobByteCount(types[leading + 7]),
            terms % BlobFormat.termByteCount == 0,
            terms <= BlobFormat.mostTerms * BlobFormat.termByteCount
        else { return nil }
        var secret: Int?
        if types[leading + 8] != 0 {
            guard let count = Self.blobByteCount(types[leading + 8]) else { return nil }
            secret = count
        }
        var leadingByteCount = 0
        for type in types[..<leading] {
            guard let count = Self.contentByteCount(type) else { return nil }
            leadingByteCount += count
        }
        byteCount = end - start
        self.leadingByteCount = leadingByteCount
        leadingColumnCount = leading
        split = BodySplit(metaByteCount: meta, termsByteCount: terms, secretByteCount: secret)
    }

    private static func blobByteCount(_ type: UInt64) -> Int? {
        type >= 12 && type % 2 == 0 ? contentByteCount(type) : nil
    }

    private static func contentByteCount(_ type: UInt64) -> Int? {
        switch type {
        case 0, 8, 9: return 0
        case 1...4: return Int(type)
        case 5: return 6
        case 6, 7: return 8
        case 10, 11: return nil
        default:
            let count = (type - 12) / 2
            return count <= mostColumnByteCount ? Int(count) : nil
        }
    }
}

/// Splits of a body by what its own blobs say, without a record header.
enum SelfDescription {
    /// The byte count of the meta blob that begins at `offset`, nil without a plausible one.
    static func metaByteCount(_ bytes: FormatBytes, at offset: Int) -> Int? {
        guard bytes.holds(BlobFormat.metaMagic, at: offset),
            let count = bytes.uint32(at: offset + 4),
            count >= BlobFormat.leastMetaByteCount, count <= 1 << 30
        else { return nil }
        return Int(count)
    }

    /// The byte counts of the terms and the secret that follow a meta blob ending at `metaEnd`:
    /// the first number of terms behind which a secret's header stands below `limit`.
    static func termsAndSecret(
        _ bytes: FormatBytes, metaEnd: Int, limit: Int
    ) -> (terms: Int, secret: Int)? {
        for terms in 0...BlobFormat.mostTerms {
            let position = metaEnd + terms * BlobFormat.termByteCount
            guard position + BlobFormat.secretHeaderByteCount <= limit else { return nil }
            if bytes.holds(BlobFormat.secretMagic, at: position),
                let count = bytes.uint64(at: position + 4),
                count >= UInt64(BlobFormat.leastSecretByteCount), count <= 1 << 30
            {
                return (terms * BlobFormat.termByteCount, Int(count))
            }
        }
        return nil
    }

    /// The split of a complete body, which begins at `start` and ends where `bytes` end.
    static func split(_ bytes: FormatBytes, from start: Int) -> BodySplit? {
        let metaStart = start + BlobFormat.metaOffset
        guard let meta = metaByteCount(bytes, at: metaStart), meta <= bytes.count - metaStart
        else { return nil }
        let rest = bytes.count - metaStart - meta
        if let (terms, secret) = termsAndSecret(
            bytes, metaEnd: metaStart + meta, limit: bytes.count), terms + secret == rest
        {
            return BodySplit(metaByteCount: meta, termsByteCount: terms, secretByteCount: secret)
        }
        guard rest % BlobFormat.termByteCount == 0,
            rest <= BlobFormat.mostTerms * BlobFormat.termByteCount
        else { return nil }
        return BodySplit(metaByteCount: meta, termsByteCount: rest, secretByteCount: nil)
    }
}
