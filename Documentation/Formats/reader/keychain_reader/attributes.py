"""Classes, attributes and the types of their values."""

import math
import re
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


_EVERY = "alis cdat ggrp labl mdat pcsi pcsk pcss sysb tkid vwht"
_PASSWORD = "acct crtr cusi desc icmt invi nega prot scrp type"
_CERTIFICATE = "cenc ctyp issr pkhh skid slnr subj"
_KEY = (
    "asen atag bsiz crtr decr drve edat encr esiz extr kcls klbl modi next perm"
    " priv sdat sens sign snrc type unwp vrfy vyrc wrap"
)

CLASSES: dict[str, ItemClass] = {
    "genp": ItemClass(
        first_key="svce",
        second_key="acct",
        rest_of_key=("vwht", "tkid", "ggrp"),
        terms=("gena", "labl", "vwht", "tkid"),
        names=frozenset(f"{_EVERY} {_PASSWORD} gena svce".split()),
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
        names=frozenset(
            f"{_EVERY} {_PASSWORD} atyp path port ptcl sdmn srvr".split()
        ),
    ),
    "cert": ItemClass(
        first_key="issr",
        second_key="slnr",
        rest_of_key=("ctyp", "vwht", "tkid", "ggrp"),
        terms=("pkhh", "skid", "subj", "labl", "vwht", "tkid"),
        names=frozenset(f"{_EVERY} {_CERTIFICATE}".split()),
    ),
    "keys": ItemClass(
        first_key="klbl",
        second_key="atag",
        rest_of_key=(
            "kcls", "type", "crtr", "bsiz", "esiz", "sdat", "edat",
            "vwht", "tkid", "ggrp",
        ),
        terms=("labl", "vwht", "tkid"),
        names=frozenset(f"{_EVERY} {_KEY}".split()),
    ),
}

_NUMBERS = frozenset(
    "asen bsiz cenc crtr ctyp cusi decr drve encr esiz extr invi kcls modi nega"
    " next pcss perm port priv ptcl scrp sens sign snrc sysb type unwp vrfy vyrc"
    " wrap".split()
)
_DATES = frozenset("cdat edat mdat sdat".split())
_DATAS = frozenset("issr klbl pcsi pcsk pkhh skid slnr subj".split())
_STRINGS = frozenset("ggrp tkid vwht".split())

_DECIMAL = re.compile(rb"0|-?[1-9][0-9]*")


def _is_decimal_integer(text: bytes) -> bool:
    """Whether text is a number of 32 bits in its one decimal form."""
    if len(text) > 20 or _DECIMAL.fullmatch(text) is None:
        return False
    return -(1 << 31) <= int(text) < 1 << 31


def is_of_kind(name: str, value: Value) -> bool:
    """Whether a writer may store the value in the attribute."""
    if name in _NUMBERS:
        is_text = value.type == TEXT and not _is_decimal_integer(value.data)
        return value.type == NUMBER or is_text
    if name in _DATES:
        is_date = value.type == DATE
        return is_date and math.isfinite(struct.unpack(">d", value.data)[0])
    if name in _DATAS:
        return value.type == DATA
    if name in _STRINGS:
        return value.type == TEXT
    return value.type in (TEXT, DATA, NUMBER)


def empty_value(name: str) -> Value:
    """What stands for an absent attribute in a label."""
    if name in _NUMBERS:
        return Value(NUMBER, EMPTY_NUMBER)
    if name in _DATES:
        return Value(DATE, EMPTY_DATE)
    if name in _DATAS:
        return Value(DATA, b"")
    return Value(TEXT, b"")
