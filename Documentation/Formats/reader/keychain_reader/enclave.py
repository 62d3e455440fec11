"""Keys of the Secure Enclave: secure-enclave-key-v1.md."""

import struct
from dataclasses import dataclass

from .constraints import CURRENT_SET, KNOWN, requires_password
from .errors import DamagedSecret, Inauthentic, Malformed
from .password import open_content, parse_content
from .primitives import open_box

#: Whose keys have such a blob as their secret.
TOKENS = ("com.apple.setoken", "com.apple.setoken:aks")
HEAD_SIZE = 101
VALUE_SIZE = 32
GUARDED_VALUE_SIZE = 84


@dataclass(frozen=True)
class Blob:
    identifier: bytes
    protection: int
    constraints: int
    public_key: bytes
    wrapped_key: bytes
    head: bytes
    sealed: bytes


@dataclass(frozen=True)
class Authorization:
    enrollment: bytes | None
    value: bytes


def parse_blob(blob: bytes) -> Blob:
    if len(blob) < HEAD_SIZE or blob[:4] != b"KCE1":
        raise Malformed("no key of the Secure Enclave")
    size, identifier, protection, reserved, count, constraints = struct.unpack(
        ">I16sBBHQ", blob[4:36]
    )
    public_key = blob[36:HEAD_SIZE]
    end = HEAD_SIZE + count
    if size != len(blob) or not 61 <= len(blob) - end <= 177:
        raise Malformed("the size of a key is wrong")
    if not 6 <= protection <= 12 or reserved != 0 or constraints & ~KNOWN:
        raise Malformed("a field of a key has no such value")
    if not 1 <= count <= 4096 or public_key[0] != 4:
        raise Malformed("a key is none")
    return Blob(
        identifier, protection, constraints, public_key, blob[HEAD_SIZE:end],
        blob[:end], blob[end:],
    )


def open_authorization(
    blob: Blob, keychain: bytes, class_key: bytes, password: bytes | None
) -> Authorization:
    opened = open_box(class_key, blob.sealed, b"KCEA" + keychain + blob.head)
    size = opened[0]
    enrollment, value = opened[1 : 1 + size], opened[1 + size :]
    if size and (size > 64 or not blob.constraints & CURRENT_SET):
        raise Inauthentic("a key has an enrollment that it can't have")
    if requires_password(blob.constraints):
        try:
            content = parse_content(value)
        except DamagedSecret:
            raise Inauthentic("a value is under no password") from None
        if len(value) != GUARDED_VALUE_SIZE or password is None:
            raise Inauthentic("a value is under no password, or none is given")
        bound = struct.pack(">16s16sB4sQ", keychain, blob.identifier, blob.protection,
                            b"keys", blob.constraints)
        value = open_content(content, password, bound)
    if len(value) != VALUE_SIZE:
        raise Inauthentic("a value has another size")
    return Authorization(enrollment or None, value)
