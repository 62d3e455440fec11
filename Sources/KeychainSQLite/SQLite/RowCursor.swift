// RowCursor: steps a prepared statement and reads its columns from SQLite's memory.
//   (1) A column is read only between two steps, while SQLite guarantees that its memory is stable.
//   (2) The statement is reset when the cursor is destroyed, so that no read transaction stays
//       open.

import CKeychainSQLite
import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainCore

struct RowCursor: ~Copyable {
    private let statement: Statement

    /// Binds the labels in order.
    init(_ statement: Statement, _ labels: [Bytes16]) throws(KeychainFailure) {
        self.statement = statement
        for (index, label) in labels.enumerated() {
            // SAFETY: the handle lives as long as the statement; SQLite copies the bound bytes.
            let code = unsafe withUnsafeBytes(of: label.words) {
                unsafe sqlite3_bind_blob(
                    statement.handle, Int32(index + 1), $0.baseAddress, Int32($0.count),
                    Self.copying)
            }
            guard code == SQLITE_OK else {
                throw StoreFailure.failure(of: SQLiteFailure(code: code))
            }
        }
    }

    deinit {
        // SAFETY: as above. The result code is ignored: it is the error of the last step, which has
        // already been reported.
        unsafe sqlite3_reset(statement.handle)
    }

    /// SQLITE_TRANSIENT, a macro that Swift doesn't import.
    private static var copying: sqlite3_destructor_type {
        // SAFETY: SQLite compares the value and never calls it.
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    /// Advances to the next row.
    /// - Returns: `false` after the last row.
    func next() throws(KeychainFailure) -> Bool {
        // SAFETY: as above.
        try statement.isRow(unsafe sqlite3_step(statement.handle))
    }

    /// The integer in a column; `nil` for any other type.
    func integer(_ column: Int32) -> Int64? {
        // SAFETY: there is a current row, and the statement has this column.
        unsafe sqlite3_column_type(statement.handle, column) == SQLITE_INTEGER
            ? sqlite3_column_int64(statement.handle, column) : nil
    }

    /// The real number in a column; `nil` for any other type.
    func real(_ column: Int32) -> Double? {
        // SAFETY: as above.
        unsafe sqlite3_column_type(statement.handle, column) == SQLITE_FLOAT
            ? sqlite3_column_double(statement.handle, column) : nil
    }

    /// The text in a column, with malformed parts replaced; `nil` for any other type.
    func text(_ column: Int32) -> String? {
        // SAFETY: as above; the text is NUL-terminated.
        guard unsafe sqlite3_column_type(statement.handle, column) == SQLITE_TEXT,
            let text = unsafe sqlite3_column_text(statement.handle, column)
        else { return nil }
        return unsafe String(cString: text)
    }

    /// The 16-byte blob in a column; `nil` for anything else.
    func bytes16(_ column: Int32) -> Bytes16? {
        // SAFETY: the bytes are copied within the call. The same applies below.
        unsafe withBlob(column) { unsafe Bytes16(loading: $0) } ?? nil
    }

    /// A copy of the blob in a column; `nil` for any other type.
    func data(_ column: Int32) -> Data? {
        // SAFETY: as above.
        unsafe withBlob(column) { unsafe Data($0) }
    }

    /// Whether a column contains a blob with exactly these bytes, which must not be empty.
    func isBlob(_ column: Int32, _ bytes: [UInt8]) -> Bool {
        // SAFETY: as above.
        unsafe withBlob(column) { blob in
            unsafe bytes.withUnsafeBytes { bytes in
                guard let known = bytes.baseAddress, let found = blob.baseAddress,
                    bytes.count == blob.count
                else { return false }
                return unsafe memcmp(known, found, bytes.count) == 0
            }
        } ?? false
    }

    /// The blob in a column as a list of 16-byte values; `nil` for anything else.
    func list16(_ column: Int32) -> [Bytes16]? {
        // SAFETY: as above.
        unsafe withBlob(column) { bytes -> [Bytes16]? in
            guard bytes.count % 16 == 0 else { return nil }
            return stride(from: 0, to: bytes.count, by: 16).compactMap {
                unsafe Bytes16(loading: UnsafeRawBufferPointer(rebasing: bytes[$0..<$0 + 16]))
            }
        } ?? nil
    }

    private func withBlob<Result>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        // SAFETY: type, address and size are read in the order that SQLite prescribes, and the
        // memory is used only before the next step.
        let handle = unsafe statement.handle
        guard unsafe sqlite3_column_type(handle, column) == SQLITE_BLOB else { return nil }
        let address = unsafe sqlite3_column_blob(handle, column)
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe body(
            UnsafeRawBufferPointer(start: address, count: address == nil ? 0 : count))
    }
}
