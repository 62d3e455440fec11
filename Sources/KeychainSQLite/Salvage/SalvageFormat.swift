// SalvageFormat: the version of damaged files, and the protection of their pages.
//   (1) The version is determined by a page with a valid tag, else by a page or frame with a valid
//       checksum, else by byte 20 of the database, so that a damaged header doesn't cost every
//       page.
//   (2) The salt of the tags is in page 1 of the database. If the salt is lost or damaged, no page
//       of the database file counts as sound, and rows are searched for as on damaged pages. Frames
//       of the log are then verified by their checksums alone.

import KeychainCore
import KeychainCrypto

struct SalvageFormat: Sendable {
    /// The version of the database: 1 or 2.
    let version: Int
    /// `nil` if no tag can be verified.
    let protection: PageProtection?

    static let version1 = SalvageFormat(version: 1, protection: .checksum)

    var bTree: BTreeFormat {
        BTreeFormat(
            reservedByteCount: version == 1
                ? PageChecksum.byteCount : PageFormat.reservedByteCount)
    }

    private init(version: Int, protection: PageProtection?) {
        self.version = version
        self.protection = protection
    }

    /// Without a device key, tags can't be verified, just as without the salt, see (2).
    init(
        of database: any SalvageSource, log: (any SalvageSource)?, deviceKey: SecretBytes?
    ) {
        var header = [UInt8](repeating: 0, count: PageFormat.headerByteCount)
        database.read(at: 0, into: &header, from: 0)
        let authentication = deviceKey.map { deviceKey in
            PageProtection.authentication(
                PageAuthenticator(
                    deviceKey: deviceKey, salt: Array(header[PageFormat.saltRange])))
        }
        if let authentication, Self.hasPage(of: authentication, database) {
            self.init(version: 2, protection: authentication)
        } else if Self.hasPage(of: .checksum, database) {
            self = .version1
        } else if let version = log.flatMap(Self.version(ofLog:)) {
            // If the database is missing or all of its pages fail verification, there is no usable
            // salt or no device key.
            self.init(version: version, protection: version == 1 ? .checksum : nil)
        } else if database.byteCount > 0, header[20] == PageChecksum.byteCount {
            self = .version1
        } else {
            self.init(version: 2, protection: nil)
        }
    }

    private static func hasPage(
        of protection: PageProtection, _ database: any SalvageSource
    ) -> Bool {
        let size = UInt64(PageFormat.pageByteCount)
        var page = [UInt8](repeating: 0, count: PageFormat.pageByteCount)
        for index in 0..<UInt32(clamping: database.byteCount / size) {
            database.read(at: UInt64(index) * size, into: &page, from: 0)
            if protection.verifies(page, number: index + 1) { return true }
        }
        return false
    }

    /// The version according to the first frame. In version 2, its checksum covers zeros at the
    /// page's end.
    private static func version(ofLog log: any SalvageSource) -> Int? {
        var bytes = [UInt8](repeating: 0, count: LogHeader.byteCount)
        log.read(at: 0, into: &bytes, from: 0)
        guard let header = LogHeader(bytes) else { return nil }
        bytes = [UInt8](repeating: 0, count: LogFormat.frameByteCount)
        log.read(at: LogFrames.offset(of: 0), into: &bytes, from: 0)
        func isSound() -> Bool {
            LooseFrame(bytes, after: header.checksum, bigEndian: header.bigEndian)?.isSound == true
        }
        // If the page ends in zeros, the checksum is valid for both versions. A tag never consists
        // of zeros, so the version is 1.
        if isSound() { return 1 }
        zeroPageEnd(ofFrame: &bytes)
        return isSound() ? 2 : nil
    }

    /// Restores the form of a frame that SQLite's checksum covers.
    func hide(frame: inout [UInt8]) {
        if version == 2 { Self.zeroPageEnd(ofFrame: &frame) }
    }

    private static func zeroPageEnd(ofFrame frame: inout [UInt8]) {
        for index in LogFormat.frameByteCount - PageFormat.reservedByteCount..<frame.count {
            frame[index] = 0
        }
    }
}
