"""What a circle's entries and signed heads say, byte by byte.

Documentation/Synchronization.md. Nothing here knows a circle: circle.py has the rules.
"""

import hashlib
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from .errors import Inauthentic, Malformed
from .primitives import WRAPPED_KEY_SIZE

ZEROS = bytes(32)
NO_TOKEN = bytes(16)
SIGNATURE_SIZE = 64
ENCAPSULATED_SIZE = 1120
LARGEST_ENTRY = 1_048_576
#: Sealed. A machine seals names of at most 255 bytes.
LARGEST_NAME = 512
#: Of an access group.
LARGEST_GROUP = 1024
#: Of an entry of a log.
LARGEST_INDEX = 1 << 53

Head = tuple[int, bytes]
Heads = dict[bytes, Head]
#: The labels of groups. None: all groups.
Scope = frozenset[bytes] | None


class Cursor:
    """Takes fields from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise Malformed("it ends early")
        self.at += count
        return self._data[self.at - count : self.at]

    def expect(self, data: bytes) -> None:
        if self.take(len(data)) != data:
            raise Malformed("a fixed field has another value")

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def signed(self) -> int:
        return int(struct.unpack(">q", self.take(8))[0])

    def sized(self) -> bytes:
        return self.take(self.number(4))

    def flag(self) -> bool:
        value = self.number(1)
        if value > 1:
            raise Malformed("a flag is neither 0 nor 1")
        return value == 1

    def head(self) -> Head:
        index, digest = self.number(8), self.take(32)
        if index > LARGEST_INDEX:
            raise Malformed("a head has an index that no log reaches")
        if index == 0 and digest != ZEROS:
            raise Malformed("the head of no entries has a digest")
        return index, digest

    def heads(self) -> Heads:
        result: Heads = {}
        last = b""
        for _ in range(self.number(2)):
            machine = self.take(16)
            if machine <= last:
                raise Malformed("heads are out of order")
            result[machine] = self.head()
            last = machine
        return result

    def identifiers(self) -> list[bytes]:
        result = [self.take(16) for _ in range(self.number(2))]
        if result != sorted(set(result)):
            raise Malformed("identifiers are out of order")
        return result

    def require_end(self) -> None:
        if self.at != len(self._data):
            raise Malformed("bytes follow the end")

    def description(self) -> bytes:
        self.expect(b"\x01")
        return b"\x01" + self.signing_key() + self.take(1216)

    def signing_key(self) -> bytes:
        key = self.take(65)
        try:
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
        except ValueError:
            raise Malformed("a signing key is none") from None
        return key

    def scope(self) -> Scope:
        return frozenset(self.identifiers()) if self.flag() else None

    def name(self) -> bytes:
        """A sealed one. A machine whose name doesn't open has none, and is taken all the same."""
        box = self.sized()
        if len(box) > LARGEST_NAME:
            raise Malformed("a sealed name has more bytes than the limit")
        return box


def digest_of(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def identifier_of(description: bytes) -> bytes:
    return digest_of(b"swift-keychain sync 1 machine" + description)[:16]


def verify(signing_key: bytes, signature: bytes, message: bytes) -> None:
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), signing_key)
    r = int.from_bytes(signature[:32], "big")
    s = int.from_bytes(signature[32:], "big")
    try:
        key.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise Inauthentic("a signature doesn't fit") from None


@dataclass(frozen=True)
class Machine:
    description: bytes
    groups: Scope = None
    #: The index of the entry of the membership log.
    added: int = 1

    @property
    def identifier(self) -> bytes:
        return identifier_of(self.description)

    def verify(self, signature: bytes, message: bytes) -> None:
        verify(self.description[1:66], signature, message)


@dataclass(frozen=True)
class Signed:
    """The bytes before a signature, and the signature."""

    message: bytes
    signature: bytes

    @staticmethod
    def split(data: bytes) -> "Signed":
        if len(data) < SIGNATURE_SIZE:
            raise Malformed("it is shorter than a signature")
        return Signed(data[:-SIGNATURE_SIZE], data[-SIGNATURE_SIZE:])

    @property
    def digest(self) -> bytes:
        return digest_of(self.message)


# Membership


@dataclass(frozen=True)
class Founding:
    salt: bytes
    #: The digest of the circle key.
    key_check: bytes
    founder: bytes
    recovery: bytes | None
    name: bytes


@dataclass(frozen=True)
class Addition:
    description: bytes
    scope: Scope
    token: bytes
    name: bytes
    heads: Heads


@dataclass(frozen=True)
class Closing:
    """A removal, suspension or retirement."""

    target: bytes
    heads: Heads


REMOVE, SUSPEND, RETIRE = 3, 4, 5
KINDS = {1: "found", 2: "add", REMOVE: "remove", SUSPEND: "suspend", RETIRE: "retire"}


@dataclass(frozen=True)
class MembershipEntry:
    signed: Signed
    kind: int
    circle: bytes
    index: int
    previous: bytes
    signer: bytes
    made: int
    body: Founding | Addition | Closing


def _take_body(cursor: Cursor, kind: int) -> Founding | Addition | Closing:
    if kind == 1:
        salt, check, founder = cursor.take(16), cursor.take(32), cursor.description()
        recovery = cursor.description() if cursor.flag() else None
        return Founding(salt, check, founder, recovery, cursor.name())
    if kind == 2:
        description, scope = cursor.description(), cursor.scope()
        token, name = cursor.take(16), cursor.name()
        return Addition(description, scope, token, name, cursor.heads())
    if kind in (REMOVE, SUSPEND, RETIRE):
        return Closing(cursor.take(16), cursor.heads())
    raise Malformed("a change of another kind")


def decode_membership(data: bytes) -> MembershipEntry:
    signed = Signed.split(data)
    cursor = Cursor(signed.message)
    cursor.expect(b"KCSM\x01")
    kind = cursor.number(1)
    cursor.expect(bytes(2))
    circle, index = cursor.take(32), cursor.number(8)
    previous, signer, made = cursor.take(32), cursor.take(16), cursor.signed()
    body = _take_body(cursor, kind)
    cursor.require_end()
    return MembershipEntry(signed, kind, circle, index, previous, signer, made, body)


# Logs


@dataclass(frozen=True)
class SealedVersion:
    key: bytes
    wrapped: bytes
    box: bytes


@dataclass(frozen=True)
class Grant:
    recipient: bytes
    keys: list[bytes]
    #: Encapsulated key and ciphertext.
    sealed: bytes

    @property
    def listed(self) -> bytes:
        """The identifiers of the keys as encoded in the part."""
        return struct.pack(">H", len(self.keys)) + b"".join(self.keys)


@dataclass(frozen=True)
class Wanted:
    keys: list[bytes]


@dataclass(frozen=True)
class LogEntry:
    signed: Signed
    circle: bytes
    writer: bytes
    index: int
    previous: bytes
    membership: Head
    first: int
    is_clean: bool
    heads: Heads
    parts: list[SealedVersion | Grant | Wanted]


def _take_part(cursor: Cursor) -> SealedVersion | Grant | Wanted:
    kind = cursor.number(1)
    if kind == 1:
        key, wrapped = cursor.take(16), cursor.take(WRAPPED_KEY_SIZE)
        return SealedVersion(key, wrapped, cursor.sized())
    if kind == 2:
        recipient, keys = cursor.take(16), cursor.identifiers()
        encapsulated = cursor.take(ENCAPSULATED_SIZE)
        return Grant(recipient, keys, encapsulated + cursor.sized())
    if kind == 3:
        return Wanted(cursor.identifiers())
    raise Malformed("a part of another kind")


def decode_log_entry(data: bytes) -> LogEntry:
    if len(data) > LARGEST_ENTRY:
        raise Malformed("an entry has more bytes than the limit")
    signed = Signed.split(data)
    cursor = Cursor(signed.message)
    cursor.expect(b"KCSL\x01")
    is_clean = cursor.flag()
    cursor.expect(bytes(2))
    circle, writer, index = cursor.take(32), cursor.take(16), cursor.number(8)
    if index > LARGEST_INDEX:
        raise Malformed("an entry has an index that no log reaches")
    previous, membership, first = cursor.take(32), cursor.head(), cursor.number(8)
    if not 1 <= first <= index:
        raise Malformed("the first needed entry is none up to this one")
    heads = cursor.heads()
    parts = [_take_part(cursor) for _ in range(cursor.number(2))]
    cursor.require_end()
    return LogEntry(
        signed, circle, writer, index, previous, membership, first, is_clean, heads, parts
    )


# Signed heads


@dataclass(frozen=True)
class SignedHead:
    signed: Signed
    circle: bytes
    machine: bytes
    log: Head
    membership: Head
    made: int


def decode_head(data: bytes) -> SignedHead:
    signed = Signed.split(data)
    cursor = Cursor(signed.message)
    cursor.expect(b"KCSH\x01" + bytes(3))
    circle, machine = cursor.take(32), cursor.take(16)
    log, membership, made = cursor.head(), cursor.head(), cursor.signed()
    cursor.require_end()
    return SignedHead(signed, circle, machine, log, membership, made)
