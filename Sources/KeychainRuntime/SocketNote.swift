// SocketNote: a note about the main socket of a user's service. The service writes it to the lock
// file beside the socket. From the note and the lock, a program sees whether the service has ended.
//   (1) A service takes the lock before it creates the socket, and holds it until it has removed
//       the socket or ends for any reason. So if a note names a socket and the lock is free, the
//       socket was left behind.
//   (2) If another program, such as systemd, has since created a socket at the same path, that is a
//       different file, and no note names it.
//   (3) A socket that was left behind isn't removed here. The next service removes it, under the
//       lock.

import Glibc
package import KeychainCrypto

package struct SocketNote: Hashable, Sendable {
    /// The folder of the keychain that the service has open. An absolute path.
    package let folder: String
    private let device: UInt64
    private let inode: UInt64
    /// The change time of the socket's inode. This distinguishes the socket from later files: many
    /// file systems give a new file the inode number of a removed one.
    private let changed: Int64

    /// The note about an existing socket.
    package init(_ socket: FileStatus, folder: String) {
        self.folder = folder
        device = socket.identity.device
        inode = socket.identity.inode
        changed = socket.identity.changed
    }

    /// The lock file beside a socket.
    package static func path(beside socket: String) -> String { socket + ".lock" }

    private static let byteCount = 8 << 10

    /// Replaces an earlier note. Returns `false` with `errno` set if it failed.
    package func write(to file: OwnedDescriptor) -> Bool {
        let bytes = Array("\(device) \(inode) \(changed) \(folder)".utf8)
        return ftruncate(file.number, 0) == 0 && Descriptor.write(bytes, to: file.number)
    }

    /// `nil` if there is no note or it can't be parsed.
    private init?(_ file: OwnedDescriptor) {
        guard let data = Files.content(of: file, atMost: Self.byteCount) else { return nil }
        let parts = String(decoding: data, as: UTF8.self)
            .split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let device = UInt64(parts[0]), let inode = UInt64(parts[1]),
            let changed = Int64(parts[2])
        else { return nil }
        (self.device, self.inode, self.changed) = (device, inode, changed)
        folder = String(parts[3])
    }

    /// The note about a socket that a service left behind when it ended. `nil` if the service is
    /// running or starting, or if no note names the socket.
    package init?(leftWith socket: String) {
        guard
            let file = Files.open(
                Self.path(beside: socket), O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let there = Files.status(of: file), there.isPlainFile, there.owner == geteuid(),
            // A shared lock, so that programs can check at the same time. A service that starts
            // meanwhile waits.
            Files.lock(file.number, LOCK_SH | LOCK_NB),
            let note = SocketNote(file), let status = Files.status(ofLink: socket),
            status.isSocket, status.owner == geteuid(),
            SocketNote(status, folder: note.folder) == note
        else { return nil }
        self = note
    }
}
