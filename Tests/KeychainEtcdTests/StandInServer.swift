// StandInServer: an HTTPS server that answers as a test says: rightly, wrongly, in part or not at
// all. `Wire` has etcd's answers for such servers, and `standInClient` makes clients of them.

#if Synchronization

import EtcdTestSupport
import Foundation
import KeychainEtcd
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A request as the server got it.
struct StandInRequest: Sendable {
    let path: String
    let token: String?
    let body: String
    /// The number of earlier requests to the same path.
    let index: Int
}

enum StandInReply: Sendable {
    /// An HTTP status and a body, with a header field `location` that a client must not follow.
    case answer(Int, String)
    /// Nothing, for as long as the client waits.
    case silence
    /// The end of the connection.
    case close
    /// An answer with status 200, in parts; then the end of the connection, or nothing more.
    case parts([String], closes: Bool)
}

final class StandInServer: Sendable {
    typealias Script = @Sendable (StandInRequest) -> StandInReply

    let endpoint: String
    private let channel: any Channel
    private let log: RequestLog

    /// The requests to a path, in their order.
    func requests(_ path: String) -> [StandInRequest] { log.requests(path) }

    /// The number of connections that arrived, including those whose handshake fails.
    var connectionCount: Int { log.connectionCount }

    private init(channel: any Channel, log: RequestLog) {
        (self.channel, self.log) = (channel, log)
        endpoint = "https://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    /// Runs a test with one server for each script.
    static func with(
        _ scripts: [Script], test: ([StandInServer], TestCertificates) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "stand-in-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificates = try TestCertificates(folder: folder)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificates.server)
                    .map { .certificate($0) },
                privateKey: .privateKey(
                    try NIOSSLPrivateKey(file: certificates.serverKey, format: .pem))))
        var servers: [StandInServer] = []
        for script in scripts {
            let log = RequestLog()
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    log.noteConnection()
                    return channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(NIOSSLServerHandler(context: context))
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(StandInHandler(script: script, log: log))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            servers.append(StandInServer(channel: channel, log: log))
        }
        do {
            try await test(servers, certificates)
        } catch {
            for server in servers { try? await server.channel.close() }
            throw error
        }
        for server in servers { try? await server.channel.close() }
    }
}

private final class RequestLog: Sendable {
    private let all = Mutex<[StandInRequest]>([])
    private let connections = Mutex(0)

    var connectionCount: Int { connections.withLock { $0 } }

    func noteConnection() { connections.withLock { $0 += 1 } }

    func note(path: String, token: String?, body: String) -> StandInRequest {
        all.withLock { all in
            let request = StandInRequest(
                path: path, token: token, body: body, index: all.count { $0.path == path })
            all.append(request)
            return request
        }
    }

    func requests(_ path: String) -> [StandInRequest] {
        all.withLock { $0.filter { $0.path == path } }
    }
}

private final class StandInHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let script: StandInServer.Script
    private let log: RequestLog
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    init(script: @escaping StandInServer.Script, log: RequestLog) {
        (self.script, self.log) = (script, log)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, ByteBuffer())
        case .body(let part): body.writeImmutableBuffer(part)
        case .end:
            guard let head else { return }
            let request = log.note(
                path: head.uri, token: head.headers.first(name: "authorization"),
                body: String(buffer: body))
            reply(script(request), context)
        }
    }

    private func reply(_ reply: StandInReply, _ context: ChannelHandlerContext) {
        func send(_ part: HTTPServerResponsePart) {
            context.writeAndFlush(wrapOutboundOut(part), promise: nil)
        }
        func head(_ status: Int, _ headers: HTTPHeaders) -> HTTPServerResponsePart {
            .head(.init(version: .http1_1, status: .init(statusCode: status), headers: headers))
        }
        switch reply {
        case .silence: break
        case .close: context.close(promise: nil)
        case .answer(let status, let text):
            send(
                head(
                    status,
                    ["content-length": "\(text.utf8.count)", "location": "https://127.0.0.1:1/"]))
            send(.body(.byteBuffer(ByteBuffer(string: text))))
            send(.end(nil))
        case .parts(let parts, let closes):
            send(head(200, [:]))
            for part in parts { send(.body(.byteBuffer(ByteBuffer(string: part)))) }
            if closes { context.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// What etcd answers, for scripts.
enum Wire {
    static let header =
        #""header":{"cluster_id":"1","member_id":"2","revision":"9","raft_term":"3"}"#
    static let empty = StandInReply.answer(200, "{\(header)}")

    static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// A key with its value, as in an answer.
    static func pair(_ key: String, _ value: String, revision: Int = 5) -> String {
        #"{"key":"\#(base64(key))","create_revision":"4","mod_revision":"\#(revision)","#
            + #""version":"2","value":"\#(base64(value))"}"#
    }

    static func range(_ pairs: [String], more: Bool = false) -> String {
        #"{\#(header),"kvs":[\#(pairs.joined(separator: ","))],"more":\#(more),"count":"7"}"#
    }

    static func refusal(_ status: Int, _ code: Int, _ message: String) -> StandInReply {
        .answer(status, #"{"error":"\#(message)","message":"\#(message)","code":\#(code)}"#)
    }

    static let invalidToken = refusal(401, 16, "etcdserver: invalid auth token")

    /// One message of a watch, as one line.
    static func watch(_ fields: String) -> String { #"{"result":{\#(header)\#(fields)}}"# + "\n" }

    static func events(_ pairs: [String], fragment: Bool = false) -> String {
        let events = pairs.map { #"{"kv":\#($0)}"# }.joined(separator: ",")
        return watch(#","events":[\#(events)]"# + (fragment ? #","fragment":true"# : ""))
    }
}

/// A client of stand-in servers. The client doesn't pause between rounds: after all servers have
/// failed, it tries them again at once.
func standInClient(
    _ endpoints: [String], _ certificates: TestCertificates, user: EtcdConfiguration.User? = nil,
    try limit: Duration = .seconds(20), overall: Duration = .seconds(60),
    watchCheck: Duration? = nil
) throws -> EtcdClient {
    var timing = EtcdTiming()
    (timing.tryDeadline, timing.overallDeadline) = (limit, overall)
    timing.watchCheckInterval = watchCheck ?? .seconds(3600)
    // The client pauses only before it checks a watch, not between rounds.
    timing.pause = { length in
        if length >= .seconds(3600) || length == watchCheck { try await Task.sleep(for: length) }
    }
    return try EtcdClient(
        try EtcdConfiguration(
            endpoints: endpoints, prefix: "test", authorityFile: certificates.authority,
            user: user, timing: timing))
}

#endif
