"""Prints a keychain as JSON.

Ends with 0 where all is as the documents demand, with 1 where something isn't,
and with 2 where the keychain as a whole is rejected.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from .errors import FormatError, WrongPasscode
from .examine import examine
from .keychain import open_keychain
from .report import examination_as_json

LARGEST_INPUT = 65536


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
        prog="keychain_reader", description="Prints a keychain as JSON, secrets too."
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


def main() -> int:
    arguments = _arguments()
    try:
        passcode = _read(arguments.passcode_fd)
        password = _read(arguments.application_password_fd)
        keychain = open_keychain(arguments.directory, passcode, arguments.copy)
    except (FormatError, OSError) as error:
        failure = getattr(error, "failure", "unreadable")
        report = {"rejected": {"failure": failure, "reason": str(error)}}
        status = 2
    else:
        examination = examine(keychain, password)
        report = examination_as_json(examination)
        status = 1 if examination.problems else 0
    json.dump(report, sys.stdout, indent=2, ensure_ascii=True, allow_nan=False)
    print()
    return status


if __name__ == "__main__":
    sys.exit(main())
