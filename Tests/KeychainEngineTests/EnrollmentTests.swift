// Items that are bound to one biometric enrollment open only under that enrollment.

import Foundation
import KeychainEngine
import KeychainCore
import Testing

@Suite struct `Items bound to one biometric enrollment` {
    private static let secret = Data("secret".utf8)
    private static let first = Data("one finger".utf8)
    private static let second = Data("two fingers".utf8)

    private func keychain() throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        return keychain
    }

    @discardableResult
    private func add(
        _ keychain: TemporaryKeychain,
        _ constraints: AccessConstraints = .biometryCurrentSet, under enrollment: Data? = first,
        password: Data? = nil
    ) throws -> ItemSnapshot {
        try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    constraints: constraints, data: Self.secret,
                    authorization: Authorization(
                        applicationPassword: password, enrollment: enrollment))),
            as: keychain.caller)
    }

    private func query(_ authorization: Authorization = Authorization()) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword, attributes: genericPassword("a"),
            authorization: authorization)
    }

    private func recognized(
        _ keychain: TemporaryKeychain, under enrollment: Data?
    ) -> Authorization {
        Authorization(
            recognition: keychain.engine.grantForRecognition(), enrollment: enrollment)
    }

    private func grant(_ keychain: TemporaryKeychain) throws -> AuthenticationGrant {
        try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
    }

    private func read(
        _ keychain: TemporaryKeychain, _ authorization: Authorization, skips: Bool = false
    ) throws -> Data? {
        try keychain.engine.perform(
            FindItems(query(authorization), Retrieval(includesData: true, skipsConstrained: skips)),
            as: keychain.caller
        ).first?.data
    }

    // MARK: Opening

    @Test func `biometric recognition opens an item only under the enrollment it was added with`()
        throws
    {
        let keychain = try keychain()
        let added = try add(keychain)
        #expect(try read(keychain, recognized(keychain, under: Self.first)) == Self.secret)
        let failure = #expect(throws: KeychainFailure.self) {
            try read(keychain, recognized(keychain, under: Self.second))
        }
        #expect(failure?.status == .dataNotAvailable)
        #expect(failure?.status.rawValue == -25316)
        #expect(failure?.item == added.reference)
        #expect(failure?.reason.contains("enrollment has changed") == true)
        // Reopening the keychain changes nothing.
        try keychain.reopen()
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(try read(keychain, recognized(keychain, under: Self.first)) == Self.secret)
        #expect(
            status { _ = try read(keychain, recognized(keychain, under: Self.second)) }
                == .dataNotAvailable)
        #expect(
            status { _ = try read(keychain, recognized(keychain, under: Self.second), skips: true) }
                == .itemNotFound)
    }

    @Test func `stating the enrollment doesn't replace biometric recognition`() throws {
        let keychain = try keychain()
        try add(keychain)
        for enrollment in [Self.first, Self.second, nil] {
            let forged = AuthenticationGrant(token: .random())
            for shown in [
                Authorization(enrollment: enrollment),
                Authorization(grant: try grant(keychain), enrollment: enrollment),
                Authorization(recognition: forged, enrollment: enrollment),
            ] {
                let failure = #expect(throws: KeychainFailure.self) { try read(keychain, shown) }
                #expect(failure?.cause == .authentication(.biometryCurrentSet))
            }
        }
        // Without hardware, no user can be recognized, whatever was enrolled before.
        #expect(
            status { _ = try read(keychain, recognized(keychain, under: nil)) }
                == .authenticationNeeded)
    }

    @Test func `an item added with nothing enrolled can't be opened, whatever is enrolled later`()
        throws
    {
        let keychain = try keychain()
        try add(keychain, under: nil)
        #expect(
            status { _ = try read(keychain, recognized(keychain, under: Self.first)) }
                == .dataNotAvailable)
        #expect(
            status { _ = try read(keychain, recognized(keychain, under: nil)) }
                == .authenticationNeeded)
    }

    @Test func `after a new enrollment, an alternative condition still opens the item`() throws {
        let keychain = try keychain()
        let rest: AccessConstraints = [.devicePasscode, .or]
        try add(keychain, [.biometryCurrentSet, .devicePasscode, .or])
        var shown = recognized(keychain, under: Self.second)
        let failure = #expect(throws: KeychainFailure.self) { try read(keychain, shown) }
        #expect(failure?.cause == .authentication(rest))
        shown.grant = try grant(keychain)
        #expect(try read(keychain, shown) == Self.secret)
        #expect(try read(keychain, recognized(keychain, under: Self.first)) == Self.secret)
    }

    @Test(arguments: [
        AccessConstraints([.biometryCurrentSet, .devicePasscode]),
        [.biometryCurrentSet, .companion, .or],
        [.biometryCurrentSet, .applicationPassword, .or],
    ])
    func `after a new enrollment, other proofs don't replace the recognition that an item requires`(
        constraints: AccessConstraints
    ) throws {
        let keychain = try keychain()
        let password = Data("tiger".utf8)
        try add(keychain, constraints, password: password)
        var shown = recognized(keychain, under: Self.second)
        shown.grant = try grant(keychain)
        shown.applicationPassword = password
        #expect(status { _ = try read(keychain, shown) } == .dataNotAvailable)
        shown.enrollment = Self.first
        #expect(try read(keychain, shown) == Self.secret)
    }

    @Test func `after a new enrollment, an item can be found and deleted, but not changed`()
        throws
    {
        let keychain = try keychain()
        try add(keychain)
        let query = query(recognized(keychain, under: Self.second))
        let found = try keychain.engine.perform(FindItems(query, Retrieval()), as: keychain.caller)
        #expect(found.first?.constraints == .biometryCurrentSet)
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateItems(query, ItemChanges(data: Data("new".utf8))), as: keychain.caller)
            } == .dataNotAvailable)
        #expect(
            try keychain.engine.perform(
                DeleteItems(query, tombstones: .automatic), as: keychain.caller) == 1)
    }

    // MARK: Changing

    @Test func `a change keeps the enrollment of an item, unless the constraints change`()
        throws
    {
        let keychain = try keychain()
        try add(keychain, [])
        func update(_ changes: ItemChanges, _ shown: Authorization) throws {
            try keychain.engine.perform(UpdateItems(query(shown), changes), as: keychain.caller)
        }
        func opens(under enrollment: Data?) throws -> Bool {
            do {
                return try read(keychain, recognized(keychain, under: enrollment)) != nil
            } catch let failure as KeychainFailure {
                guard failure.status == .dataNotAvailable else { throw failure }
                return false
            }
        }
        // The item was added under the first enrollment, and gets the constraint under the second.
        try update(
            ItemChanges(constraints: .biometryCurrentSet), Authorization(enrollment: Self.second))
        #expect(try !opens(under: Self.first))
        #expect(try opens(under: Self.second))
        let shown = recognized(keychain, under: Self.second)
        try update(ItemChanges(attributes: [.label: .string("L")]), shown)
        try update(ItemChanges(data: Data("new".utf8)), shown)
        #expect(try !opens(under: Self.first))
        #expect(try opens(under: Self.second))
        // With the constraint `biometryAny`, any enrollment suffices. A new protection class
        // removes all constraints.
        try update(ItemChanges(constraints: .biometryAny), shown)
        #expect(try opens(under: Self.first))
        try update(ItemChanges(constraints: .biometryCurrentSet), shown)
        #expect(try !opens(under: Self.first))
        try update(ItemChanges(protection: .always), shown)
        #expect(try read(keychain, Authorization()) == Data("new".utf8))
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `an enrollment identifier must have 1 to 64 bytes`() throws {
        let keychain = try keychain()
        for size in [0, 65, 1_000] {
            #expect(status { try add(keychain, under: Data(count: size)) } == .param)
        }
        // For an item without the constraint `biometryCurrentSet`, the identifier isn't stored, so
        // its size doesn't matter.
        try add(keychain, [], under: Data())
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateItems(
                        query(Authorization(enrollment: Data())),
                        ItemChanges(constraints: .biometryCurrentSet)), as: keychain.caller)
            } == .param)
        try keychain.engine.perform(
            UpdateItems(
                query(Authorization(enrollment: Data(count: 64))),
                ItemChanges(constraints: .biometryCurrentSet)), as: keychain.caller)
        #expect(
            try read(keychain, recognized(keychain, under: Data(count: 64))) == Self.secret)
    }
}
