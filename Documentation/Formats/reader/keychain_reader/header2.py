"""The header of version 2: one digest for each tier, and the guarded tier's under its key."""

import struct
from dataclasses import dataclass

from .errors import Inauthentic, Malformed, OtherVersion
from .header import MODULUS
from .primitives import is_equal, mac

HEADER_SIZE = 232
GUARDED = slice(104, 200)
TAG_SIZE = 32


@dataclass(frozen=True)
class GuardedPart:
    count: int
    #: How many commits changed it.
    writes: int
    #: Without the mask.
    digest: int


@dataclass(frozen=True)
class Header:
    identifier: bytes
    generation: int
    set_aside_count: int
    keybag_generation: int
    open_count: int
    open_digest: int
    #: What stands there; without the tier's key only who has that key knows it for true.
    guarded_count: int
    #: None: the tier's key isn't there.
    guarded: GuardedPart | None


def _digest(integrity_key: bytes, data: bytes) -> int:
    """From mask value and masked digest."""
    mask = int.from_bytes(mac(integrity_key, b"mask" + data[:16]), "big")
    return (int.from_bytes(data[16:], "big") - mask) % MODULUS


def _open_guarded(identifier: bytes, data: bytes, integrity_key: bytes) -> GuardedPart:
    content, tag = data[:-TAG_SIZE], data[-TAG_SIZE:]
    if not is_equal(mac(integrity_key, b"guarded" + identifier + content), tag):
        raise Inauthentic("the tag of the header's guarded part does not fit")
    count, writes = struct.unpack(">2Q", content[:16])
    return GuardedPart(count, writes, _digest(integrity_key, content[16:]))


def read_header(
    data: bytes, integrity_key: bytes, guarded_integrity_key: bytes | None = None
) -> Header:
    """`integrity_key` is that of the open tier."""
    if len(data) != HEADER_SIZE:
        raise Malformed("the header has another size")
    if data[:4] != b"KCHD":
        raise Malformed("the header has another magic")
    if data[4] != 2:
        raise OtherVersion(f"the header has the version {data[4]}")
    if data[5:8] != bytes(3):
        raise Malformed("the header's reserved bytes are not zero")
    if not is_equal(mac(integrity_key, data[:-TAG_SIZE]), data[-TAG_SIZE:]):
        raise Inauthentic("the header's tag does not fit")
    identifier, sealed = data[8:24], data[GUARDED]
    generation, set_aside, keybag, count = struct.unpack(">4Q", data[24:56])
    guarded = None
    if guarded_integrity_key is not None:
        guarded = _open_guarded(identifier, sealed, guarded_integrity_key)
    return Header(
        identifier, generation, set_aside, keybag, count,
        _digest(integrity_key, data[56:104]),
        int.from_bytes(sealed[:8], "big"), guarded,
    )
