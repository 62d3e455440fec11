"""Opens all rows of a keychain and checks the database as a whole."""

from dataclasses import dataclass, field

from . import row2
from .database import Contents, StoredRow
from .errors import DamagedMetadata, DamagedSecret, WrongApplicationPassword
from .header import digest_of
from .keychain import Keychain
from .labels import labels_of
from .primitives import GCM_TAG_SIZE, is_equal, mac
from .record import Record
from .row import open_metadata, open_secret
from .tiers import Keys, TierRows, rows_told_of


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
    tier = keychain.keybag.tier(row.protection)
    if keys is None or tier is None:
        item.is_locked = True
        return item
    identifier = keychain.keybag.identifier
    is_version1 = keychain.keybag.version == 1
    try:
        record = (open_metadata if is_version1 else row2.open_metadata)(
            row, identifier, keys.metadata_key
        )
        item.record = record
        labels = (labels_of if is_version1 else row2.labels_of)(tier.index_key, record)
        if labels != row.labels:
            item.problems.append("the labels are not those of the attributes")
        item.secret = (open_secret if is_version1 else row2.open_secret)(
            row, record, identifier, keys.class_key, password
        )
    except WrongApplicationPassword:
        item.needs_password = True
    except (DamagedMetadata, DamagedSecret) as error:
        item.problems.append(str(error))
    return item


def _tier_problems(rows: list[StoredRow], keys: Keys, told: TierRows) -> list[str]:
    """Of the rows of a tier. A row without columns is none of a tier's."""
    found = [
        stored.row
        for stored in rows
        if stored.row is not None
        and keys.is_open(stored.row.protection) == told.is_open
    ]
    problems = []
    if len(found) != told.count:
        problems.append(
            f"items has {len(found)} rows, the header tells of {told.count}"
        )
    if any(len(row.uuid) != 16 or len(row.meta) < GCM_TAG_SIZE for row in found):
        problems.append("the digest can't be computed over a damaged row")
    elif told.digest != digest_of(
        told.integrity_key, [(row.uuid, row.meta_tag) for row in found]
    ):
        problems.append("the digest of the rows is not the header's")
    return problems


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


def examine(keychain: Keychain, password: bytes | None = None) -> Examination:
    contents, header = keychain.contents, keychain.header
    items = [_open_item(keychain, stored, password) for stored in contents.rows]
    problems = list(keychain.problems)
    for told in rows_told_of(header, keychain.keybag):
        problems += _tier_problems(contents.rows, keychain.keybag, told)
    if contents.set_aside_count != header.set_aside_count:
        problems.append(
            f"set_aside has {contents.set_aside_count} rows, the header tells of"
            f" {header.set_aside_count}"
        )
    problems += _terms_problems(contents)
    problems += _set_aside_problems(contents, keychain.keybag.open.integrity_key)
    for item in items:
        problems += [f"row {item.stored.id}: {text}" for text in item.problems]
    return Examination(keychain, items, problems)
