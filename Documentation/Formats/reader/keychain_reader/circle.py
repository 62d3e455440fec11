"""What machines say to each other that share items: Documentation/Synchronization.md."""

import hashlib
import struct
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, hpke
from cryptography.hazmat.primitives.asymmetric import ec, mlkem, x25519
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .errors import Inauthentic, Malformed
from .primitives import mac, open_box, open_wrapped_key
from .record import Record, decode_record
from .row2 import content_of

ZEROS = bytes(32)
VERSION_FLOOR = 256
Heads = dict[bytes, tuple[int, bytes]]


class Cursor:
    """Takes fields from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise Malformed("an entry ends early")
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

    def head(self) -> tuple[int, bytes]:
        return self.number(8), self.take(32)

    def heads(self) -> Heads:
        result: Heads = {}
        for _ in range(self.number(2)):
            machine = self.take(16)
            if result and machine <= max(result):
                raise Malformed("heads are out of order")
            result[machine] = self.head()
        return result

    def identifiers(self) -> list[bytes]:
        result = [self.take(16) for _ in range(self.number(2))]
        if result != sorted(set(result)):
            raise Malformed("identifiers are out of order")
        return result

    def require_end(self) -> None:
        if self.at != len(self._data):
            raise Malformed("bytes follow the end")


# Machines


@dataclass(frozen=True)
class Machine:
    description: bytes
    #: The labels of its groups. None: all.
    groups: frozenset[bytes] | None = None
    added: int = 1

    @property
    def identifier(self) -> bytes:
        text = b"swift-keychain sync 1 machine"
        return hashlib.sha256(text + self.description).digest()[:16]

    def verify(self, signature: bytes, message: bytes) -> None:
        key = ec.EllipticCurvePublicKey.from_encoded_point(
            ec.SECP256R1(), self.description[1:66]
        )
        r = int.from_bytes(signature[:32], "big")
        s = int.from_bytes(signature[32:], "big")
        try:
            key.verify(
                encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256())
            )
        except InvalidSignature:
            raise Inauthentic("a signature doesn't fit") from None


def take_description(cursor: Cursor) -> bytes:
    cursor.expect(b"\x01")
    key = cursor.take(65)
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
    except ValueError:
        raise Malformed("a signing key is none") from None
    return b"\x01" + key + cursor.take(1216)


def take_scope(cursor: Cursor) -> frozenset[bytes] | None:
    return frozenset(cursor.identifiers()) if cursor.flag() else None


def agreement_key(seed: bytes) -> hpke.MLKEM768X25519PrivateKey:
    expanded = hashlib.shake_256(seed).digest(96)
    return hpke.MLKEM768X25519PrivateKey(
        mlkem.MLKEM768PrivateKey.from_seed_bytes(expanded[:64]),
        x25519.X25519PrivateKey.from_private_bytes(expanded[64:]),
    )


def derive(key: bytes, salt: bytes | None, info: bytes) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt, info).derive(key)


# Membership


@dataclass
class Circle:
    identifier: bytes = ZEROS
    salt: bytes = b""
    recovery: Machine | None = None
    machines: dict[bytes, Machine] = field(default_factory=dict)
    removed: dict[bytes, int] = field(default_factory=dict)
    suspended: set[bytes] = field(default_factory=set)
    #: Up to which index the log of a machine is retired.
    retired: dict[bytes, int] = field(default_factory=dict)
    #: How far the logs of absent machines count.
    closed: dict[bytes, int] = field(default_factory=dict)
    #: Changes that closed logs: their index, whose log (None: all), how far.
    closings: list[tuple[int, bytes | None, Heads]] = field(default_factory=list)
    tokens: set[bytes] = field(default_factory=set)
    digests: list[bytes] = field(default_factory=list)

    @property
    def members(self) -> list[bytes]:
        return sorted(set(self.machines) - set(self.removed))

    @property
    def epoch(self) -> int:
        return len(self.removed)

    def append(self, data: bytes) -> None:
        message, signature = data[:-64], data[-64:]
        cursor = Cursor(message)
        cursor.expect(b"KCSM\x01")
        kind = cursor.number(1)
        cursor.expect(bytes(2))
        circle, index = cursor.take(32), cursor.number(8)
        previous, signer = cursor.take(32), cursor.take(16)
        cursor.signed()
        if not self.digests:
            self._found(cursor, kind, (circle, index, previous), signer)
            self.identifier = hashlib.sha256(message).digest()
            machine = self.machines[signer]
        else:
            expected = (self.identifier, len(self.digests) + 1, self.digests[-1])
            if (circle, index, previous) != expected:
                raise Malformed("not the next entry of the membership log")
            machine = self._signer(signer)
            self._change(cursor, kind, index, signer, machine)
        cursor.require_end()
        machine.verify(signature, message)
        self.digests.append(hashlib.sha256(message).digest())

    def _found(
        self, cursor: Cursor, kind: int, place: tuple[bytes, int, bytes], signer: bytes
    ) -> None:
        if kind != 1 or place != (ZEROS, 1, ZEROS):
            raise Malformed("the first entry founds no circle")
        self.salt = cursor.take(16)
        founder = Machine(take_description(cursor))
        if cursor.flag():
            self.recovery = Machine(take_description(cursor))
        cursor.sized()
        if founder.identifier != signer:
            raise Malformed("the founder didn't sign")
        self.machines[signer] = founder

    def _signer(self, signer: bytes) -> Machine:
        if self.recovery and self.recovery.identifier == signer:
            return self.recovery
        if signer not in self.members:
            raise Inauthentic("signed by no member")
        return self.machines[signer]

    def _change(
        self, cursor: Cursor, kind: int, index: int, signer: bytes, by: Machine
    ) -> None:
        if kind == 2:
            description, scope = take_description(cursor), take_scope(cursor)
            token = cursor.take(16)
            cursor.sized()
            cursor.heads()
            machine = Machine(description, scope, index)
            if machine.identifier in self.machines or token in self.tokens:
                raise Inauthentic("a machine or a token is used again")
            if token != bytes(16):
                self.tokens.add(token)
            self.machines[machine.identifier] = machine
        elif kind in (3, 4, 5):
            target, heads = cursor.take(16), cursor.heads()
            self._close(kind, index, target, heads)
        else:
            raise Malformed("a change of another kind")
        if by.groups is not None and not (kind == 3 and target == signer):
            raise Inauthentic("the signer may not change the membership")

    def _close(self, kind: int, index: int, target: bytes, heads: Heads) -> None:
        end = heads.get(target, (0, ZEROS))[0]
        if kind == 5:
            absent = target in self.removed or target in self.suspended
            if not absent or target not in heads or end != self.closed[target]:
                raise Inauthentic("a log is retired that isn't closed there")
            self.retired[target] = end
            return
        if target not in self.members:
            raise Inauthentic("no member is removed or suspended")
        self.closed[target] = end
        if kind == 3:
            self.removed[target] = index
            self.closings.append((index, None, heads))
        else:
            self.suspended.add(target)
            self.closings.append((index, target, heads))

    def was_member(self, machine: bytes, index: int) -> bool:
        if machine not in self.machines:
            return False
        end = self.removed.get(machine, index + 1)
        return self.machines[machine].added <= index < end

    def counts(self, writer: bytes, index: int, known: int) -> bool:
        if index <= self.retired.get(writer, 0):
            return False
        return not any(
            at > known
            and target in (None, writer)
            and index > heads.get(writer, (0, ZEROS))[0]
            for at, target, heads in self.closings
        )

    def verify_head(self, data: bytes) -> None:
        message, signature = data[:-64], data[-64:]
        cursor = Cursor(message)
        cursor.expect(b"KCSH\x01" + bytes(3) + self.identifier)
        machine = cursor.take(16)
        cursor.head()
        cursor.head()
        cursor.signed()
        cursor.require_end()
        if machine not in self.members:
            raise Inauthentic("a head of no member")
        self.machines[machine].verify(signature, message)


# Logs


@dataclass
class Version:
    modified: float
    is_deletion: bool
    plaintext: bytes
    record: Record

    def name(self) -> tuple[object, ...]:
        # Everything else of a generic password can change.
        values = self.record.attributes
        key = tuple(values.get(name) for name in ("acct", "svce"))
        return self.record.item_class, self.record.access_group, key

    def is_later_than(self, other: "Version") -> bool:
        mine, theirs = (self.modified, self.is_deletion), (other.modified, other.is_deletion)
        if mine != theirs:
            return mine > theirs
        digests = [hashlib.sha256(v.plaintext).digest() for v in (self, other)]
        return digests[0] < digests[1]


@dataclass
class Log:
    index: int = 0
    digest: bytes = ZEROS
    known: int = 0
    first: int = 1


class Reader:
    """One machine, with its private X-Wing key, which reads all logs."""

    def __init__(self, circle: Circle, identifier: bytes, seed: bytes) -> None:
        self.circle = circle
        self.identifier = identifier
        self.key = agreement_key(seed)
        self.suite = hpke.Suite(
            hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM
        )
        self.logs: dict[bytes, Log] = {}
        self.circle_key: bytes | None = None
        #: Group and key by the key's identifier.
        self.group_keys: dict[bytes, tuple[bytes, bytes]] = {}
        #: Sealed versions with what they are bound to.
        self.sealed: list[tuple[bytes, bytes, bytes, bytes, bytes, int]] = []

    def append(self, data: bytes) -> None:
        message, signature = data[:-64], data[-64:]
        cursor = Cursor(message)
        cursor.expect(b"KCSL\x01")
        cursor.flag()
        cursor.expect(bytes(2) + self.circle.identifier)
        writer, index = cursor.take(16), cursor.number(8)
        previous, membership = cursor.take(32), cursor.head()
        first = cursor.number(8)
        cursor.heads()
        log = self.logs.setdefault(writer, Log())
        if (index, previous) != (log.index + 1, log.digest):
            raise Malformed("not the next entry of a log")
        if not log.first <= first <= index or membership[0] < log.known:
            raise Malformed("an entry says less than the one before")
        known = membership[0]
        if self.circle.digests[known - 1 : known] != [membership[1]]:
            raise Malformed("another membership log")
        if not self.circle.was_member(writer, known):
            raise Inauthentic("an entry by no member")
        self.circle.machines[writer].verify(signature, message)
        for part in range(cursor.number(2)):
            self._part(cursor, writer, index, part, known)
        cursor.require_end()
        digest = hashlib.sha256(message).digest()
        self.logs[writer] = Log(index, digest, known, first)

    def _part(
        self, cursor: Cursor, writer: bytes, index: int, part: int, known: int
    ) -> None:
        kind = cursor.number(1)
        if kind == 1:
            key, wrapped, box = cursor.take(16), cursor.take(60), cursor.sized()
            place = self.circle.identifier + writer + struct.pack(">QI", index, part)
            if self.circle.counts(writer, index, known):
                self.sealed.append((key, wrapped, box, place, writer, index))
        elif kind == 2:
            recipient = cursor.take(16)
            start = cursor.at
            identifiers = cursor.identifiers()
            listed = struct.pack(">H", len(identifiers)) + b"".join(identifiers)
            assert cursor.at - start == len(listed)
            sealed = cursor.take(1120) + cursor.sized()
            if recipient == self.identifier:
                self._open_grant(writer, recipient, listed, sealed, identifiers)
        elif kind == 3:
            cursor.identifiers()
        else:
            raise Malformed("a part of another kind")

    def _open_grant(
        self,
        giver: bytes,
        recipient: bytes,
        listed: bytes,
        sealed: bytes,
        identifiers: list[bytes],
    ) -> None:
        info = b"swift-keychain sync 1 grant" + self.circle.identifier
        info += giver + recipient + listed
        try:
            plaintext = self.suite.decrypt(sealed, self.key, info)
        except InvalidTag:
            raise Inauthentic("a grant doesn't open") from None
        cursor = Cursor(plaintext)
        if cursor.flag():
            self.circle_key = cursor.take(32)
        found = []
        for _ in range(cursor.number(2)):
            epoch, group, key = cursor.take(8), cursor.sized(), cursor.take(32)
            text = b"swift-keychain sync 1 key" + self.circle.identifier + epoch
            text += struct.pack(">I", len(group)) + group + key
            identifier = hashlib.sha256(text).digest()[:16]
            self.group_keys[identifier] = (group, key)
            found.append(identifier)
        cursor.require_end()
        if sorted(found) != identifiers:
            raise Malformed("a grant has other keys than it says")

    def label(self, group: bytes) -> bytes:
        assert self.circle_key is not None
        key = derive(self.circle_key, None, b"swift-keychain sync 1 labels")
        return mac(key, group)[:16]

    def versions(self) -> list[bytes]:
        """The plaintexts of the versions that count and are no deletions."""
        latest: dict[tuple[object, ...], Version] = {}
        for key, wrapped, box, place, writer, index in self.sealed:
            if key not in self.group_keys or index < self.logs[writer].first:
                continue
            group, group_key = self.group_keys[key]
            groups = self.circle.machines[writer].groups
            if groups is not None and self.label(group) not in groups:
                continue
            version = open_version(group_key, key, wrapped, box, place)
            if version.record.access_group != group:
                raise Malformed("a version of another group")
            name = version.name()
            if name not in latest or version.is_later_than(latest[name]):
                latest[name] = version
        return sorted(v.plaintext for v in latest.values() if not v.is_deletion)


def open_version(
    group_key: bytes, key: bytes, wrapped: bytes, box: bytes, place: bytes
) -> Version:
    text = b"swift-keychain sync 1 version"
    version_key = open_wrapped_key(group_key, wrapped, text + b" key" + place + key)
    padded = open_box(version_key, box, text + place + key)
    plaintext = content_of(padded, VERSION_FLOOR)
    cursor = Cursor(plaintext)
    cursor.expect(b"\x01")
    if cursor.number(1) not in (6, 7, 8):
        raise Malformed("a version of a class that doesn't travel")
    record = decode_record(cursor.sized())
    if cursor.flag():
        cursor.sized()
    cursor.require_end()
    modified = struct.unpack(">d", record.attributes["mdat"].data)[0]
    return Version(modified, record.is_tombstone, plaintext, record)


def recovery_seed(code: bytes, salt: bytes) -> bytes:
    return derive(code, salt, b"swift-keychain sync 1 recovery agreement\x00")
