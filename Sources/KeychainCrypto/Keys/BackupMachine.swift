// BackupMachine: the machine to which the *this device only* items of a backup are bound.
// Documentation/Formats/backup-v1.md.
//   (1) These items can't be opened on another machine: their key requires the machine's chip or,
//       if it has none, the secret derived from the machine's identity.
//   (2) The key doesn't require the keychain, so a lost keychain can be restored from its backup on
//       the same machine.

package import FoundationEssentials
package import KeychainCore

package struct BackupMachine: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        case identity
        case chip
    }

    let kind: Kind
    let salt: Data
    /// The secret from which the key is derived, sealed by the chip; `nil` for an identity.
    let sealed: Data?

    /// Creates a new key for the items of one backup, and the data with which only this machine can
    /// recover it.
    /// - Returns: `nil` if the machine has neither a chip nor a permanent identity.
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

    /// Recovers the key.
    /// - Returns: If the key requires a chip: `nil` if this machine's chip is another one or can't
    ///   be used now. If the key requires an identity: `nil` if this machine has none. The identity
    ///   of another machine yields a key that opens no item.
    package func key(on machine: Machine) -> SecretBytes? {
        let secret: SecretBytes? =
            switch kind {
            case .identity: machine.identity
            case .chip: sealed.flatMap { try? machine.chip?.unseal($0) }
            }
        return secret.map { KeyDerivation.derive(.backup, from: $0, salt: Array(salt)) }
    }

    /// Seals an item under the key. The associated data `name` identify the item: it can be opened
    /// only with the same bytes.
    package static func seal(_ item: Data, as name: [UInt8], using key: SecretBytes) -> Data {
        AuthenticatedEncryption.seal(item, using: key, authenticating: name)
    }

    /// Returns `nil` if the item belongs to another machine or is damaged.
    package static func open(_ sealed: Data, as name: [UInt8], using key: SecretBytes) -> Data? {
        try? AuthenticatedEncryption.open(sealed, using: key, authenticating: name)
    }
}
