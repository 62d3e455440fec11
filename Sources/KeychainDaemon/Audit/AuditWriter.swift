// AuditWriter: writes the records of an audit and its anchor. The anchor contains the number, the
// key and the position of the next record. The records before the next one are those that the
// anchor counts.
//   (1) A record is written to its file before the record's key is replaced by the next record's
//       key, and before the anchor counts the record. If the process is killed in between, the
//       next opening accepts the lines after the anchor's position that authenticate with the
//       current key, and removes the rest.
//   (2) If the anchor counts records that are missing from the current file, the audit has a gap:
//       it continues in a new file, with the number in the anchor.
//   (3) Room for a record is reserved before its request is carried out.

import Glibc
import KeychainCore
import KeychainCrypto

/// Limits to the size of an audit.
package struct AuditLimits: Hashable, Sendable {
    /// The size in bytes at which a new file is begun.
    package var fileByteCount: Int64 = 8 << 20
    /// The maximum number of files. Beyond it, the oldest is removed.
    package var fileCount = 32

    package init() {}
}

struct AuditWriter: Sendable {
    private let folder: AuditFolder
    private let limits: AuditLimits
    private(set) var position: AuditPosition
    let labels: AuditItemLabels
    let anchor: OwnedDescriptor
    private(set) var file: OwnedDescriptor
    /// The offset up to which disk space is reserved for the file.
    private var roomEnd: Int64 = 0

    /// The state in which an audit was found when it was opened.
    struct Opening: Hashable, Sendable {
        var isNew = false
        /// The number of bytes after the last valid record that were removed, such as those of an
        /// unfinished record.
        var removedByteCount = 0
        var hasGap = false
        /// Why the previous audit couldn't be continued.
        var problem: String?
    }

    // MARK: Opening

    /// Opens the audit in a folder, or creates one if there is none or it can't be continued.
    static func open(
        _ folder: AuditFolder, _ limits: AuditLimits
    ) throws(KeychainFailure) -> (AuditWriter, Opening) {
        var opening = Opening()
        if !Files.makeFolder(folder.path, mode: 0o700), errno != EEXIST {
            throw AuditFolder.failure("make \(quoted(folder.path))")
        }
        guard let status = Files.status(ofLink: folder.path), status.isFolder,
            status.owner == geteuid(), status.mode & 0o077 == 0
        else {
            throw .notPermitted(
                "\(quoted(folder.path)) has to be a folder that belongs to the user that the "
                    + "service runs as, and that no other user may access.")
        }
        guard
            let anchor = Files.open(
                folder.anchorPath, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        else { throw AuditFolder.failure("write \(quoted(folder.anchorPath))") }
        do throws(KeychainFailure) {
            if let position = try AuditFolder.position(in: anchor) {
                return (try AuditWriter(folder, limits, position, anchor, &opening), opening)
            }
        } catch {
            // An audit with an unreadable anchor can't be continued, since the current key is only
            // in the anchor.
            guard error.status == .ioError else { throw error }
            opening.problem = error.reason
        }
        if opening.problem == nil, try !folder.files().isEmpty {
            opening.problem = "There are records but no anchor."
        }
        opening.isNew = true
        return (try AuditWriter(beginning: folder, limits, anchor), opening)
    }

    private init(
        beginning folder: AuditFolder, _ limits: AuditLimits, _ anchor: OwnedDescriptor
    ) throws(KeychainFailure) {
        let key = RecoveryCode.random()
        let origin = AuditOrigin(key)
        let path = folder.keyPath(origin.chain)
        do throws(KeychainFailure) {
            guard
                let descriptor = Files.open(
                    path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600),
                key.bytes.write(to: descriptor.number), fsync(descriptor.number) == 0
            else { throw AuditFolder.failure("write \(quoted(path))") }
            position = AuditPosition(origin)
            file = try Self.makeFile(folder, &position)
        } catch {
            // The next attempt uses a new key, so both files are useless.
            Files.remove(path)
            Files.remove(folder.file(origin.chain, from: 1).path)
            throw error
        }
        self.folder = folder
        self.limits = limits
        self.anchor = anchor
        labels = AuditItemLabels(key: position.itemKey)
        // Bytes that a longer file left after the end of the new anchor would make it invalid.
        if let size = Files.status(of: anchor)?.identity.size, size > AuditPosition.byteCount,
            ftruncate(anchor.number, off_t(AuditPosition.byteCount)) != 0
        {
            throw AuditFolder.failure("shorten the audit's anchor")
        }
        try writeAnchor()
        // A failure is harmless unless the power fails too, and then a missing file is reported as
        // a gap. The same applies below.
        try? folder.synchronize()
    }

    private init(
        _ folder: AuditFolder, _ limits: AuditLimits, _ position: AuditPosition,
        _ anchor: OwnedDescriptor, _ opening: inout Opening
    ) throws(KeychainFailure) {
        self.folder = folder
        self.limits = limits
        self.position = position
        self.anchor = anchor
        labels = AuditItemLabels(key: position.itemKey)
        let path = folder.file(position.chain, from: position.fileFirst).path
        if let file = Files.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK),
            let size = Files.status(of: file)?.identity.size, size >= position.offset
        {
            self.file = file
            opening.removedByteCount = try takeUp(size)
        } else {
            file = try Self.makeFile(folder, &self.position)
            opening.hasGap = true
        }
        try writeAnchor()
    }

    /// Accepts the valid records after the last one that the anchor counts.
    /// - Returns: The number of bytes that weren't valid records and were removed.
    private mutating func takeUp(_ size: Int64) throws(KeychainFailure) -> Int {
        let found = try AuditFolder.lines(of: file, from: position.offset)
        for line in found.lines {
            guard let (encoded, tag) = AuditRecord.parts(of: line),
                AuditRecord(encoded: encoded)?.number == position.next,
                position.key.tag(of: encoded) == tag
            else { break }
            position.advance(over: tag, byteCount: line.count + 1)
        }
        let rest = Int(size - position.offset)
        guard rest > 0 else { return 0 }
        guard ftruncate(file.number, off_t(position.offset)) == 0 else {
            throw AuditFolder.failure("shorten a file of the audit")
        }
        return rest
    }

    // MARK: Writing

    /// Reserves disk space for `count` more records, and begins a new file if the current one is
    /// full.
    /// - Returns: If there are too many files, the number of the last record that is to be removed
    ///   with its file; otherwise `nil`. Append an `audit-prune` record with this number as its
    ///   result, then call ``prune(upTo:)``.
    mutating func takeRoom(for count: Int) throws(KeychainFailure) -> UInt64? {
        var pruned: UInt64?
        if position.offset >= limits.fileByteCount {
            guard fdatasync(file.number) == 0 else {
                throw AuditFolder.failure("synchronize the audit")
            }
            file = try Self.makeFile(folder, &position)
            roomEnd = 0
            try writeAnchor()
            try? folder.synchronize()
            pruned = try surplusEnd()
        }
        let needed = end(of: count)
        guard needed > roomEnd else { return pruned }
        let end = needed + Self.roomStep
        guard Files.keepRoom(in: file, until: end) else {
            throw AuditFolder.failure("write the audit")
        }
        roomEnd = end
        return pruned
    }

    /// Whether ``takeRoom(for:)`` would have nothing to do.
    func hasRoom(for count: Int) -> Bool {
        position.offset < limits.fileByteCount && end(of: count) <= roomEnd
    }

    /// The highest offset at which `count` more records, and one record that the service itself
    /// writes, can end.
    private func end(of count: Int) -> Int64 {
        position.offset + Int64((count + 1) * AuditRecord.lineByteLimit)
    }

    private static let roomStep: Int64 = 1 << 18

    /// Writes a record with the next number.
    mutating func append(_ record: AuditRecord) throws(KeychainFailure) {
        var record = record
        record.number = position.next
        let encoded = record.encoded
        let tag = position.key.tag(of: encoded)
        let line = AuditRecord.line(encoded, tag: tag)
        guard line.withPlainBytes(writeTo: file.number, at: off_t(position.offset)) else {
            throw AuditFolder.failure("write the audit")
        }
        position.advance(over: tag, byteCount: line.count)
        try writeAnchor()
    }

    private func writeAnchor() throws(KeychainFailure) {
        guard position.encoded.write(to: anchor.number, at: 0) else {
            throw AuditFolder.failure("write the audit's anchor")
        }
    }

    /// Creates the file that begins with the next record.
    private static func makeFile(
        _ folder: AuditFolder, _ position: inout AuditPosition
    ) throws(KeychainFailure) -> OwnedDescriptor {
        let file = folder.file(position.chain, from: position.next)
        let header = AuditFolder.header(of: file, after: position.head)
        // An existing file with this name can be overwritten: the anchor counts none of its
        // records.
        guard
            let descriptor = Files.open(
                file.path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, mode: 0o600),
            header.withPlainBytes(writeTo: descriptor.number, at: 0)
        else { throw AuditFolder.failure("write \(quoted(file.path))") }
        position.beginFile(offset: header.count)
        return descriptor
    }

    /// The number of the last record in the oldest files beyond the limit. `nil` if there are none.
    private func surplusEnd() throws(KeychainFailure) -> UInt64? {
        let files = try folder.files().filter { $0.chain == position.chain }
        let surplus = files.count - limits.fileCount
        return surplus > 0 ? files[surplus].first - 1 : nil
    }

    /// Removes the files with the records up to a number.
    func prune(upTo number: UInt64) throws(KeychainFailure) {
        for file in try folder.files() where file.chain == position.chain && file.first <= number {
            Files.remove(file.path)
        }
    }
}
