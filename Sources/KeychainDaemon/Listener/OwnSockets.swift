// OwnSockets: dedicated sockets. A dedicated socket is an identity: a client that connects to one
// has the entitlements of the socket's entry in the registry.
//   (1) A user's service creates and removes its dedicated sockets as the registry says. Each has
//       its own folder, below a folder that only this user can enter. So a client of another user
//       has access only if the folder or the socket was passed to it, by a mount or as an open
//       file.
//   (2) The dedicated sockets of the machine's service are created by the service manager, since a
//       client trusts a socket only if root listens at it. The service listens at them until it
//       ends, whatever the registry says.

import Glibc
import KeychainCrypto
import KeychainRuntime
import Synchronization

final class OwnSockets: Sendable {
    private struct Open {
        let listener: ListeningSocket
        let acceptor: Acceptor
    }

    /// The path of the service's main socket. `nil` if dedicated sockets aren't created.
    private let mainSocket: String?
    private let start: @Sendable (ListeningSocket, String) throws(ServiceFailure) -> Acceptor
    /// The sockets that were created here, by name. `nil` after ``stop()``.
    private let made = Mutex<[String: Open]?>([:])
    /// The sockets that the service manager passed.
    private let given = Mutex<[Open]>([])

    /// `start` begins to accept the callers of a socket with the given name.
    init(
        beside mainSocket: String?,
        start: @escaping @Sendable (ListeningSocket, String) throws(ServiceFailure) -> Acceptor
    ) {
        self.mainSocket = mainSocket
        self.start = start
    }

    /// Takes over listening sockets from the service manager.
    func take(_ sockets: [String: Int32]) throws(ServiceFailure) {
        for (name, descriptor) in sockets {
            let listener = try ListeningSocket(given: descriptor)
            let acceptor = try start(listener, name)
            given.withLock { $0.append(Open(listener: listener, acceptor: acceptor)) }
        }
    }

    /// Creates the sockets that are missing, and removes those whose names are not in `names`.
    /// - Returns: Descriptions of what failed, for the user.
    func follow(_ names: Set<String>) -> [String] {
        guard let mainSocket else { return [] }
        return made.withLock { state in
            guard var made = state else { return [] }
            for (name, socket) in made where !names.contains(name) {
                made[name] = nil
                Self.close(socket)
                Self.remove(KeychainChoice.ownSocket(name, beside: mainSocket))
            }
            var problems: [String] = []
            for name in names.sorted() where made[name] == nil {
                do throws(ServiceFailure) {
                    made[name] = try open(name, beside: mainSocket)
                } catch {
                    problems.append("the socket \(name): \(error.reason)")
                }
            }
            state = made
            return problems
        }
    }

    private func open(_ name: String, beside mainSocket: String) throws(ServiceFailure) -> Open {
        let path = KeychainChoice.ownSocket(name, beside: mainSocket)
        let folder = path.dropLast("/\(name)/socket".utf8.count)
        Files.makeFolder(String(folder), mode: 0o700)
        guard let status = Files.status(ofLink: String(folder)), status.isFolder,
            status.owner == geteuid(), status.mode & 0o077 == 0
        else {
            throw ServiceFailure(
                "\(folder) isn't a folder that only this user can enter. Run `chmod 700 "
                    + "\(folder)`.")
        }
        // The client may run as another user, as in a container.
        let listener = try ListeningSocket(at: path, isForEverybody: true)
        return Open(listener: listener, acceptor: try start(listener, name))
    }

    /// Stops accepting callers. It is called once.
    func stop() {
        let made = made.withLock { made in
            defer { made = nil }
            return made
        }
        for socket in given.withLock({ $0 }) + (made ?? [:]).values { Self.close(socket) }
    }

    private static func close(_ socket: Open) {
        socket.acceptor.stop()
        socket.listener.close()
    }

    /// Removes what a closed socket leaves behind.
    private static func remove(_ path: String) {
        Files.remove(path + ".lock")
        _ = Files.removeFolder(String(path.dropLast("/socket".utf8.count)))
    }
}
