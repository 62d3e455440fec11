// SalvageFormat: which version damaged files are of, and what verifies their pages.
//   (1) A page or a frame whose tag fits decides, then one whose checksum fits, then byte 20 of the
//       database: a damaged header must not cost every page.
//   (2) The salt of the tags stands in page 1 of the database. Where that one is lost or damaged, no
//       page counts as sound, and rows are found as on damaged pages.

import KeychainCore
import KeychainCrypto

struct SalvageFormat: Sendable {
    /// Of the database: 1 or 2.
    let version: Int
    /// nil: nothing shows whether a page is as it was written.
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

    /// Without a device key tags can't be verified.
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
            // The salt of a database that isn't there, or whose pages all fail, is no salt.
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

    /// By the first frame: its checksum is over zeros at the page's end in version 2.
    private static func version(ofLog log: any SalvageSource) -> Int? {
        var bytes = [UInt8](repeating: 0, count: LogHeader.byteCount)
        log.read(at: 0, into: &bytes, from: 0)
        guard let header = LogHeader(bytes) else { return nil }
        bytes = [UInt8](repeating: 0, count: LogFormat.frameByteCount)
        log.read(at: LogFrames.offset(of: 0), into: &bytes, from: 0)
        func isSound() -> Bool {
            LooseFrame(bytes, after: header.checksum, bigEndian: header.bigEndian)?.isSound == true
        }
        // Both fit where the page ends in zeros, which no tag is.
        if isSound() { return 1 }
        zeroPageEnd(ofFrame: &bytes)
        return isSound() ? 2 : nil
    }

    /// Makes of a frame of the file what SQLite's checksum is over.
    func hide(frame: inout [UInt8]) {
        if version == 2 { Self.zeroPageEnd(ofFrame: &frame) }
    }

    private static func zeroPageEnd(ofFrame frame: inout [UInt8]) {
        for index in LogFormat.frameByteCount - PageFormat.reservedByteCount..<frame.count {
            frame[index] = 0
        }
    }
}
