// HostileGateway: etcd's JSON gateway with its keys in memory, for a stand-in server. Until a test
// says otherwise, it answers as etcd does.

#if Synchronization

import Foundation
import Synchronization

final class HostileGateway: Sendable {
    struct Pair {
        var value: [UInt8]
        var created: Int64
        var modified: Int64
        var version: Int64
    }

    struct State {
        fileprivate(set) var pairs: [String: Pair] = [:]
        fileprivate var revision: Int64 = 1

        // MARK: The lies

        /// Whether the gateway omits a key from its answers.
        var isHidden: @Sendable (String) -> Bool = { _ in false }
        /// Returns the value that the gateway shows for a key.
        var shown: @Sendable (String, [UInt8]) -> [UInt8] = { $1 }
        /// Whether the gateway acknowledges writes without carrying them out.
        var dropsWrites = false
        /// Whether the gateway lists keys in reverse order.
        var isReversed = false

        /// The keys of a machine's log, in order. `machine` is its identifier in hexadecimal.
        func log(of machine: String) -> [String] {
            pairs.keys.filter { $0.contains("/l/\(machine)/") }.sorted()
        }

        func value(_ key: String) -> [UInt8]? { pairs[key]?.value }
    }

    private let state = Mutex(State())

    func with<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try state.withLock { try body(&$0) }
    }

    /// Gives another gateway the same keys. From then on, each gateway stores only its own
    /// changes.
    func copyKeys(to other: HostileGateway) {
        let (pairs, revision) = with { ($0.pairs, $0.revision) }
        other.with { ($0.pairs, $0.revision) = (pairs, revision) }
    }

    // MARK: The gateway

    func reply(_ request: StandInRequest) -> StandInReply {
        guard let message = Message(request.body) else {
            return Wire.refusal(400, 3, "the request isn't JSON")
        }
        return with { state in
            switch request.path {
            case "/v3/kv/range": .answer(200, "{\(state.header),\(state.range(message))}")
            case "/v3/kv/txn": .answer(200, state.transaction(message))
            case "/v3/kv/deleterange": .answer(200, state.deletion(message))
            case "/v3/watch":
                .parts([#"{"result":{\#(state.header),"created":true}}"# + "\n"], closes: false)
            default: Wire.refusal(404, 5, "Not Found")
            }
        }
    }
}

/// An object of a request's JSON.
private struct Message {
    private let fields: [String: Any]

    init?(_ text: String) {
        let object = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        guard let fields = object as? [String: Any] else { return nil }
        self.fields = fields
    }

    init(_ fields: [String: Any]) { self.fields = fields }

    func bytes(_ name: String) -> [UInt8]? {
        (fields[name] as? String).flatMap { Data(base64Encoded: $0) }.map { Array($0) }
    }

    func text(_ name: String) -> String? {
        bytes(name).map { String(decoding: $0, as: UTF8.self) }
    }

    func number(_ name: String) -> Int64 { (fields[name] as? String).flatMap { Int64($0) } ?? 0 }

    func messages(_ name: String) -> [Message] {
        (fields[name] as? [[String: Any]] ?? []).map { Message($0) }
    }

    func message(_ name: String) -> Message? {
        (fields[name] as? [String: Any]).map { Message($0) }
    }
}

extension HostileGateway.State {
    fileprivate var header: String { #""header":{"revision":"\#(revision)"}"# }

    /// The fields of an answer with keys. All keys are ASCII, so they sort as strings in the order
    /// in which etcd sorts their bytes.
    fileprivate func range(_ request: Message) -> String {
        let first = request.text("key") ?? ""
        let all = pairs.keys.filter { key in
            guard let end = request.text("range_end") else { return key == first }
            return key >= first && key < end
        }
        let keys = all.filter { !isHidden($0) }.sorted()
        let limit = Int(request.number("limit"))
        let page = limit > 0 ? Array(keys.prefix(limit)) : keys
        let texts = (isReversed ? page.reversed() : page).compactMap { key in
            pairs[key].map { pair in
                #"{"key":"\#(Wire.base64(key))","create_revision":"\#(pair.created)","#
                    + #""mod_revision":"\#(pair.modified)","version":"\#(pair.version)","#
                    + #""value":"\#(Data(shown(key, pair.value)).base64EncodedString())"}"#
            }
        }
        return #""kvs":[\#(texts.joined(separator: ","))],"more":\#(page.count < keys.count),"#
            + #""count":"\#(keys.count)""#
    }

    fileprivate mutating func transaction(_ request: Message) -> String {
        let holds = request.messages("compare").allSatisfy { comparison in
            pairs[comparison.text("key") ?? ""]?.modified ?? 0 == comparison.number("mod_revision")
        }
        if holds, !dropsWrites { revision += 1 }
        let parts = request.messages(holds ? "success" : "failure").map { operation in
            if let put = operation.message("request_put") {
                self.put(put.text("key") ?? "", put.bytes("value") ?? [])
                return #"{"response_put":{\#(header)}}"#
            }
            let range = operation.message("request_range").map(self.range) ?? ""
            return #"{"response_range":{\#(header),\#(range)}}"#
        }
        return #"{\#(header),"succeeded":\#(holds),"responses":[\#(parts.joined(separator: ","))]}"#
    }

    private mutating func put(_ key: String, _ value: [UInt8]) {
        guard !dropsWrites else { return }
        var pair = pairs[key] ?? .init(value: [], created: revision, modified: 0, version: 0)
        (pair.value, pair.modified, pair.version) = (value, revision, pair.version + 1)
        pairs[key] = pair
    }

    fileprivate mutating func deletion(_ request: Message) -> String {
        let (first, end) = (request.text("key") ?? "", request.text("range_end") ?? "")
        let keys = pairs.keys.filter { $0 >= first && $0 < end }
        if !dropsWrites {
            revision += 1
            for key in keys { pairs[key] = nil }
        }
        return #"{\#(header),"deleted":"\#(keys.count)"}"#
    }
}

#endif
