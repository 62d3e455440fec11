"""The tables and settings that a database of version 1 or 2 has."""

import sqlite3
from pathlib import Path

from .errors import Malformed, OtherVersion
from .page_tags import RESERVED_SIZE
from .pages import CHECKSUM_SIZE, PAGE_SIZE

APPLICATION_ID = 0x4B43686E

#: Bytes at the end of each page that SQLite leaves alone, by the version.
RESERVED = {1: CHECKSUM_SIZE, 2: RESERVED_SIZE}

_ROW_COLUMNS = """
    uuid BLOB NOT NULL,
    protection INTEGER NOT NULL,
    grp BLOB NOT NULL,
    k1 BLOB NOT NULL,
    k2 BLOB NOT NULL,
    k3 BLOB NOT NULL,
    meta BLOB NOT NULL,
    terms BLOB NOT NULL,
    secret BLOB);
"""

_COMMON = f"""
CREATE TABLE header(id INTEGER PRIMARY KEY CHECK (id = 1), body BLOB NOT NULL);
CREATE TABLE keybag(id INTEGER PRIMARY KEY CHECK (id = 1), body BLOB NOT NULL);
CREATE TABLE items(
    id INTEGER PRIMARY KEY,{_ROW_COLUMNS}
CREATE UNIQUE INDEX items_uuid ON items(uuid);
CREATE UNIQUE INDEX items_key ON items(k1, k2, k3);
CREATE INDEX items_k2 ON items(k2);
CREATE INDEX items_grp ON items(grp);
CREATE TABLE terms(
    term BLOB NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (term, item)) WITHOUT ROWID;
"""

SCHEMAS = {
    1: f"""{_COMMON}
CREATE TABLE set_aside(
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    reason TEXT NOT NULL,{_ROW_COLUMNS}
""",
    2: f"""{_COMMON}
CREATE TABLE set_aside(
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    reason INTEGER NOT NULL,
    tag BLOB NOT NULL,{_ROW_COLUMNS}
CREATE TABLE versions(
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    reason INTEGER NOT NULL,{_ROW_COLUMNS}
CREATE TABLE outbox(id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE state(name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
""",
}


def version_of_file(database: Path) -> int:
    """What the file itself says, before SQLite reads it."""
    with database.open("rb") as file:
        head = file.read(100)
    if len(head) < 100:
        # All of a new database of version 1 may still stand in its log.
        return 1
    if head[:16] != b"SQLite format 3\0":
        raise Malformed("keychain.db is no database")
    version = int.from_bytes(head[60:64], "big")
    if version > max(RESERVED):
        raise OtherVersion(f"the user_version is {version}")
    if head[20] == CHECKSUM_SIZE and version < 2:
        # As above: page 1 may stand in the log with its version.
        return 1
    if version < 1 or head[20] != RESERVED[version]:
        raise Malformed(f"user_version {version} with {head[20]} reserved bytes")
    return version


def _objects(
    connection: sqlite3.Connection, version: int
) -> set[tuple[str, ...]]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    texts = (
        [x.decode("utf-8", "replace") if isinstance(x, bytes) else x or "" for x in row]
        for row in rows
    )
    if version > 1:
        return {tuple(row) for row in texts}
    # Only the spaces of a definition may differ.
    return {(*row[:3], "".join(row[3].split())) for row in texts}


def schema_problems(connection: sqlite3.Connection, version: int) -> list[str]:
    reference = sqlite3.connect(":memory:")
    try:
        reference.executescript(SCHEMAS[version])
        expected = _objects(reference, version)
    finally:
        reference.close()
    found = _objects(connection, version)
    missing = [f"{o[0]} {o[1]} is missing or other" for o in expected - found]
    added = [f"{o[0]} {o[1]} is in no document" for o in found - expected]
    return sorted(missing + added)


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def check_identity(connection: sqlite3.Connection, version: int) -> None:
    application = _pragma(connection, "application_id")
    if application != APPLICATION_ID:
        raise Malformed(f"the application_id is {application}")
    found = _pragma(connection, "user_version")
    if found != version:
        raise OtherVersion(f"the user_version is {found}")


def setting_problems(
    connection: sqlite3.Connection, database: Path, version: int
) -> list[str]:
    settings = {
        "page_size": PAGE_SIZE,
        "encoding": b"UTF-8",
        "auto_vacuum": 0,
    }
    problems = []
    for name, expected in settings.items():
        found = _pragma(connection, name)
        if found != expected:
            problems.append(f"{name} is {found!r}")
    with database.open("rb") as file:
        head = file.read(100)
    # All of a new database may still stand in its log.
    if head and (len(head) < 100 or head[18:21] != bytes([2, 2, RESERVED[version]])):
        problems.append("the bytes 18 to 20 of the database are others")
    return problems
