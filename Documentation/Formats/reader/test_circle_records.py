"""Reads the records of a circle that `circle_writer` made, and the library's vectors.

    python -m unittest test_circle_records
"""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import circle_writer as writing
from circle_sample import CODE, Report, Sample, encoded, flipped, item, log_key, read, said, values
from circle_writer import CircleWriter, Machine, plaintext, version
from keychain_reader.__main__ import main
from keychain_reader.circle_dump import read_dump
from keychain_reader.circle_joining import pasted_code
from keychain_reader.errors import FormatError
from row_writer import text

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


class CircleRecordsTests(unittest.TestCase):
    sample: Sample

    @classmethod
    def setUpClass(cls) -> None:
        cls.sample = Sample()

    # What is read

    def carol(self) -> bytes:
        """Of the two values with the same date, the one of the smaller digest."""
        found = (b"of the laptop", b"of the tablet")
        return min(found, key=lambda v: writing.sha256(plaintext(item("carol", 30), v)))

    def test_a_member_with_every_group_reads_all_items(self) -> None:
        sample = self.sample
        report = read(sample.circle, sample.desk.keys())
        self.assertEqual(said(report), [])
        expected = encoded(
            alice=b"second", carol=self.carol(), dave=b"dave", erin=b"again", frank=b"",
            gina=None, wiki=b"new",
        )
        self.assertEqual(values(report), expected)
        deleted = [one["attributes"]["acct"]["value"] for one in report["deletions"]]
        self.assertEqual(deleted, ["bob"])
        self.assertEqual(report["circle"]["epoch"], 1)
        self.assertTrue(report["circle"]["has_recovery_code"])
        self.assertEqual(report["circle"]["reader"], sample.desk.id.hex())
        self.assertEqual(report["verification"]["grants_opened"], 2)
        frank = next(i for i in report["items"] if i["attributes"]["acct"]["value"] == "frank")
        self.assertEqual((frank["protection"], frank["group"]), (8, "vault"))
        place = {key: frank["version"][key] for key in ("machine", "index", "part", "epoch")}
        self.assertEqual(
            place, {"machine": sample.desk.id.hex(), "index": 4, "part": 7, "epoch": 1}
        )
        # What the phone wrote beyond its scope, and nothing else.
        skipped = f"{log_key(sample.phone, 1)} part 1"
        notices = [(where, what[:7]) for where, what in said(report, "notices")]
        self.assertIn((skipped, "skipped"), notices)

    def test_machines_are_described(self) -> None:
        sample = self.sample
        report = read(sample.circle, sample.desk.keys())
        machines = {one["name"]: one for one in report["machines"]}
        self.assertEqual(set(machines), {"desk", "laptop", "phone", "tablet"})
        laptop, tablet = machines["laptop"], machines["tablet"]
        self.assertEqual((laptop["is_member"], laptop["removed"]), (False, 6))
        self.assertEqual((laptop["log"]["void"], laptop["log"]["retired_to"]), ([4], 3))
        self.assertEqual((tablet["suspended"], tablet["is_present"]), (5, True))
        self.assertEqual(tablet["log"]["void"], [2])
        self.assertEqual(machines["desk"]["log"]["first_needed"], 3)
        self.assertEqual(machines["desk"]["log"]["entries"], 2)
        self.assertEqual(machines["phone"]["scope"], [sample.circle.label("web").hex()])
        self.assertEqual(machines["desk"]["head"]["log"]["index"], 4)

    def test_the_recovery_code_reads_the_same(self) -> None:
        sample = self.sample
        report = read(sample.circle, {"recoveryCode": CODE.hex()})
        self.assertEqual(said(report), [])
        self.assertEqual(values(report), values(read(sample.circle, sample.desk.keys())))

    def test_a_machine_that_the_recovery_code_added_has_no_name(self) -> None:
        sample, circle = self.sample, self.sample.circle.copy()
        machine = Machine.make("")
        circle.add(machine, sample.recovery)
        report = read(circle, sample.desk.keys())
        self.assertEqual(said(report), [])
        (added,) = (one for one in report["machines"] if one["name"] is None)
        self.assertEqual(added["identifier"], machine.id.hex())

    def test_the_seed_alone_is_enough(self) -> None:
        sample = self.sample
        keys = {"agreementSeed": sample.tablet.seed.hex()}
        report = read(sample.circle, keys)
        self.assertEqual(report["circle"]["reader"], sample.tablet.id.hex())
        self.assertEqual(values(report), values(read(sample.circle, sample.desk.keys())))

    def test_a_scope_ends_at_its_groups(self) -> None:
        sample = self.sample
        report = read(sample.circle, sample.phone.keys())
        self.assertEqual(said(report), [])
        self.assertEqual(values(report), encoded(wiki=b"new"))
        self.assertEqual([key["group"] for key in report["keys"]], ["web"])

    def test_a_removed_machine_reads_what_was_before(self) -> None:
        sample = self.sample
        report = read(sample.circle, sample.laptop.keys())
        # It has no key of the later epoch, under which the desk copied its versions.
        expected = encoded(
            alice=b"first", bob=b"never deleted", carol=b"of the tablet", wiki=b"new"
        )
        self.assertEqual(values(report), expected)
        closed = [what for _, what in said(report)]
        self.assertEqual(len(closed), 7)
        self.assertTrue(all("isn't granted" in what for what in closed), closed)

    def test_joining_is_verified(self) -> None:
        sample = self.sample
        report = read(sample.circle, sample.desk.keys())
        attempts = {one["attempt"]: one for one in report["joining"]}
        self.assertEqual(attempts[sample.attempt]["digits"], sample.digits)
        self.assertEqual(attempts[sample.attempt]["member"], sample.desk.id.hex())
        (other,) = (one for name, one in attempts.items() if name != sample.attempt)
        self.assertEqual((other["records"], other["is_refused"]), (["d", "x"], True))
        self.assertRegex(other["pasted_code"], "^[0-9A-HJKMNP-TV-Z]{26}$")
        (request,) = report["token_requests"]
        self.assertEqual(request["machine"], sample.phone.id.hex())
        self.assertEqual(request["scope"], [sample.circle.label("web").hex()])
        self.assertIn((f"t/{request['token']}", "the token was used"), said(report, "notices"))

    def test_pasted_codes_are_the_first_130_bits(self) -> None:
        self.assertEqual(pasted_code(bytes(32)), "0" * 26)
        self.assertEqual(pasted_code(b"\xff" * 16 + b"\xc0" + bytes(15)), "Z" * 26)
        # 16 bytes, then two bits.
        self.assertEqual(pasted_code(bytes(15) + b"\x01\x40" + bytes(15)), "0" * 25 + "5")

    # What counts

    def test_a_suspension_closes_one_log(self) -> None:
        s, circle = self.sample, self.sample.circle.copy()
        circle.close(4, s.phone, s.desk, circle.heads((s.phone, 1)))
        unread = version(s.web, plaintext(item("nina", 1, "web"), b"unread"))
        circle.append(s.phone, unread, known=7)
        other = version(s.later, plaintext(item("oscar", 1), b"of another"))
        circle.append(s.tablet, other, known=7)
        report = read(circle, s.desk.keys())
        self.assertEqual(said(report), [])
        machines = {one["name"]: one for one in report["machines"]}
        self.assertEqual(machines["phone"]["log"]["void"], [2])
        self.assertFalse(machines["phone"]["is_present"])
        self.assertNotIn("nina", values(report))
        self.assertIn("oscar", values(report))

    def test_entries_before_the_first_needed_one_do_not_count(self) -> None:
        s, circle = self.sample, self.sample.circle.copy()
        circle.append(s.tablet, version(s.later, plaintext(item("nina", 1), b"dropped")))
        circle.append(s.tablet, first=5)
        shown = values(read(circle, s.desk.keys()))
        self.assertNotIn("nina", shown)
        self.assertNotIn("erin", shown)

    # Which version counts

    def winner(self, *contents: bytes) -> Report:
        """Each of the contents is written by another machine."""
        sample = self.sample
        circle = sample.circle.copy()
        for machine, content in zip((sample.desk, sample.tablet), contents, strict=True):
            circle.append(machine, version(sample.later, content), first=3)
        return read(circle, sample.desk.keys())

    def test_a_later_date_counts(self) -> None:
        late = plaintext(item("heidi", 9), b"later")
        early = plaintext(item("heidi", 8.999, deleted=True))
        for contents in ((late, early), (early, late)):
            shown = values(self.winner(*contents))
            self.assertEqual(shown["heidi"], encoded(heidi=b"later")["heidi"])

    def test_a_deletion_takes_precedence(self) -> None:
        value = plaintext(item("heidi", 9), b"value")
        deletion = plaintext(item("heidi", 9, deleted=True))
        for contents in ((value, deletion), (deletion, value)):
            report = self.winner(*contents)
            self.assertNotIn("heidi", values(report))
            deleted = [one["attributes"]["acct"]["value"] for one in report["deletions"]]
            self.assertEqual(deleted, ["bob", "heidi"])

    def test_a_smaller_digest_of_the_plaintext_counts(self) -> None:
        for other in range(8):
            secrets = (b"one", bytes([other]))
            contents = [plaintext(item("heidi", 9), secret) for secret in secrets]
            smaller = min(range(2), key=lambda i: writing.sha256(contents[i]))
            for order in (contents, contents[::-1]):
                shown = values(self.winner(*order))
                self.assertEqual(shown["heidi"], encoded(it=secrets[smaller])["it"])

    def test_the_primary_key_distinguishes_items(self) -> None:
        same = plaintext(item("heidi", 9, acct=(2, b"heidi")), b"data as the account")
        other = plaintext(item("heidi", 8, vwht=text("view")), b"another view")
        report = self.winner(plaintext(item("heidi", 8), b"text"), same)
        found = [one for one in report["items"] if one["versions"] == 2]
        self.assertIn(encoded(it=b"data as the account")["it"], str(found))
        report = self.winner(plaintext(item("heidi", 8), b"text"), other)
        accounts = [one["attributes"]["acct"]["value"] for one in report["items"]]
        self.assertEqual(accounts.count("heidi"), 2)

    # The command

    def command(self, dump: str, keys: dict[str, str], *more: str) -> tuple[int, Report]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in ("dump", "keys")]
            paths[0].write_text(dump, encoding="utf-8")
            paths[1].write_text(json.dumps(keys), encoding="utf-8")
            arguments = ["circle-records", str(paths[0]), "--keys", str(paths[1]), *more]
            output = io.StringIO()
            with (
                patch.object(sys, "argv", ["keychain_reader", *arguments]),
                contextlib.redirect_stdout(output),
            ):
                status = main()
        report: Report = json.loads(output.getvalue())
        return status, report

    def test_forms_of_dumps(self) -> None:
        circle, keys = self.sample.circle, self.sample.desk.keys()
        status, expected = self.command(circle.as_etcd(), keys)
        self.assertEqual((status, expected["circle"]["prefix"]), (0, "keychain/"))
        rows = json.loads(circle.as_etcd())["kvs"]
        encoded_lines = "\n".join(json.dumps(row) for row in rows)
        self.assertEqual(self.command(encoded_lines, keys), (0, expected))
        expected["circle"]["prefix"] = ""
        self.assertEqual(self.command(circle.as_lines(), keys), (0, expected))

    def test_problems_give_another_status(self) -> None:
        circle = self.sample.circle.copy()
        circle.records["x"] = b""
        status, report = self.command(circle.as_etcd(), self.sample.desk.keys())
        self.assertEqual((status, report["verification"]["is_sound"]), (1, False))

    def test_several_circles(self) -> None:
        circle, other, keys = self.sample.circle, Sample().circle, self.sample.desk.keys()
        dump = circle.as_etcd() + other.as_lines()
        status, report = self.command(dump, keys)
        self.assertEqual((status, report["rejected"]["failure"]), (2, "malformed"))
        status, report = self.command(dump, keys, "--circle", circle.id.hex())
        self.assertEqual((status, len(report["items"])), (0, 7))
        status, report = self.command(dump, keys, "--circle", other.id.hex())
        self.assertEqual((status, report["rejected"]["failure"]), (2, "missingKey"))

    def test_dumps_and_keys_that_are_none(self) -> None:
        sample = self.sample
        dump, keys = sample.circle.as_etcd(), sample.desk.keys()
        first = sample.circle.copy()
        first.records.pop("m/0000000000000001")
        altered = sample.circle.copy()
        altered.records["m/0000000000000001"] = flipped(
            altered.records["m/0000000000000001"], 100
        )
        mixed = {**keys, "agreementSeed": sample.phone.seed.hex()}
        rows: list[tuple[str, dict[str, str], str]] = [
            ("{", keys, "malformed"),
            ("[1]", keys, "malformed"),
            ("", keys, "malformed"),
            (dump + dump, keys, "malformed"),
            (first.as_etcd(), keys, "malformed"),
            (altered.as_etcd(), keys, "malformed"),
            (dump, sample.stranger.keys(), "missingKey"),
            (dump, mixed, "missingKey"),
            (dump, {"recoveryCode": bytes(16).hex()}, "missingKey"),
            (dump, {"signingKey": sample.desk.scalar.hex()}, "missingKey"),
            (dump, {**keys, "signingKey": bytes(32).hex()}, "malformed"),
            (dump, {**keys, "seed": ""}, "malformed"),
            (dump, {"agreementSeed": "00"}, "malformed"),
        ]
        for text_of_dump, some, failure in rows:
            with self.subTest(failure=failure, keys=some):
                status, report = self.command(text_of_dump, some)
                self.assertEqual((status, report["rejected"]["failure"]), (2, failure))

    # The library's circle

    def test_vectors_as_records(self) -> None:
        groups = json.loads((VECTORS / "circle-v1.json").read_text())["testGroups"]
        tests = [test for group in groups for test in group["tests"]]
        circle = bytes.fromhex(tests[0]["circle"])
        counts = {"valid": 0, "invalid": 0}
        for test in tests:
            writer = CircleWriter(self.sample.desk, id=circle)
            for index, entry in enumerate(test["membership"], 1):
                writer.records[f"m/{index:016x}"] = bytes.fromhex(entry)
            for log in test["logs"]:
                for index, entry in enumerate(map(bytes.fromhex, log), 1):
                    writer.records[f"l/{entry[40:56].hex()}/{index:016x}"] = entry
            for entry in map(bytes.fromhex, test["heads"]):
                writer.records[f"h/{entry[40:56].hex()}"] = entry
            machine = {name: test[name] for name in ("signingKey", "agreementSeed")}
            code = test.get("recoveryCode")
            keys = machine if code is None else {"recoveryCode": code}
            with self.subTest(tcId=test["tcId"], comment=test["comment"]):
                counts[test["result"]] += 1
                if test["result"] == "invalid":
                    status, _ = self.command(writer.as_etcd(), keys)
                    self.assertIn(status, (1, 2))
                    continue
                report = read(writer, keys)
                self.assertEqual(said(report), [])
                digests = sorted(one["version"]["digest"] for one in report["items"])
                plain = map(bytes.fromhex, test["versions"])
                self.assertEqual(digests, sorted(writing.sha256(v).hex() for v in plain))
                named = sorted(one["name"] for one in report["machines"])
                self.assertEqual(named, ["one", "three", "two"])
        self.assertEqual(counts, {"valid": 3, "invalid": 8})


class DumpTests(unittest.TestCase):
    def test_a_value_without_bytes_is_omitted_by_etcd(self) -> None:
        key = f"p/{bytes(32).hex()}/h/{bytes(16).hex()}"
        (records,) = read_dump(json.dumps({"key": key}))
        self.assertEqual((records.prefix, records.heads), ("p/", {bytes(16): b""}))

    def test_keys_outside_circles_are_passed_over(self) -> None:
        self.assertEqual(read_dump(json.dumps({"key": "YQ==", "value": "YQ=="})), [])

    def test_values_in_other_forms(self) -> None:
        for value in ("a", 1, None, "é"):
            with self.subTest(value=value), self.assertRaises(FormatError):
                read_dump(json.dumps({"key": "YQ==", "value": value}))


if __name__ == "__main__":
    unittest.main()
