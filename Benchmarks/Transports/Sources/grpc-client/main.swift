// grpc-client: etcd's own interface, with grpc-swift 2 over HTTP/2.

import Comparison
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Synchronization

struct GRPCInterface: EtcdInterface {
    let client: GRPCClient<HTTP2ClientTransport.Posix>
    /// Watches on a separate connection, which isn't closed because of the requests of `client`.
    let watcher: GRPCClient<HTTP2ClientTransport.Posix>

    func put(_ key: String, _ value: [UInt8]) async throws {
        var request = Message()
        request.append(1, bytes: Array(key.utf8))
        request.append(2, bytes: value)
        _ = try await unary("Put", request)
    }

    func range(from first: String, to end: String, limit: Int) async throws -> [[UInt8]] {
        var request = Message()
        request.append(1, bytes: Array(first.utf8))
        request.append(2, bytes: Array(end.utf8))
        request.append(3, limit)
        var values: [[UInt8]] = []
        forEachField(
            in: try await unary("Range", request)[...],
            bytes: { number, pair in
                guard number == 2 else { return }
                forEachField(
                    in: pair,
                    bytes: { if $0 == 5 { values.append(Array($1)) } })
            })
        return values
    }

    func watch(_ key: String, _ arrived: @escaping @Sendable () -> Void) async throws {
        var creation = Message()
        creation.append(1, bytes: Array(key.utf8))
        var request = Message()
        request.append(1, bytes: creation.bytes)
        let bytes = request.bytes
        try await watcher.bidirectionalStreaming(
            request: StreamingClientRequest { writer in
                try await writer.write(bytes)
                // The watch would end if this request stream ended.
                try await Task.sleep(for: .seconds(3600))
            },
            descriptor: MethodDescriptor(
                fullyQualifiedService: "etcdserverpb.Watch", method: "Watch"),
            serializer: Verbatim(), deserializer: Verbatim(), options: .defaults
        ) { response in
            for try await message in response.messages {
                forEachField(
                    in: message[...],
                    bytes: { number, _ in if number == 11 { arrived() } },
                    number: { number, value in if number == 3, value == 1 { arrived() } })
            }
        }
    }

    /// Repeats the request while the connection is closed: swift-nio-http2 closes it after 200
    /// pings in 30 seconds, and etcd sends one for almost every request.
    private func unary(_ method: String, _ message: Message) async throws -> [UInt8] {
        var options = CallOptions.defaults
        options.waitForReady = true
        while true {
            do {
                return try await client.unary(
                    request: ClientRequest(message: message.bytes),
                    descriptor: MethodDescriptor(
                        fullyQualifiedService: "etcdserverpb.KV", method: method),
                    serializer: Verbatim(), deserializer: Verbatim(), options: options
                ) { try $0.message }
            } catch let error as RPCError where error.code == .unavailable {
                repeated.add(1, ordering: .relaxed)
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }
}

/// How many requests were repeated.
let repeated = Atomic(0)
func transport() throws -> HTTP2ClientTransport.Posix {
    try HTTP2ClientTransport.Posix(
        target: .ipv4(address: "127.0.0.1", port: portArgument()), transportSecurity: .plaintext)
}

try await withGRPCClient(transport: transport()) { client in
    try await withGRPCClient(transport: transport()) { watcher in
        try await compare(GRPCInterface(client: client, watcher: watcher))
    }
}
print("requests repeated because the connection was closed:", repeated.load(ordering: .relaxed))
