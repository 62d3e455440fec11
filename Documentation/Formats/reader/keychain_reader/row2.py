"""A row of `items` in version 2: padded halves, constraints beside the row key."""

import struct
from collections.abc import Mapping

from .attributes import Value, empty_value
from .constraints import requires_password
from .enclave import TOKENS
from .errors import (
    DamagedMetadata,
    DamagedSecret,
    FormatError,
    Inauthentic,
    Malformed,
    WrongApplicationPassword,
)
from .keybag_keys import ClassKeys
from .labels import LABEL_SIZE, Labels, Space
from .labels import labels_of as labels_of_version1
from .password import open_content, parse_content
from .primitives import BOX_OVERHEAD, GCM_TAG_SIZE, KEY_SIZE, mac, open_box
from .record import Record, decode_record, encode_record
from .row import LARGEST_VALUE, META_HEAD_SIZE, SECRET_HEAD_SIZE, Row, check_columns

META_FLOOR = 128
SECRET_FLOOR = 32
SIZE_SIZE = 4
ROW_KEY_BOX_SIZE = KEY_SIZE + 8 + BOX_OVERHEAD
SECRET_BOX_START = SECRET_HEAD_SIZE + ROW_KEY_BOX_SIZE
SERVER_PARTS = ("sdmn", "ptcl", "atyp", "port", "path")


class WrongLabels(FormatError):
    failure = "labels"


# Padding


def padded_size(content_size: int, floor: int) -> int:
    length = SIZE_SIZE + content_size
    if length <= floor:
        return floor
    exponent = length.bit_length() - 1
    digits = exponent.bit_length()
    unit = 1 << max(0, exponent - digits)
    return (length + unit - 1) // unit * unit


def content_of(padded: bytes, floor: int) -> bytes:
    if len(padded) < SIZE_SIZE:
        raise Malformed("what is padded is shorter than its size")
    size = int.from_bytes(padded[:SIZE_SIZE], "big")
    if size > len(padded) - SIZE_SIZE:
        raise Malformed("what is padded ends before its content does")
    if len(padded) != padded_size(size, floor):
        raise Malformed("what is padded has not the size of its step")
    end = SIZE_SIZE + size
    if any(padded[end:]):
        raise Malformed("a byte behind what is padded is not zero")
    return padded[SIZE_SIZE:end]


# Labels


def server_label(
    index_key: bytes, space: Space, attributes: Mapping[str, Value]
) -> bytes:
    content = space.head(4)
    for name in SERVER_PARTS:
        value = attributes.get(name, empty_value(name))
        kind = {3: b"\x01", 4: b"\x02"}.get(value.type, b"\x00")
        compared = kind + value.data
        content += name.encode("ascii") + struct.pack(">I", len(compared)) + compared
    return mac(index_key, content)[:LABEL_SIZE]


def labels_of(index_key: bytes, record: Record) -> Labels:
    """All labels of the row that holds a record; the key is that of the row's tier."""
    labels = labels_of_version1(index_key, record)
    if record.item_class != "inet":
        return labels
    space = Space(record.item_class, record.is_synchronizable, record.is_tombstone)
    server = server_label(index_key, space, record.attributes)
    return Labels(labels.grp, labels.k1, labels.k2, labels.k3, server + labels.terms)


# Halves


def _head(magic: bytes, row: Row, identifier: bytes) -> bytes:
    return magic + identifier + row.uuid + bytes([row.protection])


def _key_of(row: Row) -> bytes:
    labels = row.labels
    return labels.grp + labels.k1 + labels.k2 + labels.k3


def open_metadata(row: Row, identifier: bytes, metadata_key: bytes) -> Record:
    check_columns(row)
    meta = row.meta
    if len(meta) < META_HEAD_SIZE + BOX_OVERHEAD:
        raise DamagedMetadata("the metadata are too short")
    if meta[:4] != b"KCM2":
        raise DamagedMetadata("the metadata have another magic")
    if int.from_bytes(meta[4:8], "big") != len(meta):
        raise DamagedMetadata("the metadata have another size than they say")
    context = _head(b"KCM2", row, identifier) + _key_of(row) + row.labels.terms
    try:
        content = content_of(
            open_box(metadata_key, meta[META_HEAD_SIZE:], context), META_FLOOR
        )
        record = decode_record(content)
    except FormatError as error:
        raise DamagedMetadata(str(error)) from None
    if encode_record(record) != content:
        raise DamagedMetadata("the record is not in canonical form")
    return record


def check_labels(row: Row, record: Record, index_key: bytes) -> None:
    if labels_of(index_key, record) != row.labels:
        raise WrongLabels("the labels are not those of the record")


def _open_content(
    row: Row, record: Record, identifier: bytes, class_key: bytes
) -> bytes | None:
    """What the keychain's keys give of a secret."""
    secret = row.secret
    if (secret is None) != (record.secret_tag is None):
        raise DamagedSecret("metadata and row disagree on whether there is a secret")
    if secret is None or record.secret_tag is None:
        return None
    if len(secret) < SECRET_BOX_START + BOX_OVERHEAD:
        raise DamagedSecret("the secret is too short")
    if secret[:4] != b"KCS2":
        raise DamagedSecret("the secret has another magic")
    if int.from_bytes(secret[4:12], "big") != len(secret):
        raise DamagedSecret("the secret has another size than it says")
    if len(secret) > LARGEST_VALUE:
        raise DamagedSecret("the secret is beyond its limit")
    if secret[-GCM_TAG_SIZE:] != record.secret_tag:
        raise DamagedSecret("the secret is not the one the metadata tell of")
    item_class = record.item_class.encode("ascii")
    row_key_context = _head(b"KCR2", row, identifier) + item_class + _key_of(row)
    try:
        opened = open_box(
            class_key, secret[SECRET_HEAD_SIZE:SECRET_BOX_START], row_key_context
        )
    except Inauthentic:
        raise DamagedSecret("the box of the row key does not open") from None
    row_key, beside = opened[:KEY_SIZE], int.from_bytes(opened[KEY_SIZE:], "big")
    if beside != record.constraints:
        raise DamagedSecret("the constraints beside the row key are not the record's")
    try:
        padded = open_box(
            row_key, secret[SECRET_BOX_START:],
            _head(b"KCS2", row, identifier) + item_class,
        )
    except Inauthentic:
        raise DamagedSecret("the box of the secret does not open") from None
    try:
        return content_of(padded, SECRET_FLOOR)
    except Malformed as error:
        raise DamagedSecret(str(error)) from None


def open_secret(
    row: Row,
    record: Record,
    identifier: bytes,
    class_key: bytes,
    password: bytes | None,
) -> bytes | None:
    """The secret, or None where the item has none.

    Raises WrongApplicationPassword also where one is needed and not given.
    """
    content = _open_content(row, record, identifier, class_key)
    if content is None or not requires_password(record.constraints):
        return content
    token = record.attributes.get("tkid")
    if record.item_class == "keys" and token and token.data.decode() in TOKENS:
        return content
    parsed = parse_content(content)
    if password is None:
        raise WrongApplicationPassword("the item is under an application password")
    bound = _head(b"", row, identifier) + record.item_class.encode("ascii")
    return open_content(parsed, password, bound + struct.pack(">Q", record.constraints))


def open_row(
    row: Row,
    identifier: bytes,
    index_key: bytes,
    keys: ClassKeys,
    password: bytes | None = None,
) -> tuple[Record, bytes | None]:
    """`index_key` is that of the row's tier."""
    record = open_metadata(row, identifier, keys.metadata_key)
    check_labels(row, record, index_key)
    return record, open_secret(row, record, identifier, keys.class_key, password)
