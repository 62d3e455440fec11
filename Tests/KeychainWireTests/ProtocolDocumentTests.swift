// ProtocolDocumentTests: the protocol document compared with the codec.

import Foundation
import KeychainCore
import KeychainWire
import Testing

@Suite struct `The document of the protocol` {
    private static func document() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(
            contentsOf: root.appending(path: "Documentation/Formats/service-protocol-v2.md"),
            encoding: .utf8)
    }

    @Test func `the table of requests lists every code with its answer`() throws {
        let names = [
            "ItemSnapshot": "Item", "Array<ItemSnapshot>": "list of Item",
            "Array<Identity>": "list of Identity",
            "Int": "count", "Bool": "flag", "Data": "data", "SecretBytes": "data",
            "Done": "Done",
            "AuthenticationGrant": "Grant", "MadeSecureEnclaveKey": "SecureEnclaveKey",
            "KeychainStatus": "Status", "ServiceStatistics": "Statistics", "CheckReport": "Report",
            "Array<SlotSummary>": "list of Slot", "Array<ItemVersion>": "list of Version",
            "HistoryPolicy": "History", "Answer": "SynchronizationAnswer",
        ]
        let rows = try Self.document().matches(
            of: /\n\| (\d+) \| `(\w+)` \| [^|]+ \| ([\w ]+)[^|]* \|/)
        var values = RandomValues(seed: 10)
        let requests = values.requests().sorted { $0.code.rawValue < $1.code.rawValue }
        #expect(requests.map(\.code) == RequestCode.allCases)
        #expect(
            rows.map { "\($0.1) \($0.2) \($0.3)" }
                == requests.map {
                    "\($0.code.rawValue) \($0.code.name) \(names["\($0.answerType)"] ?? "?")"
                })
    }

    @Test func `the documented limits are those in the code`() throws {
        let rows = try Self.document().matches(of: /\n\| [^|]+ \| ([\d,]+) \|(?=\n)/)
        #expect(
            rows.suffix(5).map { Int($0.1.filter(\.isNumber)) } == [
                WireLimits.messageByteCount, WireLimits.partByteCount, WireLimits.answerByteCount,
                WireLimits.elementCount, PropertyListValue.depthLimitInMessages,
            ])
        #expect(WireLimits.versions == 2...2)
    }

    /// The parts of the document's example: their names and their bytes.
    private static func examples() throws -> [(String, [UInt8])] {
        let groups = AccessGroups(["default"])
        let welcome = Welcome(
            version: 2, entitlements: Entitlements(accessGroups: groups), kind: .user,
            allowsAdministration: true)
        let find = FindItems(
            ItemQuery(itemClass: .genericPassword, attributes: [.service: .string("mail")]),
            Retrieval(includesData: true))
        let item = ItemSnapshot(
            itemClass: .genericPassword,
            reference: ItemReference(counting(from: 0x20)),
            attributes: [
                .account: .string("anna"), .creationDate: .date(800_000_000),
                .service: .string("mail"),
            ],
            accessGroup: "default", protection: .whenUnlocked, isSynchronizable: false,
            isTombstone: false, hasData: true, data: Data("secret".utf8))
        return [
            ("handshake", Handshake(nonce: counting(from: 0)).bytes),
            ("hello, from the client", try ClientMessage.hello(ClientHello()).frame(id: 1).all),
            ("welcome, from the service", try ServiceMessage.frames(id: 1, welcome).flatMap(\.all)),
            (
                "find, from the client",
                try ClientMessage.frame(of: find, id: 2, claim: groups).all
            ),
            ("answer, from the service", try ServiceMessage.frames(id: 2, [item]).flatMap(\.all)),
            ("failure, from the service", ServiceMessage.frame(id: 3, .itemNotFound).all),
            (
                "add, with every field",
                try ClientMessage.frame(of: fullAdd, id: 4, claim: groups).all
            ),
            (
                "update, with every field",
                try ClientMessage.frame(of: fullUpdate, id: 5, claim: groups).all
            ),
            ("answer to status", try ServiceMessage.frames(id: 6, status).flatMap(\.all)),
            ("answer to check", try ServiceMessage.frames(id: 7, report).flatMap(\.all)),
        ]
    }

    /// Sixteen ascending bytes, beginning with `first`.
    private static func counting(from first: UInt8) -> Bytes16 {
        Bytes16(first..<first + 16) ?? Bytes16(high: 0, low: 0)
    }

    private static var fullAdd: AddItem {
        var item = NewItem(
            itemClass: .genericPassword, attributes: [.account: .string("anna")],
            accessGroup: "default", protection: .afterFirstUnlock,
            constraints: [.userPresence, .applicationPassword], isSynchronizable: true,
            data: Data("secret".utf8),
            authorization: Authorization(
                grant: AuthenticationGrant(token: counting(from: 0x30)),
                recognition: AuthenticationGrant(token: counting(from: 0x40)),
                applicationPassword: Data("pw".utf8), enrollment: Data([0x50, 0x51])))
        item.keepsExisting = true
        return AddItem(item)
    }

    private static let fullUpdate = UpdateItems(
        ItemQuery(
            itemClass: .internetPassword, attributes: [.port: .number(443)],
            accessGroup: "default", protection: .whenUnlocked, isTombstone: true,
            reference: ItemReference(counting(from: 0x60)), hostOrSubdomain: "example.org"),
        ItemChanges(
            attributes: [.description: .data(Data([0xFF]))], accessGroup: "other",
            protection: .always, constraints: [], isSynchronizable: true, isTombstone: false,
            data: Data("new".utf8)), keepsVersions: true)

    private static let status = KeychainStatus(
        directory: "/k", formatVersion: 1, generation: 2, itemCount: 3, setAsideCount: 4,
        hasPasscode: true, lockState: .locked, isMemoryLocked: false, byteCount: 5,
        deviceKeyPath: "/k/d", deviceKeyProtection: .hardware,
        verification: VerificationState(.failed, at: 1, problem: "p"),
        machine: .otherMachine, whyNotBindable: "c", deviceItemCount: 6, hasRecoveryCode: true)

    private static var report: CheckReport {
        var report = CheckReport()
        report.itemCount = 1
        report.lockedCount = 2
        report.damagedItems = [.init(reference: nil, what: "a")]
        report.problems = ["b"]
        report.damagedPages = [3]
        report.setAsideCount = 4
        report.notices = ["c"]
        return report
    }

    @Test func `the order of enumeration cases, which determines their codes, doesn't change`() {
        #expect(TombstonePolicy.allCases == [.automatic, .always, .never])
        #expect(LockState.allCases == [.beforeFirstUnlock, .locked, .unlocked])
        #expect(DeviceKeyProtection.allCases == [.file, .hardware, .memory])
        #expect(
            VerificationState.Standing.allCases == [
                .unneeded, .verified, .verifiedHere, .running, .never, .changed, .failed,
            ])
        #expect(MachineState.allCases == [.notBound, .thisMachine, .otherMachine, .unreachable])
        #expect(
            SlotSummary.Kind.allCases == [
                .passcode, .recoveryCode, .credential, .machineIdentity, .machineChip, .unknown,
            ])
        #expect(Welcome.Kind.allCases == [.user, .system])
    }

    @Test func `the protocol document's example is what the codec encodes`() throws {
        let digits = Array("0123456789abcdef")
        let blocks = try Self.examples().map { name, bytes in
            let lines = stride(from: 0, to: bytes.count, by: 32).map { start in
                let place = String(start)
                return String(repeating: " ", count: 6 - place.count) + place + "  "
                    + String(
                        bytes[start..<min(start + 32, bytes.count)]
                            .flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
            }
            return (["\(name) (\(bytes.count) bytes)"] + lines).joined(separator: "\n")
        }
        let parts = try Self.document().split(separator: "```")
        let example = try #require(parts.dropLast().last)
        #expect(example == "text\n" + blocks.joined(separator: "\n\n") + "\n")
    }
}
