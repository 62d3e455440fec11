"""What a database holds, read in one transaction and not yet opened."""

import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import FormatError, Malformed
from .labels import Labels
from .row import Row, check_columns
from .schema import check_identity, schema_problems, setting_problems

#: SQLite's type and the value, by the name of the column.
TypedColumns = dict[str, tuple[str, Any]]

_ROW_COLUMNS = (
    "id", "uuid", "protection", "grp", "k1", "k2", "k3", "meta", "terms", "secret",
)
#: Why a row was set aside, by the number that stands in version 2.
REASONS = {
    1: "found damaged by a check",
    2: "found damaged by a recovery",
    3: "found whole by a recovery; it may have been deleted",
    4: "lost by a recovery",
    5: "replaced by a new item with the same key",
    6: "damaged when it was deleted",
}
#: The rows that the table state can have.
CIRCLE = b"circle"
STATE_NAMES = (b"secure-enclave", b"history", CIRCLE)
CIRCLE_SIZE = 32
REFERENCE_SIZE = 16
_BLOBS = ("uuid", "grp", "k1", "k2", "k3", "meta", "terms")


@dataclass(frozen=True)
class StoredRow:
    id: int
    #: None where the columns are no row.
    row: Row | None
    problem: str | None


@dataclass(frozen=True)
class SetAside:
    uuid: bytes
    protection: int
    at: float
    reason: str
    #: What its tag is over, and the tag; None in version 1.
    data: bytes | None = None
    tag: bytes | None = None


@dataclass(frozen=True)
class Outbound:
    id: int
    reference: bytes


@dataclass
class Contents:
    header: bytes | None = None
    keybag: bytes | None = None
    rows: list[StoredRow] = field(default_factory=list)
    terms: set[tuple[bytes, int]] = field(default_factory=set)
    set_aside: list[SetAside] = field(default_factory=list)
    set_aside_count: int = 0
    #: The circle of machines that the keychain belongs to.
    circle: bytes | None = None
    #: Changes that are yet to be sent, in their order. The items may have been deleted.
    outbox: list[Outbound] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def _typed(
    connection: sqlite3.Connection, table: str, columns: tuple[str, ...]
) -> Iterator[TypedColumns]:
    """The rows of a table.

    Texts come as bytes, so that bad UTF-8 in one row doesn't end the reading.
    NOT INDEXED: an index may disagree with its table.
    """
    selected = ", ".join(f"typeof({column}), {column}" for column in columns)
    query = f"SELECT {selected} FROM {table} NOT INDEXED"
    for values in connection.execute(query):
        pairs = zip(values[0::2], values[1::2], strict=True)
        yield {
            column: (type_.decode("ascii"), value)
            for column, (type_, value) in zip(columns, pairs, strict=True)
        }


def _only_body(connection: sqlite3.Connection, table: str) -> bytes | None:
    rows = list(_typed(connection, table, ("id", "body")))
    if len(rows) != 1 or rows[0]["id"] != ("integer", 1):
        return None
    type_, body = rows[0]["body"]
    return body if type_ == "blob" and isinstance(body, bytes) else None


def _stored_row(columns: TypedColumns) -> StoredRow:
    id_: int = columns["id"][1]
    values = {name: value for name, (_, value) in columns.items()}
    types = {name: type_ for name, (type_, _) in columns.items()}
    if any(types[name] != "blob" for name in _BLOBS):
        return StoredRow(id_, None, "a column is no blob")
    if types["protection"] != "integer":
        return StoredRow(id_, None, "the protection class is no integer")
    if types["secret"] not in ("blob", "null"):
        return StoredRow(id_, None, "the secret is neither blob nor NULL")
    names = ("grp", "k1", "k2", "k3", "terms")
    labels = Labels(**{name: values[name] for name in names})
    row = Row(
        values["uuid"], values["protection"], labels, values["meta"], values["secret"]
    )
    try:
        check_columns(row)
    except FormatError as error:
        return StoredRow(id_, row, str(error))
    return StoredRow(id_, row, None)


def _read_terms(connection: sqlite3.Connection, contents: Contents) -> None:
    for pair in _typed(connection, "terms", ("term", "item")):
        (term_type, term), (item_type, item) = pair["term"], pair["item"]
        if term_type == "blob" and item_type == "integer":
            contents.terms.add((term, item))
        else:
            contents.problems.append("the table terms has a value of another type")


def _read_set_aside_of_version_1(
    connection: sqlite3.Connection, contents: Contents
) -> None:
    names = ("at", "reason", "uuid", "protection")
    types = ("real", "text", "blob", "integer")
    for columns in _typed(connection, "set_aside", names):
        contents.set_aside_count += 1
        if tuple(columns[name][0] for name in names) != types:
            # What stands here could not be opened, so its columns may be damaged.
            if columns["at"][0] != "real" or columns["reason"][0] != "text":
                contents.problems.append("a row of set_aside has no date or reason")
            continue
        values = {name: value for name, (_, value) in columns.items()}
        contents.set_aside.append(
            SetAside(
                values["uuid"],
                values["protection"],
                values["at"],
                values["reason"].decode("utf-8", "replace"),
            )
        )


def set_aside_data(at: float, reason: int, columns: dict[str, Any]) -> bytes:
    """What the tag of a row of set_aside is over."""
    data = b"aside" + struct.pack(">dq", at, reason)
    for name in _ROW_COLUMNS[1:]:
        value = columns[name]
        if name == "protection":
            value = bytes([value])
        if value is None:
            data += b"\xff" * 8
        else:
            data += len(value).to_bytes(8, "big") + value
    return data


def _read_set_aside(connection: sqlite3.Connection, contents: Contents) -> None:
    names = ("at", "reason", "tag", *_ROW_COLUMNS[1:])
    types = {"at": "real", "reason": "integer", "protection": "integer"}
    for columns in _typed(connection, "set_aside", names):
        contents.set_aside_count += 1
        values = {name: value for name, (_, value) in columns.items()}
        is_row = all(
            type_ == types.get(name, "blob") or (name == "secret" and type_ == "null")
            for name, (type_, _) in columns.items()
        )
        if not is_row or values["protection"] not in range(256):
            contents.problems.append("a row of set_aside is none that is written")
            continue
        reason = values["reason"]
        if reason not in REASONS:
            contents.problems.append(f"a row of set_aside has the reason {reason}")
        contents.set_aside.append(
            SetAside(
                values["uuid"], values["protection"], values["at"],
                REASONS.get(reason, str(reason)),
                set_aside_data(values["at"], reason, values), values["tag"],
            )
        )


def _read_header(connection: sqlite3.Connection, contents: Contents) -> None:
    contents.header = _only_body(connection, "header")


def _read_keybag(connection: sqlite3.Connection, contents: Contents) -> None:
    contents.keybag = _only_body(connection, "keybag")


def _read_items(connection: sqlite3.Connection, contents: Contents) -> None:
    for row in _typed(connection, "items", _ROW_COLUMNS):
        contents.rows.append(_stored_row(row))


def _check_integrity(connection: sqlite3.Connection, contents: Contents) -> None:
    """Indexes against their tables, which reading the tables doesn't show."""
    for (message,) in connection.execute("PRAGMA integrity_check"):
        if message != b"ok":
            text = message.decode("utf-8", "replace")
            contents.problems.append(f"SQLite: {text}")


def _read_state(connection: sqlite3.Connection, contents: Contents) -> None:
    for columns in _typed(connection, "state", ("name", "body")):
        (_, name), (type_, body) = columns["name"], columns["body"]
        if name not in STATE_NAMES:
            contents.problems.append("the table state has a row that isn't known")
        elif name == CIRCLE:
            if type_ == "blob" and len(body) == CIRCLE_SIZE:
                contents.circle = body
            else:
                contents.problems.append("the circle in the table state is none")


def _read_outbox(connection: sqlite3.Connection, contents: Contents) -> None:
    rows = 0
    for columns in _typed(connection, "outbox", ("id", "body")):
        rows += 1
        (_, id_), (type_, body) = columns["id"], columns["body"]
        if type_ == "blob" and len(body) == REFERENCE_SIZE:
            contents.outbox.append(Outbound(id_, body))
        else:
            contents.problems.append("a row of outbox is no reference")
    contents.outbox.sort(key=lambda row: row.id)
    if rows and contents.circle is None:
        contents.problems.append("the table outbox has rows without a circle")


_COMMON_STEPS = (
    _read_header,
    _read_keybag,
    _read_items,
    _read_terms,
    _check_integrity,
)
_STEPS = {
    1: (*_COMMON_STEPS, _read_set_aside_of_version_1),
    2: (*_COMMON_STEPS, _read_set_aside, _read_state, _read_outbox),
}


def read_database(database: Path, version: int) -> Contents:
    uri = f"{database.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.text_factory = bytes
    contents = Contents()
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("BEGIN")
        check_identity(connection, version)
        contents.problems += setting_problems(connection, database, version)
        schema = schema_problems(connection, version)
        if schema and version > 1:
            raise Malformed("; ".join(schema))
        contents.problems += schema
        for step in _STEPS[version]:
            try:
                step(connection, contents)
            except sqlite3.DatabaseError as error:
                # A damaged page takes its table along, not the others.
                contents.problems.append(f"SQLite: {error}")
    except sqlite3.DatabaseError as error:
        raise Malformed(f"SQLite: {error}") from None
    finally:
        connection.close()
    return contents
