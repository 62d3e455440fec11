"""Writes small keychains of both versions, for the tests.

A database of version 2 is made from one that SQLite wrote with 32 reserved bytes: the
tags are put in afterwards, in the file and in its log.
"""

import _sqlite3
import ctypes
import hashlib
import json
import os
import shutil
import sqlite3
import struct
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from keychain_reader import log as logs
from keychain_reader.attributes import TEXT, Value
from keychain_reader.database import set_aside_data
from keychain_reader.header import MODULUS, digest_of
from keychain_reader.keybag_keys import open_keybag
from keychain_reader.labels import labels_of
from keychain_reader.page_tags import (
    CONTENT_SIZE,
    INFO,
    SALT,
    database_data,
    log_data,
)
from keychain_reader.pages import CHECKSUM_SIZE, PAGE_SIZE, checksum
from keychain_reader.primitives import hkdf, mac
from keychain_reader.record import Record, encode_record
from keychain_reader.schema import APPLICATION_ID, RESERVED, SCHEMAS

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
PROTECTION = 8
RESERVE_BYTES = 38  # SQLITE_FCNTL_RESERVE_BYTES


def _test_keybag() -> tuple[bytes, bytes]:
    """A keybag without a passcode, and its device key."""
    content = json.loads((VECTORS / "keybag-v1.json").read_text(encoding="utf-8"))
    test = content["testGroups"][0]["tests"][0]
    return bytes.fromhex(test["keybag"]), bytes.fromhex(test["deviceKey"])


KEYBAG, DEVICE_KEY = _test_keybag()
OPENED = open_keybag(KEYBAG, DEVICE_KEY, None)


def page_end(key: bytes, data: bytes) -> bytes:
    nonce = os.urandom(12)
    return AESGCM(key).encrypt(nonce, b"", data) + nonce + bytes(4)


@dataclass
class Columns:
    uuid: bytes
    protection: int
    grp: bytes
    k1: bytes
    k2: bytes
    k3: bytes
    meta: bytes
    terms: bytes
    secret: bytes


def _box(key: bytes, plaintext: bytes, data: bytes) -> bytes:
    nonce = os.urandom(12)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, data)


def sealed_row(account: str, secret: bytes) -> Columns:
    keys = OPENED.classes[PROTECTION]
    uuid = os.urandom(16)
    bound = OPENED.identifier + uuid + bytes([PROTECTION])
    row_key = os.urandom(32)
    sealed = b"KCS1" + (100 + len(secret)).to_bytes(8, "big")
    sealed += _box(keys.class_key, row_key, b"KCRK" + bound + b"genp")
    sealed += _box(row_key, secret, b"KCS1" + bound + b"genp")
    texts = {"acct": account, "svce": "mail", "labl": "label of " + account}
    attributes = {n: Value(TEXT, text.encode()) for n, text in texts.items()}
    record = Record("genp", b"group", False, False, 0, sealed[-16:], attributes)
    encoded = encode_record(record)
    labels = labels_of(OPENED.index_key, record)
    meta = b"KCM1" + (36 + len(encoded)).to_bytes(4, "big")
    data = b"KCM1" + bound + labels.grp + labels.k1 + labels.k2 + labels.k3
    meta += _box(keys.metadata_key, encoded, data + labels.terms)
    return Columns(
        uuid, PROTECTION, labels.grp, labels.k1, labels.k2, labels.k3, meta,
        labels.terms, sealed,
    )


def create_database(path: Path, reserved: int) -> None:
    """Makes an empty database in WAL mode that leaves bytes at the end of its pages."""
    # The module is linked with the library, so the library's functions are found in it.
    library = ctypes.CDLL(_sqlite3.__file__)
    connection = ctypes.c_void_p()
    name = os.fsencode(path)
    assert library.sqlite3_open(name, ctypes.byref(connection)) == 0
    count = ctypes.c_int(reserved)
    code = library.sqlite3_file_control(
        connection, b"main", RESERVE_BYTES, ctypes.byref(count)
    )
    assert code == 0, code
    sql = b"PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;"
    assert library.sqlite3_exec(connection, sql, None, None, None) == 0
    assert library.sqlite3_close(connection) == 0


@dataclass
class Writer:
    """A keychain that is being written; `save` puts it into a folder."""

    work: Path
    version: int
    generation: int = 0

    def __post_init__(self) -> None:
        self.salt = os.urandom(16)
        self.path = self.work / "keychain.db"
        create_database(self.path, RESERVED[self.version])
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        for setting in ("wal_autocheckpoint = 0", "secure_delete = ON"):
            self.connection.execute(f"PRAGMA {setting}")
        self.connection.execute("BEGIN")
        for statement in SCHEMAS[self.version].split(";\n"):
            self.connection.execute(statement)
        self.connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.connection.execute(f"PRAGMA user_version = {self.version}")
        self.connection.execute("INSERT INTO keybag VALUES (1, ?)", (KEYBAG,))
        self.commit()
        if self.version > 1:
            # A database of version 2 has its name only when it is complete.
            self.checkpoint()

    def commit(self) -> None:
        self.generation += 1
        rows = self.connection.execute("SELECT uuid, meta FROM items").fetchall()
        aside = self.connection.execute("SELECT count(*) FROM set_aside").fetchone()[0]
        digest = digest_of(OPENED.integrity_key, [(u, m[-16:]) for u, m in rows])
        mask = os.urandom(16)
        number = int.from_bytes(mac(OPENED.integrity_key, b"mask" + mask), "big")
        header = b"KCHD\x01\0\0\0" + OPENED.identifier
        header += struct.pack(
            ">4Q", self.generation, len(rows), aside, OPENED.generation
        )
        header += mask + ((digest + number) % MODULUS).to_bytes(32, "big")
        header += mac(OPENED.integrity_key, header)
        self.connection.execute("REPLACE INTO header VALUES (1, ?)", (header,))
        self.connection.execute("COMMIT")

    def add(self, account: str, secret: bytes) -> Columns:
        row = sealed_row(account, secret)
        self.connection.execute("BEGIN")
        cursor = self.connection.execute(
            "INSERT INTO items VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            tuple(vars(row).values()),
        )
        for at in range(0, len(row.terms), 16):
            self.connection.execute(
                "INSERT INTO terms VALUES (?, ?)",
                (row.terms[at : at + 16], cursor.lastrowid),
            )
        self.commit()
        return row

    def set_aside(self, row: Columns, reason: int, tag: bytes | None = None) -> None:
        """In version 2."""
        data = set_aside_data(5.0, reason, vars(row))
        if tag is None:
            tag = mac(OPENED.integrity_key, data)
        self.connection.execute("BEGIN")
        self.connection.execute(
            "INSERT INTO set_aside VALUES (NULL, 5.0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (reason, tag, *vars(row).values()),
        )
        self.commit()

    def change(self, statement: str, *values: object) -> None:
        """Changes a table that the header doesn't count, in a commit."""
        self.connection.execute("BEGIN")
        self.connection.execute(statement, values)
        self.commit()

    def execute(self, statement: str) -> None:
        """Changes something without telling the header, as no writer does."""
        self.connection.execute(statement)

    def checkpoint(self) -> None:
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def save(self, folder: Path) -> Path:
        """A folder with the keychain as it is now, with its log."""
        folder.mkdir(mode=0o700)
        database = self.path.read_bytes()
        log = Path(f"{self.path}-wal")
        files = {
            "keychain.db": self._with_ends(database),
            "keychain.db-wal": self._with_log_tags(log.read_bytes()),
            "device.key": device_key_file(),
            "keybag": KEYBAG,
            "anchor": self._anchor(),
        }
        for name, content in files.items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        return folder

    def _anchor(self) -> bytes:
        record = b"KCAN\0\0\0\x01" + self.generation.to_bytes(8, "big")
        record += mac(OPENED.integrity_key, record)
        return bytes(48) + record if self.generation % 2 else record

    @property
    def page_key(self) -> bytes:
        return hkdf(DEVICE_KEY, self.salt, INFO)

    def _with_ends(self, database: bytes) -> bytes:
        result = b""
        for start in range(0, len(database), PAGE_SIZE):
            result += self.finished(
                database[start : start + PAGE_SIZE], start // PAGE_SIZE + 1
            )
        return result

    def finished(self, page: bytes, number: int) -> bytes:
        """A page of the database with checksum, or salt and tag."""
        if self.version == 1:
            content = page[:-CHECKSUM_SIZE]
            return content + checksum(content, number)
        if number == 1:
            page = page[: SALT.start] + self.salt + page[SALT.stop :]
        end = page_end(self.page_key, database_data(page, number))
        return page[:CONTENT_SIZE] + end

    def _with_log_tags(self, log: bytes) -> bytes:
        if self.version == 1 or not log:
            return log
        result = bytearray(log)
        for frame in logs.frames(log):
            data = log_data(
                frame.page, frame.page_number, frame.commit_size, frame.number,
                log[16:24],
            )
            end = logs.HEADER_SIZE + frame.number * logs.FRAME_SIZE
            result[end - 32 : end] = page_end(self.page_key, data)
        return bytes(result)


def device_key_file() -> bytes:
    copy = b"KCDK\x01\0\0\0" + DEVICE_KEY
    return 2 * (copy + hashlib.sha256(copy).digest())


def with_new_sums(log: bytes) -> bytes:
    """What an attacker does: SQLite's checksums made anew over a changed log.

    They are over zeros in the last 32 bytes of each page.
    """
    result = bytearray(log)
    order = ">" if log[3] & 1 else "<"
    sums = logs.add((0, 0), bytes(result[:24]), order)
    result[24:32] = struct.pack(">2I", *sums)
    for start in range(logs.HEADER_SIZE, len(log) - logs.FRAME_SIZE + 1, logs.FRAME_SIZE):
        page = bytes(result[start + 24 : start + logs.FRAME_SIZE - 32]) + bytes(32)
        sums = logs.add(sums, bytes(result[start : start + 8]) + page, order)
        result[start + 16 : start + 24] = struct.pack(">2I", *sums)
    return bytes(result)


def copy_folder(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target))
