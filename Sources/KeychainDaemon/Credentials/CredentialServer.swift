// CredentialServer: the socket at which systemd asks for the credentials of units.
//   (1) What the caller's address says is believed only of user id 0, by the kernel's word. Anybody
//       can give a socket any name.
//   (2) An answer is the secret and the end of the stream. Where there is no secret to give it is
//       one byte more than any credential may have: systemd then doesn't start the unit, which an
//       empty answer would start with an empty secret.
//   (3) The secret is handed out in full or the connection ends early; no connection is waited for
//       longer than `answerTime`.

import Dispatch
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Synchronization

final class CredentialServer: Sendable {
    /// CREDENTIAL_SIZE_MAX of systemd's creds-util.h.
    static let byteCount = 1 << 20

    /// The secret of a credential, for a process.
    typealias Source = @Sendable (CredentialName, pid_t) throws(KeychainFailure) -> Data

    private let socket: ListeningSocket
    private let trusted: uid_t
    private let answerTime: Duration
    private let source: Source
    private let run: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let onLine: @Sendable (String) -> Void
    private let waker: Waker
    private let isEnding = Atomic<Bool>(false)
    private let end = DispatchSemaphore(value: 0)

    /// The word of the user `trusted` on unit and credential is believed. `source` gives secrets;
    /// `run` has some thread look up and answer; `onLine` is told what was asked, and what was
    /// refused.
    init(
        _ socket: ListeningSocket, trusted: uid_t = 0, answerTime: Duration = .seconds(10),
        source: @escaping Source,
        run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
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

    /// Accepts nobody any more. It is called once.
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
            // Without descriptors left, the caller stays in the queue.
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
            onLine("credential refused: the caller's address names no unit and no credential")
            return caller.close()
        }
        run { [self] in
            answer(name, to: caller, of: peer.pid)
            caller.close()
        }
    }

    private func answer(
        _ name: CredentialName, to caller: OwnedDescriptor, of process: pid_t
    ) {
        let asked = "credential \(name.credential) of the unit \(name.unit)"
        do throws(KeychainFailure) {
            var secret = try source(name, process)
            defer { secret.resetBytes(in: secret.startIndex..<secret.endIndex) }
            guard !secret.isEmpty, secret.count <= Self.byteCount else {
                throw .param("A credential has 1 to \(Self.byteCount) bytes.")
            }
            let isSent = send(secret, to: caller)
            onLine(isSent ? "\(asked): given" : "\(asked): the caller didn't take it")
        } catch {
            onLine("\(asked): none, \(error.reason)")
            _ = send(Data(count: Self.byteCount + 1), to: caller)
        }
    }

    private func send(_ data: Data, to caller: OwnedDescriptor) -> Bool {
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

// MARK: - Of a service

extension CredentialServer {
    /// The one of a service, where it was told of a socket or given one: from root's keychain.
    /// - Throws: ``ServiceFailure`` in a user's service, which has no keychain of root's.
    static func make(
        _ configuration: DaemonConfiguration, given descriptor: Int32?,
        _ keychains: ServedKeychains, _ workers: Workers, _ log: AuditLog, _ audit: AuditTrail
    ) throws(ServiceFailure) -> CredentialServer? {
        guard descriptor != nil || configuration.credentialSocket != nil else { return nil }
        guard configuration.kind == .system else {
            throw ServiceFailure("Credentials of units are given by the service of the machine.")
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
            // A party of its own: no user has this number.
            run: { workers.run(for: .user(0), $0) }, onLine: { log.note("credential", reason: $0) })
    }
}

extension AuditTrail {
    /// Gives a secret for a unit once its record is written.
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
    /// The secret of the generic password in root's keychain whose service is the unit, whose
    /// account is the credential and whose access group is ``CredentialName/group``.
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
