// The system's SQLite, for the floors.
#include <sqlite3.h>
