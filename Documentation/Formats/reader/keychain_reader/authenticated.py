"""A database of version 2: verifies every page, and makes copies that SQLite reads.

SQLite is given verified pages alone: where one fails, the database is refused.
"""

from pathlib import Path

from . import log as logs
from .errors import Inauthentic, Malformed
from .page_tags import (
    CONTENT_SIZE,
    RESERVED_SIZE,
    SALT,
    PageKey,
    database_data,
    log_data,
    salt_of,
)
from .pages import LOCK_PAGE, PAGE_SIZE

_ZEROS = bytes(RESERVED_SIZE)


def _shown(page: bytes) -> bytes:
    """A page of the log as SQLite wrote it, and summed it up."""
    return page[:CONTENT_SIZE] + _ZEROS


def _is_authentic(frame: logs.Frame, key: PageKey) -> bool:
    data = log_data(
        frame.page, frame.page_number, frame.commit_size, frame.number, frame.salts
    )
    return key.is_sound(frame.page, data)


def committed_frames(log: bytes, key: PageKey) -> list[logs.Frame]:
    """The frames that count: an unbroken run of sound ones, to its last commit.

    Raises Inauthentic where more than one whole commit stands behind a break: a
    loss of power leaves one at most.
    """
    header = logs.read_header(log)
    sums = header.sums if header else (0, 0)
    salts = header.salts if header else None
    run: list[logs.Frame] = []
    committed = dropped = 0
    for frame in logs.frames(log):
        salts = salts or frame.salts
        is_authentic = frame.salts == salts and _is_authentic(frame, key)
        if header:
            sums = logs.add(sums, frame.head + _shown(frame.page), header.byte_order)
            if frame.page_number > 0 and is_authentic and sums == frame.sums:
                run.append(frame)
                committed = len(run) if frame.commit_size else committed
                continue
            header = None
        if is_authentic and frame.commit_size:
            dropped += 1
    if dropped > 1:
        raise Inauthentic(f"the log is damaged at frame {len(run) + 1}")
    return run[:committed]


def _plain_log(log: bytes, count: int) -> bytes:
    result = bytearray(log[: logs.HEADER_SIZE + count * logs.FRAME_SIZE])
    for number in range(1, count + 1):
        end = logs.HEADER_SIZE + number * logs.FRAME_SIZE
        result[end - RESERVED_SIZE : end] = _ZEROS
    return bytes(result)


def _plain_page(page: bytes, number: int) -> bytes:
    result = bytearray(_shown(page))
    if number == 1:
        result[SALT] = bytes(SALT.stop - SALT.start)
    return bytes(result)


def make_plain(database: Path, log: Path, device_key: bytes) -> int:
    """Verifies copies of both files and makes of them what SQLite knows.

    Gives the number of pages. Raises FormatError where a page fails that no
    committed frame of the log replaces.
    """
    file = database.read_bytes()
    if len(file) < PAGE_SIZE:
        raise Malformed("keychain.db has no whole page")
    key = PageKey(device_key, salt_of(file[:PAGE_SIZE]))
    content = log.read_bytes() if log.exists() else b""
    committed = committed_frames(content, key)
    size = committed[-1].commit_size if committed else None
    # Later frames replace earlier ones.
    replaced = {frame.page_number: frame.page for frame in committed}

    pages = []
    for start in range(0, len(file), PAGE_SIZE):
        number, page = start // PAGE_SIZE + 1, file[start : start + PAGE_SIZE]
        is_cut = size is not None and number > size
        if number == LOCK_PAGE:
            pages.append(bytes(PAGE_SIZE))
        elif key.is_sound(page, database_data(page, number)):
            pages.append(_plain_page(page, number))
        elif number in replaced:
            # A checkpoint that a loss of power ended leaves such a page.
            pages.append(_shown(replaced[number]))
        elif is_cut:
            pages.append(bytes(PAGE_SIZE))
        else:
            raise Inauthentic(f"page {number} does not fit its tag")
    database.write_bytes(b"".join(pages))
    if content:
        log.write_bytes(_plain_log(content, len(committed)) if committed else b"")
    return len(pages)
