// EtcdTransport: one request to one node over HTTPS, and what its answer means.
//   (1) An answer has at most 8 MiB. Redirections aren't followed, and nothing is decompressed.
//   (2) A request ends at its deadline, however slowly its answer arrives.
//   (3) Every failure says whether the node may have carried the request out.

#if Synchronization

import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// What became of one try.
enum EtcdTryFailure: Error {
    /// It was not carried out, and another node, or later the same one, can be asked.
    case notCarriedOut(EtcdFailure.Reason)
    /// It may have been carried out, or may still be.
    case unanswered(EtcdFailure.Reason)
    /// It was not carried out: the token is not valid at this node.
    case tokenRejected
    /// It was not carried out, and asking again is of no use.
    case final(EtcdFailure.Reason)
}

final class EtcdTransport: Sendable {
    static let answerLimit = 8 << 20

    private let client: HTTPClient

    /// - Throws: ``EtcdFailure`` if a file of the configuration can't be read.
    init(_ configuration: EtcdConfiguration) throws {
        var http = HTTPClient.Configuration(
            tlsConfiguration: try configuration.transportSecurity(),
            redirectConfiguration: .disallow, decompression: .disabled)
        // Less than a try: then a request that has no connection is known not to have been sent.
        http.timeout.connect = TimeAmount(configuration.timing.tryDeadline * 3 / 4)
        http.httpVersion = .http1Only
        // The next node is tried instead, by the rules of this module.
        http.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
        http.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(configuration: http)
    }

    /// The library's client has to be shut down before it is freed.
    deinit {
        let client = client
        Task { try? await client.shutdown() }
    }

    /// Ends all connections. Requests after that are cancelled.
    func shutDown() async { try? await client.shutdown() }

    /// - Throws: ``EtcdTryFailure``, or `CancellationError`.
    func exchange<Answer>(
        _ method: EtcdMethod<Answer>, _ body: Data, at node: String, token: String?,
        within limit: Duration
    ) async throws -> Answer {
        let (status, answer) = try await withDeadline(limit) { [client] in
            let response = try await client.execute(
                Self.request(method.path, body, at: node, token: token), deadline: .distantFuture)
            let buffer = try await response.body.collect(upTo: Self.answerLimit)
            return (Int(response.status.code), Data(buffer.readableBytesView))
        }
        guard status == 200 else { throw EtcdTryFailure(status: status, answer: answer) }
        return try Self.decode(answer)
    }

    /// Begins a watch.
    ///
    /// - Returns: Its messages, one a line, as they come in.
    /// - Throws: As ``exchange(_:_:at:token:within:)``.
    func stream(
        _ method: EtcdMethod<WatchAnswer>, _ body: Data, at node: String, token: String?,
        within limit: Duration
    ) async throws -> HTTPClientResponse.Body {
        let response = try await withDeadline(limit) { [client] in
            try await client.execute(
                Self.request(method.path, body, at: node, token: token), deadline: .distantFuture)
        }
        guard response.status == .ok else {
            let buffer = try await withDeadline(limit) {
                try await response.body.collect(upTo: Self.answerLimit)
            }
            throw EtcdTryFailure(
                status: Int(response.status.code), answer: Data(buffer.readableBytesView))
        }
        return response.body
    }

    private static func request(
        _ path: String, _ body: Data, at node: String, token: String?
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: node + path)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        if let token { request.headers.add(name: "authorization", value: token) }
        request.body = .bytes(ByteBuffer(bytes: body))
        return request
    }

    // MARK: JSON

    static func encode(_ message: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return try encoder.encode(message)
    }

    /// - Throws: ``EtcdTryFailure/unanswered(_:)``: what has no answer of etcd's may be carried out.
    static func decode<Answer: Decodable>(_ answer: Data) throws -> Answer {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(Answer.self, from: answer)
        } catch {
            // What the decoder says can hold parts of the answer.
            throw EtcdTryFailure.unanswered(.malformed("a message that can't be read"))
        }
    }
}

/// Runs a request, and cancels it at the deadline.
private func withDeadline<Result: Sendable>(
    _ limit: Duration, _ request: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        defer { group.cancelAll() }
        group.addTask {
            do {
                return try await request()
            } catch {
                if Task.isCancelled || error as? HTTPClientError == .alreadyShutdown {
                    throw CancellationError()
                }
                throw EtcdTryFailure(transport: error)
            }
        }
        group.addTask {
            try await Task.sleep(for: limit)
            throw EtcdTryFailure.unanswered(.deadline)
        }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}

extension EtcdTryFailure {
    /// - Parameter error: What the HTTP client fails with.
    init(transport error: any Error) {
        switch error {
        case is NIOTooManyBytesError: self = .unanswered(.answerTooLarge(EtcdTransport.answerLimit))
        case is NIOConnectionError: self = .notCarriedOut(.unreachable)
        case let error as IOError where Self.withoutConnection.contains(error.errnoCode):
            self = .notCarriedOut(.unreachable)
        case NIOSSLError.handshakeFailed, is NIOSSLExtraError: self = .notCarriedOut(.untrusted)
        // With TLS 1.3 a node rejects the client's certificate when the request is on its way.
        case is BoringSSLError: self = .unanswered(.untrusted)
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
                self = .notCarriedOut(.unreachable)
            default: self = .unanswered(.unreachable)
            }
        default: self = .unanswered(.unreachable)
        }
    }

    /// Errors of the system that only `connect` fails with. That a host or a network can't be
    /// reached is not one of them: a connection can fail so after the request.
    private static let withoutConnection: Set<Int32> = Set(
        [POSIXErrorCode.ECONNREFUSED, .EADDRNOTAVAIL].map(\.rawValue))

    /// - Parameters:
    ///   - status: Of HTTP, and not 200.
    ///   - answer: Its body.
    init(status: Int, answer: Data) {
        guard let error = try? JSONDecoder().decode(ErrorAnswer.self, from: answer) else {
            self = .unanswered(.malformed("HTTP status \(status) without a message of etcd"))
            return
        }
        let failure = EtcdFailure.Reason.serverError(
            code: error.code, message: EtcdFailure.Reason.known(error.message))
        switch (error.code, error.message) {
        case (16, _), (3, "etcdserver: user name is empty"),
            (3, "etcdserver: revision of auth store is old"):
            self = .tokenRejected
        case (3, "etcdserver: authentication failed, invalid user ID or password"):
            self = .final(.unauthenticated)
        case (7, _): self = .final(.permissionDenied)
        case (11, "etcdserver: mvcc: required revision has been compacted"):
            self = .final(.compacted(nil))
        case (8, "etcdserver: too many requests"): self = .notCarriedOut(failure)
        case (8, let text) where text.hasPrefix("grpc: received message larger than max"):
            self = .final(.answerTooLarge(EtcdTransport.answerLimit))
        // Invalid argument, not found, already exists, exhausted, precondition, range, unimplemented.
        case (3, _), (5, _), (6, _), (8, _), (9, _), (11, _), (12, _): self = .final(failure)
        // Of the others, such as a time-out in the cluster, none says that nothing was done.
        default: self = .unanswered(failure)
        }
    }
}

extension EtcdConfiguration {
    fileprivate func transportSecurity() throws -> TLSConfiguration {
        var security = TLSConfiguration.makeClientConfiguration()
        security.minimumTLSVersion = .tlsv12
        security.certificateVerification = .fullVerification
        if let authorityFile {
            security.trustRoots = .certificates(try Self.certificates(authorityFile))
        }
        if let clientCertificate {
            security.certificateChain = try Self.certificates(clientCertificate.certificateFile)
                .map { .certificate($0) }
            do {
                security.privateKey = .privateKey(
                    try NIOSSLPrivateKey(file: clientCertificate.keyFile, format: .pem))
            } catch {
                throw EtcdFailure(
                    .misconfigured(
                        "The file \(clientCertificate.keyFile) has no private key in PEM that can "
                            + "be read."))
            }
        }
        return security
    }

    private static func certificates(_ file: String) throws -> [NIOSSLCertificate] {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty
        else {
            throw EtcdFailure(
                .misconfigured("The file \(file) has no certificate in PEM that can be read."))
        }
        return certificates
    }
}

#endif
