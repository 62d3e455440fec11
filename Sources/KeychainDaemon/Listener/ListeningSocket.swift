// ListeningSocket: the socket that programs connect to, the lock of its place, and what the service
// says to the program that started it.
//   (1) For one user, its folder can be entered, and it be opened, by that user alone. For the
//       machine, every user can connect, and only root or the service can replace it.
//   (2) A socket file that is there is replaced only under the lock of the place, and only when no
//       program answers at it: it was left by a service that was killed.
//   (3) A socket that the service was given is used as it is, and stays when the service ends.
//   (4) No two services have one socket or one keychain folder. The lock ends when it is given
//       back, or with the process that holds it, however that ends; the file stays.
//   (5) systemd, or another program that starts services as it does, is spoken to by the protocol
//       of sd_listen_fds(3) and sd_notify(3).

import Glibc
import KeychainCrypto

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
    ///   - isForEverybody: Whether all users of the machine may connect.
    /// - Throws: ``ServiceFailure`` where another program listens, or the folder isn't safe.
    init(at path: String, isForEverybody: Bool) throws(ServiceFailure) {
        guard path.hasPrefix("/"), path.utf8.count <= UnixSockets.pathByteCount else {
            throw ServiceFailure(
                "The path of the socket, \(path), has to be absolute and at most "
                    + "\(UnixSockets.pathByteCount) bytes long.")
        }
        try Self.prepareFolder(of: path, isForEverybody: isForEverybody)
        let lock = try ServiceLock(path + ".lock", for: "the socket \(path)")
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
        guard Files.setMode(path, isForEverybody ? 0o666 : 0o600), Sockets.listen(socket) else {
            let reason = errorText(errno)
            Files.remove(path)
            throw ServiceFailure("Can't listen at \(path): \(reason).")
        }
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
    /// The lock file in a keychain folder, which stands beside those of the store.
    static let fileName = "service-lock"

    private let descriptor: OwnedDescriptor

    /// Takes the lock.
    /// - Parameters:
    ///   - path: The lock file, which is made where it is missing.
    ///   - subject: What the lock is for, with its path.
    /// - Throws: ``ServiceFailure`` when another service has it.
    init(_ path: String, for subject: String) throws(ServiceFailure) {
        guard let descriptor = Files.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600) else {
            throw ServiceFailure("Can't write \(path): \(errorText(errno)).")
        }
        guard Files.lock(descriptor) else {
            throw ServiceFailure(
                "Another keychaind already serves \(subject). Stop it first, or choose another "
                    + "one.")
        }
        self.descriptor = descriptor
    }

    /// Gives the lock back.
    func end() { descriptor.close() }
}

// MARK: - The service manager

struct ServiceManager: Sendable {
    /// The first descriptor that a service is given.
    static let firstDescriptor: Int32 = 3

    /// The descriptor of the socket that the service was given. nil: none.
    let socket: Int32?
    private let notificationSocket: String?

    /// - Throws: ``ServiceFailure`` when more than one socket was given.
    init(
        listenPID: String?, listenDescriptorCount: String?, notificationSocket: String?,
        pid: pid_t
    ) throws(ServiceFailure) {
        self.notificationSocket = notificationSocket
        // Descriptors that are meant for another process were inherited by mistake.
        guard let listenPID, Int32(listenPID) == pid, let text = listenDescriptorCount,
            let count = Int32(text), count > 0
        else {
            socket = nil
            return
        }
        guard count == 1 else {
            throw ServiceFailure(
                "The service was given \(count) sockets. It takes one: ListenStream stands once "
                    + "in keychaind.socket.")
        }
        socket = Self.firstDescriptor
    }

    /// What the environment of this process says. It is forgotten there, so that no process that
    /// is started by this one takes it for its own.
    static func current() throws(ServiceFailure) -> ServiceManager {
        let listenPID = ProcessEnvironment.take("LISTEN_PID")
        let count = ProcessEnvironment.take("LISTEN_FDS")
        _ = ProcessEnvironment.take("LISTEN_FDNAMES")
        return try ServiceManager(
            listenPID: listenPID, listenDescriptorCount: count,
            notificationSocket: ProcessEnvironment.take("NOTIFY_SOCKET"), pid: getpid())
    }

    /// The service can be used.
    func tellReady() { tell("READY=1") }

    /// The service is about to end.
    func tellStopping() { tell("STOPPING=1") }

    private func tell(_ text: String) {
        if let notificationSocket { _ = Sockets.notify(notificationSocket, text) }
    }
}
