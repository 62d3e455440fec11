// PageDamage: which pages of a database were found damaged in this process.
//   (1) There is one per database file, shared by every connection of the process to it.
//   (2) What was recorded stays while the process has the keychain open, also if the page reads
//       well later: a cache that answered once with wrong bytes may have passed them on. It is
//       forgotten when the keychain is opened anew: another process may have recovered it
//       meanwhile.
//   (3) `isEmpty` costs one atomic load: it is asked before every miss and every commit.
//   (4) A page that is read again with the same bytes is nothing new, so that a cache that is
//       refilled does not have the whole structure examined each time.

import Synchronization
import CKeychainSQLite

/// The damage that was met while reading one database.
///
/// A hit proves itself by its authentication tag. A miss proves nothing if a page on the way to it
/// was damaged: before a miss is trusted, and before a transaction is committed that read
/// anything, ask ``isEmpty``.
package final class PageDamage: Sendable {
    private struct Found {
        /// With the checksum that their bytes have; nil: the file ends before them.
        var pages: [UInt32: UInt64?] = [:]
        var frames: Set<UInt32> = []
        /// Whether commits are missing though every page that was read is whole.
        var lostCommits = false
        /// What a verification found to be wrong though every page that was read is whole.
        var problem: String?
        /// Whether a write of a damaged page was refused since this was last asked.
        var refusedWrite = false
    }

    /// The database file, as SQLite names it after following links.
    package let path: String

    private let found = Mutex(Found())
    /// How many opened keychains this is the damage of.
    private let useCount = Mutex(0)
    private let hasFound = Atomic(false)
    private let recordings = Atomic<UInt64>(0)
    private let encounters = Atomic<UInt64>(0)
    private let hasAdoptedLog = Atomic(false)

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

    /// How often a page or frame was read that is not as it was written, the same ones again included.
    var encounterCount: UInt64 { encounters.load(ordering: .acquiring) }

    /// The numbers of the pages of the database file that do not fit their checksum, or that the
    /// file is too short for; ascending, the first page of a file is 1.
    package var damagedPages: [UInt32] {
        found.withLock { $0.pages.keys.sorted() }
    }

    /// Whether the log was damaged, so that commits may be missing, whatever the structure says.
    package var hasDamagedLog: Bool {
        !isEmpty && found.withLock { $0.lostCommits || !$0.frames.isEmpty }
    }

    /// Whether a page may be written. A damaged one would get a good checksum, and be believed.
    func mayWrite(page: UInt32) -> Bool {
        guard !isEmpty else { return true }
        return found.withLock { found in
            guard found.pages.keys.contains(page) else { return true }
            found.refusedWrite = true
            return false
        }
    }

    // MARK: The log

    /// The log that a process left was read anew. Its frames have tags that fit, but some of them may be of
    /// a transaction that failed, and put there since.
    func noteAdoptedLog() { hasAdoptedLog.store(true, ordering: .relaxed) }

    /// Whether it was since the last call.
    func takeAdoptedLog() -> Bool { hasAdoptedLog.exchange(false, ordering: .relaxed) }

    // MARK: Writes

    /// Whether a write failed since the last call because it would have written a damaged page.
    func takeRefusedWrite() -> Bool {
        guard !isEmpty else { return false }
        return found.withLock { found in
            defer { found.refusedWrite = false }
            return found.refusedWrite
        }
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

    /// Records a page. `checksum` is that of the bytes that were read, to tell them from others.
    func record(page: UInt32, checksum: UInt64?) {
        encounters.wrappingAdd(1, ordering: .releasing)
        found.withLock { found in
            guard found.pages.updateValue(checksum, forKey: page) != .some(checksum) else { return }
            noteRecordingAssumingLocked()
        }
    }

    /// Says that a keychain is being opened. What was recorded before the first one is forgotten.
    func use() -> Use {
        useCount.withLock { count in
            if count == 0 { reset() }
            count += 1
        }
        return Use(of: self)
    }

    /// The use of an opened keychain, until it is closed.
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

    /// Notes that the database is not what its last acknowledged commit left, though every page
    /// that was read is whole: the end of its log was damaged. The log is kept from now on.
    func recordLostCommits() {
        found.withLock { found in
            guard !found.lostCommits else { return }
            found.lostCommits = true
            noteRecordingAssumingLocked()
        }
    }

    /// Notes that the database is not what its last commit left. The first thing that was found
    /// stays.
    func record(problem: String) {
        found.withLock { found in
            guard found.problem == nil else { return }
            found.problem = problem
            noteRecordingAssumingLocked()
        }
    }

    /// What a verification found. nil: nothing.
    var problem: String? { isEmpty ? nil : found.withLock { $0.problem } }

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
