"""HMAC, HKDF, scrypt and boxes, as the overview defines them."""

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .errors import Inauthentic

KEY_SIZE = 32
NONCE_SIZE = 12
GCM_TAG_SIZE = 16
BOX_OVERHEAD = NONCE_SIZE + GCM_TAG_SIZE
WRAPPED_KEY_SIZE = KEY_SIZE + BOX_OVERHEAD


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def is_equal(a: bytes, b: bytes) -> bool:
    """Compares tags in a time that doesn't depend on their content."""
    return hmac.compare_digest(a, b)


def hkdf(key: bytes, salt: bytes, info: str) -> bytes:
    return HKDF(hashes.SHA256(), KEY_SIZE, salt, info.encode("ascii")).derive(key)


def scrypt(passcode: bytes, salt: bytes, log2_n: int, r: int, p: int) -> bytes:
    n = 1 << log2_n
    # hashlib's own limit is 32 MiB, far below what the format allows.
    memory = 128 * r * (n + p + 2) + (1 << 20)
    return hashlib.scrypt(
        passcode, salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=KEY_SIZE
    )


LARGEST_MEMORY = 1 << 30


def is_cost_acceptable(log2_n: int, r: int, p: int) -> bool:
    """Whether a reader takes a cost of scrypt, wherever it stands."""
    if not (1 <= log2_n <= 24 and 1 <= r <= 32 and 1 <= p <= 16):
        return False
    return 128 * r * (1 << log2_n) <= LARGEST_MEMORY and log2_n < 16 * r


def open_box(key: bytes, box: bytes, associated_data: bytes) -> bytes:
    if len(box) < BOX_OVERHEAD:
        raise Inauthentic("a box is shorter than its nonce and tag")
    nonce, sealed = box[:NONCE_SIZE], box[NONCE_SIZE:]
    try:
        return AESGCM(key).decrypt(nonce, sealed, associated_data)
    except InvalidTag:
        raise Inauthentic("a box does not open") from None


def open_wrapped_key(key: bytes, box: bytes, associated_data: bytes) -> bytes:
    if len(box) != WRAPPED_KEY_SIZE:
        raise Inauthentic("a wrapped key has another size than 60 bytes")
    return open_box(key, box, associated_data)
