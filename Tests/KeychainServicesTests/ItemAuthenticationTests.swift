// Items under access constraints, in addition to Documentation/Cases.md: when and how often the
// user is prompted, and the outcome.

import Foundation
import KeychainAuthentication
import KeychainServices
import KeychainTesting
import Testing

private var read: Entries { GP("a", "s", ["R.data": true]) }

@Suite struct `Items under access constraints` {
    private func client(on backend: Backend) throws -> Client {
        Client(try backend.open(), groups: ["G1"])
    }

    @Test(arguments: constrainingBackends)
    func `reading attributes, checking existence and deleting never prompt`(on backend: Backend)
        throws
    {
        let k = try client(on: backend)
        try asking(nil) {
            try k.addProtected(.userPresence)
            k.copy(GP("a", "s")).gives(0)
            k.copy(GP("a", "s", ["R.attrs": true])).gives(0)
            k.copy(GP("a", "s", ["R.pref": true])).gives(0)
            k.delete(GP("a", "s")).gives(0)
        }
    }

    @Test(arguments: constrainingBackends)
    func `reading data prompts the owner with the reason`(on backend: Backend) throws {
        let k = try client(on: backend)
        try k.addProtected(.userPresence)
        let owner = ScriptedPerson(rightPasscode, rightPasscode, rightPasscode)
        try asking(owner) {
            try k.copy(read).givesData(bytes("x"))
            try k.copy(read.merging(["u_OpPrompt": "to sign"]) { $1 }).givesData(bytes("x"))
            let context = LAContext()
            context.localizedReason = "to pay"
            context.localizedCancelTitle = "Never"
            try k.copy(read.merging(["u_AuthCtx": context]) { $1 }).givesData(bytes("x"))
            // The context now has the proof.
            try k.copy(read.merging(["u_AuthCtx": context]) { $1 }).givesData(bytes("x"))
            k.update(GP("a", "s", ["u_AuthCtx": context]), ["data": bytes("y")]).gives(0)
        }
        #expect(owner.asked.map(\.reason) == ["", "to sign", "to pay"])
        #expect(owner.asked.last?.cancelTitle == "Never")
        #expect(owner.asked.allSatisfy { $0.subject == .passcode && $0.problem == nil })
    }

    @Test(arguments: constrainingBackends)
    func `a wrong passcode can be corrected twice`(on backend: Backend) throws {
        let k = try client(on: backend)
        try k.addProtected(.devicePasscode)
        let slow = ScriptedPerson("1", "2", rightPasscode)
        try asking(slow) { _ = try k.copy(read).givesData(bytes("x")) }
        #expect(slow.asked.map(\.problem) == [nil, .wrong, .wrong])
        let stranger = ScriptedPerson("1", "2", "3", rightPasscode)
        asking(stranger) { _ = k.copy(read).gives(-25293) }
        #expect(stranger.asked.count == 3)
    }

    @Test(arguments: constrainingBackends)
    func `a wrong application password can be corrected twice`(on backend: Backend) throws {
        let k = try client(on: backend)
        try k.addProtected(.applicationPassword, ["u_AuthCtx": context(password: "tiger")])
        let slow = ScriptedPerson("1", "2", "tiger")
        try asking(slow) { _ = try k.copy(read).givesData(bytes("x")) }
        #expect(slow.asked.map(\.problem) == [nil, .wrong, .wrong])
        #expect(slow.asked.allSatisfy { $0.subject == .applicationPassword })
    }

    @Test(arguments: constrainingBackends)
    func `no prompt appears if the query forbids prompts or no user is present`(
        on backend: Backend
    ) throws {
        let k = try client(on: backend)
        try k.addProtected(.userPresence)
        let owner = ScriptedPerson(rightPasscode)
        let silent = LAContext()
        silent.interactionNotAllowed = true
        asking(owner) {
            k.copy(read.merging(["authUI": "u_AuthUIF"]) { $1 }).gives(-25308)
            k.copy(read.merging(["u_NoAuthUI": true]) { $1 }).gives(-25308)
            k.copy(read.merging(["u_AuthCtx": silent]) { $1 }).gives(-25308)
            k.update(GP("a", "s", ["authUI": "u_AuthUIF"]), ["labl": "l"]).gives(-25308)
        }
        #expect(owner.asked.isEmpty)
        asking(nil) { _ = k.copy(read).gives(-25308) }
    }

    @Test(arguments: constrainingBackends)
    func `a context with sufficient proofs authenticates where no user may be prompted`(
        on backend: Backend
    )
        throws
    {
        let k = try client(on: backend)
        try k.addProtected(.userPresence)
        k.add(GP("b", "s", ["accc": try control(.biometryAny), "data": bytes("z")])).gives(0)
        let context = LAContext()
        try asking(ScriptedPerson(rightPasscode)) {
            _ = try k.copy(read.merging(["u_AuthCtx": context]) { $1 }).givesData()
        }
        try asking(nil) {
            for ui in ["u_AuthUIF", "u_AuthUIS", "u_AuthUIA"] {
                let query = read.merging(["u_AuthCtx": context, "authUI": ui]) { $1 }
                _ = try k.copy(query).givesData(bytes("x"))
            }
            let both = genp(["svc": "s", "limit": all, "R.data": true, "u_AuthCtx": context])
            try k.copy(both.merging(["authUI": "u_AuthUIS"]) { $1 }).givesArray(1)
            k.copy(both.merging(["authUI": "u_AuthUIF"]) { $1 }).gives(-25308)
            k.copy(both).gives(-25291)
        }
    }

    /// Finding a software key as a `SecKey` reads its bytes, even with `privateKeyUsage`. Using the
    /// `SecKey` reads nothing more.
    @Test(arguments: constrainingBackends)
    func `a constrained software key prompts when it is read, and not when it is used`(
        on backend: Backend
    ) throws {
        let k = try client(on: backend)
        let key = try KnownKey.p256.privateKey()
        let name = "sign:ECDSA:message-X962:SHA256"
        for (label, flags) in [
            ("guarded", .userPresence), ("used", [.userPresence, .privateKeyUsage]),
        ] as [(String, SecAccessControlCreateFlags)] {
            let tag = bytes(label)
            k.add(["ref": key, "atag": tag, "accc": try control(flags)]).gives(0)
            let reference = keys(["atag": tag, "R.ref": true])
            let owner = ScriptedPerson(rightPasscode)
            try asking(nil) {
                k.copy(reference).gives(-25308)
                _ = try k.copy(keys(["atag": tag, "R.attrs": true])).givesDictionary()
            }
            let found = asking(owner) { k.copy(reference) }.gives(0).result as? SecKey
            #expect(owner.asked.map(\.subject) == [.passcode])
            try asking(nil) {
                let signature = try #require(found).signature(name, bytes("message"))
                let half = try key.publicHalf()
                #expect(half.refusal(name, bytes("message"), signature) == nil)
            }
        }
    }

    @Test(arguments: constrainingBackends)
    func `missing hardware that a constraint requires is reported as not available`(
        on backend: Backend
    ) throws {
        let k = try client(on: backend)
        for (index, flags) in [
            SecAccessControlCreateFlags.biometryAny, .biometryCurrentSet, .companion,
            [.biometryAny, .devicePasscode],
        ].enumerated() {
            k.add(GP(index, "s", ["accc": try control(flags), "data": bytes("x")])).gives(0)
            let owner = ScriptedPerson(rightPasscode)
            asking(owner) { _ = k.copy(GP(index, "s", ["R.data": true])).gives(-25291) }
            #expect(owner.asked.isEmpty)
        }
        k.add(
            GP(
                "or", "s",
                [
                    "accc": try control([.biometryAny, .devicePasscode, .or]), "data": bytes("x"),
                ])
        ).gives(0)
        try asking(ScriptedPerson(rightPasscode)) {
            _ = try k.copy(GP("or", "s", ["R.data": true])).givesData(bytes("x"))
        }
    }

    @Test(arguments: constrainingBackends)
    func `an item that requires the passcode can't be added while no passcode is set`(
        on backend: Backend
    ) throws {
        let k = try client(on: backend)
        try k.keychain.removePasscode()
        for flags in [SecAccessControlCreateFlags.userPresence, .devicePasscode] {
            k.add(GP("a", "s", ["accc": try control(flags), "data": bytes("x")])).gives(-25293)
        }
        k.copy(GP("a", "s")).gives(-25300)
    }

    @Test(arguments: constrainingBackends)
    func `an item that requires the passcode can't be read after the passcode is removed`(
        on backend: Backend
    ) throws {
        let k = try client(on: backend)
        try k.addProtected(.userPresence)
        try k.keychain.removePasscode()
        let person = ScriptedPerson("")
        asking(person) { _ = k.copy(read).gives(-25293) }
        #expect(person.asked.isEmpty)
        k.delete(GP("a", "s")).gives(0)
    }

    @Test(arguments: constrainingBackends)
    func `an invalidated context opens no constrained item, and doesn't affect other items`(
        on backend: Backend
    ) throws {
        let k = try client(on: backend)
        try k.addProtected(.userPresence)
        k.add(GP("b", "s", ["data": bytes("plain")])).gives(0)
        let context = LAContext()
        context.invalidate()
        let owner = ScriptedPerson(rightPasscode)
        asking(owner) {
            _ = k.copy(read.merging(["u_AuthCtx": context]) { $1 }).gives(-25293)
        }
        #expect(owner.asked.isEmpty)
        try k.copy(GP("b", "s", ["R.data": true, "u_AuthCtx": context])).givesData(bytes("plain"))
    }

    @Test(arguments: constrainingBackends)
    func `locking the keychain invalidates the proofs of a context`(on backend: Backend) throws {
        let k = try client(on: backend)
        try k.addProtected(.userPresence)
        let context = LAContext()
        let query = read.merging(["u_AuthCtx": context]) { $1 }
        let owner = ScriptedPerson(rightPasscode, rightPasscode)
        try asking(owner) {
            try k.copy(query).givesData(bytes("x"))
            try k.keychain.lock()
            k.copy(query).gives(-25308)
            try k.keychain.unlock()
            k.copy(query.merging(["authUI": "u_AuthUIF"]) { $1 }).gives(-25308)
            try k.copy(query).givesData(bytes("x"))
        }
        #expect(owner.asked.count == 2)
    }

    @Test(arguments: constrainingBackends)
    func `a new application password is entered twice`(on backend: Backend) throws {
        let k = try client(on: backend)
        let person = ScriptedPerson("tiger", "tigre", "lion", "lion", "lion")
        try asking(person) {
            try k.addProtected(.applicationPassword)
            try k.copy(read).givesData(bytes("x"))
        }
        #expect(
            person.asked.map(\.subject) == [
                .newApplicationPassword, .newApplicationPasswordAgain, .newApplicationPassword,
                .newApplicationPasswordAgain, .applicationPassword,
            ])
        #expect(person.asked.map(\.problem) == [nil, nil, .notTheSame, nil, nil])
        let entries = GP(
            "b", "s", ["accc": try control(.applicationPassword), "data": bytes("y")])
        asking(nil) {
            k.add(entries).gives(-25293)
            k.add(entries.merging(["authUI": "u_AuthUIF"]) { $1 }).gives(-25308)
        }
        k.copy(GP("b", "s")).gives(-25300)
    }

    @Test(
        arguments: constrainingBackends,
        [
            [.userPresence, .applicationPassword],
            [.biometryAny, .devicePasscode, .or, .applicationPassword],
        ] as [SecAccessControlCreateFlags])
    func `an item that requires presence and an application password needs both`(
        on backend: Backend, flags: SecAccessControlCreateFlags
    ) throws {
        let k = try client(on: backend)
        try k.addProtected(flags, ["u_AuthCtx": context(password: "tiger")])
        let both = ScriptedPerson(rightPasscode, "tiger")
        try asking(both) { _ = try k.copy(read).givesData(bytes("x")) }
        #expect(both.asked.map(\.subject) == [.passcode, .applicationPassword])
        asking(ScriptedPerson(rightPasscode)) { _ = k.copy(read).gives(-128) }
        asking(nil) {
            _ = k.copy(read.merging(["u_AuthCtx": context(password: "tiger")]) { $1 })
                .gives(-25308)
        }
    }

    @Test(arguments: constrainingBackends)
    func `constraints can be added to an item and removed again`(on backend: Backend) throws {
        let k = try client(on: backend)
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        k.update(GP("a", "s"), ["accc": try control(.userPresence)]).gives(0)
        asking(nil) { _ = k.copy(read).gives(-25308) }
        let owner = ScriptedPerson(rightPasscode)
        try asking(owner) {
            _ = k.update(GP("a", "s"), ["accc": try control([])]).gives(0)
        }
        try asking(nil) { _ = try k.copy(read).givesData(bytes("x")) }
        k.update(GP("a", "s", ["u_AuthCtx": LAContext()]), ["u_AuthCtx": LAContext()])
            .gives(-25303)
    }

    @Test(arguments: constrainingBackends)
    func `a search for several items prompts once`(on backend: Backend) throws {
        let k = try client(on: backend)
        for index in 0..<3 {
            let flags: SecAccessControlCreateFlags = index == 1 ? .devicePasscode : .userPresence
            k.add(GP(index, "s", ["accc": try control(flags), "data": bytes("\(index)")])).gives(0)
        }
        let owner = ScriptedPerson(rightPasscode)
        try asking(owner) {
            _ = try k.copy(genp(["svc": "s", "limit": all, "R.data": true])).givesArray(3)
        }
        #expect(owner.asked.count == 1)
    }

    @Test func `an evaluated policy authenticates later item requests`() async throws {
        let test = TestKeychain()
        try test.setPasscode("1234")
        test.person = .owner
        let context = LAContext()
        context.touchIDAuthenticationAllowableReuseDuration = 0
        try await test.withSecItem {
            let item = GP("a", "s", ["accc": try control(.userPresence), "data": bytes("x")])
            #expect(SecItemAdd(dictionary(item), nil) == 0)
            #expect(
                try await context.evaluatePolicy(
                    .deviceOwnerAuthentication, localizedReason: "read"))
            test.person = nil
            let query = dictionary(read.merging(["u_AuthCtx": context]) { $1 })
            #expect(SecItemCopyMatching(query, nil) == 0)
            #expect(SecItemCopyMatching(dictionary(read), nil) == -25308)
        }
        #expect(test.askedQuestions.count == 1)
    }

    @Test func `biometry opens an item that requires it, and the passcode doesn't`() throws {
        let test = TestKeychain()
        try test.setPasscode("1234")
        test.person = .owner
        test.withSecItem {
            let item = try? GP("a", "s", ["accc": control(.biometryAny), "data": bytes("x")])
            #expect(SecItemAdd(dictionary(item ?? [:]), nil) == 0)
            #expect(SecItemCopyMatching(dictionary(read), nil) == -25291)
            test.biometry = TestKeychain.Biometry()
            #expect(SecItemCopyMatching(dictionary(read), nil) == 0)
            test.person = .stranger
            #expect(SecItemCopyMatching(dictionary(read), nil) == -25293)
            test.person = .declining
            #expect(SecItemCopyMatching(dictionary(read), nil) == -128)
            test.person = nil
            #expect(SecItemCopyMatching(dictionary(read), nil) == -25308)
        }
        #expect(test.askedQuestions.allSatisfy { $0.subject == .biometry })
    }

    // MARK: Items bound to a biometric enrollment

    /// A keychain with biometric hardware and an item with these constraints. The default binds the
    /// item to the current enrollment.
    private func keychainWithEnrollment(
        _ flags: SecAccessControlCreateFlags = .biometryCurrentSet
    ) throws -> TestKeychain {
        let test = TestKeychain()
        if flags.contains(.devicePasscode) { try test.setPasscode("1234") }
        test.person = .owner
        test.biometry = TestKeychain.Biometry(enrollment: "one finger")
        let item = try GP("a", "s", ["accc": control(flags), "data": bytes("x")])
        #expect(test.withSecItem { SecItemAdd(dictionary(item), nil) } == 0)
        return test
    }

    private func status(_ test: TestKeychain) -> OSStatus {
        test.withSecItem { SecItemCopyMatching(dictionary(read), nil) }
    }

    /// The keychain distinguishes these five outcomes of an authentication by their statuses.
    @Test func `canceled, failed, forbidden, missing and changed biometry give different statuses`()
        throws
    {
        let ends: [(String, OSStatus, (TestKeychain) -> Void)] = [
            ("canceled", -128, { $0.person = .declining }),
            ("failed", -25293, { $0.person = .stranger }),
            ("not allowed", -25308, { $0.person = nil }),
            ("not available", -25291, { $0.biometry = nil }),
            ("changed", -25316, { $0.biometry?.enrollment = "two fingers" }),
        ]
        var seen: Set<OSStatus> = []
        for (word, expected, happens) in ends {
            let test = try keychainWithEnrollment()
            #expect(status(test) == 0, "before \(word)")
            happens(test)
            let found = status(test)
            #expect(found == expected, "\(word)")
            seen.insert(found)
        }
        #expect(
            seen == [
                errSecUserCanceled, errSecAuthFailed, errSecInteractionNotAllowed,
                errSecNotAvailable, errSecDataNotAvailable,
            ])
    }

    @Test func `an item bound to an enrollment opens again when that enrollment is back`() throws {
        let test = try keychainWithEnrollment()
        #expect(status(test) == 0)
        test.biometry?.enrollment = "two fingers"
        #expect(status(test) == -25316)
        test.biometry = nil
        #expect(status(test) == -25291)
        test.biometry = TestKeychain.Biometry(enrollment: nil)
        #expect(status(test) == -25291)
        test.biometry?.enrollment = ""
        #expect(status(test) == -25316)
        test.biometry?.enrollment = "one finger"
        #expect(status(test) == 0)
        #expect(test.askedQuestions.allSatisfy { $0.subject == .biometry })
        test.biometry?.enrollment = "two fingers"
        test.withSecItem {
            #expect(SecItemCopyMatching(dictionary(GP("a", "s", ["R.attrs": true])), nil) == 0)
            #expect(SecItemDelete(dictionary(GP("a", "s"))) == 0)
        }
    }

    @Test
    func `an earlier proof in a context doesn't open an item after the enrollment has changed`()
        throws
    {
        let test = try keychainWithEnrollment()
        let context = LAContext()
        let query = dictionary(read.merging(["u_AuthCtx": context]) { $1 })
        test.withSecItem {
            #expect(SecItemCopyMatching(query, nil) == 0)
            #expect(SecItemCopyMatching(query, nil) == 0)
            #expect(test.askedQuestions.count == 1)
            test.biometry?.enrollment = "two fingers"
            #expect(SecItemCopyMatching(query, nil) == -25316)
            test.biometry = nil
            #expect(SecItemCopyMatching(query, nil) == -25291)
        }
        #expect(test.askedQuestions.count == 1)
    }

    @Test
    func `after a new enrollment the passcode opens an item that allows it as an alternative`()
        throws
    {
        let test = try keychainWithEnrollment([.biometryCurrentSet, .or, .devicePasscode])
        #expect(status(test) == 0)
        test.biometry?.enrollment = "two fingers"
        #expect(status(test) == 0)
        #expect(test.askedQuestions.map(\.subject) == [.biometry, .passcode])
    }

    @Test func `an update to biometryCurrentSet binds the item to the current enrollment`()
        throws
    {
        let test = try keychainWithEnrollment(.biometryAny)
        test.biometry?.enrollment = String(repeating: "long ", count: 100)
        #expect(status(test) == 0)
        let changes = try ["accc": control(.biometryCurrentSet)]
        #expect(
            test.withSecItem {
                SecItemUpdate(dictionary(GP("a", "s")), dictionary(changes))
            } == 0)
        #expect(status(test) == 0)
        test.biometry?.enrollment = "one finger"
        #expect(status(test) == -25316)
    }
}
