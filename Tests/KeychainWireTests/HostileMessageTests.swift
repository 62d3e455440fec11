// HostileMessageTests: messages that no honest end sends. Each is answered, none traps.

import Foundation
import KeychainEngine
import KeychainModel
import SwiftProtobuf
import Testing

@testable import KeychainWire

/// A message that is to be refused.
struct HostileMessage: Sendable {
    let name: String
    var status = Status.param
    let make: @Sendable (inout WireRequest) -> Void

    private static func query(_ change: (inout WireItemQuery) -> Void) -> WireItemQuery {
        var query = WireItemQuery(ItemQuery(itemClass: .genericPassword))
        change(&query)
        return query
    }

    private static func find(
        _ name: String, _ change: @escaping @Sendable (inout WireItemQuery) -> Void
    ) -> HostileMessage {
        HostileMessage(name: name) { request in
            request.find.retrieval = WireRetrieval(Retrieval())
            request.find.query = query(change)
        }
    }

    private static func attribute(_ code: UInt32, _ value: WireAttribute.OneOf_Value?)
        -> WireAttribute
    {
        .with {
            $0.code = code
            $0.value = value
        }
    }

    private static let label = Attribute.label.rawValue

    static let all: [HostileMessage] = [
        HostileMessage(name: "no operation", status: .unimplemented) { _ in },
        HostileMessage(name: "an empty search") { $0.find = WireFind() },
        HostileMessage(name: "a search without its extent") { $0.find.query = query { _ in } },
        HostileMessage(name: "a negative limit") {
            $0.find.query = query { _ in }
            $0.find.retrieval.limit = -1
        },
        find("an unknown class") { $0.itemClass = 0x6162_6364 },
        find("no class") { $0.itemClass = 0 },
        find("a reference of 15 bytes") { $0.reference = Data(count: 15) },
        find("a reference of 0 bytes") { $0.reference = Data() },
        find("a grant of 17 bytes") { $0.authorization.grant = Data(count: 17) },
        find("a recognition of 1 byte") { $0.authorization.recognition = Data(count: 1) },
        find("a protection class below all") { $0.protection = 5 },
        find("a protection class above a byte") { $0.protection = 256 + 6 },
        find("an unknown attribute") { $0.attributes = [attribute(1, .number(1))] },
        find("an attribute without a value") { $0.attributes = [attribute(label, nil)] },
        find("an attribute that is there twice") {
            $0.attributes = [attribute(label, .number(1)), attribute(label, .number(1))]
        },
        find("text for a moment") {
            $0.attributes = [attribute(Attribute.creationDate.rawValue, .text("now"))]
        },
        find("a moment that is no number") {
            $0.attributes = [attribute(Attribute.creationDate.rawValue, .date(.nan))]
        },
        find("a moment for a number") {
            $0.attributes = [attribute(Attribute.port.rawValue, .date(1))]
        },
        find("text for data") {
            $0.attributes = [attribute(Attribute.applicationLabel.rawValue, .text("a"))]
        },
        find("the text of a number for it") {
            $0.attributes = [attribute(Attribute.port.rawValue, .text("443"))]
        },
        HostileMessage(name: "access control without meaning") {
            $0.add = WireNewItem(NewItem(itemClass: .key, attributes: [:]))
            $0.add.constraints = 1 << 63
        },
        HostileMessage(name: "an item without a protection class") {
            $0.add = WireNewItem(NewItem(itemClass: .key, attributes: [:]))
            $0.add.protection = 0
        },
        HostileMessage(name: "an update without changes") { $0.update.query = query { _ in } },
        HostileMessage(name: "changes without meaning") {
            $0.update.query = query { _ in }
            $0.update.changes.constraints = 1 << 2
        },
        HostileMessage(name: "an unknown policy") {
            $0.delete.query = query { _ in }
            $0.delete.tombstones = .UNRECOGNIZED(9)
        },
        HostileMessage(name: "an item without a class among several") {
            $0.addAll.items = [
                WireNewItem(NewItem(itemClass: .key, attributes: [:])), WireNewItem(),
            ]
        },
        HostileMessage(name: "changes of half an identity") {
            $0.updateIdentities.query = WireIdentityQuery(
                IdentityQuery(
                    certificate: ItemQuery(itemClass: .certificate),
                    key: ItemQuery(itemClass: .key)))
            $0.updateIdentities.key = WireItemChanges(ItemChanges())
        },
        HostileMessage(name: "a key without a protection class") {
            $0.makeSecureEnclaveKey = WireNewSecureEnclaveKey()
        },
    ]
}

@Suite struct `Hostile messages` {
    @Test func `a request that is none is refused by its id`() throws {
        var ran = 0
        for hostile in HostileMessage.all {
            var message = WireRequest()
            message.id = 42
            hostile.make(&message)
            let bytes: [UInt8] = try message.serializedBytes()
            let received = try ReceivedRequest(bytes: bytes)
            #expect(received.id == 42, "\(hostile.name)")
            let failure = #expect(throws: KeychainFailure.self, "\(hostile.name)") {
                try received.request.get()
            }
            #expect(failure?.status == hostile.status, "\(hostile.name)")
            ran += 1
        }
        #expect(ran == 28)
    }

    /// Bytes of a request: no id, an id of another kind, text that is no UTF-8 (in the access group
    /// of a search), a field without its end.
    @Test(
        arguments: [
            [], [0x08, 0x00], [0x0A, 0x00], [0x08],
            [0x08, 0x01, 0x62, 0x05, 0x0A, 0x03, 0x1A, 0x01, 0xFF],
            [0x08, 0x01, 0x62, 0xFF, 0xFF, 0xFF, 0xFF, 0x07], [0xFF, 0xFF, 0xFF],
        ] as [[UInt8]])
    func `bytes that are no request are refused`(_ bytes: [UInt8]) {
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try ReceivedRequest(bytes: bytes)
        }
        #expect(failure?.status == .param)
    }

    static let replies: [(String, @Sendable (inout WireReply) -> Void)] =
        [
            ("nothing", { _ in }),
            ("a count above all", { $0.count = .max }),
            ("a grant of 15 bytes", { $0.grant = Data(count: 15) }),
            ("an item without a class", { $0.item = WireItem() }),
            ("an identity of one half", { $0.identities.identities = [WireIdentity()] }),
            ("a welcome of an unknown service", { $0.welcome = WireWelcome() }),
            (
                "an entitlement without a value",
                {
                    $0.welcome.kind = .user
                    $0.welcome.entitlements["a"] = WirePropertyListValue()
                }
            ),
            ("an unknown lock state", { $0.status = WireStatus() }),
            ("progress above all", { $0.progress.total = .max }),
            ("a failure about an item of 3 bytes", { $0.failure.item = Data(count: 3) }),
        ]

    @Test(arguments: replies)
    func `a reply that is none is refused`(
        _ name: String, _ make: @Sendable (inout WireReply) -> Void
    ) throws {
        var message = WireReply()
        message.id = 1
        make(&message)
        let bytes: [UInt8] = try message.serializedBytes()
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try ServiceReply(bytes: bytes)
        }
        #expect(failure?.status == .param)
    }

    @Test func `lists in lists end before the stack does`() throws {
        var value = WirePropertyListValue.with { $0.text = "a" }
        for _ in 0..<150 {
            let inner = value
            value = .with { $0.array.values = [inner] }
        }
        let reply = WireReply.with {
            $0.id = 1
            $0.welcome.kind = .user
            $0.welcome.entitlements = ["a": value]
        }
        let bytes: [UInt8] = try reply.serializedBytes()
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try ServiceReply(bytes: bytes)
        }
        #expect(failure?.status == .param)
    }

    /// As deep as a property list may be.
    @Test func `the deepest entitlements arrive`() throws {
        var value = PropertyListValue.text("a")
        for level in 0..<32 {
            value = level.isMultiple(of: 2) ? .array([value]) : .dictionary(["a": value])
        }
        let welcome = Welcome(
            entitlements: .init(accessGroups: AccessGroups([]), values: ["a": value]),
            kind: .user, allowsAdministration: false)
        let reply = ServiceReply(id: 1, .answer(.welcome(welcome)))
        let frame = try #require(reply.frames().first)
        #expect(try ServiceReply(bytes: frame.message) == reply)
    }

    /// Each kind of request about items, and how many lists of attributes it has.
    private static func heavyRequests(_ attributes: Attributes) -> [(ServiceOperation, Int)] {
        let item = NewItem(itemClass: .key, attributes: attributes)
        let query = ItemQuery(itemClass: .key, attributes: attributes)
        let changes = ItemChanges(attributes: attributes)
        let pair = IdentityQuery(certificate: query, key: query)
        let pairChanges = IdentityChanges(certificate: changes, key: changes)
        return [
            (.add(item), 1), (.find(query, Retrieval()), 1), (.update(query, changes), 2),
            (.put(item, orChange: query, changes), 3), (.delete(query, .never), 1),
            (.addAll([item, item]), 2),
            (.findIdentities(pair, Retrieval()), 2), (.updateIdentities(pair, pairChanges), 4),
            (.deleteIdentities(pair, .never), 2),
        ]
    }

    @Test func `the fields of every request are counted at every depth`() throws {
        let some = Attribute.allCases.filter { $0.kind == .number }
        let attributes = Attributes(uniqueKeysWithValues: some.map { ($0, .number(1)) })
        #expect(attributes.count > 20)
        var count = 0
        for (operation, lists) in Self.heavyRequests(attributes) {
            let bytes = try ServiceRequest(id: 1, operation).frame().message
            // An attribute is a field with two in it: one fewer than all of them is too few.
            let atLeast = lists * attributes.count * 3
            #expect(throws: KeychainFailure.self, "\(operation)") {
                try RequestWeight.check(bytes: bytes, limit: atLeast - 1)
            }
            // The few others are the class, the request and so on.
            try RequestWeight.check(bytes: bytes, limit: atLeast + 20)
            count += 1
        }
        #expect(count == 9)
    }

    @Test func `a request of empty attributes is refused before it is read`() throws {
        let attributes = [UInt8]((0..<400_000).flatMap { _ in [0x12, 0x00] as [UInt8] })
        func field(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            var size = content.count
            var bytes = [tag]
            while size > 0x7F {
                bytes.append(UInt8(size & 0x7F) | 0x80)
                size >>= 7
            }
            return bytes + [UInt8(size)] + content
        }
        let request = [0x08, 0x01] + field(0x62, field(0x0A, attributes))
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try ReceivedRequest(bytes: request)
        }
        #expect(failure?.reason.contains("fields") == true)
        // As many bytes in one field are no burden.
        let secret = NewItem(itemClass: .key, attributes: [:], data: Data(count: 800_000))
        let message = try ServiceRequest(id: 1, .add(secret)).frame().message
        #expect(
            try ReceivedRequest(bytes: message).request.get().operation.isSame(as: .add(secret)))
    }

    @Test func `fields of a later version are passed over`() throws {
        // A field with number 500 and three bytes after a request to lock.
        let bytes: [UInt8] = try ServiceRequest(id: 3, .lock).frame().message
        let later = bytes + [0xA2, 0x1F, 3, 1, 2, 3]
        let request = try ReceivedRequest(bytes: later).request.get()
        #expect(request.id == 3 && request.operation.isSame(as: .lock))
    }
}

extension RequestWeight {
    fileprivate static func check(bytes: [UInt8], limit: Int) throws(KeychainFailure) {
        // SAFETY: the span lives for the duration of the call.
        try check(unsafe bytes.span.bytes, limit: limit)
    }
}
