"""Runs every vector of every file in the folder `vectors`.

    python -m unittest test_vectors
"""

import json
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keychain_reader import page_tags
from keychain_reader.anchor import read_anchor
from keychain_reader.attributes import CLASSES, DATA, DATE, NUMBER, TEXT, Value
from keychain_reader.authenticated import committed_frames
from keychain_reader.circle import Circle
from keychain_reader.circle_keys import recovery_seed, signing_key_of
from keychain_reader.circle_reader import Reader
from keychain_reader.device_key import read_device_key, read_sealed_device_key
from keychain_reader.enclave import open_authorization, parse_blob
from keychain_reader.errors import FormatError
from keychain_reader.header import digest_of, read_header
from keychain_reader import header2, keybag2, row2
from keychain_reader.keybag_keys import ClassKeys, open_keybag
from keychain_reader.labels import (
    Labels,
    Space,
    attribute_label,
    group_label,
    labels_of,
    remaining_key_label,
)
from keychain_reader.pages import checksum
from keychain_reader.primitives import hkdf
from keychain_reader.record import Record, decode_record, encode_record
from keychain_reader.row import Row, open_metadata, open_row

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
TYPES = {"string": TEXT, "data": DATA, "number": NUMBER, "date": DATE}

Test = dict[str, Any]
Check = Callable[[unittest.TestCase, Test, dict[str, Any]], None]


def data(test: Test, name: str) -> bytes:
    return bytes.fromhex(test[name])


def values(fields: list[dict[str, str]]) -> dict[str, Value]:
    return {f["name"]: Value(TYPES[f["type"]], data(f, "value")) for f in fields}


def fails(
    case: unittest.TestCase, test: Test, call: Callable[[], object]
) -> None:
    with case.assertRaises(FormatError) as caught:
        call()
    if "failure" in test:
        case.assertEqual(caught.exception.failure, test["failure"])


def check_device_key(case: unittest.TestCase, test: Test, group: Test) -> None:
    def call() -> Any:
        return read_device_key(data(test, "file"))

    if test["result"] == "invalid":
        return fails(case, test, call)
    read = call()
    case.assertEqual(read.device_key, data(test, "deviceKey"))
    case.assertEqual(read.is_whole, test["isWhole"])


def check_sealed_device_key(
    case: unittest.TestCase, test: Test, group: Test
) -> None:
    def call() -> Any:
        return read_sealed_device_key(data(test, "file"))

    if test["result"] == "invalid":
        return fails(case, test, call)
    read = call()
    case.assertEqual(read.sealed, data(test, "sealed"))
    case.assertEqual(read.is_whole, test["isWhole"])


def check_enclave_key(case: unittest.TestCase, test: Test, group: Test) -> None:
    password = test.get("applicationPassword")

    def call() -> Any:
        blob = parse_blob(data(test, "blob"))
        return blob, open_authorization(
            blob, data(test, "keychainID"), data(test, "classKey"),
            None if password is None else bytes.fromhex(password),
        )

    if test["result"] == "invalid":
        return fails(case, test, call)
    blob, opened = call()
    case.assertEqual(blob.identifier, data(test, "identifier"))
    case.assertEqual(blob.protection, test["protection"])
    case.assertEqual(blob.constraints, int(test["constraints"], 16))
    case.assertEqual(blob.public_key, data(test, "publicKey"))
    case.assertEqual(blob.wrapped_key, data(test, "wrappedKey"))
    case.assertEqual((opened.enrollment or b"").hex(), test.get("enrollment", ""))
    case.assertEqual(opened.value, data(test, "authorization"))


def check_keybag(case: unittest.TestCase, test: Test, group: Test) -> None:
    device_key = data(test, "deviceKey")
    passcode = data(test, "passcode") if "passcode" in test else None

    def call() -> Any:
        return open_keybag(data(test, "keybag"), device_key, passcode)

    if test["result"] == "invalid":
        return fails(case, test, call)
    read, opened = call(), test["opened"]
    case.assertEqual(read.identifier, data(opened, "keychainID"))
    case.assertEqual(read.generation, opened["generation"])
    case.assertEqual(read.index_key, data(opened, "indexKey"))
    case.assertEqual(read.integrity_key, data(opened, "integrityKey"))
    case.assertEqual(device_key, data(opened, "deviceKey"))
    case.assertEqual(read.classes, class_keys(opened))


def check_keybag2(case: unittest.TestCase, test: Test, group: Test) -> None:
    names = {
        "passcode": "passcode", "recoveryCode": "recovery_code",
        "credential": "credential", "machine": "machine",
    }
    given = {name: data(test, field) for field, name in names.items() if field in test}

    def call() -> Any:
        return keybag2.open_keybag(data(test, "keybag"), data(test, "deviceKey"), **given)

    if test["result"] == "invalid":
        return fails(case, test, call)
    read, opened = call(), test["opened"]
    case.assertEqual(read.identifier, data(opened, "keychainID"))
    case.assertEqual(read.generation, opened["generation"])
    case.assertEqual(read.machine, opened["machine"])
    case.assertEqual(read.guarded is None, "guarded" not in opened)
    for tier, name in ((read.open, "open"), (read.guarded, "guarded")):
        if tier is not None:
            case.assertEqual(tier.index_key, data(opened[name], "indexKey"))
            case.assertEqual(tier.integrity_key, data(opened[name], "integrityKey"))
            case.assertEqual(tier.classes, class_keys(opened[name]))


def class_keys(opened: Test) -> dict[int, ClassKeys]:
    return {
        keys["protection"]: ClassKeys(data(keys, "classKey"), data(keys, "metadataKey"))
        for keys in opened["classes"]
    }


def check_label(case: unittest.TestCase, test: Test, group: Test) -> None:
    key = data(test, "indexKey")
    space = Space(test["itemClass"], test["isSynchronizable"], test["isTombstone"])
    fields = values(test["fields"])
    if test["domain"] == "attribute":
        ((name, value),) = fields.items()
        label = attribute_label(key, space, name, value)
    elif test["domain"] == "remainingKey":
        label = remaining_key_label(key, space, data(test, "accessGroup"), fields)
    elif test["domain"] == "server":
        label = row2.server_label(key, space, fields)
    else:
        case.assertEqual(test["domain"], "accessGroup")
        label = group_label(key, space, data(test, "accessGroup"))
    is_equal = label == data(test, "label")
    case.assertEqual(is_equal, test["result"] == "valid")


def check_record(case: unittest.TestCase, test: Test, group: Test) -> None:
    encoded = data(test, "encoded")
    if test["result"] == "invalid":
        return fails(case, test, lambda: decode_record(encoded))
    expected = test["record"]
    record = Record(
        item_class=expected["itemClass"],
        access_group=data(expected, "accessGroup"),
        is_synchronizable=expected["isSynchronizable"],
        is_tombstone=expected["isTombstone"],
        constraints=int(expected.get("constraints", "0"), 16),
        secret_tag=data(expected, "secretTag") if "secretTag" in expected else None,
        attributes=values(expected["attributes"]),
        enrollment=data(expected, "enrollment") if "enrollment" in expected else None,
        program=data(expected, "program") if "program" in expected else None,
    )
    case.assertEqual(decode_record(encoded), record)
    case.assertEqual(encode_record(record), encoded)


def check_row(case: unittest.TestCase, test: Test, group: Test) -> None:
    keychain = group["keychains"][test["keychain"]]
    keys = class_keys(keychain)[test["keysOfProtection"]]
    identifier = data(test, "keychainID")
    row = row_of(test)
    password = data(test, "applicationPassword") if "applicationPassword" in test else None
    if test["result"] == "invalid":
        fails(case, test, lambda: open_row(row, identifier, keys, password))
        if test["failure"] == "metadata":
            return
        record = open_metadata(row, identifier, keys.metadata_key)
    else:
        record, secret = open_row(row, identifier, keys, password)
        expected = data(test, "plaintext") if "plaintext" in test else None
        case.assertEqual(secret, expected)
    case.assertEqual(encode_record(record), data(test, "record"))
    # No vector says so, but a row that opens has the labels of its record.
    case.assertEqual(labels_of(data(keychain, "indexKey"), record), row.labels)


def row_of(test: Test) -> Row:
    columns = (data(test, name) for name in ("grp", "k1", "k2", "k3", "terms"))
    return Row(
        uuid=data(test, "uuid"),
        protection=test["protection"],
        labels=Labels(*columns),
        meta=data(test, "meta"),
        secret=data(test, "secret") if "secret" in test else None,
    )


def open_row2(test: Test) -> tuple[Record, bytes | None]:
    password = data(test, "applicationPassword") if "applicationPassword" in test else None
    keys = ClassKeys(data(test, "classKey"), data(test, "metadataKey"))
    return row2.open_row(
        row_of(test), data(test, "keychainID"), data(test, "indexKey"), keys, password
    )


def check_row2(case: unittest.TestCase, test: Test, group: Test) -> None:
    if test["result"] == "invalid":
        fails(case, test, lambda: open_row2(test))
        if test["failure"] == "metadata":
            return
        record = row2.open_metadata(
            row_of(test), data(test, "keychainID"), data(test, "metadataKey")
        )
    else:
        record, secret = open_row2(test)
        expected = data(test, "plaintext") if "plaintext" in test else None
        case.assertEqual(secret, expected)
    case.assertEqual(encode_record(record), data(test, "record"))


def check_header(case: unittest.TestCase, test: Test, group: Test) -> None:
    key = data(test, "integrityKey")

    def call() -> Any:
        return read_header(data(test, "header"), key)

    if test["result"] == "invalid":
        return fails(case, test, call)
    header = call()
    case.assertEqual(header.identifier, data(test, "keychainID"))
    case.assertEqual(header.generation, test["generation"])
    case.assertEqual(header.item_count, test["itemCount"])
    case.assertEqual(header.set_aside_count, test["setAsideCount"])
    case.assertEqual(header.keybag_generation, test["keybagGeneration"])
    case.assertEqual(header.digest, int(test["digest"], 16))
    if "rows" in test:
        rows = [(data(r, "uuid"), data(r, "metadataTag")) for r in test["rows"]]
        case.assertEqual(header.digest, digest_of(key, rows))


def read_header2(test: Test) -> header2.Header:
    guarded = "guardedIntegrityKey"
    return header2.read_header(
        data(test, "header"), data(test, "integrityKey"),
        data(test, guarded) if guarded in test else None,
    )


def check_header2(case: unittest.TestCase, test: Test, group: Test) -> None:
    if test["result"] == "invalid":
        return fails(case, test, lambda: read_header2(test))
    header = read_header2(test)
    case.assertEqual(header.identifier, data(test, "keychainID"))
    case.assertEqual(header.generation, test["generation"])
    case.assertEqual(header.set_aside_count, test["setAsideCount"])
    case.assertEqual(header.keybag_generation, test["keybagGeneration"])
    case.assertEqual(header.open_count, test["openCount"])
    case.assertEqual(header.open_digest, int(test["openDigest"], 16))
    case.assertEqual(header.guarded_count, test["guardedCount"])
    case.assertEqual(header.guarded is None, "guardedIntegrityKey" not in test)
    digests = {"openRows": ("integrityKey", header.open_digest)}
    if header.guarded is not None:
        case.assertEqual(header.guarded.count, test["guardedCount"])
        case.assertEqual(header.guarded.writes, test["guardedWrites"])
        case.assertEqual(header.guarded.digest, int(test["guardedDigest"], 16))
        digests["guardedRows"] = ("guardedIntegrityKey", header.guarded.digest)
    for name, (key, digest) in digests.items():
        if name in test:
            rows = [(data(r, "uuid"), data(r, "metadataTag")) for r in test[name]]
            case.assertEqual(digest, digest_of(data(test, key), rows))


def check_anchor(case: unittest.TestCase, test: Test, group: Test) -> None:
    generation = read_anchor(data(test, "file"), data(test, "integrityKey"))
    if test["result"] == "invalid":
        case.assertIsNone(generation)
    else:
        case.assertEqual(generation, test["generation"])


def check_pages(case: unittest.TestCase, test: Test, group: Test) -> None:
    page_key = hkdf(data(test, "deviceKey"), data(test, "salt"), page_tags.INFO)
    case.assertEqual(page_key, data(test, "pageKey"))
    key = page_tags.PageKey(data(test, "deviceKey"), data(test, "salt"))
    if group["kind"] == "log":
        return check_log(case, test, key)
    page = data(test, "page")
    if group["kind"] == "page":
        covered = page_tags.database_data(page, test["number"])
    else:
        case.assertEqual(group["kind"], "frame")
        covered = page_tags.log_data(
            page, test["number"], test["commitSize"], test["frame"], data(test, "salts")
        )
    case.assertEqual(key.is_sound(page, covered), test["result"] == "valid")


def check_log(case: unittest.TestCase, test: Test, key: page_tags.PageKey) -> None:
    log = data(test, "log")
    if test["result"] == "invalid":
        return fails(case, test, lambda: committed_frames(log, key))
    committed = committed_frames(log, key)
    case.assertEqual(len(committed), test["committedFrames"])
    case.assertEqual([frame.page_number for frame in committed], test["pages"])


def check_circle(case: unittest.TestCase, test: Test, group: Test) -> None:
    if test["result"] == "invalid":
        fails(case, test, lambda: read_circle(test))
        return
    reader = read_circle(test)
    circle = reader.circle
    case.assertEqual(circle.identifier, data(test, "circle"))
    case.assertEqual([m.hex() for m in circle.members], test["members"])
    case.assertEqual(circle.epoch, test["epoch"])
    selection = reader.select()
    case.assertEqual((reader.problems, selection.problems), ([], []))
    versions = [opened.version for opened in selection.current.values()]
    plaintexts = sorted(v.plaintext.hex() for v in versions if not v.is_deletion)
    case.assertEqual(plaintexts, test["versions"])


def read_circle(test: Test) -> Reader:
    circle = Circle()
    for entry in test["membership"]:
        circle.append(bytes.fromhex(entry))
    for head in test["heads"]:
        circle.verify_head(bytes.fromhex(head))
    if "recoveryCode" in test:
        assert circle.recovery is not None
        identifier = circle.recovery.identifier
        seed = recovery_seed(data(test, "recoveryCode"), circle.salt)
    else:
        seed = data(test, "agreementSeed")
        signing_key = signing_key_of(data(test, "signingKey"))
        identifier = next(
            name
            for name, machine in circle.machines.items()
            if machine.description[1:66] == signing_key
        )
    reader = Reader(circle, identifier, seed)
    for log in test["logs"]:
        for entry in log:
            reader.append(bytes.fromhex(entry))
    return reader


CHECKS: dict[str, Check] = {
    "anchor-v1.json": check_anchor,
    "circle-v1.json": check_circle,
    "device-key-v1.json": check_device_key,
    "device-key-v2.json": check_sealed_device_key,
    "secure-enclave-key-v1.json": check_enclave_key,
    "header-v1.json": check_header,
    "header-v2.json": check_header2,
    "keybag-v1.json": check_keybag,
    "keybag-v2.json": check_keybag2,
    "label-v1.json": check_label,
    "label-v2.json": check_label,
    "pages-v2.json": check_pages,
    "record-v1.json": check_record,
    "row-v1.json": check_row,
    "row-v2.json": check_row2,
}


class VectorTests(unittest.TestCase):
    def test_there_is_a_check_for_each_file(self) -> None:
        self.assertEqual({path.name for path in VECTORS.iterdir()}, set(CHECKS))

    def run_file(self, name: str) -> None:
        content = json.loads((VECTORS / name).read_text(encoding="utf-8"))
        self.assertEqual(f"-v{content['version']}.json", name[-8:])
        counts = {"valid": 0, "invalid": 0}
        identifiers = []
        for group in content["testGroups"]:
            for test in group["tests"]:
                with self.subTest(tcId=test["tcId"], comment=test["comment"]):
                    counts[test["result"]] += 1
                    identifiers.append(test["tcId"])
                    CHECKS[name](self, test, group)
        # A file without tests of both results would prove little.
        self.assertGreater(counts["valid"], 0)
        self.assertGreater(counts["invalid"], 0)
        self.assertEqual(sum(counts.values()), content["numberOfTests"])
        self.assertEqual(identifiers, list(range(1, content["numberOfTests"] + 1)))

    def test_anchor(self) -> None:
        self.run_file("anchor-v1.json")

    def test_circle(self) -> None:
        self.run_file("circle-v1.json")

    def test_device_key(self) -> None:
        self.run_file("device-key-v1.json")

    def test_sealed_device_key(self) -> None:
        self.run_file("device-key-v2.json")

    def test_enclave_key(self) -> None:
        self.run_file("secure-enclave-key-v1.json")

    def test_header(self) -> None:
        self.run_file("header-v1.json")

    def test_header2(self) -> None:
        self.run_file("header-v2.json")

    def test_keybag(self) -> None:
        self.run_file("keybag-v1.json")

    def test_keybag2(self) -> None:
        self.run_file("keybag-v2.json")

    def test_label(self) -> None:
        self.run_file("label-v1.json")

    def test_label2(self) -> None:
        self.run_file("label-v2.json")

    def test_pages(self) -> None:
        self.run_file("pages-v2.json")

    def test_record(self) -> None:
        self.run_file("record-v1.json")

    def test_row(self) -> None:
        self.run_file("row-v1.json")

    def test_row2(self) -> None:
        self.run_file("row-v2.json")


class ExampleTests(unittest.TestCase):
    """What the documents show and no vector file covers."""

    def test_page_checksums(self) -> None:
        zeros = bytes(4088)
        counting = bytes(i % 256 for i in range(4088))
        self.assertEqual(checksum(zeros, 1).hex(), "be17268793e66172")
        self.assertEqual(checksum(zeros, 2).hex(), "68fe07dd9b2d6624")
        self.assertEqual(checksum(counting, 3).hex(), "8e155f79df600872")

    def test_numbers_of_attributes(self) -> None:
        counts = {name: len(c.names) + 4 for name, c in CLASSES.items()}
        self.assertEqual(counts, {"genp": 27, "inet": 31, "cert": 22, "keys": 40})


if __name__ == "__main__":
    unittest.main()
