"""SQLite's write-ahead log, as far as its frames are verified.

https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from .pages import PAGE_SIZE

HEADER_SIZE = 32
FRAME_HEADER_SIZE = 24
FRAME_SIZE = FRAME_HEADER_SIZE + PAGE_SIZE

Sums = tuple[int, int]


def add(sums: Sums, data: bytes, byte_order: str) -> Sums:
    """Goes on with a checksum over more bytes."""
    first, second = sums
    words = struct.unpack(f"{byte_order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second


@dataclass(frozen=True)
class Header:
    byte_order: str
    salts: bytes
    sums: Sums


def read_header(log: bytes) -> Header | None:
    """None where SQLite would take no frame of the log."""
    if len(log) < HEADER_SIZE:
        return None
    magic, version, page_size = struct.unpack(">3I", log[:12])
    if magic & ~1 != 0x377F0682 or version != 3007000 or page_size != PAGE_SIZE:
        return None
    byte_order = ">" if magic & 1 else "<"
    sums = add((0, 0), log[:24], byte_order)
    if sums != struct.unpack(">2I", log[24:32]):
        return None
    return Header(byte_order, log[16:24], sums)


@dataclass(frozen=True)
class Frame:
    #: From 1.
    number: int
    page_number: int
    #: Pages of the database after the transaction that the frame ends, else 0.
    commit_size: int
    salts: bytes
    sums: Sums
    #: The first 8 bytes of the header, which the checksum covers.
    head: bytes
    page: bytes


def frames(log: bytes) -> Iterator[Frame]:
    """All whole frames, sound or not."""
    starts = range(HEADER_SIZE, len(log) - FRAME_SIZE + 1, FRAME_SIZE)
    for number, start in enumerate(starts, 1):
        header = log[start : start + FRAME_HEADER_SIZE]
        page_number, commit_size = struct.unpack(">2I", header[:8])
        first, second = struct.unpack(">2I", header[16:])
        yield Frame(
            number, page_number, commit_size, header[8:16], (first, second),
            header[:8], log[start + FRAME_HEADER_SIZE : start + FRAME_SIZE],
        )
