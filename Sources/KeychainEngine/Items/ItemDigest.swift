// ItemDigest: Apple's `sha1` attribute, a fingerprint of an item's primary key.

package import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

package enum ItemDigest {
    /// SHA-1 of the item's encoded primary key. The digest protects nothing. Two items have the
    /// same digest if their classes, access groups and synchronizability are equal, and the same
    /// attributes of the primary key are set to the same values. Unlike in the comparison of
    /// primary keys, an attribute that isn't set differs from an empty one.
    /// - Returns: 20 bytes.
    package static func sha1(of item: ItemSnapshot) -> Data {
        let kept = item.itemClass.primaryKey
        let record = ItemRecord(
            itemClass: item.itemClass, attributes: item.attributes.filter { kept.contains($0.key) },
            accessGroup: item.accessGroup, isSynchronizable: item.isSynchronizable,
            isTombstone: false)
        return Data(Fingerprint.sha1(of: record.encoded()))
    }
}
