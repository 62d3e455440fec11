// RecordStore: what the relay needs from a server: the server keeps records in the order of their
// keys, and can create a record on condition that there is none with its key.
//   (1) The server is not trusted. The process that has the keychain open verifies what the server
//       returns. While a machine joins, the process that reads records from the server verifies
//       them itself, before it uses them or passes them on.

/// A record of the server.
package struct StoredRecord: Hashable, Sendable {
    /// The key without the prefix that all circles on the server share.
    package let key: String
    package let value: [UInt8]

    package init(key: String, value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// The result of creating a record.
package enum RecordCreation: Hashable, Sendable {
    case created
    /// The key already has a record, with this value.
    case exists([UInt8])
}

package protocol RecordStore: Sendable {
    /// Reads records in the order of their keys.
    ///
    /// - Parameters:
    ///   - prefix: What the keys begin with.
    ///   - previous: The key after which to begin. `nil`: begin with the first key that has the
    ///     prefix.
    ///   - limit: The maximum number of records, at least 1.
    /// - Returns: The records. If they are fewer than `limit`, there are no more.
    /// - Throws: The errors of the connection. The other functions throw these errors, too. The
    ///   change that such a function makes may have happened even if it throws.
    func records(
        _ prefix: String, after previous: String?, limit: Int
    ) async throws -> [StoredRecord]

    /// Durably creates a record, unless there is one with this key.
    func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation

    /// Creates a record or replaces the existing one.
    func put(_ key: String, _ value: [UInt8]) async throws

    /// Deletes the records with keys from `first` up to, but not including, `end`.
    func delete(from first: String, to end: String) async throws

    /// The keys of records that are created or replaced from now on. An empty key stands for any
    /// number of records whose keys are unknown.
    func changes(_ prefix: String) async throws -> AsyncThrowingStream<String, any Error>
}

/// Limits on what a relay reads, because the server or another client of the server may store any
/// amount.
enum RecordLimits {
    static let pageCount = 64
    /// Records with a larger value are left out when signed heads, requests with join tokens or
    /// messages of joining are listed.
    static let smallByteCount = 64 << 10
    /// A list of small records ends when it has this number of bytes, or after this number of
    /// pages.
    static let listByteCount = 8 << 20
    static let listPageCount = 1024
    /// Only this number of bytes of a log entry is used. In a machine's log, a longer entry is
    /// invalid anyway. In the membership log, a longer entry could be valid, but by default etcd
    /// rejects requests of this size.
    static let entryByteCount = 4 << 20
}

extension RecordStore {
    /// Reads the records with a prefix, except for those that are too large to be a signed head, a
    /// request with a join token or a message of joining.
    ///
    /// - Returns: The records, and whether the list is complete. It is not if it ended at
    ///   `listByteCount` or `listPageCount`.
    func smallRecords(
        _ prefix: String
    ) async throws -> (records: [StoredRecord], isAll: Bool) {
        let limit = RecordLimits.pageCount
        var small: [StoredRecord] = []
        var byteCount = 0
        var previous: String?
        for _ in 0..<RecordLimits.listPageCount {
            let page = try await records(prefix, after: previous, limit: limit)
            for record in page where record.value.count <= RecordLimits.smallByteCount {
                guard byteCount < RecordLimits.listByteCount else { return (small, false) }
                byteCount += record.key.utf8.count + record.value.count
                small.append(record)
            }
            guard page.count >= limit else { return (small, true) }
            previous = page.last?.key
        }
        return (small, false)
    }
}

/// The keys of a circle's records. Documentation/Synchronization.md, "Records on the server".
package struct RecordKeys: Hashable, Sendable {
    /// The circle's identifier in hexadecimal digits.
    package let circle: String

    package init(circle: String) { self.circle = circle }

    package var all: String { "\(circle)/" }
    var membership: String { "\(circle)/m/" }
    func entry(_ index: UInt64) -> String { membership + Self.digits(index) }
    func log(_ machine: String) -> String { "\(circle)/l/\(machine)/" }
    func entry(_ index: UInt64, of machine: String) -> String { log(machine) + Self.digits(index) }
    var heads: String { "\(circle)/h/" }
    func head(of machine: String) -> String { heads + machine }
    var tokenRequests: String { "\(circle)/t/" }
    func tokenRequest(_ id: String) -> String { tokenRequests + id }
    var joining: String { "\(circle)/j/" }

    /// 16 hexadecimal digits, so that keys are in the order of the numbers.
    static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The number at the end of a key.
    static func number(ofKey key: String) -> UInt64? {
        let digits = key.suffix(16)
        guard digits.count == 16, digits.allSatisfy(\.isHexDigit) else { return nil }
        return UInt64(digits, radix: 16)
    }
}
