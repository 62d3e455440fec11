// Secrets protected by an application password: each secret is encrypted under a key derived from
// the password, so no attacker can decrypt the secret without the password.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct ApplicationPasswordTests {
    private static let secret = Data("the secret of the application".utf8)
    private static let password = Data("correct horse".utf8)

    @discardableResult
    private func add(
        _ keychain: TemporaryKeychain, _ constraints: AccessConstraints = .applicationPassword,
        password: Data? = password, data: Data? = secret, itemClass: ItemClass = .genericPassword,
        protection: ProtectionClass = .afterFirstUnlock
    ) throws -> ItemSnapshot {
        try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: itemClass, attributes: [itemClass.firstKey: owner(itemClass)],
                    protection: protection, constraints: constraints, data: data,
                    authorization: Authorization(applicationPassword: password))),
            as: keychain.caller)
    }

    private func owner(_ itemClass: ItemClass) -> AttributeValue {
        itemClass.firstKey.kind == .data ? .data(Data("owner".utf8)) : .string("owner")
    }

    private func query(
        _ password: Data? = nil, grant: AuthenticationGrant? = nil,
        itemClass: ItemClass = .genericPassword
    ) -> ItemQuery {
        ItemQuery(
            itemClass: itemClass, attributes: [itemClass.firstKey: owner(itemClass)],
            authorization: Authorization(grant: grant, applicationPassword: password))
    }

    private func read(
        _ keychain: TemporaryKeychain, _ password: Data? = nil, skips: Bool = false,
        grant: AuthenticationGrant? = nil
    ) throws -> Data? {
        try keychain.engine.perform(
            FindItems(
                query(password, grant: grant),
                Retrieval(includesData: true, skipsConstrained: skips)), as: keychain.caller
        ).first?.data
    }

    /// The item's row as stored on disk.
    private func row(_ keychain: TemporaryKeychain) throws -> SealedRow {
        try #require(keychain.rows(query(), limit: 1).first)
    }

    /// The item's secret as decrypted with all of the keychain's keys, but without the password.
    private func content(_ keychain: TemporaryKeychain) throws -> Data {
        let row = try row(keychain)
        let (keys, keychainID) = try keys(keychain, row)
        let record = try RowSealing.openMetadata(of: row, keychainID: keychainID, keys: keys)
        return try RowSealing.openSecret(
            of: row, record: record, keychainID: keychainID, keys: keys)
    }

    private func keys(
        _ keychain: TemporaryKeychain, _ row: SealedRow
    ) throws -> (ClassKeys, [UInt8]) {
        let protection = try #require(ProtectionClass(rawValue: row.protection))
        let (hierarchy, guarded) = try keychain.keys()
        return (try #require(guarded.classes[protection]), hierarchy.keybag.keychainID)
    }

    private func binding(
        _ keychain: TemporaryKeychain, _ constraints: AccessConstraints = .applicationPassword
    ) throws -> PasswordSealing.Binding {
        PasswordSealing.Binding(
            keychainID: keychain.engine.store.keychainID, reference: try row(keychain).reference,
            protection: .afterFirstUnlock, itemClass: .genericPassword, constraints: constraints)
    }

    // MARK: Reading

    @Test(arguments: [
        Data("correct horse".utf8), Data(), Data([0]), Data(repeating: 0xFF, count: 1000),
    ])
    func `an item with an application password opens only with exactly that password`(
        password: Data
    ) throws {
        let keychain = try TemporaryKeychain()
        let added = try add(keychain, password: password)
        #expect(added.data == Self.secret)
        #expect(try read(keychain, password) == Self.secret)
        try keychain.reopen()
        #expect(try read(keychain, password) == Self.secret)
        #expect(status { _ = try read(keychain) } == .authenticationNeeded)
        // Plain HMAC would treat two of these as the same key as the password: the password padded
        // with a zero, and the SHA-256 of a long password.
        let others = [
            password + [0], password + Data("x".utf8), Data("other".utf8), password.dropLast(),
            Data(SecretBytes(copying: password).sha256),
        ]
        for other in others where other != password {
            #expect(status { _ = try read(keychain, other) } == .authFailed)
        }
    }

    @Test(arguments: [0, 1, 70_000])
    func `secrets of any size can be protected by an application password`(count: Int) throws {
        let keychain = try TemporaryKeychain()
        let secret = Data(repeating: 0x5A, count: count)
        try add(keychain, data: secret)
        #expect(try read(keychain, Self.password) == secret)
        #expect(try content(keychain).count == 52 + count)
    }

    @Test func `a search can skip an item if the given password is wrong`() throws {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        #expect(
            status { _ = try read(keychain, Data("x".utf8), skips: true) } == .itemNotFound)
    }

    @Test func `an item that requires presence and a password opens only with both`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try add(keychain, [.userPresence, .applicationPassword])
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        #expect(status { _ = try read(keychain, grant: grant) } == .authenticationNeeded)
        #expect(status { _ = try read(keychain, Self.password) } == .authenticationNeeded)
        #expect(
            status { _ = try read(keychain, Data("x".utf8), grant: grant) } == .authFailed)
        #expect(try read(keychain, Self.password, grant: grant) == Self.secret)
    }

    @Test(arguments: ItemClass.allCases)
    func `items of every class can be protected by an application password`(itemClass: ItemClass)
        throws
    {
        let keychain = try TemporaryKeychain()
        try add(keychain, itemClass: itemClass)
        let found = try keychain.engine.perform(
            FindItems(query(Self.password, itemClass: itemClass), Retrieval(includesData: true)),
            as: keychain.caller)
        #expect(found.first?.data == Self.secret)
    }

    // MARK: Adding

    @Test func `adding an item requires the password, unless the item has no secret`() throws {
        let keychain = try TemporaryKeychain()
        let failure = #expect(throws: KeychainFailure.self) { try add(keychain, password: nil) }
        #expect(failure?.status == .authenticationNeeded)
        #expect(failure?.cause == .authentication(.applicationPassword))
        #expect(failure?.item == nil)
        #expect(try keychain.engine.check().itemCount == 0)
        try add(keychain, password: nil, data: nil)
        #expect(status { try add(keychain, password: nil) } == .duplicateItem)
    }

    @Test func `the password is required even if the other conditions are alternatives`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try add(keychain, [.applicationPassword, .or, .devicePasscode, .biometryAny])
        func read(_ shown: Authorization) throws -> Data? {
            var query = query(nil)
            query.authorization = shown
            return try keychain.engine.perform(
                FindItems(query, Retrieval(includesData: true)), as: keychain.caller
            ).first?.data
        }
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        let recognition = keychain.engine.grantForRecognition()
        let wrong = Data("x".utf8)
        for shown in [
            Authorization(), Authorization(applicationPassword: Self.password),
            Authorization(grant: grant), Authorization(recognition: recognition),
            Authorization(grant: grant, recognition: recognition),
        ] {
            #expect(status { _ = try read(shown) } == .authenticationNeeded)
        }
        for (grant, recognition) in [(grant, nil), (nil, recognition), (grant, recognition)] {
            var shown = Authorization(grant: grant, recognition: recognition)
            shown.applicationPassword = wrong
            #expect(status { _ = try read(shown) } == .authFailed)
            shown.applicationPassword = Self.password
            #expect(try read(shown) == Self.secret)
        }
    }

    // MARK: Changing

    @Test func `a new secret is encrypted under the same password`() throws {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        let changes = ItemChanges(data: Data("new".utf8))
        func change(_ password: Data?) -> Status? {
            status {
                try keychain.engine.perform(
                    UpdateItems(query(password), changes), as: keychain.caller)
            }
        }
        #expect(change(nil) == .authenticationNeeded)
        #expect(change(Data("x".utf8)) == .authFailed)
        #expect(try read(keychain, Self.password) == Self.secret)
        #expect(change(Self.password) == nil)
        #expect(try read(keychain, Self.password) == Data("new".utf8))
        #expect(status { _ = try read(keychain) } == .authenticationNeeded)
    }

    @Test func `changing attributes requires the password`() throws {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        let changes = ItemChanges(attributes: [.label: .string("L")])
        for (password, expected) in [
            (nil, Status.authenticationNeeded), (Data("x".utf8), .authFailed),
            (Self.password, nil),
        ] {
            #expect(
                status {
                    try keychain.engine.perform(
                        UpdateItems(query(password), changes), as: keychain.caller)
                } == expected)
        }
        #expect(try read(keychain, Self.password) == Self.secret)
    }

    /// Cases 328, 329 and 331 in Documentation/Cases.md.
    @Test func `new constraints can remove the password and add it again`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try add(keychain)
        func change(_ constraints: AccessConstraints, _ password: Data?) -> Status? {
            status {
                try keychain.engine.perform(
                    UpdateItems(query(password), ItemChanges(constraints: constraints)),
                    as: keychain.caller)
            }
        }
        #expect(change([], nil) == .authenticationNeeded)
        #expect(change([], Data("x".utf8)) == .authFailed)
        #expect(change([], Self.password) == nil)
        #expect(try read(keychain) == Self.secret)
        #expect(change(.applicationPassword, nil) == .authenticationNeeded)
        #expect(try read(keychain) == Self.secret)
        let other = Data("another".utf8)
        #expect(change(.applicationPassword, other) == nil)
        #expect(status { _ = try read(keychain, Self.password) } == .authFailed)
        #expect(try read(keychain, other) == Self.secret)
        // The new constraints include the password too. The secret is sealed again, because the
        // encryption binds it to the constraints.
        #expect(change([.devicePasscode, .applicationPassword], other) == nil)
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        #expect(status { _ = try read(keychain, other) } == .authenticationNeeded)
        #expect(try read(keychain, other, grant: grant) == Self.secret)
    }

    @Test func `a new protection class removes the constraints, and seals the secret again`() throws
    {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        try keychain.engine.perform(
            UpdateItems(query(Self.password), ItemChanges(protection: .whenUnlocked)),
            as: keychain.caller)
        #expect(try read(keychain) == Self.secret)
        try keychain.engine.perform(
            UpdateItems(
                query(Self.password),
                ItemChanges(protection: .afterFirstUnlock, constraints: .applicationPassword)),
            as: keychain.caller)
        #expect(try read(keychain, Self.password) == Self.secret)
        #expect(status { _ = try read(keychain) } == .authenticationNeeded)
    }

    // MARK: On disk

    @Test func `all of the keychain's keys together don't open a secret without the password`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        let content = try content(keychain)
        #expect(content.firstRange(of: Self.secret) == nil)
        #expect(content.firstRange(of: Self.password) == nil)
        let binding = try binding(keychain)
        let right = SecretBytes(copying: Self.password)
        #expect(try PasswordSealing.open(content, password: right, for: binding) == Self.secret)
        #expect(
            status {
                _ = try PasswordSealing.open(
                    content, password: SecretBytes(copying: [UInt8]()), for: binding)
            } == .authFailed)
    }

    @Test func `an encrypted secret is bound to its item and its constraints`() throws {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        let content = try content(keychain)
        let password = SecretBytes(copying: Self.password)
        let own = try binding(keychain)
        let others = [
            PasswordSealing.Binding(
                keychainID: own.keychainID.reversed(), reference: own.reference,
                protection: own.protection, itemClass: own.itemClass,
                constraints: own.constraints),
            PasswordSealing.Binding(
                keychainID: own.keychainID, reference: .random(), protection: own.protection,
                itemClass: own.itemClass, constraints: own.constraints),
            PasswordSealing.Binding(
                keychainID: own.keychainID, reference: own.reference, protection: .always,
                itemClass: own.itemClass, constraints: own.constraints),
            PasswordSealing.Binding(
                keychainID: own.keychainID, reference: own.reference,
                protection: own.protection, itemClass: .key, constraints: own.constraints),
            try binding(keychain, [.applicationPassword, .userPresence]),
        ]
        for other in others {
            #expect(
                status {
                    _ = try PasswordSealing.open(content, password: password, for: other)
                } == .authFailed)
        }
    }

    @Test func `one secret encrypted twice under one password gives unrelated ciphertexts`() throws
    {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        let binding = try binding(keychain)
        let password = SecretBytes(copying: Self.password)
        let cost = PasscodeCost(logN: 4, blockSize: 8, parallelism: 1)
        let contents = try (0..<2).map { _ in
            try PasswordSealing.seal(Self.secret, password: password, cost: cost, for: binding)
        }
        // The magic and the cost parameters come first.
        #expect(contents[0].prefix(8) == contents[1].prefix(8))
        #expect(contents[0].dropFirst(8).prefix(16) != contents[1].dropFirst(8).prefix(16))
        #expect(contents[0].dropFirst(24) != contents[1].dropFirst(24))
    }

    @Test func `a damaged or truncated ciphertext is refused`() throws {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        let content = try content(keychain)
        let binding = try binding(keychain)
        let password = SecretBytes(copying: Self.password)
        var count = 0
        for index in content.indices {
            for bit in 0..<8 {
                // A flipped bit of the cost parameters can leave them within the limits, and the
                // key derivation can then take a second. The next test covers cost parameters.
                if (4..<7).contains(index - content.startIndex) { continue }
                var flipped = content
                flipped[index] ^= 1 << UInt8(bit)
                let result = status {
                    _ = try PasswordSealing.open(flipped, password: password, for: binding)
                }
                let isBeforeSalt = index - content.startIndex < 8
                #expect(
                    result == (isBeforeSalt ? .decode : .authFailed),
                    "byte \(index), bit \(bit)")
                count += 1
            }
        }
        #expect(count == 8 * (content.count - 3))
        for length in 0..<content.count {
            #expect(
                status {
                    _ = try PasswordSealing.open(
                        content.prefix(length), password: password, for: binding)
                } == (length < 52 ? .decode : .authFailed))
        }
    }

    /// The arguments are log2 N, r and p.
    @Test(arguments: [
        [0, 8, 1], [25, 8, 1], [4, 0, 1], [4, 33, 1], [4, 8, 0], [4, 8, 17], [24, 8, 1],
        [16, 1, 1],
    ])
    func `cost parameters outside the limits are refused without deriving a key`(cost: [UInt8])
        throws
    {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        var content = try content(keychain)
        content.replaceSubrange(content.startIndex + 4..<content.startIndex + 7, with: cost)
        let binding = try binding(keychain)
        #expect(!PasswordSealing.isWellFormed(content))
        #expect(
            status {
                _ = try PasswordSealing.open(
                    content, password: SecretBytes(copying: Self.password), for: binding)
            } == .decode)
    }

    /// An attacker with the keychain's keys can rewrite the row with other constraints.
    @Test func `removing the constraints from a row on disk doesn't open its secret`() throws {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        let row = try row(keychain)
        let (keys, keychainID) = try keys(keychain, row)
        var record = try RowSealing.openMetadata(of: row, keychainID: keychainID, keys: keys)
        record.constraints = []
        let metadata = RowSealing.seal(
            record, for: RowBinding(row, keychainID: keychainID), keys: keys)
        let generation = try keychain.engine.store.header().keybagGeneration
        _ = try keychain.engine.store.write(keybagGeneration: generation) {
            transaction throws(KeychainFailure) in
            var changed = row
            changed.metadata = metadata
            try transaction.replace(row, with: changed, replacesSecret: false)
        }
        // The constraints are also wrapped together with the row key, so the change is detected.
        #expect(status { _ = try read(keychain) } == .decode)
    }

    @Test func `a check needs no password, and reports a secret not encrypted under its password`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try add(keychain)
        #expect(try keychain.engine.check().isSound)
        let row = try row(keychain)
        let (keys, keychainID) = try keys(keychain, row)
        var record = try RowSealing.openMetadata(of: row, keychainID: keychainID, keys: keys)
        let sealed = RowSealing.seal(
            secret: Self.secret, itemClass: .genericPassword, constraints: record.constraints,
            for: RowBinding(row, keychainID: keychainID), keys: keys)
        record.secretTag = sealed.tag
        let metadata = RowSealing.seal(
            record, for: RowBinding(row, keychainID: keychainID), keys: keys)
        let generation = try keychain.engine.store.header().keybagGeneration
        _ = try keychain.engine.store.write(keybagGeneration: generation) {
            transaction throws(KeychainFailure) in
            var changed = row
            changed.metadata = metadata
            changed.secret = sealed.bytes
            try transaction.replace(row, with: changed, replacesSecret: true)
        }
        #expect(try keychain.engine.check().damagedItems.count == 1)
        #expect(status { _ = try read(keychain, Self.password) } == .decode)
        #expect(status { _ = try read(keychain) } == .authenticationNeeded)
    }
}
