"""libsecret: calls its blocking functions directly, without PyGObject, and fills a keyring of
gnome-keyring."""

import ctypes
import os
import time
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_void_p

from answering import SERVICE, account, answer, secret

SCHEMA = b"org.example.Peer"


# --- Calls --------------------------------------------------------------------------------------


class Attribute(Structure):
    _fields_ = [("name", c_char_p), ("type", c_int)]


class Schema(Structure):
    _fields_ = [("name", c_char_p), ("flags", c_int), ("attributes", Attribute * 32),
                ("reserved", c_int), ("pointers", c_void_p * 7)]


class Error(Structure):
    _fields_ = [("domain", ctypes.c_uint32), ("code", c_int), ("message", c_char_p)]


class List(Structure):
    pass


List._fields_ = [("data", c_void_p), ("next", POINTER(List)), ("previous", POINTER(List))]

schema = Schema(name=SCHEMA)
schema.attributes[0] = Attribute(b"service", 0)
schema.attributes[1] = Attribute(b"account", 0)
SEARCH_ALL = 1 << 1


def library():
    found = ctypes.CDLL("libsecret-1.so.0")
    found.secret_password_lookup_sync.restype = c_void_p
    found.secret_password_free.argtypes = [c_void_p]
    found.secret_password_search_sync.restype = POINTER(List)
    found.g_list_free.argtypes = [POINTER(List)]
    found.g_object_unref.argtypes = [c_void_p]
    return found


def names(index):
    return b"service", SERVICE.encode(), b"account", account(index).encode(), None


def check(error):
    if error:
        raise OSError(error.contents.message.decode())


def load(index):
    error = POINTER(Error)()
    found = lib.secret_password_lookup_sync(byref(schema), None, byref(error), *names(index))
    check(error)
    value = ctypes.string_at(found)
    lib.secret_password_free(found)
    assert value == secret(index).encode(), index


def save(index):
    error = POINTER(Error)()
    lib.secret_password_store_sync(
        byref(schema), None, account(index).encode(), secret(index).encode(), None,
        byref(error), *names(index))
    check(error)


def list_all(count):
    error = POINTER(Error)()
    first = lib.secret_password_search_sync(
        byref(schema), SEARCH_ALL, None, byref(error), b"service", SERVICE.encode(), None)
    check(error)
    found, entry = 0, first
    while entry:
        lib.g_object_unref(entry.contents.data)
        found, entry = found + 1, entry.contents.next
    lib.g_list_free(first)
    assert found >= count, found


# --- Filling ------------------------------------------------------------------------------------


def write(folder, count):
    """Writes a keyring in plain text, which the daemon opens without a password."""
    os.makedirs(folder, mode=0o700)
    lines = ["[keyring]", "display-name=peers", "ctime=0", "mtime=0", "lock-on-idle=false",
             "lock-after=false"]
    for index in range(count):
        lines += [f"[{index}]", "item-type=0", f"display-name={account(index)}",
                  f"secret={secret(index)}", "mtime=0", "ctime=0"]
        attributes = {"service": SERVICE, "account": account(index), "xdg:schema": SCHEMA.decode()}
        for number, (name, value) in enumerate(attributes.items()):
            lines += [f"[{index}:attribute{number}]", f"name={name}", "type=string",
                      f"value={value}"]
    with open(f"{folder}/peers.keyring", "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(f"{folder}/default", "w") as file:
        file.write("peers")


def encrypt():
    """Gives that keyring a password, with the daemon's internal method for gnome-keyring's own
    programs."""
    from jeepney import DBusAddress, message_bus, new_method_call
    from jeepney.io.blocking import open_dbus_connection

    name = "org.freedesktop.secrets"
    service = DBusAddress(
        "/org/freedesktop/secrets", name, "org.freedesktop.Secret.Service")
    internal = service.with_interface("org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface")
    with open_dbus_connection() as bus:

        def call(*message):
            return bus.send_and_get_reply(new_method_call(*message)).body

        # Until the daemon owns its name, a call would make the bus start another daemon.
        deadline = time.monotonic() + 10
        while not bus.send_and_get_reply(message_bus.NameHasOwner(name)).body[0]:
            assert time.monotonic() < deadline, "gnome-keyring-daemon doesn't answer"
            time.sleep(0.01)
        session = call(service, "OpenSession", "sv", ("plain", ("s", "")))[1]
        keyring = call(service, "ReadAlias", "s", ("default",))[0]

        def password(value):
            return session, b"", value, "text/plain"

        call(internal, "ChangeWithMasterPassword", "o(oayays)(oayays)",
             (keyring, password(b""), password(b"password")))
        call(internal, "UnlockWithMasterPassword", "o(oayays)", (keyring, password(b"password")))
    folder = os.environ["XDG_DATA_HOME"] + "/keyrings"
    with open(f"{folder}/peers.keyring", "rb") as file:
        assert file.read(12) == b"GnomeKeyring", "the keyring isn't encrypted"


lib = library()
answer({"write": write, "encrypt": encrypt, "load": load, "save": save, "list": list_all})
