"""`device.key`: the key that ties a keychain to its device."""

import hashlib
from dataclasses import dataclass

from .errors import Malformed
from .primitives import is_equal

COPY_SIZE = 72
FILE_SIZE = 2 * COPY_SIZE


@dataclass(frozen=True)
class DeviceKeyFile:
    device_key: bytes
    #: Whether both copies are sound. If not, the file should be written anew.
    is_whole: bool


def _key_of_copy(copy: bytes) -> bytes | None:
    """The key of a copy, or None where the copy is not sound."""
    if copy[0:4] != b"KCDK" or copy[4] != 1 or copy[5:8] != bytes(3):
        return None
    if not is_equal(hashlib.sha256(copy[:40]).digest(), copy[40:72]):
        return None
    return copy[8:40]


def read_device_key(file: bytes) -> DeviceKeyFile:
    if len(file) != FILE_SIZE:
        raise Malformed(f"device.key has {len(file)} bytes instead of {FILE_SIZE}")
    copies = (file[:COPY_SIZE], file[COPY_SIZE:])
    keys = [key for key in map(_key_of_copy, copies) if key is not None]
    if not keys:
        raise Malformed("device.key has no sound copy")
    # Two sound copies of different keys are nothing that a writer makes.
    return DeviceKeyFile(keys[0], len(keys) == 2 and keys[0] == keys[1])


SEALED_OVERHEAD = 40
SEALED_SIZES = range(1, 1025)


@dataclass(frozen=True)
class SealedDeviceKeyFile:
    #: What the hardware sealed, and gives the device key for.
    sealed: bytes
    is_whole: bool


def _sealed_of_copy(copy: bytes) -> bytes | None:
    """What is sealed in a copy, or None where the copy is not sound."""
    if copy[0:4] != b"KCDK" or copy[4:5] != b"\x02" or copy[5:6] != b"\x01":
        return None
    size = int.from_bytes(copy[6:8], "big")
    if size not in SEALED_SIZES or len(copy) != size + SEALED_OVERHEAD:
        return None
    if not is_equal(hashlib.sha256(copy[:-32]).digest(), copy[-32:]):
        return None
    return copy[8 : 8 + size]


def read_sealed_device_key(file: bytes) -> SealedDeviceKeyFile:
    """Version 2: without the hardware this is as far as a reader gets."""
    half, rest = divmod(len(file), 2)
    if rest:
        raise Malformed("device.key has no two copies of one size")
    copies = (file[:half], file[half:])
    sealed = [s for s in map(_sealed_of_copy, copies) if s is not None]
    if not sealed:
        raise Malformed("device.key has no sound copy")
    if len(set(sealed)) != 1:
        raise Malformed("device.key has two sound copies that differ")
    return SealedDeviceKeyFile(sealed[0], len(sealed) == 2)
