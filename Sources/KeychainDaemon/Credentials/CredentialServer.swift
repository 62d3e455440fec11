// CredentialServer: the socket at which systemd requests the credentials of units.
//   (1) The address of a caller is trusted only if the kernel reports user id 0 for the caller,
//       because any process can bind a socket to any abstract name. A caller that isn't trusted, or
//       whose address doesn't have systemd's form, is disconnected without an answer.
//   (2) An answer is the secret, followed by the end of the stream. If there is no secret to give,
//       the answer is one byte longer than any credential may be. systemd then doesn't start the
//       unit. With an empty answer, it would start the unit with an empty secret.
//   (3) An answer is sent at once if the kernel permits a buffer of its size. If not, a caller that
//       doesn't receive the whole answer within `answerTime` is disconnected. systemd, which reads
//       to the end of the stream, then uses the received part as if it were the whole secret. A
//       reset of the connection would tell systemd, but a Unix socket is reset only if it is closed
//       with received bytes unread, and systemd sends none.

import Dispatch
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Synchronization

final class CredentialServer: Sendable {
    /// The maximum size of a credential in bytes: CREDENTIAL_SIZE_MAX of systemd's creds-util.h.
    static let byteCount = 1 << 20

    /// Returns the secret of a credential for the process with the given id.
    typealias Source = @Sendable (CredentialName, pid_t) throws(KeychainFailure) -> Data

    private let socket: ListeningSocket
    private let trusted: uid_t
    private let answerTime: Duration
    private let source: Source
    private let run: @Sendable (@escaping FairPool.Work) -> Void
    private let onLine: @Sendable (String) -> Void
    private let waker: Waker
    private let isEnding = Atomic<Bool>(false)
    private let end = DispatchSemaphore(value: 0)

    /// Creates a server that trusts the addresses of processes of the user `trusted`.
    ///
    /// `source` returns the secrets. `run` runs a closure on another thread; the closure looks up a
    /// secret and answers. If the service ends before the closure has begun, `run` still calls the
    /// closure, but with `isActive` set to `false`. `onLine` receives a line of text for each
    /// request and each refusal.
    init(
        _ socket: ListeningSocket, trusted: uid_t = 0, answerTime: Duration = .seconds(10),
        source: @escaping Source,
        run: @escaping @Sendable (@escaping FairPool.Work) -> Void,
        onLine: @escaping @Sendable (String) -> Void
    ) throws(ServiceFailure) {
        guard let waker = Waker() else {
            throw ServiceFailure("Can't listen: \(errorText(errno)).")
        }
        self.socket = socket
        self.trusted = trusted
        self.answerTime = answerTime
        self.source = source
        self.run = run
        self.onLine = onLine
        self.waker = waker
    }

    func start() throws(ServiceFailure) {
        let isStarted = Threads.start { [self] in
            while !isEnding.load(ordering: .acquiring) { acceptNext() }
            end.signal()
        }
        guard isStarted else { throw ServiceFailure("Can't listen: no thread can be started.") }
    }

    /// Stops accepting connections, and closes the socket. Called once.
    func stop() {
        isEnding.store(true, ordering: .releasing)
        waker.wake()
        end.wait()
        socket.close()
    }

    // MARK: Callers

    private func acceptNext() {
        let ready = Descriptor.ready(
            among: [socket.descriptor.number, waker.descriptor], milliseconds: -1)
        guard ready?[0] == true else { return }
        guard let caller = Sockets.accept(socket.descriptor.number) else {
            // If the process has no file descriptors left, the caller stays in the queue of the
            // socket.
            if errno != EAGAIN { usleep(10_000) }
            return
        }
        guard let peer = UnixSockets.peer(of: caller) else { return caller.close() }
        guard peer.uid == trusted else {
            onLine("credential refused: uid \(peer.uid) isn't systemd")
            return caller.close()
        }
        guard let name = Sockets.abstractName(ofPeerOf: caller).flatMap({ CredentialName($0) })
        else {
            onLine("credential refused: the caller's address doesn't name a unit and a credential")
            return caller.close()
        }
        run { [self] isActive in
            answer(name, to: caller, of: peer.pid, isActive)
            caller.close()
        }
    }

    private func answer(
        _ name: CredentialName, to caller: OwnedDescriptor, of process: pid_t, _ isActive: Bool
    ) {
        let asked = "credential \(name.credential) of the unit \(name.unit)"
        do throws(KeychainFailure) {
            guard isActive else { throw Workers.ending }
            var secret = try source(name, process)
            defer { secret.resetBytes(in: secret.startIndex..<secret.endIndex) }
            guard !secret.isEmpty, secret.count <= Self.byteCount else {
                throw .param("A credential has 1 to \(Self.byteCount) bytes.")
            }
            let isSent = send(secret, to: caller)
            onLine(isSent ? "\(asked): given" : "\(asked): the caller didn't receive all of it")
        } catch {
            onLine("\(asked): not given, \(error.reason)")
            _ = send(Data(count: Self.byteCount + 1), to: caller)
        }
    }

    private func send(_ data: Data, to caller: OwnedDescriptor) -> Bool {
        Sockets.setSendBuffer(Int32(Self.byteCount + 1), of: caller)
        let deadline = ContinuousClock.now + answerTime
        var rest = data[...]
        while !rest.isEmpty {
            let count = Sockets.send(rest, to: caller)
            if count > 0 {
                rest = rest.dropFirst(count)
                continue
            }
            guard errno == EAGAIN || errno == EINTR, ContinuousClock.now < deadline else {
                return false
            }
            _ = Descriptor.ready(among: [caller.number], for: POLLOUT, milliseconds: 100)
        }
        return true
    }
}

// MARK: - Use in a service

extension CredentialServer {
    /// The credential server of a service. It takes secrets from root's keychain. `nil` if no
    /// credential socket is configured or passed by the service manager.
    ///
    /// - Throws: ``ServiceFailure`` for a user's service, which doesn't have root's keychain, and
    ///   if the socket can't be used.
    static func make(
        _ configuration: DaemonConfiguration, given descriptor: Int32?,
        _ keychains: ServedKeychains, _ workers: Workers, _ log: AuditLog, _ audit: AuditTrail
    ) throws(ServiceFailure) -> CredentialServer? {
        guard descriptor != nil || configuration.credentialSocket != nil else { return nil }
        guard configuration.kind == .system else {
            throw ServiceFailure("Only the machine's service can give credentials to units.")
        }
        let socket =
            if let descriptor {
                try ListeningSocket(given: descriptor)
            } else {
                try ListeningSocket(
                    at: configuration.credentialSocket ?? "", isForEverybody: true, mode: 0o600)
            }
        return try CredentialServer(
            socket,
            source: { name, process throws(KeychainFailure) in
                try audit.recorded(name, process) { () throws(KeychainFailure) in
                    try keychains.secret(of: name)
                }
            },
            // The workers serve each party of ``FairPool`` in turn. These requests count as root's.
            run: { workers.submit(for: .user(0), $0) },
            onLine: { log.note("credential", reason: $0) })
    }
}

extension AuditTrail {
    /// Returns a secret for a unit after the audit record of the request has been written.
    fileprivate func recorded(
        _ name: CredentialName, _ process: pid_t, _ body: () throws(KeychainFailure) -> Data
    ) throws(KeychainFailure) -> Data {
        try begin()
        let items = TouchedItems()
        let secret = Result { () throws(KeychainFailure) in try items.collecting(body) }
        var status = Status(rawValue: 0)
        if case .failure(let failure) = secret { status = failure.status }
        try end(
            AuditRecord(
                user: 0, process: process, identity: name.unit, operation: "credential",
                itemClass: ItemClass.genericPassword.name, result: Int64(status.rawValue)),
            items: items.references, hasRoom: true)
        return try secret.get()
    }
}

extension ServedKeychains {
    /// The secret of the generic password in root's keychain whose service is the name of the unit,
    /// whose account is the name of the credential and whose access group is
    /// ``CredentialName/group``.
    fileprivate func secret(of name: CredentialName) throws(KeychainFailure) -> Data {
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(name.unit), .account: .string(name.credential)],
            accessGroup: CredentialName.group)
        let found = try keychain(of: 0).engine().perform(
            FindItems(query, Retrieval(includesData: true)),
            as: AccessGroups([CredentialName.group]))
        guard let secret = found.first?.data else { throw .itemNotFound }
        return secret
    }
}
