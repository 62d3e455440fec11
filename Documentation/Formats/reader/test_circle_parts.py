"""The rules of the parts of entries: grants of keys, and versions of items.

    python -m unittest test_circle_parts
"""

import math
import unittest
from collections.abc import Callable

import circle_writer as writing
from circle_sample import CircleTestCase, encoded, item, log_key, values
from circle_writer import CircleWriter, GroupKey, Machine, grant, plaintext, version
from keychain_reader.circle_items import decode_version
from keychain_reader.errors import FormatError
from row_writer import Item, Value, data, date, number, text

Change = Callable[[CircleWriter], None]
SIZE = 655_360


class GrantTests(CircleTestCase):
    def granting(self, keys: list[GroupKey], listed: list[bytes] | None = None) -> Change:
        """By the tablet to the desk, with two parts after the grant."""
        s = self.sample
        part = grant(s.desk, keys, s.circle.circle_key, listed)
        other = version(s.later, plaintext(item("nina", 1), b"of another part"))
        return lambda circle: circle.append(
            s.tablet, part, *(self.oscar(key) for key in keys), other
        )

    def oscar(self, key: GroupKey) -> writing.Part:
        return version(key, plaintext(item("oscar", 1, key.group), b"under the key"))

    def is_taken(self, change: Change, reader: Machine | None = None) -> bool:
        return "oscar" in values(self.after(change, reader))

    def check_passed_over(self, key: GroupKey, what: str) -> None:
        s = self.sample
        # No key of the grant is taken.
        good = s.circle.group_key("vault", 1)
        part = grant(s.desk, [good, key], s.circle.circle_key)
        other = version(s.later, plaintext(item("nina", 1), b"of another part"))
        change: Change = lambda c: c.append(s.tablet, part, self.oscar(good), other)
        report = self.check(change, f"{log_key(s.tablet, 4)} part 0", what)
        self.assertNotIn("oscar", values(report))
        # The other parts of the entry count.
        self.assertIn("nina", values(report))

    def test_names_of_groups(self) -> None:
        circle = self.sample.circle
        self.assertTrue(self.is_taken(self.granting([circle.group_key("é" * 512, 1)])))
        self.check_passed_over(circle.group_key("é" * 512 + "x", 1), "too long a")
        self.check_passed_over(circle.group_key("vault\udcff", 1), "no UTF-8")

    def test_keys_in_any_order_and_twice(self) -> None:
        keys = [self.sample.circle.group_key("vault", 1) for _ in range(2)]
        for some in (keys, keys[::-1]):
            self.check_accepted(self.granting(some))
        twice = self.granting([keys[0], keys[0]], listed=[keys[0].id])
        self.assertIn("oscar", values(self.check_accepted(twice)))

    def test_what_is_listed_is_in_order(self) -> None:
        s = self.sample
        key = s.circle.group_key("vault", 1)
        change = self.granting([key], listed=[key.id, key.id])
        report = self.check(change, log_key(s.tablet, 4), "out of order")
        self.assertNotIn("nina", values(report))

    def test_an_encapsulated_key_that_is_none(self) -> None:
        s = self.sample
        key = s.circle.group_key("vault", 1)

        def part(circle: bytes, writer: bytes, index: int, number: int) -> bytes:
            good = grant(s.desk, [key], s.circle.circle_key)(circle, writer, index, number)
            at = 1 + 16 + 2 + 16 + 1088
            return good[:at] + bytes(32) + good[at + 32 :]

        self.check(lambda c: c.append(s.tablet, part), f"{log_key(s.tablet, 4)} part 0", "open")

    def void(self, key: GroupKey, to: Machine) -> Change:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 3)))
            circle.append(s.tablet, grant(to, [key], circle.circle_key), known=7)
            circle.append(s.tablet, self.oscar(key))

        return change

    def test_keys_in_void_entries(self) -> None:
        s = self.sample
        before, current = s.circle.group_key("vault", 0), s.circle.group_key("vault", 1)
        self.assertTrue(self.is_taken(self.void(before, s.desk)))
        what, where = "of the current epoch", f"{log_key(s.tablet, 4)} part 0"
        report = self.check(self.void(current, s.desk), where, what, kind="notices")
        self.assertNotIn("oscar", values(report))
        # What a machine granted to itself it takes all the same.
        for key in (before, current):
            self.assertTrue(self.is_taken(self.void(key, s.tablet), s.tablet))

    def test_the_current_epoch_is_the_readers(self) -> None:
        s = self.sample
        key = s.circle.group_key("vault", 1)

        def removed(circle: CircleWriter) -> None:
            # The entry, of the epoch before, doesn't know the removal.
            self.void(key, s.desk)(circle)
            circle.close(3, s.phone, s.desk, circle.heads(
                (s.desk, 4), (s.phone, 1), (s.tablet, 5)))

        self.assertTrue(self.is_taken(removed))

    def test_the_circle_key_in_a_void_entry(self) -> None:
        s = self.sample

        def change(circle: CircleWriter) -> None:
            circle.add(s.stranger, s.desk)
            circle.append(s.tablet, grant(s.stranger, [], circle.circle_key))
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 3)))

        names = {one["name"] for one in self.after(change, s.stranger)["machines"]}
        self.assertIn("desk", names)

    def test_keys_in_entries_that_are_retired_or_not_needed(self) -> None:
        s = self.sample
        key = s.circle.group_key("vault", 1)

        def retired(circle: CircleWriter) -> None:
            circle.append(s.tablet, grant(s.desk, [key], circle.circle_key), known=7)
            circle.close(4, s.tablet, s.desk, circle.heads((s.tablet, 4)))
            circle.close(5, s.tablet, s.desk, circle.heads((s.tablet, 4)))
            circle.append(s.tablet, self.oscar(key))

        def dropped(circle: CircleWriter) -> None:
            circle.append(s.tablet, grant(s.desk, [key], circle.circle_key))
            circle.append(s.tablet, self.oscar(key), first=5)

        for change in (retired, dropped):
            self.assertTrue(self.is_taken(change))


class VersionTests(CircleTestCase):
    def check_passed_over(self, content: bytes, what: str) -> None:
        s = self.sample
        part = version(s.later, content)
        other = version(s.later, plaintext(item("nina", 1), b"of another part"))
        where = f"{log_key(s.tablet, 4)} part 0"
        report = self.check(lambda c: c.append(s.tablet, part, other), where, what)
        self.assertNotIn("oscar", values(report))
        self.assertIn("nina", values(report))

    def oscar(self, modified: float = 1, others: dict[str, Value] | None = None) -> Item:
        return Item(
            "genp", item("oscar", modified).attributes, "vault", is_synchronizable=True,
            others=others or {},
        )

    def test_items_that_do_not_travel(self) -> None:
        rows: list[tuple[dict[str, Value], str]] = [
            ({"tkid": text("com.apple.setoken")}, "key in hardware"),
            ({"tkid": text("")}, "key in hardware"),
            ({"sysb": number(1)}, "bound to its system"),
            ({"sysb": number(-1)}, "bound to its system"),
            ({"accc": number(1 << 31), "bset": data(b"1")}, "nothing asks for"),
            ({"accc": number(1 << 3), "bset": data(b"1")}, "access control"),
        ]
        rows += [
            ({"accc": number(1 << 14 | 1 << 15 | 1 << 30 | 1 << bit)}, "access control")
            for bit in (0, 1, 3, 4, 5, 31)
        ]
        for others, what in rows:
            with self.subTest(others=others):
                self.check_passed_over(plaintext(self.oscar(others=others), b"v"), what)
        for protection in (5, 9, 10, 11, 12):
            self.check_passed_over(plaintext(self.oscar(), b"v", protection), "doesn't travel")

    def test_dates(self) -> None:
        for modified in (1e12, -1e12, 1e300):
            self.check_passed_over(plaintext(self.oscar(modified), b"v"), "beyond the limit")
        for modified in (math.inf, math.nan):
            self.check_passed_over(plaintext(self.oscar(modified), b"v"), "of another kind")

    def test_records_that_no_row_has(self) -> None:
        rows: list[tuple[dict[str, Value], str]] = [
            ({"accc": number(0)}, "constraints"),
            ({"accc": number(1 << 6)}, "constraints"),
            ({"accc": text("12345678")}, "constraints"),
            ({"prog": text("")}, "program"),
            ({"prog": text("p" * 256)}, "program"),
            ({"cdat": text("1")}, "of another kind"),
            ({"cdat": date(math.nan)}, "of another kind"),
            ({"labl": (1, b"\xff")}, "no UTF-8"),
            ({"labl": (5, b"")}, "the type 5"),
            ({"sysb": (3, bytes(4))}, "another size than 8"),
            ({"path": text("/")}, "the attribute"),
            ({"sync": number(2)}, "neither 0 nor 1"),
        ]
        for others, what in rows:
            with self.subTest(others=others):
                other = _Fields("genp", self.oscar().attributes, "vault", others=others)
                self.check_passed_over(plaintext(other, b"v"), what)

    def test_items_that_travel(self) -> None:
        rows: list[dict[str, Value]] = [
            {"accc": number(1 << 14 | 1 << 15 | 1 << 30)},
            {"sysb": number(0)},
            {"sysb": text("one")},
            {"prog": text("program")},
            {"mdat": date(math.nextafter(1e12, 0))},
            {"mdat": date(math.nextafter(-1e12, 0))},
        ]
        s = self.sample
        for others in rows:
            with self.subTest(others=others):
                part = version(s.later, plaintext(self.oscar(others=others), b"v"))
                report = self.check_accepted(lambda c: c.append(s.tablet, part))
                self.assertIn("oscar", values(report))
        everything = item("oscar", 1, deleted=True, labl=text("of a deletion"), prot=text(""))
        part = version(s.later, plaintext(everything))
        deleted = self.check_accepted(lambda c: c.append(s.tablet, part))["deletions"]
        self.assertEqual(len(deleted), 2)

    def test_sizes(self) -> None:
        s = self.sample
        room = SIZE - len(self.oscar().record(None))
        self.check_passed_over(plaintext(self.oscar(), bytes(room + 1)), "too large")
        part = version(s.later, plaintext(self.oscar(), bytes(room)))
        self.assertIn("oscar", values(self.check_accepted(lambda c: c.append(s.tablet, part))))

    def test_access_groups(self) -> None:
        s = self.sample
        key = s.circle.group_key("", 1)
        part = version(key, plaintext(item("oscar", 1, ""), b"v"))
        change: Change = lambda c: c.append(s.tablet, grant(s.desk, [key], c.circle_key), part)
        report = self.check(change, f"{log_key(s.tablet, 4)} part 1", "has no name")
        self.assertNotIn("oscar", values(report))
        # No key belongs to a group with a longer name, so no version gets as far as here.
        decode_version(plaintext(item("oscar", 1, "g" * 1024)))
        with self.assertRaisesRegex(FormatError, "too long"):
            decode_version(plaintext(item("oscar", 1, "g" * 1025)))

    def test_the_greatest_version_counts(self) -> None:
        s = self.sample
        early, late = (
            version(s.later, plaintext(item("oscar", at), str(at).encode())) for at in (1, 2)
        )
        for entries in ([early, late],), ([late, early],), ([early], [late]), ([late], [early]):
            def change(circle: CircleWriter) -> None:
                for parts in entries:
                    circle.append(s.tablet, *parts)

            shown = values(self.check_accepted(change))
            self.assertEqual(shown["oscar"], encoded(it=b"2")["it"])


class _Fields(Item):
    """Its other fields stand in place of those that an item has."""

    def record(self, tag: bytes | None) -> bytes:
        fields = {
            "agrp": text(self.group), "sync": number(1), "tomb": number(0),
            **self.attributes, **self.others,
        }
        result = b"\x01genp\x00" + writing.u16(len(fields))
        for name in sorted(fields):
            kind, value = fields[name]
            result += name.encode() + bytes([kind]) + writing.sized(value)
        return result


if __name__ == "__main__":
    unittest.main()
