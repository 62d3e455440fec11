"""Makes the vectors of labels and rows of version 2.

    python row_vectors.py

writes them, and those of header_vectors.py. Each run gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import header_vectors
import row_writer
from row_writer import (
    META_FLOOR, SECRET_FLOOR, Binding, Bytes, Columns, Item, Keychain, Labels, RowWriter,
    data, date, hmac_sha256, labels_of, number, padded, text, u32, u64,
)

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


@dataclass
class VectorFile:
    """Tests, and for each invalid one what a reader says of it."""

    algorithm: str
    notes: dict[str, str]
    tests: list[dict[str, Any]] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)

    def add(self, comment: str, flag: str, reason: str | None, **fields: Any) -> None:
        assert flag in self.notes, flag
        test = {
            "tcId": len(self.tests) + 1, "comment": comment, "flags": [flag],
            "result": "valid" if reason is None else "invalid",
        }
        for name, value in fields.items():
            if value is not None:
                test[name] = value.hex() if isinstance(value, bytes) else value
        if reason is not None:
            self.reasons[len(self.tests) + 1] = reason
        self.tests.append(test)

    def encoded(self) -> str:
        content = {
            "algorithm": self.algorithm, "version": 2, "numberOfTests": len(self.tests),
            "notes": self.notes, "testGroups": [{"tests": self.tests}],
        }
        return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


# Labels of servers

_TYPES = {1: "string", 2: "data", 3: "number", 4: "date"}
WEB = Item("inet", {
    "sdmn": text("realm"), "ptcl": number(0x68747073), "atyp": text("dflt"),
    "port": number(443), "path": text("/login"),
})


def labels() -> VectorFile:
    file = VectorFile("swift-keychain blind index", {
        "Server": "The label of a server. Parts that are not among `fields` are absent.",
        "Separation": "A label of something that is easily mistaken for the input.",
    })
    key = bytes(range(0x40, 0x60))

    def fields(item: Item) -> list[dict[str, str]]:
        return [
            {"name": name, "type": _TYPES[kind], "value": value.hex()}
            for name, (kind, value) in sorted(item.attributes.items())
        ]

    def add(
        comment: str, item: Item, content: bytes | None = None, other_key: bytes = key
    ) -> None:
        label = hmac_sha256(other_key, content or row_writer.server_input(item))[:16]
        mistaken = content is not None or other_key != key
        file.add(
            comment, "Separation" if mistaken else "Server", "" if mistaken else None,
            indexKey=key, itemClass=item.item_class, domain="server",
            isSynchronizable=item.is_synchronizable, isTombstone=item.is_tombstone,
            fields=fields(item), label=label,
        )

    def web(**changes: row_writer.Value) -> Item:
        return replace(WEB, attributes={**WEB.attributes, **changes})

    def of(item: Item) -> bytes:
        return row_writer.server_input(item)

    nothing = Item("inet", {})
    add("nothing set", nothing)
    add("everything set", WEB)
    for name in sorted(WEB.attributes):
        add(f"{name} alone", Item("inet", {name: WEB.attributes[name]}))
    for name in sorted(WEB.attributes):
        rest = {n: v for n, v in WEB.attributes.items() if n != name}
        add(f"all but {name}", Item("inet", rest))
    add("a synchronizable item", replace(WEB, is_synchronizable=True))
    add("a tombstone", replace(WEB, is_tombstone=True))
    add(
        "a synchronizable tombstone",
        replace(WEB, is_synchronizable=True, is_tombstone=True),
    )
    add("empty values: as if absent", Item("inet", {
        "sdmn": text(""), "ptcl": number(0), "atyp": data(b""), "port": number(0),
        "path": text(""),
    }))
    add("text as data: the same label", web(path=data(b"/login")))
    add("numbers as text, text as a number", web(
        port=text("https"), ptcl=text("https"), atyp=number(0x64666C74)))
    add("a negative port", web(port=number(-1)))
    add("text beyond ASCII", web(sdmn=text("gr\u00fcn \U0001f512"), path=text("e\u0301")))
    add("text with a zero byte", web(path=text("/\0")))
    add("attributes that are no part don't count", web(
        srvr=text("www.example"), acct=text("alice"), vwht=text("view"), labl=text("l")))
    add("another group: the same label", replace(WEB, group="another"))

    add("the rest of the primary key for the server", WEB, row_writer.rest_input(WEB))
    add("the domain of the rest of the key", WEB, b"\x02" + of(WEB)[1:])
    add("the domain of an attribute", WEB, b"\x01" + of(WEB)[1:])
    add("a synchronizable item's", WEB, of(replace(WEB, is_synchronizable=True)))
    add("a tombstone's", WEB, of(replace(WEB, is_tombstone=True)))
    add("a generic password's", WEB, of(WEB).replace(b"inet", b"genp"))
    add("absent parts left out", nothing, of(nothing)[:6])
    add("a part left out that is absent", Item("inet", {"path": text("/")}),
        row_writer.label_head(4, nothing)
        + row_writer.sized_parts(Item("inet", {"path": text("/")}), "path"))
    add("in the order of the terms", WEB, row_writer.label_head(4, WEB)
        + row_writer.sized_parts(WEB, "path sdmn port ptcl atyp"))
    add("in the order of their names", WEB, row_writer.label_head(4, WEB)
        + row_writer.sized_parts(WEB, "atyp path port ptcl sdmn"))
    add("without the sizes", WEB, row_writer.label_head(4, WEB) + b"".join(
        name.encode() + row_writer.comparison_bytes(WEB, name)
        for name in row_writer.SERVER_PARTS.split()))
    add("a part moved to the next", web(atyp=text("realm"), sdmn=text("dflt")), of(WEB))
    add("a number as its digits", web(port=text("443")), of(WEB))
    add("the view hint beside the parts", WEB,
        of(WEB) + row_writer.sized_parts(WEB, "vwht"))
    add("under the other tier's index key", WEB, other_key=bytes(range(0x60, 0x80)))
    return file


# Rows

PASSWORD = Item("genp", {
    "acct": text("alice"), "svce": text("mail.example"), "labl": text("Mail"),
    "cdat": date(800_000_000), "mdat": date(800_000_000.25),
}, group="com.example.mail")
WEB_PASSWORD = Item("inet", {
    **WEB.attributes, "srvr": text("www.example"), "acct": data(b"\x00\xff"),
    "icmt": text("gr\u00fcn \U0001f512"), "labl": text("Web"), "crtr": number(-1),
    "mdat": date(-0.5),
}, is_synchronizable=True)
CERTIFICATE = Item("cert", {
    "ctyp": number(1), "cenc": number(3), "subj": data(b"0\x00"), "issr": data(b"0\x01"),
    "slnr": data(b"\x00\xff"), "skid": data(b"\1\2\3"), "pkhh": data(bytes(range(20))),
    "labl": text("mail.example"), "cdat": date(8e8), "mdat": date(8e8),
})
KEY = Item("keys", {
    "klbl": data(bytes(range(20))), "atag": text("example.key"), "kcls": number(1),
    "type": number(73), "bsiz": number(256), "esiz": number(256), "perm": number(1),
    "priv": number(1), "sdat": date(0.5), "cdat": date(8e8), "mdat": date(8e8),
})
BARE = Item("genp", {}, group="g")
SECRET = b"hunter2"
PRESENCE, ENROLLED, PASSWORD_BIT = 1 << 0, 1 << 3, 1 << 31

# What the reader says.
CLOSED = "a box does not open"
ROW_KEY = "the box of the row key does not open"
SECRET_BOX = "the box of the secret does not open"
TAG = "the secret is not the one the metadata tell of"
DISAGREE = "the constraints beside the row key are not the record's"
STEP = "what is padded has not the size of its step"
ENDS = "what is padded ends before its content does"
NONZERO = "a byte behind what is padded is not zero"
SHORTER = "what is padded is shorter than its size"
WRONG_LABELS = "the labels are not those of the record"
PRESENT = "metadata and row disagree on whether there is a secret"
WRONG_PASSWORD = "the application password is wrong"


def flipped(content: bytes, at: int, bit: int = 1) -> bytes:
    at %= len(content)
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]


class Rows:
    def __init__(self) -> None:
        self.file = VectorFile("swift-keychain row", {
            "Binding": "A row with a column or a half of another row, keychain or time, or"
            " with a box whose associated data differ in one field.",
            "Constraints": "The constraints beside the row key.",
            "Damage": "A row with some bytes changed.",
            "Labels": "A row whose halves open and whose labels aren't its record's.",
            "Opens": "A row as it was written.",
            "Padding": "The padding of the plaintexts.",
            "Password": "A secret under an application password.",
            "Version1": "What version 1 has in the same place.",
        })
        self.random = Bytes("row-v2")
        self.keychain = Keychain.make(self.random)
        self.other = Keychain.make(self.random)
        self.writer = RowWriter(self.keychain, self.random)

    # Tests

    def add(
        self, comment: str, flag: str, row: Columns, reason: str | None = None,
        failure: str | None = None, record: bytes | None = None,
        plaintext: bytes | None = None, password: bytes | None = None,
        identifier: bytes | None = None, keys: tuple[bytes, bytes] | None = None,
    ) -> None:
        class_key, metadata_key = keys or self.keychain.classes[row.protection]
        self.file.add(
            comment, flag, reason, failure=failure,
            keychainID=identifier or self.keychain.identifier,
            indexKey=self.keychain.index_key(row.protection),
            classKey=class_key, metadataKey=metadata_key, uuid=row.uuid,
            protection=row.protection, **vars(row.labels), meta=row.meta,
            secret=row.secret, applicationPassword=password, record=record,
            plaintext=plaintext,
        )

    def opens(
        self, comment: str, item: Item, protection: int, content: bytes | None,
        flag: str = "Opens",
    ) -> Columns:
        row = self.writer.row(item, protection, content)
        self.add_valid(comment, flag, item, row, content)
        return row

    def add_valid(
        self, comment: str, flag: str, item: Item, row: Columns, content: bytes | None,
        password: bytes | None = None,
    ) -> None:
        record = item.record(None if row.secret is None else row.secret[-16:])
        self.add(
            comment, flag, row, record=record, plaintext=content, password=password
        )

    def bad_meta(self, comment: str, flag: str, row: Columns, reason: str, **more: Any) -> None:
        self.add(comment, flag, row, reason, "metadata", **more)

    def bad_secret(
        self, comment: str, flag: str, item: Item, row: Columns, reason: str,
        tag: bytes | None = None, **more: Any,
    ) -> None:
        """The metadata tell of this secret, or of one with the given tag."""
        record = item.record(tag or (row.secret[-16:] if row.secret else None))
        self.add(comment, flag, row, reason, "secret", record=record, **more)

    # What no writer makes

    def base(self, item: Item = PASSWORD, protection: int = 6) -> tuple[Columns, Binding]:
        row = self.writer.row(item, protection, SECRET)
        return row, self.writer.binding(item, protection, row.uuid)

    def sealed_so(
        self, plaintext: bytes, item: Item = PASSWORD, constraints: int | None = None,
        change: Callable[[Binding], dict[str, bytes]] = lambda binding: {},
    ) -> Columns:
        """A row whose secret is sealed in this way, and whose metadata tell of it."""
        binding = self.writer.binding(item, 6, self.random.take(16))
        beside = item.constraints if constraints is None else constraints
        secret = self.writer.secret(plaintext, beside, binding, **change(binding))
        return self.writer.finished(item, binding, secret)

    def with_meta(self, plaintext: bytes, item: Item = BARE) -> Columns:
        """A row without a secret that has this under its metadata key."""
        binding = self.writer.binding(item, 6, self.random.take(16))
        return Columns(
            binding.uuid, 6, binding.labels, self.writer.meta(plaintext, binding), None
        )

    # Groups of tests

    def make(self) -> VectorFile:
        self.valid()
        self.steps()
        self.columns()
        self.bindings_of_metadata()
        self.bindings_of_secret()
        self.moments()
        self.constraints()
        self.labels()
        self.damage()
        self.padding_of_metadata()
        self.padding_of_secret()
        self.version1()
        self.passwords()
        return self.file

    def valid(self) -> None:
        self.opens("a generic password", PASSWORD, 6, SECRET)
        self.opens("an internet password without a secret", WEB_PASSWORD, 6, None)
        self.opens("an internet password, no part of the server set", Item(
            "inet", {"srvr": text("www.example"), "acct": text("alice")}), 6, SECRET)
        self.opens("a certificate", CERTIFICATE, 6, bytes(range(256)) * 3)
        self.opens("a private key", KEY, 9, bytes(range(97)))
        for protection in range(7, 13):
            tier = "open" if protection in row_writer.OPEN_CLASSES else "guarded"
            self.opens(
                f"class {protection}, {tier} tier", PASSWORD, protection, SECRET)
        self.opens("an internet password of the open tier", WEB_PASSWORD, 8, SECRET)
        self.opens("no terms", BARE, 6, SECRET)
        every = {"gena": data(b"\xff"), "vwht": text("view"), "tkid": text("token")}
        self.opens("every term of a generic password", replace(
            PASSWORD, attributes={**PASSWORD.attributes, **every}), 6, SECRET)
        every = {"vwht": text(""), "tkid": text("token"), "ggrp": text("sharing")}
        self.opens("nine terms", replace(
            WEB_PASSWORD, attributes={**WEB_PASSWORD.attributes, **every}), 6, SECRET)
        self.opens("no attributes and no secret", BARE, 6, None)
        self.opens("an empty secret", PASSWORD, 6, b"")
        self.opens("a tombstone", Item(
            "genp", {"acct": text("alice"), "mdat": date(1)}, is_tombstone=True,
            is_synchronizable=True), 6, None)
        self.opens("the program's name", replace(
            PASSWORD, others={"prog": text("keychainctl")}), 6, SECRET)
        self.opens("presence", replace(
            KEY, constraints=PRESENCE), 6, SECRET, "Constraints")
        self.opens("biometry of an enrollment", replace(
            PASSWORD, constraints=ENROLLED, others={"bset": data(bytes(32))}), 9, SECRET,
            "Constraints")
        self.opens("each bit but the application password's", replace(
            PASSWORD, constraints=0x4000C03B), 6, SECRET, "Constraints")
        self.opens("constraints, no secret", replace(
            PASSWORD, constraints=PRESENCE), 6, None, "Constraints")

    def steps(self) -> None:
        for size in (
            1, 27, 28, 29, 32, 33, 60, 61, 100, 123, 124, 125, 252, 253, 508, 509, 1000,
            1020, 1021, 4092, 4093, 4096,
        ):
            self.opens(
                f"a secret of {size} bytes", PASSWORD, 6, self.random.take(size),
                "Padding")
        self.opens("a secret of zeros", PASSWORD, 6, bytes(28), "Padding")
        self.opens(
            "a secret that is padded itself", PASSWORD, 6, padded(SECRET, SECRET_FLOOR),
            "Padding")
        empty = len(replace(BARE, attributes={"icmt": text("")}).record(None))
        for size in (123, 124, 125, 140, 141, 252, 253, 1020, 1021):
            item = replace(BARE, attributes={"icmt": text("x" * (size - empty))})
            self.opens(f"a record of {size} bytes", item, 6, None, "Padding")

    def columns(self) -> None:
        row, _ = self.base()
        labels = row.labels
        term = labels.terms
        for comment, changed in {
            "another reference": replace(row, uuid=flipped(row.uuid, 0)),
            "another protection class": replace(row, protection=7),
            **{
                f"another {name}": replace(
                    row, labels=replace(labels, **{name: flipped(vars(labels)[name], 5)}))
                for name in ("grp", "k1", "k2", "k3", "terms")
            },
            "no terms": replace(row, labels=replace(labels, terms=b"")),
            "a term twice": replace(row, labels=replace(labels, terms=term * 2)),
            "a term more": replace(row, labels=replace(labels, terms=term + labels.k1)),
            "k1 and k2 exchanged": replace(
                row, labels=replace(labels, k1=labels.k2, k2=labels.k1)),
            "grp and k3 exchanged": replace(
                row, labels=replace(labels, grp=labels.k3, k3=labels.grp)),
            "k3 as a term": replace(row, labels=replace(labels, terms=labels.k3)),
        }.items():
            self.bad_meta(
                comment, "Binding", changed, CLOSED, keys=self.keychain.classes[6])
        keys = self.keychain.classes
        for comment, more in {
            "another keychain's identifier": {"identifier": self.other.identifier},
            "another keychain's keys": {"keys": self.other.classes[6]},
            "another class's keys": {"keys": keys[7]},
            "another class's metadata key": {"keys": (keys[6][0], keys[7][1])},
            "class key and metadata key exchanged": {"keys": keys[6][::-1]},
        }.items():
            self.bad_meta(comment, "Binding", row, CLOSED, **more)
        self.bad_secret(
            "another class's class key", "Binding", PASSWORD, row, ROW_KEY,
            keys=(keys[7][0], keys[6][1]))
        self.bad_secret(
            "another keychain's class key", "Binding", PASSWORD, row, ROW_KEY,
            keys=(self.other.classes[6][0], keys[6][1]))
        for protection in (5, 13):
            binding = Binding(
                self.keychain.identifier, row.uuid, protection, "genp", labels)
            unknown = dict(self.keychain.classes) | {protection: keys[6]}
            writer = RowWriter(replace(self.keychain, classes=unknown), self.random)
            secret = writer.secret(padded(SECRET, SECRET_FLOOR), 0, binding)
            changed = writer.finished(PASSWORD, binding, secret)
            self.bad_meta(
                f"a protection class of {protection}", "Binding", changed,
                f"the protection class is {protection}", keys=keys[6])

    def changed_bindings(self, binding: Binding) -> dict[str, Binding]:
        labels = binding.labels
        return {
            "identifier": replace(binding, identifier=self.other.identifier),
            "uuid": replace(binding, uuid=flipped(binding.uuid, -1)),
            "protection": replace(binding, protection=8),
            **{
                name: replace(binding, labels=replace(
                    labels, **{name: flipped(vars(labels)[name], -1)}))
                for name in ("grp", "k1", "k2", "k3", "terms")
            },
            "k1 and k2, which are exchanged": replace(
                binding, labels=replace(labels, k1=labels.k2, k2=labels.k1)),
        }

    def bindings_of_metadata(self) -> None:
        key = self.keychain.classes[6][1]

        def add(comment: str, associated: bytes) -> None:
            plaintext = padded(PASSWORD.record(row.secret[-16:]), META_FLOOR)
            box = self.writer.box(key, plaintext, associated)
            changed = replace(row, meta=b"KCM2" + u32(8 + len(box)) + box)
            self.bad_meta(f"metadata bound to {comment}", "Binding", changed, CLOSED)

        row, binding = self.base()
        for comment, other in self.changed_bindings(binding).items():
            add(f"another {comment}", other.of_metadata())
        whole = binding.of_metadata()
        add("the magic of a row key", binding.of_metadata(b"KCR2"))
        add("nothing", b"")
        add("no terms", whole[:-16])
        add("the class too", whole[:37] + b"genp" + whole[37:])
        add("the group behind the key", whole[:37] + whole[53:101] + whole[37:53]
            + whole[101:])

    def bindings_of_secret(self) -> None:
        plaintext = padded(SECRET, SECRET_FLOOR)

        def add(comment: str, reason: str, change: Callable[[Binding], dict]) -> None:
            row = self.sealed_so(plaintext, change=change)
            self.bad_secret(comment, "Binding", PASSWORD, row, reason)

        def other(binding: Binding, name: str) -> Binding:
            if name == "class":
                return replace(binding, item_class="inet")
            return self.changed_bindings(binding)[name]

        for name in (
            "identifier", "uuid", "protection", "class", "grp", "k1", "k2", "k3",
            "k1 and k2, which are exchanged",
        ):
            add(f"a row key bound to another {name}", ROW_KEY, lambda binding: {
                "of_row_key": other(binding, name).of_row_key()})
        add("a row key bound to the terms too", ROW_KEY, lambda binding: {
            "of_row_key": binding.of_row_key() + binding.labels.terms})
        add("a row key bound to no labels", ROW_KEY, lambda binding: {
            "of_row_key": binding.of_secret(b"KCR2")})
        add("a row key bound to the magic of the secret", ROW_KEY, lambda binding: {
            "of_row_key": binding.of_row_key(b"KCS2")})
        for name in ("identifier", "uuid", "protection", "class"):
            add(f"a secret bound to another {name}", SECRET_BOX, lambda binding: {
                "of_secret": other(binding, name).of_secret()})
        add("a secret bound to the labels too", SECRET_BOX, lambda binding: {
            "of_secret": binding.of_row_key(b"KCS2")})
        add("a secret bound to the magic of the row key", SECRET_BOX, lambda binding: {
            "of_secret": binding.of_secret(b"KCR2")})
        add("a secret bound to nothing but the magic", SECRET_BOX, lambda binding: {
            "of_secret": b"KCS2"})

    def moments(self) -> None:
        """Halves of other rows, and of this one at another time."""
        flag = "Binding"
        row, binding = self.base()
        other, _ = self.base()
        earlier = self.writer.row(PASSWORD, 6, b"hunter1", row.uuid)
        self.bad_meta("the metadata of another row", flag, replace(
            row, meta=other.meta), CLOSED)
        self.bad_secret("the secret of another row", flag, PASSWORD, replace(
            row, secret=other.secret), TAG, row.secret[-16:])
        self.bad_secret("an earlier secret of the same row", flag, PASSWORD, replace(
            row, secret=earlier.secret), TAG, row.secret[-16:])
        self.bad_secret("the metadata of an earlier state of the row", flag, PASSWORD,
                        replace(row, meta=earlier.meta), TAG, earlier.secret[-16:])
        self.bad_secret("the row key of an earlier secret", flag, PASSWORD, replace(
            row, secret=row.secret[:12] + earlier.secret[12:80] + row.secret[80:]),
            SECRET_BOX)
        self.bad_secret("an earlier secret with this one's tag", flag, PASSWORD, replace(
            row, secret=row.secret[:80] + earlier.secret[80:-16] + row.secret[-16:]),
            SECRET_BOX)
        self.bad_secret("no secret where the metadata tell of one", flag, PASSWORD,
                        replace(row, secret=None), PRESENT, row.secret[-16:])
        bare = self.writer.row(BARE, 6, None)
        self.add("a secret where the metadata tell of none", flag, replace(
            bare, secret=row.secret), PRESENT, "secret", record=BARE.record(None))

        # A change of the key: the row key is sealed anew, the box of the secret stays.
        row_key = self.random.take(32)
        plaintext = padded(SECRET, SECRET_FLOOR)
        before = self.writer.secret(plaintext, 0, binding, row_key=row_key)
        for comment, item in {
            "group": replace(PASSWORD, group="another"),
            "account": replace(
                PASSWORD, attributes={**PASSWORD.attributes, "acct": text("bob")}),
        }.items():
            moved = self.writer.binding(item, 6, row.uuid)
            again = self.writer.secret(plaintext, 0, moved, row_key=row_key)
            anew = self.writer.secret(plaintext, 0, moved, row_key=row_key)
            secret = anew[:80] + before[80:]
            after = self.writer.finished(item, moved, secret)
            self.add_valid(
                f"another {comment}, under the same row key", "Opens", item, after, SECRET)
            self.add_valid(
                f"another {comment}, the same row key sealed once more", "Opens", item,
                replace(after, secret=again[:80] + before[80:]), SECRET)
            self.bad_secret(
                f"the row key as it was before the {comment} was another", flag, item,
                replace(after, secret=before), ROW_KEY)

    def constraints(self) -> None:
        flag, plaintext = "Constraints", padded(SECRET, SECRET_FLOOR)
        for comment, own, beside in (
            ("none in the record", 0, PRESENCE),
            ("none beside the row key", PRESENCE, 0),
            ("more beside the row key", PRESENCE, PRESENCE | 2),
            ("fewer beside the row key", PRESENCE | 2, PRESENCE),
            ("an unknown bit beside the row key", PRESENCE, PRESENCE | 1 << 63),
            ("least significant byte first", PRESENCE, 1 << 56),
            ("the application password's in the record alone", PASSWORD_BIT, 0),
            ("the application password's beside the row key alone", 0, PASSWORD_BIT),
        ):
            item = replace(PASSWORD, constraints=own)
            row = self.sealed_so(plaintext, item, beside)
            self.bad_secret(
                comment, flag, item, row, DISAGREE,
                password=b"correct horse" if own == PASSWORD_BIT else None)

        item = replace(PASSWORD, constraints=PRESENCE)
        binding = self.writer.binding(item, 6, self.random.take(16))
        row_key = self.random.take(32)
        before = self.writer.secret(plaintext, 0, binding, row_key=row_key)
        anew = self.writer.secret(plaintext, PRESENCE, binding, row_key=row_key)
        after = self.writer.finished(item, binding, anew[:80] + before[80:])
        self.add_valid(
            "other constraints, under the same row key", flag, item, after, SECRET)
        self.bad_secret(
            "the row key as it was before the constraints were others", flag, item,
            replace(after, secret=before), DISAGREE)

        class_key = self.keychain.classes[6][0]
        head, sealed = anew[:12], anew[80:]
        for comment, reason, opened in (
            ("in front of the row key", DISAGREE, u64(PRESENCE) + row_key),
            ("of 7 bytes", ROW_KEY, row_key + u64(PRESENCE)[1:]),
            ("of 9 bytes", ROW_KEY, row_key + b"\0" + u64(PRESENCE)),
        ):
            box = self.writer.box(class_key, opened, binding.of_row_key())
            secret = head[:4] + u64(12 + len(box) + len(sealed)) + box + sealed
            self.bad_secret(
                comment, flag, item, self.writer.finished(item, binding, secret), reason)

    def labels(self) -> None:
        def add(
            comment: str, item: Item, change: Callable[[Labels], Labels],
            protection: int = 6,
        ) -> None:
            binding = self.writer.binding(item, protection, self.random.take(16))
            binding = replace(binding, labels=change(binding.labels))
            secret = self.writer.secret(
                padded(SECRET, SECRET_FLOOR), item.constraints, binding)
            row = self.writer.finished(item, binding, secret)
            self.add(
                comment, "Labels", row, WRONG_LABELS, "labels",
                record=item.record(secret[-16:]))

        keys = self.keychain.index_keys
        add("a guarded row under the open tier's index key", PASSWORD,
            lambda _: labels_of(PASSWORD, keys["open"]))
        add("an open row under the guarded tier's index key", PASSWORD,
            lambda _: labels_of(PASSWORD, keys["guarded"]), 8)
        add("an open row of class 11 under the guarded tier's index key", PASSWORD,
            lambda _: labels_of(PASSWORD, keys["guarded"]), 11)
        add("no label of the server, as in version 1", WEB_PASSWORD,
            lambda labels: replace(labels, terms=labels.terms[16:]))
        add("the label of the server behind the others", WEB_PASSWORD,
            lambda labels: replace(labels, terms=labels.terms[16:] + labels.terms[:16]))
        add("the label of the server twice", WEB_PASSWORD,
            lambda labels: replace(labels, terms=labels.terms[:16] + labels.terms))
        bare = Item("inet", {"srvr": text("www.example")})
        add("no label of a server of which nothing is set", bare,
            lambda labels: replace(labels, terms=b""))
        add("the label of another server", WEB_PASSWORD, lambda labels: replace(
            labels, terms=labels_of(bare, keys["guarded"]).terms[:16]
            + labels.terms[16:]))
        add("a label of a server in a generic password", PASSWORD,
            lambda labels: replace(labels, terms=hmac_sha256(
                keys["guarded"], row_writer.server_input(PASSWORD))[:16] + labels.terms))
        for name in ("grp", "k1", "k2", "k3", "terms"):
            add(f"{name} of another value", PASSWORD, lambda labels: replace(
                labels, **{name: flipped(vars(labels)[name], 0)}))
        add("no terms", PASSWORD, lambda labels: replace(labels, terms=b""))

    def damage(self) -> None:
        row, _ = self.base()
        magic = "the metadata have another magic"
        size = "the metadata have another size than they say"
        for comment, at, reason in (
            ("magic", 3, magic), ("size", 7, size), ("high byte of the size", 4, size),
            ("nonce", 8, CLOSED), ("ciphertext", 20, CLOSED),
            ("last byte of the ciphertext", -17, CLOSED), ("tag", -1, CLOSED),
        ):
            self.bad_meta(f"the metadata's {comment} changed", "Damage", replace(
                row, meta=flipped(row.meta, at)), reason)
        for comment, meta, reason in (
            ("the metadata's last byte missing", row.meta[:-1], size),
            ("a byte after the metadata", row.meta + b"\0", size),
            ("no metadata", b"", "the metadata are too short"),
            ("the metadata's head only", row.meta[:8], "the metadata are too short"),
            ("metadata of 35 bytes", b"KCM2" + u32(35) + row.meta[8:35],
             "the metadata are too short"),
        ):
            self.bad_meta(comment, "Damage", replace(row, meta=meta), reason)

        magic = "the secret has another magic"
        size = "the secret has another size than it says"
        for comment, at, reason in (
            ("magic", 3, magic), ("size", 11, size), ("high byte of the size", 4, size),
            ("row key's nonce", 12, ROW_KEY), ("row key", 24, ROW_KEY),
            ("constraints", 63, ROW_KEY), ("row key's tag", 79, ROW_KEY),
            ("nonce", 80, SECRET_BOX), ("ciphertext", 92, SECRET_BOX),
            ("last byte of the ciphertext", -17, SECRET_BOX), ("tag", -1, TAG),
        ):
            self.bad_secret(f"the secret's {comment} changed", "Damage", PASSWORD, replace(
                row, secret=flipped(row.secret, at)), reason, row.secret[-16:])
        short = "the secret is too short"
        for comment, secret, reason in (
            ("the secret's last byte missing", row.secret[:-1], size),
            ("a byte after the secret", row.secret + b"\0", size),
            ("no bytes in the secret", b"", short),
            ("the secret's head only", row.secret[:12], short),
            ("a secret of 107 bytes",
             b"KCS2" + u64(107) + row.secret[12:91] + row.secret[-16:], short),
        ):
            self.bad_secret(comment, "Damage", PASSWORD, replace(
                row, secret=secret), reason, row.secret[-16:])

    def padding_of_metadata(self) -> None:
        record = BARE.record(None)
        whole = padded(record, META_FLOOR)
        long = replace(BARE, attributes={"icmt": text("x" * 100)}).record(None)
        longer = padded(long, META_FLOOR)

        def add(comment: str, plaintext: bytes, reason: str, item: Item = BARE) -> None:
            self.bad_meta(
                f"metadata, {comment}", "Padding", self.with_meta(plaintext, item), reason)

        add("not padded", record, ENDS)
        add("the floor not kept", padded(record, 0), STEP)
        add("the floor of secrets", padded(record, SECRET_FLOOR), STEP)
        add("a byte less than the floor", whole[:-1], STEP)
        add("a byte more than the floor", whole + b"\0", STEP)
        add("the next size above the floor", whole + bytes(16), STEP)
        add("a byte less than the step", longer[:-1], STEP)
        add("a byte more than the step", longer + b"\0", STEP)
        add("the next step", longer + bytes(16), STEP)
        add("a power of two", u32(len(long)) + long + bytes(256 - 4 - len(long)), STEP)
        add("no step at all", u32(len(long)) + long, STEP)
        end = 4 + len(record)
        add("the first byte behind the record not zero", flipped(whole, end), NONZERO)
        add("the last byte not zero", flipped(whole, -1, 0x80), NONZERO)
        add("a byte between not zero", flipped(whole, end + 10, 0xFF), NONZERO)
        add("no bytes", b"", SHORTER)
        add("a byte less than the size's", bytes(3), SHORTER)
        add("the size alone", bytes(4), STEP)
        add("no record", padded(b"", META_FLOOR), "a record ends early")
        add("a size one too small", u32(len(record) - 1) + whole[4:],
            "a record ends early")
        add("a size one too large", u32(len(record) + 1) + whole[4:],
            "a record has bytes after its last field")
        add("a size as large as there are bytes", u32(124) + whole[4:],
            "a record has bytes after its last field")
        add("a size one larger than there are bytes", u32(125) + whole[4:], ENDS)
        add("a size of 4 GiB - 1", b"\xff" * 4 + whole[4:], ENDS)
        add("least significant byte first", whole[3::-1] + whole[4:], ENDS)
        add("padded twice", padded(whole, META_FLOOR), "a record has the version 0")
        add("a record of version 2", padded(b"\x02" + record[1:], META_FLOOR),
            "a record has the version 2")
        add("a record with a byte more", padded(record + b"\0", META_FLOOR),
            "a record has bytes after its last field")

    def padding_of_secret(self) -> None:
        whole = padded(SECRET, SECRET_FLOOR)
        longer = padded(bytes(range(1, 62)), SECRET_FLOOR)

        def add(comment: str, plaintext: bytes, reason: str) -> None:
            self.bad_secret(
                f"secret, {comment}", "Padding", PASSWORD, self.sealed_so(plaintext),
                reason)

        add("not padded", SECRET, ENDS)
        add("the floor not kept", padded(SECRET, 0), STEP)
        add("the floor of metadata", padded(SECRET, META_FLOOR), STEP)
        add("a byte less than the floor", whole[:-1], STEP)
        add("a byte more than the floor", whole + b"\0", STEP)
        add("the next size above the floor", whole + bytes(4), STEP)
        add("a byte less than the step", longer[:-1], STEP)
        add("a byte more than the step", longer + b"\0", STEP)
        add("the next step", longer + bytes(8), STEP)
        add("a power of two", longer + bytes(128 - len(longer)), STEP)
        add("no step at all", longer[:65], STEP)
        add("the first byte behind the secret not zero", flipped(whole, 11), NONZERO)
        add("the last byte not zero", flipped(whole, -1, 0x80), NONZERO)
        add("no bytes", b"", SHORTER)
        add("a byte less than the size's", bytes(3), SHORTER)
        add("the size alone", bytes(4), STEP)
        add("a size one too small", u32(6) + whole[4:], NONZERO)
        add("a size of 29, which has another step", u32(29) + whole[4:], ENDS)
        add("a size of 4 GiB - 1", b"\xff" * 4 + whole[4:], ENDS)
        add("least significant byte first", whole[3::-1] + whole[4:], ENDS)

    def version1(self) -> None:
        flag = "Version1"
        row, binding = self.base()
        class_key, metadata_key = self.keychain.classes[6]
        record = PASSWORD.record(row.secret[-16:])
        magic = "the metadata have another magic"
        for comment, head, associated, plaintext, reason in (
            ("metadata of version 1", b"KCM1", b"KCM1", record, magic),
            ("metadata of version 1, padded", b"KCM1", b"KCM1",
             padded(record, META_FLOOR), magic),
            ("metadata with the magic of version 1", b"KCM1", b"KCM2",
             padded(record, META_FLOOR), magic),
            ("metadata bound to the magic of version 1", b"KCM2", b"KCM1",
             padded(record, META_FLOOR), CLOSED),
        ):
            box = self.writer.box(
                metadata_key, plaintext, binding.of_metadata(associated))
            meta = head + u32(8 + len(box)) + box
            self.bad_meta(comment, flag, replace(row, meta=meta), reason)

        row_key = self.random.take(32)
        plaintext = padded(SECRET, SECRET_FLOOR)
        one = binding.of_secret(b"KCRK")
        magic = "the secret has another magic"
        for comment, head, beside, of_row_key, of_secret, content, reason in (
            ("a secret of version 1", b"KCS1", b"", one, b"KCS1", SECRET * 5, magic),
            ("a secret with the magic of version 1", b"KCS1", u64(0),
             binding.of_row_key(), b"KCS2", plaintext, magic),
            ("a row key alone in its box", b"KCS2", b"", binding.of_row_key(), b"KCS2",
             plaintext, ROW_KEY),
            ("a row key bound as in version 1", b"KCS2", u64(0), one, b"KCS2", plaintext,
             ROW_KEY),
            ("a row key bound to the magic of version 1", b"KCS2", u64(0),
             binding.of_row_key(b"KCRK"), b"KCS2", plaintext, ROW_KEY),
            ("a secret bound to the magic of version 1", b"KCS2", u64(0),
             binding.of_row_key(), b"KCS1", plaintext, SECRET_BOX),
            ("a secret that isn't padded, as in version 1", b"KCS2", u64(0),
             binding.of_row_key(), b"KCS2", SECRET, ENDS),
        ):
            boxes = self.writer.box(class_key, row_key + beside, of_row_key)
            boxes += self.writer.box(row_key, content, binding.of_secret(of_secret))
            secret = head + u64(12 + len(boxes)) + boxes
            self.bad_secret(
                comment, flag, PASSWORD, self.writer.finished(PASSWORD, binding, secret),
                reason)

    def passwords(self) -> None:
        item = replace(PASSWORD, constraints=PASSWORD_BIT)
        right = b"correct horse"

        def row(
            content: Callable[[Binding], bytes], item: Item = item
        ) -> Columns:
            binding = self.writer.binding(item, 6, self.random.take(16))
            secret = self.writer.secret(
                padded(content(binding), SECRET_FLOOR), item.constraints, binding)
            return self.writer.finished(item, binding, secret)

        def valid(comment: str, item: Item, password: bytes, secret: bytes, **more: Any) -> None:
            made = row(lambda binding: self.writer.password_content(
                item, binding, password, secret, **more), item)
            self.add_valid(comment, "Password", item, made, secret, password)

        def invalid(
            comment: str, reason: str, content: Callable[[Binding], bytes],
            password: bytes = right, failure: str = "secret",
        ) -> None:
            made = row(content)
            self.add(
                comment, "Password", made, reason, failure, password=password,
                record=item.record(made.secret[-16:]))

        def sealed(binding: Binding, **more: Any) -> bytes:
            return self.writer.password_content(item, binding, right, SECRET, **more)

        valid("a secret under an application password", item, right, SECRET)
        valid("the empty password", item, b"", SECRET)
        valid("an empty secret under a password", item, right, b"")
        valid("a secret of 100 bytes under a password", item, right, bytes(range(100)))
        valid("a key under presence, passcode and password", replace(
            KEY, constraints=PASSWORD_BIT | 1 << 4 | PRESENCE), right, SECRET)
        valid("another cost", item, right, SECRET, cost=(4, 1, 2))

        wrong = "applicationPassword"
        invalid("another password", WRONG_PASSWORD, sealed, b"correct horsf", wrong)
        invalid("the password and a zero byte", WRONG_PASSWORD, sealed, right + b"\0", wrong)
        for comment, change in {
            "keychain": lambda b: replace(b, identifier=self.other.identifier),
            "item": lambda b: replace(b, uuid=flipped(b.uuid, 0)),
            "protection class": lambda b: replace(b, protection=8),
            "class": lambda b: replace(b, item_class="inet"),
        }.items():
            invalid(f"a content of another {comment}", WRONG_PASSWORD,
                    lambda binding: sealed(change(binding)), failure=wrong)
        more = replace(item, constraints=PASSWORD_BIT | PRESENCE)
        invalid("a content of other constraints", WRONG_PASSWORD,
                lambda binding: self.writer.password_content(more, binding, right, SECRET),
                failure=wrong)
        none = "a secret is none under an application password"
        invalid("no content", none, lambda _: b"")
        invalid("the secret itself", none, lambda _: SECRET)
        invalid("a content of 51 bytes", none, lambda binding: sealed(binding)[:51])
        invalid("another magic", none, lambda binding: flipped(sealed(binding), 3))
        invalid("a reserved byte that isn't zero", "a reserved byte of a secret is not zero",
                lambda binding: flipped(sealed(binding), 7))
        for at, value, comment in ((4, 0, "log2 N 0"), (4, 25, "log2 N 25"), (5, 33, "r 33")):
            invalid(f"a cost with {comment}", "the cost of a secret is beyond the limits",
                    lambda binding: (lambda c: c[:at] + bytes([value]) + c[at + 1 :])(
                        sealed(binding)))
        invalid("a changed box", WRONG_PASSWORD,
                lambda binding: flipped(sealed(binding), -1), failure=wrong)


def rows() -> VectorFile:
    return Rows().make()


def headers() -> VectorFile:
    return header_vectors.headers(VectorFile)


FILES: dict[str, Callable[[], VectorFile]] = {
    "label-v2.json": labels, "row-v2.json": rows, "header-v2.json": headers,
}

if __name__ == "__main__":
    for name, make in FILES.items():
        (VECTORS / name).write_text(make().encoded(), encoding="utf-8")
