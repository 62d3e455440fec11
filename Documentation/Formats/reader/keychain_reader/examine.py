"""Opens all rows of a keychain and checks the database as a whole."""

from dataclasses import dataclass, field

from .database import Contents, StoredRow
from .errors import DamagedMetadata, DamagedSecret, WrongApplicationPassword
from .header import Header, digest_of
from .keychain import Keychain
from .labels import labels_of
from .primitives import GCM_TAG_SIZE, is_equal, mac
from .record import Record
from .row import open_metadata, open_secret


@dataclass
class Item:
    stored: StoredRow
    #: Whether the keys of the row's class are not there, which is no damage.
    is_locked: bool = False
    #: Whether the secret wants another application password, which is no damage.
    needs_password: bool = False
    record: Record | None = None
    secret: bytes | None = None
    problems: list[str] = field(default_factory=list)


@dataclass
class Examination:
    keychain: Keychain
    items: list[Item]
    problems: list[str]


def _open_item(
    keychain: Keychain, stored: StoredRow, password: bytes | None
) -> Item:
    item = Item(stored)
    row = stored.row
    if row is None or stored.problem is not None:
        item.problems.append(stored.problem or "the row has no columns")
        return item
    keys = keychain.keybag.classes.get(row.protection)
    if keys is None:
        item.is_locked = True
        return item
    identifier = keychain.keybag.identifier
    try:
        item.record = open_metadata(row, identifier, keys.metadata_key)
        if labels_of(keychain.keybag.index_key, item.record) != row.labels:
            item.problems.append("the labels are not those of the attributes")
        item.secret = open_secret(
            row, item.record, identifier, keys.class_key, password
        )
    except WrongApplicationPassword:
        item.needs_password = True
    except (DamagedMetadata, DamagedSecret) as error:
        item.problems.append(str(error))
    return item


def _digest_problem(
    rows: list[StoredRow], header: Header, integrity_key: bytes
) -> str | None:
    pairs = []
    for stored in rows:
        row = stored.row
        if row is None or len(row.uuid) != 16 or len(row.meta) < GCM_TAG_SIZE:
            return "the digest can't be computed over a damaged row"
        pairs.append((row.uuid, row.meta_tag))
    if digest_of(integrity_key, pairs) != header.digest:
        return "the digest of the rows is not the header's"
    return None


def _terms_problems(contents: Contents) -> list[str]:
    expected = {
        (term, stored.id)
        for stored in contents.rows
        if stored.row is not None
        for term in stored.row.split_terms()
    }
    problems = []
    if missing := len(expected - contents.terms):
        problems.append(f"{missing} labels of rows are not in the table terms")
    if added := len(contents.terms - expected):
        problems.append(f"{added} labels in the table terms are of no row")
    return problems


def _set_aside_problems(contents: Contents, integrity_key: bytes) -> list[str]:
    problems = []
    for row in contents.set_aside:
        if row.data is None or row.tag is None:
            continue
        # An empty tag says that nothing vouches for the row: it is of version 1.
        if row.tag and not is_equal(mac(integrity_key, row.data), row.tag):
            problems.append(f"set_aside {row.uuid.hex()}: the tag does not fit")
    return problems


def _count_problems(contents: Contents, header: Header) -> list[str]:
    counts = (
        ("items", len(contents.rows), header.item_count),
        ("set_aside", contents.set_aside_count, header.set_aside_count),
    )
    return [
        f"{table} has {found} rows, the header tells of {told}"
        for table, found, told in counts
        if found != told
    ]


def examine(keychain: Keychain, password: bytes | None = None) -> Examination:
    contents, header = keychain.contents, keychain.header
    items = [_open_item(keychain, stored, password) for stored in contents.rows]
    problems = list(keychain.problems)
    problems += _count_problems(contents, header)
    problems += _terms_problems(contents)
    problems += _set_aside_problems(contents, keychain.keybag.integrity_key)
    digest = _digest_problem(contents.rows, header, keychain.keybag.integrity_key)
    if digest is not None:
        problems.append(digest)
    for item in items:
        problems += [f"row {item.stored.id}: {text}" for text in item.problems]
    return Examination(keychain, items, problems)
