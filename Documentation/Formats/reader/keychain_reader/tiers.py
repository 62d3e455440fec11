"""The keys of a keychain of either version, and what its header tells of each tier.

In version 1 all rows are of one tier, the open one.
"""

from dataclasses import dataclass

from . import header2, keybag2
from .errors import WrongPasscode
from .header import Header, read_header
from .keybag_keys import ClassKeys, open_keybag

OPEN_CLASSES = (8, 11)
AnyHeader = Header | header2.Header


@dataclass(frozen=True)
class Tier:
    index_key: bytes
    integrity_key: bytes


@dataclass(frozen=True)
class Keys:
    #: Of keybag, header and rows.
    version: int
    identifier: bytes
    generation: int
    has_passcode: bool
    open: Tier
    #: None in version 1, and where the passcode was not given.
    guarded: Tier | None
    #: Classes whose keys did not open are missing.
    classes: dict[int, ClassKeys]

    def is_open(self, protection: int) -> bool:
        """Whether a row of this class is of the open tier."""
        return self.version == 1 or protection in OPEN_CLASSES

    def tier(self, protection: int) -> Tier | None:
        return self.open if self.is_open(protection) else self.guarded


def open_keys(keybag: bytes, device_key: bytes, passcode: bytes | None) -> Keys:
    # What is no keybag at all is rejected as one of version 1.
    if keybag[4:5] == b"\x01" or len(keybag) < 5:
        old = open_keybag(keybag, device_key, passcode)
        return Keys(
            1, old.identifier, old.generation, old.has_passcode,
            Tier(old.index_key, old.integrity_key), None, old.classes,
        )
    # Without the passcode all opens, or there is one.
    opened = keybag2.open_keybag(keybag, device_key)
    has_passcode = opened.guarded is None
    if passcode is not None:
        if not has_passcode:
            raise WrongPasscode("the keychain has no passcode")
        opened = keybag2.open_keybag(keybag, device_key, passcode=passcode)
    guarded, classes = None, dict(opened.open.classes)
    if opened.guarded is not None:
        guarded = Tier(opened.guarded.index_key, opened.guarded.integrity_key)
        classes |= opened.guarded.classes
    return Keys(
        2, opened.identifier, opened.generation, has_passcode,
        Tier(opened.open.index_key, opened.open.integrity_key), guarded, classes,
    )


def open_header(data: bytes, keys: Keys) -> AnyHeader:
    if keys.version == 1:
        return read_header(data, keys.open.integrity_key)
    guarded = None if keys.guarded is None else keys.guarded.integrity_key
    return header2.read_header(data, keys.open.integrity_key, guarded)


@dataclass(frozen=True)
class TierRows:
    """What a header tells of the rows of a tier."""

    is_open: bool
    integrity_key: bytes
    count: int
    digest: int


def rows_told_of(header: AnyHeader, keys: Keys) -> list[TierRows]:
    """Of the tiers whose keys are there."""
    key = keys.open.integrity_key
    if isinstance(header, Header):
        return [TierRows(True, key, header.item_count, header.digest)]
    told = [TierRows(True, key, header.open_count, header.open_digest)]
    if header.guarded is not None and keys.guarded is not None:
        part = header.guarded
        told.append(
            TierRows(False, keys.guarded.integrity_key, part.count, part.digest)
        )
    return told
