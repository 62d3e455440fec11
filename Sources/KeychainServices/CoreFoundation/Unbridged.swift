// Unbridged: access to the contents of Foundation objects without bridging to Swift values.
//
// On Linux, Foundation's bridge copies the contents of an NSData one byte at a time, which is slow
// for large values. `as Data` uses the bridge, and so does NSDictionary for each value that it
// returns.

#if !canImport(Darwin)

internal import CoreFoundation
internal import Foundation

extension NSData {
    /// The bytes, copied in one step.
    var contents: Data {
        // SAFETY: `bytes` points to `length` bytes for the lifetime of this object.
        length == 0 ? Data() : unsafe Data(bytes: bytes, count: length)
    }
}

extension NSDictionary {
    /// Calls `body` for every entry. The key is `nil` if it is not a string.
    func forEachEntry(_ body: (String?, DictionaryValue) -> Void) {
        guard type(of: self) == NSDictionary.self || type(of: self) == NSMutableDictionary.self
        else {
            // Another class may create its entries on demand.
            for (key, value) in self { body(key as? String, DictionaryValue(value)) }
            return
        }
        let count = count
        // SAFETY: Core Foundation can read objects of this class as its own; there is space for all
        // keys and values; and this object retains them until `body` returns.
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
