// ListeningSocket: the socket that programs connect to, and the lock for its path.
//   (1) Only the user and root can enter the folder of the main socket of a user's service, and so
//       connect. For dedicated sockets, see `OwnSockets`. Every user can connect to the main socket
//       of the machine's service, and only root or the service can replace it.
//   (2) An existing socket file is replaced only under the lock for its path, and only if no
//       program listens at it. Such a file is left behind by a service that was killed.
//   (3) A socket from the service manager is used as it is, and is not removed when the service
//       ends.
//   (4) No two services share a socket or a keychain folder. A lock is released explicitly or when
//       the process that holds it ends for any reason. The lock file remains, except that of a
//       dedicated socket which the registry no longer names.
//   (5) The lock file of the main socket of a user's service records the socket that was created
//       and the folder of the keychain, so that programs recognize a socket that was left behind:
//       see `SocketNote`.

import Glibc
import KeychainCrypto
import KeychainRuntime

final class ListeningSocket: Sendable {
    let descriptor: OwnedDescriptor
    /// `nil` if the socket came from the service manager.
    private let made: (path: String, lock: ServiceLock)?

    /// Takes over a listening socket from the service manager.
    init(given descriptor: Int32) throws(ServiceFailure) {
        guard Sockets.isListening(descriptor) else {
            throw ServiceFailure(
                "File descriptor \(descriptor) from the service manager isn't a listening Unix "
                    + "socket.")
        }
        Sockets.prepare(descriptor)
        self.descriptor = OwnedDescriptor(descriptor)
        made = nil
    }

    /// Creates a socket and listens.
    /// - Parameters:
    ///   - path: An absolute path of at most 107 bytes.
    ///   - isForEverybody: Whether all users of the machine may enter the socket's folder.
    ///   - mode: The mode of the socket. If it is `nil`, all users who may enter the folder may
    ///     connect.
    ///   - keychain: The folder of the keychain, if programs may open it themselves.
    /// - Throws: ``ServiceFailure`` if another program listens there or another service holds the
    ///   lock, if the folder isn't safe, if the path is invalid or leads to something other than a
    ///   socket, or if the socket can't be created.
    init(
        at path: String, isForEverybody: Bool, mode: mode_t? = nil, keychain: String? = nil
    ) throws(ServiceFailure) {
        guard path.hasPrefix("/"), path.utf8.count <= UnixSockets.pathByteCount else {
            throw ServiceFailure(
                "The path of the socket, \(path), has to be absolute and at most "
                    + "\(UnixSockets.pathByteCount) bytes long.")
        }
        try Self.prepareFolder(of: path, isForEverybody: isForEverybody)
        let lock = try ServiceLock(
            SocketNote.path(beside: path), for: "the socket \(path)")
        if let there = Files.status(ofLink: path) {
            guard there.isSocket else {
                throw ServiceFailure("\(path) exists and isn't a socket. Nothing was changed.")
            }
            guard !Sockets.isAnswered(path) else {
                throw ServiceFailure("Another program already listens at \(path). Stop it first.")
            }
            Files.remove(path)
        }
        guard let socket = Sockets.make(), Sockets.bind(socket, to: path) else {
            throw ServiceFailure("Can't make the socket \(path): \(errorText(errno)).")
        }
        let mode = mode ?? (isForEverybody ? 0o666 : 0o600)
        guard Files.setMode(path, mode), Sockets.listen(socket) else {
            let reason = errorText(errno)
            Files.remove(path)
            throw ServiceFailure("Can't listen at \(path): \(reason).")
        }
        if let keychain { try lock.note(path, keychain) }
        descriptor = socket
        made = (path, lock)
    }

    /// Stops listening, and removes the socket file if it was created here.
    func close() {
        if let made { Files.remove(made.path) }
        descriptor.close()
        made?.lock.end()
    }

    /// Creates the folder and its parents where they are missing, and checks the owner and the mode
    /// of the folder.
    private static func prepareFolder(
        of path: String, isForEverybody: Bool
    ) throws(ServiceFailure) {
        let components = path.split(separator: "/").dropLast()
        var folder = ""
        for component in components {
            folder += "/" + component
            Files.makeFolder(folder, mode: isForEverybody ? 0o755 : 0o700)
        }
        guard let status = Files.status(of: folder.isEmpty ? "/" : folder) else {
            throw ServiceFailure("Can't make the folder \(folder): \(errorText(errno)).")
        }
        guard status.isFolder, status.owner == geteuid() || status.owner == 0 else {
            throw ServiceFailure("\(folder) isn't a folder owned by this user or by root.")
        }
        guard status.mode & (isForEverybody ? 0o022 : 0o077) == 0 else {
            throw ServiceFailure(
                "The folder of the socket, \(folder), gives other users too many rights. Run "
                    + "`chmod \(isForEverybody ? "755" : "700") \(folder)`, or choose another one.")
        }
    }
}

// MARK: - Locks

struct ServiceLock: Sendable {
    private let descriptor: OwnedDescriptor

    /// Takes the lock.
    /// - Parameters:
    ///   - path: The lock file, which is created if it is missing.
    ///   - subject: What the lock protects, with its path.
    /// - Throws: ``ServiceFailure`` if another service holds the lock, or if the file can't be
    ///   written. A program that checks for a running service holds the lock briefly, so the
    ///   attempt is repeated for about a second.
    init(_ path: String, for subject: String) throws(ServiceFailure) {
        guard let descriptor = Files.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600) else {
            throw ServiceFailure("Can't write \(path): \(errorText(errno)).")
        }
        var attempts = 0
        while !Files.lock(descriptor) {
            attempts += 1
            guard attempts > Self.attemptCount else {
                usleep(Self.rest)
                continue
            }
            throw ServiceFailure(
                "Another keychaind already serves \(subject). Stop it first, or choose a "
                    + "different path.")
        }
        self.descriptor = descriptor
    }

    /// A program that checks for a running service holds the lock for a few microseconds, so a
    /// second is long enough.
    private static let attemptCount = 50
    private static let rest: useconds_t = 20_000

    /// Writes the identity of the socket and the folder of the keychain to the lock file.
    fileprivate func note(_ socket: String, _ keychain: String) throws(ServiceFailure) {
        guard let status = Files.status(ofLink: socket),
            SocketNote(status, folder: keychain).write(to: descriptor)
        else {
            let reason = errorText(errno)
            Files.remove(socket)
            throw ServiceFailure(
                "Can't write \(SocketNote.path(beside: socket)): \(reason).")
        }
    }

    /// Releases the lock.
    func end() { descriptor.close() }
}
