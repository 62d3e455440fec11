// Anchor: the generation of the last acknowledged commit, kept outside the database.
//   (1) It is written after the commit is durable, so it is never ahead of the database, except as
//       in (5).
//   (2) A write to it is not followed by `fsync`. A power failure may set it back, but never
//       forward.
//   (3) A database whose generation is lower than the anchor's was replaced, see (5), or has lost
//       commits: its log was damaged, or an older copy was put back.
//   (4) It has two records: the first is for even generations, the second for odd ones. A torn or
//       altered record is ignored.
//   (5) A generation that ends an epoch belongs to no commit. A record of it means that another
//       database has replaced the database whose key authenticates the record.
//   (6) A record is never replaced by the record of an earlier commit: of two processes, the one
//       with the later commit may write its record first.

package import KeychainCrypto
import KeychainCore
import Glibc
import Synchronization

/// Distinguishes generations of commits from those that have another meaning.
///
/// An epoch is a range of 2^48 generations. The commits of a database never reach the end of its
/// epoch. If that end was recorded, because the database was replaced, a database made by a
/// recovery numbers its commits from after that end.
package enum Epoch {
    private static let size: UInt64 = 1 << 48

    /// The end of the epoch of a generation.
    static func end(of generation: UInt64) -> UInt64 { (generation | (size - 1)) &+ 1 }

    static func isEnd(_ generation: UInt64) -> Bool { generation > 0 && generation % size == 0 }
}

/// Documentation/Formats/database-v2.md, "Anchor".
package final class Anchor: Sendable {
    private let folder: StoreFolder
    private let file = Mutex(File())
    private let authenticator: StoreAuthenticator
    private static let magic = Array("KCAN".utf8)
    private static let recordByteCount = 48

    package init(folder: StoreFolder, authenticator: StoreAuthenticator) {
        self.folder = folder
        self.authenticator = authenticator
    }

    private struct File {
        /// Opened for writing when the first commit is recorded. -1 before that, or if it can't be
        /// opened.
        var descriptor: Int32 = -1
        /// The file's content as last seen by this process, so that its own records aren't verified
        /// again.
        var bytes: [UInt8] = []
        var last: UInt64?
    }

    deinit {
        file.withLock { if $0.descriptor >= 0 { close($0.descriptor) } }
    }

    /// The content of an anchor file.
    package enum Reading: Hashable, Sendable {
        case absent
        /// The file exists, but it can't be read, or neither of its records is valid.
        case unreadable
        case generation(UInt64)
    }

    package func read() -> Reading {
        let file: SecretBytes?
        do { file = try folder.read(.anchor) } catch { return .unreadable }
        guard let file else { return .absent }
        return last(in: file.plainBytes).map { .generation($0) } ?? .unreadable
    }

    private func last(in file: [UInt8]) -> UInt64? {
        [0, Self.recordByteCount].compactMap { start -> UInt64? in
            guard file.count >= start + Self.recordByteCount else { return nil }
            return decode(Array(file[start..<start + Self.recordByteCount]))
        }.max()
    }

    /// The generation that the anchor in a folder records: that of the last acknowledged commit, or
    /// the end of an epoch. `nil` if the anchor is missing or unreadable.
    package static func last(
        in folder: StoreFolder, _ authenticator: StoreAuthenticator
    ) -> UInt64? {
        guard
            case .generation(let last) = Anchor(folder: folder, authenticator: authenticator).read()
        else { return nil }
        return last
    }

    /// Records a commit, or the end of an epoch, unless a later one is recorded. If this fails, a
    /// later loss of the commit may not be detected. The failure isn't reported, because the commit
    /// itself has succeeded.
    package func note(generation: UInt64) {
        let start = Int(generation % 2) * Self.recordByteCount
        let record = encode(generation)
        file.withLock { file in
            if file.descriptor < 0 {
                file.descriptor = folder.open(.anchor, O_RDWR | O_CREAT)
            }
            let descriptor = file.descriptor
            guard descriptor >= 0, SystemCalls.lock(descriptor, LOCK_EX) == 0 else { return }
            defer { _ = SystemCalls.lock(descriptor, LOCK_UN) }
            var bytes = SystemCalls.read(descriptor, count: 2 * Self.recordByteCount)
            if bytes != file.bytes { file.last = last(in: bytes) }
            guard file.last ?? 0 < generation else {
                file.bytes = bytes
                return
            }
            record.withPlainBytes(writeTo: descriptor, at: off_t(start))
            let missing = max(0, start + Self.recordByteCount - bytes.count)
            bytes += [UInt8](repeating: 0, count: missing)
            bytes.replaceSubrange(start..<start + Self.recordByteCount, with: record)
            (file.bytes, file.last) = (bytes, generation)
        }
    }

    private func encode(_ generation: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(Self.magic)
        writer.number(UInt32(1))
        writer.number(generation)
        return writer.result + authenticator.tag(of: writer.result)
    }

    private func decode(_ record: [UInt8]) -> UInt64? {
        var reader = ByteReader(record)
        guard reader.bytes(4) == Self.magic, let version: UInt32 = reader.number(), version == 1,
            let generation: UInt64 = reader.number(),
            authenticator.isValid(Array(record[16...]), for: Array(record[..<16]))
        else { return nil }
        return generation
    }
}
