"""The keys of machines and what they open: X-Wing, the recovery code, grants, names."""

import hashlib
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hpke
from cryptography.hazmat.primitives.asymmetric import ec, mlkem, x25519
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .circle_entries import LARGEST_GROUP, Cursor, Grant, digest_of
from .errors import Inauthentic, Malformed
from .primitives import mac, open_box

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_SUITE = hpke.Suite(
    hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM
)


def derive(key: bytes, salt: bytes | None, info: bytes) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt, info).derive(key)


class AgreementKey:
    """A private key of X-Wing."""

    def __init__(self, seed: bytes) -> None:
        expanded = hashlib.shake_256(seed).digest(96)
        first = mlkem.MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
        second = x25519.X25519PrivateKey.from_private_bytes(expanded[64:])
        self._key = hpke.MLKEM768X25519PrivateKey(first, second)
        self.public = first.public_key().public_bytes_raw()
        self.public += second.public_key().public_bytes_raw()

    def open(self, sealed: bytes, info: bytes) -> bytes:
        try:
            return _SUITE.decrypt(sealed, self._key, info)
        except (InvalidTag, ValueError):
            raise Inauthentic("a grant doesn't open") from None


def is_scalar(data: bytes) -> bool:
    return len(data) == 32 and 0 < int.from_bytes(data, "big") < _ORDER


def signing_key_of(scalar: bytes) -> bytes:
    """The public key, X9.63."""
    key = ec.derive_private_key(int.from_bytes(scalar, "big"), ec.SECP256R1())
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def recovery_seed(code: bytes, salt: bytes) -> bytes:
    return derive(code, salt, b"swift-keychain sync 1 recovery agreement\x00")


def recovery_scalar(code: bytes, salt: bytes) -> bytes:
    for number in range(256):
        info = b"swift-keychain sync 1 recovery signing" + bytes([number])
        scalar = derive(code, salt, info)
        if is_scalar(scalar):
            return scalar
    raise Malformed("a recovery code gives no scalar")


# Grants


@dataclass(frozen=True)
class GroupKey:
    epoch: int
    group: bytes
    key: bytes

    def identifier(self, circle: bytes) -> bytes:
        text = b"swift-keychain sync 1 key" + circle
        text += struct.pack(">QI", self.epoch, len(self.group)) + self.group
        return digest_of(text + self.key)[:16]


def check_of_circle_key(circle_key: bytes) -> bytes:
    return digest_of(b"swift-keychain sync 1 circle key" + circle_key)


def _take_group_key(cursor: Cursor) -> GroupKey:
    epoch, group = cursor.number(8), cursor.sized()
    if len(group) > LARGEST_GROUP:
        raise Malformed("a grant has a key of a group with too long a name")
    try:
        group.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("a grant has a key of a group whose name is no UTF-8") from None
    return GroupKey(epoch, group, cursor.take(32))


def open_grant(
    key: AgreementKey, circle: bytes, key_check: bytes, giver: bytes, grant: Grant
) -> tuple[bytes, dict[bytes, GroupKey]]:
    """The circle key, and group keys by their identifiers."""
    info = b"swift-keychain sync 1 grant" + circle + giver + grant.recipient
    cursor = Cursor(key.open(grant.sealed, info + grant.listed))
    circle_key = cursor.take(32)
    found = [_take_group_key(cursor) for _ in range(cursor.number(2))]
    cursor.require_end()
    # They can be in any order, unlike the identifiers in the part.
    keys = {one.identifier(circle): one for one in found}
    if sorted(keys) != grant.keys:
        raise Malformed("a grant has other keys than it lists")
    if check_of_circle_key(circle_key) != key_check:
        raise Inauthentic("a grant has another circle key")
    return circle_key, keys


# What the circle key opens


def group_label(circle_key: bytes, group: bytes) -> bytes:
    key = derive(circle_key, None, b"swift-keychain sync 1 labels")
    return mac(key, group)[:16]


def open_name(circle_key: bytes, machine: bytes, box: bytes) -> str:
    key = derive(circle_key, None, b"swift-keychain sync 1 names")
    try:
        return open_box(key, box, machine).decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("a name is no UTF-8") from None
