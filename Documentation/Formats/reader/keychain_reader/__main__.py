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

LARGEST_PASSCODE = 65536


def _read_passcode(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        passcode = file.read(LARGEST_PASSCODE + 1)
    if len(passcode) > LARGEST_PASSCODE:
        raise WrongPasscode("the passcode is too long")
    return passcode


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
        "--copy",
        action="store_true",
        help="the folder is a copy: take any owner and any mode",
    )
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    descriptor = arguments.passcode_fd
    try:
        passcode = None if descriptor is None else _read_passcode(descriptor)
        keychain = open_keychain(arguments.directory, passcode, arguments.copy)
    except (FormatError, OSError) as error:
        failure = getattr(error, "failure", "unreadable")
        report = {"rejected": {"failure": failure, "reason": str(error)}}
        status = 2
    else:
        examination = examine(keychain)
        report = examination_as_json(examination)
        status = 1 if examination.problems else 0
    json.dump(report, sys.stdout, indent=2, ensure_ascii=True, allow_nan=False)
    print()
    return status


if __name__ == "__main__":
    sys.exit(main())
