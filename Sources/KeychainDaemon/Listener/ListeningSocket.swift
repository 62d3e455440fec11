// ListeningSocket: the socket that programs connect to, and the lock of its place.
//   (1) For one user, its folder can be entered, and it be opened, by that user alone. For the
//       machine, every user can connect, and only root or the service can replace it.
//   (2) A socket file that is there is replaced only under the lock of the place, and only when no
//       program answers at it: it was left by a service that was killed.
//   (3) A socket that the service was given is used as it is, and stays when the service ends.
//   (4) No two services have one socket or one keychain folder. The lock ends when it is given
//       back, or with the process that holds it, however that ends; the file stays.
//   (5) The lock file says which socket was made and whose keychain is kept, so that programs see
//       that a socket was left behind: see `SocketNote`.

import Glibc
import KeychainCrypto
import KeychainRuntime

final class ListeningSocket: Sendable {
    let descriptor: OwnedDescriptor
    /// nil: it was given.
    private let made: (path: String, lock: ServiceLock)?

    /// Takes a socket that listens already.
    init(given descriptor: Int32) throws(ServiceFailure) {
        guard Sockets.isListening(descriptor) else {
            throw ServiceFailure(
                "Descriptor \(descriptor), which the service was given, is no Unix socket that "
                    + "listens.")
        }
        Sockets.prepare(descriptor)
        self.descriptor = OwnedDescriptor(descriptor)
        made = nil
    }

    /// Makes a socket.
    /// - Parameters:
    ///   - path: An absolute path of at most 107 bytes.
    ///   - isForEverybody: Whether all users of the machine may look into its folder.
    ///   - mode: Who may connect. nil: those who may look into the folder.
    ///   - keychain: The folder of the keychain that is kept, if programs may open it themselves.
    /// - Throws: ``ServiceFailure`` where another program listens, or the folder isn't safe.
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
                throw ServiceFailure("\(path) is there and is no socket. Nothing was changed.")
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

    /// Stops listening, and removes the socket file that was made.
    func close() {
        if let made { Files.remove(made.path) }
        descriptor.close()
        made?.lock.end()
    }

    /// Makes the folder where it is missing, with those above it.
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
            throw ServiceFailure("\(folder) is no folder of this user or of root.")
        }
        guard status.mode & (isForEverybody ? 0o022 : 0o077) == 0 else {
            throw ServiceFailure(
                "The folder of the socket, \(folder), is open to other users. Run "
                    + "`chmod \(isForEverybody ? "755" : "700") \(folder)`, or choose another one.")
        }
    }
}

// MARK: - Locks

struct ServiceLock: Sendable {
    private let descriptor: OwnedDescriptor

    /// Takes the lock.
    /// - Parameters:
    ///   - path: The lock file, which is made where it is missing.
    ///   - subject: What the lock is for, with its path.
    /// - Throws: ``ServiceFailure`` when another service has it. A program that looks whether one
    ///   has it is waited for.
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
                "Another keychaind already serves \(subject). Stop it first, or choose another "
                    + "one.")
        }
        self.descriptor = descriptor
    }

    /// For programs that look, each for a few microseconds, a second is long.
    private static let attemptCount = 50
    private static let rest: useconds_t = 20_000

    /// Notes in the lock file which socket was made, and the folder of the keychain that is kept.
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

    /// Gives the lock back.
    func end() { descriptor.close() }
}
