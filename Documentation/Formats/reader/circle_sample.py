"""A circle for the tests, and what the reader says of its records."""

import base64
import json
import unittest
from collections.abc import Callable
from typing import Any

import circle_writer as writing
from circle_writer import CircleWriter, Machine, grant, plaintext, version
from keychain_reader.circle_dump import read_dump, read_keys
from keychain_reader.circle_records import examine_circle
from keychain_reader.circle_report import circle_as_json
from row_writer import Item, Value, date, text

CODE = bytes(range(16))


def item(
    account: str, modified: float, group: str = "vault", deleted: bool = False,
    **others: Value,
) -> Item:
    attributes = {
        "acct": text(account), "svce": text("mail"), "cdat": date(1), "mdat": date(modified),
        **others,
    }
    return Item("genp", attributes, group, is_synchronizable=True, is_tombstone=deleted)


class Sample:
    """Four machines and a recovery code, with one of each kind of entry.

    The desk founded the circle; its first two entries are deleted, as its third one has
    all that is needed of them. The laptop was removed; the desk copied what counts of its
    log, and retired it. The phone joined with a token and sees the group `web` only. The
    tablet was suspended, and came back.
    """

    def __init__(self) -> None:
        names = ("desk", "laptop", "phone", "tablet", "stranger", "key of a token")
        made = [Machine.make(name) for name in names]
        self.desk, self.laptop, self.phone, self.tablet, self.stranger, self.token = made
        salt = writing.RANDOM.take(16)
        self.recovery = writing.recovery(CODE, salt)
        self.circle = circle = CircleWriter(self.desk, self.recovery, salt)
        circle.found()
        self.web, self.vault = circle.group_key("web"), circle.group_key("vault")
        self.later = circle.group_key("vault", 1)
        self._older_entries()
        self._later_entries()
        for machine in (self.desk, self.phone, self.tablet):
            circle.sign_head(machine)
        circle.sign_head(self.laptop, circle.membership(4), circle.head(self.laptop, 3))
        token = circle.token(self.token, self.desk, ["web"], 2)
        circle.request_with_token(token, self.token, self.phone)
        self.attempt, self.digits = circle.join(self.stranger, self.desk)
        name = writing.sha256(self.stranger.description)[:8].hex()
        circle.records[f"j/{name}/d"] = self.stranger.description
        circle.records[f"j/{name}/x"] = b"KCSJ\x01\x04\x00\x00"

    def grants(self) -> list[writing.Part]:
        keys, key = [self.web, self.vault], self.circle.circle_key
        everyone = (self.desk, self.recovery, self.laptop, self.tablet)
        return [grant(one, keys, key) for one in everyone]

    def _older_entries(self) -> None:
        circle, desk, laptop = self.circle, self.desk, self.laptop
        phone, tablet, vault = self.phone, self.tablet, self.vault
        circle.add(laptop, desk, at=circle.heads((desk, 0)))
        circle.append(desk, *self.grants(), known=2)
        circle.append(desk, version(vault, plaintext(item("alice", 10), b"first")), known=2)
        # Later than the desk's of the same item.
        circle.append(
            laptop, version(vault, plaintext(item("alice", 20), b"second")), known=2,
            read=circle.heads((desk, 2)),
        )
        token = writing.token_identifier(self.token)
        circle.add(phone, desk, ["web"], token, at=circle.heads((desk, 2), (laptop, 1)))
        circle.add(tablet, desk)
        circle.append(
            laptop, version(vault, plaintext(item("bob", 30, deleted=True))),
            version(vault, plaintext(item("carol", 30), b"of the laptop")),
        )
        # As old as the laptop's deletion and as its value.
        bob = version(vault, plaintext(item("bob", 30), b"never deleted"))
        carol = version(vault, plaintext(item("carol", 30), b"of the tablet"))
        circle.append(tablet, bob, carol, known=4, read=circle.heads((laptop, 2)))
        circle.append(laptop, version(vault, plaintext(item("dave", 1), b"dave")), clean=True)
        circle.append(laptop, version(vault, plaintext(item("dave", 2), b"void")))
        circle.append(tablet, version(vault, plaintext(item("erin", 2), b"void")))

    def _later_entries(self) -> None:
        circle, desk, laptop = self.circle, self.desk, self.laptop
        phone, tablet = self.phone, self.tablet
        circle.append(
            desk, *self.grants(), grant(phone, [self.web], circle.circle_key),
            version(self.web, plaintext(item("wiki", 5, "web"), b"old")),
            version(self.vault, plaintext(item("alice", 10), b"first")),
            known=4, first=3, clean=True,
        )
        for index in (1, 2):
            del circle.records[f"l/{desk.id.hex()}/{index:016x}"]
        wiki = version(self.web, plaintext(item("wiki", 6, "web"), b"new"))
        beyond = version(self.vault, plaintext(item("mallory", 99), b"beyond the scope"))
        circle.append(phone, wiki, beyond, known=4, read=circle.heads((desk, 3)))
        circle.close(4, tablet, desk, circle.heads((tablet, 1)))
        ends = circle.heads((desk, 3), (laptop, 3), (phone, 1), (tablet, 1))
        circle.close(3, laptop, desk, ends)
        everyone = (desk, self.recovery, tablet)
        circle.append(
            desk, *(grant(one, [self.later], circle.circle_key) for one in everyone),
            version(self.later, plaintext(item("alice", 20), b"second")),
            version(self.later, plaintext(item("bob", 30, deleted=True))),
            version(self.later, plaintext(item("carol", 30), b"of the laptop")),
            version(self.later, plaintext(item("dave", 1), b"dave")),
            version(self.later, plaintext(item("frank", 7), b"", protection=8)),
            version(self.later, plaintext(item("gina", 7))),
            first=3,
        )
        circle.close(5, laptop, desk, circle.heads((laptop, 3), (desk, 4)))
        erin = version(self.later, plaintext(item("erin", 3), b"again"))
        circle.append(tablet, erin, read=circle.heads((desk, 4), (laptop, 3)))


def flipped(data: bytes, at: int) -> bytes:
    result = bytearray(data)
    result[at] ^= 1
    return bytes(result)


Report = dict[str, Any]


def read(circle: CircleWriter, keys: dict[str, str]) -> Report:
    (records,) = read_dump(circle.as_etcd())
    report = circle_as_json(examine_circle(records, read_keys(json.dumps(keys))))
    json.dumps(report, allow_nan=False)
    return report


def values(report: Report) -> dict[str, str | None]:
    return {
        shown["attributes"]["acct"]["value"]: shown["value_base64"]
        for shown in report["items"]
    }


def said(report: Report, kind: str = "problems") -> list[tuple[str, str]]:
    return [(one["record"], one["text"]) for one in report["verification"][kind]]


def encoded(**values: bytes | None) -> dict[str, str | None]:
    return {
        name: None if value is None else base64.b64encode(value).decode()
        for name, value in values.items()
    }


def log_key(machine: Machine, index: int) -> str:
    return f"l/{machine.id.hex()}/{index:016x}"


class CircleTestCase(unittest.TestCase):
    """Changes a copy of the sample's records, and reads them."""

    sample: Sample

    @classmethod
    def setUpClass(cls) -> None:
        cls.sample = Sample()

    def after(
        self, change: Callable[[CircleWriter], None], reader: Machine | None = None
    ) -> Report:
        circle = self.sample.circle.copy()
        change(circle)
        return read(circle, (reader or self.sample.desk).keys())

    def check(
        self, change: Callable[[CircleWriter], None], where: str, what: str,
        reader: Machine | None = None, kind: str = "problems",
    ) -> Report:
        report = self.after(change, reader)
        found = said(report, kind)
        self.assertTrue(
            any(place == where and what in reason for place, reason in found),
            f"{where}: {what} isn't in {found}",
        )
        return report

    def check_accepted(
        self, change: Callable[[CircleWriter], None], reader: Machine | None = None
    ) -> Report:
        report = self.after(change, reader)
        self.assertEqual(said(report), [])
        return report

    def check_record(
        self, key: str, change: Callable[[bytes], bytes | None], what: str,
        where: str | None = None,
    ) -> Report:
        def apply(circle: CircleWriter) -> None:
            changed = change(circle.records.pop(key))
            if changed is not None:
                circle.records[key] = changed

        return self.check(apply, where or key, what)
