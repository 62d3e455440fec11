// HeaderScan: the store headers in damaged files, wherever they stand.
//   (1) Only headers whose tag verifies are given, so a chance hit or a damaged one is none.

package import KeychainCrypto

package enum HeaderScan {
    private static let magic = Array("KCHD".utf8)
    private static let chunkByteCount = 1 << 20

    /// All authentic headers of the sources, the newest first, each generation once.
    ///
    /// Older ones stand in the log, and one of a transaction that did not end can be among them.
    package static func headers(
        in sources: [any SalvageSource], authenticator: StoreAuthenticator
    ) -> [StoreHeader] {
        var found: [UInt64: StoreHeader] = [:]
        for source in sources {
            forEachCandidate(in: source) { bytes in
                if let header = StoreHeader(bytes, authenticator: authenticator) {
                    found[header.generation] = header
                }
            }
        }
        return found.values.sorted { $0.generation > $1.generation }
    }

    /// The bytes behind each place of the magic, read in chunks that overlap by a header.
    private static func forEachCandidate(
        in source: any SalvageSource, _ body: ([UInt8]) -> Void
    ) {
        let size = StoreHeader.byteCount
        var offset: UInt64 = 0
        while offset < source.byteCount {
            let count = Int(min(UInt64(chunkByteCount + size), source.byteCount - offset))
            var chunk = [UInt8](repeating: 0, count: count)
            source.read(at: offset, into: &chunk, from: 0)
            var index = 0
            while index + size <= count {
                guard chunk[index] == magic[0], chunk[index..<index + 4].elementsEqual(magic) else {
                    index += 1
                    continue
                }
                body(Array(chunk[index..<index + size]))
                index += 1
            }
            offset += UInt64(chunkByteCount)
        }
    }
}
