// Anchor: the last commit that was acknowledged, kept outside the database.
//   (1) It is written after the commit is durable, so it is never ahead of the database.
//   (2) It is not synchronized: a power failure may take it back, never forward.
//   (3) A database whose generation is behind it lost commits: its log was damaged, or an
//       older copy was put back.
//   (4) Two records, written in turn by generation: one that is torn or altered is passed over.
//   (5) A generation that ends an epoch is that of no commit: another database has taken the place of the
//       one whose key the record has.
//   (6) A record is never replaced by an earlier one: of two processes the later commit's may come
//       to its note first.

package import KeychainCrypto
import KeychainCore
import Glibc
import Synchronization

/// What generations are of commits, and what is said by others.
///
/// A database never comes to the end of its epoch by commits. A recovery goes on behind it.
package enum Epoch {
    private static let size: UInt64 = 1 << 48

    /// Above every commit that a database of that generation can come to.
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
        /// Opened for writing at the first note. -1: not yet, or it can't be.
        var descriptor: Int32 = -1
        /// What this process has left there, so that its own records aren't verified again.
        var bytes: [UInt8] = []
        var last: UInt64?
    }

    deinit {
        file.withLock { if $0.descriptor >= 0 { close($0.descriptor) } }
    }

    /// What an anchor file says.
    package enum Reading: Hashable, Sendable {
        case absent
        /// There is a file, and neither record is whole.
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

    /// The generation of the last acknowledged commit of the keychain in a folder; nil where the
    /// anchor doesn't tell.
    package static func last(
        in folder: StoreFolder, _ authenticator: StoreAuthenticator
    ) -> UInt64? {
        guard
            case .generation(let last) = Anchor(folder: folder, authenticator: authenticator).read()
        else { return nil }
        return last
    }

    /// Notes a commit. A failure costs the notice of a later loss, nothing else, so it is not
    /// an error of the write that was committed.
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
