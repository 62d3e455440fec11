// Items under access constraints: which proofs open them, and when a grant ends.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import Testing

@Suite struct ConstraintTests {
    private static let secret = Data("secret".utf8)

    private func keychain() throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        return keychain
    }

    @discardableResult
    private func add(
        _ keychain: TemporaryKeychain, _ account: String, _ constraints: AccessConstraints,
        protection: ProtectionClass = .whenUnlocked, data: Data? = secret,
        isSynchronizable: Bool = false
    ) throws -> ItemSnapshot {
        try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: protection, constraints: constraints,
                    isSynchronizable: isSynchronizable, data: data)), as: keychain.caller)
    }

    private func query(
        _ account: String? = nil, grant: AuthenticationGrant? = nil
    ) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: account.map { genericPassword($0) } ?? [.service: .string("service")],
            authorization: Authorization(grant: grant))
    }

    private func read(
        _ keychain: TemporaryKeychain, _ account: String? = nil, limit: Int? = 1,
        skips: Bool = false, grant: AuthenticationGrant? = nil
    ) throws -> [Data?] {
        try keychain.engine.perform(
            FindItems(
                query(account, grant: grant),
                Retrieval(limit: limit, includesData: true, skipsConstrained: skips)),
            as: keychain.caller
        ).map(\.data)
    }

    private func grant(_ keychain: TemporaryKeychain) throws -> AuthenticationGrant {
        try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
    }

    @Test(arguments: [
        AccessConstraints.userPresence, .devicePasscode, [.userPresence, .privateKeyUsage],
        [.biometryAny, .or, .devicePasscode],
    ])
    func `only a valid grant opens an item that requires presence`(
        constraints: AccessConstraints
    ) throws {
        let keychain = try keychain()
        let added = try add(keychain, "a", constraints)
        #expect(added.constraints == constraints)
        let failure = #expect(throws: KeychainFailure.self) { try read(keychain, "a") }
        #expect(failure?.status == .authenticationNeeded)
        #expect(failure?.cause == .authentication(constraints))
        #expect(failure?.item == added.reference)
        let forged = AuthenticationGrant(token: .random())
        #expect(
            status { _ = try read(keychain, "a", grant: forged) } == .authenticationNeeded)
        #expect(keychain.engine.openedSecretCount == 0)
        #expect(try read(keychain, "a", grant: grant(keychain)) == [Self.secret])
        try keychain.reopen()
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(status { _ = try read(keychain, "a") } == .authenticationNeeded)
    }

    @Test func `reading attributes and deleting require no authentication`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        let found = try keychain.engine.perform(
            FindItems(query("a"), Retrieval()), as: keychain.caller)
        #expect(found.first?.constraints == .userPresence)
        #expect(found.first?.hasData == true)
        #expect(
            try keychain.engine.perform(
                DeleteItems(query("a"), tombstones: .automatic), as: keychain.caller) == 1)
    }

    @Test func `an item without a secret requires no authentication`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence, data: nil)
        #expect(try read(keychain, "a") == [nil])
    }

    @Test func `a search can skip items that require authentication`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        try add(keychain, "b", [], data: Data("plain".utf8))
        try add(keychain, "c", .devicePasscode)
        #expect(
            status { _ = try read(keychain, limit: nil) } == .authenticationNeeded)
        #expect(try read(keychain, limit: nil, skips: true) == [Data("plain".utf8)])
        #expect(try read(keychain, limit: 2, skips: true) == [Data("plain".utf8)])
        #expect(status { _ = try read(keychain, "a", skips: true) } == .itemNotFound)
        #expect(
            try read(keychain, limit: nil, grant: grant(keychain))
                == [Self.secret, Data("plain".utf8), Self.secret])
    }

    @Test func `a search that meets a locked item reports the lock, not a missing authentication`()
        throws
    {
        // Rows are visited in the order in which they were added, so the locked item comes last.
        // Even in a random order, it is very unlikely that in each of three keychains the locked
        // item comes before all ten items that require authentication.
        for _ in 0..<3 {
            let keychain = try keychain()
            for number in 1...10 {
                try add(keychain, "a\(number)", .userPresence, protection: .always)
            }
            try add(keychain, "b", [], protection: .whenUnlocked)
            try keychain.engine.lock()
            #expect(status { _ = try read(keychain, "a1") } == .authenticationNeeded)
            #expect(status { _ = try read(keychain, limit: nil) } == .interactionNotAllowed)
            #expect(
                status {
                    try keychain.engine.perform(
                        UpdateItems(query(), ItemChanges(attributes: [.label: .string("L")])),
                        as: keychain.caller)
                } == .interactionNotAllowed)
        }
    }

    // MARK: Grants

    @Test func `a wrong passcode gives no grant, and neither does a keychain without a passcode`()
        throws
    {
        let keychain = try keychain()
        #expect(
            status {
                _ = try keychain.engine.perform(
                    Authenticate(passcode: SecretBytes(copying: Array("4321".utf8))))
            }
                == .authFailed)
        #expect(
            status {
                _ = try keychain.engine.perform(Authenticate(passcode: SecretBytes(copying: [])))
            } == .authFailed)
        let open = try TemporaryKeychain()
        #expect(
            status {
                _ = try open.engine.perform(
                    Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
            }
                == .notAvailable)
    }

    @Test func `authenticating with the passcode unlocks the keychain`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        try keychain.engine.lock()
        #expect(status { _ = try read(keychain, "a") } == .interactionNotAllowed)
        #expect(
            status {
                _ = try keychain.engine.perform(
                    Authenticate(passcode: SecretBytes(copying: Array("4321".utf8))))
            }
                == .authFailed)
        #expect(keychain.engine.lockState == .locked)
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        #expect(keychain.engine.lockState == .unlocked)
        #expect(try read(keychain, "a", grant: grant) == [Self.secret])
    }

    @Test func `a grant ends when the keychain is locked`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence, protection: .always)
        let old = [try grant(keychain), keychain.engine.grantForRecognition()]
        for grant in old { #expect(try keychain.engine.perform(AcceptsGrant(grant))) }
        try keychain.engine.lock()
        for grant in old { #expect(try !keychain.engine.perform(AcceptsGrant(grant))) }
        #expect(status { _ = try read(keychain, "a", grant: old[0]) } == .authenticationNeeded)
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(status { _ = try read(keychain, "a", grant: old[0]) } == .authenticationNeeded)
        #expect(try read(keychain, "a", grant: grant(keychain)) == [Self.secret])
    }

    @Test func `a grant ends when the passcode is changed or removed`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        let first = try grant(keychain)
        try keychain.engine.changePasscode(from: passcode("1234"), to: passcode("new"))
        #expect(status { _ = try read(keychain, "a", grant: first) } == .authenticationNeeded)
        let second = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("new".utf8))))
        #expect(try read(keychain, "a", grant: second) == [Self.secret])
        try keychain.engine.removePasscode(passcode("new"))
        // Item a is kept. Its secret requires presence, which can't be proved without a passcode.
        #expect(status { _ = try read(keychain, "a", grant: second) } == .authenticationNeeded)
        try keychain.engine.setPasscode(passcode("1234"))
        #expect(status { _ = try read(keychain, "a", grant: second) } == .authenticationNeeded)
        #expect(try read(keychain, "a", grant: grant(keychain)) == [Self.secret])
    }

    @Test func `a grant ends when the passcode is changed through another engine`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        let old = try grant(keychain)
        let other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        defer { other.close() }
        #expect(
            status {
                _ = try other.perform(
                    FindItems(query("a", grant: old), Retrieval(includesData: true)),
                    as: keychain.caller)
            } == .interactionNotAllowed)
        try other.unlock(passcode: passcode("1234"))
        // A grant is valid only for the engine that gave it.
        #expect(
            status {
                _ = try other.perform(
                    FindItems(query("a", grant: old), Retrieval(includesData: true)),
                    as: keychain.caller)
            } == .authenticationNeeded)
        try other.changePasscode(from: passcode("1234"), to: passcode("new"))
        #expect(status { _ = try read(keychain, "a", grant: old) } == .authenticationNeeded)
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateItems(query("a", grant: old), ItemChanges()), as: keychain.caller)
            } == .authenticationNeeded)
    }

    @Test func `a grant ends when the engine is closed`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        let old = try grant(keychain)
        try keychain.reopen()
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(status { _ = try read(keychain, "a", grant: old) } == .authenticationNeeded)
    }

    // MARK: Adding

    @Test(arguments: [
        AccessConstraints.userPresence, .devicePasscode, [.biometryAny, .or, .devicePasscode],
        [.biometryAny, .devicePasscode],
    ])
    func `an item that requires the passcode can't be added while no passcode is set`(
        constraints: AccessConstraints
    ) throws {
        let keychain = try TemporaryKeychain()
        #expect(status { try add(keychain, "a", constraints) } == .authFailed)
        try keychain.engine.setPasscode(passcode("1234"))
        try add(keychain, "a", constraints)
    }

    @Test(arguments: [
        AccessConstraints.biometryAny, .biometryCurrentSet, .companion,
        [.biometryAny, .or, .companion],
    ])
    func `an item that requires missing hardware can be found and deleted, but not read`(
        constraints: AccessConstraints
    ) throws {
        // These constraints don't require the passcode, so the item can be added while no passcode
        // is set.
        let keychain = try TemporaryKeychain()
        try add(keychain, "a", constraints)
        try keychain.engine.setPasscode(passcode("1234"))
        let grant = try grant(keychain)
        #expect(status { _ = try read(keychain, "a", grant: grant) } == .authenticationNeeded)
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateItems(query("a", grant: grant), ItemChanges(constraints: [])),
                    as: keychain.caller)
            } == .authenticationNeeded)
        let found = try keychain.engine.perform(
            FindItems(query("a"), Retrieval()), as: keychain.caller)
        #expect(found.first?.constraints == constraints)
        #expect(
            try keychain.engine.perform(
                DeleteItems(query("a"), tombstones: .automatic), as: keychain.caller) == 1)
    }

    @Test func `a synchronizable item can't have constraints`() throws {
        let keychain = try keychain()
        #expect(
            status { try add(keychain, "a", .userPresence, isSynchronizable: true) } == .param)
        try add(keychain, "a", .userPresence)
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateItems(
                        query("a", grant: grant(keychain)), ItemChanges(isSynchronizable: true)),
                    as: keychain.caller)
            } == .param)
    }

    // MARK: Changing

    /// Case 193 in Documentation/Cases.md: any change requires the authentication that reading the
    /// old secret requires.
    @Test(arguments: [
        ItemChanges(attributes: [.label: .string("L")]),
        ItemChanges(data: Data("new".utf8)),
        ItemChanges(constraints: []),
        ItemChanges(protection: .always),
        ItemChanges(),
    ])
    func `changing a constrained item requires authentication`(changes: ItemChanges) throws {
        let keychain = try keychain()
        let added = try add(keychain, "a", .userPresence)
        #expect(
            status {
                try keychain.engine.perform(UpdateItems(query("a"), changes), as: keychain.caller)
            }
                == .authenticationNeeded)
        let found = try keychain.engine.perform(
            FindItems(query("a"), Retrieval()), as: keychain.caller)
        #expect(found.first?.attributes == added.attributes)
        try keychain.engine.perform(
            UpdateItems(query("a", grant: grant(keychain)), changes), as: keychain.caller)
        let data = try read(keychain, "a", grant: grant(keychain))
        #expect(data == [changes.data ?? Self.secret])
        // A new protection class removes the constraints, as described at `ItemChanges`.
        let isFree = changes.constraints == [] || changes.protection != nil
        #expect(
            status { _ = try read(keychain, "a") } == (isFree ? nil : .authenticationNeeded))
    }

    @Test func `an update that fails for one item changes no item`() throws {
        let keychain = try keychain()
        // An update changes items in the order in which they were added. It therefore changes the
        // 20 items without constraints before it fails for the item that requires authentication.
        let accounts = (1...20).map { "a\($0)" }
        for account in accounts { try add(keychain, account, []) }
        try add(keychain, "b", .userPresence)
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateItems(query(), ItemChanges(data: Data("new".utf8))), as: keychain.caller)
            } == .authenticationNeeded)
        for account in accounts { #expect(try read(keychain, account) == [Self.secret]) }
    }

    @Test func `replacing a constrained item with a put requires authentication`() throws {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        func put(_ grant: AuthenticationGrant?) throws {
            try keychain.engine.perform(
                PutItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: genericPassword("a"),
                        data: Data("new".utf8)), orChange: query("a", grant: grant),
                    ItemChanges(data: Data("new".utf8))), as: keychain.caller)
        }
        #expect(status { try put(nil) } == .authenticationNeeded)
        try put(grant(keychain))
        #expect(try read(keychain, "a", grant: grant(keychain)) == [Data("new".utf8)])
    }

    @Test func `the reason of a failure contains neither the item's secret nor its service`()
        throws
    {
        let keychain = try keychain()
        try add(keychain, "a", .userPresence)
        let failure = #expect(throws: KeychainFailure.self) { try read(keychain, "a") }
        #expect(failure?.reason.contains("service") == false)
        #expect(failure?.reason.contains("secret") == false)
    }
}
