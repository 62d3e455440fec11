// EtcdTransport: sends one request to one node over HTTPS, and interprets the answer.
//   (1) An answer of more than 8 MiB is rejected, and so is a message of a watch once more than
//       8 MiB have arrived without its end. Redirects aren't followed, and answers aren't
//       decompressed.
//   (2) A request ends at its deadline, however slowly its answer arrives. For a watch, this holds
//       until the answer begins; the body of an error then has a deadline of its own.
//   (3) An `EtcdTryFailure` says whether the node may have carried the request out.

#if Synchronization

import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// The failure of one attempt.
enum EtcdTryFailure: Error {
    /// The request was not carried out. It can be sent to another node, or later to the same one.
    case notCarriedOut(EtcdFailure.Reason)
    /// The request may have been carried out, or may still be carried out.
    case unanswered(EtcdFailure.Reason)
    /// The request was not carried out: the token is not valid at this node.
    case tokenRejected
    /// Sending the request again is useless. It was not carried out, or it is a read whose answer
    /// is too large for etcd's gateway.
    case final(EtcdFailure.Reason)
}

final class EtcdTransport: Sendable {
    static let answerLimit = 8 << 20

    private let client: HTTPClient

    /// - Throws: ``EtcdFailure`` if a certificate or key of the configuration can't be read.
    init(_ configuration: EtcdConfiguration) throws {
        var http = HTTPClient.Configuration(
            tlsConfiguration: try configuration.transportSecurity(),
            redirectConfiguration: .disallow, decompression: .disabled)
        // The timeout for connecting is shorter than the full deadline of an attempt. So if an
        // attempt has the full deadline and no connection is established before the timeout, the
        // request is known not to have been sent.
        http.timeout.connect = TimeAmount(configuration.timing.tryDeadline * 3 / 4)
        http.httpVersion = .http1Only
        http.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
        // Instead of connecting to the same node again, this module tries the next node by its own
        // rules.
        http.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(configuration: http)
    }

    /// The library's client has to be shut down before it is freed.
    deinit {
        let client = client
        Task { try? await client.shutdown() }
    }

    /// Ends all connections. Later requests are canceled.
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
    /// - Returns: The messages of the watch as they arrive, one per line.
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

    /// - Throws: ``EtcdTryFailure/unanswered(_:)``: without a valid answer of etcd, the request may
    ///   have been carried out.
    static func decode<Answer: Decodable>(_ answer: Data) throws -> Answer {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(Answer.self, from: answer)
        } catch {
            // The decoder's error can contain parts of the answer.
            throw EtcdTryFailure.unanswered(.malformed("it can't be decoded"))
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
    /// - Parameter error: The error of the HTTP client.
    init(transport error: any Error) {
        switch error {
        case is NIOTooManyBytesError: self = .unanswered(.answerTooLarge(EtcdTransport.answerLimit))
        case is NIOConnectionError: self = .notCarriedOut(.unreachable)
        case let error as IOError where Self.withoutConnection.contains(error.errnoCode):
            self = .notCarriedOut(.unreachable)
        case NIOSSLError.handshakeFailed, is NIOSSLExtraError: self = .notCarriedOut(.untrusted)
        // With TLS 1.3, a node may reject the client's certificate after the request was sent.
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

    /// System errors that occur only in `connect`. An unreachable host or network is not among
    /// them, since a connection can fail with that error after the request was sent.
    private static let withoutConnection: Set<Int32> = Set(
        [POSIXErrorCode.ECONNREFUSED, .EADDRNOTAVAIL].map(\.rawValue))

    /// - Parameters:
    ///   - status: The HTTP status, which isn't 200.
    ///   - answer: The body of the response.
    init(status: Int, answer: Data) {
        guard let error = try? JSONDecoder().decode(ErrorAnswer.self, from: answer) else {
            self = .unanswered(.malformed("it has HTTP status \(status) and no message of etcd"))
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
            self = .final(.compacted)
        case (8, "etcdserver: too many requests"): self = .notCarriedOut(failure)
        case (8, let text) where text.hasPrefix("grpc: received message larger than max"):
            self = .final(.answerTooLarge(EtcdTransport.answerLimit))
        // The gRPC codes INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, RESOURCE_EXHAUSTED,
        // FAILED_PRECONDITION, OUT_OF_RANGE and UNIMPLEMENTED.
        case (3, _), (5, _), (6, _), (8, _), (9, _), (11, _), (12, _): self = .final(failure)
        // All other errors, such as a timeout in the cluster, leave it open whether the request was
        // carried out.
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
                        "The file \(clientCertificate.keyFile) contains no readable private key in "
                            + "PEM."))
            }
        }
        return security
    }

    private static func certificates(_ file: String) throws -> [NIOSSLCertificate] {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty
        else {
            throw EtcdFailure(
                .misconfigured("The file \(file) contains no readable certificate in PEM."))
        }
        return certificates
    }
}

#endif
