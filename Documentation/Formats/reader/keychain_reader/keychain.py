"""Opens a keychain's folder: everything that decides whether it is one."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import folder as files
from .anchor import read_anchor
from .authenticated import make_plain
from .database import Contents, read_database
from .device_key import read_device_key
from .errors import FormatError, Inauthentic, Malformed
from .pages import damaged_pages
from .schema import version_of_file
from .tiers import AnyHeader, Keys, open_header, open_keys


@dataclass
class Keychain:
    keybag: Keys
    header: AnyHeader
    anchor: int | None
    contents: Contents
    #: Of the database.
    version: int
    page_count: int
    damaged_pages: list[int]
    #: What is worth a word and still as the documents allow it.
    notices: list[str] = field(default_factory=list)
    #: What is not as the documents demand.
    problems: list[str] = field(default_factory=list)


@dataclass
class _Findings:
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def _device_key(folder: Path, findings: _Findings) -> bytes:
    file = files.read_file(folder, files.device_key_path(folder))
    if file is None:
        raise Malformed("the folder holds no device.key")
    read = read_device_key(file)
    if not read.is_whole:
        findings.problems.append("device.key has one sound copy only")
    return read.device_key


def _compare_copy(
    row: Keys, copy: bytes, device_key: bytes, findings: _Findings
) -> None:
    try:
        other = open_keys(copy, device_key, None)
    except FormatError as error:
        findings.problems.append(f"the file keybag: {error}")
        return
    # The file is replaced after the commit, so it may be one behind.
    is_behind = (
        other.identifier == row.identifier
        and other.generation == row.generation - 1
    )
    if is_behind:
        findings.notices.append("the file keybag is one generation behind")
    else:
        findings.problems.append("the file keybag is not that of the database")


def _keybag(
    folder: Path,
    contents: Contents,
    device_key: bytes,
    passcode: bytes | None,
    findings: _Findings,
) -> Keys:
    copy = files.read_file(folder, "keybag")
    failure: FormatError
    try:
        if contents.keybag is None:
            raise Malformed("the database has no keybag")
        # Without the passcode first: a wrong one is no damage of the row.
        opened = open_keys(contents.keybag, device_key, None)
    except FormatError as error:
        failure = error
    else:
        if copy is None:
            findings.notices.append("there is no file keybag")
        elif copy != contents.keybag:
            _compare_copy(opened, copy, device_key, findings)
        if passcode is None:
            return opened
        return open_keys(contents.keybag, device_key, passcode)
    if copy is None:
        raise failure
    findings.problems.append(f"the row keybag, read from the file: {failure}")
    return open_keys(copy, device_key, passcode)


def _check_header(header: AnyHeader, keybag: Keys) -> None:
    if header.identifier != keybag.identifier:
        raise Inauthentic("header and keybag are of different keychains")
    if header.keybag_generation != keybag.generation:
        raise Inauthentic(
            f"the keybag has the generation {keybag.generation}, the header"
            f" tells of {header.keybag_generation}"
        )


def _anchor(
    folder: Path, keybag: Keys, header: AnyHeader, findings: _Findings
) -> int | None:
    file = files.read_file(folder, "anchor")
    if file is None:
        findings.notices.append("there is no anchor")
        return None
    anchor = read_anchor(file, keybag.open.integrity_key)
    if anchor is None:
        findings.notices.append("the anchor has no sound record")
    elif anchor > header.generation:
        raise Inauthentic(
            f"the anchor tells of generation {anchor}, the header has"
            f" {header.generation}"
        )
    elif anchor < header.generation:
        findings.notices.append("the anchor is behind the header")
    return anchor


def open_keychain(
    folder: Path, passcode: bytes | None, is_copy: bool = False
) -> Keychain:
    """Raises FormatError where the documents reject the keychain as a whole."""
    if folder.is_symlink() or not folder.is_dir():
        raise Malformed("there is no folder")
    permissions = [] if is_copy else files.permission_problems(folder)
    if permissions:
        raise Malformed("; ".join(permissions))

    findings = _Findings()
    findings.notices += [
        f"the file {name} is in no document" for name in files.unknown_files(folder)
    ]
    if refusals := files.refusals(folder):
        raise Malformed("; ".join(refusals))
    device_key = _device_key(folder, findings)
    with tempfile.TemporaryDirectory() as temporary:
        database = files.copy_database(folder, Path(temporary))
        version = version_of_file(database)
        if version == 1:
            page_count, damaged = damaged_pages(database)
        else:
            log = database.with_name(files.LOG)
            page_count, damaged = make_plain(database, log, device_key), []
        contents = read_database(database, version)
    if damaged:
        findings.problems.append(
            f"{len(damaged)} of {page_count} pages don't fit their checksums"
        )
    keybag = _keybag(folder, contents, device_key, passcode, findings)
    if contents.header is None:
        raise Malformed("the database has no header")
    header = open_header(contents.header, keybag)
    _check_header(header, keybag)
    anchor = _anchor(folder, keybag, header, findings)
    return Keychain(
        keybag,
        header,
        anchor,
        contents,
        version,
        page_count,
        damaged,
        findings.notices,
        findings.problems + contents.problems,
    )
