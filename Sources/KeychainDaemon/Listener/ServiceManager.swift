// ServiceManager: what systemd, or another program that starts services as it does, says and is
// told. The protocol is that of sd_listen_fds(3) and sd_notify(3).

import Glibc
import KeychainCrypto

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
