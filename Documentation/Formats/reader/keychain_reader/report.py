"""An examination as JSON."""

import base64
import math
import struct
from typing import Any

from .attributes import DATE, NUMBER, TEXT, TYPE_NAMES, Value
from .examine import Examination, Item
from .record import Record


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def value_as_json(value: Value) -> dict[str, Any]:
    shown: Any
    if value.type == TEXT:
        shown = value.data.decode("utf-8")
    elif value.type == NUMBER:
        shown = struct.unpack(">q", value.data)[0]
    elif value.type == DATE:
        seconds = struct.unpack(">d", value.data)[0]
        # JSON has no infinities and no NaN; a reader takes them all the same.
        shown = seconds if math.isfinite(seconds) else value.data.hex()
    else:
        shown = base64_of(value.data)
    return {"type": TYPE_NAMES[value.type], "value": shown}


def record_as_json(record: Record) -> dict[str, Any]:
    return {
        "class": record.item_class,
        "group": record.access_group.decode("utf-8"),
        "is_synchronizable": record.is_synchronizable,
        "is_tombstone": record.is_tombstone,
        "attributes": {
            name: value_as_json(value) for name, value in record.attributes.items()
        },
        "constraints": record.constraints,
        "enrollment": None if record.enrollment is None else record.enrollment.hex(),
        "program": None if record.program is None else record.program.decode("utf-8"),
    }


def item_as_json(item: Item) -> dict[str, Any]:
    result: dict[str, Any] = {"id": item.stored.id, "problems": item.problems}
    row = item.stored.row
    if row is not None:
        result["uuid"] = row.uuid.hex()
        result["protection"] = row.protection
    result["is_locked"] = item.is_locked
    record = item.record
    if record is None:
        return result
    result.update(record_as_json(record))
    result["needs_application_password"] = item.needs_password
    result["has_secret"] = record.secret_tag is not None
    result["secret_base64"] = None if item.secret is None else base64_of(item.secret)
    return result


def examination_as_json(examination: Examination) -> dict[str, Any]:
    keychain = examination.keychain
    return {
        "items": [item_as_json(item) for item in examination.items],
        "set_aside": [
            {
                "uuid": row.uuid.hex(),
                "protection": row.protection,
                "at": row.at if math.isfinite(row.at) else None,
                "reason": row.reason,
            }
            for row in keychain.contents.set_aside
        ],
        "circle": (
            None
            if keychain.contents.circle is None
            else keychain.contents.circle.hex()
        ),
        "outbox": [
            {"id": row.id, "reference": row.reference.hex()}
            for row in keychain.contents.outbox
        ],
        "verification": {
            "is_sound": not examination.problems,
            "problems": examination.problems,
            "notices": keychain.notices,
            "database_version": keychain.version,
            "identifier": keychain.keybag.identifier.hex(),
            "generation": keychain.header.generation,
            "anchor": keychain.anchor,
            "keybag_generation": keychain.keybag.generation,
            "has_passcode": keychain.keybag.has_passcode,
            "available_classes": sorted(keychain.keybag.classes),
            "pages": keychain.page_count,
            "damaged_pages": keychain.damaged_pages,
            "rows": len(examination.items),
            "locked_rows": sum(item.is_locked for item in examination.items),
            "set_aside_rows": keychain.contents.set_aside_count,
            "terms": len(keychain.contents.terms),
        },
    }
