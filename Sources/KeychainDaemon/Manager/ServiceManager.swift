// ServiceManager: systemd, or another program that starts services as it does: what it gave this
// one, and what it is told. Protocols: sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3).
//   (1) What is meant for another process was inherited by mistake, and counts as nothing.
//   (2) What was taken from the environment is forgotten there, so that no process that is started
//       by this one takes it for its own.

import Glibc
import KeychainCrypto

struct ServiceManager: Sendable {
    /// The first descriptor that a service is given.
    static let firstDescriptor: Int32 = 3
    /// What the unit of the socket for credentials calls its descriptor.
    static let credentialsName = "credentials"
    /// What the name of a socket that is an identity begins with, in FileDescriptorName=.
    static let ownSocketPrefix = "own-"

    /// The descriptor of the socket that the service was given. nil: none.
    let socket: Int32?
    /// That of the socket at which the service manager asks for credentials.
    let credentialSocket: Int32?
    /// Those of sockets that are identities, by their names.
    let ownSockets: [String: Int32]
    /// How long the service may be silent. nil: for ever.
    let watchdogTime: Duration?
    private let notificationSocket: String?

    /// - Parameters:
    ///   - environment: The variables of the process.
    ///   - pid: Its number.
    /// - Throws: ``ServiceFailure`` for more sockets than there is a use for.
    init(_ environment: [String: String], pid: pid_t) throws(ServiceFailure) {
        notificationSocket = environment["NOTIFY_SOCKET"]
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
                "The service was given \(count) sockets. It takes one: ListenStream stands once "
                    + "in keychaind.socket; one with FileDescriptorName=\(Self.credentialsName); "
                    + "and those with names that begin with \(Self.ownSocketPrefix).")
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

    /// What the environment of this process says.
    static func current() throws(ServiceFailure) -> ServiceManager {
        let names = [
            "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC",
            "WATCHDOG_PID",
        ]
        var environment: [String: String] = [:]
        for name in names { environment[name] = ProcessEnvironment.take(name) }
        return try ServiceManager(environment, pid: getpid())
    }

    /// The service can be used.
    func tellReady() { tell("READY=1\nSTATUS=Ready") }

    /// The service works. `status` is for people.
    func tellAlive(_ status: String) { tell("WATCHDOG=1\nSTATUS=\(status)") }

    /// The service is about to end.
    func tellStopping() { tell("STOPPING=1\nSTATUS=Ending") }

    private func tell(_ text: String) {
        if let notificationSocket { _ = Sockets.notify(notificationSocket, text) }
    }
}
