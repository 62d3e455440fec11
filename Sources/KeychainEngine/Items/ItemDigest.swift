// ItemDigest: Apple's `sha1` attribute, a fingerprint of what identifies an item.

package import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

package enum ItemDigest {
    /// SHA-1 over the item's encoded primary key. Equal for equal keys; it protects nothing.
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
