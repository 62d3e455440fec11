// TrustedFile: files that say what programs may do, and who could have written them.
//   (1) A program that could write such a file could give itself any right, so it has to belong to
//       the user whom the service runs as, or to root, and no other user may write it.
//   (2) What is checked is the file that is read, not one that takes its name meanwhile.

import FoundationEssentials
import Glibc
import KeychainCrypto

/// Why a file isn't believed. The text names the file and says what to do.
struct DistrustedFile: Error, Hashable, Sendable {
    let reason: String
}

struct TrustedFile: Sendable {
    let content: Data
    let identity: FileIdentity

    /// Reads a file.
    init(_ path: String, atMost limit: Int) throws(DistrustedFile) {
        // What isn't a plain file must not make the service wait.
        guard let descriptor = Files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = Files.status(of: descriptor)
        else { throw DistrustedFile(reason: "\(path) can't be read: \(errorText(errno))") }
        guard status.isPlainFile else { throw DistrustedFile(reason: "\(path) is no plain file") }
        try Self.check(path, status)
        guard let content = Files.content(of: descriptor, atMost: limit) else {
            throw DistrustedFile(
                reason: "\(path) can't be read, or is larger than \(limit) bytes")
        }
        self.content = content
        identity = status.identity
    }

    /// Checks who may write a file or a folder.
    static func check(_ path: String, _ status: FileStatus) throws(DistrustedFile) {
        guard status.owner == geteuid() || status.owner == 0 else {
            throw DistrustedFile(
                reason: "\(path) belongs to another user (uid \(status.owner)); it has to belong "
                    + "to root or to the user of the service")
        }
        guard status.mode & 0o022 == 0 else {
            throw DistrustedFile(
                reason: "\(path) can be written by others. Run `chmod go-w \(path)` after making "
                    + "sure that it is as it was")
        }
    }
}
