"""The keys of a keybag, opened with the device key and a passcode."""

from dataclasses import dataclass

from .errors import Inauthentic, MissingKey, WrongPasscode
from .keybag import (
    BY_DEVICE,
    BY_PASSCODE,
    ROLE_CLASS,
    ROLE_INDEX,
    ROLE_INTEGRITY,
    ROLE_METADATA,
    KeyEntry,
    Keybag,
    Slot,
    parse_keybag,
)
from .primitives import hkdf, is_equal, mac, open_wrapped_key, scrypt


@dataclass(frozen=True)
class ClassKeys:
    class_key: bytes
    metadata_key: bytes


@dataclass(frozen=True)
class OpenedKeybag:
    identifier: bytes
    generation: int
    index_key: bytes
    integrity_key: bytes
    #: By protection class; classes whose keys did not open are missing.
    classes: dict[int, ClassKeys]
    has_passcode: bool


def _associated_data(identifier: bytes, a: int, b: int, c: int) -> bytes:
    return b"KCKB" + bytes([1]) + identifier + bytes([a, b, c])


def _open_tier_key(
    keybag: Keybag, slot: Slot, device_key: bytes, passcode: bytes
) -> bytes:
    # A passcode has at least one byte. scrypt would take none as zero bytes.
    if not passcode:
        raise WrongPasscode("the passcode is empty")
    stretched = scrypt(passcode, slot.salt, slot.log2_n, slot.r, slot.p)
    wrapping = hkdf(
        device_key + stretched, keybag.identifier, "swift-keychain 1 slot"
    )
    context = _associated_data(keybag.identifier, 0, 1, 0)
    try:
        return open_wrapped_key(wrapping, slot.box, context)
    except Inauthentic:
        raise WrongPasscode("the passcode does not open the slot") from None


def _open_entry(keybag: Keybag, entry: KeyEntry, wrapping: bytes) -> bytes:
    context = _associated_data(
        keybag.identifier, entry.role, entry.protection, entry.protector
    )
    try:
        return open_wrapped_key(wrapping, entry.box, context)
    except Inauthentic:
        raise MissingKey(
            f"the key of role {entry.role} and class {entry.protection} does not open"
        ) from None


def open_keybag(
    data: bytes, device_key: bytes, passcode: bytes | None
) -> OpenedKeybag:
    keybag = parse_keybag(data)
    tag_key = hkdf(device_key, keybag.identifier, "swift-keychain 1 keybag")
    if not is_equal(mac(tag_key, keybag.covered), keybag.tag):
        raise Inauthentic("the keybag's tag does not fit")

    keys: dict[tuple[int, int], bytes] = {}

    def open_all(protector: int, wrapping: bytes) -> None:
        for entry in keybag.keys:
            if entry.protector == protector:
                key = _open_entry(keybag, entry, wrapping)
                keys[entry.role, entry.protection] = key

    open_all(
        BY_DEVICE, hkdf(device_key, keybag.identifier, "swift-keychain 1 device")
    )
    if passcode is not None:
        if keybag.slot is None:
            raise WrongPasscode("the keychain has no passcode")
        tier_key = _open_tier_key(keybag, keybag.slot, device_key, passcode)
        wrapping = hkdf(
            device_key + tier_key,
            keybag.identifier,
            "swift-keychain 1 device+passcode",
        )
        open_all(BY_PASSCODE, wrapping)

    classes = {
        protection: ClassKeys(key, keys[ROLE_METADATA, protection])
        for (role, protection), key in keys.items()
        if role == ROLE_CLASS
    }
    return OpenedKeybag(
        identifier=keybag.identifier,
        generation=keybag.generation,
        index_key=keys[ROLE_INDEX, 0],
        integrity_key=keys[ROLE_INTEGRITY, 0],
        classes=classes,
        has_passcode=keybag.slot is not None,
    )
