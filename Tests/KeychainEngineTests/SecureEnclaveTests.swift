// Keys in hardware: what the engine requires of a caller that uses such a key, and what makes a
// blob unusable.
//   The hardware is the simulation in KeychainTesting. Tests/KeychainTPMTests uses swtpm, a
//   TPM in software.

import Foundation
import KeychainAsymmetricKeys
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import KeychainTesting
import Testing

@Suite struct SecureEnclaveTests {
    private static let digest = Data((0..<32).map { UInt8($0) })

    private static func options(
        _ hardware: SimulatedSecureEnclave = SimulatedSecureEnclave()
    ) -> EngineOptions {
        var options = EngineOptions.testing
        options.hardware = hardware
        return options
    }

    private func keychain(
        _ hardware: SimulatedSecureEnclave = SimulatedSecureEnclave(), hasPasscode: Bool = true
    ) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain(options: Self.options(hardware))
        if hasPasscode { try keychain.engine.setPasscode(passcode("1234")) }
        return keychain
    }

    private func make(
        _ keychain: TemporaryKeychain, _ constraints: AccessConstraints = .privateKeyUsage,
        protection: ProtectionClass = .whenUnlocked,
        authorization: Authorization = Authorization()
    ) throws -> MadeSecureEnclaveKey {
        try keychain.engine.perform(
            MakeSecureEnclaveKey(
                NewSecureEnclaveKey(
                    protection: protection, constraints: constraints, authorization: authorization)),
            as: keychain.caller)
    }

    private func sign(
        _ keychain: TemporaryKeychain, _ key: Data, _ authorization: Authorization = Authorization()
    ) throws -> Data {
        try keychain.engine.perform(
            SignDigest(Self.digest, with: key, authorization: authorization), as: keychain.caller)
    }

    private func isValid(_ signature: Data, _ key: MadeSecureEnclaveKey) throws -> Bool {
        let publicKey = try AsymmetricPublicKey(
            externalRepresentation: key.publicKey, kind: .elliptic)
        do {
            try publicKey.verify(
                signature, of: Self.digest, using: .ecdsa(.sha256, .digest, .rfc4754))
            return true
        } catch { return false }
    }

    // MARK: Creating and using keys

    @Test func `a key can sign and derive shared secrets, even after the keychain is reopened`()
        throws
    {
        let keychain = try keychain(hasPasscode: false)
        #expect(try keychain.engine.perform(HasSecureEnclave()))
        let key = try make(keychain)
        #expect(key.publicKey.count == 65)
        #expect(SecureEnclaveBlob(decoding: key.blob)?.publicKey == key.publicKey)
        #expect(try isValid(try sign(keychain, key.blob), key))
        try keychain.reopen()
        #expect(try isValid(try sign(keychain, key.blob), key))

        let peer = try AsymmetricPrivateKey(random: .elliptic(.p256))
        let secret = try keychain.engine.perform(
            DeriveSharedSecret(
                of: key.blob, with: peer.publicKey.externalRepresentation,
                authorization: Authorization()), as: keychain.caller)
        let own = try AsymmetricPublicKey(externalRepresentation: key.publicKey, kind: .elliptic)
        #expect(try peer.exchange(with: own, using: .ecdh, KeyExchangeParameters()) == secret.data)
    }

    @Test func `without hardware no key can be created or used`() throws {
        let made = try make(keychain(hasPasscode: false))
        let keychain = try TemporaryKeychain()
        #expect(try !keychain.engine.perform(HasSecureEnclave()))
        let failure = #expect(throws: KeychainFailure.self) { try make(keychain) }
        #expect(failure == .secureEnclaveUnavailable)
        #expect(status { _ = try sign(keychain, made.blob) } == .unimplemented)
    }

    @Test func `each new key is different`() throws {
        let keychain = try keychain()
        let first = try make(keychain)
        let second = try make(keychain)
        #expect(first.publicKey != second.publicKey)
        #expect(first.blob != second.blob)
    }

    @Test func `a digest must have 32 bytes, and a public key must be a point on the curve`() throws
    {
        let keychain = try keychain()
        let key = try make(keychain).blob
        for count in [0, 31, 33] {
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        SignDigest(Data(count: count), with: key, authorization: Authorization()),
                        as: keychain.caller)
                } == .param)
        }
        let off = Data([4]) + Data(repeating: 1, count: 64)
        for point in [Data(), Data(count: 65), off, Data([2]) + Data(count: 32)] {
            #expect(
                status {
                    _ = try keychain.engine.perform(
                        DeriveSharedSecret(of: key, with: point, authorization: Authorization()),
                        as: keychain.caller)
                } == .param)
        }
    }

    // MARK: The lock

    @Test(arguments: [
        (ProtectionClass.whenUnlocked, true, true),
        (.whenUnlockedThisDeviceOnly, true, true),
        (.whenPasscodeSetThisDeviceOnly, true, true),
        (.afterFirstUnlock, false, true),
        (.afterFirstUnlockThisDeviceOnly, false, true),
        (.always, false, false),
    ])
    func `a key can be used in exactly the lock states in which items of its class can be read`(
        _ protection: ProtectionClass, stopsWhenLocked: Bool, stopsBeforeUnlock: Bool
    ) throws {
        let keychain = try keychain()
        let key = try make(keychain, protection: protection)
        try keychain.engine.lock()
        let locked = status { _ = try sign(keychain, key.blob) }
        #expect(locked == (stopsWhenLocked ? .interactionNotAllowed : nil))
        #expect(
            status { _ = try make(keychain, protection: protection) }
                == (stopsWhenLocked ? .interactionNotAllowed : nil))
        try keychain.reopen()
        let atStart = status { _ = try sign(keychain, key.blob) }
        #expect(atStart == (stopsBeforeUnlock ? .interactionNotAllowed : nil))
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(try isValid(try sign(keychain, key.blob), key))
    }

    @Test
    func `a key of the when-passcode-set class is lost when the passcode is removed`() throws {
        let keychain = try keychain()
        let key = try make(keychain, protection: .whenPasscodeSetThisDeviceOnly)
        try keychain.engine.removePasscode(passcode("1234"))
        #expect(status { _ = try sign(keychain, key.blob) } == .authFailed)
        #expect(
            status { _ = try make(keychain, protection: .whenPasscodeSetThisDeviceOnly) }
                == .authFailed)
        try keychain.engine.setPasscode(passcode("1234"))
        #expect(status { _ = try sign(keychain, key.blob) } == .decode)
    }

    @Test func `if another process removes the passcode, a locked key can be used again`() throws {
        let keychain = try keychain()
        let key = try make(keychain)
        try keychain.engine.lock()
        let other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        try other.removePasscode(passcode("1234"))
        other.close()
        #expect(try isValid(try sign(keychain, key.blob), key))
    }

    // MARK: Constraints

    @Test func `a key without privateKeyUsage can be created but not used`() throws {
        let keychain = try keychain()
        #expect(
            status { _ = try sign(keychain, try make(keychain, []).blob) } == .authFailed)
        let presence = try make(keychain, .userPresence)
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        #expect(
            status { _ = try sign(keychain, presence.blob, Authorization(grant: grant)) }
                == .authFailed)
    }

    @Test(arguments: [AccessConstraints.userPresence, .devicePasscode])
    func `presence is required for every use of a key, and not for its creation`(
        condition: AccessConstraints
    ) throws {
        let keychain = try keychain()
        let constraints: AccessConstraints = [condition, .privateKeyUsage]
        let key = try make(keychain, constraints)
        let failure = #expect(throws: KeychainFailure.self) { try sign(keychain, key.blob) }
        #expect(failure?.cause == .authentication(constraints))
        #expect(failure?.item == SecureEnclaveBlob(decoding: key.blob)?.identifier)
        let forged = AuthenticationGrant(token: .random())
        #expect(
            status { _ = try sign(keychain, key.blob, Authorization(grant: forged)) }
                == .authenticationNeeded)
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        #expect(try isValid(try sign(keychain, key.blob, Authorization(grant: grant)), key))
        try keychain.engine.lock()
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(
            status { _ = try sign(keychain, key.blob, Authorization(grant: grant)) }
                == .authenticationNeeded)
    }

    @Test func `a key that requires the passcode can't be created while no passcode is set`() throws
    {
        let keychain = try keychain(hasPasscode: false)
        #expect(
            status { _ = try make(keychain, [.userPresence, .privateKeyUsage]) } == .authFailed)
    }

    @Test func `a key that requires an application password can be used only with that password`()
        throws
    {
        let keychain = try keychain()
        let constraints: AccessConstraints = [.applicationPassword, .privateKeyUsage]
        let failure = #expect(throws: KeychainFailure.self) { try make(keychain, constraints) }
        #expect(failure?.cause == .authentication(constraints))
        #expect(failure?.item == nil)
        let password = Authorization(applicationPassword: Data("pass".utf8))
        let key = try make(keychain, constraints, authorization: password)
        #expect(status { _ = try sign(keychain, key.blob) } == .authenticationNeeded)
        let wrong = Authorization(applicationPassword: Data("word".utf8))
        #expect(status { _ = try sign(keychain, key.blob, wrong) } == .authFailed)
        #expect(try isValid(try sign(keychain, key.blob, password), key))
    }

    @Test func `a key bound to a biometric enrollment works only under that enrollment`() throws {
        let keychain = try keychain()
        let constraints: AccessConstraints = [.biometryCurrentSet, .privateKeyUsage]
        let key = try make(
            keychain, constraints, authorization: Authorization(enrollment: Data("one".utf8)))
        let recognized = keychain.engine.grantForRecognition()
        func status(_ enrollment: String) -> Status? {
            KeychainEngineTests.status {
                _ = try sign(
                    keychain, key.blob,
                    Authorization(
                        recognition: recognized, enrollment: Data(enrollment.utf8)))
            }
        }
        #expect(status("one") == nil)
        #expect(status("two") == .dataNotAvailable)
    }

    @Test func `a caller without groups can neither create nor use a key`() throws {
        let keychain = try keychain()
        let key = try make(keychain)
        let noGroups = AccessGroups([])
        #expect(
            status {
                _ = try keychain.engine.perform(
                    MakeSecureEnclaveKey(NewSecureEnclaveKey()), as: noGroups)
            } == .missingEntitlement)
        #expect(
            status {
                _ = try keychain.engine.perform(
                    SignDigest(Self.digest, with: key.blob, authorization: Authorization()),
                    as: noGroups)
            } == .missingEntitlement)
    }

    // MARK: Invalid blobs

    @Test func `any flipped bit makes a blob unusable`() throws {
        let keychain = try keychain()
        let key = try make(keychain).blob
        var count = 0
        for index in key.indices {
            for bit in 0..<8 where (index + bit) % 3 == 0 {
                var changed = key
                changed[index] ^= 1 << bit
                let answer = status { _ = try sign(keychain, changed) }
                #expect(answer == .decode, "byte \(index), bit \(bit)")
                count += 1
            }
        }
        #expect(count > 700)
    }

    @Test func `a truncated or extended blob is refused`() throws {
        let keychain = try keychain()
        let key = try make(keychain).blob
        for count in 0..<key.count {
            #expect(status { _ = try sign(keychain, key.prefix(count)) } == .decode)
        }
        #expect(status { _ = try sign(keychain, key + Data([0])) } == .decode)
    }

    @Test func `a blob can't be used in another keychain or with other hardware`() throws {
        let hardware = SimulatedSecureEnclave()
        let keychain = try keychain(hardware)
        let key = try make(keychain).blob
        let other = try self.keychain(hardware)
        #expect(throws: KeychainFailure.foreignSecureEnclaveKey) { _ = try sign(other, key) }
        #expect(KeychainFailure.foreignSecureEnclaveKey.cause == .otherMachine)
        let engine = try KeychainEngine.open(
            directory: keychain.directory, options: Self.options())
        defer { engine.close() }
        try engine.unlock(passcode: passcode("1234"))
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try engine.perform(
                SignDigest(Self.digest, with: key, authorization: Authorization()),
                as: keychain.caller)
        }
        #expect(failure?.cause == .otherMachine)
        #expect(throws: KeychainFailure.damagedSecureEnclaveKey) {
            _ = try sign(keychain, Data("no key".utf8))
        }
    }

    /// Each change replaces one part of the first blob, mostly with the same part of the second
    /// blob.
    @Test func `parts of two blobs can't be combined`() throws {
        let keychain = try keychain()
        let first = try #require(SecureEnclaveBlob(decoding: make(keychain).blob))
        let second = try #require(SecureEnclaveBlob(decoding: make(keychain).blob))
        for change: (inout SecureEnclaveBlob) -> Void in [
            { $0.identifier = second.identifier },
            { $0.protection = .always },
            { $0.constraints = [.privateKeyUsage, .userPresence] },
            { $0.publicKey = second.publicKey },
            { $0.wrappedKey = second.wrappedKey },
            { $0.sealedAuthorization = second.sealedAuthorization },
        ] {
            var changed = first
            change(&changed)
            #expect(status { _ = try sign(keychain, changed.encoded) } == .decode)
        }
        #expect(status { _ = try sign(keychain, first.encoded) } == nil)
    }

    // MARK: Rows

    private func row(
        _ key: MadeSecureEnclaveKey, _ constraints: AccessConstraints,
        protection: ProtectionClass = .whenUnlocked
    ) -> NewItem {
        NewItem(
            itemClass: .key,
            attributes: [
                .tokenID: .string("com.apple.setoken"), .applicationLabel: .data(Data([1])),
            ],
            protection: protection, constraints: constraints, data: key.blob)
    }

    @Test func `reading a key item's blob needs no authentication, but using the key does`()
        throws
    {
        let keychain = try keychain()
        let password = Authorization(applicationPassword: Data("pass".utf8))
        for constraints: AccessConstraints in [
            [.userPresence, .privateKeyUsage], [.applicationPassword, .privateKeyUsage],
        ] {
            let key = try make(keychain, constraints, authorization: password)
            _ = try keychain.engine.perform(AddItem(row(key, constraints)), as: keychain.caller)
            let query = ItemQuery(itemClass: .key)
            let found = try keychain.engine.perform(
                FindItems(query, Retrieval(includesData: true)), as: keychain.caller)
            #expect(found.map(\.data) == [key.blob])
            #expect(found.map(\.constraints) == [constraints])
            let label = ItemChanges(attributes: [.label: .string("L")])
            #expect(
                try keychain.engine.perform(UpdateItems(query, label), as: keychain.caller) == 1)
            #expect(try keychain.engine.check().isSound)
            #expect(status { _ = try sign(keychain, key.blob) } == .authenticationNeeded)
            try keychain.engine.perform(
                DeleteItems(query, tombstones: .automatic), as: keychain.caller)
        }
    }

    @Test(arguments: [false, true])
    func `deleting a hardware key keeps a version only on request, even if all changes keep one`(
        isLocked: Bool
    ) throws {
        let keychain = try keychain()
        let engine = keychain.engine
        try engine.perform(SetHistory(HistoryPolicy(count: 9, days: 9, isForAll: true)))
        let key = try make(keychain)
        let query = ItemQuery(
            itemClass: .key,
            attributes: [
                .tokenID: .string("com.apple.setoken"), .applicationLabel: .data(Data([1])),
            ])
        let label = ItemChanges(attributes: [.label: .string("L")])
        for keepsVersions in [true, false] {
            _ = try engine.perform(AddItem(row(key, .privateKeyUsage)), as: keychain.caller)
            _ = try engine.perform(UpdateItems(query, label), as: keychain.caller)
            if isLocked { try engine.lock() }
            try engine.perform(
                DeleteItems(query, tombstones: .never, keepsVersions: keepsVersions),
                as: keychain.caller)
            try engine.unlock(passcode: passcode("1234"))
            var references: [ItemReference] = []
            try engine.store.forEachVersion(includesSecret: false) { version in
                if let version { references.append(version.row.reference) }
            }
            // Both versions are of the item that was added in the first pass, with `keepsVersions`:
            // one is from the change of its label, and one from its deletion.
            #expect(references.count == 2 && Set(references).count == 1)
        }
    }

    @Test func `an item marked as a hardware key must hold a blob that fits its attributes`() throws
    {
        let keychain = try keychain()
        let key = try make(keychain)
        var secret = row(key, [.userPresence])
        secret.data = Data("secret".utf8)
        var synchronizable = row(key, .privateKeyUsage)
        synchronizable.isSynchronizable = true
        for item in [
            secret, row(key, []), row(key, [.privateKeyUsage, .userPresence]),
            row(key, .privateKeyUsage, protection: .always), synchronizable,
        ] {
            #expect(
                status { _ = try keychain.engine.perform(AddItem(item), as: keychain.caller) }
                    == .param)
        }
        _ = try keychain.engine.perform(AddItem(row(key, .privateKeyUsage)), as: keychain.caller)
        let query = ItemQuery(itemClass: .key)
        for changes in [
            ItemChanges(data: Data("secret".utf8)), ItemChanges(data: key.blob),
            ItemChanges(protection: .always), ItemChanges(constraints: []),
            ItemChanges(isSynchronizable: true),
            ItemChanges(attributes: [.tokenID: .string("other")]),
        ] {
            #expect(
                status {
                    try keychain.engine.perform(UpdateItems(query, changes), as: keychain.caller)
                }
                    == .param)
        }
    }

    @Test func `a constrained item can't be turned into a hardware key`() throws {
        let keychain = try keychain()
        let key = try make(keychain)
        var item = row(key, [.userPresence])
        item.attributes[.tokenID] = nil
        item.data = Data("secret".utf8)
        _ = try keychain.engine.perform(AddItem(item), as: keychain.caller)
        let grant = try keychain.engine.perform(
            Authenticate(passcode: SecretBytes(copying: Array("1234".utf8))))
        let query = ItemQuery(itemClass: .key, authorization: Authorization(grant: grant))
        let changes = ItemChanges(attributes: [.tokenID: .string("com.apple.setoken")])
        #expect(
            status { try keychain.engine.perform(UpdateItems(query, changes), as: keychain.caller) }
                == .param)
    }
}
