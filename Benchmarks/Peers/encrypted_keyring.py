"""encrypted_keyring: Python's keyring with its encrypted file, which is below XDG_DATA_HOME."""

import configparser
import os

from answering import SERVICE, account, answer, secret
from keyrings.alt.escape import escape
from keyrings.alt.file import EncryptedKeyring
from keyrings.alt.file_base import encodebytes

ring = EncryptedKeyring()
# Without this, keyring would ask for the password at the terminal.
ring.keyring_key = "password"


def fill(count):
    """Writes items in the form of set_password, which would read and write the whole file for each
    item."""
    ring.set_password(SERVICE, account(0), secret(0))
    config = configparser.RawConfigParser()
    config.read(ring.file_path, encoding="utf-8")
    for index in range(1, count):
        sealed = ring.encrypt(secret(index).encode())
        config.set(escape(SERVICE), escape(account(index)), "\n" + encodebytes(sealed).decode())
    with open(ring.file_path, "w", encoding="utf-8") as file:
        config.write(file)
        os.fsync(file.fileno())


def load(index):
    found = ring.get_password(SERVICE, account(index))
    assert found == secret(index), index
    return found


def save(index):
    ring.set_password(SERVICE, account(index), secret(index))


answer({"fill": fill, "load": load, "save": save})
