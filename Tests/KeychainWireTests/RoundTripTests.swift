// RoundTripTests: what one end sends is what the other end reads.

import Foundation
import KeychainEngine
import KeychainModel
import KeychainWire
import Testing

@Suite struct `Messages of the service` {
    /// How many values of each kind are tried.
    static let rounds = 60

    /// The fields of a `oneof` in the document of the protocol.
    static func fields(of oneof: String) throws -> Set<String> {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/KeychainWire/Protocol/keychain.proto")
        let text = try String(contentsOf: file, encoding: .utf8)
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let start = try #require(lines.firstIndex { $0 == "oneof \(oneof) {" })
        let body = lines[(start + 1)...].prefix { $0 != "}" }
        return Set(body.compactMap { $0.firstMatch(of: /^\w+ (\w+) = \d+;$/).map { String($0.1) } })
    }

    @Test func `every request arrives as it was sent`() throws {
        var values = RandomValues(seed: 1)
        var names: Set<String> = []
        var count = 0
        for _ in 0..<Self.rounds {
            for (name, operation) in values.operations() {
                let sent = ServiceRequest(
                    id: values.generator.next() | 1, claim: values.groups(), operation)
                let received = try ReceivedRequest(bytes: sent.frame().message)
                let request = try received.request.get()
                #expect(received.id == sent.id && request.id == sent.id)
                #expect(request.claim == sent.claim, "\(name)")
                #expect(request.operation.isSame(as: operation), "\(name)")
                names.insert(name)
                count += 1
            }
        }
        #expect(try names == Self.fields(of: "operation"))
        #expect(names.count == 26 && count == 26 * Self.rounds)
    }

    @Test func `every reply arrives as it was sent`() throws {
        var values = RandomValues(seed: 2)
        var names: Set<String> = []
        var count = 0
        for _ in 0..<Self.rounds {
            for (name, content) in values.contents() {
                let sent = ServiceReply(id: values.generator.next(), content)
                let frames = sent.frames()
                #expect(frames.count == 1)
                for frame in frames {
                    #expect(try ServiceReply(bytes: frame.message) == sent, "\(name)")
                }
                names.insert(name)
                count += 1
            }
        }
        #expect(try names == Self.fields(of: "content"))
        #expect(names.count == 15 && count == 15 * Self.rounds)
    }

    /// So that a field that is added to a type, and forgotten in the messages, fails above: the
    /// random values give each field at least two values.
    @Test func `the values that are tried differ in every field`() {
        var values = RandomValues(seed: 3)
        var seen: [String: Set<String>] = [:]
        func note(_ value: Any) {
            for child in Mirror(reflecting: value).children {
                seen["\(type(of: value)).\(child.label ?? "?")", default: []]
                    .insert("\(child.value)")
            }
        }
        for _ in 0..<Self.rounds {
            let parts: [Any] = [
                values.newItem(), values.query(), values.changes(), values.retrieval(),
                values.authorization(), values.identityQuery(), values.identityChanges(),
                values.newKey(), values.item(), values.identity(), values.enclaveKey(),
                values.status(), values.report(), values.welcome(), values.failure(),
                values.groups(), ClientHello(version: UInt32(values.generator.next() % 9)),
                CheckReport.DamagedItem(
                    reference: values.maybe { $0.reference() }, what: values.text()),
            ]
            for part in parts { note(part) }
        }
        #expect(seen.count == 86)
        // The service itself says which program is at the other end, so it is in no message.
        for (field, texts) in seen where field != "AccessGroups.program" {
            #expect(texts.count > 1, "\(field)")
        }
    }

    @Test func `absent and empty stay two things`() throws {
        let item = NewItem(itemClass: .key, attributes: [:])
        var empty = item
        empty.data = Data()
        empty.accessGroup = ""
        empty.authorization.applicationPassword = Data()
        for sent in [item, empty] {
            let message = try ServiceRequest(id: 1, .add(sent)).frame().message
            let request = try ReceivedRequest(bytes: message).request.get()
            #expect(request.operation.isSame(as: .add(sent)))
        }
        #expect(!ServiceOperation.add(item).isSame(as: .add(empty)))
    }

    @Test func `no description holds what is asked or answered`() {
        let secret = "correct horse"
        let item = NewItem(
            itemClass: .genericPassword, attributes: [.account: .string(secret)],
            data: Data(secret.utf8))
        let answer = ServiceAnswer.data(Data(secret.utf8))
        for value in ["\(ServiceOperation.add(item))", "\(answer)", String(reflecting: answer)] {
            #expect(!value.contains(secret))
        }
        var dumped = ""
        dump(ServiceRequest(id: 1, .add(item)), to: &dumped)
        dump(ServiceReply(id: 1, .answer(answer)), to: &dumped)
        #expect(dumped.contains("ServiceRequest") && !dumped.contains(secret))
    }
}
