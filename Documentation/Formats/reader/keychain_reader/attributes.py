"""Classes, attributes and the types of their values."""

import struct
from dataclasses import dataclass

TEXT, DATA, NUMBER, DATE = 1, 2, 3, 4
TYPE_NAMES = {TEXT: "text", DATA: "data", NUMBER: "number", DATE: "date"}

EMPTY_NUMBER = struct.pack(">q", 0)
EMPTY_DATE = struct.pack(">d", 0.0)


@dataclass(frozen=True)
class Value:
    """A value as it is stored: comparing bytes is what the format does."""

    type: int
    data: bytes


@dataclass(frozen=True)
class ItemClass:
    first_key: str
    second_key: str
    rest_of_key: tuple[str, ...]
    terms: tuple[str, ...]
    names: frozenset[str]


_COMMON = (
    "acct alis cdat crtr cusi desc ggrp icmt invi labl mdat nega pcsi pcsk pcss"
    " prot scrp sysb tkid type vwht"
)

CLASSES: dict[str, ItemClass] = {
    "genp": ItemClass(
        first_key="svce",
        second_key="acct",
        rest_of_key=("vwht", "tkid", "ggrp"),
        terms=("gena", "labl", "vwht", "tkid"),
        names=frozenset(f"{_COMMON} gena svce".split()),
    ),
    "inet": ItemClass(
        first_key="srvr",
        second_key="acct",
        rest_of_key=(
            "sdmn", "ptcl", "atyp", "port", "path", "vwht", "tkid", "ggrp",
        ),
        terms=(
            "labl", "path", "sdmn", "port", "ptcl", "atyp", "vwht", "tkid",
        ),
        names=frozenset(f"{_COMMON} atyp path port ptcl sdmn srvr".split()),
    ),
}

_NUMBERS = frozenset(
    "crtr cusi invi nega pcss port ptcl scrp sysb type".split()
)
_DATES = frozenset(["cdat", "mdat"])
_DATAS = frozenset(["pcsi", "pcsk"])


def empty_value(name: str) -> Value:
    """What stands for an absent attribute in a label."""
    if name in _NUMBERS:
        return Value(NUMBER, EMPTY_NUMBER)
    if name in _DATES:
        return Value(DATE, EMPTY_DATE)
    if name in _DATAS:
        return Value(DATA, b"")
    return Value(TEXT, b"")
