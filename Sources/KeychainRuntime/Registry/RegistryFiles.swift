// RegistryFiles: files that say what programs may do, and which of them are believed.
//   (1) A program that could write such a file could give itself any right. So it has to belong to
//       the user whom the service runs as, or to root, and no other user may write it. What is
//       checked is the file that is read, not one that takes its name meanwhile.
//   (2) What stands beside a program is believed only where all of it is root's, up to the root of
//       the file system: what a user may move, the user may put together.

package import FoundationEssentials
import Glibc
import KeychainCore
package import KeychainCrypto

/// Why a file isn't believed. The text names the file and says what to do.
package struct DistrustedFile: Error, Hashable, Sendable {
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

package struct TrustedFile: Sendable {
    package let content: Data
    package let identity: FileIdentity

    /// Reads a file.
    package init(_ path: String, atMost limit: Int) throws(DistrustedFile) {
        // What isn't a plain file must not make the service wait.
        guard let descriptor = Files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = Files.status(of: descriptor)
        else { throw DistrustedFile(reason: "\(quoted(path)) can't be read: \(errorText(errno))") }
        guard status.isPlainFile else {
            throw DistrustedFile(reason: "\(quoted(path)) is no plain file")
        }
        try Self.check(path, status)
        guard let content = Files.content(of: descriptor, atMost: limit) else {
            throw DistrustedFile(
                reason: "\(quoted(path)) can't be read, or is larger than \(limit) bytes")
        }
        self.content = content
        identity = status.identity
    }

    /// Checks who may write a file or a folder.
    package static func check(_ path: String, _ status: FileStatus) throws(DistrustedFile) {
        guard status.owner == geteuid() || status.owner == 0 else {
            throw DistrustedFile(
                reason: "\(quoted(path)) belongs to another user (uid \(status.owner)); it has to "
                    + "belong to root or to the user of the service")
        }
        guard status.mode & 0o022 == 0 else {
            throw DistrustedFile(
                reason: "\(quoted(path)) can be written by others. Take that right away with "
                    + "`chmod go-w` after making sure that it is as it was")
        }
    }

    /// Whether a plain file and every folder above it are root's, and nobody else may write them.
    /// `status` is what the file system says of a path, without following a link.
    package static func isRoots(
        _ path: String, status: (String) -> FileStatus? = { Files.status(ofLink: $0) }
    ) -> Bool {
        guard path.hasPrefix("/"), status(path)?.isPlainFile == true else { return false }
        var place = path
        while true {
            guard let found = status(place.isEmpty ? "/" : place), found.owner == 0,
                found.mode & 0o022 == 0
            else { return false }
            guard !place.isEmpty, let slash = place.lastIndex(of: "/") else { return true }
            place = String(place[..<slash])
        }
    }
}
