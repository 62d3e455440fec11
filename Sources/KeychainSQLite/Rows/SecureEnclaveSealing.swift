// SecureEnclaveSealing: seals the authorization value of a hardware key in the key's blob.
// Documentation/Formats/secure-enclave-key-v1.md.
//   (1) The value is sealed under the class key of the key's protection class. If the constraints
//       require an application password, it is first sealed under a key derived from that password.
//       A blob sealed under one of the class's retired keys can still be opened.
//   (2) The AAD contains everything else in the blob, and the keychain's identifier.

package import FoundationEssentials
package import KeychainCrypto
package import KeychainCore

package enum SecureEnclaveSealing {
    private static let bindingMagic = Array("KCEA".utf8)

    /// The sealed content of a blob.
    package struct Content: Hashable, Sendable {
        /// The identifier of the biometric enrollment that the key was made for, 1 to 64 bytes;
        /// only with ``AccessConstraints/biometryCurrentSet``. `nil` if there was none.
        package var enrollment: Data?
        /// The authorization value, 32 bytes, or that value sealed under an application password.
        package var authorization: Data

        package init(enrollment: Data?, authorization: Data) {
            self.enrollment = enrollment
            self.authorization = authorization
        }
    }

    package static let authorizationByteCount = 32

    /// The bytes are not a result of ``seal(_:in:keychainID:keys:)`` with these keys or the retired
    /// ones.
    package struct Damaged: Error {}

    /// A copy of the blob with the sealed content.
    package static func seal(
        _ content: Content, in blob: SecureEnclaveBlob, keychainID: [UInt8], keys: ClassKeys
    ) -> SecureEnclaveBlob {
        let enrollment = content.enrollment ?? Data()
        var plaintext = Data([UInt8(truncatingIfNeeded: enrollment.count)])
        plaintext += enrollment
        plaintext += content.authorization
        defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
        let byteCount = plaintext.count + AuthenticatedEncryption.overheadByteCount
        var blob = blob
        blob.sealedAuthorization = AuthenticatedEncryption.seal(
            plaintext, using: keys.classKey,
            authenticating: binding(blob, sealedByteCount: byteCount, keychainID))
        return blob
    }

    package static func open(
        _ blob: SecureEnclaveBlob, keychainID: [UInt8], keys: ClassKeys
    ) throws(Damaged) -> Content {
        for key in [keys.classKey] + keys.retiredClassKeys.reversed() {
            if let content = try? open(blob, keychainID: keychainID, key) { return content }
        }
        throw Damaged()
    }

    private static func open(
        _ blob: SecureEnclaveBlob, keychainID: [UInt8], _ key: SecretBytes
    ) throws(Damaged) -> Content {
        do {
            var plaintext = try AuthenticatedEncryption.open(
                blob.sealedAuthorization, using: key,
                authenticating: binding(
                    blob, sealedByteCount: blob.sealedAuthorization.count, keychainID))
            defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
            guard let content = Content(plaintext, under: blob.constraints) else {
                throw Damaged()
            }
            return content
        } catch {
            throw Damaged()
        }
    }

    private static func binding(
        _ blob: SecureEnclaveBlob, sealedByteCount: Int, _ keychainID: [UInt8]
    ) -> [UInt8] {
        bindingMagic + keychainID + blob.head(sealedByteCount: sealedByteCount)
    }
}

extension SecureEnclaveSealing.Content {
    fileprivate init?(_ plaintext: Data, under constraints: AccessConstraints) {
        guard let first = plaintext.first, plaintext.count > Int(first) else { return nil }
        let rest = plaintext.dropFirst()
        let enrollment = rest.prefix(Int(first))
        if !enrollment.isEmpty {
            guard constraints.contains(.biometryCurrentSet),
                ItemRecord.enrollmentSizes.contains(enrollment.count)
            else { return nil }
        }
        let authorization = Data(rest.dropFirst(Int(first)))
        let isWellFormed =
            constraints.requiresApplicationPassword
            ? PasswordSealing.isWellFormed(
                authorization, secretByteCount: SecureEnclaveSealing.authorizationByteCount)
            : authorization.count == SecureEnclaveSealing.authorizationByteCount
        guard isWellFormed else { return nil }
        self.init(
            enrollment: enrollment.isEmpty ? nil : Data(enrollment), authorization: authorization)
    }
}
