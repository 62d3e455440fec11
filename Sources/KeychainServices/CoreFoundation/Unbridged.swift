// Unbridged: what stands in Foundation's objects, without the bridge to Swift's values.
//
// Foundation's bridge on Linux copies the contents of an NSData one byte at a time, which is slow for
// large values. `as Data` uses it, and so does NSDictionary for each value that it gives out.

#if !canImport(Darwin)

internal import CoreFoundation
internal import Foundation

extension NSData {
    /// The bytes, copied all at once.
    var contents: Data {
        // SAFETY: `bytes` has `length` bytes for as long as this object is there.
        length == 0 ? Data() : unsafe Data(bytes: bytes, count: length)
    }
}

extension NSDictionary {
    /// Calls `body` with every entry. A key that is no text is nil.
    func forEachEntry(_ body: (String?, DictionaryValue) -> Void) {
        guard type(of: self) == NSDictionary.self || type(of: self) == NSMutableDictionary.self
        else {
            // Another class may make its entries as they are asked for.
            for (key, value) in self { body(key as? String, DictionaryValue(value)) }
            return
        }
        let count = count
        // SAFETY: the class is one that Core Foundation reads as its own; there is room for all keys
        // and values; and this object keeps what it holds until `body` returns.
        unsafe withUnsafeTemporaryAllocation(of: UnsafeRawPointer?.self, capacity: 2 * count) {
            entries in
            guard let keys = entries.baseAddress else { return }
            let values = unsafe keys + count
            unsafe CFDictionaryGetKeysAndValues(
                unsafeBitCast(self, to: CoreFoundation.CFDictionary.self), keys, values)
            for index in 0..<count {
                guard let key = unsafe keys[index], let value = unsafe values[index] else {
                    continue
                }
                body(
                    unsafe Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue() as? String,
                    DictionaryValue(
                        unsafe Unmanaged<AnyObject>.fromOpaque(value).takeUnretainedValue()))
            }
        }
    }
}

#endif
