// CircleKeys: the keys that members of a circle share. Documentation/Synchronization.md, "Keys".
//   (1) A group key's identifier is a digest of circle, epoch, group and key, so a key can't be
//       passed off as that of another group or epoch.

import Crypto
import FoundationEssentials
package import KeychainCore
import KeychainCrypto

/// The key that every member is given, and that stays the same for as long as the circle exists.
/// One key derived from it seals the machines' names, and another one computes the labels of access
/// groups. The circle's founding entry contains this key's ``check``. So the circle's identifier
/// depends on this key, and a circle has only one such key.
package struct CircleKey: Sendable {
    package static let byteCount = 32
    private static let nameByteLimit = 255

    /// What ``isName(_:)`` requires, as a text for users.
    package static let nameRule =
        "A machine's name has 1 to \(nameByteLimit) bytes and no control characters."

    /// Whether a text can be the name of a machine.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= nameByteLimit
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    package let bytes: SecretBytes
    private let names: SecretBytes
    private let labels: SecretBytes

    package init(bytes: SecretBytes) {
        self.bytes = bytes
        names = Self.derive("swift-keychain sync 1 names", from: bytes)
        labels = Self.derive("swift-keychain sync 1 labels", from: bytes)
    }

    package static func random() -> CircleKey {
        CircleKey(bytes: .random(byteCount: byteCount))
    }

    /// A digest by which a machine recognizes the key. It reveals nothing about a random key.
    package var check: Digest {
        let text = Array("swift-keychain sync 1 circle key".utf8)
        guard let digest = Digest(SecretBytes(copying: text).appending(bytes).sha256) else {
            preconditionFailure("a digest has the wrong size")
        }
        return digest
    }

    private static func derive(_ purpose: String, from key: SecretBytes) -> SecretBytes {
        key.withSymmetricKey {
            SecretBytes(
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: $0, info: Array(purpose.utf8), outputByteCount: 32))
        }
    }

    /// The label of an access group: the first 16 bytes of HMAC-SHA-256 over the group's name in
    /// UTF-8.
    package func label(of group: String) -> Bytes16 {
        let code = labels.withSymmetricKey {
            Array(HMAC<SHA256>.authenticationCode(for: Array(group.utf8), using: $0))
        }
        guard let label = Bytes16(code.prefix(16)) else {
            preconditionFailure("a code has another size")
        }
        return label
    }

    /// Seals a machine's name of at most 255 bytes.
    package func seal(name: String, of machine: MachineID) -> [UInt8] {
        Array(
            AuthenticatedEncryption.seal(
                Array(name.utf8), using: names, authenticating: machine.bytes.bytes))
    }

    /// Opens a machine's name; `nil` if it was not sealed with this key for this machine, or isn't
    /// UTF-8.
    package func name(_ sealed: [UInt8], of machine: MachineID) -> String? {
        guard
            let name = try? AuthenticatedEncryption.open(
                Data(sealed), using: names, authenticating: machine.bytes.bytes)
        else { return nil }
        return String(validating: name, as: UTF8.self)
    }
}

/// The key of an access group in an epoch. A group can have several keys in one epoch, if machines
/// that don't know of each other's key each create one. All of these keys are valid.
package struct GroupKey: Sendable {
    package static let byteCount = 32
    package static let groupByteLimit = 1024

    package let id: Bytes16
    package let epoch: UInt64
    package let group: String
    package let bytes: SecretBytes

    package init(epoch: UInt64, group: String, bytes: SecretBytes, in circle: CircleID) {
        self.epoch = epoch
        self.group = group
        self.bytes = bytes
        var writer = ByteWriter(capacity: 128)
        writer.bytes(Array("swift-keychain sync 1 key".utf8))
        circle.digest.write(to: &writer)
        writer.number(epoch)
        writer.sized(Array(group.utf8))
        let inner = SecretBytes(copying: writer.result).appending(bytes).sha256
        guard let id = Bytes16(inner.prefix(16)) else {
            preconditionFailure("a digest has the wrong size")
        }
        self.id = id
    }

    package static func random(
        epoch: UInt64, group: String, in circle: CircleID
    ) -> GroupKey {
        GroupKey(
            epoch: epoch, group: group, bytes: .random(byteCount: byteCount), in: circle)
    }
}
