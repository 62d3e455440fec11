"""Prints a keychain as JSON, or what the records of a circle say.

Ends with 0 where all is as the documents demand, with 1 where something isn't,
and with 2 where the keychain, or the dump of records, as a whole is rejected.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from .circle_dump import Records, read_dump, read_keys
from .circle_records import examine_circle
from .circle_report import circle_as_json
from .errors import FormatError, Malformed, WrongPasscode
from .examine import examine
from .keychain import open_keychain
from .report import examination_as_json

LARGEST_INPUT = 65536
CIRCLE_RECORDS = "circle-records"


def _read(descriptor: int | None) -> bytes | None:
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(LARGEST_INPUT + 1)
    if len(content) > LARGEST_INPUT:
        raise WrongPasscode("the passcode or password is too long")
    return content


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="keychain_reader",
        description="Prints a keychain as JSON, secrets too.",
        epilog=f"`keychain_reader {CIRCLE_RECORDS}` instead reads the records of a circle.",
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument(
        "--passcode-fd",
        type=int,
        metavar="N",
        help="descriptor to read the passcode from, to its end; every byte counts,"
        " a newline too",
    )
    parser.add_argument(
        "--application-password-fd",
        type=int,
        metavar="N",
        help="descriptor to read an application password from, likewise; items under"
        " another one stay closed",
    )
    parser.add_argument(
        "--copy",
        action="store_true",
        help="the folder is a copy: take any owner and any mode",
    )
    return parser.parse_args()


def _examine_keychain() -> tuple[dict[str, Any], bool]:
    arguments = _arguments()
    passcode = _read(arguments.passcode_fd)
    password = _read(arguments.application_password_fd)
    keychain = open_keychain(arguments.directory, passcode, arguments.copy)
    examination = examine(keychain, password)
    return examination_as_json(examination), not examination.problems


# Records of a circle


def _circle_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"keychain_reader {CIRCLE_RECORDS}",
        description="Verifies the records of a circle and prints its items as JSON,"
        " secrets too.",
    )
    parser.add_argument(
        "file",
        type=Path,
        help="what `etcdctl get --prefix PREFIX -w json` printed, or JSON lines with"
        " key and value; values in base64, keys as well or plain",
    )
    parser.add_argument(
        "--keys",
        type=Path,
        required=True,
        metavar="FILE",
        help="JSON with a member's keys in hexadecimal: signingKey, the scalar, which"
        " may be absent, and agreementSeed, the seed of the X-Wing key; or recoveryCode",
    )
    parser.add_argument(
        "--circle",
        metavar="HEX",
        help="the circle's identifier, where the file has the records of several",
    )
    return parser.parse_args(arguments)


def _chosen(circles: list[Records], identifier: str | None) -> Records:
    if identifier is not None:
        circles = [one for one in circles if one.circle.hex() == identifier]
    if len(circles) != 1:
        raise Malformed(f"the dump has the records of {len(circles)} such circles")
    return circles[0]


def _examine_circle() -> tuple[dict[str, Any], bool]:
    arguments = _circle_arguments(sys.argv[2:])
    keys = read_keys(arguments.keys.read_text(encoding="utf-8"))
    circles = read_dump(arguments.file.read_text(encoding="utf-8"))
    examination = examine_circle(_chosen(circles, arguments.circle), keys)
    return circle_as_json(examination), not examination.problems


def main() -> int:
    is_circle = sys.argv[1:2] == [CIRCLE_RECORDS]
    try:
        report, is_sound = _examine_circle() if is_circle else _examine_keychain()
    except (FormatError, OSError, UnicodeDecodeError) as error:
        failure = getattr(error, "failure", "unreadable")
        report = {"rejected": {"failure": failure, "reason": str(error)}}
        status = 2
    else:
        status = 0 if is_sound else 1
    json.dump(report, sys.stdout, indent=2, ensure_ascii=True, allow_nan=False)
    print()
    return status


if __name__ == "__main__":
    sys.exit(main())
