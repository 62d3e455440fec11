"""Alters the records of a circle: each fault is reported where it is.

    python -m unittest test_circle_faults
"""

import unittest
from collections.abc import Callable
from typing import Any

import circle_writer as writing
from circle_sample import CircleTestCase, encoded, flipped, item, log_key, read, said, values
from circle_writer import CircleWriter, Machine, grant, plaintext, version, wanted
from row_writer import Item, number


class CircleFaultTests(CircleTestCase):
    def test_every_altered_record_is_noticed(self) -> None:
        sample = self.sample
        for key in sample.circle.records:
            if key == "m/0000000000000001":
                continue
            size = len(sample.circle.records[key])
            # Nothing binds when a request was made and, but for the digits, a nonce.
            end = {"/1": 72, "/2": 128}.get(key[-2:], size)
            for at in {0, 7, 8, size // 2, size - 1} & set(range(end)):
                circle = sample.circle.copy()
                circle.records[key] = flipped(circle.records[key], at)
                problems = said(read(circle, sample.desk.keys()))
                with self.subTest(key=key, at=at):
                    self.assertTrue(
                        any(where.startswith(key) for where, _ in problems), problems
                    )

    def test_a_membership_log_has_every_entry(self) -> None:
        missing = "entries of the membership log before it are missing"
        self.check_record(
            "m/0000000000000003", lambda _: None, missing, where="m/0000000000000004"
        )

    def test_wrong_changes_of_the_membership(self) -> None:
        s = self.sample
        end = s.circle.heads((s.laptop, 3))
        elsewhere = s.circle.heads((s.laptop, 2))
        token = writing.token_identifier(s.token)
        rows: list[tuple[Callable[[CircleWriter], None], str]] = [
            (lambda c: c.add(s.stranger, s.phone), "may not change"),
            (lambda c: c.close(3, s.tablet, s.phone, {}), "may not change"),
            (lambda c: c.add(s.stranger, s.laptop), "by no member"),
            (lambda c: c.add(s.stranger, s.stranger), "by no member"),
            (lambda c: c.add(s.laptop, s.desk), "added again"),
            (lambda c: c.add(s.tablet, s.desk), "added again"),
            (lambda c: c.add(s.stranger, s.desk, token=token), "token is used again"),
            (lambda c: c.close(3, s.laptop, s.desk, end), "no member is removed"),
            (lambda c: c.close(3, s.recovery, s.desk, {}), "no member is removed"),
            (lambda c: c.close(5, s.laptop, s.desk, elsewhere), "at another index"),
            (lambda c: c.close(5, s.laptop, s.desk, {}), "isn't closed"),
            (lambda c: c.close(5, s.phone, s.desk, c.heads((s.phone, 1))), "isn't closed"),
            (lambda c: c.change(6, s.desk, b""), "another kind"),
            (lambda c: c.change(3, s.desk, s.phone.id + b"\x00\x00\x00"), "follow the end"),
        ]
        for change, what in rows:
            with self.subTest(what=what):
                report = self.check(change, "m/0000000000000008", what)
                self.assertEqual(report["circle"]["membership"]["index"], 7)
                self.assertEqual(len(report["items"]), 7)

    def test_a_member_with_a_scope_may_not_leave(self) -> None:
        s = self.sample

        def leave(circle: CircleWriter) -> None:
            ends = circle.heads((s.desk, 4), (s.phone, 1), (s.tablet, 3))
            circle.close(3, s.phone, s.phone, ends)

        self.check(leave, "m/0000000000000008", "may not change the membership")

    def test_a_log_without_an_entry(self) -> None:
        s = self.sample
        log = f"l/{s.tablet.id.hex()}"
        missing = self.check_record(
            log_key(s.tablet, 2), lambda _: None, "entries 2 to 2 are missing", where=log
        )
        # What is there is shown all the same.
        self.assertEqual(values(missing)["erin"], encoded(it=b"again")["it"])
        self.check_record(
            log_key(s.tablet, 3), lambda _: None, "read to entry 2 and goes to 3",
            where=log,
        )
        self.check_record(
            log_key(s.phone, 1), lambda _: None, "read to entry 0 and goes to 1",
            where=f"l/{s.phone.id.hex()}",
        )

    def test_heads_show_what_is_withheld(self) -> None:
        s = self.sample
        log, key = f"l/{s.tablet.id.hex()}", log_key(s.tablet, 4)

        def of_entry(circle: CircleWriter) -> None:
            circle.append(s.tablet)
            circle.append(s.phone, read=circle.heads((s.tablet, 4)))
            del circle.records[key]

        self.check(of_entry, log, f"goes to 4, by {log_key(s.phone, 2)}")

        def of_addition(circle: CircleWriter) -> None:
            circle.append(s.tablet)
            circle.add(s.stranger, s.desk, at=circle.heads((s.tablet, 4)))
            del circle.records[key]

        self.check(of_addition, log, "goes to 4, by m/0000000000000008")

    def test_nothing_is_missing_that_does_not_count(self) -> None:
        s, circle = self.sample, self.sample.circle.copy()
        circle.append(s.tablet, read=circle.heads((s.laptop, 4)))
        # One entry is retired, the other one void.
        for index in (2, 4):
            del circle.records[log_key(s.laptop, index)]
        self.assertEqual(said(read(circle, s.desk.keys())), [])

    def test_nothing_is_taken_after_what_is_no_entry(self) -> None:
        key = log_key(self.sample.tablet, 2)
        for what in ("shorter than a signature", "1 entries after it aren't taken"):
            report = self.check_record(key, lambda _: b"garbage", what)
            self.assertNotIn("erin", values(report))

    def test_a_retired_log_may_be_gone(self) -> None:
        s, circle = self.sample, self.sample.circle.copy()
        for index in range(1, 5):
            del circle.records[log_key(s.laptop, index)]
        report = read(circle, s.desk.keys())
        self.assertEqual(said(report), [])
        self.assertEqual(len(report["items"]), 7)

    def test_a_retired_log_counts_again_if_the_copies_are_void(self) -> None:
        s, circle = self.sample, self.sample.circle.copy()
        # The tablet has not read the desk's entry with the copies.
        ends = circle.heads((s.desk, 3), (s.laptop, 3), (s.phone, 1), (s.tablet, 3))
        circle.close(3, s.phone, s.tablet, ends)
        report = read(circle, s.desk.keys())
        found = values(report)
        # These were in the void entry alone.
        self.assertEqual(found.keys() & {"frank", "gina"}, set())
        expected = encoded(alice=b"second", dave=b"dave", erin=b"again", wiki=b"new")
        self.assertEqual({name: found.get(name) for name in expected}, expected)
        laptop = next(m for m in report["machines"] if m["name"] == "laptop")
        self.assertEqual(laptop["log"]["retired_to"], 0)
        # The laptop could write its log anew, but not this entry.
        del circle.records[log_key(s.laptop, 3)]
        self.assertEqual(values(read(circle, s.desk.keys()))["alice"], encoded(a=b"first")["a"])

    def test_wrong_entries_of_a_log(self) -> None:
        s = self.sample
        other = bytes([1]) * 32
        rows: list[tuple[Callable[[CircleWriter], None], str]] = [
            (lambda c: c.append(s.desk, first=3, previous=other), "not the next entry"),
            (lambda c: c.append(s.desk, first=2), "needs an earlier entry"),
            (lambda c: c.append(s.desk, first=6), "first needed"),
            (lambda c: c.append(s.desk, first=3, known=3), "knows less"),
            (lambda c: c.append(s.desk, lambda *_: b"\x04", first=3), "another kind"),
            (lambda c: c.append(s.desk, lambda *_: b"\x01", first=3), "ends early"),
            (lambda c: c.append(
                s.desk, lambda *_: b"\x03\x00\x02" + bytes(32), first=3), "out of order"),
        ]
        for change, what in rows:
            with self.subTest(what=what):
                report = self.check(change, log_key(s.desk, 5), what)
                self.assertEqual(len(report["items"]), 7)
        unknown = f"l/{s.stranger.id.hex()}"
        self.check(lambda c: c.append(s.stranger), unknown, "no machine of the circle")
        early = log_key(s.laptop, 5)
        self.check(lambda c: c.append(s.laptop), early, "writer was no member")

    def test_an_entry_in_another_place(self) -> None:
        s = self.sample

        def exchange(circle: CircleWriter) -> None:
            here, there = log_key(s.phone, 1), log_key(s.tablet, 1)
            circle.records[here] = circle.records[there]

        self.check(exchange, log_key(s.phone, 1), "another one's place")

        def other_circle(circle: CircleWriter) -> None:
            identifier, circle.id = circle.id, bytes(32)
            circle.append(s.phone)
            circle.id = identifier

        self.check(other_circle, log_key(s.phone, 2), "another circle")

    def test_forks(self) -> None:
        s = self.sample

        def fork(circle: CircleWriter) -> None:
            # The tablet read another entry of the desk.
            circle.append(s.desk, first=3, index=4)

        # By the machine that reads the desk's log first, and by one that reads it last.
        self.check(fork, log_key(s.tablet, 3), "names another entry 4")
        self.check(fork, log_key(s.desk, 4), "different entries", reader=s.tablet)

        def membership(circle: CircleWriter) -> None:
            circle.digests[6] = bytes([1]) * 32
            circle.append(s.desk, first=3)

        self.check(membership, log_key(s.desk, 5), "another membership log")

    def test_grants(self) -> None:
        s = self.sample
        key, shared = s.circle.group_key("vault", 1), s.circle.circle_key
        where = f"{log_key(s.tablet, 4)} part 0"

        def granted(part: writing.Part) -> Callable[[CircleWriter], None]:
            return lambda circle: circle.append(s.tablet, part)

        lists = granted(grant(s.desk, [key], shared, listed=[bytes(16)]))
        self.check(lists, where, "other keys than it lists")
        report = self.check(
            granted(grant(s.desk, [key], bytes(32))), where, "another circle key"
        )
        self.assertNotIn(key.id.hex(), {one["identifier"] for one in report["keys"]})
        names = {one["name"] for one in report["machines"]}
        self.assertEqual(names, {"desk", "laptop", "phone", "tablet"})

        def garbage(*place: Any) -> bytes:
            return grant(s.desk, [key], shared)(*place)[:-1] + b"\x00"

        def elsewhere(circle: bytes, writer: bytes, index: int, part: int) -> bytes:
            return grant(s.desk, [key], shared)(circle, s.phone.id, index, part)

        self.check(granted(garbage), where, "a grant doesn't open")
        self.check(granted(elsewhere), where, "a grant doesn't open")
        want = granted(wanted(key.id))
        self.check(want, where, "wanted and not granted", kind="notices")

    def test_keys_that_are_ignored(self) -> None:
        s = self.sample
        early, late = s.circle.group_key("vault", 1), s.circle.group_key("vault", 2)
        content = plaintext(item("ivan", 1), b"under an ignored key")

        def granted(by: Machine, key: writing.GroupKey) -> Callable[[CircleWriter], None]:
            def change(circle: CircleWriter) -> None:
                circle.append(by, grant(s.desk, [key], circle.circle_key), known=7)
                circle.append(s.tablet, version(key, content))

            return change

        rows = [
            (s.tablet, late, 4, "an epoch that the grant's entry doesn't know"),
            (s.phone, early, 2, "a group that isn't in the giver's scope"),
        ]
        for by, key, index, what in rows:
            with self.subTest(what=what):
                where = f"{log_key(by, index)} part 0"
                report = self.check(granted(by, key), where, what, kind="notices")
                self.assertNotIn("ivan", values(report))
                self.assertNotIn(key.id.hex(), {one["identifier"] for one in report["keys"]})

    def test_grants_in_void_entries(self) -> None:
        s, circle = self.sample, self.sample.circle.copy()
        circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 3)))
        key = circle.group_key("vault", 1)
        circle.append(s.tablet, grant(s.desk, [key], circle.circle_key), known=7)
        report = read(circle, s.desk.keys())
        self.assertEqual(said(report), [])
        self.assertNotIn(key.id.hex(), {one["identifier"] for one in report["keys"]})

    def test_versions(self) -> None:
        s = self.sample
        where = f"{log_key(s.tablet, 4)} part 0"
        good = item("ivan", 1)
        local = Item("genp", good.attributes, "vault")
        dateless = {name: v for name, v in good.attributes.items() if name != "mdat"}
        nameless = Item("genp", dateless, "vault", is_synchronizable=True)
        deleted = item("ivan", 1, deleted=True)
        tagged = plaintext(good, b"value", tag=bytes(16))
        unknown = s.circle.group_key("vault", 1)
        rows: list[tuple[writing.Part, str]] = [
            (version(s.later, plaintext(item("ivan", 1, "web"), b"v")), "another group"),
            (version(s.later, plaintext(local, b"v")), "isn't synchronizable"),
            (version(s.later, plaintext(nameless, b"v")), "no modification date"),
            (version(s.later, plaintext(deleted, b"v")), "a deletion has a value"),
            (version(s.later, plaintext(good, b"v", protection=9)), "doesn't travel"),
            (version(s.later, plaintext(good, b"v") + b"\x00"), "follow the end"),
            (version(s.later, tagged), "tag of a secret"),
            (version(s.later, plaintext(item("ivan", 1, port=number(1)))), "attribute"),
            (version(unknown, plaintext(good, b"v")), "isn't granted"),
            (lambda c, w, i, p: version(s.later, tagged)(c, w, i, p + 1), "does not open"),
        ]
        for part, what in rows:
            with self.subTest(what=what):
                self.check(lambda c: c.append(s.tablet, part), where, what)

    def test_heads(self) -> None:
        s = self.sample
        self.check(
            lambda c: c.sign_head(s.tablet, log=(9, bytes([1]) * 32)),
            f"l/{s.tablet.id.hex()}", "read to entry 3 and goes to 9",
        )
        stranger = f"h/{s.stranger.id.hex()}"
        self.check(lambda c: c.sign_head(s.stranger), stranger, "by no member")

    def test_records_of_joining(self) -> None:
        s = self.sample
        attempt = f"j/{s.attempt}"
        rows = [
            ("1", 40, "another attempt's place"),
            ("1", 8, "another circle"),
            ("2", 40, "another commitment"),
            ("2", 72, "by no member"),
            ("2", 94, "not shown"),
            ("2", 100, "another membership log"),
            ("3", 1300, "another commitment"),
            ("3", 5, "fixed field"),
        ]
        for end, at, what in rows:
            with self.subTest(end=end, at=at):
                report = self.check_record(f"{attempt}/{end}", lambda d: flipped(d, at), what)
                attempts = {one["attempt"]: one for one in report["joining"]}
                self.assertIsNone(attempts[s.attempt]["digits"])
        self.check_record(f"{attempt}/3", lambda d: d + b"\x00", "another size")

    def test_requests_with_tokens(self) -> None:
        s = self.sample
        (key,) = (key for key in s.circle.records if key.startswith("t/"))
        size = len(s.circle.records[key])
        self.check_record(key, lambda d: flipped(d, size - 1), "signature doesn't fit")
        self.check_record(key, lambda d: d + b"\x00", "follow the end")
        # A bit of the time until which the token is valid.
        self.check_record(key, lambda d: flipped(d, 96 + 19 + 7), "signature doesn't fit")

        def issued(by: Machine) -> Callable[[CircleWriter], None]:
            def change(circle: CircleWriter) -> None:
                token = circle.token(s.token, by, None, 4)
                circle.request_with_token(token, s.token, s.stranger)

            return change

        self.check(issued(s.phone), key, "member with a scope")
        self.check(issued(s.stranger), key, "by no member")
        self.check(issued(s.laptop), key, "issuer was removed", kind="notices")

    def test_other_records(self) -> None:
        for key in ("m/1", "x/1", "l/00/0000000000000001", "j/0123456789abcdef/4"):
            def put(circle: CircleWriter) -> None:
                circle.records[key] = b"value"

            self.check(put, key, "of no kind")


if __name__ == "__main__":
    unittest.main()
