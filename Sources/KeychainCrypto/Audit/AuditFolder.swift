// AuditFolder: the folder with the files of audits. They contain the records, the anchor, and the
// verification key until it is removed.

import FoundationEssentials
import Glibc
package import KeychainCore

package struct AuditFolder: Hashable, Sendable {
    /// An absolute path.
    package let path: String

    package init(path: String) { self.path = path }

    package var anchorPath: String { path + "/anchor" }

    /// The path of the file with an audit's verification key. `chain` is the identifier of the
    /// audit.
    package func keyPath(_ chain: Bytes16) -> String {
        "\(path)/\(Hexadecimal.text(chain.bytes)).key"
    }

    // MARK: Files of records

    /// A file with a header line followed by consecutive records.
    package struct File: Hashable, Sendable {
        package let path: String
        /// The identifier of the audit.
        package let chain: Bytes16
        /// The number of the file's first record.
        package let first: UInt64
    }

    package func file(_ chain: Bytes16, from first: UInt64) -> File {
        let digits = String(first)
        let padded = String(repeating: "0", count: 20 - digits.count) + digits
        return File(
            path: "\(path)/\(Hexadecimal.text(chain.bytes))-\(padded).audit", chain: chain,
            first: first)
    }

    /// The existing files of records of all audits, ordered by audit and first record.
    package func files() throws(KeychainFailure) -> [File] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            // The error doesn't contain the system's error code. The code is taken from another
            // attempt to open the folder, which usually fails for the same reason.
            let opened = Files.open(path, O_RDONLY | O_DIRECTORY)
            throw Self.failure("read \(path)", code: opened == nil ? errno : EIO)
        }
        return names.sorted().compactMap { name in
            let parts = name.split(separator: "-")
            guard parts.count == 2, parts[1].hasSuffix(".audit"),
                let chain = Hexadecimal.bytes(parts[0]).flatMap({ Bytes16($0) }),
                let first = UInt64(parts[1].dropLast(6)), first > 0
            else { return nil }
            let file = file(chain, from: first)
            return file.path == path + "/" + name ? file : nil
        }
    }

    /// The header line of a file, including the line feed. `head` is the hash over all records
    /// before the file.
    package static func header(of file: File, after head: AuditHead) -> [UInt8] {
        Array(
            """
            keychain-audit 1 \(Hexadecimal.text(file.chain.bytes)) \(file.first) \
            \(Hexadecimal.text(head.bytes))

            """.utf8)
    }

    /// Consecutive lines of a file, and the bytes after the end of the last complete line. A file's
    /// first line is its header.
    package struct Lines {
        package var lines: [ArraySlice<UInt8>]
        package let rest: ArraySlice<UInt8>
    }

    /// Reads the lines from the byte at `offset` to the end of the file.
    package static func lines(
        of descriptor: OwnedDescriptor, from offset: Int64 = 0
    ) throws(KeychainFailure) -> Lines {
        // Bytes that are appended during the read are ignored.
        guard let size = Files.status(of: descriptor)?.identity.size, size >= offset,
            size - offset <= contentByteLimit,
            lseek(descriptor.number, off_t(offset), SEEK_SET) >= 0,
            let content = try? [UInt8](
                readingFrom: descriptor.number, atMost: Int(size - offset))
        else { throw failure("read a file of the audit") }
        guard let end = content.lastIndex(of: 0x0A) else {
            return Lines(lines: [], rest: content[...])
        }
        return Lines(
            lines: content[..<end].split(separator: 0x0A, omittingEmptySubsequences: false),
            rest: content[(end + 1)...])
    }

    /// The maximum number of bytes to read, which no file written by a service reaches.
    private static let contentByteLimit: Int64 = 1 << 30

    /// Decodes a file's header and returns the hash over all records before the file. Returns `nil`
    /// if the line is not the header of this file.
    package static func head(in header: ArraySlice<UInt8>, of file: File) -> AuditHead? {
        let fields = String(decoding: header, as: UTF8.self).split(separator: " ")
        guard let head = fields.last.flatMap({ Hexadecimal.bytes($0) }).map(AuditHead.init),
            Self.header(of: file, after: head).dropLast() == header
        else { return nil }
        return head
    }

    // MARK: The verification key

    /// The verification key stored in the folder; `nil` if it was removed.
    package func verificationKey(of chain: Bytes16) throws(KeychainFailure) -> RecoveryCode? {
        guard let descriptor = Files.open(keyPath(chain), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            if errno == ENOENT { return nil }
            throw Self.failure("read \(keyPath(chain))")
        }
        guard
            let bytes = try? SecretBytes(
                readingFrom: descriptor.number, atMost: RecoveryCode.byteCount),
            bytes.count == RecoveryCode.byteCount
        else { throw Self.failure("read \(keyPath(chain))", code: EINVAL) }
        return RecoveryCode(bytes: bytes)
    }

    /// Overwrites the file that contains the verification key with zeros, and then removes it.
    ///
    /// - Throws: An error if the file can't be overwritten or removed, and also if the file was
    ///   removed but the removal may not be durable.
    package func eraseVerificationKey(of chain: Bytes16) throws(KeychainFailure) {
        let path = keyPath(chain)
        guard let descriptor = Files.open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK),
            [UInt8](repeating: 0, count: RecoveryCode.byteCount)
                .withPlainBytes(writeTo: descriptor.number, at: 0),
            fsync(descriptor.number) == 0, Files.remove(path)
        else { throw Self.failure("remove \(path)") }
        try synchronize()
    }

    /// Makes the creation, renaming and removal of files in the folder durable.
    package func synchronize() throws(KeychainFailure) {
        guard let folder = Files.open(path, O_RDONLY | O_DIRECTORY), fsync(folder.number) == 0
        else { throw Self.failure("make the changes in \(path) durable") }
    }

    // MARK: Failures

    package static func failure(_ action: String, code: Int32 = errno) -> KeychainFailure {
        let reason = "Can't \(action): \(errorText(code))."
        return switch code {
        case ENOSPC, EDQUOT, EFBIG:
            KeychainFailure(.diskFull, reason + " Free some space and try again.")
        case EACCES, EPERM, ELOOP: .notPermitted(reason + " Check who owns the folder.")
        case ENOENT: KeychainFailure(.itemNotFound, reason)
        case EROFS: KeychainFailure(.readOnly, reason)
        default: KeychainFailure(.ioError, reason)
        }
    }
}
