"""The header and the digest over all rows."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from .errors import Inauthentic, Malformed, OtherVersion
from .primitives import is_equal, mac

HEADER_SIZE = 136
MODULUS = 1 << 256


@dataclass(frozen=True)
class Header:
    identifier: bytes
    generation: int
    item_count: int
    set_aside_count: int
    keybag_generation: int
    #: Without the mask.
    digest: int


def read_header(data: bytes, integrity_key: bytes) -> Header:
    if len(data) != HEADER_SIZE or data[:4] != b"KCHD":
        raise Malformed("the header has another size or magic")
    if data[4] != 1:
        raise OtherVersion(f"the header has the version {data[4]}")
    if data[5:8] != bytes(3):
        raise Malformed("the header's reserved bytes are not zero")
    if not is_equal(mac(integrity_key, data[:104]), data[104:]):
        raise Inauthentic("the header's tag does not fit")
    generation, items, set_aside, keybag = struct.unpack(">4Q", data[24:56])
    mask = int.from_bytes(mac(integrity_key, b"mask" + data[56:72]), "big")
    masked = int.from_bytes(data[72:104], "big")
    return Header(
        data[8:24], generation, items, set_aside, keybag, (masked - mask) % MODULUS
    )


def digest_of(integrity_key: bytes, rows: Iterable[tuple[bytes, bytes]]) -> int:
    """The digest over pairs of a row's uuid and the tag of its metadata."""
    total = 0
    for uuid, meta_tag in rows:
        contribution = mac(integrity_key, b"row" + uuid + meta_tag)
        total += int.from_bytes(contribution, "big")
    return total % MODULUS
