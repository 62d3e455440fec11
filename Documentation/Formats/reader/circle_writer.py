"""Writes the records of circles, by Synchronization.md alone.

Nothing here is the reader's, so that what both take for the format are two readings of
the document. It writes what it is told, also what no machine would write.
"""

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from cryptography.hazmat.primitives import hashes, hpke
from cryptography.hazmat.primitives.asymmetric import ec, mlkem, x25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from row_writer import Bytes, Item, hmac_sha256, padded, u32, u64

TEXT = b"swift-keychain sync 1 "
ZEROS = bytes(32)
RANDOM = Bytes("circle")
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

Head = tuple[int, bytes]
Heads = dict[bytes, Head]
Part = Callable[[bytes, bytes, int, int], bytes]


def u16(value: int) -> bytes:
    return struct.pack(">H", value)


def i64(value: int) -> bytes:
    return struct.pack(">q", value)


def sized(content: bytes) -> bytes:
    return u32(len(content)) + content


def sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def head(value: Head) -> bytes:
    return u64(value[0]) + value[1]


def heads(values: Heads) -> bytes:
    listed = b"".join(name + head(values[name]) for name in sorted(values))
    return u16(len(values)) + listed


def identifiers(values: Sequence[bytes]) -> bytes:
    return u16(len(values)) + b"".join(sorted(values))


def box(key: bytes, content: bytes, associated: bytes) -> bytes:
    nonce = RANDOM.take(12)
    return nonce + AESGCM(key).encrypt(nonce, content, associated)


def hkdf(key: bytes, salt: bytes | None, info: bytes) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt, info).derive(key)


# Machines


class Machine:
    def __init__(self, scalar: bytes, seed: bytes, name: str = "") -> None:
        self.scalar, self.seed, self.name = scalar, seed, name
        self._signing = ec.derive_private_key(int.from_bytes(scalar, "big"), ec.SECP256R1())
        expanded = hashlib.shake_256(seed).digest(96)
        first = mlkem.MLKEM768PrivateKey.from_seed_bytes(expanded[:64]).public_key()
        second = x25519.X25519PrivateKey.from_private_bytes(expanded[64:]).public_key()
        self.agreement = hpke.MLKEM768X25519PublicKey(first, second)
        self.signing_key = self._signing.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        self.description = b"\x01" + self.signing_key
        self.description += first.public_bytes_raw() + second.public_bytes_raw()
        self.id = sha256(TEXT + b"machine" + self.description)[:16]

    @staticmethod
    def make(name: str) -> "Machine":
        return Machine(RANDOM.take(32), RANDOM.take(32), name)

    def signature(self, message: bytes) -> bytes:
        encoded = self._signing.sign(message, ec.ECDSA(hashes.SHA256()))
        return b"".join(part.to_bytes(32, "big") for part in decode_dss_signature(encoded))

    def signed(self, message: bytes) -> bytes:
        return message + self.signature(message)

    def keys(self) -> dict[str, str]:
        return {"signingKey": self.scalar.hex(), "agreementSeed": self.seed.hex()}


def recovery(code: bytes, salt: bytes) -> Machine:
    seed = hkdf(code, salt, TEXT + b"recovery agreement\x00")
    scalars = (
        hkdf(code, salt, TEXT + b"recovery signing" + bytes([n])) for n in range(256)
    )
    fits = (one for one in scalars if 0 < int.from_bytes(one, "big") < ORDER)
    return Machine(next(fits), seed)


# Group keys and parts


@dataclass(frozen=True)
class GroupKey:
    circle: bytes
    epoch: int
    group: str
    key: bytes

    @property
    def name(self) -> bytes:
        """The group's. A lone surrogate stands for a byte that is no UTF-8."""
        return self.group.encode("utf-8", "surrogateescape")

    @property
    def id(self) -> bytes:
        text = TEXT + b"key" + self.circle + u64(self.epoch)
        return sha256(text + sized(self.name) + self.key)[:16]

    def encoded(self) -> bytes:
        return u64(self.epoch) + sized(self.name) + self.key


def plaintext(
    item: Item, value: bytes | None = None, protection: int = 6, tag: bytes | None = None
) -> bytes:
    result = bytes([1, protection]) + sized(item.record(tag))
    return result + (b"\x00" if value is None else b"\x01" + sized(value))


def version(key: GroupKey, content: bytes) -> Part:
    def encoded(circle: bytes, writer: bytes, index: int, part: int) -> bytes:
        bound = circle + writer + u64(index) + u32(part) + key.id
        inner = RANDOM.take(32)
        wrapped = box(key.key, inner, TEXT + b"version key" + bound)
        sealed = box(inner, padded(content, 256), TEXT + b"version" + bound)
        return b"\x01" + key.id + wrapped + sized(sealed)

    return encoded


def grant(
    recipient: Machine,
    keys: Sequence[GroupKey],
    circle_key: bytes,
    listed: Sequence[bytes] | None = None,
) -> Part:
    """`listed`: identifiers in place of those of the keys."""
    names = [key.id for key in keys] if listed is None else listed
    content = circle_key + u16(len(keys)) + b"".join(key.encoded() for key in keys)
    suite = hpke.Suite(
        hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM
    )

    def encoded(circle: bytes, writer: bytes, index: int, part: int) -> bytes:
        start = recipient.id + identifiers(names)
        info = TEXT + b"grant" + circle + writer + start
        sealed = suite.encrypt(content, recipient.agreement, info)
        return b"\x02" + start + sealed[:1120] + sized(sealed[1120:])

    return encoded


def wanted(*names: bytes) -> Part:
    return lambda circle, writer, index, part: b"\x03" + identifiers(names)


# The circle


@dataclass
class CircleWriter:
    founder: Machine
    recovery: Machine | None = None
    salt: bytes = field(default_factory=lambda: RANDOM.take(16))
    circle_key: bytes = field(default_factory=lambda: RANDOM.take(32))
    id: bytes = ZEROS
    #: What follows the circle in the keys of the records.
    records: dict[str, bytes] = field(default_factory=dict)
    digests: list[bytes] = field(default_factory=list)
    logs: dict[bytes, list[bytes]] = field(default_factory=dict)

    def copy(self) -> "CircleWriter":
        return replace(
            self,
            records=dict(self.records),
            digests=list(self.digests),
            logs={name: list(digests) for name, digests in self.logs.items()},
        )

    def group_key(self, group: str, epoch: int = 0) -> GroupKey:
        return GroupKey(self.id, epoch, group, RANDOM.take(32))

    def label(self, group: str) -> bytes:
        key = hkdf(self.circle_key, None, TEXT + b"labels")
        return hmac_sha256(key, group.encode())[:16]

    def name(self, machine: Machine) -> bytes:
        """Empty without a name."""
        if not machine.name:
            return sized(b"")
        key = hkdf(self.circle_key, None, TEXT + b"names")
        return sized(box(key, machine.name.encode(), machine.id))

    def scope(self, groups: Sequence[str] | None) -> bytes:
        if groups is None:
            return b"\x00"
        return b"\x01" + identifiers([self.label(group) for group in groups])

    def membership(self, index: int | None = None) -> Head:
        index = len(self.digests) if index is None else index
        return index, self.digests[index - 1]

    def head(self, machine: Machine, index: int | None = None) -> Head:
        digests = self.logs.get(machine.id, [])
        index = len(digests) if index is None else index
        return index, digests[index - 1] if index else ZEROS

    def heads(self, *of: tuple[Machine, int]) -> Heads:
        return {machine.id: self.head(machine, index) for machine, index in of}

    # Membership

    def change(self, kind: int, by: Machine, body: bytes) -> None:
        index = len(self.digests) + 1
        previous = self.digests[-1] if self.digests else ZEROS
        message = b"KCSM\x01" + bytes([kind, 0, 0]) + self.id + u64(index) + previous
        message += by.id + i64(1_700_000_000_000 + index) + body
        if not self.digests:
            self.id = sha256(message)
        self.digests.append(sha256(message))
        self.records[f"m/{index:016x}"] = by.signed(message)

    def found(self) -> None:
        code = b"\x00" if self.recovery is None else b"\x01" + self.recovery.description
        check = sha256(TEXT + b"circle key" + self.circle_key)
        body = self.salt + check + self.founder.description + code
        body += self.name(self.founder)
        self.change(1, self.founder, body)

    def add(
        self, machine: Machine, by: Machine, groups: Sequence[str] | None = None,
        token: bytes = bytes(16), at: Heads | None = None,
    ) -> None:
        body = machine.description + self.scope(groups) + token + self.name(machine)
        self.change(2, by, body + heads(at or {}))

    def close(self, kind: int, machine: Machine, by: Machine, at: Heads) -> None:
        """3: remove, 4: suspend, 5: retire."""
        self.change(kind, by, machine.id + heads(at))

    # Logs

    def append(
        self, machine: Machine, *parts: Part, known: int | None = None, first: int = 1,
        read: Heads | None = None, clean: bool = False, index: int | None = None,
        previous: bytes | None = None,
    ) -> None:
        digests = self.logs.setdefault(machine.id, [])
        index = len(digests) + 1 if index is None else index
        if previous is None:
            previous = digests[index - 2] if index > 1 else ZEROS
        message = b"KCSL\x01" + bytes([clean, 0, 0]) + self.id + machine.id
        message += u64(index) + previous + head(self.membership(known)) + u64(first)
        message += heads(read or {}) + u16(len(parts))
        for number, part in enumerate(parts):
            message += part(self.id, machine.id, index, number)
        digests[index - 1 :] = [sha256(message)]
        self.records[f"l/{machine.id.hex()}/{index:016x}"] = machine.signed(message)

    def sign_head(
        self, machine: Machine, known: Head | None = None, log: Head | None = None,
        made: int = 1_800_000_000_000,
    ) -> None:
        message = b"KCSH\x01" + bytes(3) + self.id + machine.id
        message += head(log or self.head(machine)) + head(known or self.membership())
        self.records[f"h/{machine.id.hex()}"] = machine.signed(message + i64(made))

    # Joining

    def join(self, joiner: Machine, member: Machine) -> tuple[str, str]:
        """Gives the attempt and its digits."""
        nonce, other = RANDOM.take(32), RANDOM.take(32)
        opened = joiner.description + nonce
        commitment = sha256(TEXT + b"commitment" + self.id + opened)
        at, attempt = head(self.membership()), commitment[:8].hex()
        start = [b"KCSJ\x01" + bytes([kind, 0, 0]) for kind in range(5)]
        challenge = start[2] + self.id + commitment + member.id + at + other
        self.records |= {
            f"j/{attempt}/1": start[1] + self.id + commitment + i64(1_700_000_000_000),
            f"j/{attempt}/2": challenge,
            f"j/{attempt}/3": start[3] + opened,
        }
        shown = sha256(TEXT + b"digits" + challenge[8:] + opened)[:8]
        return attempt, f"{int.from_bytes(shown, 'big') % 1_000_000:06}"

    def token(
        self, key: Machine, issuer: Machine, groups: Sequence[str] | None, known: int
    ) -> bytes:
        """Without its scalar. The key is that of a machine that is none."""
        message = b"KCST\x01\x00\x00\x00" + self.id + head(self.membership(known))
        message += issuer.id + self.scope(groups) + i64(1_900_000_000_000)
        return issuer.signed(message + key.signing_key)

    def request_with_token(self, token: bytes, key: Machine, machine: Machine) -> None:
        text = TEXT + b"token request" + self.id + machine.description
        name = token_identifier(key).hex()
        self.records[f"t/{name}"] = token + machine.description + key.signature(text)

    # Dumps

    def as_etcd(self, prefix: str = "keychain/") -> str:
        rows = [
            {
                "key": base64.b64encode(f"{prefix}{self.id.hex()}/{key}".encode()).decode(),
                "create_revision": 2, "mod_revision": 2, "version": 1,
                "value": base64.b64encode(value).decode(),
            }
            for key, value in sorted(self.records.items())
        ]
        return json.dumps({"header": {"revision": 2}, "kvs": rows, "count": len(rows)})

    def as_lines(self) -> str:
        lines = (
            {"key": f"{self.id.hex()}/{key}", "value": base64.b64encode(value).decode()}
            for key, value in self.records.items()
        )
        return "".join(json.dumps(line) + "\n" for line in lines)


def token_identifier(key: Machine) -> bytes:
    return sha256(TEXT + b"token" + key.signing_key)[:16]
