"""The rules of logs, of signed heads and of records on the server.

    python -m unittest test_circle_rules
"""

import unittest
from collections.abc import Callable

import circle_writer as writing
from circle_sample import CircleTestCase, encoded, item, log_key, said, values
from circle_writer import CircleWriter, Machine, plaintext, version

OTHER = bytes([1]) * 32
LARGEST = 1 << 53
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

Change = Callable[[CircleWriter], None]


class LogTests(CircleTestCase):
    def appending(self, heads: writing.Heads, machine: Machine | None = None) -> Change:
        """An entry that names heads, and has a version that shows whether it is accepted."""
        s = self.sample
        machine = machine or s.tablet
        part = version(s.later, plaintext(item("nina", 1), b"accepted"))
        return lambda circle: circle.append(machine, part, read=heads)

    def check_rejected(self, heads: writing.Heads, what: str) -> None:
        report = self.check(self.appending(heads), log_key(self.sample.tablet, 4), what)
        self.assertNotIn("nina", values(report))

    def test_indexes_have_a_limit(self) -> None:
        s = self.sample
        part = version(s.later, plaintext(item("nina", 1), b"accepted"))

        def append(index: int) -> Change:
            return lambda c: c.append(s.tablet, part, index=index, previous=OTHER)

        report = self.after(append(LARGEST))
        self.assertIn("nina", values(report))
        where = log_key(s.tablet, LARGEST + 1)
        report = self.check(append(LARGEST + 1), where, "an index that no log reaches")
        self.assertNotIn("nina", values(report))
        # A machine that was never in the circle has no log, however far.
        self.check_accepted(self.appending({s.stranger.id: (LARGEST, OTHER)}))
        self.check_rejected({s.stranger.id: (LARGEST + 1, OTHER)}, "an index that no log reaches")
        self.check(
            lambda c: c.close(4, s.tablet, s.desk, {s.tablet.id: (LARGEST + 1, OTHER)}),
            "m/0000000000000008", "an index that no log reaches",
        )

    def test_heads_that_no_machine_would_name(self) -> None:
        s = self.sample
        for heads in (
            {s.phone.id: (0, bytes(32))},
            {s.stranger.id: (7, OTHER)},
            {s.tablet.id: s.circle.head(s.tablet)},
            {s.desk.id: s.circle.head(s.desk), s.laptop.id: s.circle.head(s.laptop)},
        ):
            report = self.check_accepted(self.appending(heads))
            self.assertIn("nina", values(report))
        self.check_rejected({s.phone.id: (0, OTHER)}, "the head of no entries has a digest")

        def contradicting(circle: CircleWriter) -> None:
            self.appending({s.stranger.id: (7, OTHER)})(circle)
            self.appending({s.stranger.id: (7, bytes(32))})(circle)

        self.check_accepted(contradicting)

    def test_heads_of_other_entries_are_forks(self) -> None:
        s = self.sample
        self.check_rejected({s.desk.id: (4, OTHER)}, "names another entry 4")
        # The entry before, in the log itself.
        self.check_rejected({s.tablet.id: (3, OTHER)}, "names another entry 3")
        # The examination says so, but a reader doesn't compare earlier entries.
        report = self.check(
            self.appending({s.desk.id: (3, OTHER)}), log_key(s.desk, 3), "different entries"
        )
        self.assertIn("nina", values(report))

    def test_heads_beyond_the_end_of_a_log(self) -> None:
        s = self.sample
        self.check_rejected({s.desk.id: (5, OTHER)}, "entry 5 of the reader's own log")
        report = self.check(
            self.appending({s.phone.id: (5, OTHER)}), f"l/{s.phone.id.hex()}", "goes to 5"
        )
        self.assertIn("nina", values(report))

    def test_a_removed_machine_may_have_no_log(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            for index in range(1, 5):
                del circle.records[log_key(s.laptop, index)]

        # The tablet's entries name the laptop's, which were deleted.
        report = self.after(change, s.laptop)
        self.assertNotIn("is a fork", str(said(report)))
        logs = {one["name"]: one["log"] for one in report["machines"]}
        self.assertEqual(logs["tablet"]["last"]["index"], 3)

    def test_digests_that_are_known_before(self) -> None:
        s, where = self.sample, log_key(self.sample.tablet, 3)

        def add(at: writing.Heads) -> Change:
            return lambda circle: circle.add(s.stranger, s.desk, at=at)

        other = {s.tablet.id: (3, OTHER)}
        what = "a change of the members names another entry"
        self.check(add(other), where, what, reader=s.stranger)
        self.assertNotIn("is a fork", str(said(self.after(add(other)))))
        right = self.after(add(s.circle.heads((s.tablet, 3))), s.stranger)
        self.assertNotIn("is a fork", str(said(right)))
        # Those of a suspension are known to every machine.
        report = self.check(lambda c: c.close(4, s.tablet, s.desk, other), where, what)
        self.assertNotIn("erin", values(report))

    def test_the_first_entry_after_a_gap(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            part = version(s.later, plaintext(item("nina", 1), b"accepted"))
            circle.append(s.tablet, part, index=5, previous=OTHER, first=5)

        report = self.check_accepted(change)
        self.assertIn("nina", values(report))

    def test_an_entry_that_knows_more_of_the_members_waits(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            circle.add(s.stranger, s.desk)
            self.appending({})(circle)
            del circle.records["m/0000000000000008"]

        report = self.check(change, log_key(s.tablet, 4), "membership log, not shown")
        self.assertNotIn("nina", values(report))

    def test_an_entry_names_the_membership_log(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            circle.add(s.stranger, s.desk)
            circle.append(s.stranger)
            message = bytearray(circle.records[log_key(s.stranger, 1)][:-64])
            message[96:136] = bytes(40)
            circle.records[log_key(s.stranger, 1)] = s.stranger.signed(bytes(message))

        self.check(change, log_key(s.stranger, 1), "no entry of the membership log")

    def test_a_large_s_and_lists_without_elements(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            circle.append(s.tablet, writing.wanted(), writing.grant(s.desk, [], circle.circle_key))
            circle.add(s.stranger, s.desk, groups=[])
            circle.append(s.tablet)
            for key in (log_key(s.tablet, 4), "m/0000000000000008"):
                data = circle.records[key]
                other = ORDER - int.from_bytes(data[-32:], "big")
                circle.records[key] = data[:-32] + other.to_bytes(32, "big")

        self.check_accepted(change)


class HeadTests(CircleTestCase):
    def test_heads_that_are_forks(self) -> None:
        s = self.sample
        for machine, head, what in (
            (s.tablet, (3, OTHER), "names another entry 3"),
            (s.desk, (5, OTHER), "entry 5 of the reader's own log"),
        ):
            report = self.check(
                lambda c: c.sign_head(machine, log=head), f"h/{machine.id.hex()}", what
            )
            heads = {one["identifier"]: one["head"] for one in report["machines"]}
            self.assertIsNone(heads[machine.id.hex()])

    def test_the_membership_log_in_a_head_is_not_verified(self) -> None:
        s = self.sample
        for known in ((7, OTHER), (9, OTHER), (0, bytes(32)), s.circle.membership(1)):
            report = self.check_accepted(lambda c: c.sign_head(s.phone, known))
            heads = {one["name"]: one["head"] for one in report["machines"]}
            self.assertEqual(heads["phone"]["membership"]["index"], known[0])

    def test_heads_of_removed_machines_do_not_count(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            circle.sign_head(s.laptop, log=(9, OTHER))

        what = "of a removed machine doesn't count"
        report = self.check(change, f"h/{s.laptop.id.hex()}", what, kind="notices")
        self.assertEqual(said(report), [])
        heads = {one["name"]: one["head"] for one in report["machines"]}
        self.assertIsNone(heads["laptop"])

    def test_an_older_head_is_rejected(self) -> None:
        s = self.sample
        keys = sorted(f"h/{one.id.hex()}" for one in (s.desk, s.laptop, s.phone, s.tablet))

        def two(first: Change, second: Change) -> Change:
            def change(circle: CircleWriter) -> None:
                made = []
                for sign in (first, second):
                    sign(circle)
                    made.append(circle.records[f"h/{s.tablet.id.hex()}"])
                for key in keys:
                    del circle.records[key]
                circle.records |= dict(zip(keys, made))

            return change

        def head(index: int, made: int) -> Change:
            return lambda c: c.sign_head(s.tablet, log=c.head(s.tablet, index), made=made)

        what = "older than another head"
        self.check(two(head(3, 7), head(2, 8)), keys[1], what)
        self.check(two(head(3, 7), head(3, 6)), keys[1], what)
        report = self.check_accepted(two(head(2, 8), head(3, 7)))
        heads = {one["name"]: one["head"] for one in report["machines"]}
        self.assertEqual(heads["tablet"]["log"]["index"], 3)


class ServerTests(CircleTestCase):
    """The key of a record says only where to look."""

    def exchanged(self, one: str, other: str) -> Change:
        def change(circle: CircleWriter) -> None:
            records = circle.records
            records[one], records[other] = records[other], records[one]

        return change

    def test_entries_in_exchanged_places(self) -> None:
        s, plain = self.sample, values(self.after(lambda _: None))
        here, there = log_key(s.tablet, 2), log_key(s.tablet, 3)
        for one, other in ((here, there), (there, log_key(s.phone, 1))):
            change = self.exchanged(one, other)
            report = self.check(change, one, "another one's place", kind="notices")
            self.assertEqual((said(report), values(report)), ([], plain))

    def test_an_entry_under_another_machines_key(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            key = log_key(s.tablet, 3)
            circle.records[log_key(s.phone, 2)] = circle.records.pop(key)

        # The phone's log ends there, and the tablet's goes on.
        report = self.check(change, log_key(s.phone, 2), "another one's place")
        self.assertEqual(values(report)["erin"], encoded(it=b"again")["it"])
        logs = {one["name"]: one["log"] for one in report["machines"]}
        self.assertEqual(logs["phone"]["last"]["index"], 1)

    def test_an_entry_that_only_another_key_shows_ends_no_gap(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            key = log_key(s.tablet, 3)
            circle.records[log_key(s.phone, 2)] = circle.records.pop(key)
            del circle.records[log_key(s.tablet, 2)]

        report = self.check(change, log_key(s.phone, 2), "another one's place")
        self.assertNotIn("erin", values(report))

    def test_a_log_of_no_machine_is_not_read(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            key = log_key(s.tablet, 3)
            circle.records[log_key(s.stranger, 1)] = circle.records.pop(key)

        where = f"l/{s.stranger.id.hex()}"
        report = self.check(change, where, "a log of no machine of the circle")
        self.assertNotIn("erin", values(report))

    def test_a_head_under_another_key(self) -> None:
        s = self.sample
        desk, phone = (f"h/{one.id.hex()}" for one in (s.desk, s.phone))
        what = f"this is the head of {s.phone.id.hex()}"
        report = self.check(self.exchanged(desk, phone), desk, what, kind="notices")
        self.assertEqual(said(report), [])
        heads = {one["name"]: one["head"] for one in report["machines"]}
        self.assertEqual(heads["desk"]["log"]["index"], 4)
        self.assertEqual(heads["phone"]["log"]["index"], 1)

    def test_a_request_with_a_token_under_another_key(self) -> None:
        (key,) = (key for key in self.sample.circle.records if key.startswith("t/"))
        other = f"t/{bytes(16).hex()}"

        def change(circle: CircleWriter) -> None:
            circle.records[other] = circle.records.pop(key)

        report = self.check(change, other, f"this is the request of {key}", kind="notices")
        self.assertEqual(said(report), [])
        self.assertEqual(len(report["token_requests"]), 1)


if __name__ == "__main__":
    unittest.main()
