// KeyGrant: keys that a member encrypts to a machine of the circle, which may be the member itself,
// or to the recovery code's keys. A grant is a part of an entry of the member's log.
// Documentation/Synchronization.md, "Keys".
//   (1) HPKE in base mode (RFC 9180) doesn't authenticate the sender; the signature of the entry
//       does. HPKE's info contains circle, giver, recipient and the keys' identifiers, so a grant
//       doesn't open in another circle or in the log of another machine.
//   (2) The recipient recomputes the identifiers of the keys, and compares the circle key with the
//       digest in the founding entry. If anything differs, it takes no key of the grant.

import Crypto
import FoundationEssentials
package import KeychainCore
import KeychainCrypto

package struct KeyGrant: Hashable, Sendable {
    static let encapsulatedKeyByteCount = 1120
    private static let contentByteLimit = 1 << 20

    package let recipient: MachineID
    /// The identifiers of the group keys in the grant.
    package let keys: Set<Bytes16>
    let encapsulatedKey: [UInt8]
    let ciphertext: [UInt8]

    /// The plaintext of a grant.
    package struct Content: Sendable {
        /// Every grant contains this key, so that each machine that has a group key can determine
        /// which access groups another machine's scope includes. A scope names groups only by their
        /// labels, which are computed with this key.
        package var circleKey: CircleKey
        package var groupKeys: [GroupKey]

        package init(circleKey: CircleKey, groupKeys: [GroupKey]) {
            self.circleKey = circleKey
            self.groupKeys = groupKeys
        }
    }

    private static let ciphersuite = HPKE.Ciphersuite.XWingMLKEM768X25519_SHA256_AES_GCM_256

    private static func info(
        _ circle: CircleID, _ giver: MachineID, _ recipient: MachineID, _ keys: Set<Bytes16>
    ) -> Data {
        var writer = ByteWriter(capacity: 128)
        writer.bytes(Array("swift-keychain sync 1 grant".utf8))
        circle.digest.write(to: &writer)
        writer.write(giver)
        writer.write(recipient)
        writer.list(keys)
        return Data(writer.result)
    }

    // MARK: Giving

    /// Seals keys to a machine, or to the recovery code's keys.
    package init(
        _ content: Content, to recipient: MachineDescription, from giver: MachineID,
        in circle: CircleID
    ) throws(KeychainFailure) {
        var plaintext = Self.encoded(content)
        defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
        let keys = Set(content.groupKeys.map(\.id))
        do {
            let key = try XWingMLKEM768X25519.PublicKey(
                rawRepresentation: recipient.agreementKey)
            var sender = try HPKE.Sender(
                recipientKey: key, ciphersuite: Self.ciphersuite,
                info: Self.info(circle, giver, recipient.id, keys))
            ciphertext = Array(try sender.seal(plaintext))
            encapsulatedKey = Array(sender.encapsulatedKey)
        } catch {
            throw KeychainFailure(.internalError, "Keys couldn't be sealed to a machine.")
        }
        self.recipient = recipient.id
        self.keys = keys
    }

    private static func encoded(_ content: Content) -> Data {
        var data = Data()
        data.append(content.circleKey.bytes.data)
        data.append(bigEndian: UInt16(content.groupKeys.count))
        for key in content.groupKeys.sorted(by: { $0.id < $1.id }) {
            data.append(bigEndian: key.epoch)
            data.append(bigEndian: UInt32(key.group.utf8.count))
            data.append(contentsOf: key.group.utf8)
            data.append(key.bytes.data)
        }
        return data
    }

    // MARK: Taking

    /// Opens a grant with the recipient's key.
    package func open(
        with machine: MachineKeys, from giver: MachineID, in circle: Circle
    ) throws(SynchronizationFailure) -> Content {
        let plaintext: Data
        do {
            plaintext = try machine.withAgreementKey { key in
                var recipient = try HPKE.Recipient(
                    privateKey: key, ciphersuite: Self.ciphersuite,
                    info: Self.info(circle.id, giver, machine.id, keys),
                    encapsulatedKey: Data(encapsulatedKey))
                return try recipient.open(Data(ciphertext))
            }
        } catch {
            throw .malformed("a grant of keys by \(giver) doesn't open")
        }
        var bytes = Array(plaintext)
        defer { bytes.erase() }
        guard let content = Self.content(bytes, in: circle.id),
            Set(content.groupKeys.map(\.id)) == keys
        else { throw .malformed("a grant of keys by \(giver) has invalid content") }
        guard content.circleKey.check == circle.keyCheck else {
            throw .malformed("a grant of keys by \(giver) has another circle key")
        }
        return content
    }

    private static func content(_ bytes: [UInt8], in circle: CircleID) -> Content? {
        var reader = ByteReader(bytes)
        guard let key = reader.slice(CircleKey.byteCount), let count: UInt16 = reader.number()
        else { return nil }
        var content = Content(
            circleKey: CircleKey(bytes: SecretBytes(copying: key)), groupKeys: [])
        for _ in 0..<count {
            guard let epoch: UInt64 = reader.number(), let size: UInt32 = reader.number(),
                size <= GroupKey.groupByteLimit, let group = reader.text(Int(size)),
                let key = reader.slice(GroupKey.byteCount)
            else { return nil }
            content.groupKeys.append(
                GroupKey(
                    epoch: epoch, group: group, bytes: SecretBytes(copying: key), in: circle))
        }
        return reader.isAtEnd ? content : nil
    }

    // MARK: Bytes

    func write(to writer: inout ByteWriter) {
        writer.write(recipient)
        writer.list(keys)
        writer.bytes(encapsulatedKey)
        writer.sized(ciphertext)
    }

    init?(reading reader: inout ByteReader) {
        guard let recipient = reader.machine(), let keys = reader.identifiers(),
            let encapsulatedKey = reader.bytes(Self.encapsulatedKeyByteCount),
            let ciphertext = reader.sized(limit: Self.contentByteLimit)
        else { return nil }
        self.recipient = recipient
        self.keys = keys
        self.encapsulatedKey = encapsulatedKey
        self.ciphertext = ciphertext
    }
}
