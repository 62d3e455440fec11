// CodingTests: the JSON of etcd's gateway, answers that etcd can't have sent, the errors that
// explain refusals, the checks of a configuration, and the pauses between attempts.

#if Synchronization

import Foundation
import Testing

@testable import KeychainEtcd

@Suite struct `Messages to and from etcd` {
    private func json(_ message: some Encodable) throws -> String {
        let data = try EtcdTransport.encode(message)
        let object = try JSONSerialization.jsonObject(with: data)
        return String(
            decoding: try JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]),
            as: UTF8.self)
    }

    @Test func `requests have the field names and encodings of etcd's gateway`() throws {
        let range = RangeRequest(
            key: Base64Bytes("a/b"), rangeEnd: Base64Bytes(EtcdKey("a/b").end),
            limit: DecimalNumber(10), revision: DecimalNumber(.max))
        #expect(
            try json(range)
                == #"{"key":"YS9i","limit":"10","range_end":"YS9j","revision":"9223372036854775807"}"#
        )
        let transaction = TransactionRequest(
            compare: [.init(key: Base64Bytes("k"), modRevision: DecimalNumber(0))],
            success: [.requestPut(.init(key: Base64Bytes("k"), value: Base64Bytes([0, 255])))],
            failure: [.requestRange(RangeRequest(key: Base64Bytes("k")))])
        #expect(
            try json(transaction)
                == #"{"compare":[{"key":"aw==","mod_revision":"0","result":"EQUAL","target":"MOD"}],"#
                + #""failure":[{"request_range":{"key":"aw=="}}],"success":["#
                + #"{"request_put":{"key":"aw==","value":"AP8="}}]}"#)
        let deletion = DeletionRequest(key: Base64Bytes("k"), rangeEnd: Base64Bytes("l"))
        #expect(try json(deletion) == #"{"key":"aw==","range_end":"bA=="}"#)
        let watch = WatchRequest(
            createRequest: .init(
                key: Base64Bytes("k"), rangeEnd: Base64Bytes("l"),
                startRevision: DecimalNumber(7)))
        #expect(
            try json(watch)
                == #"{"create_request":{"fragment":true,"key":"aw==","progress_notify":true,"#
                + #""range_end":"bA==","start_revision":"7"}}"#)
    }

    /// The first answer is one of etcd 3.4.23, with fields added that no etcd has.
    @Test func `unknown fields of an answer are ignored, and missing fields have default values`()
        throws
    {
        let text =
            #"{"header":{"cluster_id":"10144879847569953045","member_id":"7","revision":"3","#
            + #""raft_term":"2","new":{}},"responses":[{"response_range":{"header":{"revision":"3"},"#
            + #""kvs":[{"key":"Yy9i","create_revision":"3","mod_revision":"3","version":"1","#
            + #""value":"djE=","lease":"5"}],"count":"1"}},{"response_put":{}}],"other":[null]}"#
        let answer: TransactionAnswer = try EtcdTransport.decode(Data(text.utf8))
        #expect(!answer.succeeded)
        #expect(answer.header.revision == 3)
        let pair = try #require(answer.parts.first?.responseRange?.keyValues.first)
        #expect(pair.item(below: "c/")?.key == "b")
        #expect(pair.item(below: "d/") == nil)
        #expect(pair.value == Array("v1".utf8))
        #expect(answer.parts[1].responseRange == nil)
        let empty: RangeAnswer = try EtcdTransport.decode(Data(#"{"header":{}}"#.utf8))
        #expect(empty.keyValues.isEmpty)
        #expect(!empty.hasMore)
    }

    @Test(arguments: [
        "", "{", "[]", "{}", "null", "<html>", #"{"header":{"revision":3}}"#,
        #"{"header":{"revision":"-3"}}"#, #"{"header":{"revision":"+3"}}"#,
        #"{"header":{"revision":""}}"#, #"{"header":{"revision":"9223372036854775808"}}"#,
        #"{"header":{},"kvs":{}}"#, #"{"header":{},"kvs":[{"key":"*"}]}"#,
        #"{"header":{},"kvs":[{"key":5}]}"#, #"{"header":{},"kvs":["a"]}"#,
        #"{"header":{},"more":"true"}"#,
    ])
    func `an answer that etcd can't have sent is refused`(_ text: String) {
        #expect(throws: EtcdTryFailure.self) {
            let _: RangeAnswer = try EtcdTransport.decode(Data(text.utf8))
        }
    }

    @Test(
        arguments: [
            ([1, 2], [1, 3]), ([1, 255], [2]), ([255], [0]), ([], [0]), ([97, 47], [97, 48]),
        ] as [([UInt8], [UInt8])])
    func `a prefix's range ends at the first key after the range, or at a zero byte if none exists`(
        _ prefix: [UInt8], _ end: [UInt8]
    ) {
        #expect(EtcdKey(prefix).end == EtcdKey(end))
    }

    @Test(arguments: [
        "http://a:1", "a:1", "", "https://", "https://user@a:1", "https://user:secret@a:1",
        "https://a:1/path", "https://a:1?q", "https://a:1#f", "https://a b",
    ])
    func `the error for an endpoint that isn't a plain https URL doesn't show the URL's password`(
        _ endpoint: String
    ) {
        do {
            _ = try EtcdConfiguration(endpoints: [endpoint], prefix: "p")
            Issue.record("The endpoint is accepted.")
        } catch {
            #expect(error is EtcdFailure)
            #expect(!"\(error)".contains("secret"))
        }
    }

    @Test func `an endpoint with an empty port means the same as one without a port`() throws {
        let configuration = try EtcdConfiguration(
            endpoints: ["https://a:/", "https://a:", "https://a/"], prefix: "p")
        #expect(configuration.nodes == ["https://a", "https://a", "https://a"])
    }

    @Test func `the error for a certificate file that can't be read names the file`() throws {
        let configuration = try EtcdConfiguration(
            endpoints: ["https://etcd.example.org"], prefix: "p/", authorityFile: "/nowhere/ca")
        #expect(configuration.prefix == "p/")
        let failure = #expect(throws: EtcdFailure.self) { _ = try EtcdClient(configuration) }
        #expect("\(try #require(failure))".contains("/nowhere/ca"))
    }

    @Test func `the range of a pause doubles from round to round up to a maximum`() {
        let timing = EtcdTiming()
        for (round, length) in [(1, 100), (2, 200), (5, 1600), (6, 2000), (1_000_000, 2000)] {
            let whole = Duration.milliseconds(length)
            #expect((whole / 2...whole).contains(timing.pauseLength(round: round)))
        }
    }

    @Test(arguments: [
        (400, 3, "etcdserver: duplicate key given in txn request", "duplicate key"),
        (400, 9, "etcdserver: authentication is not enabled", "not enabled"),
        (400, 11, "etcdserver: mvcc: required revision has been compacted", "no longer has"),
        (403, 7, "secret", "no right"),
        (400, 3, "etcdserver: authentication failed, invalid user ID or password", "password"),
        (400, 3, "secret", "code 3"), (503, 14, "etcdserver: secret", "code 14"),
    ])
    func `a refusal by etcd is explained without quoting unknown text from the server`(
        _ status: Int, _ code: Int, _ message: String, _ part: String
    ) throws {
        let answer = Data(#"{"message":"\#(message)","code":\#(code)}"#.utf8)
        switch EtcdTryFailure(status: status, answer: answer) {
        case .final(let reason), .unanswered(let reason):
            let text = "\(EtcdFailure(reason, node: "https://a"))"
            #expect(text.contains(part))
            #expect(!text.contains("secret"))
        default: Issue.record("The failure is neither final nor unanswered.")
        }
    }
}

#endif
