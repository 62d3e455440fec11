"""Records of circles as `etcdctl get --prefix … -w json` prints them.

Also as JSON lines with `key` and `value`. Values are in base64; keys as well, or plain.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .errors import Malformed, MissingKey

_RECORD = re.compile(r"(?P<prefix>.*?)(?P<circle>[0-9a-f]{64})/(?P<rest>.*)", re.DOTALL)
_KINDS = {
    "membership": re.compile(r"m/(?P<index>[0-9a-f]{16})"),
    "log": re.compile(r"l/(?P<machine>[0-9a-f]{32})/(?P<index>[0-9a-f]{16})"),
    "head": re.compile(r"h/(?P<machine>[0-9a-f]{32})"),
    "token": re.compile(r"t/(?P<token>[0-9a-f]{32})"),
    "joining": re.compile(r"j/(?P<attempt>[0-9a-f]{16})/(?P<end>[123dx])"),
}


@dataclass
class Records:
    """What the server has of one circle."""

    prefix: str
    circle: bytes
    membership: dict[int, bytes] = field(default_factory=dict)
    logs: dict[bytes, dict[int, bytes]] = field(default_factory=dict)
    heads: dict[bytes, bytes] = field(default_factory=dict)
    tokens: dict[bytes, bytes] = field(default_factory=dict)
    joining: dict[str, dict[str, bytes]] = field(default_factory=dict)
    #: Keys of no kind.
    others: list[str] = field(default_factory=list)

    def put(self, key: str, value: bytes) -> None:
        """`key` is what follows the circle."""
        for kind, pattern in _KINDS.items():
            match = pattern.fullmatch(key)
            if match is not None:
                self._put(kind, match.groupdict(), value)
                return
        self.others.append(key)

    def _put(self, kind: str, names: dict[str, str], value: bytes) -> None:
        if kind == "membership":
            self.membership[int(names["index"], 16)] = value
        elif kind == "log":
            log = self.logs.setdefault(bytes.fromhex(names["machine"]), {})
            log[int(names["index"], 16)] = value
        elif kind == "head":
            self.heads[bytes.fromhex(names["machine"])] = value
        elif kind == "token":
            self.tokens[bytes.fromhex(names["token"])] = value
        else:
            self.joining.setdefault(names["attempt"], {})[names["end"]] = value


def _documents(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise Malformed(f"the dump is no JSON: {error}") from None
        yield value


def _rows(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, list):
        for one in value:
            yield from _rows(one)
    elif isinstance(value, dict) and "key" in value:
        # etcd omits a value without bytes.
        yield value["key"], value.get("value", "")
    elif isinstance(value, dict) and ("header" in value or "kvs" in value):
        yield from _rows(value.get("kvs") or [])
    else:
        raise Malformed("the dump has something other than keys and values")


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise Malformed("the dump has a value that is no base64") from None


def _key(text: Any) -> str:
    if isinstance(text, str) and _RECORD.fullmatch(text) and text.count("/") > 1:
        return text
    return _decoded(text).decode("utf-8", "backslashreplace")


def read_dump(text: str) -> list[Records]:
    """The records of each circle, whichever prefix precedes it."""
    found: dict[tuple[str, str], Records] = {}
    seen: set[str] = set()
    for document in _documents(text):
        for key_text, value_text in _rows(document):
            key, value = _key(key_text), _decoded(value_text)
            if key in seen:
                raise Malformed(f"the dump has the key {key} twice")
            seen.add(key)
            match = _RECORD.fullmatch(key)
            if match is None:
                continue
            place = match["prefix"], match["circle"]
            if place not in found:
                found[place] = Records(place[0], bytes.fromhex(place[1]))
            found[place].put(match["rest"], value)
    return list(found.values())


# A member's private keys


@dataclass(frozen=True)
class PrivateKeys:
    """Of a machine, both or the one that is known; or a recovery code."""

    scalar: bytes | None
    seed: bytes | None
    code: bytes | None


def read_keys(text: str) -> PrivateKeys:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Malformed(f"the keys are no JSON: {error}") from None
    sizes = {"signingKey": 32, "agreementSeed": 32, "recoveryCode": 16}
    if not isinstance(value, dict) or not set(value) <= set(sizes):
        raise Malformed(f"the keys are other than {', '.join(sizes)}")
    found: dict[str, bytes] = {}
    for name, size in sizes.items():
        if name in value:
            try:
                found[name] = bytes.fromhex(value[name])
            except (TypeError, ValueError):
                raise Malformed(f"{name} is not hexadecimal") from None
            if len(found[name]) != size:
                raise Malformed(f"{name} has another size than {size} bytes")
    keys = PrivateKeys(*(found.get(name) for name in sizes))
    if (keys.seed is None) == (keys.code is None):
        raise MissingKey("either agreementSeed or recoveryCode is needed")
    if keys.code is not None and keys.scalar is not None:
        raise Malformed("a signingKey doesn't belong beside a recoveryCode")
    return keys
