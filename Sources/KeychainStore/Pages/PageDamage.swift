// PageDamage: which pages of a database were found damaged in this process.
//   (1) There is one per database file, shared by every connection of the process to it.
//   (2) What was recorded stays until `reset()`, also if the page reads well later: a cache that
//       answered once with wrong bytes may have passed them on.
//   (3) `isEmpty` costs one atomic load: it is asked before every miss and every commit.

import Synchronization
import GRDBSQLite

/// The damage that was met while reading one database.
///
/// A hit proves itself by its authentication tag. A miss proves nothing if a page on the way to it
/// was damaged: before a miss is trusted, and before a transaction is committed that read
/// anything, ask ``isEmpty``.
package final class PageDamage: Sendable {
    private struct Found {
        var pages: Set<UInt32> = []
        var frames: Set<UInt32> = []
    }

    /// The database file, as SQLite names it after following links.
    package let path: String

    private let found = Mutex(Found())
    private let hasFound = Atomic(false)
    private let recordings = Atomic<UInt64>(0)

    private static let registries = Mutex<[String: PageDamage]>([:])

    /// That of databases in memory, which have no pages to read: always empty.
    static let none = PageDamage(path: "")

    private init(path: String) {
        self.path = path
    }

    /// The damage of the database at a path, found so far and from now on.
    ///
    /// All paths to a file give the same object, for as long as the process lives. The file need
    /// not exist.
    package static func registry(forPath path: String) -> PageDamage {
        registry(forCanonicalPath: canonical(path))
    }

    /// The same, for a path as SQLite's file layer hands it to a VFS.
    static func registry(forCanonicalPath path: String) -> PageDamage {
        registries.withLock { registries in
            if let known = registries[path] { return known }
            let new = PageDamage(path: path)
            registries[path] = new
            return new
        }
    }

    /// The registry of a database that was opened or asked for in this process before.
    static func known(forCanonicalPath path: String) -> PageDamage? {
        registries.withLock { $0[path] }
    }

    /// Whether no damage is recorded.
    package var isEmpty: Bool {
        !hasFound.load(ordering: .acquiring)
    }

    /// How often damage was met, by any connection of the process. It never falls, `reset()`
    /// included: two equal readings mean that nothing was met in between.
    package var recordingCount: UInt64 {
        recordings.load(ordering: .acquiring)
    }

    /// The numbers of the pages of the database file that do not fit their checksum, or that the
    /// file is too short for; ascending, the first page of a file is 1.
    package var damagedPages: [UInt32] {
        found.withLock { $0.pages.sorted() }
    }

    /// The frames of the write-ahead log that do not fit their checksum, or from which on recovery
    /// dropped committed transactions; ascending, the first frame of a log is 1. Which page such a
    /// frame held can't be told: its header is in doubt too.
    package var damagedFrames: [UInt32] {
        found.withLock { $0.frames.sorted() }
    }

    /// Forgets what was recorded.
    ///
    /// Call it when the file was replaced and every connection to the old one is closed: a page
    /// that an open connection holds in its cache is not read, and so not recorded, again.
    package func reset() {
        found.withLock { found in
            found = Found()
            hasFound.store(false, ordering: .releasing)
        }
    }

    func record(page: UInt32) {
        found.withLock { found in
            found.pages.insert(page)
            noteRecordingAssumingLocked()
        }
    }

    func record(frame: UInt32) {
        found.withLock { found in
            found.frames.insert(frame)
            noteRecordingAssumingLocked()
        }
    }

    /// Notes that the database is not what its last acknowledged commit left, though every page
    /// that was read is whole: the end of its log was damaged. The log is kept from now on.
    func recordLostCommits() {
        found.withLock { _ in noteRecordingAssumingLocked() }
    }

    private func noteRecordingAssumingLocked() {
        recordings.wrappingAdd(1, ordering: .releasing)
        hasFound.store(true, ordering: .releasing)
    }

    /// The name that SQLite gives a path, so that both sides of the registry agree. A path that
    /// SQLite has no name for can't be opened either, and stands for itself.
    private static func canonical(_ path: String) -> String {
        // SAFETY: the default VFS is never freed. The buffer has the size that is passed on, which
        // is what `xFullPathname` asks for, and the name in it ends in a zero.
        guard let vfs = unsafe sqlite3_vfs_find(nil),
            let fullPathname = unsafe vfs.pointee.xFullPathname
        else { return path }
        let byteCount = unsafe max(vfs.pointee.mxPathname, 0) + 1
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(byteCount)) {
            buffer in
            guard let name = buffer.baseAddress else { return path }
            // Besides SQLITE_OK there is SQLITE_OK_SYMLINK, whose low byte is 0 as well.
            let status = unsafe fullPathname(vfs, path, byteCount, name)
            return unsafe status & 0xFF == SQLITE_OK ? String(cString: name) : path
        }
    }
}
