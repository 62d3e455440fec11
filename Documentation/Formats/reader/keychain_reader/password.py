"""A secret under an application password."""

import hashlib
from dataclasses import dataclass

from .errors import DamagedSecret, Inauthentic, WrongApplicationPassword
from .primitives import BOX_OVERHEAD, is_cost_acceptable, open_box, scrypt

HEAD_SIZE = 24


@dataclass(frozen=True)
class PasswordContent:
    log2_n: int
    r: int
    p: int
    salt: bytes
    box: bytes


def parse_content(content: bytes) -> PasswordContent:
    if len(content) < HEAD_SIZE + BOX_OVERHEAD or content[:4] != b"KCA1":
        raise DamagedSecret("a secret is none under an application password")
    log2_n, r, p, reserved = content[4:8]
    if reserved != 0:
        raise DamagedSecret("a reserved byte of a secret is not zero")
    if not is_cost_acceptable(log2_n, r, p):
        raise DamagedSecret("the cost of a secret is beyond the limits")
    return PasswordContent(log2_n, r, p, content[8:HEAD_SIZE], content[HEAD_SIZE:])


def open_content(content: PasswordContent, password: bytes, bound: bytes) -> bytes:
    """`bound` is what the boxes of the row are bound to, and the constraints."""
    digest = hashlib.sha256(password).digest()
    key = scrypt(digest, content.salt, content.log2_n, content.r, content.p)
    try:
        return open_box(key, content.box, b"KCA1" + bound)
    except Inauthentic:
        raise WrongApplicationPassword("the application password is wrong") from None
