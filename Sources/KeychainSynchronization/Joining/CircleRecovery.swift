// CircleRecovery: the keys of a circle that are derived from a recovery code.
// Documentation/Synchronization.md, "Recovery code".
//   (1) These keys may sign changes of the membership log, and no member can remove them. With the
//       code, a machine can be added even if all members are lost, or if one member has removed all
//       others.

import Crypto
package import KeychainCore
package import KeychainCrypto

extension MachineKeys {
    /// Derives the keys of a recovery code in one circle. `salt` is the salt of the founding entry.
    package init(_ code: RecoveryCode, salt: Bytes16) {
        let seed = Self.derive("swift-keychain sync 1 recovery agreement", 0, code, salt)
        // About 1 in 2^32 derived scalars isn't valid for the curve; then another one is derived.
        for attempt in UInt8.min...UInt8.max {
            let scalar = Self.derive("swift-keychain sync 1 recovery signing", attempt, code, salt)
            if let signer = SoftwareSigner(privateKey: scalar),
                let keys = MachineKeys(signer: signer, agreementSeed: seed)
            {
                self = keys
                return
            }
        }
        preconditionFailure("256 derived scalars aren't valid for the curve")
    }

    /// The salt of a circle with a recovery code. It depends on the founder's keys, so that the
    /// code proves which machine founded the circle. The salt and the recovery code's public keys
    /// are not secret, so an attacker can found a circle that has the same salt and public keys.
    /// But without the code, an attacker can't compute the salt that belongs to the attacker's own
    /// keys.
    package static func salt(_ code: RecoveryCode, founder: MachineDescription) -> Bytes16 {
        let bytes = code.bytes.withSymmetricKey {
            SecretBytes(
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: $0,
                    info: Array("swift-keychain sync 1 recovery salt".utf8) + founder.bytes,
                    outputByteCount: 16))
        }
        return Bytes16(bytes.plainBytes) ?? Bytes16(high: 0, low: 0)
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
