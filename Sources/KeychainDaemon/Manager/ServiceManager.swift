// ServiceManager: the sockets and settings that the service manager passed to this process, and
// notifications to it. The service manager is systemd or another one with the same protocols.
// Protocols: sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3).
//   (1) If LISTEN_PID or WATCHDOG_PID is the id of another process, the sockets or the watchdog
//       were meant for that process and are ignored.
//   (2) The variables are removed from the environment, so that no child process takes them for its
//       own.

import Glibc
import KeychainCrypto

struct ServiceManager: Sendable {
    /// The first file descriptor that is passed to a service.
    static let firstDescriptor: Int32 = 3
    /// The name of the credential socket's file descriptor in FileDescriptorName=.
    static let credentialsName = "credentials"
    /// The prefix of the names of dedicated sockets in FileDescriptorName=.
    static let ownSocketPrefix = "own-"

    /// The file descriptor of the main socket. `nil` if none was passed to the service.
    let socket: Int32?
    /// The file descriptor of the socket at which the service manager requests credentials.
    let credentialSocket: Int32?
    /// The file descriptors of dedicated sockets, by name.
    let ownSockets: [String: Int32]
    /// The watchdog timeout. `nil` if the watchdog is off.
    let watchdogTime: Duration?
    let notificationSocket: String?

    /// - Parameters:
    ///   - environment: The environment variables of the process.
    ///   - pid: The id of the process.
    /// - Throws: ``ServiceFailure`` if more sockets were passed than the service uses.
    init(_ environment: [String: String], pid: pid_t) throws(ServiceFailure) {
        notificationSocket = environment["NOTIFY_SOCKET"].flatMap {
            // A path, or a name in the abstract namespace.
            $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil
        }
        watchdogTime = Self.watchdogTime(environment, pid)
        guard let listenPID = environment["LISTEN_PID"], Int32(listenPID) == pid,
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0
        else {
            socket = nil
            credentialSocket = nil
            ownSockets = [:]
            return
        }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(
            separator: ":", omittingEmptySubsequences: false)
        var sockets: [Int32] = []
        var credentialSockets: [Int32] = []
        var ownSockets: [String: Int32] = [:]
        for index in 0..<min(count, 1024) {
            let name = names.indices.contains(Int(index)) ? String(names[Int(index)]) : ""
            let descriptor = Self.firstDescriptor + index
            if name == Self.credentialsName {
                credentialSockets.append(descriptor)
            } else if name.hasPrefix(Self.ownSocketPrefix) {
                ownSockets[String(name.dropFirst(Self.ownSocketPrefix.count))] = descriptor
            } else {
                sockets.append(descriptor)
            }
        }
        guard sockets.count <= 1, credentialSockets.count <= 1 else {
            throw ServiceFailure(
                "The service manager passed \(count) sockets. The service accepts one main socket "
                    + "(a single ListenStream= in keychaind.socket), one with "
                    + "FileDescriptorName=\(Self.credentialsName), and dedicated sockets whose "
                    + "names begin with \(Self.ownSocketPrefix).")
        }
        socket = sockets.first
        credentialSocket = credentialSockets.first
        self.ownSockets = ownSockets
    }

    private static func watchdogTime(_ environment: [String: String], _ pid: pid_t) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }),
            microseconds > 0
        else { return nil }
        if let named = environment["WATCHDOG_PID"], Int32(named) != pid { return nil }
        return .microseconds(microseconds)
    }

    /// Reads and removes the variables of this process.
    static func current() throws(ServiceFailure) -> ServiceManager {
        let names = [
            "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC",
            "WATCHDOG_PID",
        ]
        var environment: [String: String] = [:]
        for name in names { environment[name] = ProcessEnvironment.take(name) }
        return try ServiceManager(environment, pid: getpid())
    }

    /// Reports that the service is ready.
    func tellReady() { tell("READY=1\nSTATUS=Ready") }

    /// Reports that the service is alive. `status` is text for people.
    func tellAlive(_ status: String) { tell("WATCHDOG=1\nSTATUS=\(status)") }

    /// Reports that the service is about to end.
    func tellStopping() { tell("STOPPING=1\nSTATUS=Ending") }

    private func tell(_ text: String) {
        if let notificationSocket { _ = Sockets.notify(notificationSocket, text) }
    }
}
