"""A row of `items`: its sealed metadata and its sealed secret."""

import struct
from dataclasses import dataclass

from .constraints import requires_password
from .enclave import TOKENS
from .errors import (
    DamagedMetadata,
    DamagedSecret,
    FormatError,
    WrongApplicationPassword,
)
from .keybag import PROTECTION_CLASSES
from .keybag_keys import ClassKeys
from .labels import LABEL_SIZE, Labels
from .password import open_content, parse_content
from .primitives import (
    BOX_OVERHEAD,
    GCM_TAG_SIZE,
    WRAPPED_KEY_SIZE,
    open_box,
    open_wrapped_key,
)
from .record import Record, decode_record, encode_record

LARGEST_VALUE = 1_000_000_000
META_HEAD_SIZE = 8
SECRET_HEAD_SIZE = 12
SECRET_BOX_START = SECRET_HEAD_SIZE + WRAPPED_KEY_SIZE


@dataclass(frozen=True)
class Row:
    uuid: bytes
    protection: int
    labels: Labels
    meta: bytes
    secret: bytes | None

    @property
    def meta_tag(self) -> bytes:
        return self.meta[-GCM_TAG_SIZE:]

    def split_terms(self) -> list[bytes]:
        terms = self.labels.terms
        return [
            terms[at : at + LABEL_SIZE] for at in range(0, len(terms), LABEL_SIZE)
        ]


def check_columns(row: Row) -> None:
    """Sizes of columns, before any key is used."""
    labels = row.labels
    for column in (row.uuid, labels.grp, labels.k1, labels.k2, labels.k3):
        if len(column) != LABEL_SIZE:
            raise DamagedMetadata("a reference or label has no 16 bytes")
    if len(labels.terms) % LABEL_SIZE != 0:
        raise DamagedMetadata("the size of the terms is no multiple of 16")
    if row.protection not in PROTECTION_CLASSES:
        raise DamagedMetadata(f"the protection class is {row.protection}")
    if max(len(row.meta), len(labels.terms)) > LARGEST_VALUE:
        raise DamagedMetadata("a column is beyond its limit")


def open_metadata(row: Row, identifier: bytes, metadata_key: bytes) -> Record:
    check_columns(row)
    meta, labels = row.meta, row.labels
    if len(meta) < META_HEAD_SIZE + BOX_OVERHEAD or meta[:4] != b"KCM1":
        raise DamagedMetadata("the metadata are too short or have another magic")
    if int.from_bytes(meta[4:8], "big") != len(meta):
        raise DamagedMetadata("the metadata have another size than they say")
    context = b"KCM1" + identifier + row.uuid + bytes([row.protection])
    context += labels.grp + labels.k1 + labels.k2 + labels.k3 + labels.terms
    try:
        plaintext = open_box(metadata_key, meta[META_HEAD_SIZE:], context)
        record = decode_record(plaintext)
    except FormatError as error:
        raise DamagedMetadata(str(error)) from None
    if encode_record(record) != plaintext:
        raise DamagedMetadata("the record is not in canonical form")
    return record


def _bound(row: Row, record: Record, identifier: bytes) -> bytes:
    bound = identifier + row.uuid + bytes([row.protection])
    return bound + record.item_class.encode("ascii")


def _open_content(
    row: Row, record: Record, identifier: bytes, class_key: bytes
) -> bytes | None:
    """What the keychain's keys give of a secret."""
    secret = row.secret
    if (secret is None) != (record.secret_tag is None):
        raise DamagedSecret("metadata and row disagree on whether there is a secret")
    if secret is None or record.secret_tag is None:
        return None
    if len(secret) < SECRET_BOX_START + BOX_OVERHEAD or secret[:4] != b"KCS1":
        raise DamagedSecret("the secret is too short or has another magic")
    if int.from_bytes(secret[4:12], "big") != len(secret):
        raise DamagedSecret("the secret has another size than it says")
    if len(secret) > LARGEST_VALUE:
        raise DamagedSecret("the secret is beyond its limit")
    if secret[-GCM_TAG_SIZE:] != record.secret_tag:
        raise DamagedSecret("the secret is not the one the metadata tell of")
    bound = _bound(row, record, identifier)
    try:
        row_key = open_wrapped_key(
            class_key, secret[SECRET_HEAD_SIZE:SECRET_BOX_START], b"KCRK" + bound
        )
        return open_box(row_key, secret[SECRET_BOX_START:], b"KCS1" + bound)
    except FormatError as error:
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
    bound = _bound(row, record, identifier)
    return open_content(parsed, password, bound + struct.pack(">Q", record.constraints))


def open_row(
    row: Row, identifier: bytes, keys: ClassKeys, password: bytes | None = None
) -> tuple[Record, bytes | None]:
    record = open_metadata(row, identifier, keys.metadata_key)
    return record, open_secret(row, record, identifier, keys.class_key, password)
