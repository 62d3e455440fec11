// KeybagPass: finds keybag bodies by their magic.
//
// A row of `keybag` is a record of id and body, so the header in front of the magic has a known
// size, and with it the part of the body in the page.

struct KeybagPass {
    private let images: PageImages
    private(set) var found: [SalvagedKeybag] = []
    private var known: Set<[UInt8]> = []
    private var page = FormatBytes(count: PageFormat.pageByteCount)
    private var budget: Int

    private static let version = 1
    private static let lengthOffset = 8
    /// Enough for every generation of a WAL of usual size; the rest would be older still.
    private static let mostKeybags = 4096
    private static let mostHits = 64

    init(_ images: PageImages) {
        self.images = images
        budget = 2 * images.count + 64
    }

    mutating func visit(_ image: PageImage) {
        images.read(image, into: &page)
        let limit = BTreeFormat.usableByteCount
        let hits = page.offsets(of: BlobFormat.keybagMagic, below: limit, most: Self.mostHits)
        for hit in hits where found.count < Self.mostKeybags {
            guard page.uint8(at: hit + 4) == Self.version,
                let claimed = page.uint32(at: hit + Self.lengthOffset),
                claimed >= BlobFormat.leastKeybagByteCount,
                claimed <= BlobFormat.mostKeybagByteCount
            else { continue }
            if let body = body(at: hit, byteCount: Int(claimed), of: image),
                known.insert(body).inserted
            {
                found.append(
                    SalvagedKeybag(
                        body: body, standing: images.standing(of: image), page: image.page,
                        frame: image.frame))
            }
        }
    }

    private mutating func body(at hit: Int, byteCount: Int, of image: PageImage) -> [UInt8]? {
        // The header's own count, NULL for the id, the type of the body.
        let header = 2 + FormatBytes.varintByteCount(UInt64(byteCount) * 2 + 12)
        let payload = header + byteCount
        let local = BTreeFormat.localByteCount(ofPayload: payload) - header
        let overflow = byteCount - local
        guard hit + local + (overflow > 0 ? 4 : 0) <= BTreeFormat.usableByteCount else {
            return nil
        }
        var body = Array(page.bytes[hit..<(hit + local)])
        guard overflow > 0 else { return body }
        let standing = images.standing(of: image)
        let chain = OverflowChain(
            from: page.uint32(at: hit + local) ?? 0, origin: image.page, byteCount: overflow,
            into: &body, images: images,
            view: standing == .current ? images.currentView : images.view(of: image),
            budget: &budget)
        return chain.isComplete ? body : nil
    }
}
