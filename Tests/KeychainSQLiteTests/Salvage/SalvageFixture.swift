// SalvageFixture: databases in version 1 of the store's format, written by SQLite, for the salvage
// tests.
//   (1) Pages have 8 reserved bytes, which can't be requested in SQL. Therefore the fixture uses
//       the C interface.
//   (2) `files` adds the checksums to the pages of the database file, as the store's VFS would.
//   (3) All content of rows is random with a fixed seed, so each run has the same rows.

import CKeychainSQLite
import Foundation
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            var word = next()
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

func wordBytes(_ value: some FixedWidthInteger) -> [UInt8] {
    (0..<(value.bitWidth / 8)).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
}

/// The content of a row.
struct FixtureRow: Hashable {
    var uuid: [UInt8]
    var protection: UInt8
    var grp: [UInt8]
    var k1: [UInt8]
    var k2: [UInt8]
    var k3: [UInt8]
    var meta: [UInt8]
    var terms: [UInt8]
    var secret: [UInt8]?

    init(
        _ random: inout SeededGenerator, metaByteCount: Int = 200, termCount: Int = 3,
        secretByteCount: Int?
    ) {
        uuid = random.bytes(16)
        protection = UInt8.random(in: 6...12, using: &random)
        grp = random.bytes(16)
        k1 = random.bytes(16)
        k2 = random.bytes(16)
        k3 = random.bytes(16)
        meta = Self.meta(&random, byteCount: metaByteCount)
        terms = random.bytes(termCount * 16)
        secret = secretByteCount.map { Self.secret(&random, byteCount: $0) }
    }

    init(_ candidate: SalvagedRow) {
        let row = candidate.row
        uuid = row.reference.bytes
        protection = row.protection
        grp = row.labels.group.bytes
        k1 = row.labels.first.bytes
        k2 = row.labels.second.bytes
        k3 = row.labels.rest.bytes
        meta = Array(row.metadata)
        terms = row.labels.terms.flatMap(\.bytes)
        secret = row.secret.map { Array($0) }
    }

    /// A metadata blob with `byteCount` bytes of content and 36 bytes of overhead.
    static func meta(_ random: inout SeededGenerator, byteCount: Int) -> [UInt8] {
        Array("KCM1".utf8) + wordBytes(UInt32(byteCount + 36)) + random.bytes(byteCount + 28)
    }

    /// A sealed secret with `byteCount` bytes of content and 100 bytes of overhead.
    static func secret(_ random: inout SeededGenerator, byteCount: Int) -> [UInt8] {
        Array("KCS1".utf8) + wordBytes(UInt64(byteCount + 100)) + random.bytes(byteCount + 88)
    }

    var body: [UInt8] {
        uuid + [protection] + grp + k1 + k2 + k3 + meta + terms + (secret ?? [])
    }
}

/// A database that SQLite keeps open, and whose files can be read at any time.
@safe final class FixtureDatabase {
    private var handle: OpaquePointer?
    private let folder: URL

    var path: String {
        folder.appendingPathComponent("items.db").path
    }

    struct Failure: Error {
        let message: String
    }

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("salvage-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // SAFETY: SQLite fills the handle in or leaves it nil.
        let opened = unsafe sqlite3_open(path, &handle)
        guard opened == SQLITE_OK else { throw Failure(message: "open: \(opened)") }
        var reserved: Int32 = 8
        // SAFETY: 38 is SQLITE_FCNTL_RESERVE_BYTES; its argument is a pointer to an int.
        let set = unsafe sqlite3_file_control(handle, "main", 38, &reserved)
        guard set == SQLITE_OK else { throw Failure(message: "reserve: \(set)") }
        try run("PRAGMA page_size = 4096")
        try run("PRAGMA journal_mode = WAL")
        try run("PRAGMA wal_autocheckpoint = 0")
        try run("PRAGMA secure_delete = ON")
        try run(
            """
            CREATE TABLE items(id INTEGER PRIMARY KEY, uuid BLOB NOT NULL,
              protection INTEGER NOT NULL, grp BLOB NOT NULL, k1 BLOB NOT NULL, k2 BLOB NOT NULL,
              k3 BLOB NOT NULL, meta BLOB NOT NULL, terms BLOB NOT NULL, secret BLOB)
            """)
        try run("CREATE UNIQUE INDEX items_uuid ON items(uuid)")
        try run(
            """
            CREATE TABLE set_aside(id INTEGER PRIMARY KEY, at REAL, reason TEXT, uuid BLOB,
              protection INTEGER, grp BLOB, k1 BLOB, k2 BLOB, k3 BLOB, meta BLOB, terms BLOB,
              secret BLOB)
            """)
        try run("CREATE TABLE keybag(id INTEGER PRIMARY KEY, body BLOB)")
    }

    deinit {
        // SAFETY: the handle is not used after this.
        unsafe sqlite3_close(handle)
        try? FileManager.default.removeItem(at: folder)
    }

    enum Value {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob([UInt8])
    }

    func run(_ sql: String, _ values: Value...) throws {
        try run(sql, values)
    }

    private func run(_ sql: String, _ values: [Value]) throws {
        var statement: OpaquePointer?
        // SAFETY: the statement is finalized on every path; SQLite copies each bound value
        // because of SQLITE_TRANSIENT (-1).
        let prepared = unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        defer { unsafe sqlite3_finalize(statement) }
        guard prepared == SQLITE_OK else { throw failure(sql) }
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (position, value) in values.enumerated() {
            let column = Int32(position + 1)
            switch value {
            case .null: unsafe sqlite3_bind_null(statement, column)
            case .integer(let number): unsafe sqlite3_bind_int64(statement, column, number)
            case .real(let number): unsafe sqlite3_bind_double(statement, column, number)
            case .text(let text): unsafe sqlite3_bind_text(statement, column, text, -1, transient)
            case .blob(let bytes) where bytes.isEmpty:
                unsafe sqlite3_bind_zeroblob(statement, column, 0)
            case .blob(let bytes):
                unsafe sqlite3_bind_blob(
                    statement, column, bytes, Int32(bytes.count), transient)
            }
        }
        while true {
            let step = unsafe sqlite3_step(statement)
            if step == SQLITE_DONE { return }
            guard step == SQLITE_ROW else { throw failure(sql) }
        }
    }

    private func failure(_ sql: String) -> Failure {
        // SAFETY: the message is copied at once.
        Failure(message: sql + ": " + (unsafe String(cString: sqlite3_errmsg(handle))))
    }

    private func values(_ row: FixtureRow) -> [Value] {
        [
            .blob(row.uuid), .integer(Int64(row.protection)), .blob(row.grp), .blob(row.k1),
            .blob(row.k2), .blob(row.k3), .blob(row.meta), .blob(row.terms),
            row.secret.map { .blob($0) } ?? .null,
        ]
    }

    func insert(_ row: FixtureRow, rowid: Int64? = nil) throws {
        try run(
            "INSERT INTO items VALUES(?,?,?,?,?,?,?,?,?,?)",
            [rowid.map { .integer($0) } ?? .null] + values(row))
    }

    func setAside(_ row: FixtureRow, at time: Double, reason: String) throws {
        try run(
            "INSERT INTO set_aside VALUES(NULL,?,?,?,?,?,?,?,?,?,?,?)",
            [.real(time), .text(reason)] + values(row))
    }

    func update(_ row: FixtureRow) throws {
        try run(
            "UPDATE items SET meta = ?, terms = ?, secret = ? WHERE uuid = ?", .blob(row.meta),
            .blob(row.terms), row.secret.map { .blob($0) } ?? .null, .blob(row.uuid))
    }

    func delete(_ row: FixtureRow) throws {
        try run("DELETE FROM items WHERE uuid = ?", .blob(row.uuid))
    }

    func checkpoint() throws {
        try run("PRAGMA wal_checkpoint(RESTART)")
    }

    /// The current bytes of the database file, with page checksums, and of the log.
    func files() throws -> (database: [UInt8], wal: [UInt8]) {
        let database = try Data(contentsOf: URL(fileURLWithPath: path))
        let wal = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        return (PageSeal.sealed(Array(database)), Array(wal))
    }
}

extension RowSalvage {
    init(_ database: [UInt8], _ wal: [UInt8]? = nil) {
        self.init(database: MemorySource(database), log: wal.map { MemorySource($0) })
    }

    /// All rows that are salvaged.
    func rows() -> [SalvagedRow] {
        var rows: [SalvagedRow] = []
        forEachRow { rows.append($0) }
        return rows
    }
}

/// The numbers of the rows that are not among the candidates. Rows are long, so numbers keep
/// failure messages short.
func lost(_ rows: [FixtureRow], from candidates: [SalvagedRow]) -> [Int] {
    let found = Set(candidates.map(FixtureRow.init))
    return rows.indices.filter { !found.contains(rows[$0]) }
}
