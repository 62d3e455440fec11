// MachineKeys: the two key pairs of a machine. Documentation/Synchronization.md, "Machines".
//   (1) A machine's identifier is a digest of its public keys, so verifying the identifier verifies
//       the keys.
//   (2) The private keys are in secret memory, except a signing key in hardware. A key object of
//       the crypto library is created for each use and not kept.

import Crypto
import FoundationEssentials
package import KeychainCore
import KeychainCrypto

/// The public keys of a machine.
package struct MachineDescription: Hashable, Sendable {
    /// ECDSA on P-256 with SHA-256; HPKE in base mode with X-Wing, HKDF-SHA-256 and AES-256-GCM.
    static let suite: UInt8 = 1
    static let signingKeyByteCount = 65
    static let agreementKeyByteCount = 1216
    package static let byteCount = 1 + signingKeyByteCount + agreementKeyByteCount

    /// X9.63, uncompressed.
    package let signingKey: [UInt8]
    /// X-Wing.
    package let agreementKey: [UInt8]

    /// - Returns: `nil` if the bytes aren't valid public keys.
    package init?(signingKey: [UInt8], agreementKey: [UInt8]) {
        guard (try? P256.Signing.PublicKey(x963Representation: signingKey)) != nil,
            signingKey.count == Self.signingKeyByteCount,
            (try? XWingMLKEM768X25519.PublicKey(rawRepresentation: agreementKey)) != nil
        else { return nil }
        self.signingKey = signingKey
        self.agreementKey = agreementKey
    }

    init?(reading reader: inout ByteReader) {
        guard let suite: UInt8 = reader.number(), suite == Self.suite,
            let signingKey = reader.bytes(Self.signingKeyByteCount),
            let agreementKey = reader.bytes(Self.agreementKeyByteCount)
        else { return nil }
        self.init(signingKey: signingKey, agreementKey: agreementKey)
    }

    /// - Returns: `nil` for anything but the bytes of a description.
    package init?(decoding bytes: some Collection<UInt8>) {
        var reader = ByteReader(Array(bytes))
        self.init(reading: &reader)
        guard reader.isAtEnd else { return nil }
    }

    package var bytes: [UInt8] { [Self.suite] + signingKey + agreementKey }

    package var id: MachineID {
        let digest = Fingerprint.sha256(of: Array("swift-keychain sync 1 machine".utf8) + bytes)
        guard let bytes = Bytes16(digest.prefix(16)) else {
            preconditionFailure("a digest has the wrong size")
        }
        return MachineID(bytes)
    }

    /// Whether a signature over a message was made with this machine's key.
    func isValid(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        guard let key = try? P256.Signing.PublicKey(x963Representation: signingKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: message)
    }
}

/// Makes a machine's signatures, in software or in a chip.
package protocol MachineSigner: Sendable {
    /// X9.63, uncompressed: 65 bytes.
    var publicKey: [UInt8] { get }
    /// ECDSA with SHA-256 over a message: r ‖ s, 64 bytes.
    func signature(over message: [UInt8]) throws(KeychainFailure) -> [UInt8]
}

/// A signing key in this process.
package struct SoftwareSigner: MachineSigner {
    package static let privateKeyByteCount = 32
    package static let signatureByteCount = 64

    /// The scalar.
    package let privateKey: SecretBytes
    package let publicKey: [UInt8]

    /// - Returns: `nil` if the scalar isn't valid for the curve (about 1 in 2^32 random scalars).
    package init?(privateKey: SecretBytes) {
        guard let key = privateKey.signingKeyP256 else { return nil }
        self.privateKey = privateKey
        publicKey = Array(key.publicKey.x963Representation)
    }

    package static func random() -> SoftwareSigner {
        while true {
            if let signer = SoftwareSigner(
                privateKey: .random(byteCount: privateKeyByteCount))
            {
                return signer
            }
        }
    }

    package func signature(over message: [UInt8]) throws(KeychainFailure) -> [UInt8] {
        defer { MemoryScrubber.eraseFreedMemory() }
        guard let signature = try? privateKey.signingKeyP256?.signature(for: message) else {
            throw KeychainFailure(.internalError, "The signature couldn't be made.")
        }
        return Array(signature.rawRepresentation)
    }
}

/// The private keys of a machine.
package struct MachineKeys: Sendable {
    package static let seedByteCount = 32

    package let signer: any MachineSigner
    /// The seed of the X-Wing key.
    package let agreementSeed: SecretBytes
    package let description: MachineDescription

    /// - Returns: `nil` if the library rejects the keys.
    package init?(signer: any MachineSigner, agreementSeed: SecretBytes) {
        guard let key = agreementSeed.keyXWing,
            let description = MachineDescription(
                signingKey: signer.publicKey, agreementKey: Array(key.publicKey.rawRepresentation))
        else { return nil }
        self.signer = signer
        self.agreementSeed = agreementSeed
        self.description = description
    }

    package static func random() -> MachineKeys {
        guard
            let keys = MachineKeys(
                signer: SoftwareSigner.random(),
                agreementSeed: .random(byteCount: seedByteCount))
        else { preconditionFailure("the library rejects its own keys") }
        return keys
    }

    package var id: MachineID { description.id }

    /// Calls `body` with the X-Wing key for HPKE.
    func withAgreementKey<Result>(
        _ body: (XWingMLKEM768X25519.PrivateKey) throws -> Result
    ) throws -> Result {
        defer { MemoryScrubber.eraseFreedMemory() }
        guard let key = agreementSeed.keyXWing else {
            preconditionFailure("the key was made from this seed before")
        }
        return try body(key)
    }
}
