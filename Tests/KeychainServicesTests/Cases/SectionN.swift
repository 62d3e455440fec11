// SectionN: access control and authentication.

import Foundation
import KeychainAuthentication
import KeychainCrypto
import KeychainCore
import KeychainServices
import Synchronization
import Testing

/// A user who enters the given texts one after the other, and then declines.
final class ScriptedPerson: Authenticator {
    private let entries: Mutex<[String]>
    private let questions = Mutex<[Question]>([])

    init(_ entries: String...) {
        self.entries = Mutex(entries)
    }

    var canAsk: Bool { true }
    var asked: [Question] { questions.withLock { $0 } }

    func ask(_ question: Question, until interruption: Interruption)
        -> KeychainAuthentication.Answer
    {
        questions.withLock { $0.append(question) }
        return entries.withLock { entries in
            guard !entries.isEmpty else { return .cancelled }
            return .entered(SecretBytes(copying: Array(entries.removeFirst().utf8)))
        }
    }
}

/// An authenticator that can't ask a user. It stands for a program that has neither a terminal nor
/// a display.
private struct NoPerson: Authenticator {
    var canAsk: Bool { false }
    func ask(_ question: Question, until interruption: Interruption)
        -> KeychainAuthentication.Answer
    { .unavailable }
}

/// Runs code with a user whom the keychain can ask. `nil` stands for no user.
@discardableResult
func asking<Result>(_ person: ScriptedPerson?, _ body: () throws -> Result) rethrows -> Result {
    let environment = AuthenticationEnvironment(
        person ?? NoPerson() as any Authenticator, recentProofs: RecentProofs())
    return try AuthenticationEnvironment.$current.withValue(environment, operation: body)
}

/// The passcode of every keychain under test.
let rightPasscode = "passcode"

func control(
    _ flags: SecAccessControlCreateFlags, _ protection: String = "ak"
) throws -> SecAccessControl {
    let made = SecAccessControlCreateWithFlags(nil, protection as CFString, flags, nil)
    return try #require(made)
}

func context(password: String? = nil) -> LAContext {
    let context = LAContext()
    if let password {
        #expect(context.setCredential(Data(password.utf8), type: .applicationPassword))
    }
    return context
}

extension Client {
    /// Adds GP("a", "s") with the data "x" and an access control.
    func addProtected(
        _ flags: SecAccessControlCreateFlags, _ more: Entries = [:]
    ) throws {
        add(
            GP("a", "s", ["accc": try control(flags), "data": bytes("x")])
                .merging(more) { $1 }
        ).gives(0)
    }
}

private var read: Entries { GP("a", "s", ["R.data": true]) }

/// The cases that involve no item. SecAccessControlTests runs them, in tests whose names begin with
/// N and the number of the case.
let accessControlCases = [313, 314, 316, 317, 319, 320, 322, 323]

let sectionN: [Row] = [
    Row(325, "a search that skips authentication skips an item that requires authentication") { k in
        try k.addProtected(.userPresence)
        asking(ScriptedPerson(rightPasscode)) {
            k.copy(read.merging(["authUI": "u_AuthUIS"]) { $1 }).gives(-25300)
        }
    },
    Row(326, "a search that skips authentication returns the other items") { k in
        try k.addProtected(.userPresence)
        k.add(GP("b", "s", ["data": bytes("plain")])).gives(0)
        let found = try k.copy(
            genp(["svc": "s", "limit": all, "R.data": true, "authUI": "u_AuthUIS"])
        ).givesArray(1)
        #expect(found.first as? Data == bytes("plain"))
    },
    Row(328, "an item can be read with its application password") { k in
        let context = context(password: "tiger")
        try k.addProtected(.applicationPassword, ["u_AuthCtx": context])
        try k.copy(read.merging(["u_AuthCtx": context]) { $1 }).givesData(bytes("x"))
        let another = KeychainServicesTests.context(password: "tiger")
        try k.copy(read.merging(["u_AuthCtx": another]) { $1 }).givesData(bytes("x"))
    },
    Row(329, "without the right application password, reading fails") { k in
        try k.addProtected(.applicationPassword, ["u_AuthCtx": context(password: "tiger")])
        k.copy(read.merging(["u_AuthCtx": context(password: "lion")]) { $1 }).gives(-25293)
        let person = ScriptedPerson("lion", "", "tigers")
        asking(person) { _ = k.copy(read).gives(-25293) }
        #expect(person.asked.count == 3)
        asking(nil) { _ = k.copy(read).gives(-25293) }
        asking(nil) { _ = k.copy(read.merging(["authUI": "u_AuthUIF"]) { $1 }).gives(-25308) }
    },
    Row(331, "an update can remove the need for an application password") { k in
        let context = context(password: "tiger")
        try k.addProtected(.applicationPassword, ["u_AuthCtx": context])
        k.update(GP("a", "s", ["u_AuthCtx": context]), ["accc": try control([])]).gives(0)
        try asking(nil) { _ = try k.copy(read).givesData(bytes("x")) }
    },
    // Apple's case has an access control with an unknown policy. No public function can create such
    // an access control. An unknown flag is the closest case that is possible.
    Row(332, "an access control with an unknown flag isn't created") { k in
        var error: Unmanaged<CFError>?
        // SAFETY: the variable outlives the call, and the error is released below.
        let control = unsafe SecAccessControlCreateWithFlags(
            nil, "ak" as CFString, SecAccessControlCreateFlags(rawValue: 1 << 7), &error)
        #expect(control == nil)
        #expect(unsafe CFErrorGetCode(error?.takeRetainedValue()) == -50)
        k.copy(GP("a", "s")).gives(-25300)
    },
    Row(334, "a read fails with errSecUserCanceled if the user declines") { k in
        try k.addProtected(.userPresence)
        let person = ScriptedPerson()
        asking(person) { _ = k.copy(read).gives(-128) }
        #expect(person.asked.count == 1)
    },
    Row(335, "an item that can't be opened can be deleted") { k in
        try k.addProtected(.biometryCurrentSet)
        k.delete(GP("a", "s")).gives(0)
        k.copy(GP("a", "s")).gives(-25300)
    },
    Row(337, "a protection class that differs from the access control's is an error") { k in
        try k.addProtected(.userPresence, ["pdmn": "ak"])
        k.add(GP("b", "s", ["pdmn": "ck", "accc": try control(.userPresence)])).gives(-50)
    },
    Row(338, "the access control is among the attributes") { k in
        let flags: SecAccessControlCreateFlags = [.userPresence, .applicationPassword]
        let control = try control(flags, "aku")
        k.add(
            GP(
                "a", "s",
                [
                    "accc": control, "data": bytes("x"), "u_AuthCtx": context(password: "tiger"),
                ])
        ).gives(0)
        let found = try asking(nil) {
            try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        }
        #expect(found["accc"] as? SecAccessControl == control)
        #expect(found["pdmn"] as? String == "aku")
        #expect((found["accc"] as? SecAccessControl)?.flags == flags)
    },
    // A case of section H.
    Row(193, "a change of an item needs the same authentication as a read") { k in
        try k.addProtected(.userPresence)
        asking(nil) { _ = k.update(GP("a", "s"), ["labl": "y"]).gives(-25308) }
        asking(ScriptedPerson()) { _ = k.update(GP("a", "s"), ["labl": "y"]).gives(-128) }
        k.copy(GP("a", "s", ["labl": "y"])).gives(-25300)
        let person = ScriptedPerson(rightPasscode)
        asking(person) { _ = k.update(GP("a", "s"), ["labl": "y"]).gives(0) }
        #expect(person.asked.map(\.subject) == [.passcode])
        k.copy(GP("a", "s", ["labl": "y"])).gives(0)
    },
]

/// The keychains that support constraints.
let constrainingBackends: [Backend] = [.embeddedEngine, .testKeychain, .service]

@Suite("N. Access control and authentication") struct SectionN {
    @Test(.cases(3 * 11), arguments: constrainingBackends, sectionN)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }
}
