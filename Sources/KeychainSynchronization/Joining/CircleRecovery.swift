// CircleRecovery: the keys of a circle that follow from a recovery code.
// Documentation/Synchronization.md, "Recovery code".
//   (1) They are those of a signer that no machine can remove: with the code a machine is added
//       though every member is lost, or a member has removed all others.

import Crypto
package import KeychainCore
package import KeychainCrypto

extension MachineKeys {
    /// The keys that a recovery code stands for in one circle. The salt is the founding entry's.
    package init(_ code: RecoveryCode, salt: Bytes16) {
        let seed = Self.derive("swift-keychain sync 1 recovery agreement", 0, code, salt)
        // A scalar that is none of the curve comes once in 2^32.
        for attempt in UInt8.min...UInt8.max {
            let scalar = Self.derive("swift-keychain sync 1 recovery signing", attempt, code, salt)
            if let signer = SoftwareSigner(privateKey: scalar),
                let keys = MachineKeys(signer: signer, agreementSeed: seed)
            {
                self = keys
                return
            }
        }
        preconditionFailure("256 derived scalars are none of the curve")
    }

    private static func derive(
        _ purpose: String, _ attempt: UInt8, _ code: RecoveryCode, _ salt: Bytes16
    ) -> SecretBytes {
        code.bytes.withSymmetricKey {
            SecretBytes(
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: $0, salt: salt.bytes,
                    info: Array(purpose.utf8) + [attempt], outputByteCount: 32))
        }
    }
}
