// Statement: a prepared statement that is run repeatedly.
//   (1) The values of `run` and `integer` are bound without a copy and for one step only, so
//       neither SQLite nor a cached statement retains a blob or a text. `RowCursor` binds copies of
//       labels, which stay until the statement is used again.
//   (2) A statement is reset after each run, so that it keeps no transaction open.

import CKeychainSQLite
import FoundationEssentials
import KeychainCore

/// The value of a placeholder in a statement.
enum StatementValue {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case label(Bytes16)
    case blob(Data)
}

@safe final class Statement {
    /// The handle of the prepared statement, which `RowCursor` steps.
    let handle: OpaquePointer

    /// Prepares a statement on an open connection. The connection may be closed before the
    /// statement is finalized.
    init(_ sql: String, on connection: OpaquePointer) throws(KeychainFailure) {
        var compiled: OpaquePointer?
        // SAFETY: the caller guarantees that the connection is open. `deinit` finalizes the
        // statement. If preparing it fails, there is no statement to finalize.
        let code = unsafe sqlite3_prepare_v3(
            connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard let statement = unsafe compiled else {
            throw unsafe StoreFailure.failure(code: code, on: connection)
        }
        unsafe handle = statement
    }

    deinit {
        // SAFETY: nothing uses the handle from here on.
        unsafe sqlite3_finalize(handle)
    }

    /// Runs a statement that returns no rows.
    func run(_ values: [StatementValue]) throws(KeychainFailure) {
        defer { reset() }
        _ = try step(values)
    }

    /// The integer in the first column of the first row; `nil` if there is no row, or if the column
    /// has another type.
    func integer(_ values: [StatementValue]) throws(KeychainFailure) -> Int64? {
        defer { reset() }
        // SAFETY: the column is read while its row is current.
        guard try step(values), unsafe sqlite3_column_type(handle, 0) == SQLITE_INTEGER
        else { return nil }
        return unsafe sqlite3_column_int64(handle, 0)
    }

    /// Takes one step with values for the placeholders, in order. `reset` has to follow.
    /// - Returns: Whether there is a row.
    private func step(_ values: [StatementValue]) throws(KeychainFailure) -> Bool {
        // SAFETY: this object owns the handle until `deinit`. The same applies below.
        assert(unsafe Int(sqlite3_bind_parameter_count(handle)) == values.count)
        return try isRow(step(values, from: 0))
    }

    /// Binds the values from an index on, and then takes the step, while the bytes of all values
    /// are borrowed.
    private func step(_ values: [StatementValue], from index: Int) -> Int32 {
        // SAFETY: as above. The borrowed bytes stay in place until the step has ended, and `reset`
        // clears the bindings.
        guard index < values.count else { return unsafe sqlite3_step(handle) }
        let place = Int32(index + 1)
        func go(_ code: Int32) -> Int32 {
            code == SQLITE_OK ? step(values, from: index + 1) : code
        }
        func bind(_ bytes: UnsafeRawBufferPointer) -> Int32 {
            // SQLite treats a blob with a null pointer as NULL.
            guard unsafe !bytes.isEmpty else {
                return unsafe sqlite3_bind_zeroblob(handle, place, 0)
            }
            return unsafe sqlite3_bind_blob64(
                handle, place, bytes.baseAddress, UInt64(bytes.count), nil)
        }
        switch values[index] {
        case .null: return go(unsafe sqlite3_bind_null(handle, place))
        case .integer(let number): return go(unsafe sqlite3_bind_int64(handle, place, number))
        case .real(let number): return go(unsafe sqlite3_bind_double(handle, place, number))
        case .text(let text):
            return unsafe text.withCString {
                go(unsafe sqlite3_bind_text(handle, place, $0, -1, nil))
            }
        case .label(let label):
            return unsafe withUnsafeBytes(of: label.words) { go(unsafe bind($0)) }
        case .blob(let data):
            return unsafe data.withUnsafeBytes { go(unsafe bind($0)) }
        }
    }

    private func reset() {
        // SAFETY: as above. The result code repeats that of the step, which has been reported.
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    /// Whether a step produced a row.
    /// - Throws: The error of a failed step.
    func isRow(_ code: Int32) throws(KeychainFailure) -> Bool {
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            // SAFETY: as above; a statement keeps its connection alive.
            throw unsafe StoreFailure.failure(code: code, on: sqlite3_db_handle(handle))
        }
    }
}

extension Bytes16 {
    /// The bytes in their order in memory.
    var words: (UInt64, UInt64) { (high.bigEndian, low.bigEndian) }
}
