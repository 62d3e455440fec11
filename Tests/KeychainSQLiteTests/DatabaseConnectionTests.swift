// DatabaseConnectionTests: binding and reading values, transactions, waiting for locks, and the
// texts of failures.

import CKeychainSQLite
import Foundation
import KeychainCore
import Testing

@testable import KeychainSQLite

@Suite struct DatabaseConnectionTests {
    private func memory() throws -> DatabaseConnection {
        let database = try DatabaseConnection(":memory:")
        try database.execute("CREATE TABLE t(a, b)")
        return database
    }

    @Test func `values of every kind round-trip`() throws {
        let database = try memory()
        let label = Bytes16(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
        let values: [StatementValue] = [
            .null, .integer(-7), .real(0.5), .text("é"), .label(label), .blob(Data([0, 1, 0])),
        ]
        for value in values {
            try database.run("INSERT INTO t(a, b) VALUES (?, ?)", [value, .integer(1)])
        }
        #expect(database.lastInsertedRowID == 6)
        let rows = try database.rows("SELECT a FROM t ORDER BY rowid")
        var types: [String] = []
        while try rows.next() {
            if let number = rows.integer(0) { types.append("\(number)") }
            if let number = rows.real(0) { types.append("\(number)") }
            if let text = rows.text(0) { types.append(text) }
            if let bytes = rows.data(0) { types.append("\(Array(bytes))") }
        }
        #expect(types == ["-7", "0.5", "é", "\(label.bytes)", "[0, 1, 0]"])
        #expect(try database.integer("SELECT count(*) FROM t WHERE a IS NULL") == 1)
        let found = try database.rows("SELECT a FROM t WHERE a = ?", [label])
        #expect(try found.next())
        #expect(found.bytes16(0) == label)
    }

    @Test func `an empty blob is stored as a blob and not as NULL`() throws {
        let database = try memory()
        try database.run("INSERT INTO t(a) VALUES (?)", [.blob(Data())])
        #expect(
            try database.integer("SELECT count(*) FROM t WHERE typeof(a) = 'blob'") == 1)
    }

    @Test func `a statement that has run doesn't keep its values`() throws {
        var connection: OpaquePointer?
        // SAFETY: the handle is checked, used on this thread only, and closed on return; the text
        // is freed after it was copied.
        try #require(unsafe sqlite3_open(":memory:", &connection) == SQLITE_OK)
        defer { unsafe sqlite3_close_v2(connection) }
        let opened = try unsafe #require(connection)
        let statement = try unsafe Statement("SELECT ?, ?, ?", on: opened)
        try statement.run([.text("secret"), .blob(Data([1, 2, 3])), .integer(9)])
        let text = unsafe sqlite3_expanded_sql(statement.handle)
        defer { unsafe sqlite3_free(text) }
        let expanded = unsafe text.map { unsafe String(cString: $0) }
        #expect(expanded == "SELECT NULL, NULL, NULL")
    }

    @Test func `text in double quotes is always a column name`() throws {
        let database = try memory()
        #expect(throws: KeychainFailure.self) { try database.run(#"SELECT "nothing" FROM t"#) }
        #expect(throws: KeychainFailure.self) {
            try database.execute(#"CREATE INDEX i ON t("nothing")"#)
        }
    }

    @Test func `more statements can run than the cache keeps, even while rows are read`() throws {
        let database = try memory()
        try database.run("INSERT INTO t(a) VALUES (1), (2), (3)")
        let rows = try database.rows("SELECT a FROM t")
        #expect(try rows.next())
        for number in 0..<300 {
            #expect(try database.integer("SELECT \(number)") == Int64(number))
        }
        var count = 1
        while try rows.next() { count += 1 }
        #expect(count == 3)
        #expect(try database.integer("SELECT 0") == 0)
    }

    @Test func `a transaction that fails is rolled back, and its connection stays usable`() throws {
        let connections = try Connections()
        try connections.run { database throws(KeychainFailure) in
            try database.execute("CREATE TABLE t(a)")
        }
        let failure = KeychainFailure.param("no")
        #expect(throws: failure) {
            try connections.run(.writing) { database throws(KeychainFailure) in
                try database.run("INSERT INTO t(a) VALUES (1)")
                throw failure
            }
        }
        try connections.run(.writing) { database throws(KeychainFailure) in
            try database.run("INSERT INTO t(a) VALUES (2)")
        }
        try connections.run { database throws(KeychainFailure) in
            #expect(!database.isInsideTransaction)
            #expect(try database.integer("SELECT sum(a) FROM t") == 2)
        }
    }

    @Test func `a failure quotes neither the statement nor a value`() throws {
        let database = try memory()
        try database.execute("CREATE UNIQUE INDEX i ON t(a)")
        let statements: [(String, [StatementValue])] = [
            ("INSERT INTO t(a) VALUES (?)", [.text("hunter2")]),
            ("SELECT hunter2 FROM t", []),
            ("INSERT INTO t(a) VALUES (zeroblob(hunter2()))", []),
        ]
        try database.run(statements[0].0, statements[0].1)
        for (sql, values) in statements {
            let failure = #expect(throws: KeychainFailure.self) { try database.run(sql, values) }
            #expect(failure?.reason.contains("hunter2") == false)
            #expect(failure?.reason.contains("SQLite ") == true)
        }
    }

    @Test func `a write waits for another connection's write only until the deadline`() throws {
        let database = try PageDatabase()
        let (first, second) = (
            try DatabaseConnection(database.path), try DatabaseConnection(database.path)
        )
        second.deadline = .now
        try first.begin(.writing)
        let failure = #expect(throws: KeychainFailure.self) { try second.begin(.writing) }
        #expect(failure?.cause == .contention)
        try first.commit()
        try second.begin(.writing)
        try second.commit()
    }

    @Test func `opening a database at an impossible path fails with notAvailable`() throws {
        let database = try PageDatabase()
        let failure = #expect(throws: KeychainFailure.self) {
            try DatabaseConnection(database.path + "/in/a/file", isReadOnly: true)
        }
        #expect(failure?.status == .notAvailable)
    }
}
