// SecureEnclaveVectors: the test vectors for the format that
// Documentation/Formats/secure-enclave-key-v1.md describes.

import FormatVectors
import FoundationEssentials
import KeychainAsymmetricKeys
import KeychainCrypto
import KeychainCore
import KeychainSQLite

struct SecureEnclaveVectors {
    private static let keychainID = Example.counting(from: 0x10, count: 16)
    private static let keys = ClassKeys(
        classKey: SecretBytes(copying: Example.counting(from: 0x40)),
        metadataKey: SecretBytes(copying: Example.counting(from: 0x60)))
    private static let value = Example.counting(from: 0x80)
    private static let password = Array("correct horse".utf8)
    /// A low cost, so that tests are quick.
    private static let cost = PasscodeCost(logN: 4, blockSize: 8, parallelism: 1)

    private let plain: SecureEnclaveBlob
    private let publicKey: Data

    init() throws {
        publicKey = try AsymmetricPrivateKey(random: .elliptic(.p256)).publicKey
            .externalRepresentation
        plain = Self.sealed(
            Self.blob(publicKey, .privateKeyUsage),
            SecureEnclaveSealing.Content(enrollment: nil, authorization: Data(Self.value)))
    }

    var file: VectorFile<SecureEnclaveVector> {
        get throws {
            VectorFile(
                algorithm: "swift-keychain Secure Enclave key",
                notes: [
                    "Content": "What the sealed authorization holds.",
                    "Form": "The fields before the sealed authorization, and the sizes.",
                    "Password": "An authorization value under an application password.",
                    "Seal": "The data to which the sealed authorization is bound.",
                ],
                tests: try valid() + malformed() + inauthentic() + contents())
        }
    }

    var exampleLines: [String] {
        Example.dump("keychain's identifier", Self.keychainID) + [""]
            + Example.dump("class key", Self.keys.classKey.plainBytes) + [""]
            + Example.dump("blob", plain.encoded) + [""]
            + Example.dump("authorization value", Self.value)
    }

    // MARK: Parts

    private static func blob(
        _ publicKey: Data, _ constraints: AccessConstraints, wrappedByteCount: Int = 48
    ) -> SecureEnclaveBlob {
        SecureEnclaveBlob(
            identifier: ItemReference(
                Bytes16(high: 0x5051_5253_5455_5657, low: 0x5859_5A5B_5C5D_5E5F)),
            protection: .whenUnlockedThisDeviceOnly, constraints: constraints,
            publicKey: publicKey,
            wrappedKey: Data(Example.counting(from: 0xA0, count: wrappedByteCount)))
    }

    private static func sealed(
        _ blob: SecureEnclaveBlob, _ content: SecureEnclaveSealing.Content
    ) -> SecureEnclaveBlob {
        SecureEnclaveSealing.seal(content, in: blob, keychainID: keychainID, keys: keys)
    }

    private func test(
        _ comment: String, _ flag: String, _ blob: some Sequence<UInt8>,
        password: [UInt8]? = nil, failure: SecureEnclaveVector.Failure? = nil
    ) -> SecureEnclaveVector {
        SecureEnclaveVector(
            comment, flag, keychainID: Hex(Self.keychainID), classKey: Hex(Self.keys.classKey),
            blob: Hex(Array(blob)), applicationPassword: password.map { Hex($0) },
            failure: failure)
    }

    private func valid(
        _ comment: String, _ flag: String, _ blob: SecureEnclaveBlob, enrollment: Data? = nil,
        password: [UInt8]? = nil
    ) -> SecureEnclaveVector {
        var vector = test(comment, flag, blob.encoded, password: password)
        vector.identifier = Hex(blob.identifier.bytes)
        vector.protection = blob.protection.rawValue
        vector.constraints = Hex(bigEndianBytes(blob.constraints.rawValue))
        vector.publicKey = Hex(Array(blob.publicKey))
        vector.wrappedKey = Hex(Array(blob.wrappedKey))
        vector.enrollment = enrollment.map { Hex(Array($0)) }
        vector.authorization = Hex(Self.value)
        return vector
    }

    private func guarded(password: [UInt8]) throws -> SecureEnclaveBlob {
        let blob = Self.blob(publicKey, [.privateKeyUsage, .applicationPassword])
        let content = try PasswordSealing.seal(
            Data(Self.value), password: SecretBytes(copying: password), cost: Self.cost,
            for: PasswordSealing.Binding(
                keychainID: Self.keychainID, reference: blob.identifier,
                protection: blob.protection, itemClass: .key, constraints: blob.constraints))
        return Self.sealed(
            blob, SecureEnclaveSealing.Content(enrollment: nil, authorization: content))
    }

    // MARK: Tests

    private func valid() throws -> [SecureEnclaveVector] {
        let value = Data(Self.value)
        func plain(_ blob: SecureEnclaveBlob, _ enrollment: Data? = nil) -> SecureEnclaveBlob {
            Self.sealed(
                blob,
                SecureEnclaveSealing.Content(enrollment: enrollment, authorization: value))
        }
        let enrollment = Data(Example.counting(from: 1, count: 64))
        let biometry: AccessConstraints = [.privateKeyUsage, .biometryCurrentSet]
        return [
            valid("a key that requires no authentication", "Content", self.plain),
            valid("a key without constraints", "Content", plain(Self.blob(publicKey, []))),
            valid(
                "a key for a biometric enrollment", "Content",
                plain(Self.blob(publicKey, biometry), enrollment), enrollment: enrollment),
            valid(
                "a key that was made where nothing was enrolled", "Content",
                plain(Self.blob(publicKey, biometry))),
            valid(
                "a wrapped key of 1 byte", "Form",
                plain(Self.blob(publicKey, .privateKeyUsage, wrappedByteCount: 1))),
            valid(
                "a wrapped key of 4096 bytes", "Form",
                plain(Self.blob(publicKey, .privateKeyUsage, wrappedByteCount: 4096))),
            valid(
                "an application password", "Password", try guarded(password: Self.password),
                password: Self.password),
            valid(
                "the empty application password", "Password", try guarded(password: []),
                password: []),
        ]
    }

    private func malformed() -> [SecureEnclaveVector] {
        let whole = Array(plain.encoded)
        func changed(_ comment: String, _ change: (inout [UInt8]) -> Void) -> SecureEnclaveVector {
            var bytes = whole
            change(&bytes)
            return test(comment, "Form", bytes, failure: .malformed)
        }
        let none = Self.sealed(
            Self.blob(publicKey, .privateKeyUsage, wrappedByteCount: 0),
            SecureEnclaveSealing.Content(enrollment: nil, authorization: Data(Self.value)))
        let long = Self.sealed(
            Self.blob(publicKey, .privateKeyUsage, wrappedByteCount: 4097),
            SecureEnclaveSealing.Content(enrollment: nil, authorization: Data(Self.value)))
        return [
            changed("no bytes") { $0 = [] },
            changed("another magic") { $0[3] = 0x32 },
            changed("a size that is too small") { $0[7] -= 1 },
            changed("one byte less") { $0.removeLast() },
            changed("one byte more") { $0.append(0) },
            changed("protection class 5") { $0[24] = 5 },
            changed("protection class 13") { $0[24] = 13 },
            changed("a reserved byte that isn't zero") { $0[25] = 1 },
            changed("a constraint that has no name") { $0[28] = 1 },
            changed("a compressed public key") { $0[36] = 2 },
            test("a wrapped key of 0 bytes", "Form", none.encoded, failure: .malformed),
            test("a wrapped key of 4097 bytes", "Form", long.encoded, failure: .malformed),
        ]
    }

    private func inauthentic() -> [SecureEnclaveVector] {
        func changed(
            _ comment: String, _ change: (inout SecureEnclaveBlob) -> Void
        ) -> SecureEnclaveVector {
            var blob = plain
            change(&blob)
            return test(comment, "Seal", blob.encoded, failure: .inauthentic)
        }
        var foreign = test("another keychain", "Seal", plain.encoded, failure: .inauthentic)
        foreign.keychainID = Hex(Example.counting(from: 0x11, count: 16))
        var key = test("another class key", "Seal", plain.encoded, failure: .inauthentic)
        key.classKey = Hex(Self.keys.metadataKey)
        return [
            foreign, key,
            changed("another identifier") {
                $0.identifier = ItemReference(Bytes16(high: 0, low: 0))
            },
            changed("another protection class") { $0.protection = .always },
            changed("fewer constraints") { $0.constraints = [] },
            changed("another public key") { $0.publicKey[64] ^= 1 },
            changed("another wrapped key") { $0.wrappedKey[0] ^= 1 },
            changed("a changed nonce") { $0.sealedAuthorization[0] ^= 1 },
            changed("a changed tag") {
                $0.sealedAuthorization[$0.sealedAuthorization.count - 1] ^= 1
            },
        ]
    }

    private func contents() throws -> [SecureEnclaveVector] {
        func content(
            _ comment: String, _ constraints: AccessConstraints, enrollment: Int = 0,
            authorization: Data
        ) -> SecureEnclaveVector {
            let enrollment = Data(Example.counting(from: 1, count: enrollment))
            let blob = Self.sealed(
                Self.blob(publicKey, constraints),
                SecureEnclaveSealing.Content(
                    enrollment: enrollment, authorization: authorization))
            return test(comment, "Content", blob.encoded, failure: .inauthentic)
        }
        let value = Data(Self.value)
        let biometry: AccessConstraints = [.privateKeyUsage, .biometryCurrentSet]
        let guarded = try guarded(password: Self.password).encoded
        return [
            content(
                "an enrollment that no constraint asks for", .privateKeyUsage, enrollment: 32,
                authorization: value),
            content(
                "an enrollment of 65 bytes", biometry, enrollment: 65, authorization: value),
            content("a value of 33 bytes", .privateKeyUsage, authorization: value + [0]),
            content(
                "a value without the required password", [.privateKeyUsage, .applicationPassword],
                authorization: value),
            test(
                "another application password", "Password", guarded,
                password: Array("battery".utf8), failure: .applicationPassword),
        ]
    }
}
