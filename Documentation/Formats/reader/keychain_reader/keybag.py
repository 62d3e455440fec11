"""The structure of a keybag. Opening its keys is in `keybag_keys`."""

import struct
from dataclasses import dataclass

from .errors import Malformed, OtherVersion
from .primitives import WRAPPED_KEY_SIZE, is_cost_acceptable

HEAD_SIZE = 40
SLOT_SIZE = 80
KEY_SIZE = 64
TAG_SIZE = 32
LARGEST_SIZE = 4096

ROLE_CLASS, ROLE_METADATA, ROLE_INDEX, ROLE_INTEGRITY = 1, 2, 3, 4
BY_DEVICE, BY_PASSCODE = 1, 2

PROTECTION_CLASSES = range(6, 13)
ALWAYS_AVAILABLE = (8, 11)
NEEDS_PASSCODE_TO_EXIST = 12


@dataclass(frozen=True)
class Slot:
    log2_n: int
    r: int
    p: int
    salt: bytes
    box: bytes


@dataclass(frozen=True)
class KeyEntry:
    role: int
    protection: int
    protector: int
    box: bytes


@dataclass(frozen=True)
class Keybag:
    identifier: bytes
    generation: int
    slot: Slot | None
    keys: tuple[KeyEntry, ...]
    #: What the tag covers.
    covered: bytes
    tag: bytes


def expected_keys(has_slot: bool) -> list[tuple[int, int, int]]:
    """Role, class and protector of each key, in the one order there is."""
    keys = [(ROLE_INDEX, 0, BY_DEVICE), (ROLE_INTEGRITY, 0, BY_DEVICE)]
    for protection in PROTECTION_CLASSES:
        if protection == NEEDS_PASSCODE_TO_EXIST and not has_slot:
            continue
        by_passcode = has_slot and protection not in ALWAYS_AVAILABLE
        protector = BY_PASSCODE if by_passcode else BY_DEVICE
        keys.append((ROLE_CLASS, protection, protector))
        keys.append((ROLE_METADATA, protection, protector))
    return keys


def _parse_slot(data: bytes) -> Slot:
    kind, log2_n, r, p = data[:4]
    if kind != 1:
        raise Malformed(f"a slot has the kind {kind}")
    if not is_cost_acceptable(log2_n, r, p):
        raise Malformed("a slot's cost is beyond the limits")
    return Slot(log2_n, r, p, data[4:20], data[20:])


def _parse_key(data: bytes) -> KeyEntry:
    role, protection, protector, reserved = data[:4]
    if reserved != 0:
        raise Malformed("a key's reserved byte is not zero")
    box = data[4:]
    assert len(box) == WRAPPED_KEY_SIZE
    return KeyEntry(role, protection, protector, box)


def parse_keybag(data: bytes) -> Keybag:
    if len(data) > LARGEST_SIZE:
        raise Malformed(f"a keybag has {len(data)} bytes")
    if len(data) < 5 or data[0:4] != b"KCKB":
        raise Malformed("a keybag has the wrong magic")
    # Nothing after the version is looked at in another version.
    if data[4] != 1:
        raise OtherVersion(f"a keybag has the version {data[4]}")
    if len(data) < HEAD_SIZE + TAG_SIZE:
        raise Malformed(f"a keybag has {len(data)} bytes")
    slots, keys, size, reserved = struct.unpack(">BHII", data[5:16])
    counted = HEAD_SIZE + SLOT_SIZE * slots + KEY_SIZE * keys + TAG_SIZE
    if size != len(data) or counted != len(data):
        raise Malformed("a keybag's size and counts do not fit")
    if reserved != 0:
        raise Malformed("a keybag's reserved bytes are not zero")
    if slots > 1:
        raise Malformed(f"a keybag has {slots} slots")

    keys_start = HEAD_SIZE + SLOT_SIZE * slots
    tag_start = len(data) - TAG_SIZE
    slot = _parse_slot(data[HEAD_SIZE:keys_start]) if slots else None
    entries = tuple(
        _parse_key(data[start : start + KEY_SIZE])
        for start in range(keys_start, tag_start, KEY_SIZE)
    )
    found = [(entry.role, entry.protection, entry.protector) for entry in entries]
    if found != expected_keys(slot is not None):
        raise Malformed("a keybag has other keys than it should")
    return Keybag(
        identifier=data[16:32],
        generation=int.from_bytes(data[32:40], "big"),
        slot=slot,
        keys=entries,
        covered=data[:tag_start],
        tag=data[tag_start:],
    )
