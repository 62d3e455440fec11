// RoundTripTests: values that one end encodes are decoded unchanged at the other end.

import Foundation
import KeychainCore
import KeychainWire
import TestPrograms
import Testing

@Suite struct `Messages of the service` {
    /// The number of values of each kind.
    static let rounds = 60

    private func roundTrip(_ request: some Request, _ values: inout RandomValues) throws {
        let id = values.generator.next() | 1
        let claim = values.groups()
        let message = try Messages.message(request, id: id, claim: claim)
        let received = try #require(try Messages.request(message))
        #expect(received.id == id && received.claim == claim)
        #expect(Messages.isSame(received.request, request), "\(request)")
    }

    private func roundTrip<Value: MessageCodable>(_ value: Value) throws {
        let received = try Messages.value(Value.self, Messages.bytes(value))
        #expect(Messages.isSame(received, value), "\(Value.self)")
    }

    @Test func `every request round-trips`() throws {
        var values = RandomValues(seed: 1)
        var count = 0
        for _ in 0..<Self.rounds {
            for request in values.requests() {
                try roundTrip(request, &values)
                count += 1
            }
        }
        #expect(Set(Messages.types.keys) == Set(RequestCode.allCases))
        #expect(
            count == RequestCode.allCases.count * Self.rounds && RequestCode.allCases.count == 34)
    }

    @Test func `every answer round-trips`() throws {
        var values = RandomValues(seed: 2)
        var names: Set<String> = []
        for _ in 0..<Self.rounds {
            for answer in values.answers() {
                try roundTrip(answer)
                names.insert("\(type(of: answer))")
            }
            for value in values.others() { try roundTrip(value) }
        }
        let answers = Set(values.requests().map { "\($0.answerType)" })
        #expect(names == answers.union(["Welcome"]) && names.count == 18)
    }

    @Test func `client messages other than requests round-trip`() throws {
        var values = RandomValues(seed: 7)
        var seen: Set<[UInt8]> = []
        for id in 1...UInt64(Self.rounds) {
            let hello = values.hello()
            for sent in [ClientMessage.hello(hello), .subscribe, .unsubscribe(.max - id)] {
                let frame = try sent.frame(id: id)
                let again = try FrameBuffer(frame.message).read {
                    reader throws(KeychainFailure) in
                    let id = try ClientMessage.id(from: &reader)
                    return try ClientMessage(from: &reader).frame(id: id)
                }
                #expect(again.all == frame.all)
                seen.insert(frame.all)
            }
        }
        #expect(seen.count == 3 * Self.rounds)
    }

    @Test func `service messages other than answers round-trip`() throws {
        var values = RandomValues(seed: 8)
        let (failure, progress) = (values.failure(), RequestProgress(done: 1, total: 2))
        let messages = [
            ServiceMessage.frame(id: 0, failure), ServiceMessage.frame(id: 2, progress),
            ServiceMessage.frameOfChange(id: .max),
        ].map(\.message)
        let heads = try messages.map { message in
            try FrameBuffer(message).read { reader throws(KeychainFailure) in
                let head = try ServiceMessage.head(from: &reader)
                return "\(head.id) \(head.kind)"
            }
        }
        #expect(heads == ["0 failure", "2 progress", "\(UInt64.max) changed"])
        let bodies = messages.map { Array($0.dropFirst(9)) }
        #expect(try Messages.value(KeychainFailure.self, bodies[0]) == failure)
        #expect(try Messages.value(RequestProgress.self, bodies[1]) == progress)
        #expect(bodies[2] == [])
    }

    /// If a field is added to a type but not to its message, the tests above fail, because the
    /// random values contain at least two values of each field.
    @Test func `the random values in these tests differ in every field of a message`() {
        var values = RandomValues(seed: 3)
        var seen: [String: Set<String>] = [:]
        func note(_ value: Any) {
            let isOurs = String(reflecting: type(of: value)).hasPrefix("Keychain")
            for child in Mirror(reflecting: value).children {
                let field = "\(type(of: value)).\(child.label ?? "?")"
                // A secret's description doesn't depend on its bytes, so hash values are compared.
                let text = (child.value as? any Hashable).map { "\(AnyHashable($0).hashValue)" }
                if isOurs { seen[field, default: []].insert(text ?? "\(child.value)") }
                note(child.value)
            }
        }
        for _ in 0..<Self.rounds {
            for request in values.requests() { note(request) }
            for value in values.answers() + values.others() { note(value) }
        }
        #expect(seen.count == 199)
        // The service itself determines the program of the client, has no biometric hardware, and
        // knows every item's constraints. So no message contains the following fields.
        let unsent = [
            "AccessGroups.program", "Authorization.recognition", "Authorization.enrollment",
            "ItemSnapshot.constraintsAreKnown",
        ]
        for (field, texts) in seen {
            #expect((texts.count > 1) == !unsent.contains(field), "\(field)")
        }
    }

    @Test func `biometric proofs and enrollments are not part of messages`() throws {
        var values = RandomValues(seed: 31)
        let shown = Authorization(
            recognition: AuthenticationGrant(token: values.bytes16()),
            enrollment: Data("one finger".utf8))
        #expect(try Messages.value(Authorization.self, Messages.bytes(shown)) == Authorization())
    }

    @Test func `absent and empty values are still different after a round trip`() throws {
        let item = NewItem(itemClass: .key, attributes: [:])
        var empty = item
        empty.data = Data()
        empty.accessGroup = ""
        empty.authorization.applicationPassword = Data()
        for sent in [item, empty] { try roundTrip(sent) }
        #expect(item != empty)
    }

    @Test func `the comparison in these tests detects requests that differ only in a secret`() {
        let passcodes = [1, 2].map { SecretBytes(copying: [$0]) }
        let request = ChangePasscode(from: passcodes[0], to: passcodes[1])
        #expect(Messages.isSame(request, request) && !Messages.isSame(Lock(), LockAll()))
        let other = ChangePasscode(from: passcodes[0], to: passcodes[0])
        #expect(!Messages.isSame(request, other))
    }

    @Test func `no description contains the values in a request or the bytes of a frame`() throws {
        let secret = "correct horse"
        let add = AddItem(
            NewItem(
                itemClass: .genericPassword, attributes: [.account: .string(secret)],
                data: Data(secret.utf8)))
        let unlock = Unlock(passcode: SecretBytes(copying: secret.utf8))
        #expect("\(add)" == "add genp acct" && "\(unlock)" == "unlock")
        let frame = try ClientMessage.frame(of: add, id: 1, claim: AccessGroups([]))
        var texts = [String(reflecting: add), String(reflecting: frame), "\(frame)"]
        for value in [frame, unlock] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            texts.append(dumped)
        }
        for text in texts { #expect(!text.isEmpty && !text.contains(secret)) }
    }
}
