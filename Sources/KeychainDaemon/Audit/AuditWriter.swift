// AuditWriter: writes an audit's records and its anchor.
//   (1) A record is in its file before its key is left for the next one, and before the anchor
//       says so. What a process that was killed in between has left is taken up when the audit is
//       opened again: what fits the key is a record, the rest is removed.
//   (2) Where the anchor knows of records that the files lack, the audit goes on behind the gap.
//   (3) Room for a record is taken before its request is carried out.

import Glibc
import KeychainCore
import KeychainCrypto

/// How large an audit gets.
package struct AuditLimits: Hashable, Sendable {
    /// A file that has so many bytes is followed by another one.
    package var fileByteCount: Int64 = 8 << 20
    /// The most files; the oldest is removed.
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
    /// Up to where the disk has room for the file.
    private var roomEnd: Int64 = 0

    /// How an audit was found.
    struct Opening: Hashable, Sendable {
        var isNew = false
        /// Of a record that was never finished.
        var removedByteCount = 0
        var hasGap = false
        /// Why the audit before couldn't be gone on with.
        var problem: String?
    }

    // MARK: Opening

    /// Opens the audit in a folder, and begins one where there is none.
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
                "\(quoted(folder.path)) has to be a folder that only the user of the service may "
                    + "use.")
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
            // One that can't be read can't be gone on with; nobody has the key.
            guard error.status == .ioError else { throw error }
            opening.problem = error.reason
        }
        if opening.problem == nil, try !folder.files().isEmpty {
            opening.problem = "There are records, and no anchor."
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
            // The next attempt makes others.
            Files.remove(path)
            Files.remove(folder.file(origin.chain, from: 1).path)
            throw error
        }
        self.folder = folder
        self.limits = limits
        self.anchor = anchor
        labels = AuditItemLabels(key: position.itemKey)
        try writeAnchor()
        folder.synchronize()
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

    /// Takes up what stands behind the last record that the anchor knows of.
    /// - Returns: How many bytes were no record, and were removed.
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

    /// Makes sure that the disk takes so many more records, and begins another file where that is
    /// due.
    /// - Returns: The number of the last record that was removed with its file.
    mutating func takeRoom(for count: Int) throws(KeychainFailure) -> UInt64? {
        var pruned: UInt64?
        if position.offset >= limits.fileByteCount {
            guard fdatasync(file.number) == 0 else {
                throw AuditFolder.failure("synchronize the audit")
            }
            file = try Self.makeFile(folder, &position)
            roomEnd = 0
            try writeAnchor()
            folder.synchronize()
            pruned = try prune()
        }
        // One more, for a record of the service itself.
        let needed = position.offset + Int64((count + 1) * AuditRecord.lineByteLimit)
        guard needed > roomEnd else { return pruned }
        let end = needed + Self.roomStep
        guard Files.keepRoom(in: file, until: end) else {
            throw AuditFolder.failure("write the audit")
        }
        roomEnd = end
        return pruned
    }

    private static let roomStep: Int64 = 1 << 18

    /// Writes a record, with the number that is next.
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

    /// Makes the file of the record that is next.
    private static func makeFile(
        _ folder: AuditFolder, _ position: inout AuditPosition
    ) throws(KeychainFailure) -> OwnedDescriptor {
        let file = folder.file(position.chain, from: position.next)
        let header = AuditFolder.header(of: file, after: position.head)
        // Nothing that is there is of use: no record of that number was ever written, or a file
        // was begun and the anchor doesn't know of it.
        guard
            let descriptor = Files.open(
                file.path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, mode: 0o600),
            header.withPlainBytes(writeTo: descriptor.number, at: 0)
        else { throw AuditFolder.failure("write \(quoted(file.path))") }
        position.beginFile(offset: header.count)
        return descriptor
    }

    /// Removes the oldest files beyond the limit.
    private func prune() throws(KeychainFailure) -> UInt64? {
        let files = try folder.files().filter { $0.chain == position.chain }
        let surplus = files.count - limits.fileCount
        guard surplus > 0 else { return nil }
        for file in files[..<surplus] { Files.remove(file.path) }
        return files[surplus].first - 1
    }
}
