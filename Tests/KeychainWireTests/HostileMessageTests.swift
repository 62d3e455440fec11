// HostileMessageTests: messages that an honest peer never sends. The decoder refuses each message
// and never traps.

import Foundation
import KeychainCore
import KeychainWire
import TestPrograms
import Testing

/// The bytes of a value in which one field has a content that an honest peer never sends.
struct Hostile: Sendable, CustomStringConvertible {
    let description: String
    let bytes: [UInt8]
    /// Decodes bytes as a value of the type that was passed to the initializer.
    let read: @Sendable ([UInt8]) throws(KeychainFailure) -> Void

    init<Value: MessageCodable & Sendable>(_ name: String, _ type: Value.Type, _ hex: String) {
        description = name
        bytes = Self.bytes(hex)
        read = { bytes throws(KeychainFailure) in _ = try Messages.value(type, bytes) }
    }

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { $0 != " " }.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(16 * digits[$0] + digits[$0 + 1])
        }
    }

    /// The fields of a search. Each hostile search replaces one of these fields.
    enum Field: Int {
        case itemClass, attributes, accessGroup, protection, synchronizable, tombstone, reference
        case host, grant, password, limit, includesData, includesAttributes, skips
    }

    static let honestFields =
        ["67656e70", "00000000"] + Array(repeating: "00", count: Field.skips.rawValue - 1)

    private static func find(_ name: String, _ field: Field, _ hex: String) -> Hostile {
        var fields = honestFields
        fields[field.rawValue] = hex
        return Hostile(name, FindItems.self, fields.joined())
    }

    private static let (key, failure) = (MakeSecureEnclaveKey.self, KeychainFailure.self)
    private static let welcome = Welcome.self

    static let requests: [Hostile] = [
        find("an unknown class", .itemClass, "61626364"),
        find("no class", .itemClass, "00000000"),
        find("an unknown attribute", .attributes, "00000001 00000001 02 0000000000000001"),
        find("a value of an unknown kind", .attributes, "00000001 6c61626c 04 0000000000000001"),
        find(
            "an attribute that occurs twice", .attributes,
            "00000002 6c61626c 02 0000000000000001 6c61626c 02 0000000000000001"),
        find("text for a date", .attributes, "00000001 63646174 00 00000003 6e6f77"),
        find("a date that is NaN", .attributes, "00000001 63646174 03 7ff8000000000000"),
        find("an infinite date", .attributes, "00000001 63646174 03 7ff0000000000000"),
        find("a date for a number", .attributes, "00000001 706f7274 03 3ff0000000000000"),
        find("text for data", .attributes, "00000001 6b6c626c 00 00000001 61"),
        find(
            "the text of a number in place of the number", .attributes,
            "00000001 706f7274 00 00000003 343433"),
        find("text that isn't UTF-8", .accessGroup, "01 00000001 ff"),
        find("text in overlong UTF-8", .accessGroup, "01 00000002 c080"),
        find("a surrogate in UTF-8", .accessGroup, "01 00000003 eda080"),
        find("a protection class below all", .protection, "01 05"),
        find("a protection class above all", .protection, "01 0d"),
        find("a flag of 2", .tombstone, "02"),
        find("a flag of 255 before a flag", .synchronizable, "ff 00"),
        find("a flag of 255 after a flag", .synchronizable, "01 ff"),
        find("a size beyond the end", .host, "01 00000100 61"),
        find("the largest size", .password, "01 ffffffff 61"),
        find("a limit above the largest", .limit, "01 8000000000000000"),
        find("something after the end", .skips, "00 00"),
        Hostile("a count beyond the end", FindItems.self, "67656e70 00000001"),
        Hostile("the largest count", FindItems.self, "67656e70 ffffffff"),
        Hostile("a count of two without the items", AddItems.self, "00000002"),
        Hostile("an unknown policy", DeleteItems.self, "67656e70 00000000 0000000000000000 03"),
        Hostile("unknown access control", key, "06 8000000000000000 0000"),
        Hostile(
            "a bit of access control that was never assigned", key,
            "06 0000000000000004 0000"),
        Hostile("no protection class", key, "00 0000000000000000 0000"),
        Hostile("a passcode beyond the end", Unlock.self, "00000005 31323334"),
        Hostile("a byte after a request without fields", Lock.self, "00"),
    ]

    static let answers: [Hostile] = [
        Hostile("a flag of 2", Bool.self, "02"),
        Hostile("a count above the largest", Int.self, "8000000000000000"),
        Hostile("a grant of 15 bytes", AuthenticationGrant.self, "000102030405060708090a0b0c0d0e"),
        Hostile("an item of no class", ItemSnapshot.self, "00000000"),
        Hostile("the largest count of items without the items", [ItemSnapshot].self, "ffffffff"),
        Hostile("a failure with an unknown cause", failure, "ffffffce 00000000 07 00"),
        Hostile(
            "a failure with unknown access control", failure,
            "ffffffce 00000000 05 8000000000000000 00"),
        Hostile("a failure with a reference of 3 bytes", failure, "ffffffce 00000000 00 01 000000"),
        Hostile(
            "an unknown kind of service", welcome,
            "00000002 00000000 00 07 00000000 00000000 02 00"),
        Hostile(
            "entitlements that aren't a dictionary", welcome,
            "00000002 00000000 00 00 00000000 00 00"),
        Hostile(
            "more keys than values", welcome,
            "00000002 00000000 00 07 00000001 00000001 61 00000000 00 00"),
        Hostile(
            "a key that occurs twice", welcome,
            "00000002 00000000 00 07 00000002 00000001 61 00000001 61 00000002 0100 0101 00 00"),
        Hostile("an entitlement of an unknown kind", PropertyListValue.self, "08"),
        Hostile(
            "an unknown lock state", KeychainStatus.self,
            "00000000 0000000000000001 0000000000000000 0000000000000000 0000000000000000 00 03 00"
                + "0000000000000000 00000000 00"),
    ]
}

@Suite struct `Hostile messages` {
    @Test func `a search in which no field is replaced is valid`() throws {
        let honest = Hostile.bytes(Hostile.honestFields.joined())
        let read = try Messages.value(FindItems.self, honest)
        #expect(read.query == ItemQuery(itemClass: .genericPassword, isSynchronizable: nil))
        #expect(read.retrieval == Retrieval(limit: nil, includesAttributes: false))
        #expect(Messages.bytes(read) == honest)
        #expect(Hostile.requests.count == 32 && Hostile.answers.count == 14)
    }

    @Test(arguments: Hostile.requests + Hostile.answers)
    func `a request or an answer with an invalid field is refused`(_ value: Hostile) {
        let failure = #expect(throws: KeychainFailure.self) { try value.read(value.bytes) }
        #expect(failure?.status == .param)
    }

    /// No id, an incomplete id, the id 0, an id and nothing else, a `hello` with the oldest version
    /// 3 and the newest version 2, a `hello` without the newest version, access groups beyond the
    /// end, extra bytes after `subscribe` and `unsubscribe`, and the `hello` of version 1 of the
    /// protocol.
    @Test(
        arguments: [
            "", "00000000000000", "0000000000000000 02", "0000000000000001",
            "0000000000000001 00 00000003 00000002", "0000000000000001 00 00000002",
            "0000000000000001 01 1f 00000001 00000001", "0000000000000001 02 00",
            "0000000000000001 03 0000000000000001 00", "080152020801",
        ])
    func `bytes that aren't a message are refused`(_ hex: String) {
        let failure = #expect(throws: KeychainFailure.self) {
            try Messages.request(Hostile.bytes(hex))
        }
        #expect(failure?.status == .param)
    }

    /// Requests with the codes 0, 13 and 255, and messages of the kinds 4 and 255.
    @Test(arguments: ["01 00", "01 0d", "01 ff ff", "04", "ff 00"])
    func `an unknown request or message is refused as unimplemented`(_ hex: String) {
        let failure = #expect(throws: KeychainFailure.self) {
            try Messages.request(Hostile.bytes("0000000000000001" + hex))
        }
        #expect(failure?.status == .unimplemented)
    }

    @Test(arguments: ["", "0000000000000001", "0000000000000001 06", "0000000000000001 ff"])
    func `bytes that aren't a reply are refused`(_ hex: String) {
        let failure = #expect(throws: KeychainFailure.self) {
            try FrameBuffer(Hostile.bytes(hex)).read { reader throws(KeychainFailure) in
                try ServiceMessage.head(from: &reader)
            }
        }
        #expect(failure?.status == .param)
    }

    @Test func `additional fields in the hello of a later version are ignored`() throws {
        let later = Hostile.bytes("0000000000000001 00 00000002 00000009 ffff")
        #expect(try Messages.request(later) == nil)
    }

    @Test func `a message that is too short or too long is refused`() throws {
        var values = RandomValues(seed: 9)
        var count = 0
        func check<Value: MessageCodable>(_ value: Value) {
            let bytes = Messages.bytes(value)
            #expect(throws: KeychainFailure.self) { try Messages.value(Value.self, bytes + [0]) }
            guard !bytes.isEmpty else { return }
            for _ in 0..<20 {
                let end = Int.random(in: 0..<bytes.count, using: &values.generator)
                #expect(throws: KeychainFailure.self, "\(Value.self)") {
                    try Messages.value(Value.self, Array(bytes.prefix(end)))
                }
                count += 1
            }
        }
        for _ in 0..<10 {
            for request in values.requests() { check(request) }
            for answer in values.answers() { check(answer) }
            for value in values.others().dropLast() { check(value) }
        }
        // Eight requests and one answer have no bytes.
        #expect(count == 10 * 20 * (34 - 8 + 18 - 1 + 2))
    }

    /// Whether a value contains an application password.
    private func holdsPassword(_ value: Any) -> Bool {
        if let authorization = value as? Authorization {
            return authorization.applicationPassword != nil
        }
        return Mirror(reflecting: value).children.contains { holdsPassword($0.value) }
    }

    /// A request with an application password derives a key. The service limits how many of these
    /// requests run at the same time, so it must recognize them.
    @Test func `an application password is recognized wherever it is in a request`() {
        var values = RandomValues(seed: 12)
        for request in (0..<20).flatMap({ _ in values.requests() }) where request.purpose != nil {
            #expect(request.showsPassword == holdsPassword(request), "\(request)")
        }
    }

    // MARK: Limits

    /// The number of elements in all lists of a value.
    private func elementCount(_ value: Any) -> Int {
        if let attributes = value as? Attributes { return attributes.count }
        let fields = Mirror(reflecting: value).children
        return fields.reduce(value is [NewItem] ? fields.count : 0) { $0 + elementCount($1.value) }
    }

    @Test func `the elements in all lists of a request are counted`() throws {
        var values = RandomValues(seed: 11)
        let claim = AccessGroups(["one", "two"])
        var total = 0
        for request in (0..<10).flatMap({ _ in values.requests() }) {
            let message = try Messages.message(request, claim: claim)
            let count = 2 + elementCount(request)
            total += count
            #expect(try Messages.request(message, elementLimit: count) != nil)
            #expect(throws: KeychainFailure.self, "\(request)") {
                try Messages.request(message, elementLimit: count - 1)
            }
        }
        #expect(total > 800)
    }

    @Test func `a request with too many elements is refused, and a large request is accepted`()
        throws
    {
        let limit = WireLimits.elementCount
        for (count, isTaken) in [(limit, true), (limit + 1, false), (4_000_000, false)] {
            var message = Hostile.bytes("0000000000000001 01 1f")
            message += (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
            message += [UInt8](repeating: 0, count: 4 * count) + [0]
            let taken = try? Messages.request(message)
            #expect((taken != nil) == isTaken, "\(count)")
        }
        let item = NewItem(itemClass: .key, attributes: [:], data: Data(count: 800_000))
        #expect(try Messages.request(try Messages.message(AddItem(item))) != nil)
    }

    /// Nested lists with a text in the innermost list.
    private func nested(_ depth: Int) -> [UInt8] {
        [UInt8]((0..<depth).flatMap { _ in [6, 0, 0, 0, 1] as [UInt8] }) + [0, 0, 0, 0, 0]
    }

    @Test func `deeply nested lists are refused before the stack overflows`() throws {
        for depth in [41, 150, 100_000] {
            let failure = #expect(throws: KeychainFailure.self) {
                try Messages.value(PropertyListValue.self, nested(depth))
            }
            #expect(failure?.status == .param)
        }
        // 40 levels are accepted. Entitlements have at most 32 levels.
        let deepest = try Messages.value(PropertyListValue.self, nested(40))
        #expect(Messages.bytes(deepest) == nested(40))
    }
}
