"""Versions of items, and which of them counts: Documentation/Synchronization.md."""

import hashlib
import struct
from dataclasses import dataclass

from .attributes import CLASSES, EMPTY_NUMBER, NUMBER, empty_value
from .circle_entries import LARGEST_GROUP, Cursor, SealedVersion
from .constraints import CONDITIONS
from .errors import Malformed
from .labels import comparison_bytes
from .primitives import open_box, open_wrapped_key
from .record import Record, decode_record
from .row2 import content_of

VERSION_FLOOR = 256
TRAVELLING_CLASSES = (6, 7, 8)
#: Record and value together.
LARGEST_ITEM = 655_360
#: Seconds before or after 2001. Beyond it, the next millisecond could not be told apart.
END_OF_DATES = 1e12


@dataclass(frozen=True)
class Place:
    """Where a version stands."""

    circle: bytes
    writer: bytes
    index: int
    part: int

    def encoded(self) -> bytes:
        return self.circle + self.writer + struct.pack(">QI", self.index, self.part)

    def __str__(self) -> str:
        return f"l/{self.writer.hex()}/{self.index:016x} part {self.part}"


@dataclass(frozen=True)
class Version:
    plaintext: bytes
    protection: int
    record: Record
    value: bytes | None

    @property
    def is_deletion(self) -> bool:
        return self.record.is_tombstone

    @property
    def modified(self) -> float:
        return float(struct.unpack(">d", self.record.attributes["mdat"].data)[0])

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.plaintext).digest()

    @property
    def name(self) -> tuple[object, ...]:
        """The primary key of the item, which is the same in all its versions."""
        item_class = CLASSES[self.record.item_class]
        names = (item_class.first_key, item_class.second_key, *item_class.rest_of_key)
        values = self.record.attributes
        key = (comparison_bytes(values.get(name, empty_value(name))) for name in names)
        return self.record.item_class, self.record.access_group, *key

    def supersedes(self, other: "Version") -> bool:
        if self.modified != other.modified:
            return self.modified > other.modified
        if self.is_deletion != other.is_deletion:
            return self.is_deletion
        return self.digest < other.digest


def _check_travels(record: Record) -> None:
    """Raises the reason why an item stays on its machine."""
    if not record.is_synchronizable:
        raise Malformed("a version's item isn't synchronizable")
    if "tkid" in record.attributes:
        raise Malformed("a version's item has its key in hardware")
    bound = record.attributes.get("sysb")
    # Text may be there too, and is no number other than 0.
    if bound is not None and bound.type == NUMBER and bound.data != EMPTY_NUMBER:
        raise Malformed("a version's item is bound to its system")
    # With an enrollment there always is a condition.
    if record.constraints & CONDITIONS:
        raise Malformed("a version's item has access control")
    if not 1 <= len(record.access_group) <= LARGEST_GROUP:
        raise Malformed("a version's access group has no name, or too long a one")
    if "mdat" not in record.attributes:
        raise Malformed("a version has no modification date")


def decode_version(plaintext: bytes) -> Version:
    cursor = Cursor(plaintext)
    cursor.expect(b"\x01")
    protection = cursor.number(1)
    if protection not in TRAVELLING_CLASSES:
        raise Malformed("a version has a protection class that doesn't travel")
    encoded = cursor.sized()
    record = decode_record(encoded)
    value = cursor.sized() if cursor.flag() else None
    cursor.require_end()
    if len(encoded) + len(value or b"") > LARGEST_ITEM:
        raise Malformed("a version's item is too large to travel")
    _check_travels(record)
    if record.secret_tag is not None:
        raise Malformed("a version's record has the tag of a secret")
    if record.is_tombstone and value is not None:
        raise Malformed("a deletion has a value")
    version = Version(plaintext, protection, record, value)
    if abs(version.modified) >= END_OF_DATES:
        raise Malformed("a version's modification date is beyond the limit")
    return version


def open_version(group_key: bytes, sealed: SealedVersion, place: Place) -> Version:
    text, bound = b"swift-keychain sync 1 version", place.encoded() + sealed.key
    key = open_wrapped_key(group_key, sealed.wrapped, text + b" key" + bound)
    padded = open_box(key, sealed.box, text + bound)
    return decode_version(content_of(padded, VERSION_FLOOR))
