// ItemResult: the objects in which the calls give items back.
//
// Every object is a Foundation class instance (dictionary, array, data), so that the casts that
// work on Core Foundation results on Apple's systems work here.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainEngine
internal import KeychainModel

/// How one call gives items back.
struct ItemResult {
    let returns: ReturnTypes
    /// Whether data of an item without any is nothing, or empty data as for an add.
    let givesEmptyData: Bool

    /// - Returns: nil where there is nothing to give.
    func object(for item: Item) -> NSObject? {
        switch returns {
        case []: nil
        // Passwords have no object that stands for them.
        case .ref: nil
        case .data:
            if let data = item.data {
                NSData(data: data)
            } else {
                givesEmptyData ? NSData() : nil
            }
        case .persistentRef: persistentReference(of: item)
        default: dictionary(for: item)
        }
    }

    /// The items of an answer as an array. Items with nothing to give are left out.
    func array(for items: [Item]) -> NSArray {
        NSArray(array: items.compactMap { object(for: $0) })
    }

    private func persistentReference(of item: Item) -> NSData {
        NSData(data: PersistentReference.encoded(item.itemClass, item.reference))
    }

    private func dictionary(for item: Item) -> NSDictionary {
        var entries = Entries()
        if !returns.isDisjoint(with: [.attributes, .ref]) {
            for (attribute, value) in item.attributes {
                entries.set(attribute.name, value.object)
            }
            entries.set("agrp", NSString(string: item.accessGroup))
            entries.set("pdmn", NSString(string: item.protection.code))
            entries.set("sync", NSNumber(value: item.isSynchronizable ? 1 : 0))
            entries.set("tomb", NSNumber(value: item.isTombstone ? 1 : 0))
            // Empty: a keychain has one user. A dictionary with it can be used as a query.
            entries.set("musr", NSData())
            if let control = Self.accessControls[item.protection] {
                entries.set("accc", control)
            }
            if returns.contains(.data) {
                entries.set("sha1", NSData(data: ItemDigest.sha1(of: item)))
            }
        }
        if returns.contains(.ref) {
            entries.set("class", NSString(string: item.itemClass.name))
        }
        if returns.contains(.data), let data = item.data {
            entries.set("v_Data", NSData(data: data))
        }
        if returns.contains(.persistentRef) {
            entries.set("v_PersistentRef", persistentReference(of: item))
        }
        return entries.dictionary
    }

    /// For each protection class the access control without constraints.
    private static let accessControls: [ProtectionClass: SecAccessControl] = Dictionary(
        uniqueKeysWithValues: ProtectionClass.allCases.compactMap { protection in
            (try? SecAccessControl(protection: protection.code, flags: []))
                .map { (protection, $0) }
        })

    /// The entries of a dictionary to be.
    private struct Entries {
        private var keys: [NSString] = []
        private var values: [NSObject] = []

        mutating func set(_ key: String, _ value: NSObject) {
            keys.append(NSString(string: key))
            values.append(value)
        }

        var dictionary: NSDictionary { NSDictionary(objects: values, forKeys: keys) }
    }
}

#endif
