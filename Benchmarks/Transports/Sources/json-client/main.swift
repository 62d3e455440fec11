// json-client: the JSON gateway, with async-http-client. Bytes are base64, numbers are strings.

import AsyncHTTPClient
import Comparison
import Foundation
import NIOCore

struct PutRequest: Encodable {
    let key: Data
    let value: Data
}

struct RangeRequest: Encodable {
    let key: Data
    let rangeEnd: Data
    let limit: Int
}

struct RangeAnswer: Decodable {
    struct Pair: Decodable { let value: Data }
    let kvs: [Pair]?
}

struct WatchRequest: Encodable {
    struct Create: Encodable { let key: Data }
    let createRequest: Create
}

struct WatchAnswer: Decodable {
    struct Event: Decodable {}
    struct Result: Decodable {
        let created: Bool?
        let events: [Event]?
    }
    let result: Result
}

struct JSONInterface: EtcdInterface {
    let client: HTTPClient
    let base: String

    func put(_ key: String, _ value: [UInt8]) async throws {
        _ = try await post("kv/put", PutRequest(key: Data(key.utf8), value: Data(value)))
    }

    func range(from first: String, to end: String, limit: Int) async throws -> [[UInt8]] {
        let request = RangeRequest(key: Data(first.utf8), rangeEnd: Data(end.utf8), limit: limit)
        let body = try await post("kv/range", request).collect(upTo: 64 << 20)
        let answer = try JSONDecoder().decode(RangeAnswer.self, from: Data(body.readableBytesView))
        return (answer.kvs ?? []).map { Array($0.value) }
    }

    func watch(_ key: String, _ arrived: @escaping @Sendable () -> Void) async throws {
        let request = WatchRequest(createRequest: .init(key: Data(key.utf8)))
        var rest = Data()
        for try await part in try await post("watch", request) {
            rest.append(contentsOf: part.readableBytesView)
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = try JSONDecoder().decode(WatchAnswer.self, from: rest[..<end])
                rest = Data(rest[(end + 1)...])
                if line.result.created == true { arrived() }
                for _ in line.result.events ?? [] { arrived() }
            }
        }
    }

    private func post(
        _ path: String, _ message: some Encodable
    ) async throws -> HTTPClientResponse.Body {
        var request = HTTPClientRequest(url: "\(base)/v3/\(path)")
        request.method = .POST
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(message)))
        let response = try await client.execute(request, timeout: .minutes(10))
        precondition(response.status == .ok, "\(response.status)")
        if path == "kv/put" { for try await _ in response.body {} }
        return response.body
    }
}

var configuration = HTTPClient.Configuration()
configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
let client = HTTPClient(configuration: configuration)
try await compare(JSONInterface(client: client, base: "http://127.0.0.1:\(portArgument())"))
try await client.shutdown()
