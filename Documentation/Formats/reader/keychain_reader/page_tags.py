"""The tags of pages, in a database file of version 2 and in its log."""

import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .pages import PAGE_SIZE
from .primitives import GCM_TAG_SIZE, NONCE_SIZE, hkdf

RESERVED_SIZE = 32
CONTENT_SIZE = PAGE_SIZE - RESERVED_SIZE
SALT = slice(72, 88)
INFO = "swift-keychain 2 pages"

_NONCE_START = CONTENT_SIZE + GCM_TAG_SIZE
_ZEROS_START = _NONCE_START + NONCE_SIZE


def salt_of(page_1: bytes) -> bytes:
    return page_1[SALT]


def database_data(page: bytes, number: int) -> bytes:
    """What the tag of a page of the database covers."""
    return b"KCPG" + struct.pack(">I", number) + page[:CONTENT_SIZE]


def log_data(
    page: bytes, number: int, commit_size: int, frame: int, salts: bytes
) -> bytes:
    """What the tag of a page in the log covers."""
    head = struct.pack(">3I", number, commit_size, frame)
    return b"KCLF" + head + salts + page[:CONTENT_SIZE]


class PageKey:
    def __init__(self, device_key: bytes, salt: bytes) -> None:
        self._cipher = AESGCM(hkdf(device_key, salt, INFO))

    def is_sound(self, page: bytes, data: bytes) -> bool:
        """Whether the end of a page is the tag over `data`."""
        if len(page) != PAGE_SIZE or any(page[_ZEROS_START:]):
            return False
        tag, nonce = page[CONTENT_SIZE:_NONCE_START], page[_NONCE_START:_ZEROS_START]
        try:
            self._cipher.decrypt(nonce, tag, data)
        except InvalidTag:
            return False
        return True
