// OwnSockets: sockets that are identities: who connects to one has what the registry says of it.
//   (1) Those of a user's service follow the registry, each in a folder of its own below one that
//       only this user can enter. So who has it was given it: the folder, or the socket, by a mount
//       or an open file.
//   (2) Those of the machine's service are made by the service manager, since a client trusts a
//       socket at which root listens, and are there as long as the service.

import Glibc
import KeychainCrypto
import KeychainRuntime
import Synchronization

final class OwnSockets: Sendable {
    private struct Open {
        let listener: ListeningSocket
        let acceptor: Acceptor
    }

    /// Where the service's own socket is. nil: none are made.
    private let mainSocket: String?
    private let start: @Sendable (ListeningSocket, String) throws(ServiceFailure) -> Acceptor
    /// Those that were made, by their names; nil: none is made any more. And those that were given.
    private let made = Mutex<[String: Open]?>([:])
    private let given = Mutex<[Open]>([])

    /// `start` has the callers of a socket accepted, under its name.
    init(
        beside mainSocket: String?,
        start: @escaping @Sendable (ListeningSocket, String) throws(ServiceFailure) -> Acceptor
    ) {
        self.mainSocket = mainSocket
        self.start = start
    }

    /// Takes sockets that listen already.
    func take(_ sockets: [String: Int32]) throws(ServiceFailure) {
        for (name, descriptor) in sockets {
            let listener = try ListeningSocket(given: descriptor)
            let acceptor = try start(listener, name)
            given.withLock { $0.append(Open(listener: listener, acceptor: acceptor)) }
        }
    }

    /// Makes those sockets that are missing, and removes those that no name is there for.
    /// - Returns: What went wrong, each a text for people.
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
                "\(folder) is no folder that this user alone can enter. Run `chmod 700 \(folder)`.")
        }
        // Whoever was given it may be another user, as in a container.
        let listener = try ListeningSocket(at: path, isForEverybody: true)
        return Open(listener: listener, acceptor: try start(listener, name))
    }

    /// Accepts no caller any more. It is called once.
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

    /// What a socket that was closed leaves.
    private static func remove(_ path: String) {
        Files.remove(path + ".lock")
        _ = Files.removeFolder(String(path.dropLast("/socket".utf8.count)))
    }
}
