// PasswordSealing: the content of a secret whose constraints require an application password.
// Documentation/Formats/row-v1.md, "Secret under an application password".
//   (1) The secret is sealed under a key derived only from the password. The result is the content,
//       which is sealed again under a key of the keychain. An attacker who has all keys of the
//       keychain but not the password can only guess the password.
//   (2) The AAD binds the content to keychain, reference, protection class, item class and
//       constraints, so it can't be used as the secret of another item or under weaker constraints.
//   (3) Every content has its own salt. The cost is checked against its bounds before a key is
//       derived.

package import FoundationEssentials
package import KeychainCrypto
package import KeychainCore

package enum PasswordSealing {
    private static let magic = Array("KCA1".utf8)
    private static let saltByteCount = 16
    /// magic 4, log N 1, r 1, p 1, zero 1, salt 16.
    private static let headByteCount = 24

    /// The item that the content is bound to.
    package struct Binding: Hashable, Sendable {
        package let keychainID: [UInt8]
        package let reference: ItemReference
        package let protection: ProtectionClass
        package let itemClass: ItemClass
        package let constraints: AccessConstraints

        package init(
            keychainID: [UInt8], reference: ItemReference, protection: ProtectionClass,
            itemClass: ItemClass, constraints: AccessConstraints
        ) {
            self.keychainID = keychainID
            self.reference = reference
            self.protection = protection
            self.itemClass = itemClass
            self.constraints = constraints
        }

        fileprivate var bytes: [UInt8] {
            var writer = ByteWriter(capacity: 49)
            writer.bytes(magic)
            writer.bytes(keychainID)
            reference.value.write(to: &writer)
            writer.number(protection.rawValue)
            writer.number(itemClass.rawValue)
            writer.number(constraints.rawValue)
            return writer.result
        }
    }

    /// - Throws: `allocate` if there is too little memory to derive the key; `notAvailable` if
    ///   `cost` exceeds its bounds.
    package static func seal(
        _ secret: Data, password: SecretBytes, cost: PasscodeCost, for binding: Binding
    ) throws(KeychainFailure) -> Data {
        defer { MemoryScrubber.eraseFreedMemory() }
        let salt = Bytes16.random()
        let key = try key(password, cost, salt.bytes)
        var head = ByteWriter(capacity: headByteCount)
        head.bytes(magic)
        head.number(cost.logN)
        head.number(cost.blockSize)
        head.number(cost.parallelism)
        head.number(0 as UInt8)
        salt.write(to: &head)
        let sealed = AuthenticatedEncryption.seal(
            secret, using: key, authenticating: binding.bytes)
        return Data(head.result) + sealed
    }

    /// - Throws: `authFailed` if the password is wrong, if the cost, the salt or the sealed part of
    ///   `content` was altered, or if `content` is bound to another item; `decode` if `content` is
    ///   malformed or its cost exceeds the bounds; `allocate` if there is too little memory to
    ///   derive the key.
    package static func open(
        _ content: Data, password: SecretBytes, for binding: Binding
    ) throws(KeychainFailure) -> Data {
        guard let head = Head(content) else { throw .damagedItem(binding.reference) }
        defer { MemoryScrubber.eraseFreedMemory() }
        let key = try key(password, head.cost, head.salt)
        do {
            return try AuthenticatedEncryption.open(
                content.dropFirst(headByteCount), using: key, authenticating: binding.bytes)
        } catch {
            throw KeychainFailure(
                .authFailed, "The application password of the item \(binding.reference) is wrong.",
                item: binding.reference)
        }
    }

    /// Whether bytes have the form that ``seal(_:password:cost:for:)`` returns, as far as can be
    /// determined without the password.
    package static func isWellFormed(_ content: Data) -> Bool { Head(content) != nil }

    /// Whether bytes have the form that ``isWellFormed(_:)`` requires, with a secret of the given
    /// size.
    package static func isWellFormed(_ content: Data, secretByteCount: Int) -> Bool {
        isWellFormed(content)
            && content.count
                == headByteCount + AuthenticatedEncryption.overheadByteCount + secretByteCount
    }

    private struct Head {
        let cost: PasscodeCost
        let salt: [UInt8]

        init?(_ content: Data) {
            guard content.count >= headByteCount + AuthenticatedEncryption.overheadByteCount else {
                return nil
            }
            var reader = ByteReader(Array(content.prefix(headByteCount)))
            guard reader.bytes(magic.count) == magic, let logN: UInt8 = reader.number(),
                let blockSize: UInt8 = reader.number(), let parallelism: UInt8 = reader.number(),
                let reserved: UInt8 = reader.number(), reserved == 0,
                let salt = reader.bytes(saltByteCount)
            else { return nil }
            cost = PasscodeCost(logN: logN, blockSize: blockSize, parallelism: parallelism)
            guard cost.isAcceptable else { return nil }
            self.salt = salt
        }
    }

    /// scrypt of the password's SHA-256. With the password itself, HMAC within scrypt would not
    /// distinguish two passwords of up to 64 bytes that differ only in the number of zero bytes at
    /// the end.
    private static func key(
        _ password: SecretBytes, _ cost: PasscodeCost, _ salt: [UInt8]
    ) throws(KeychainFailure) -> SecretBytes {
        try cost.deriveKey(from: password.digest, salt: salt)
    }
}
