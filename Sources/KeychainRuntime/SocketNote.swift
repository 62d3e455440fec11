// SocketNote: what a service says of the socket that it made, in the lock file beside it, and how a
// program sees that the service is gone.
//   (1) A service has the lock from before its socket is there until it has removed it, however it
//       ends. So a socket that a note names, and whose lock is free, is one that was left behind.
//   (2) A socket that another program made in its place, such as systemd's, is another file: no
//       note names it.
//   (3) Nothing is removed here: the next service does that, which has the lock alone.

import Glibc
package import KeychainCrypto

package struct SocketNote: Hashable, Sendable {
    /// The folder of the keychain that the service keeps, an absolute path.
    package let folder: String
    private let device: UInt64
    private let inode: UInt64
    /// When the socket was made: many file systems give the number of a file that was removed to the
    /// next one.
    private let changed: Int64

    /// The note about a socket that is there.
    package init(_ socket: FileStatus, folder: String) {
        self.folder = folder
        device = socket.identity.device
        inode = socket.identity.inode
        changed = socket.identity.changed
    }

    /// The lock file beside a socket.
    package static func path(beside socket: String) -> String { socket + ".lock" }

    private static let byteCount = 8 << 10

    /// Puts the note in the place of an earlier one. False: it failed, and `errno` says why.
    package func write(to file: OwnedDescriptor) -> Bool {
        let bytes = Array("\(device) \(inode) \(changed) \(folder)".utf8)
        return ftruncate(file.number, 0) == 0 && Descriptor.write(bytes, to: file.number)
    }

    /// nil: there is none, or nothing that can be read.
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

    /// The note of a service that is gone about the socket that it left. nil: the service is there
    /// or about to be, or nothing tells of the socket.
    package init?(leftWith socket: String) {
        guard
            let file = Files.open(
                Self.path(beside: socket), O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let there = Files.status(of: file), there.isPlainFile, there.owner == geteuid(),
            // Beside other programs that look; a service that starts meanwhile waits.
            Files.lock(file.number, LOCK_SH | LOCK_NB),
            let note = SocketNote(file), let status = Files.status(ofLink: socket),
            status.isSocket, status.owner == geteuid(),
            SocketNote(status, folder: note.folder) == note
        else { return nil }
        self = note
    }
}
