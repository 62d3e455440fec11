// DatabasePages: the root pages of a keychain's database, and changes to its pages with matching
// tags or checksums. The changed bytes look as if they had been wrong before they were written, or
// as if an attacker with the device key had forged them.

import Foundation
package import KeychainCore
import KeychainCrypto
import KeychainSQLite

package enum PageSeal {
    /// Returns a database in which each page ends with the tag of version 2. Without a device key,
    /// each page ends with the checksum of version 1.
    package static func sealed(_ database: [UInt8], deviceKey: SecretBytes? = nil) -> [UInt8] {
        var database = database
        let size = PageFormat.pageByteCount
        let authenticator = deviceKey.map {
            PageAuthenticator(deviceKey: $0, salt: Array(database[PageFormat.saltRange]))
        }
        // SAFETY: each page lies within the buffer.
        unsafe database.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            for number in 0..<bytes.count / size {
                let page = unsafe base + number * size
                if let authenticator {
                    unsafe authenticator.stamp(pageAt: page, number: UInt32(number + 1))
                } else {
                    unsafe PageChecksum.stamp(pageAt: page, number: UInt32(number + 1))
                }
            }
        }
        return database
    }

    /// Gives the page of a log frame the tag for the frame's position. An attacker with the device
    /// key can write such a frame, and a failed transaction of the keychain leaves such a frame.
    package static func seal(
        frame number: Int, of log: inout [UInt8], deviceKey: SecretBytes, salt: [UInt8]
    ) {
        let start = LogForgery.frame(number).lowerBound
        func word(_ offset: Int) -> UInt32 {
            log[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        let place = LogFramePlace(
            page: word(start), databasePageCount: word(start + 4), frame: UInt32(number),
            salt1: word(16), salt2: word(20))
        let authenticator = PageAuthenticator(deviceKey: deviceKey, salt: salt)
        // SAFETY: the frame's page lies within the buffer.
        unsafe log.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            unsafe authenticator.stamp(pageAt: base + start + 24, in: place)
        }
    }

    /// The device key beside a database. It must not be sealed by hardware.
    package static func deviceKey(besideDatabaseAt path: String) throws -> SecretBytes {
        let folder = StoreFolder(path: (path as NSString).deletingLastPathComponent)
        guard let file = try folder.read(.deviceKey) else { throw CocoaError(.fileReadNoSuchFile) }
        return try DeviceKeyFile.decode(file).key
    }

    /// Changes a database file of version 2 in place, which keeps its permissions, and seals its
    /// pages.
    package static func change(
        _ path: String, _ change: (inout [UInt8]) throws -> Void = { _ in }
    ) throws {
        let file = URL(filePath: path)
        var bytes = [UInt8](try Data(contentsOf: file))
        try change(&bytes)
        let handle = try FileHandle(forWritingTo: file)
        let deviceKey = try deviceKey(besideDatabaseAt: path)
        try handle.write(contentsOf: Data(sealed(bytes, deviceKey: deviceKey)))
        try handle.close()
    }
}

/// The root pages of tables and indexes, in the order of their creation. A small table has no other
/// page.
package enum RootPage: Int, Sendable {
    case schema = 1
    case header
    case keybag
    case items
    case itemsUUID
    case itemsKey
    case itemsK2
    case itemsGroup
    case terms
    case setAside
    case versions
    case outbox
    case state

    package static let indexes: [RootPage] = [.itemsUUID, .itemsKey, .itemsK2, .itemsGroup, .terms]

    /// The offset of the page's end in the database.
    package var end: Int { rawValue * PageFormat.pageByteCount }
    package var bytes: Range<Int> { end - PageFormat.pageByteCount..<end }
}
