// BTreeFormat: the fixed sizes of this store's database files.
//
// They are taken as given and not from the file: a flipped byte in a header must not cost the
// whole file. Local and overflow sizes: SQLite file format, 1.6, "Cell payload overflow pages".

enum BTreeFormat {
    /// Bytes of a page that b-tree and overflow content may fill; the checksum follows.
    static let usableByteCount = PageFormat.checksummedByteCount
    /// Bytes of the database header in front of the b-tree header of page 1.
    static let databaseHeaderByteCount = PageFormat.headerByteCount
    /// The payload of a table-leaf cell up to which no overflow page is used.
    static let mostLocalByteCount = usableByteCount - 35
    /// The least payload that stays in the leaf when overflow pages are used.
    static let leastLocalByteCount = (usableByteCount - 12) * 32 / 255 - 23
    /// Content bytes of an overflow page, behind the page number of the next.
    static let overflowContentByteCount = usableByteCount - 4
    /// The first byte of a table-leaf page.
    static let tableLeaf = 0x0D

    /// How many bytes of a payload stand in the leaf page.
    static func localByteCount(ofPayload payloadByteCount: Int) -> Int {
        guard payloadByteCount > mostLocalByteCount else { return payloadByteCount }
        let local =
            leastLocalByteCount
            + (payloadByteCount - leastLocalByteCount) % overflowContentByteCount
        return local <= mostLocalByteCount ? local : leastLocalByteCount
    }
}

/// The magics that salvage looks for, and what it knows of the bytes around them.
enum BlobFormat {
    /// "KCM1": the metadata of a row.
    static let metaMagic: UInt32 = 0x4B43_4D31
    /// Bytes of uuid, protection, grp, k1, k2, k3: what stands in front of the metadata.
    static let metaOffset = 16 + 1 + 16 * 4
    /// "KCHD": the store's header.
    static let headerMagic: UInt32 = 0x4B43_4844
    /// "KCKB", version byte, three bytes, then the keybag's byte count as UInt32 at offset 8.
    static let keybagMagic: UInt32 = 0x4B43_4B42
    static let keybagLengthOffset = 8
    static let keybagByteCounts: ClosedRange<UInt32> = 12...4096
}
