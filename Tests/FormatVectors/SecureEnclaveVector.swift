// SecureEnclaveVector: Documentation/Formats/secure-enclave-key-v1.md.

package struct SecureEnclaveVector: FormatVector {
    /// The step at which opening a blob fails.
    package enum Failure: String, Codable, Sendable {
        case malformed, inauthentic, applicationPassword
    }

    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    package var keychainID: Hex
    /// The class key of the blob's protection class.
    package var classKey: Hex
    package var blob: Hex
    /// The bytes of the application password, where the constraints require one.
    package var applicationPassword: Hex?
    package var failure: Failure?
    package var identifier: Hex?
    package var protection: UInt8?
    /// 8 bytes.
    package var constraints: Hex?
    package var publicKey: Hex?
    package var wrappedKey: Hex?
    /// Absent if the key isn't bound to an enrollment.
    package var enrollment: Hex?
    /// The unsealed authorization value, 32 bytes.
    package var authorization: Hex?

    package init(
        _ comment: String, _ flag: String, keychainID: Hex, classKey: Hex, blob: Hex,
        applicationPassword: Hex? = nil, failure: Failure? = nil
    ) {
        self.comment = comment
        self.flags = [flag]
        self.result = failure == nil ? .valid : .invalid
        self.keychainID = keychainID
        self.classKey = classKey
        self.blob = blob
        self.applicationPassword = applicationPassword
        self.failure = failure
    }
}
