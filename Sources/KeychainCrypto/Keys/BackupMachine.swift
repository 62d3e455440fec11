// BackupMachine: the machine that the items of a backup belong to which stay on their device.
// Documentation/Formats/backup-v1.md.
//   (1) Whoever opens the backup elsewhere lacks the key of these items: it takes the machine's chip,
//       or where it has none, what is derived from the machine's identity.
//   (2) It doesn't take the keychain: one that is lost comes back from its backup, on its machine.

package import FoundationEssentials
package import KeychainCore

package struct BackupMachine: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        case identity
        case chip
    }

    let kind: Kind
    let salt: Data
    /// What the chip has sealed.
    let sealed: Data?

    /// A fresh key for the items of one backup, and what finds it again on this machine alone.
    /// - Returns: nil where the machine has nothing that lasts.
    package static func make(
        for machine: Machine
    ) throws(KeychainFailure) -> (place: BackupMachine, key: SecretBytes)? {
        let salt = Bytes16.random().bytes
        if let chip = machine.chip, chip.isPresent {
            let secret = SecretBytes.random(byteCount: 32)
            let place = BackupMachine(
                kind: .chip, salt: Data(salt), sealed: try chip.seal(secret))
            return (place, KeyDerivation.derive(.backup, from: secret, salt: salt))
        }
        guard let identity = machine.identity else { return nil }
        return (
            BackupMachine(kind: .identity, salt: Data(salt), sealed: nil),
            KeyDerivation.derive(.backup, from: identity, salt: salt)
        )
    }

    /// nil: this is another machine, or its chip can't be used now.
    package func key(on machine: Machine) -> SecretBytes? {
        let secret: SecretBytes? =
            switch kind {
            case .identity: machine.identity
            case .chip: sealed.flatMap { try? machine.chip?.unseal($0) }
            }
        return secret.map { KeyDerivation.derive(.backup, from: $0, salt: Array(salt)) }
    }

    /// An item under the key, bound to the name that stands beside it.
    package static func seal(_ item: Data, as name: [UInt8], using key: SecretBytes) -> Data {
        AuthenticatedEncryption.seal(item, using: key, authenticating: name)
    }

    /// nil: another machine's.
    package static func open(_ sealed: Data, as name: [UInt8], using key: SecretBytes) -> Data? {
        try? AuthenticatedEncryption.open(sealed, using: key, authenticating: name)
    }
}
