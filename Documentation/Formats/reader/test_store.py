"""Opens keychains that the library wrote.

    KEYCHAIN_READER_STORE=FOLDER python -m unittest test_store

FOLDER holds one folder for each keychain and `expected.json`, a list of
{"folder", "passcode" (or null), "application_password", "items": [{"class",
"first_base64", "second_base64", "group", "constraints", "secret_base64" (or
null)}]}: the two key attributes and the secret as bytes. The items are those that
can be opened with passcode and password and are no tombstones. Where the keychains are copies
of another owner or mode, KEYCHAIN_READER_COPY=1 says so.
"""

import base64
import json
import os
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

from keychain_reader.attributes import CLASSES
from keychain_reader.constraints import requires_password
from keychain_reader.errors import FormatError
from keychain_reader.examine import Examination, Item, examine
from keychain_reader.keychain import open_keychain

VARIABLE = "KEYCHAIN_READER_STORE"
IS_COPY = os.environ.get("KEYCHAIN_READER_COPY") == "1"

ItemKey = tuple[str, str, str, str, int, str | None]


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def found_key(item: Item) -> ItemKey:
    record = item.record
    assert record is not None
    item_class = CLASSES[record.item_class]
    first = record.attributes[item_class.first_key]
    second = record.attributes[item_class.second_key]
    return (
        record.item_class,
        base64_of(first.data),
        base64_of(second.data),
        record.access_group.decode("utf-8"),
        record.constraints,
        None if item.secret is None else base64_of(item.secret),
    )


def expected_key(item: dict[str, Any]) -> ItemKey:
    return (
        item["class"],
        item["first_base64"],
        item["second_base64"],
        item["group"],
        item["constraints"],
        item.get("secret_base64"),
    )


class StoreTests(unittest.TestCase):
    root: Path
    keychains: list[dict[str, Any]]

    @classmethod
    def setUpClass(cls) -> None:
        # A skipped test would look like a passed one.
        if not os.environ.get(VARIABLE):
            raise AssertionError(f"{VARIABLE} names no folder")
        cls.root = Path(os.environ[VARIABLE])
        expected = (cls.root / "expected.json").read_text(encoding="utf-8")
        cls.keychains = json.loads(expected)

    def opened(
        self,
        keychain: dict[str, Any],
        passcode: str | None,
        password: str | None = None,
    ) -> Examination:
        encoded = None if passcode is None else passcode.encode("utf-8")
        folder = self.root / keychain["folder"]
        opened = open_keychain(folder, encoded, IS_COPY)
        return examine(opened, None if password is None else password.encode("utf-8"))

    def test_there_is_something_to_open(self) -> None:
        self.assertGreater(len(self.keychains), 0)
        self.assertGreater(sum(len(k["items"]) for k in self.keychains), 0)
        folders = {path.name for path in self.root.iterdir() if path.is_dir()}
        self.assertEqual(folders, {k["folder"] for k in self.keychains})

    def test_everything_is_as_the_documents_demand(self) -> None:
        for keychain in self.keychains:
            with self.subTest(folder=keychain["folder"]):
                examination = self.opened(keychain, keychain.get("passcode"))
                self.assertEqual(examination.problems, [])

    def test_items(self) -> None:
        for keychain in self.keychains:
            with self.subTest(folder=keychain["folder"]):
                examination = self.opened(
                    keychain, keychain.get("passcode"), keychain["application_password"]
                )
                found = Counter(
                    found_key(item)
                    for item in examination.items
                    if item.record is not None and not item.record.is_tombstone
                )
                expected = Counter(map(expected_key, keychain["items"]))
                self.assertEqual(found, expected)

    def test_application_passwords(self) -> None:
        for keychain in self.keychains:
            for password in (None, "", keychain["application_password"] + "x"):
                with self.subTest(folder=keychain["folder"], password=password):
                    passcode = keychain.get("passcode")
                    examination = self.opened(keychain, passcode, password)
                    self.assertEqual(examination.problems, [])
                    closed = [i for i in examination.items if i.needs_password]
                    expected = [
                        item
                        for item in keychain["items"]
                        if requires_password(item["constraints"])
                    ]
                    self.assertGreater(len(closed), 0)
                    self.assertEqual(len(closed), len(expected))
                    self.assertEqual([i.secret for i in closed], [None] * len(closed))

    def test_there_are_items_of_every_class(self) -> None:
        for keychain in self.keychains:
            found = {item["class"] for item in keychain["items"]}
            self.assertEqual(found, set(CLASSES))

    def test_wrong_passcodes(self) -> None:
        for keychain in self.keychains:
            passcode = keychain.get("passcode") or ""
            with self.subTest(folder=keychain["folder"]):
                with self.assertRaises(FormatError) as caught:
                    self.opened(keychain, passcode + "x")
                self.assertEqual(caught.exception.failure, "wrongPasscode")

    def test_without_passcode_nothing_is_damaged(self) -> None:
        for keychain in self.keychains:
            with self.subTest(folder=keychain["folder"]):
                examination = self.opened(keychain, None)
                self.assertEqual(examination.problems, [])
                for item in examination.items:
                    self.assertEqual(item.is_locked, item.record is None)

    def test_command(self) -> None:
        for keychain in self.keychains:
            with self.subTest(folder=keychain["folder"]):
                status, report = self.run_command(keychain)
                self.assertEqual(status, 0, report)
                self.assertTrue(report["verification"]["is_sound"])
                closed = [i for i in report["items"] if i.get("needs_application_password")]
                self.assertEqual(closed, [])

    def run_command(self, keychain: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        command = [sys.executable, "-m", "keychain_reader"]
        command += ["--copy"] if IS_COPY else []
        passcode = keychain.get("passcode")
        if passcode is not None:
            # Standard input is a descriptor like any other.
            command += ["--passcode-fd", "0"]
        # What a pipe holds without a reader is more than any password.
        reading, writing = os.pipe()
        os.write(writing, keychain["application_password"].encode("utf-8"))
        os.close(writing)
        command += ["--application-password-fd", str(reading)]
        command.append(str((self.root / keychain["folder"]).resolve()))
        done = subprocess.run(
            command,
            input=(passcode or "").encode("utf-8"),
            capture_output=True,
            pass_fds=[reading],
            cwd=Path(__file__).resolve().parent,
            check=False,
        )
        os.close(reading)
        self.assertEqual(done.stderr, b"")
        return done.returncode, json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
