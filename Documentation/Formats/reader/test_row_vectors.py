"""Tests what is behind the vectors of rows, labels and headers of version 2.

    python -m unittest test_row_vectors
"""

import unittest
from collections.abc import Callable

import row_vectors
import row_writer
from keychain_reader import row2
from keychain_reader.errors import FormatError
from test_vectors import Test, open_row2, read_header2


class RowVectorTests(unittest.TestCase):
    def test_files_are_what_the_writer_makes(self) -> None:
        for name, make in row_vectors.FILES.items():
            written = (row_vectors.VECTORS / name).read_text(encoding="utf-8")
            self.assertTrue(make().encoded() == written, name)

    def check_reasons(
        self, file: row_vectors.VectorFile, read: Callable[[Test], object]
    ) -> None:
        for test in file.tests:
            with self.subTest(tcId=test["tcId"], comment=test["comment"]):
                if test["result"] == "valid":
                    read(test)
                    continue
                with self.assertRaises(FormatError) as caught:
                    read(test)
                self.assertEqual(str(caught.exception), file.reasons[test["tcId"]])

    def test_invalid_rows_fail_for_the_reason_of_their_comment(self) -> None:
        self.check_reasons(row_vectors.rows(), open_row2)

    def test_invalid_headers_fail_for_the_reason_of_their_comment(self) -> None:
        self.check_reasons(row_vectors.headers(), read_header2)

    def test_no_two_tests_of_a_file_have_the_same_input(self) -> None:
        for name, make in row_vectors.FILES.items():
            if name == "row-v2.json":
                names = ("keychainID", "indexKey", "classKey", "metadataKey", "uuid",
                         "protection", "grp", "k1", "k2", "k3", "terms", "meta", "secret",
                         "applicationPassword")
            elif name == "header-v2.json":
                names = ("integrityKey", "guardedIntegrityKey", "header")
            else:
                names = ("itemClass", "isSynchronizable", "isTombstone", "fields", "label")
            tests = make().tests
            inputs = {repr([test.get(name) for name in names]) for test in tests}
            if name == "label-v2.json":
                # Another group: the label doesn't hold it.
                self.assertEqual(len(inputs), len(tests) - 1, name)
            else:
                self.assertEqual(len(inputs), len(tests), name)

    def test_padded_sizes_are_those_of_the_document(self) -> None:
        sizes = {
            0: 32, 28: 32, 29: 36, 60: 64, 61: 72, 100: 104, 252: 256, 253: 272,
            1000: 1024, 4096: 4352,
        }
        for size, expected in sizes.items():
            self.assertEqual(row2.padded_size(size, 32), expected)
            self.assertEqual(row_writer.padded_size(size + 4, 32), expected)
        for size in range(70_000):
            for floor in (32, 128):
                one, other = row2.padded_size(size, floor), row_writer.padded_size(
                    size + 4, floor)
                self.assertEqual(one, other)
                # At most 12 % more than the content with its size.
                self.assertLessEqual(one, max(floor, (size + 4) * 1.12))


if __name__ == "__main__":
    unittest.main()
