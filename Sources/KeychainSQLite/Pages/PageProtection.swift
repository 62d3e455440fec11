// PageProtection: writes and verifies the checksum or tag of a page, which shows that the page is
// unchanged, in both versions of the database; reads the headers of database files; and finds the
// device key by the database's path.
//   (1) Byte 20 of a file determines the version: 32 reserved bytes mean version 2, 8 mean version
//       1.
//   (2) A database of version 2 whose device key isn't known can't be verified and is treated as
//       foreign. A database of version 1 at a path whose key is known is also treated as foreign,
//       because anyone can create its checksums.

import CKeychainSQLite
package import KeychainCore
import KeychainCrypto
import Synchronization

package enum PageProtection: Sendable {
    /// Version 1: a checksum without a key.
    case checksum
    /// Version 2: an authentication tag.
    case authentication(PageAuthenticator)

    /// The number of bytes at the end of each page that SQLite does not use.
    var reservedByteCount: Int {
        switch self {
        case .checksum: PageChecksum.byteCount
        case .authentication: PageFormat.reservedByteCount
        }
    }

    /// The protection of a database file with a given header; `nil` for a foreign file.
    init?(_ header: DatabaseFileHeader, _ keys: PageKeys.Source?) {
        guard header.pageByteCount == PageFormat.pageByteCount else { return nil }
        switch (header.reservedByteCount, keys) {
        case (PageChecksum.byteCount, nil): self = .checksum
        case (PageFormat.reservedByteCount, .some(let keys)):
            self = .authentication(keys.authenticator(salt: header.salt))
        default: return nil
        }
    }

    /// The protection of the database at a path; `checksum` for a foreign file, or if there is no
    /// file.
    static func ofDatabase(at path: String) throws(SQLiteFailure) -> PageProtection {
        guard try PlainFile.exists(path: path), let header = try DatabaseFileHeader(ofFileAt: path)
        else { return .checksum }
        let canonicalPath = PageDamage.registry(forPath: path).path
        return PageProtection(header, PageKeys.source(forCanonicalPath: canonicalPath)) ?? .checksum
    }

    // MARK: Pages of the database

    /// Whether a page of the database is unchanged.
    ///
    /// - Parameters:
    ///   - page: The first of `PageFormat.pageByteCount` readable bytes, as stored in the file.
    ///   - number: The page's number; the first page of a file is 1.
    /// - Returns: Whether it is unchanged.
    func verifies(pageAt page: UnsafeRawPointer, number: UInt32) -> Bool {
        // SAFETY: the caller guarantees a whole page. The same applies below.
        switch self {
        case .checksum: unsafe PageChecksum.verifies(pageAt: page, number: number)
        case .authentication(let authenticator):
            unsafe authenticator.verifies(pageAt: page, number: number)
        }
    }

    /// Writes the tag or checksum to the end of a page of the database.
    func stamp(pageAt page: UnsafeMutableRawPointer, number: UInt32) {
        // SAFETY: as above, writable.
        switch self {
        case .checksum: unsafe PageChecksum.stamp(pageAt: page, number: number)
        case .authentication(let authenticator):
            unsafe authenticator.stamp(pageAt: page, number: number)
        }
    }

    /// In version 2, sets to zero the reserved bytes at the end of a page and the salt in page 1,
    /// as far as they are in `range`. To be called before the bytes are passed to SQLite, which
    /// expects zeros there.
    ///
    /// - Parameters:
    ///   - bytes: The first of `range.count` writable bytes.
    ///   - range: Their position in the page.
    ///   - number: The page's number in the database; in the log any number but 1.
    func hide(_ bytes: UnsafeMutableRawPointer, _ range: Range<Int>, number: UInt32) {
        guard case .authentication = self else { return }
        func zero(_ part: Range<Int>) {
            let part = part.clamped(to: range)
            // SAFETY: the part is within the range that the caller guarantees.
            unsafe (bytes + part.lowerBound - range.lowerBound).initializeMemory(
                as: UInt8.self, repeating: 0, count: part.count)
        }
        zero(PageFormat.contentByteCount..<PageFormat.pageByteCount)
        if number == 1 { zero(PageFormat.saltRange) }
    }

    // MARK: Pages of the log

    /// Whether the tag of a frame is valid; always `true` in version 1, which has only SQLite's
    /// checksum.
    ///
    /// - Parameters:
    ///   - frame: The first of `LogFormat.frameByteCount` readable bytes, as stored in the file.
    ///   - number: The frame's number, from 1.
    ///   - log: The header of the log. `nil` to use the salts of the frame itself.
    /// - Returns: Whether the tag is valid.
    func verifies(
        frameAt frame: UnsafeRawPointer, number: UInt32, in log: LogHeader? = nil
    ) -> Bool {
        guard case .authentication(let authenticator) = self else { return true }
        // SAFETY: the caller guarantees a whole frame.
        let header = unsafe LogFrameHeader(at: frame)
        let salts = log.map { ($0.salt1, $0.salt2) } ?? (header.salt1, header.salt2)
        let place = header.place(number, salt1: salts.0, salt2: salts.1)
        return unsafe authenticator.verifies(pageAt: frame + LogFrameHeader.byteCount, in: place)
    }

    /// In version 2, sets to zero the reserved bytes at the end of a frame's page. To be called
    /// before the frame is passed to SQLite.
    func hide(frameAt frame: UnsafeMutableRawPointer) {
        // SAFETY: the caller guarantees a whole frame.
        unsafe hide(
            frame + LogFrameHeader.byteCount, 0..<PageFormat.pageByteCount,
            number: Self.anyPageOfTheLog)
    }

    /// Stands for any page in the log, page 1 included: in the log, page 1 contains no salt.
    static let anyPageOfTheLog: UInt32 = 0
}

extension LogFrameHeader {
    func place(_ number: UInt32, salt1: UInt32, salt2: UInt32) -> LogFramePlace {
        LogFramePlace(
            page: page, databasePageCount: databasePageCount, frame: number, salt1: salt1,
            salt2: salt2)
    }
}

// MARK: - Headers of database files

/// The part of SQLite's header that distinguishes keychain databases from others.
package struct DatabaseFileHeader: Sendable {
    let pageByteCount: Int
    package let reservedByteCount: Int
    /// The salt of a file of version 2.
    package let salt: [UInt8]

    /// `nil` if the bytes are not the header of a database.
    ///
    /// - Parameter bytes: The first of 100 readable bytes.
    init?(at bytes: UnsafeRawPointer) {
        // SAFETY: the caller guarantees 100 bytes, and all offsets are below 100. At offset 16 is
        // the page size in two bytes, big-endian; at offset 20 is the number of reserved bytes.
        let header = unsafe UnsafeRawBufferPointer(
            start: bytes, count: PageFormat.headerByteCount)
        guard unsafe header.starts(with: "SQLite format 3\0".utf8) else { return nil }
        pageByteCount = unsafe Int(
            UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt16.self)))
        reservedByteCount = unsafe Int(header[20])
        salt = unsafe Array(header[PageFormat.saltRange])
    }

    /// Reads the header of a file; `nil` if the file is not a database. Locks that connections of
    /// this process have on it are kept.
    ///
    /// - Parameter path: The path of an existing file.
    /// - Throws: ``SQLiteFailure`` if the file can't be read.
    package init?(ofFileAt path: String) throws(SQLiteFailure) {
        let file = try PlainFile(path: path, flags: SQLITE_OPEN_MAIN_DB)
        let buffer = FileBuffer(byteCount: PageFormat.headerByteCount)
        guard try file.fill(buffer, count: PageFormat.headerByteCount, from: 0) else { return nil }
        // SAFETY: the buffer has the size of a header, and all of it was filled from the file.
        let header = unsafe DatabaseFileHeader(at: UnsafeRawPointer(buffer.bytes))
        guard let header else { return nil }
        self = header
    }
}

// MARK: - Keys by path

/// The device keys of the databases that this process has open. They are found by path, because
/// SQLite's file layer gets only a path, and a key doesn't belong in a URI.
package enum PageKeys {
    private static let sources = Mutex<[String: [Source]]>([:])

    /// The key of the database at a path; `nil` if no key is registered for this path. The path
    /// must have the form in which SQLite passes it to a VFS.
    static func source(forCanonicalPath path: String) -> Source? {
        sources.withLock { $0[path]?.last }
    }

    /// Registers a key until the result is ended or released.
    ///
    /// - Parameters:
    ///   - deviceKey: The keychain's device key.
    ///   - path: The path of the database.
    ///   - isNew: Whether the database is being created. Otherwise an empty file is damage.
    /// - Returns: An object that removes the key when it is ended or released.
    package static func use(
        _ deviceKey: SecretBytes, forPath path: String, isNew: Bool = false
    ) -> Use {
        let source = Source(deviceKey, isForNewFile: isNew)
        let path = PageDamage.registry(forPath: path).path
        sources.withLock { $0[path, default: []].append(source) }
        return Use(path: path, source: source)
    }

    /// Derives page keys from a device key, and keeps the one that was used last.
    final class Source: Sendable {
        private let deviceKey: SecretBytes
        let isForNewFile: Bool
        /// The authenticator that was used last. One is enough, because a file has only one salt.
        private let recent = Mutex<PageAuthenticator?>(nil)

        fileprivate init(_ deviceKey: SecretBytes, isForNewFile: Bool) {
            self.deviceKey = deviceKey
            self.isForNewFile = isForNewFile
        }

        func authenticator(salt: [UInt8]) -> PageAuthenticator {
            recent.withLock { recent in
                if let recent, recent.salt == salt { return recent }
                let new = PageAuthenticator(deviceKey: deviceKey, salt: salt)
                recent = new
                return new
            }
        }

        /// The authenticator for a file that is being created, with a new salt.
        func newAuthenticator() -> PageAuthenticator {
            authenticator(salt: .random(count: PageKey.saltByteCount))
        }
    }

    /// The use of a key by an open keychain, until the keychain is closed.
    package final class Use: Sendable {
        private let path: String
        private let source: Mutex<Source?>

        fileprivate init(path: String, source: Source) {
            self.path = path
            self.source = Mutex(source)
        }

        deinit { end() }

        package func end() {
            guard let ended = source.withLock({ $0.take() }) else { return }
            PageKeys.sources.withLock { sources in
                sources[path]?.removeAll { $0 === ended }
                if sources[path]?.isEmpty == true { sources[path] = nil }
            }
        }
    }
}
