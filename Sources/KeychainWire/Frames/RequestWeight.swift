// RequestWeight: refuses requests that would take many times their size in memory once read.
//   (1) An empty attribute has two bytes in a message and some fifty in memory, so that a request
//       of the largest size could take gigabytes. The fields are counted before it is read.
//   (2) The table below says which fields are messages. All others are passed over by their size.

import KeychainModel

/// The fields of a message that are messages themselves, by their numbers in `keychain.proto`.
private struct MessageShape: Sendable {
    let messages: [UInt64: MessageShape]

    init(_ messages: [UInt64: MessageShape] = [:]) { self.messages = messages }

    private static let leaf = MessageShape()
    private static let item = MessageShape([2: leaf, 9: leaf])
    private static let query = MessageShape([2: leaf, 9: leaf])
    private static let changes = MessageShape([1: leaf])
    private static let identityQuery = MessageShape([1: query, 2: query])

    static let request = MessageShape([
        2: leaf,  // claim
        11: item,  // add
        12: MessageShape([1: query, 2: leaf]),  // find
        13: MessageShape([1: query, 2: changes]),  // update
        14: MessageShape([1: item, 2: query, 3: changes]),  // put
        15: MessageShape([1: query]),  // delete
        17: MessageShape([1: identityQuery, 2: leaf]),  // find_identities
        18: MessageShape([1: identityQuery, 2: changes, 3: changes]),  // update_identities
        19: MessageShape([1: identityQuery]),  // delete_identities
        24: MessageShape([1: item]),  // add_all
    ])
}

enum RequestWeight {
    /// - Throws: `param` for a request with more fields than `limit`, or for bytes that are none.
    static func check(
        _ message: RawSpan, limit: Int = WireLimits.fieldCount
    ) throws(KeychainFailure) {
        // A field has two bytes at the least, so that most requests needn't be looked at.
        guard message.byteCount / 2 > limit else { return }
        // SAFETY: every access is within the bounds of the buffer, which checks that.
        let count = unsafe message.withUnsafeBytes { bytes -> Int? in
            var reader = unsafe FieldReader(bytes: bytes, limit: limit)
            return unsafe reader.count(.request, until: bytes.count) ? unsafe reader.count : nil
        }
        guard count != nil else {
            throw .param(
                "A request to the keychain service has more than \(limit) fields, or can't be "
                    + "read.")
        }
    }
}

/// Counts the fields of a message and of those in it.
@unsafe private struct FieldReader {
    let bytes: UnsafeRawBufferPointer
    let limit: Int
    var count = 0
    private var offset = 0

    init(bytes: UnsafeRawBufferPointer, limit: Int) {
        // SAFETY: the buffer outlives this value, which is used in one closure only.
        unsafe self.bytes = unsafe bytes
        unsafe self.limit = limit
    }

    /// - Returns: False where there are too many fields, or bytes that are none.
    mutating func count(_ shape: MessageShape, until end: Int) -> Bool {
        // SAFETY: offsets stay at or below `end`, which is at or below the number of bytes.
        while unsafe offset < end {
            unsafe count += 1
            guard unsafe count <= limit, let tag = unsafe number(until: end) else { return false }
            switch tag & 7 {
            case 0: guard unsafe number(until: end) != nil else { return false }
            case 1: guard unsafe skip(8, until: end) else { return false }
            case 5: guard unsafe skip(4, until: end) else { return false }
            case 2:
                guard let size = unsafe number(until: end), size <= UInt64(end) else {
                    return false
                }
                guard let inner = shape.messages[tag >> 3] else {
                    guard unsafe skip(Int(size), until: end) else { return false }
                    continue
                }
                let innerEnd = unsafe offset + Int(size)
                guard innerEnd <= end, unsafe count(inner, until: innerEnd) else { return false }
            default: return false
            }
        }
        return true
    }

    private mutating func skip(_ size: Int, until end: Int) -> Bool {
        // SAFETY: neither number is above the number of the bytes, so the sum doesn't overflow.
        unsafe offset += size
        return unsafe offset <= end
    }

    /// The next number of 7 bits to a byte.
    private mutating func number(until end: Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        // SAFETY: the offset is below `end`.
        while unsafe offset < end, shift < 64 {
            let byte = unsafe bytes[offset]
            unsafe offset += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}
