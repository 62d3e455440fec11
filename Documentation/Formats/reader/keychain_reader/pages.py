"""The checksums at the end of the pages of the database file."""

from pathlib import Path

import xxhash

PAGE_SIZE = 4096
CHECKSUM_SIZE = 8
LOCK_PAGE = (1 << 30) // PAGE_SIZE + 1


def checksum(content: bytes, number: int) -> bytes:
    return xxhash.xxh64_intdigest(content, seed=number).to_bytes(8, "little")


def is_sound(page: bytes, number: int) -> bool:
    content, end = page[:-CHECKSUM_SIZE], page[-CHECKSUM_SIZE:]
    return len(page) == PAGE_SIZE and checksum(content, number) == end


def damaged_pages(database: Path) -> tuple[int, list[int]]:
    """How many pages there are, and the numbers of the damaged ones."""
    damaged = []
    number = 0
    with database.open("rb") as file:
        while page := file.read(PAGE_SIZE):
            number += 1
            if number != LOCK_PAGE and not is_sound(page, number):
                damaged.append(number)
    return number, damaged
