// SecureEnclaveKeyTests: keys of the Secure Enclave through SecKey and SecItem, beyond the cases in
// Documentation/Cases.md.

#if !canImport(Darwin)

import Foundation
import KeychainAuthentication
import KeychainServices
import KeychainTesting
import Testing

@Suite struct `Keys of the Secure Enclave` {
    private let test = TestKeychain()
    private let message = Data("message".utf8)

    private let token: [String: Any] = [
        "tkid": kSecAttrTokenIDSecureEnclave, "type": "73", "bsiz": 256,
    ]

    init() { test.hasSecureEnclave = true }

    /// Creates a Secure Enclave key with additional parameters.
    private func make(_ more: [String: Any] = [:]) -> KeyAnswer<SecKey> {
        test.withSecItem { SecKeyCalls.create(token.merging(more) { $1 }) }
    }

    private func control(
        _ flags: SecAccessControlCreateFlags,
        _ protection: CFString = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
    ) throws -> SecAccessControl {
        let control = SecAccessControlCreateWithFlags(nil, protection, flags, nil)
        return try #require(control)
    }

    private func add(_ entries: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        // SAFETY: the variable outlives the call.
        let status = test.withSecItem { unsafe SecItemAdd(entries as NSDictionary, &result) }
        return (status, result)
    }

    private func copy(_ entries: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        let query = ["class": "keys"].merging(entries) { $1 } as NSDictionary
        // SAFETY: the variable outlives the call.
        let status = test.withSecItem { unsafe SecItemCopyMatching(query, &result) }
        return (status, result)
    }

    /// Tries to create a key, and returns the description of the error.
    private func reason(of parameters: [String: Any]) throws -> String {
        var slot: Unmanaged<CFError>?
        // SAFETY: the variable outlives the call, and this function owns the error that is stored.
        let key = test.withSecItem {
            unsafe SecKeyCreateRandomKey(parameters as NSDictionary, &slot)
        }
        #expect(key == nil)
        let error = unsafe slot?.takeRetainedValue()
        return try #require(error).localizedDescription
    }

    // MARK: Operations

    @Test func `every form of ECDSA signature verifies with the public key`() throws {
        let key = try #require(make().value)
        let half = try #require(SecKeyCopyPublicKey(key))
        var count = 0
        for form in ["X962", "RFC4754"] {
            for (hash, size) in [
                ("SHA1", 20), ("SHA224", 28), ("SHA256", 32), ("SHA384", 48), ("SHA512", 64),
            ] {
                for (kind, input) in [
                    ("message", message), ("digest", Data((0..<size).map { UInt8($0) })),
                ] {
                    let algorithm = SecKeyAlgorithm(
                        rawValue: "algid:sign:ECDSA:\(kind)-\(form):\(hash)" as NSString)
                    #expect(SecKeyIsAlgorithmSupported(key, .sign, algorithm))
                    let signature = try #require(SecKeyCalls.sign(key, algorithm, input).value)
                    #expect(SecKeyCalls.refusal(half, algorithm, input, signature) == nil)
                    #expect(
                        SecKeyCalls.refusal(half, algorithm, Data(input.reversed()), signature)
                            == errSecVerifyFailed)
                    count += 1
                }
            }
            let any = SecKeyAlgorithm(rawValue: "algid:sign:ECDSA:digest-\(form)" as CFString)
            for size in [1, 31, 33, 100] {
                let digest = Data(repeating: 7, count: size)
                let signature = try #require(SecKeyCalls.sign(key, any, digest).value)
                #expect(SecKeyCalls.refusal(half, any, digest, signature) == nil)
                count += 1
            }
            #expect(SecKeyCalls.sign(key, any, Data()).code == errSecParam)
        }
        #expect(count == 28)
    }

    @Test func `both parties agree on the same secret`() throws {
        let key = try #require(make().value)
        let half = try #require(SecKeyCopyPublicKey(key))
        let other = SampleKey.p256
        let plain = SecKeyCalls.exchange(key, .ecdhKeyExchangeStandard, other.publicKey).value
        #expect(plain?.count == 32)
        #expect(
            plain
                == SecKeyCalls.exchange(other.privateKey, .ecdhKeyExchangeStandard, half).value)
        let parameters: [String: Any] = [
            "requestedSize": 40, "sharedInfo": Data("info".utf8),
        ]
        let derived = SecKeyCalls.exchange(
            key, .ecdhKeyExchangeStandardX963SHA256, other.publicKey, parameters
        ).value
        #expect(derived?.count == 40)
        #expect(
            derived
                == SecKeyCalls.exchange(
                    other.privateKey, .ecdhKeyExchangeStandardX963SHA256, half, parameters
                ).value)
        #expect(
            SecKeyCalls.exchange(key, .ecdhKeyExchangeStandardX963SHA256, other.publicKey).code
                == errSecParam)
        for wrong in [SampleKey.p384.publicKey, other.privateKey, SampleKey.x25519.publicKey] {
            #expect(
                SecKeyCalls.exchange(key, .ecdhKeyExchangeStandard, wrong).code == errSecParam)
        }
    }

    @Test func `data encrypted to the public key is decrypted`() throws {
        let key = try #require(make().value)
        let half = try #require(SecKeyCopyPublicKey(key))
        for algorithm: SecKeyAlgorithm in [
            .eciesEncryptionStandardX963SHA256AESGCM,
            .eciesEncryptionCofactorVariableIVX963SHA512AESGCM,
        ] {
            for message in [Data(), message, Data(count: 10_000)] {
                let sealed = try #require(SecKeyCalls.encrypt(half, algorithm, message).value)
                #expect(SecKeyCalls.decrypt(key, algorithm, sealed).value == message)
                var changed = sealed
                changed[changed.endIndex - 1] ^= 1
                #expect(SecKeyCalls.decrypt(key, algorithm, changed).code == errSecParam)
                changed = sealed
                changed[10] ^= 1
                #expect(SecKeyCalls.decrypt(key, algorithm, changed).code == errSecParam)
                #expect(
                    SecKeyCalls.decrypt(key, algorithm, sealed.prefix(40)).code == errSecParam)
            }
        }
    }

    @Test func `a hardware key supports only the operations of a private P-256 key`() throws {
        let key = try #require(make().value)
        #expect(SecKeyIsAlgorithmSupported(key, .keyExchange, .ecdhKeyExchangeStandard))
        #expect(
            SecKeyIsAlgorithmSupported(key, .decrypt, .eciesEncryptionStandardX963SHA256AESGCM))
        #expect(
            !SecKeyIsAlgorithmSupported(key, .encrypt, .eciesEncryptionStandardX963SHA256AESGCM))
        #expect(!SecKeyIsAlgorithmSupported(key, .verify, .ecdsaSignatureMessageX962SHA256))
        #expect(!SecKeyIsAlgorithmSupported(key, .sign, .rsaSignatureMessagePSSSHA256))
        #expect(
            SecKeyCalls.sign(key, .rsaSignatureMessagePSSSHA256, message).code == errSecParam)
        #expect(
            SecKeyCalls.encrypt(key, .eciesEncryptionStandardX963SHA256AESGCM, message).code
                == errSecParam)
        #expect(
            SecKeyCalls.refusal(key, .ecdsaSignatureMessageX962SHA256, message, message)
                == errSecParam)
        #expect(SecKeyGetBlockSize(key) == 32)
    }

    // MARK: Creating keys

    @Test func `the Secure Enclave creates P-256 keys and refuses others, such as Ed25519`() {
        for (type, size) in [
            ("73", 384), ("73", 521), ("42", 2048), ("105", 256), ("106", 256), ("73", 255),
        ] {
            #expect(make(["type": type, "bsiz": size]).code == errSecParam)
            #expect(
                add(["class": "keys", "tkid": "com.apple.setoken", "type": type, "bsiz": size])
                    .status == errSecParam)
        }
        #expect(
            add(["class": "keys", "tkid": "com.apple.setoken"]).status == errSecParam)
        #expect(copy([:]).status == errSecItemNotFound)
        let software = test.withSecItem {
            SecKeyCalls.create(["type": "105", "perm": true]).value
        }
        #expect(software?.secureEnclaveKey == nil)
        #expect(software.flatMap { SecKeyCalls.external($0).value }?.count == 32)
    }

    @Test func `without a Secure Enclave, no hardware key is created or stored`() throws {
        test.hasSecureEnclave = false
        #expect(make().code == errSecUnimplemented)
        #expect(try reason(of: token).contains("TPM"))
        #expect(
            add(["class": "keys", "tkid": "com.apple.setoken", "type": "73"]).status
                == errSecUnimplemented)
        #expect(copy([:]).status == errSecItemNotFound)
    }

    @Test func `a key whose Secure Enclave is missing is kept, but can't be used`() throws {
        let key = try #require(make(["labl": "L"]).value)
        test.hasSecureEnclave = false
        #expect(
            SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecUnimplemented)
        #expect(copy(["labl": "L", "r_Ref": true]).result as? SecKey == key)
        test.hasSecureEnclave = true
        #expect(SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).value != nil)
    }

    @Test func `a key that can't be stored isn't returned, and nothing is stored`() throws {
        #expect(
            make(["private": ["agrp": "foreign"], "public": ["perm": true]]).code
                == errSecMissingEntitlement)
        #expect(copy([:]).status == errSecItemNotFound)
        // An item can't have an unknown attribute, and a hardware key can't be synchronizable.
        #expect(make(["private": ["zzzz": 1]]).code == errSecNoSuchAttr)
        #expect(make(["private": ["sync": true]]).code == errSecParam)
        #expect(copy(["sync": "syna"]).status == errSecItemNotFound)
    }

    @Test func `a hardware key's public key is stored in software on request`() throws {
        let key = try #require(
            make(["public": ["perm": true, "labl": "P"], "private": ["labl": "Q"]]).value)
        let stored = copy(["labl": "P", "r_Ref": true, "r_Attributes": true])
        let attributes = try #require(stored.result as? [String: Any])
        #expect(attributes["tkid"] == nil)
        #expect(attributes["v_Ref"] as? SecKey == SecKeyCopyPublicKey(key))
        #expect(copy(["labl": "Q", "r_Ref": true]).result as? SecKey == key)
    }

    @Test func `hardware keys can't be imported or exported`() throws {
        let key = try #require(make().value)
        #expect(SecKeyCalls.external(key).code == errSecUnimplemented)
        let bytes = try #require(SecKeyCalls.external(SampleKey.p256.privateKey).value)
        #expect(
            SecKeyCalls.read(bytes, token.merging(["kcls": "1"]) { $1 }).code
                == errSecUnimplemented)
        #expect(
            add([
                "class": "keys", "tkid": "com.apple.setoken", "type": "73", "kcls": "1",
                "v_Data": bytes,
            ]).status == errSecParam)
        for format in [SecExternalFormat.formatOpenSSL, .formatRawKey, .formatPKCS12] {
            #expect(throws: ExportFailure(status: errSecUnimplemented), "\(format)") {
                try exported(key, format, passphrase: "pass" as NSString)
            }
        }
    }

    // MARK: Items

    @Test func `a hardware key's item returns the key and its attributes, but no data`() throws {
        let key = try #require(
            make(["private": ["atag": Data("tag".utf8), "labl": "L", "extr": true]]).value)
        #expect(copy(["r_Data": true]).status == errSecSuccess)
        #expect(copy(["r_Data": true]).result == nil)
        let all = try #require(
            copy(["r_Data": true, "r_Attributes": true, "r_Ref": true, "r_PersistentRef": true])
                .result as? [String: Any])
        #expect(all["v_Data"] == nil)
        #expect(all["v_Ref"] as? SecKey == key)
        #expect(all["tkid"] as? String == "com.apple.setoken")
        #expect(all["klbl"] as? Data == key.publicKeyHash)
        #expect(all["atag"] as? Data == Data("tag".utf8))
        #expect((all["extr"] as? NSNumber)?.boolValue == false)
        #expect((all["sens"] as? NSNumber)?.boolValue == true)
        #expect(all["pdmn"] as? String == "ak")
        #expect(
            all["accc"] as? SecAccessControl == (try control(.privateKeyUsage, "ak" as CFString)))
    }

    @Test func `a hardware key's access control can be read back`() throws {
        let wanted = try control(
            .privateKeyUsage, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
        let key = try #require(make(["private": ["accc": wanted]]).value)
        let attributes = try #require(copy(["r_Attributes": true]).result as? [String: Any])
        #expect(attributes["accc"] as? SecAccessControl == wanted)
        #expect(attributes["pdmn"] as? String == "cku")
        #expect(SecKeyCalls.attributes(key)["accc"] as? SecAccessControl == wanted)
        #expect(copy(["pdmn": "cku"]).status == errSecSuccess)
        #expect(copy(["pdmn": "aku"]).status == errSecItemNotFound)
    }

    @Test func `a key that wasn't stored can be added once, with its access control`() throws {
        let wanted = try control(.privateKeyUsage)
        let key = try #require(make(["private": ["perm": false, "accc": wanted]]).value)
        #expect(copy([:]).status == errSecItemNotFound)
        #expect(add(["v_Ref": key, "pdmn": "ck"]).status == errSecParam)
        #expect(add(["v_Ref": key, "accc": try control(.userPresence)]).status == errSecParam)
        #expect(add(["v_Ref": key, "labl": "L"]).status == errSecSuccess)
        #expect(add(["v_Ref": key]).status == errSecDuplicateItem)
        let found = try #require(copy(["labl": "L", "r_Ref": true]).result as? SecKey)
        #expect(found == key)
        #expect(SecKeyCalls.sign(found, .ecdsaSignatureMessageX962SHA256, message).value != nil)
        #expect(test.withSecItem { SecItemDelete(["v_Ref": key] as NSDictionary) } == 0)
        #expect(copy([:]).status == errSecItemNotFound)
    }

    @Test func `a key's label and tag can be changed, and its protection and data can't`() throws {
        let key = try #require(make(["labl": "L"]).value)
        func update(_ changes: [String: Any]) -> OSStatus {
            test.withSecItem {
                SecItemUpdate(["class": "keys"] as NSDictionary, changes as NSDictionary)
            }
        }
        #expect(update(["labl": "M", "atag": Data("t".utf8)]) == errSecSuccess)
        #expect(copy(["labl": "M", "r_Ref": true]).result as? SecKey == key)
        for changes: [String: Any] in [
            ["v_Data": Data([1])], ["pdmn": "dk"], ["accc": try control(.userPresence)],
            ["tkid": "other"], ["sync": true],
        ] {
            #expect(update(changes) == errSecParam, "\(changes)")
        }
        #expect(SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).value != nil)
    }

    @Test func `a key is used in its own keychain, even in withSecItem of another one`() throws {
        let key = try #require(make().value)
        // This call is in the `withSecItem` of another keychain, not in that of the key's keychain.
        let other = TestKeychain()
        other.withSecItem {
            let signature = SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message)
            #expect(signature.value != nil)
        }
        try test.restart()
        #expect(SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).value != nil)
    }

    @Test func `a hardware key that was copied to another keychain can't be used`() throws {
        let key = try #require(make().value)
        let other = TestKeychain()
        other.hasSecureEnclave = true
        let found = try other.withSecItem {
            #expect(SecItemAdd(["v_Ref": key] as NSDictionary, nil) == errSecSuccess)
            var result: CFTypeRef?
            // SAFETY: the variable outlives the call.
            _ = unsafe SecItemCopyMatching(
                ["class": "keys", "r_Ref": true] as NSDictionary, &result)
            return try #require(result as? SecKey)
        }
        #expect(
            SecKeyCalls.sign(found, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecDecode)
    }

    // MARK: Authentication

    @Test func `a when-unlocked key can be used only while its keychain is unlocked`() throws {
        let key = try #require(make(["pdmn": "aku"]).value)
        try test.lock()
        #expect(
            SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecInteractionNotAllowed)
        try test.unlock()
        #expect(SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).value != nil)
    }

    @Test func `a key that requires user presence prompts when it is used, not when it is found`()
        throws
    {
        try test.setPasscode("1234")
        let wanted = try control([.privateKeyUsage, .userPresence])
        let key = try #require(make(["private": ["accc": wanted]]).value)
        #expect(
            SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecInteractionNotAllowed)
        test.person = .owner
        #expect(copy(["r_Ref": true, "r_Attributes": true]).status == errSecSuccess)
        #expect(SecKeyCopyPublicKey(key) != nil)
        #expect(test.askedQuestions.isEmpty)
        let found = try #require(
            copy(["r_Ref": true, "u_OpPrompt": "to sign the order"]).result as? SecKey)
        #expect(SecKeyCalls.sign(found, .ecdsaSignatureMessageX962SHA256, message).value != nil)
        #expect(test.askedQuestions.map(\.reason) == ["to sign the order"])
        #expect(
            SecKeyCalls.exchange(found, .ecdhKeyExchangeStandard, SampleKey.p256.publicKey).value
                != nil)
        #expect(test.askedQuestions.count == 2)
        test.person = .stranger
        #expect(
            SecKeyCalls.sign(found, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecAuthFailed)
    }

    @Test func `a missing or excessive size of a derived key is refused without a prompt`() throws {
        try test.setPasscode("1234")
        test.person = .owner
        let wanted = try control([.privateKeyUsage, .userPresence])
        let key = try #require(make(["private": ["accc": wanted]]).value)
        let refused: [[String: Any]] = [[:], ["requestedSize": (1 << 20) + 1]]
        for parameters in refused {
            let derived = SecKeyCalls.exchange(
                key, .ecdhKeyExchangeStandardX963SHA256, SampleKey.p256.publicKey, parameters)
            #expect(derived.code == errSecParam)
        }
        #expect(test.askedQuestions.isEmpty)
    }

    @Test func `one prompt suffices for several uses of a key with one context`() throws {
        try test.setPasscode("1234")
        test.person = .owner
        let wanted = try control([.privateKeyUsage, .userPresence])
        #expect(make(["private": ["accc": wanted]]).value != nil)
        let context = LAContext()
        let key = try #require(
            copy(["r_Ref": true, "u_AuthCtx": context]).result as? SecKey)
        for _ in 0..<3 {
            let signature = SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message)
            #expect(signature.value != nil)
        }
        #expect(test.askedQuestions.count == 1)
        let silent = try #require(
            copy(["r_Ref": true, "u_AuthUI": "u_AuthUIF"]).result as? SecKey)
        #expect(
            SecKeyCalls.sign(silent, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecInteractionNotAllowed)
    }

    @Test func `an application password is chosen for a new key and required for its use`() throws {
        let wanted = try control([.privateKeyUsage, .applicationPassword])
        // Without a password, creating the key fails, as adding an item does.
        #expect(make(["private": ["accc": wanted]]).code == errSecAuthFailed)
        let context = LAContext()
        #expect(
            context.setCredential(Data("tiger".utf8), type: .applicationPassword))
        let key = try #require(
            make(["private": ["accc": wanted, "u_AuthCtx": context]]).value)
        #expect(SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).value != nil)
        let found = try #require(copy(["r_Ref": true]).result as? SecKey)
        #expect(
            SecKeyCalls.sign(found, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecAuthFailed)
        let wrong = LAContext()
        #expect(wrong.setCredential(Data("lion".utf8), type: .applicationPassword))
        let other = try #require(copy(["r_Ref": true, "u_AuthCtx": wrong]).result as? SecKey)
        #expect(
            SecKeyCalls.sign(other, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecAuthFailed)
    }

    @Test func `a key without privateKeyUsage can be created, but not used`() throws {
        let key = try #require(make(["private": ["accc": try control([])]]).value)
        #expect(
            SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, message).code
                == errSecAuthFailed)
        #expect(SecKeyCopyPublicKey(key) != nil)
    }

    // MARK: The key object

    @Test func `a hardware key equals itself, and its description contains no secret`() throws {
        let key = try #require(make().value)
        let found = try #require(copy(["r_Ref": true]).result as? SecKey)
        #expect(key == found && key.hash == found.hash)
        #expect(key != (try #require(make().value)))
        #expect(key != SecKeyCopyPublicKey(key))
        #expect(key.description == "<SecKey: private key, P-256, in hardware>")
    }

    @Test func `a certificate and a hardware key form an identity`() throws {
        let key = try #require(make().value)
        let maker = try CertificateMaker()
        let info = try key.exportedPublicKey.base64EncodedString()
        try maker.openSSL.write(
            "-----BEGIN PUBLIC KEY-----\n\(info)\n-----END PUBLIC KEY-----\n", to: "half.pem")
        try maker.make("authority", subject: "/CN=Authority")
        let certificate = try maker.make(
            "mine", subject: "/CN=Mine", issuer: "authority",
            arguments: ["-force_pubkey", "half.pem"])
        #expect(SecIdentityCreate(nil, certificate, key) != nil)
        #expect(add(["v_Ref": certificate]).status == errSecSuccess)
        let found = copy(["class": "idnt", "r_Ref": true]).result
        let identity = try #require(found as? SecIdentity)
        #expect(identity.privateKey == key)
        #expect(
            SecKeyCalls.sign(
                identity.privateKey, .ecdsaSignatureMessageX962SHA256, message
            ).value != nil)
        let data = try #require(
            copy(["class": "idnt", "r_Data": true, "r_Attributes": true]).result
                as? [String: Any])
        #expect(data["v_Data"] == nil)
    }
}

#endif
