// FreshnessNote: a record that lasts until the next boot. It says that a database was verified, and
// which state its files had after the last change by a keychain process.
// Documentation/Formats/freshness-note-v1.md.
//   (1) It is outside the keychain's folder, in a file that doesn't survive a shutdown. If there is
//       no folder for such a file, it is in the memory of this process.
//   (2) It is valid only while the files are in the recorded state. Changes that SQLite makes in a
//       keychain process update the record if it was valid before. Other changes never update it.
//   (3) A note that was altered, or that belongs to another boot or another keychain, is ignored.
//       Each folder has a note of its own.
//   (4) Its generation is that of the last recorded commit or, if a rotation replaced the database,
//       the end of an `Epoch`. The generation counts even while the rest of the note isn't valid
//       according to (2).
//   (5) When SQLite recovers a write-ahead log that was left behind, the database counts as
//       unverified: frames of a failed transaction may have been put back into the log, in place of
//       committed frames.
//   (6) A failure to read or write the note is not reported. Such a failure causes another
//       verification, and an older copy of the database may go undetected.

import Glibc
package import KeychainCore
import KeychainCrypto
import Synchronization

package final class FreshnessNote: Sendable {
    /// The path of the database, as SQLite forms it by resolving links.
    private let path: String
    private let keychainID: [UInt8]
    private let authenticator: StoreAuthenticator
    private let place: Place
    /// `nil` if the note is in memory.
    private let file: String?
    private let memory = Mutex<Content?>(nil)
    /// The note that this object wrote last. Its tag isn't verified again.
    private let latest = Mutex<(bytes: [UInt8], content: Content)?>(nil)

    private static let magic = Array("KCFN".utf8)
    private static let byteCount = 160
    private static let taggedByteCount = byteCount - StoreAuthenticator.tagByteCount

    init(
        ofDatabaseAt path: String, keychainID: [UInt8], _ authenticator: StoreAuthenticator,
        in place: Place
    ) {
        self.path = path
        self.keychainID = keychainID
        self.authenticator = authenticator.derived(for: "swift-keychain 2 freshness")
        self.place = place
        // The name is derived from the folder and not from the database's name, so that an earlier
        // database that is put back under another name is compared with the same note.
        let folder = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
        let name = self.authenticator.tag(of: Array("name".utf8) + Array(folder.utf8)).prefix(16)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        file = place.usableFolder.map { $0 + "/verified-" + name }
        Self.inUse.withLock { inUse in
            inUse[path, default: []].removeAll { $0.note == nil }
            inUse[path, default: []].append(Weak(note: self))
        }
    }

    private struct Weak: Sendable {
        weak var note: FreshnessNote?
    }

    /// The notes of this process's stores, by the paths of their databases.
    private static let inUse = Mutex<[String: [Weak]]>([:])

    fileprivate static func all(ofDatabaseAt path: String) -> [FreshnessNote] {
        inUse.withLock { $0[path, default: []].compactMap(\.note) }
    }

    /// Whether the note is shared with other processes.
    package var isShared: Bool { file != nil }

    // MARK: Content

    private struct Content: Hashable {
        /// Identifies the latest verification that began while the database was unverified. The
        /// identifier is random, so that the end of an earlier verification isn't mistaken for the
        /// end of the latest. A verification that begins while the database counts as verified
        /// takes over the existing identifier.
        var number: Bytes16
        var isVerified: Bool
        /// When the verification ended successfully or, if it hasn't yet, when it began; in seconds
        /// since 2001-01-01.
        var moment: Double
        var generation: UInt64
        var files: FileState
    }

    /// The properties of a database's files that reveal changes. The log's size and times are not
    /// among them, because its frames are bound to their positions and to its salts.
    private struct FileState: Hashable {
        var database: FileIdentity
        /// `nil` if the log is empty or missing.
        var logSalts: UInt64?

        func isKept(in now: FileState?) -> Bool {
            guard let now, now.database == database else { return false }
            return now.logSalts == nil || now.logSalts == logSalts
        }
    }

    private var filesNow: FileState? {
        Files.status(ofLink: path).map { status in
            FileState(database: status.identity, logSalts: Self.salts(ofLogAt: path + "-wal"))
        }
    }

    /// The 8 bytes of both salts, at offset 16 of the log. Closing the log releases no lock of
    /// SQLite, because SQLite doesn't lock that file.
    private static func salts(ofLogAt path: String) -> UInt64? {
        guard let file = Files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
        var reader = ByteReader(SystemCalls.read(file.number, count: 24))
        _ = reader.slice(16)
        return reader.number()
    }

    // MARK: Reading

    package enum Reading: Hashable, Sendable {
        /// The files were verified at the time `at`. After that, no process changed them, or only
        /// keychain processes did.
        case verified(at: Double)
        /// The files were verified at the time `since`. After that, they changed without a record
        /// of the change.
        case changed(since: Double)
        case none
    }

    package func read() -> Reading {
        guard let content, content.isVerified else { return .none }
        return content.files.isKept(in: filesNow)
            ? .verified(at: content.moment) : .changed(since: content.moment)
    }

    /// The recorded generation: that of the last recorded commit since the last boot or, if a
    /// rotation replaced the database, the end of an ``Epoch``.
    package var lastGeneration: UInt64? { content?.generation }

    static func ofDatabase(
        in folder: StoreFolder, keychainID: [UInt8], _ authenticator: StoreAuthenticator,
        place: Place
    ) -> FreshnessNote {
        FreshnessNote(
            ofDatabaseAt: PageDamage.registry(forPath: folder.path(of: .database)).path,
            keychainID: keychainID, authenticator, in: place)
    }

    private var content: Content? {
        var found: Content?
        update { found = $0 }
        return found
    }

    // MARK: Writing

    /// Records the generation of a durable commit, or the end of an ``Epoch``. The end of an epoch
    /// is recorded even if there is no note yet.
    func note(generation: UInt64) {
        update { content in
            if content == nil, Epoch.isEnd(generation), let files = filesNow {
                content = Content(
                    number: .random(), isVerified: false, moment: 0, generation: 0, files: files)
            }
            if let last = content?.generation, last < generation {
                content?.generation = generation
            }
        }
    }

    /// Marks the database as unverified, because SQLite recovered a log that a process had left.
    func doubt() { update { $0?.isVerified = false } }

    static func doubt(ofDatabaseAt path: String) {
        for note in all(ofDatabaseAt: path) { note.doubt() }
    }

    /// Begins a verification of a database whose header has the given generation.
    /// - Returns: The identifier of the verification.
    package func begin(generation: UInt64, at moment: Double) -> Bytes16 {
        var number = Bytes16.random()
        update { content in
            guard let files = filesNow else { return }
            if let content, content.isVerified, content.files.isKept(in: files) {
                // The database stays verified unless this verification finds a problem.
                number = content.number
            } else {
                content = Content(
                    number: number, isVerified: false, moment: moment,
                    generation: max(content?.generation ?? 0, generation), files: files)
            }
        }
        return number
    }

    /// Ends a verification.
    /// - Returns: Whether the result is recorded. A success isn't recorded if something other than
    ///   a keychain process changed the files meanwhile, or if another verification has since begun
    ///   while the database was unverified. Nothing is recorded if there is no note.
    @discardableResult
    package func end(_ number: Bytes16, isSound: Bool, at moment: Double) -> Bool {
        var isNoted = false
        update { content in
            guard let known = content else { return }
            if !isSound {
                content?.isVerified = false
            } else if known.number == number, known.files.isKept(in: filesNow) {
                content?.isVerified = true
                content?.moment = moment
            } else {
                return
            }
            isNoted = true
        }
        return isNoted
    }

    /// The verification's identifier in the note, if the note is valid.
    fileprivate var numberIfKept: Bytes16? {
        content.flatMap { $0.files.isKept(in: filesNow) ? $0.number : nil }
    }

    /// Records the current state of the files in the note, if its identifier is still `number`.
    fileprivate func carryOver(_ number: Bytes16) {
        update { content in
            if content?.number == number, let files = filesNow { content?.files = files }
        }
    }

    /// Passes the note to `change`, and writes the result if it differs. If the file can't be used,
    /// `change` gets `nil`, and its result is dropped.
    private func update(_ change: (inout Content?) -> Void) {
        guard let file else { return memory.withLock { change(&$0) } }
        // The sticky bit is set so that clean-ups of `XDG_RUNTIME_DIR` skip the file.
        guard
            let descriptor = Files.open(
                file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o1600),
            let status = Files.systemStatus(of: descriptor.number),
            status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0,
            Files.lock(descriptor.number, LOCK_EX)
        else {
            var none: Content?
            return change(&none)
        }
        let bytes = SystemCalls.read(descriptor.number, count: Self.byteCount)
        let known = latest.withLock { $0?.bytes == bytes ? $0?.content : nil }
        let old = known ?? decode(bytes)
        var new = old
        change(&new)
        guard let new, new != old else { return }
        let encoded = encode(new)
        encoded.withPlainBytes(writeTo: descriptor.number, at: 0)
        latest.withLock { $0 = (encoded, new) }
    }

    // MARK: Bytes

    private func encode(_ content: Content) -> [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.bytes(Self.magic)
        writer.number(UInt32(1))
        writer.number(
            (content.isVerified ? 1 : 0) | (content.files.logSalts == nil ? 0 : 2) as UInt32)
        writer.number(0 as UInt32)
        writer.bytes(keychainID)
        place.boot.write(to: &writer)
        content.number.write(to: &writer)
        writer.number(content.generation)
        writer.number(content.moment.bitPattern)
        let database = content.files.database
        writer.number(database.device)
        writer.number(database.inode)
        writer.number(database.size)
        writer.number(database.modified)
        writer.number(database.changed)
        writer.number(content.files.logSalts ?? 0)
        return writer.result + authenticator.tag(of: writer.result)
    }

    private func decode(_ bytes: [UInt8]) -> Content? {
        var reader = ByteReader(bytes)
        guard bytes.count == Self.byteCount, reader.bytes(4) == Self.magic,
            let version: UInt32 = reader.number(), version == 1,
            let flags: UInt32 = reader.number(), flags < 4,
            let zero: UInt32 = reader.number(), zero == 0,
            reader.bytes(16) == keychainID, reader.bytes16() == place.boot,
            let number = reader.bytes16(), let generation: UInt64 = reader.number(),
            let moment: UInt64 = reader.number(), let device: UInt64 = reader.number(),
            let inode: UInt64 = reader.number(), let size: Int64 = reader.number(),
            let modified: Int64 = reader.number(), let changed: Int64 = reader.number(),
            let salts: UInt64 = reader.number(),
            authenticator.isValid(
                Array(bytes[Self.taggedByteCount...]), for: Array(bytes[..<Self.taggedByteCount]))
        else { return nil }
        return Content(
            number: number, isVerified: flags & 1 != 0, moment: Double(bitPattern: moment),
            generation: generation,
            files: FileState(
                database: FileIdentity(
                    device: device, inode: inode, size: size, modified: modified, changed: changed),
                logSalts: flags & 2 == 0 ? nil : salts))
    }
}

// MARK: - Place

extension FreshnessNote {
    package struct Place: Hashable, Sendable {
        /// A folder of this user that is emptied at boot. If it is missing, it is created, provided
        /// that its parent is a folder of this user. `nil` for the memory of this process.
        package let folder: String?
        /// The identifier of the current boot.
        package let boot: Bytes16

        /// - Parameters:
        ///   - folder: An absolute path.
        ///   - boot: The identifier of the current boot. `nil` for the kernel's; if that can't be
        ///     read, `folder` is ignored.
        package init(folder: String?, boot: Bytes16? = nil) {
            let boot = boot ?? Self.kernelsBoot
            self.folder = boot == nil ? nil : folder
            self.boot = boot ?? Bytes16(high: 0, low: 0)
        }

        /// The memory of this process.
        package static let process = Place(folder: nil, boot: Bytes16(high: 0, low: 0))

        private static var kernelsBoot: Bytes16? {
            guard let file = Files.open("/proc/sys/kernel/random/boot_id", O_RDONLY) else {
                return nil
            }
            let digits = SystemCalls.read(file.number, count: 64)
                .compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 32 else { return nil }
            return Bytes16(
                stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
        }

        /// The folder, if no other user can write notes in it.
        fileprivate var usableFolder: String? {
            guard let folder, let slash = folder.lastIndex(of: "/") else { return nil }
            let parent = String(folder[..<slash])
            func isOurs(_ path: String) -> Bool {
                guard let status = Files.status(of: path) else { return false }
                return status.isFolder && status.owner == geteuid() && status.mode & 0o022 == 0
            }
            if isOurs(folder) { return folder }
            // The folder isn't created in a folder of another user, where it would be in that
            // user's way.
            guard isOurs(parent), Files.makeFolder(folder, mode: 0o700) else { return nil }
            return folder
        }
    }
}

// MARK: - Changes of the files

/// A change that SQLite makes to a database's files, starting before its first write. During the
/// change, SQLite holds a lock that only one process can have.
struct FreshnessChange: Sendable {
    /// The notes that are valid, with their identifiers.
    private let notes: [(note: FreshnessNote, number: Bytes16)]

    init(ofDatabaseAt path: String) {
        notes = FreshnessNote.all(ofDatabaseAt: path).compactMap { note in
            note.numberIfKept.map { (note, $0) }
        }
    }

    /// Records the current state of the files as the result of this change.
    func carryOver() {
        for (note, number) in notes { note.carryOver(number) }
    }
}
