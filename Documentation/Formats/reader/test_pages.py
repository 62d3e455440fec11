"""Databases of version 2: what is read, and that no altered byte is.

    python -m unittest test_pages
"""

import struct
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

import keychain_writer as writing
from keychain_reader import log as logs
from keychain_reader.errors import FormatError
from keychain_reader.examine import Examination, examine
from keychain_reader.keychain import open_keychain
from keychain_reader.pages import PAGE_SIZE, checksum
from keychain_reader.report import examination_as_json

DATABASE, LOG = "keychain.db", "keychain.db-wal"

Change = Callable[[bytearray], bytes | bytearray]


def page(content: bytes, number: int) -> bytes:
    return bytes(content[(number - 1) * PAGE_SIZE : number * PAGE_SIZE])


def frame_start(number: int) -> int:
    return logs.HEADER_SIZE + (number - 1) * logs.FRAME_SIZE


def flipped(at: int) -> Change:
    def change(content: bytearray) -> bytearray:
        content[at] ^= 1
        return content

    return change


def swapped(size: int, start: Callable[[int], int], a: int, b: int) -> Change:
    def change(content: bytearray) -> bytearray:
        first, second = slice(start(a), start(a) + size), slice(start(b), start(b) + size)
        content[first], content[second] = content[second], content[first]
        return content

    return change


class Keychains(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        self.count = 0

    def writer(self, version: int = 2) -> writing.Writer:
        self.count += 1
        work = self.root / f"work-{self.count}"
        work.mkdir()
        writer = writing.Writer(work, version)
        self.addCleanup(writer.connection.close)
        return writer

    def folder(self) -> Path:
        self.count += 1
        return self.root / f"keychain-{self.count}"

    def filled(self, version: int = 2, in_log: bool = False) -> writing.Writer:
        writer = self.writer(version)
        for number in range(3):
            writer.add(f"account {number}", f"secret {number}".encode())
        if not in_log:
            writer.checkpoint()
        return writer

    def read(self, folder: Path) -> Examination:
        return examine(open_keychain(folder, None))

    def secrets(self, folder: Path) -> list[bytes | None]:
        examination = self.read(folder)
        self.assertEqual(examination.problems, [])
        return [item.secret for item in examination.items]

    def changed(self, source: Path, name: str, change: Change) -> Path:
        folder = writing.copy_folder(source, self.folder())
        content = bytearray((folder / name).read_bytes())
        after = bytes(change(bytearray(content)))
        self.assertNotEqual(after, content, "the change changes nothing")
        (folder / name).write_bytes(after)
        return folder

    def refuses(self, folder: Path, failure: str = "inauthentic") -> None:
        with self.assertRaises(FormatError) as caught:
            self.read(folder)
        self.assertEqual(caught.exception.failure, failure, str(caught.exception))


ALL = [b"secret 0", b"secret 1", b"secret 2"]


class ReadingTests(Keychains):
    def test_both_versions_with_and_without_a_log(self) -> None:
        for version in (1, 2):
            for in_log in (False, True):
                with self.subTest(version=version, in_log=in_log):
                    folder = self.filled(version, in_log).save(self.folder())
                    self.assertEqual((folder / LOG).stat().st_size > 0, in_log)
                    self.assertEqual(self.secrets(folder), ALL)
                    self.assertEqual(open_keychain(folder, None).version, version)

    def test_a_log_over_a_database(self) -> None:
        writer = self.filled()
        writer.add("account 3", b"secret 3")
        self.assertEqual(self.secrets(writer.save(self.folder())), [*ALL, b"secret 3"])

    def test_a_torn_page_that_the_log_replaces(self) -> None:
        writer = self.filled()
        # Large enough for new pages, which page 1 tells of.
        large = bytes(20000)
        writer.add("account 3", large)
        folder = writer.save(self.folder())
        replaced = {f.page_number for f in logs.frames((folder / LOG).read_bytes())}
        count = (folder / DATABASE).stat().st_size // PAGE_SIZE
        self.assertIn(1, replaced)
        torn = [n for n in range(1, count + 1) if n in replaced]
        for number in torn:
            with self.subTest(page=number):
                # Not the first sector: in page 1 the salt stands there.
                at = (number - 1) * PAGE_SIZE + 1000
                folder_2 = self.changed(folder, DATABASE, flipped(at))
                self.assertEqual(self.secrets(folder_2), [*ALL, large])

    def test_what_was_not_committed_is_passed_over(self) -> None:
        folder = self.filled(in_log=True).save(self.folder())
        start = (folder / LOG).stat().st_size
        cut = self.changed(folder, LOG, lambda log: log[: start - 1])
        # The last commit is lost with its last byte, and the anchor tells of it.
        self.refuses(cut)
        (cut / "anchor").unlink()
        self.assertEqual(self.secrets(cut), ALL[:2])

    def test_garbage_behind_the_last_commit_is_no_damage(self) -> None:
        folder = self.filled(in_log=True).save(self.folder())

        def with_made_up_commits(log: bytearray) -> bytes:
            frame = bytes(log[frame_start(1) : frame_start(2)])
            made_up = struct.pack(">2I", 2, 9) + frame[8:]
            return bytes(log) + made_up * 3 + b"and more"

        for change in (with_made_up_commits, lambda log: bytes(log) + b"x" * 5000):
            self.assertEqual(self.secrets(self.changed(folder, LOG, change)), ALL)
        renewed = self.changed(
            folder, LOG, lambda log: writing.with_new_sums(with_made_up_commits(log))
        )
        self.assertEqual(self.secrets(renewed), ALL)

    def test_rows_that_are_set_aside(self) -> None:
        for tag, problems in ((None, 0), (b"", 0), (bytes(32), 1)):
            writer = self.filled()
            writer.set_aside(writing.sealed_row("old", b"old secret"), 5, tag)
            examination = self.read(writer.save(self.folder()))
            self.assertEqual(len(examination.problems), problems, examination.problems)
            reasons = [row.reason for row in examination.keychain.contents.set_aside]
            self.assertEqual(reasons, ["replaced by a new item with the same key"])
        writer = self.filled()
        writer.set_aside(writing.sealed_row("old", b"old secret"), 7)
        problems_7 = self.read(writer.save(self.folder())).problems
        self.assertEqual(problems_7, ["a row of set_aside has the reason 7"])

    def test_the_outbox(self) -> None:
        writer = self.writer()
        circle, deleted = bytes(range(32)), bytes(range(16))
        writer.change("INSERT INTO state VALUES ('circle', ?)", circle)
        item = writer.add("account", b"secret")
        for reference in (item.uuid, deleted, item.uuid):
            writer.change("INSERT INTO outbox VALUES (NULL, ?)", reference)
        examination = self.read(writer.save(self.folder()))
        self.assertEqual(examination.problems, [])
        report = examination_as_json(examination)
        self.assertEqual(report["circle"], circle.hex())
        self.assertEqual(
            report["outbox"],
            [
                {"id": 1, "reference": item.uuid.hex()},
                {"id": 2, "reference": deleted.hex()},
                {"id": 3, "reference": item.uuid.hex()},
            ],
        )

    def test_what_no_writer_puts_into_outbox_and_state(self) -> None:
        circle = "INSERT INTO state VALUES ('circle', x'" + 32 * "00" + "')"
        outbox = "INSERT INTO outbox VALUES (NULL, "
        cases = {
            (circle, outbox + "zeroblob(15))"): ["a row of outbox is no reference"],
            (circle, outbox + "'sixteen letters.')"): ["a row of outbox is no reference"],
            (outbox + "zeroblob(16))",): ["the table outbox has rows without a circle"],
            ("INSERT INTO state VALUES ('circle', zeroblob(31))",): [
                "the circle in the table state is none"
            ],
            ("INSERT INTO state VALUES ('circles', zeroblob(32))",): [
                "the table state has a row that isn't known"
            ],
        }
        for statements, problems in cases.items():
            with self.subTest(statements):
                writer = self.filled()
                for statement in statements:
                    writer.change(statement)
                examination = self.read(writer.save(self.folder()))
                self.assertEqual(examination.problems, problems)


class TamperingTests(Keychains):
    """What an attacker without the device key can do to the files."""

    def test_each_byte_of_the_ends_of_pages(self) -> None:
        folder = self.filled().save(self.folder())
        count = (folder / DATABASE).stat().st_size // PAGE_SIZE
        for number in range(1, count + 1):
            for at in (0, 30, 72, 87, 100, 2000, 4063, *range(4064, 4096)):
                if number == 1 and at == 0:
                    continue
                with self.subTest(page=number, at=at):
                    place = (number - 1) * PAGE_SIZE + at
                    self.refuses(self.changed(folder, DATABASE, flipped(place)))
        self.refuses(self.changed(folder, DATABASE, flipped(0)), "malformed")

    def test_pages_in_other_places(self) -> None:
        folder = self.filled().save(self.folder())
        other = self.filled().save(self.folder())
        foreign = (other / DATABASE).read_bytes()

        def start(number: int) -> int:
            return (number - 1) * PAGE_SIZE

        changes: dict[str, Change] = {
            "two pages swapped": swapped(PAGE_SIZE, start, 4, 5),
            "a page of another file": lambda c: (
                c[: start(4)] + page(foreign, 4) + c[start(5) :]
            ),
            "the salt of another file": lambda c: c[:72] + foreign[72:88] + c[88:],
            "page 1 of another file": lambda c: page(foreign, 1) + c[PAGE_SIZE:],
            "a page of zeros": lambda c: c[: start(4)] + bytes(PAGE_SIZE) + c[start(5) :],
            "half a page more": lambda c: bytes(c) + bytes(2048),
            "a page more": lambda c: bytes(c) + page(c, 4),
        }
        for name, change in changes.items():
            with self.subTest(name):
                self.refuses(self.changed(folder, DATABASE, change))

    def test_a_page_less(self) -> None:
        folder = self.filled().save(self.folder())
        # SQLite finds it: page 1 says how many there are.
        self.refuses(self.changed(folder, DATABASE, lambda c: c[:-PAGE_SIZE]), "malformed")

    def test_a_page_with_a_checksum_of_version_1(self) -> None:
        folder = self.filled().save(self.folder())

        def change(content: bytearray) -> bytearray:
            content[3 * PAGE_SIZE + 4000] ^= 1
            altered = page(content, 4)[:-8]
            content[3 * PAGE_SIZE : 4 * PAGE_SIZE] = altered + checksum(altered, 4)
            return content

        self.refuses(self.changed(folder, DATABASE, change))

    def test_another_version_or_other_reserved_bytes(self) -> None:
        folder = self.filled().save(self.folder())

        def with_bytes(at: int, value: int) -> Change:
            def change(content: bytearray) -> bytearray:
                content[at] = value
                return content

            return change

        self.refuses(self.changed(folder, DATABASE, with_bytes(20, 8)), "malformed")
        self.refuses(self.changed(folder, DATABASE, with_bytes(63, 1)), "malformed")
        self.refuses(self.changed(folder, DATABASE, with_bytes(63, 3)), "newerVersion")
        self.refuses(self.changed(folder, DATABASE, with_bytes(63, 0)), "malformed")

    def test_frames(self) -> None:
        """With SQLite's checksums made anew, since they have no key."""
        folder = self.filled(in_log=True).save(self.folder())
        log = (folder / LOG).read_bytes()
        frames = list(logs.frames(log))
        commit = next(f.number for f in frames if f.commit_size and f.number > 1)
        salts = bytearray(log)
        for frame in frames:
            at = frame_start(frame.number)
            salts[at + 8 : at + 16] = bytes(8)
        salts[16:24] = bytes(8)
        changes: dict[str, Change] = {
            "a byte of a page": flipped(frame_start(2) + 24 + 4000),
            "a page number": flipped(frame_start(2) + 3),
            "a commit's size": flipped(frame_start(commit) + 7),
            "a commit made of another frame": flipped(frame_start(commit - 1) + 7),
            "a tag": flipped(frame_start(3) - 32),
            "a nonce": flipped(frame_start(3) - 16),
            "a reserved byte": flipped(frame_start(3) - 1),
            "two frames swapped": swapped(logs.FRAME_SIZE, frame_start, 2, 3),
            "a frame left out": lambda c: c[: frame_start(2)] + c[frame_start(3) :],
            "the log's salts": flipped(16),
            "all salts zero": lambda c: bytes(salts),
        }
        for name, change in changes.items():
            with self.subTest(name):
                self.refuses(
                    self.changed(
                        folder, LOG, lambda c: writing.with_new_sums(bytes(change(c)))
                    )
                )

    def test_a_log_of_another_file_or_an_earlier_one(self) -> None:
        writer = self.filled()
        writer.add("account 3", b"secret 3")
        earlier = (writer.save(self.folder()) / LOG).read_bytes()
        writer.checkpoint()
        writer.add("account 4", b"secret 4")
        folder = writer.save(self.folder())
        other = self.filled()
        other.add("account 3", b"secret 3")
        foreign = (other.save(self.folder()) / LOG).read_bytes()
        for log in (earlier, foreign, b""):
            self.refuses(self.changed(folder, LOG, lambda c: log))

        def with_frame_of(log: bytes) -> Change:
            def change(content: bytearray) -> bytes:
                at = slice(frame_start(1) + 24, frame_start(2))
                content[at] = log[at]
                return writing.with_new_sums(bytes(content))

            return change

        for log in (earlier, foreign):
            self.refuses(self.changed(folder, LOG, with_frame_of(log)))

    def test_a_damaged_log_is_told_from_its_end(self) -> None:
        folder = self.filled(in_log=True).save(self.folder())
        (folder / "anchor").unlink()
        damaged = self.changed(folder, LOG, flipped(frame_start(1) + 500))
        with self.assertRaises(FormatError) as caught:
            self.read(damaged)
        self.assertIn("log is damaged at frame 1", str(caught.exception))

    def test_the_schema(self) -> None:
        statements = (
            "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END",
            "CREATE VIEW v AS SELECT * FROM items",
            "CREATE INDEX items_k1 ON items(k1)",
            "DROP INDEX items_grp",
        )
        for statement in statements:
            with self.subTest(statement):
                writer = self.filled()
                writer.execute(statement)
                self.refuses(writer.save(self.folder()), "malformed")

    def test_what_says_that_a_recovery_is_due(self) -> None:
        for name in ("keychain.db.recovered", "log-is-damaged"):
            folder = self.filled().save(self.folder())
            (folder / name).touch(0o600)
            self.refuses(folder, "malformed")

    def test_a_rollback_journal_is_passed_over(self) -> None:
        folder = self.filled().save(self.folder())
        content = (folder / DATABASE).read_bytes()
        journal = bytes.fromhex("d9d505f920a163d7")
        journal += struct.pack(">5I", 1, 1, len(content) // PAGE_SIZE, 512, PAGE_SIZE)
        journal = journal.ljust(512, b"\0") + struct.pack(">I", 4) + bytes(PAGE_SIZE)
        journal += struct.pack(">I", 1)
        (folder / f"{DATABASE}-journal").write_bytes(journal)
        self.assertEqual(self.secrets(folder), ALL)
        self.assertEqual((folder / DATABASE).read_bytes(), content)


if __name__ == "__main__":
    unittest.main()
