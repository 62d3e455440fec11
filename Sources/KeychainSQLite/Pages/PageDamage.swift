// PageDamage: the registry of the damage that this process has found in a database and its log.
//   (1) There is one registry for each database file, shared by all connections of the process to
//       the file.
//   (2) A record is kept while the process has the keychain open, even if the page is read
//       successfully later: a cache that returned wrong bytes once may have passed them on. The
//       records are erased when the process opens the keychain again after having closed it,
//       because another process may have recovered the keychain meanwhile.
//   (3) `isEmpty` costs one atomic load. It is checked before a miss (a search that finds nothing)
//       is trusted, and before every write. Before the write is committed, `recordingCount` shows
//       whether damage was found since its transaction began.
//   (4) A page that is read again with the same bytes is not recorded again. Otherwise each refill
//       of a cache would cause another examination of the whole database.

import Synchronization
import CKeychainSQLite

/// The damage found while reading one database.
///
/// A row that is found is authenticated by its own tag. A miss is not authentic if a page on the
/// path to it was damaged. Therefore call `Store.requireSound()` before you trust a miss, and don't
/// commit a transaction if ``recordingCount`` has changed since it began.
package final class PageDamage: Sendable {
    private struct Found {
        /// Damaged pages with the checksum of their bytes; `nil` if the file ends before the page,
        /// or for page 1 of a foreign file (see `PageProtection`).
        var pages: [UInt32: UInt64?] = [:]
        var frames: Set<UInt32> = []
        /// Whether commits are missing, or may be, although every page that was read is undamaged.
        var lostCommits = false
        /// The first problem that a verification found; it can exist although every page is
        /// undamaged.
        var problem: String?
        /// Whether a write of a damaged page was refused since the last call of
        /// `takeRefusedWrite()`.
        var refusedWrite = false
    }

    /// The path of the database file, as SQLite forms it by resolving links.
    package let path: String

    private let found = Mutex(Found())
    /// The number of open keychains that use this registry.
    private let useCount = Mutex(0)
    private let hasFound = Atomic(false)
    private let recordings = Atomic<UInt64>(0)
    private let encounters = Atomic<UInt64>(0)
    private let hasAdoptedLog = Atomic(false)

    private static let registries = Mutex<[String: PageDamage]>([:])

    /// The registry of databases in memory, whose pages are not read from a file. It is always
    /// empty.
    static let none = PageDamage(path: "")

    private init(path: String) {
        self.path = path
    }

    /// The registry of the database at a path.
    ///
    /// Paths that differ only in symbolic links, `.` or `..` return the same object, for the
    /// lifetime of the process. The file need not exist.
    package static func registry(forPath path: String) -> PageDamage {
        registry(forCanonicalPath: canonical(path))
    }

    /// The registry for a path in the form that SQLite passes to a VFS.
    static func registry(forCanonicalPath path: String) -> PageDamage {
        registries.withLock { registries in
            if let known = registries[path] { return known }
            let new = PageDamage(path: path)
            registries[path] = new
            return new
        }
    }

    /// The registry of a database, if this process has already created one; otherwise `nil`.
    static func known(forCanonicalPath path: String) -> PageDamage? {
        registries.withLock { $0[path] }
    }

    /// Whether no damage is recorded.
    package var isEmpty: Bool {
        !hasFound.load(ordering: .acquiring)
    }

    /// The number of recordings of damage, by any connection of the process. It never decreases,
    /// not even in `reset()`: two equal values mean that nothing was recorded in between.
    package var recordingCount: UInt64 {
        recordings.load(ordering: .acquiring)
    }

    /// How often a damaged page or frame was read, including repeated reads.
    var encounterCount: UInt64 { encounters.load(ordering: .acquiring) }

    /// The numbers of the pages of the database file whose tags or checksums are wrong, or that are
    /// missing at the end of the file, in ascending order. For a foreign file (see
    /// `PageProtection`), 1 is included. The first page of a file is 1.
    package var damagedPages: [UInt32] {
        found.withLock { $0.pages.keys.sorted() }
    }

    /// Whether commits may be missing even if the structure is intact: the log was damaged, or an
    /// older copy of the database was put back.
    package var hasDamagedLog: Bool {
        !isEmpty && found.withLock { $0.lostCommits || !$0.frames.isEmpty }
    }

    /// Whether a page may be written. A damaged page may not: the write would give it a valid tag,
    /// so the damaged content would be trusted.
    func mayWrite(page: UInt32) -> Bool {
        guard !isEmpty else { return true }
        return found.withLock { found in
            guard found.pages.keys.contains(page) else { return true }
            found.refusedWrite = true
            return false
        }
    }

    // MARK: The log

    /// Records that SQLite recovered a log that a process had left. The tags of its frames are
    /// valid, but some frames may be those of a failed transaction, put back later.
    func noteAdoptedLog() { hasAdoptedLog.store(true, ordering: .relaxed) }

    /// Whether ``noteAdoptedLog()`` was called since the last call of this method.
    func takeAdoptedLog() -> Bool { hasAdoptedLog.exchange(false, ordering: .relaxed) }

    // MARK: Writes

    /// Whether a write was refused since the last call of this method because it would have written
    /// a damaged page.
    func takeRefusedWrite() -> Bool {
        guard !isEmpty else { return false }
        return found.withLock { found in
            defer { found.refusedWrite = false }
            return found.refusedWrite
        }
    }

    /// The frames of the write-ahead log whose tags or checksums are wrong, or at which recovery
    /// began to drop committed transactions; in ascending order. The first frame of a log is 1. The
    /// page of such a frame is unknown, because its header may be damaged, too.
    package var damagedFrames: [UInt32] {
        found.withLock { $0.frames.sorted() }
    }

    /// Erases all records of damage. `recordingCount` and `encounterCount` keep their values.
    ///
    /// Call this after the file was replaced and every connection to the old file is closed. A page
    /// in the cache of an open connection is not read again, and so not recorded again.
    package func reset() {
        found.withLock { found in
            found = Found()
            hasFound.store(false, ordering: .releasing)
        }
    }

    /// Records a damaged page. `checksum` is that of the bytes read, to recognize the same bytes in
    /// later reads.
    func record(page: UInt32, checksum: UInt64?) {
        encounters.wrappingAdd(1, ordering: .releasing)
        found.withLock { found in
            guard found.pages.updateValue(checksum, forKey: page) != .some(checksum) else { return }
            noteRecordingAssumingLocked()
        }
    }

    /// Registers an opened keychain. If no other keychain uses the registry, all records are
    /// erased.
    func use() -> Use {
        useCount.withLock { count in
            if count == 0 { reset() }
            count += 1
        }
        return Use(of: self)
    }

    /// The use of the registry by an open keychain, until the keychain is closed.
    final class Use: Sendable {
        private let damage: Mutex<PageDamage?>

        fileprivate init(of damage: PageDamage) { self.damage = Mutex(damage) }

        deinit { end() }

        func end() {
            damage.withLock { damage in
                damage?.useCount.withLock { $0 -= 1 }
                damage = nil
            }
        }
    }

    func record(frame: UInt32) {
        encounters.wrappingAdd(1, ordering: .releasing)
        found.withLock { found in
            if found.frames.insert(frame).inserted { noteRecordingAssumingLocked() }
        }
    }

    /// Records that the database is not, or may not be, in the state of its last acknowledged
    /// commit, although every page that was read is undamaged: the end of its log was damaged, an
    /// older copy of the database was put back, or a checkpoint would have written a page in
    /// another's place. While damage is recorded, the log is neither truncated nor deleted.
    func recordLostCommits() {
        found.withLock { found in
            guard !found.lostCommits else { return }
            found.lostCommits = true
            noteRecordingAssumingLocked()
        }
    }

    /// Records that the database is not in the state of its last commit. Only the first problem is
    /// kept.
    func record(problem: String) {
        found.withLock { found in
            guard found.problem == nil else { return }
            found.problem = problem
            noteRecordingAssumingLocked()
        }
    }

    /// The first problem that a verification found; `nil` if there is none.
    var problem: String? { isEmpty ? nil : found.withLock { $0.problem } }

    private func noteRecordingAssumingLocked() {
        // In this order, a thread that reads the count and then `isEmpty` misses no recording that
        // the count includes.
        hasFound.store(true, ordering: .releasing)
        recordings.wrappingAdd(1, ordering: .releasing)
    }

    /// The form of a path that SQLite passes to the VFS, so that the VFS and its callers find the
    /// same registry. If SQLite can't resolve a path, it can't open the file either, and the path
    /// is returned unchanged.
    private static func canonical(_ path: String) -> String {
        // SAFETY: the default VFS is never freed. The buffer has the size that is passed to
        // `xFullPathname` and that it requires, and the name in it is NUL-terminated.
        guard let vfs = unsafe sqlite3_vfs_find(nil),
            let fullPathname = unsafe vfs.pointee.xFullPathname
        else { return path }
        let byteCount = unsafe max(vfs.pointee.mxPathname, 0) + 1
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(byteCount)) {
            buffer in
            guard let name = buffer.baseAddress else { return path }
            // In addition to SQLITE_OK there is SQLITE_OK_SYMLINK, whose low byte is 0 as well.
            let status = unsafe fullPathname(vfs, path, byteCount, name)
            return unsafe status & 0xFF == SQLITE_OK ? String(cString: name) : path
        }
    }
}
