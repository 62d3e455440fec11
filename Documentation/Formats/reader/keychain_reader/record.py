"""The record: everything about an item but its secret."""

import struct
from dataclasses import dataclass

from . import constraints as rules
from .attributes import CLASSES, DATA, DATE, NUMBER, TEXT, Value, is_of_kind
from .errors import Malformed, OtherVersion

SECRET_TAG_SIZE = 16


@dataclass(frozen=True)
class Record:
    item_class: str
    access_group: bytes
    is_synchronizable: bool
    is_tombstone: bool
    #: 0: none.
    constraints: int
    secret_tag: bytes | None
    attributes: dict[str, Value]
    #: The biometric enrollment that the item was made for.
    enrollment: bytes | None = None
    #: The name of the program that added the item, in UTF-8.
    program: bytes | None = None


class _Cursor:
    """Takes bytes from the front and never more than there are."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise Malformed("a record ends early")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")


def _checked_value(type_: int, data: bytes) -> Value:
    if type_ == TEXT:
        try:
            data.decode("utf-8", "strict")
        except UnicodeDecodeError:
            raise Malformed("a text is no UTF-8") from None
    elif type_ in (NUMBER, DATE):
        if len(data) != 8:
            raise Malformed("a number or date has another size than 8 bytes")
    elif type_ != DATA:
        raise Malformed(f"a value has the type {type_}")
    return Value(type_, data)


def _decode_fields(cursor: _Cursor) -> dict[bytes, Value]:
    fields: dict[bytes, Value] = {}
    previous = b""
    for _ in range(cursor.number(2)):
        name = cursor.take(4)
        # Names of 4 bytes have the order of the numbers they stand for.
        if name <= previous:
            raise Malformed("a record's fields are out of order")
        previous = name
        type_ = cursor.number(1)
        fields[name] = _checked_value(type_, cursor.take(cursor.number(4)))
    if not cursor.is_at_end:
        raise Malformed("a record has bytes after its last field")
    return fields


def _take_flag(fields: dict[bytes, Value], name: bytes) -> bool:
    value = fields.pop(name, None)
    if value is None or value.type != NUMBER:
        raise Malformed(f"a record has no number {name!r}")
    number = int.from_bytes(value.data, "big")
    if number not in (0, 1):
        raise Malformed(f"a record's {name!r} is neither 0 nor 1")
    return number == 1


def _take_constraints(fields: dict[bytes, Value]) -> int:
    value = fields.pop(b"accc", None)
    if value is None:
        return 0
    constraints = int.from_bytes(value.data, "big")
    if value.type != NUMBER or not rules.is_valid(constraints):
        raise Malformed("a record has constraints that mean nothing")
    return constraints


def _take_enrollment(fields: dict[bytes, Value], constraints: int) -> bytes | None:
    value = fields.pop(b"bset", None)
    if value is None:
        return None
    if value.type != DATA or not 1 <= len(value.data) <= 64:
        raise Malformed("a record has an enrollment that is none")
    if not constraints & rules.CURRENT_SET:
        raise Malformed("a record has an enrollment that nothing asks for")
    return value.data


def _take_program(fields: dict[bytes, Value]) -> bytes | None:
    value = fields.pop(b"prog", None)
    if value is None:
        return None
    if value.type != TEXT or not 1 <= len(value.data) <= 255:
        raise Malformed("a record has a program that is none")
    return value.data


def decode_record(data: bytes) -> Record:
    cursor = _Cursor(data)
    version = cursor.number(1)
    if version != 1:
        raise OtherVersion(f"a record has the version {version}")
    class_name = cursor.take(4)
    names = {name.encode("ascii"): name for name in CLASSES}
    if class_name not in names:
        raise Malformed(f"a record has the class {class_name!r}")
    item_class = names[class_name]
    has_secret = cursor.number(1)
    if has_secret > 1:
        raise Malformed("a record's secret flag is neither 0 nor 1")
    secret_tag = cursor.take(SECRET_TAG_SIZE) if has_secret else None

    fields = _decode_fields(cursor)
    group = fields.pop(b"agrp", None)
    if group is None or group.type != TEXT:
        raise Malformed("a record has no access group")
    is_synchronizable = _take_flag(fields, b"sync")
    is_tombstone = _take_flag(fields, b"tomb")
    constraints = _take_constraints(fields)
    enrollment = _take_enrollment(fields, constraints)
    program = _take_program(fields)

    known = {name.encode("ascii"): name for name in CLASSES[item_class].names}
    attributes: dict[str, Value] = {}
    for name, value in fields.items():
        if name not in known:
            raise Malformed(f"a record has the attribute {name!r}")
        if not is_of_kind(known[name], value):
            raise Malformed(f"a record's {name!r} has a value of another kind")
        attributes[known[name]] = value
    return Record(
        item_class,
        group.data,
        is_synchronizable,
        is_tombstone,
        constraints,
        secret_tag,
        attributes,
        enrollment,
        program,
    )


def encode_record(record: Record) -> bytes:
    """The one encoding of a record, to check that decoding lost nothing."""
    fields = dict(record.attributes)
    fields["agrp"] = Value(TEXT, record.access_group)
    fields["sync"] = Value(NUMBER, struct.pack(">q", record.is_synchronizable))
    fields["tomb"] = Value(NUMBER, struct.pack(">q", record.is_tombstone))
    if record.constraints:
        fields["accc"] = Value(NUMBER, struct.pack(">Q", record.constraints))
    if record.enrollment is not None:
        fields["bset"] = Value(DATA, record.enrollment)
    if record.program is not None:
        fields["prog"] = Value(TEXT, record.program)

    tag = record.secret_tag
    data = bytes([1]) + record.item_class.encode("ascii")
    data += b"\x00" if tag is None else b"\x01" + tag
    data += struct.pack(">H", len(fields))
    for name in sorted(fields):
        value = fields[name]
        data += name.encode("ascii")
        data += struct.pack(">BI", value.type, len(value.data)) + value.data
    return data
