// RegistryFiles: files that define the rights of programs, and which of them are trusted.
//   (1) A program that can write such a file could give itself any right. So the file has to belong
//       to root or to the user of the service, and no other user may be able to write it. The check
//       is made on the open file, not on a path that may lead to a different file later.
//   (2) A service trusts the entitlements beside a program only if root owns the entitlements, the
//       program and all folders above them, and no other user may write any of these: a user could
//       replace files below any folder that the user may rename.

package import FoundationEssentials
import Glibc
import KeychainCore
package import KeychainCrypto

/// The reason why a file isn't trusted. The text names the file and states the problem.
package struct DistrustedFile: Error, Hashable, Sendable {
    package let reason: String
    /// Whether the file may be readable later, for example when the process has free descriptors
    /// again.
    package let isTransient: Bool

    package init(reason: String, isTransient: Bool = false) {
        self.reason = reason
        self.isTransient = isTransient
    }
}

package struct TrustedFile: Sendable {
    package let content: Data
    package let identity: FileIdentity

    /// Reads a file and checks that it can be trusted.
    package init(_ path: String, atMost limit: Int) throws(DistrustedFile) {
        // O_NONBLOCK, so that opening a pipe or a device can't block the service.
        guard let descriptor = Files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = Files.status(of: descriptor)
        else {
            let code = errno
            throw DistrustedFile(
                reason: "\(quoted(path)) can't be read: \(errorText(code))",
                isTransient: [EMFILE, ENFILE, ENOMEM].contains(code))
        }
        guard status.isPlainFile else {
            throw DistrustedFile(reason: "\(quoted(path)) isn't a plain file")
        }
        try Self.check(path, status)
        guard let content = Files.content(of: descriptor, atMost: limit) else {
            throw DistrustedFile(
                reason: "\(quoted(path)) can't be read, or is larger than \(limit) bytes")
        }
        self.content = content
        identity = status.identity
    }

    /// Checks that a file or a folder belongs to root or to the user of this process, and that no
    /// other user may write it.
    package static func check(_ path: String, _ status: FileStatus) throws(DistrustedFile) {
        guard status.owner == geteuid() || status.owner == 0 else {
            throw DistrustedFile(
                reason: "\(quoted(path)) belongs to another user (uid \(status.owner)); it has to "
                    + "belong to root or to the user of the service")
        }
        guard status.mode & 0o022 == 0 else {
            throw DistrustedFile(
                reason: "\(quoted(path)) can be written by other users. Make sure that it wasn't "
                    + "changed, then run `chmod go-w` on it")
        }
    }

    /// Whether root owns a plain file and all folders above it, and no other user may write them.
    /// `status` returns the status of a path without following a link.
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
