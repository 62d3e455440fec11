"""Opens keychains that the library wrote.

    KEYCHAIN_READER_STORE=FOLDER python -m unittest test_store

FOLDER holds one folder for each keychain and `expected.json`, a list of
{"folder", "passcode" (or null), "items": [{"class", "account", "service" or
"server", "group", "secret_base64" (or null)}]}. The items are those that can be
opened with the passcode and are no tombstones. Where the keychains are copies
of another owner or mode, KEYCHAIN_READER_COPY=1 says so.
"""

import base64
import json
import os
import struct
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

from keychain_reader.attributes import NUMBER, Value
from keychain_reader.errors import FormatError
from keychain_reader.examine import Examination, Item, examine
from keychain_reader.keychain import open_keychain

VARIABLE = "KEYCHAIN_READER_STORE"
IS_COPY = os.environ.get("KEYCHAIN_READER_COPY") == "1"

ItemKey = tuple[str, str | None, str | None, str, str | None]
SERVICE_NAMES = {"genp": ("svce", "service"), "inet": ("srvr", "server")}


def text(value: Value | None) -> str | None:
    if value is None:
        return None
    if value.type == NUMBER:
        return str(struct.unpack(">q", value.data)[0])
    return value.data.decode("utf-8", "backslashreplace")


def found_key(item: Item) -> ItemKey:
    record = item.record
    assert record is not None
    service = SERVICE_NAMES[record.item_class][0]
    secret = item.secret
    return (
        record.item_class,
        text(record.attributes.get("acct")),
        text(record.attributes.get(service)),
        record.access_group.decode("utf-8"),
        None if secret is None else base64.b64encode(secret).decode("ascii"),
    )


def expected_key(item: dict[str, Any]) -> ItemKey:
    service = SERVICE_NAMES[item["class"]][1]
    return (
        item["class"],
        item.get("account"),
        item.get(service),
        item["group"],
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

    def opened(self, keychain: dict[str, Any], passcode: str | None) -> Examination:
        encoded = None if passcode is None else passcode.encode("utf-8")
        folder = self.root / keychain["folder"]
        return examine(open_keychain(folder, encoded, IS_COPY))

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
                examination = self.opened(keychain, keychain.get("passcode"))
                found = Counter(
                    found_key(item)
                    for item in examination.items
                    if item.record is not None and not item.record.is_tombstone
                )
                expected = Counter(map(expected_key, keychain["items"]))
                self.assertEqual(found, expected)

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

    def run_command(self, keychain: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        command = [sys.executable, "-m", "keychain_reader"]
        command += ["--copy"] if IS_COPY else []
        passcode = keychain.get("passcode")
        if passcode is not None:
            # Standard input is a descriptor like any other.
            command += ["--passcode-fd", "0"]
        command.append(str((self.root / keychain["folder"]).resolve()))
        done = subprocess.run(
            command,
            input=(passcode or "").encode("utf-8"),
            capture_output=True,
            cwd=Path(__file__).resolve().parent,
            check=False,
        )
        self.assertEqual(done.stderr, b"")
        return done.returncode, json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
