"""A keybag of version 2: its structure, and the keys that a way in and a machine open."""

import math
import struct
from dataclasses import dataclass

from .errors import Inauthentic, Malformed, MissingKey, OtherVersion, WrongPasscode
from .keybag_keys import ClassKeys
from .primitives import (
    WRAPPED_KEY_SIZE,
    hkdf,
    is_cost_acceptable,
    is_equal,
    mac,
    open_wrapped_key,
    scrypt,
)

HEAD_SIZE = 40
KEY_SIZE = 64
TAG_SIZE = 32
LARGEST_SIZE = 16384
SLOT_HEAD_SIZE = 16

PASSCODE, RECOVERY_CODE, CREDENTIAL, IDENTITY, CHIP = range(1, 6)
TIER, MACHINE = 1, 2
BY_DEVICE, BY_TIER, BY_MACHINE = 1, 2, 4
ROLE_CLASS, ROLE_METADATA, ROLE_INDEX, ROLE_INTEGRITY, ROLE_RETIRED = range(1, 6)
OPEN, GUARDED = 1, 2

#: Which bits a slot of a kind may open; any of other kinds.
OPENS = {PASSCODE: (1,), CREDENTIAL: (1,), IDENTITY: (2,), CHIP: (2,)}


@dataclass(frozen=True)
class Slot:
    kind: int
    opens: int
    number: int
    salt: bytes
    cost: tuple[int, int, int] | None
    boxes: dict[int, bytes]


@dataclass(frozen=True)
class Entry:
    role: int
    subject: int
    number: int
    protector: int
    box: bytes

    @property
    def name(self) -> tuple[int, int, int]:
        return self.role, self.subject, self.number

    @property
    def tier(self) -> int:
        if self.role in (ROLE_INDEX, ROLE_INTEGRITY):
            return self.subject
        return OPEN if self.subject in (8, 11) else GUARDED


@dataclass(frozen=True)
class TierKeys:
    index_key: bytes
    integrity_key: bytes
    classes: dict[int, ClassKeys]


@dataclass(frozen=True)
class OpenedKeybag:
    identifier: bytes
    generation: int
    #: notBound, thisMachine, otherMachine, unreachable
    machine: str
    open: TierKeys
    #: None: nothing was given that opens it.
    guarded: TierKeys | None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, count: int) -> bytes:
        if count < 0 or count > len(self.rest):
            raise Malformed("a keybag ends too early")
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken


def _parse_slot(reader: _Reader) -> Slot:
    (size,) = struct.unpack(">H", reader.take(2))
    slot = _Reader(reader.take(size - 2))
    kind, opens, number, date = struct.unpack(">BBId", slot.take(SLOT_HEAD_SIZE - 2))
    if not math.isfinite(date):
        raise Malformed("a slot's date is no number")
    if opens not in OPENS.get(kind, (1, 2, 3)):
        raise Malformed(f"a slot of the kind {kind} opens {opens}")
    if not PASSCODE <= kind <= CHIP:
        return Slot(kind, opens, number, b"", None, {})
    salt, cost = slot.take(16), None
    if kind == PASSCODE:
        log2_n, r, p, reserved = slot.take(4)
        if reserved != 0 or not is_cost_acceptable(log2_n, r, p):
            raise Malformed("a slot's cost is beyond the limits")
        cost = log2_n, r, p
    if kind == CHIP:
        (count,) = struct.unpack(">H", slot.take(2))
        if not 1 <= count <= 1024:
            raise Malformed("a sealed secret has a size beyond the limits")
        slot.take(count)
    boxes = {bit: slot.take(WRAPPED_KEY_SIZE) for bit in (1, 2) if opens & bit}
    if slot.rest:
        raise Malformed("a slot has more bytes than its fields")
    return Slot(kind, opens, number, salt, cost, boxes)


def _check_slots(slots: list[Slot], next_number: int, openable: int) -> None:
    numbers = [slot.number for slot in slots]
    if [0] + numbers + [next_number] != sorted({0, next_number, *numbers}):
        raise Malformed("slots have numbers out of order")
    if any(slot.opens & ~openable for slot in slots):
        raise Malformed("a slot opens what isn't there")
    kinds = [slot.kind for slot in slots]
    if (
        max(kinds.count(PASSCODE), kinds.count(RECOVERY_CODE)) > 1
        or kinds.count(CREDENTIAL) > 8
        or kinds.count(IDENTITY) + kinds.count(CHIP) > 1
    ):
        raise Malformed("there are more slots of a kind than the limits allow")


def _check_keys(keys: list[Entry], has_tier: bool, is_bound: bool) -> None:
    expected = [(role, tier, 0) for tier in (OPEN, GUARDED) for role in (3, 4)]
    classes = range(6, 13 if has_tier else 12)
    expected += [(role, c, 0) for c in classes for role in (1, 2)]
    retired = [entry.name for entry in keys[len(expected) :]]
    if [entry.name for entry in keys[: len(expected)]] != expected:
        raise Malformed("a keybag has other keys than it should")
    if retired != sorted(set(retired)) or any(
        role != ROLE_RETIRED or c not in classes or number == 0
        for role, c, number in retired
    ):
        raise Malformed("retired class keys are out of order")
    for entry in keys:
        protector = BY_DEVICE
        if has_tier and entry.tier == GUARDED:
            protector |= BY_TIER
        is_of_class = entry.role not in (ROLE_INDEX, ROLE_INTEGRITY)
        if is_bound and is_of_class and entry.subject >= 9:
            # Classes 9 to 12 stay on this device.
            protector |= BY_MACHINE
        if entry.protector != protector:
            raise Malformed("a key has another protector than it should")


class _Keybag:
    def __init__(self, data: bytes) -> None:
        if len(data) > LARGEST_SIZE or len(data) < 5 or data[:4] != b"KCKB":
            raise Malformed("this is no keybag")
        if data[4] != 2:
            raise OtherVersion(f"a keybag has the version {data[4]}")
        reader = _Reader(data)
        head = reader.take(HEAD_SIZE)
        slots, keys, size, next_number = struct.unpack(">BHII", head[5:16])
        if size != len(data):
            raise Malformed("a keybag's size doesn't fit")
        self.identifier = head[16:32]
        self.generation = int.from_bytes(head[32:40], "big")
        self.slots = [_parse_slot(reader) for _ in range(slots)]
        rows = [reader.take(KEY_SIZE) for _ in range(keys)]
        self.keys = [Entry(*row[:4], row[4:]) for row in rows]
        self.tag = reader.take(TAG_SIZE)
        if reader.rest:
            raise Malformed("a keybag has bytes after its tag")
        self.covered = data[:-TAG_SIZE]
        self.has_tier = any(entry.protector & BY_TIER for entry in self.keys)
        self.is_bound = any(entry.protector & BY_MACHINE for entry in self.keys)
        _check_keys(self.keys, self.has_tier, self.is_bound)
        openable = (TIER if self.has_tier else 0) | (MACHINE if self.is_bound else 0)
        _check_slots(self.slots, next_number, openable)

    def open_slot(self, slot: Slot, device_key: bytes, secret: bytes) -> dict[int, bytes]:
        if slot.cost is not None:
            code = mac(b"swift-keychain 2 passcode", secret)
            secret = scrypt(code, slot.salt, *slot.cost)
        wrapping = hkdf(
            device_key + secret,
            self.identifier + slot.salt,
            "swift-keychain 2 slot" + chr(slot.kind),
        )
        return {
            bit: open_wrapped_key(
                wrapping,
                box,
                b"KCKB\x02"
                + self.identifier
                + struct.pack(">BBBBI", 0, slot.kind, bit, 0, slot.number),
            )
            for bit, box in slot.boxes.items()
        }

    def open_ways(
        self, kinds: tuple[int, ...], device_key: bytes, secret: bytes
    ) -> dict[int, bytes]:
        """What the first slot of the kinds gives that opens; nothing where none does."""
        for slot in self.slots:
            if slot.kind in kinds:
                try:
                    return self.open_slot(slot, device_key, secret)
                except Inauthentic:
                    continue
        return {}

    def tier(
        self, number: int, device_key: bytes, tier_key: bytes, machine_key: bytes | None
    ) -> TierKeys:
        keys: dict[tuple[int, int, int], bytes] = {}
        for entry in self.keys:
            if entry.tier != number:
                continue
            source = device_key
            if entry.protector & BY_TIER:
                source += tier_key
            if entry.protector & BY_MACHINE:
                if machine_key is None:
                    continue
                source += machine_key
            wrapping = hkdf(
                source, self.identifier, "swift-keychain 2 wrap" + chr(entry.protector)
            )
            context = bytes([*entry.name, entry.protector])
            try:
                keys[entry.name] = open_wrapped_key(
                    wrapping, entry.box, b"KCKB\x02" + self.identifier + context
                )
            except Inauthentic:
                raise MissingKey(f"the key {entry.name} does not open") from None
        classes = {
            c: ClassKeys(key, keys[ROLE_METADATA, c, 0])
            for (role, c, _), key in keys.items()
            if role == ROLE_CLASS
        }
        return TierKeys(
            keys[ROLE_INDEX, number, 0], keys[ROLE_INTEGRITY, number, 0], classes
        )


def open_keybag(
    data: bytes,
    device_key: bytes,
    *,
    passcode: bytes | None = None,
    recovery_code: bytes | None = None,
    credential: bytes | None = None,
    machine: bytes | None = None,
) -> OpenedKeybag:
    """Opens with one way in at the most. `machine` is the machine's identity; what a chip
    keeps is not read."""
    keybag = _Keybag(data)
    tag_key = hkdf(device_key, keybag.identifier, "swift-keychain 2 keybag")
    if not is_equal(mac(tag_key, keybag.covered), keybag.tag):
        raise Inauthentic("the keybag's tag does not fit")

    machine_key, state = None, "notBound"
    if keybag.is_bound:
        by_identity = any(slot.kind == IDENTITY for slot in keybag.slots)
        state = "unreachable" if machine is None or not by_identity else "otherMachine"
        if machine is not None:
            opened = keybag.open_ways((IDENTITY,), device_key, machine)
            if MACHINE in opened:
                machine_key, state = opened[MACHINE], "thisMachine"
    open_tier = keybag.tier(OPEN, device_key, b"", machine_key)

    guarded = None
    if not keybag.has_tier:
        guarded = keybag.tier(GUARDED, device_key, b"", machine_key)
    else:
        ways = ((PASSCODE, passcode), (RECOVERY_CODE, recovery_code), (CREDENTIAL, credential))
        for kind, secret in ways:
            if secret is None:
                continue
            opened = keybag.open_ways((kind,), device_key, secret)
            if TIER not in opened:
                raise WrongPasscode("what was given does not open the keybag")
            if machine_key is None and MACHINE in opened:
                machine_key = opened[MACHINE]
                open_tier = keybag.tier(OPEN, device_key, b"", machine_key)
            guarded = keybag.tier(GUARDED, device_key, opened[TIER], machine_key)
    return OpenedKeybag(
        keybag.identifier, keybag.generation, state, open_tier, guarded
    )
