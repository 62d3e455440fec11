"""The files of a keychain's folder, read without changing or following any."""

import errno
import os
import re
import shutil
import stat
from pathlib import Path

from .errors import Malformed

DATABASE = "keychain.db"
LOG = "keychain.db-wal"
FILES = (
    DATABASE, LOG, "keychain.db-shm", "device.key", "keybag", "anchor", "lock", "in-use",
)
LEFTOVERS = (
    "device.key.new-", "keybag.new-", "keychain.db.new-", "rebuilding-", "damaged-",
    "rotation-", "rotation.new-",
)
#: Files that say that the database is not to be read before a recovery, and why.
REFUSALS = {
    "keychain.db.recovered": "a recovery was interrupted",
    "log-is-damaged": "the log was found damaged",
}
LARGEST_FILE = 65536
ATTEMPTS = 5
_NUMBERED = re.compile(r"keychain(?:-([1-9][0-9]*))?\.db(?:-wal|-shm|\.recovered)?")


def number(folder: Path) -> int:
    """How often the keys were rotated: that of the database."""
    found = (_NUMBERED.fullmatch(name) for name in os.listdir(folder))
    return max((int(match[1] or 0) for match in found if match), default=0)


def present(folder: Path, name: str) -> str:
    """The name of a file after rotations."""
    rotations = number(folder)
    if rotations and name.startswith(DATABASE):
        return f"keychain-{rotations}{name.removeprefix('keychain')}"
    return name


def device_key_path(folder: Path) -> str:
    staged = f"rotation-{number(folder)}/device.key"
    return staged if os.path.lexists(folder / staged) else "device.key"


def _permission_problem(path: Path, mode: int) -> str | None:
    status = path.lstat()
    if status.st_uid != os.geteuid():
        return f"{path.name} belongs to another user"
    found = stat.S_IMODE(status.st_mode)
    if found != mode:
        return f"{path.name} has the mode {found:04o} instead of {mode:04o}"
    return None


def permission_problems(folder: Path) -> list[str]:
    paths = [(folder, 0o700)]
    # A symbolic link has a mode of its own, and isn't followed in any case.
    paths += [
        (folder / name, 0o600)
        for name in (present(folder, name) for name in FILES)
        if os.path.lexists(folder / name) and not (folder / name).is_symlink()
    ]
    problems = (_permission_problem(path, mode) for path, mode in paths)
    return [problem for problem in problems if problem is not None]


def refusals(folder: Path) -> list[str]:
    return [text for name, text in REFUSALS.items()
        if os.path.lexists(folder / present(folder, name))]


def unknown_files(folder: Path) -> list[str]:
    known = [present(folder, name) for name in FILES]
    return sorted(
        name
        for name in os.listdir(folder)
        if name not in known and not name.startswith(LEFTOVERS)
    )


def _open(path: Path) -> int | None:
    """A descriptor of a regular file, or None where there is no file."""
    try:
        # Without O_NONBLOCK a pipe in a file's place would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Malformed(f"{path.name} is a symbolic link") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Malformed(f"{path.name} is no file")
    return descriptor


def read_file(folder: Path, name: str) -> bytes | None:
    descriptor = _open(folder / name)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise Malformed(f"{name} has more than {LARGEST_FILE} bytes")
    return content


def _state(folder: Path) -> list[tuple[int, int] | None]:
    state: list[tuple[int, int] | None] = []
    for name in (DATABASE, LOG):
        try:
            status = (folder / present(folder, name)).lstat()
            state.append((status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            state.append(None)
    return state


def copy_database(folder: Path, target: Path) -> Path:
    """Copies database and log, and gives the copy of the database.

    SQLite makes or changes files beside a database in WAL mode even when it
    only reads, so it gets a copy. Where a process writes meanwhile, the copy
    is made again: database and log have to be of the same moment.
    """
    for _ in range(ATTEMPTS):
        before = _state(folder)
        for name in (DATABASE, LOG):
            (target / name).unlink(missing_ok=True)
            descriptor = _open(folder / present(folder, name))
            if descriptor is None:
                if name == DATABASE:
                    raise Malformed("the folder holds no keychain.db")
                continue
            with (
                os.fdopen(descriptor, "rb") as source,
                (target / name).open("xb") as copy,
            ):
                shutil.copyfileobj(source, copy)
        if _state(folder) == before:
            return target / DATABASE
    raise Malformed("the database is being written")
