"""Writes rows and headers of version 2, by row-v2.md and database-v2.md alone.

Nothing here is the reader's, so that what both take for the format are two readings of
the documents. What is random in a keychain comes from a counter: the same run gives the
same bytes.
"""

import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TEXT, DATA, NUMBER, DATE = 1, 2, 3, 4
META_FLOOR, SECRET_FLOOR = 128, 32
OPEN_CLASSES = (8, 11)

# First key attribute, second one, rest of the primary key, terms.
CLASSES = {
    "genp": ("svce", "acct", "vwht tkid ggrp", "gena labl vwht tkid"),
    "inet": (
        "srvr", "acct", "sdmn ptcl atyp port path vwht tkid ggrp",
        "labl path sdmn port ptcl atyp vwht tkid",
    ),
    "cert": (
        "issr", "slnr", "ctyp vwht tkid ggrp", "pkhh skid subj labl vwht tkid",
    ),
    "keys": (
        "klbl", "atag", "kcls type crtr bsiz esiz sdat edat vwht tkid ggrp",
        "labl vwht tkid",
    ),
}
SERVER_PARTS = "sdmn ptcl atyp port path"
_EMPTY = {
    **dict.fromkeys("ptcl port ctyp kcls type crtr bsiz esiz".split(), (NUMBER, bytes(8))),
    **dict.fromkeys("sdat edat".split(), (DATE, bytes(8))),
    **dict.fromkeys("issr slnr klbl".split(), (DATA, b"")),
}

Value = tuple[int, bytes]


def text(value: str) -> Value:
    return TEXT, value.encode()


def data(value: bytes) -> Value:
    return DATA, value


def number(value: int) -> Value:
    return NUMBER, struct.pack(">q", value)


def date(value: float) -> Value:
    return DATE, struct.pack(">d", value)


class Bytes:
    """Bytes that no other call gives."""

    def __init__(self, seed: str) -> None:
        self._seed, self._count = seed.encode(), 0

    def take(self, size: int) -> bytes:
        result = b""
        while len(result) < size:
            self._count += 1
            block = self._seed + struct.pack(">Q", self._count)
            result += hashlib.sha256(block).digest()
        return result[:size]


def hmac_sha256(key: bytes, content: bytes) -> bytes:
    return hmac.new(key, content, hashlib.sha256).digest()


def u32(value: int) -> bytes:
    return struct.pack(">I", value)


def u64(value: int) -> bytes:
    return struct.pack(">Q", value)


# Items


@dataclass(frozen=True)
class Item:
    """What a record says but for the secret's tag."""

    item_class: str
    attributes: Mapping[str, Value]
    group: str = "group"
    is_synchronizable: bool = False
    is_tombstone: bool = False
    constraints: int = 0
    others: Mapping[str, Value] = field(default_factory=dict)

    def record(self, tag: bytes | None) -> bytes:
        fields = {**self.attributes, **self.others}
        fields["agrp"] = text(self.group)
        fields["sync"] = number(int(self.is_synchronizable))
        fields["tomb"] = number(int(self.is_tombstone))
        if self.constraints:
            fields["accc"] = number(self.constraints)
        result = b"\x01" + self.item_class.encode()
        result += b"\x00" if tag is None else b"\x01" + tag
        result += struct.pack(">H", len(fields))
        for name in sorted(fields, key=lambda name: name.encode()):
            kind, value = fields[name]
            result += name.encode() + bytes([kind]) + u32(len(value)) + value
        return result


# Labels


@dataclass(frozen=True)
class Labels:
    grp: bytes
    k1: bytes
    k2: bytes
    k3: bytes
    terms: bytes

    @property
    def key(self) -> bytes:
        return self.grp + self.k1 + self.k2 + self.k3


def label_head(domain: int, item: Item) -> bytes:
    flags = (1 if item.is_synchronizable else 0) + (2 if item.is_tombstone else 0)
    return bytes([domain]) + item.item_class.encode() + bytes([flags])


def comparison_bytes(item: Item, name: str) -> bytes:
    kind, value = item.attributes.get(name, _EMPTY.get(name, (TEXT, b"")))
    return {TEXT: b"\x00", DATA: b"\x00", NUMBER: b"\x01", DATE: b"\x02"}[kind] + value


def sized_parts(item: Item, names: str) -> bytes:
    result = b""
    for name in names.split():
        value = comparison_bytes(item, name)
        result += name.encode() + u32(len(value)) + value
    return result


def server_input(item: Item) -> bytes:
    return label_head(4, item) + sized_parts(item, SERVER_PARTS)


def rest_input(item: Item) -> bytes:
    group = item.group.encode()
    rest = sized_parts(item, CLASSES[item.item_class][2])
    return label_head(2, item) + u32(len(group)) + group + rest


def labels_of(item: Item, index_key: bytes) -> Labels:
    def label(content: bytes) -> bytes:
        return hmac_sha256(index_key, content)[:16]

    def attribute(name: str) -> bytes:
        return label(label_head(1, item) + name.encode() + comparison_bytes(item, name))

    first, second, _, terms = CLASSES[item.item_class]
    found = [attribute(name) for name in terms.split() if name in item.attributes]
    if item.item_class == "inet":
        found.insert(0, label(server_input(item)))
    return Labels(
        grp=label(label_head(3, item) + item.group.encode()),
        k1=attribute(first),
        k2=attribute(second),
        k3=label(rest_input(item)),
        terms=b"".join(found),
    )


# Padding


def padded_size(length: int, floor: int) -> int:
    """`length` is that of the content with its size in front."""
    if length <= floor:
        return floor
    exponent = length.bit_length() - 1
    step = 2 ** (exponent - exponent.bit_length())
    return -(-length // step) * step


def padded(content: bytes, floor: int) -> bytes:
    result = u32(len(content)) + content
    return result + bytes(padded_size(len(result), floor) - len(result))


# Rows


@dataclass(frozen=True)
class Keychain:
    identifier: bytes
    index_keys: Mapping[str, bytes]
    #: Class key and metadata key, by protection class.
    classes: Mapping[int, tuple[bytes, bytes]]

    @staticmethod
    def make(random: Bytes) -> "Keychain":
        return Keychain(
            random.take(16),
            {"open": random.take(32), "guarded": random.take(32)},
            {number: (random.take(32), random.take(32)) for number in range(6, 13)},
        )

    def index_key(self, protection: int) -> bytes:
        return self.index_keys["open" if protection in OPEN_CLASSES else "guarded"]


@dataclass(frozen=True)
class Columns:
    uuid: bytes
    protection: int
    labels: Labels
    meta: bytes
    secret: bytes | None


@dataclass(frozen=True)
class Binding:
    """What the associated data of the boxes of a row are made of."""

    identifier: bytes
    uuid: bytes
    protection: int
    item_class: str
    labels: Labels

    def _head(self, magic: bytes) -> bytes:
        return magic + self.identifier + self.uuid + bytes([self.protection])

    def of_metadata(self, magic: bytes = b"KCM2") -> bytes:
        return self._head(magic) + self.labels.key + self.labels.terms

    def of_row_key(self, magic: bytes = b"KCR2") -> bytes:
        return self._head(magic) + self.item_class.encode() + self.labels.key

    def of_secret(self, magic: bytes = b"KCS2") -> bytes:
        return self._head(magic) + self.item_class.encode()


class RowWriter:
    def __init__(self, keychain: Keychain, random: Bytes) -> None:
        self.keychain, self.random = keychain, random

    def box(self, key: bytes, plaintext: bytes, associated: bytes) -> bytes:
        nonce = self.random.take(12)
        return nonce + AESGCM(key).encrypt(nonce, plaintext, associated)

    def binding(self, item: Item, protection: int, uuid: bytes) -> Binding:
        labels = labels_of(item, self.keychain.index_key(protection))
        return Binding(
            self.keychain.identifier, uuid, protection, item.item_class, labels
        )

    def meta(self, plaintext: bytes, binding: Binding, **magics: bytes) -> bytes:
        """`plaintext` is padded already."""
        _, key = self.keychain.classes[binding.protection]
        box = self.box(key, plaintext, binding.of_metadata(**magics))
        return b"KCM2" + u32(8 + len(box)) + box

    def secret(
        self, plaintext: bytes, constraints: int, binding: Binding,
        of_row_key: bytes | None = None, of_secret: bytes | None = None,
        row_key: bytes | None = None,
    ) -> bytes:
        """`plaintext` is padded already; the others are for what no writer makes."""
        key, _ = self.keychain.classes[binding.protection]
        row_key = row_key or self.random.take(32)
        first = self.box(
            key, row_key + u64(constraints), of_row_key or binding.of_row_key()
        )
        second = self.box(row_key, plaintext, of_secret or binding.of_secret())
        return b"KCS2" + u64(12 + len(first) + len(second)) + first + second

    def row(
        self, item: Item, protection: int, content: bytes | None,
        uuid: bytes | None = None,
    ) -> Columns:
        uuid = uuid or self.random.take(16)
        binding = self.binding(item, protection, uuid)
        secret = None
        if content is not None:
            secret = self.secret(padded(content, SECRET_FLOOR), item.constraints, binding)
        return self.finished(item, binding, secret)

    def finished(self, item: Item, binding: Binding, secret: bytes | None) -> Columns:
        """With metadata for this secret."""
        tag = None if secret is None else secret[-16:]
        meta = self.meta(padded(item.record(tag), META_FLOOR), binding)
        return Columns(binding.uuid, binding.protection, binding.labels, meta, secret)

    def password_content(
        self, item: Item, binding: Binding, password: bytes, secret: bytes,
        cost: tuple[int, int, int] = (10, 8, 1),
    ) -> bytes:
        """What stands in the place of a secret under an application password."""
        log2_n, r, p = cost
        salt = self.random.take(16)
        key = hashlib.scrypt(
            hashlib.sha256(password).digest(), salt=salt, n=1 << log2_n, r=r, p=p,
            maxmem=1 << 28, dklen=32,
        )
        associated = binding.of_secret(b"KCA1") + u64(item.constraints)
        head = b"KCA1" + bytes([log2_n, r, p, 0]) + salt
        return head + self.box(key, secret, associated)


# Header


@dataclass(frozen=True)
class Part:
    """What a header says of the rows of a tier."""

    count: int
    digest: int
    mask_value: bytes

    @staticmethod
    def of(key: bytes, rows: Iterable[tuple[bytes, bytes]], mask_value: bytes) -> "Part":
        """`rows`: pairs of uuid and tag of the metadata."""
        rows = list(rows)
        numbers = (hmac_sha256(key, b"row" + uuid + tag) for uuid, tag in rows)
        total = sum(int.from_bytes(one, "big") for one in numbers)
        return Part(len(rows), total % 2**256, mask_value)

    def masked(self, key: bytes) -> bytes:
        mask = int.from_bytes(hmac_sha256(key, b"mask" + self.mask_value), "big")
        return self.mask_value + ((self.digest + mask) % 2**256).to_bytes(32, "big")


@dataclass(frozen=True)
class Header:
    identifier: bytes
    generation: int
    set_aside: int
    keybag_generation: int
    open: Part
    guarded: Part
    guarded_writes: int

    def guarded_bytes(self, key: bytes) -> bytes:
        result = u64(self.guarded.count) + u64(self.guarded_writes)
        result += self.guarded.masked(key)
        return result + hmac_sha256(key, b"guarded" + self.identifier + result)

    def encoded(
        self, open_key: bytes, guarded_key: bytes, guarded: bytes | None = None
    ) -> bytes:
        """`guarded` is its part where that is taken over as it stands."""
        result = b"KCHD" + b"\x02\x00\x00\x00" + self.identifier
        result += u64(self.generation) + u64(self.set_aside) + u64(self.keybag_generation)
        result += u64(self.open.count) + self.open.masked(open_key)
        result += self.guarded_bytes(guarded_key) if guarded is None else guarded
        return result + hmac_sha256(open_key, result)
