// SealedVersion: a version of an item in a log, sealed under a key of its access group.
// Documentation/Synchronization.md, "Items".
//   (1) Each version has a new key, which is wrapped under the group key.
//   (2) The associated data contain circle, writer, place in the writer's log and the group key's
//       identifier, so a version that is moved to another place doesn't open.
//   (3) The sealed bytes reveal the version's size only in steps, see `Padding`.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite

package struct SealedVersion: Hashable, Sendable {
    /// The identifier of the group key that opens the version.
    package let key: Bytes16
    let wrappedKey: [UInt8]
    let box: [UInt8]

    private static let floor = 256
    private static let boxByteLimit = 1 << 21

    /// The place of a part of an entry.
    package struct Place: Hashable, Sendable {
        package let circle: CircleID
        package let writer: MachineID
        /// The index of the entry.
        package let index: UInt64
        /// The position among the entry's parts, 0 for the first.
        package let part: UInt32

        package init(circle: CircleID, writer: MachineID, index: UInt64, part: UInt32) {
            self.circle = circle
            self.writer = writer
            self.index = index
            self.part = part
        }

        fileprivate func associatedData(_ purpose: String, _ key: Bytes16) -> [UInt8] {
            var writer = ByteWriter(capacity: 128)
            writer.bytes(Array("swift-keychain sync 1 \(purpose)".utf8))
            circle.digest.write(to: &writer)
            writer.write(self.writer)
            writer.number(index)
            writer.number(part)
            key.write(to: &writer)
            return writer.result
        }
    }

    package init(_ version: SynchronizedItem, under groupKey: GroupKey, at place: Place) {
        var plaintext = version.encoded()
        defer { plaintext.erase() }
        let versionKey = SecretBytes.random(byteCount: AuthenticatedEncryption.keyByteCount)
        key = groupKey.id
        wrappedKey = Array(
            AuthenticatedEncryption.wrap(
                versionKey, using: groupKey.bytes,
                authenticating: place.associatedData("version key", groupKey.id)))
        var padded = Padding.padded(plaintext, floor: Self.floor)
        defer { padded.resetBytes(in: padded.startIndex..<padded.endIndex) }
        box = Array(
            AuthenticatedEncryption.seal(
                padded, using: versionKey,
                authenticating: place.associatedData("version", groupKey.id)))
    }

    /// Opens the version with the group key that ``key`` identifies.
    package func open(
        with groupKey: GroupKey, at place: Place
    ) throws(SynchronizationFailure) -> SynchronizedItem {
        let name = "part \(place.part) of entry \(place.index) of \(place.writer)"
        guard groupKey.id == key,
            let versionKey = try? AuthenticatedEncryption.unwrap(
                Data(wrappedKey), using: groupKey.bytes,
                authenticating: place.associatedData("version key", key)),
            var padded = try? AuthenticatedEncryption.open(
                Data(box), using: versionKey, authenticating: place.associatedData("version", key))
        else { throw .malformed("\(name) doesn't open") }
        defer { padded.resetBytes(in: padded.startIndex..<padded.endIndex) }
        guard let range = Padding.content(of: padded, floor: Self.floor) else {
            throw .malformed("\(name) has invalid content")
        }
        var plaintext = padded.array(of: range)
        defer { plaintext.erase() }
        guard let version = SynchronizedItem(decoding: plaintext),
            version.record.accessGroup == groupKey.group
        else { throw .malformed("\(name) has invalid content") }
        return version
    }

    // MARK: Bytes

    func write(to writer: inout ByteWriter) {
        key.write(to: &writer)
        writer.bytes(wrappedKey)
        writer.sized(box)
    }

    init?(reading reader: inout ByteReader) {
        guard let key = reader.bytes16(),
            let wrappedKey = reader.bytes(AuthenticatedEncryption.wrappedKeyByteCount),
            let box = reader.sized(limit: Self.boxByteLimit)
        else { return nil }
        self.key = key
        self.wrappedKey = wrappedKey
        self.box = box
    }
}
