// Database+SystemError: what the system said when SQLite could not open, read or write a file.

import GRDB
import GRDBSQLite

extension Database {
    /// The `errno` of the last failure of a file on this connection; 0 where there was none.
    ///
    /// The corresponding C function is `sqlite3_system_errno`.
    var systemError: Int32 {
        // SAFETY: the connection is open for as long as its owner lends the database.
        unsafe sqlite3_system_errno(sqliteConnection)
    }
}
