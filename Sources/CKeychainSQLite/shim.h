// The system's SQLite, and what of it Swift can't call by itself.

#ifndef KEYCHAIN_CSQLITE_SHIM_H
#define KEYCHAIN_CSQLITE_SHIM_H

#if !__has_include(<sqlite3.h>)
#error "This package takes the headers of SQLite: libsqlite3-dev on Debian, sqlite-devel on Fedora."
#endif

#include <sqlite3.h>

#if SQLITE_VERSION_NUMBER < 3036000
#error "This package takes SQLite 3.36 or later."
#endif

// Makes text in double quotes a name and nothing else, so that a column that is missing is an error
// and not a text. sqlite3_db_config takes variable arguments, which Swift can't pass.
static inline int keychain_sqlite3_disable_double_quoted_text(sqlite3 *connection) {
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
    if (code != SQLITE_OK) return code;
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
}

#endif
