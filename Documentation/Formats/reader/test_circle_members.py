"""The rules of the membership log, and of what counts, each in a circle that needs it.

    python -m unittest test_circle_members
"""

import unittest
from collections.abc import Callable
from typing import Any

import circle_writer as writing
from circle_sample import CircleTestCase, Report, item, log_key, read, said, values
from circle_writer import CircleWriter, Machine, grant, plaintext, version, wanted
from keychain_reader.errors import Inauthentic, Malformed

NEXT = "m/0000000000000008"
OTHER = bytes([1]) * 32
Change = Callable[[CircleWriter], None]


def machine_of(report: Report, machine: Machine) -> dict[str, Any]:
    found = (one for one in report["machines"] if one["identifier"] == machine.id.hex())
    return dict(next(found))


def log_of(report: Report, machine: Machine) -> dict[str, Any]:
    return dict(machine_of(report, machine)["log"])


class MembershipTests(CircleTestCase):
    def adding(self, description: bytes, name: bytes = b"") -> Change:
        body = description + b"\x00" + bytes(16) + writing.sized(name) + writing.heads({})
        return lambda circle: circle.change(2, self.sample.desk, body)

    def test_descriptions(self) -> None:
        good = self.sample.stranger.description
        other_suite = b"\x02" + good[1:]
        no_point = good[:65] + bytes([good[65] ^ 1]) + good[66:]
        self.check(self.adding(other_suite), NEXT, "fixed field")
        self.check(self.adding(no_point), NEXT, "a signing key is none")
        # Of the X-Wing key only the size matters. With one key in common it is another machine.
        desk = self.sample.desk.description
        for description in (good[:66] + b"\xff" * 1216, desk[:66] + good[66:]):
            report = self.check_accepted(self.adding(description))
            self.assertEqual(len(report["machines"]), 5)

    def test_sizes_of_sealed_names(self) -> None:
        good = self.sample.stranger.description
        key = writing.hkdf(self.sample.circle.circle_key, None, writing.TEXT + b"names")
        no_text = writing.box(key, b"\xff", self.sample.stranger.id)
        for name in (b"", b"\x00", bytes(512), no_text):
            report = self.check_accepted(self.adding(good, name))
            self.assertIsNone(machine_of(report, self.sample.stranger)["name"])
        self.check(self.adding(good, bytes(513)), NEXT, "more bytes than the limit")

    def test_heads_are_in_order(self) -> None:
        s = self.sample
        named = sorted((s.desk, s.phone), key=lambda machine: machine.id)
        encoded = [one.id + writing.head(s.circle.head(one)) for one in named]
        for order in (encoded[::-1], encoded[:1] * 2):
            body = s.tablet.id + writing.u16(2) + b"".join(order)
            self.check(lambda c: c.change(4, s.desk, body), NEXT, "heads are out of order")

    def test_the_founders_name_may_be_without_bytes(self) -> None:
        founder = Machine.make("")
        circle = CircleWriter(founder)
        circle.found()
        circle.append(founder, grant(founder, [], circle.circle_key))
        self.assertEqual(said(read(circle, founder.keys())), [])

    def test_the_recovery_codes_keys_are_no_machines(self) -> None:
        s = self.sample
        self.check(lambda c: c.add(s.recovery, s.desk), NEXT, "recovery code's keys are added")
        circle = CircleWriter(s.desk, s.desk)
        circle.found()
        with self.assertRaisesRegex(Malformed, "the founder's keys are those"):
            read(circle, s.desk.keys())

    def test_a_circle_is_founded_by_its_signer(self) -> None:
        circle = CircleWriter(self.sample.desk)
        circle.found()
        key = "m/0000000000000001"
        message = bytearray(circle.records[key][:-64])
        message[80:96] = self.sample.phone.id
        circle.id = writing.sha256(bytes(message))
        circle.records[key] = self.sample.phone.signed(bytes(message))
        with self.assertRaisesRegex(Inauthentic, "the founder didn't sign"):
            read(circle, self.sample.desk.keys())

    def test_the_recovery_code_signs_every_change(self) -> None:
        s = self.sample
        ends = s.circle.heads((s.desk, 4), (s.tablet, 3))
        for change in (
            lambda c: c.add(s.stranger, s.recovery),
            lambda c: c.close(3, s.phone, s.recovery, {**ends, **c.heads((s.phone, 1))}),
            lambda c: c.close(4, s.phone, s.recovery, c.heads((s.phone, 1))),
            lambda c: c.close(5, s.tablet, s.recovery, c.heads((s.tablet, 1))),
        ):
            self.check_accepted(change)

    def test_a_log_is_retired_by_another_machine(self) -> None:
        s = self.sample
        end = s.circle.heads((s.tablet, 1))
        self.check(lambda c: c.close(5, s.tablet, s.tablet, end), NEXT, "its own log")
        # The tablet has returned, and the digest isn't compared with that of the suspension.
        self.check_accepted(lambda c: c.close(5, s.tablet, s.desk, end))
        digest = self.after(lambda c: c.close(5, s.tablet, s.desk, {s.tablet.id: (1, OTHER)}))
        self.assertEqual(log_of(digest, s.tablet)["retired_to"], 1)

    def test_a_log_is_not_retired_less_far(self) -> None:
        s = self.sample

        def retire_twice(circle: CircleWriter) -> None:
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 3)))
            circle.close(5, s.tablet, s.desk, circle.heads((s.tablet, 3), (s.desk, 4)))
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 2)))
            circle.close(5, s.tablet, s.desk, circle.heads((s.tablet, 2), (s.desk, 4)))

        self.check(retire_twice, "m/000000000000000b", "less far")

    def test_a_log_is_retired_less_far_after_a_lapse(self) -> None:
        s = self.sample

        def retire_again(circle: CircleWriter) -> None:
            circle.append(s.desk, first=3)
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 3)))
            circle.close(5, s.tablet, s.desk, circle.heads((s.tablet, 3), (s.desk, 5)))
            ends = circle.heads((s.desk, 4), (s.phone, 1), (s.tablet, 3))
            circle.close(3, s.phone, s.recovery, ends)
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 2)))
            circle.close(5, s.tablet, s.desk, circle.heads((s.tablet, 2), (s.desk, 4)))

        report = self.check_accepted(retire_again)
        self.assertEqual(log_of(report, s.tablet)["retired_to"], 2)

    def test_an_entry_that_was_read_before_changes_nothing(self) -> None:
        circle = self.sample.circle.copy()
        for index in range(8, 4, -1):
            circle.records[f"m/{index:016x}"] = circle.records[f"m/{index - 1:016x}"]
        report = read(circle, self.sample.desk.keys())
        self.assertEqual(said(report), [])
        self.assertEqual(report["circle"]["membership"]["index"], 7)


class RetirementTests(unittest.TestCase):
    """How long retirements hold, in circles of machines that see everything."""

    def setUp(self) -> None:
        made = [Machine.make(name) for name in ("one", "two", "three", "four", "five")]
        self.one, self.two, self.three, self.four, self.five = self.machines = made
        salt = writing.RANDOM.take(16)
        self.recovery = writing.recovery(bytes(16), salt)
        self.circle = CircleWriter(self.one, self.recovery, salt)
        self.circle.found()
        for machine in made[1:]:
            self.circle.add(machine, self.one)
        self.circle.append(self.one, grant(self.one, [], self.circle.circle_key))
        for machine in made:
            for _ in range(2):
                self.circle.append(machine)

    def retired(self) -> dict[str, int]:
        report = read(self.circle, self.one.keys())
        self.assertEqual(said(report), [])
        found = {one.name: log_of(report, one)["retired_to"] for one in self.machines}
        return {name: end for name, end in found.items() if end}

    def ends(self, **others: int) -> writing.Heads:
        """How far all logs go; of `others`, only so far."""
        every = ((one, others.get(one.name, self.circle.head(one)[0])) for one in self.machines)
        return self.circle.heads(*every)

    def remove(self, machine: Machine, **others: int) -> None:
        self.circle.close(3, machine, self.one, self.ends(**others))

    def suspend(self, machine: Machine) -> None:
        self.circle.close(4, machine, self.one, self.ends())

    def retire(self, machine: Machine, by: Machine, copies: int) -> None:
        self.circle.append(by)
        end = self.circle.head(machine)[0]
        self.circle.close(
            5, machine, by, self.circle.heads((machine, end), (by, copies))
        )

    def test_it_ends_with_its_copies(self) -> None:
        self.suspend(self.three)
        self.retire(self.three, self.two, 3)
        self.assertEqual(self.retired(), {"three": 2})
        self.remove(self.five, two=2)
        self.assertEqual(self.retired(), {})

    def test_later_ones_of_the_log_end_with_it(self) -> None:
        self.suspend(self.three)
        self.retire(self.three, self.one, 4)
        self.circle.append(self.three)
        self.suspend(self.three)
        self.retire(self.three, self.two, 3)
        self.circle.append(self.three)
        self.suspend(self.three)
        self.retire(self.three, self.four, 3)
        self.assertEqual(self.retired(), {"three": 4})
        self.remove(self.five, two=2)
        # The first one still holds, though the copies of the last one count, too.
        self.assertEqual(self.retired(), {"three": 2})

    def test_one_that_ends_lets_others_end(self) -> None:
        # The copies of the log of four are in that of three, which two retired in turn.
        self.suspend(self.four)
        self.retire(self.four, self.three, 3)
        self.suspend(self.three)
        self.retire(self.three, self.two, 3)
        self.remove(self.five, three=2)
        # What is retired isn't void.
        self.assertEqual(self.retired(), {"three": 3, "four": 2})
        self.remove(self.four, two=2, three=3)
        self.assertEqual(self.retired(), {})

    def test_one_by_the_recovery_code_has_no_copies(self) -> None:
        self.suspend(self.three)
        heads = {**self.circle.heads((self.three, 2)), self.recovery.id: (7, OTHER)}
        self.circle.close(5, self.three, self.recovery, heads)
        self.remove(self.five)
        self.assertEqual(self.retired(), {"three": 2})

    def test_one_by_the_recovery_code_ends_with_an_earlier_one(self) -> None:
        self.suspend(self.three)
        self.retire(self.three, self.two, 3)
        self.circle.append(self.three)
        self.suspend(self.three)
        self.circle.close(5, self.three, self.recovery, self.circle.heads((self.three, 3)))
        self.remove(self.five, two=2)
        self.assertEqual(self.retired(), {})

    def test_what_is_retired_is_not_void(self) -> None:
        self.suspend(self.three)
        self.retire(self.three, self.two, 3)
        self.remove(self.five, three=1)
        report = read(self.circle, self.one.keys())
        self.assertEqual(log_of(report, self.three)["void"], [])


class StandingTests(CircleTestCase):
    """What an entry that doesn't count still does."""

    def void(self, circle: CircleWriter, *parts: writing.Part, first: int = 1) -> None:
        """Appends a void entry to the tablet's log: its fourth one, or its fifth."""
        s = self.sample
        circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, len(circle.logs[s.tablet.id]))))
        circle.append(s.tablet, *parts, known=7, first=first)

    def test_the_first_needed_entry_of_a_void_one(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            # Entry 3 is needed, and entry 2 isn't there.
            self.void(circle, first=4)
            del circle.records[log_key(s.tablet, 2)]

        # It still shows that no entry is missing.
        report = self.check_accepted(change)
        self.assertIn("erin", values(report))
        self.assertEqual(log_of(report, s.tablet)["first_needed"], 1)
        # The tablet itself has dropped what was before.
        report = self.check_accepted(change, reader=s.tablet)
        self.assertNotIn("erin", values(report))

        def earlier(circle: CircleWriter) -> None:
            change(circle)
            circle.append(s.tablet, first=3)

        self.check(earlier, log_key(s.tablet, 5), "needs an earlier entry")

    def test_what_a_void_entry_wants(self) -> None:
        s = self.sample
        key = s.circle.group_key("vault")
        self.check(
            lambda c: self.void(c, wanted(key.id)), f"{log_key(s.tablet, 4)} part 0",
            "wanted and not granted", kind="notices",
        )

    def test_what_a_retired_entry_wants(self) -> None:
        s = self.sample
        key = s.circle.group_key("vault")

        def change(circle: CircleWriter) -> None:
            circle.append(s.tablet, wanted(key.id), known=7)
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 4)))
            circle.close(5, s.tablet, s.desk, circle.heads((s.tablet, 4)))

        self.check(
            change, f"{log_key(s.tablet, 4)} part 0", "wanted and not granted", kind="notices"
        )

    def test_what_a_log_acknowledges(self) -> None:
        s = self.sample
        head = {"index": 1, "digest": s.circle.logs[s.phone.id][0].hex()}
        expected: dict[str, Any] = {s.phone.id.hex(): head}

        def change(circle: CircleWriter) -> None:
            circle.append(s.tablet, read=circle.heads((s.phone, 1)), known=7)

        before = log_of(self.check_accepted(change), s.tablet)["acknowledges"]
        self.assertEqual(before.keys(), {s.desk.id.hex(), s.laptop.id.hex(), s.phone.id.hex()})
        self.assertEqual(before[s.phone.id.hex()], head)

        def lower(circle: CircleWriter) -> None:
            change(circle)
            circle.append(s.tablet, read=circle.heads((s.phone, 0)), known=7)

        last = log_of(self.check_accepted(lower), s.tablet)["acknowledges"]
        self.assertEqual(last[s.phone.id.hex()]["index"], 0)

        def void(circle: CircleWriter) -> None:
            change(circle)
            self.void(circle)
            circle.append(s.tablet, read=circle.heads((s.phone, 1)))

        self.assertEqual(log_of(self.check_accepted(void), s.tablet)["acknowledges"], expected)

        def retired(circle: CircleWriter) -> None:
            circle.append(s.tablet, read=circle.heads((s.phone, 1)), known=7)
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 4)))
            circle.close(5, s.tablet, s.desk, circle.heads((s.tablet, 4)))

        self.assertEqual(log_of(self.check_accepted(retired), s.tablet)["acknowledges"], {})

    def removed(self, circle: CircleWriter) -> None:
        circle.close(3, self.sample.tablet, self.sample.desk, circle.heads(
            (self.sample.desk, 4), (self.sample.phone, 1), (self.sample.tablet, 3)))

    def carol_and_erin(self, change: Change) -> tuple[int, bool]:
        """How many versions of carol there are, and whether erin's counts."""
        report = self.after(change)
        (carol,) = (
            one for one in report["items"] if one["attributes"]["acct"]["value"] == "carol"
        )
        return carol["versions"], "erin" in values(report)

    def test_a_removed_machines_log_counts_up_to_its_end(self) -> None:
        s = self.sample

        def without(index: int) -> Change:
            def change(circle: CircleWriter) -> None:
                self.removed(circle)
                del circle.records[log_key(s.tablet, index)]

            return change

        self.assertEqual(self.carol_and_erin(self.removed), (2, True))
        # Only what comes after the gap is certain to be from before the removal.
        self.assertEqual(self.carol_and_erin(without(2)), (1, True))
        self.assertEqual(self.carol_and_erin(without(3)), (1, False))

        def longer(circle: CircleWriter) -> None:
            self.removed(circle)
            circle.append(s.tablet, known=7)
            del circle.records[log_key(s.tablet, 3)]

        # It was read further, but not up to exactly that entry.
        self.assertEqual(self.carol_and_erin(longer), (1, False))

        def other(circle: CircleWriter) -> None:
            self.removed(circle)
            circle.append(s.tablet, known=7, index=3)

        self.check(other, log_key(s.tablet, 3), "names another entry")
        self.assertEqual(self.carol_and_erin(other), (1, False))

    def test_a_gap_that_is_not_needed_is_one(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            # Void by the removal of the phone, the last entry says that the gap isn't needed.
            circle.append(s.tablet, known=7, first=3)
            circle.close(3, s.phone, s.desk, circle.heads(
                (s.desk, 4), (s.phone, 1), (s.tablet, 3)))
            circle.close(3, s.tablet, s.desk, circle.heads((s.desk, 4), (s.tablet, 4)))
            del circle.records[log_key(s.tablet, 2)]

        self.assertEqual(self.carol_and_erin(change), (1, True))

    def test_a_suspension_names_one_log(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            late = version(s.later, plaintext(item("nina", 1), b"of the tablet"))
            circle.append(s.tablet, late)
            circle.close(4, s.phone, s.desk, circle.heads((s.phone, 1), (s.tablet, 1)))

        self.assertIn("nina", values(self.check_accepted(change)))


if __name__ == "__main__":
    unittest.main()
