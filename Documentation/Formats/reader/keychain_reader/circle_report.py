"""An examination of a circle's records as JSON."""

from datetime import datetime, timezone
from typing import Any

from .circle_entries import KINDS, Addition, Closing, Head, Heads, MembershipEntry, Scope
from .circle_joining import Attempt, TokenRequest
from .circle_reader import Log, Opened
from .circle_records import CircleExamination
from .report import base64_of, record_as_json


def _moment(milliseconds: int) -> dict[str, Any]:
    """Also as text, where a calendar has it."""
    try:
        text = datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat()
    except (OverflowError, OSError, ValueError):
        text = None
    return {"milliseconds": milliseconds, "utc": text}


def _head(head: Head) -> dict[str, Any]:
    return {"index": head[0], "digest": head[1].hex()}


def _heads(heads: Heads) -> dict[str, Any]:
    return {name.hex(): _head(heads[name]) for name in sorted(heads)}


def _scope(scope: Scope) -> list[str] | None:
    return None if scope is None else sorted(label.hex() for label in scope)


def _change(entry: MembershipEntry) -> dict[str, Any]:
    body = entry.body
    result: dict[str, Any] = {
        "index": entry.index,
        "kind": KINDS[entry.kind],
        "signer": entry.signer.hex(),
        "made": _moment(entry.made),
    }
    if isinstance(body, Closing):
        result["machine"] = body.target.hex()
    if isinstance(body, Addition | Closing):
        result["heads"] = _heads(body.heads)
    if isinstance(body, Addition):
        result["token"] = body.token.hex() if any(body.token) else None
    return result


def _machine(examination: CircleExamination, identifier: bytes) -> dict[str, Any]:
    circle, reader = examination.circle, examination.reader
    machine, log = circle.machines[identifier], reader.logs.get(identifier, Log())
    head = examination.heads.get(identifier)
    suspended = circle.suspended.get(identifier)
    return {
        "identifier": identifier.hex(),
        "name": examination.names.get(identifier),
        "is_reader": identifier == reader.identifier,
        "is_member": identifier not in circle.removed,
        "added": machine.added,
        "removed": circle.removed.get(identifier),
        "suspended": suspended,
        "is_present": suspended is None or log.known >= suspended,
        "scope": _scope(machine.groups),
        "log": {
            "last": _head((log.index, log.digest)),
            "first_needed": log.needed,
            "entries": log.entries,
            "is_clean": log.is_clean,
            "void": log.void,
            "closed_at": circle.closed.get(identifier),
            "retired_to": circle.retired_to(identifier),
            "acknowledges": _heads(log.acknowledged),
            "knows_membership": log.known,
        },
        "head": None
        if head is None
        else {
            "log": _head(head.log),
            "membership": _head(head.membership),
            "signed": _moment(head.made),
        },
    }


def _item(examination: CircleExamination, opened: Opened) -> dict[str, Any]:
    version, place = opened.version, opened.place
    value = version.value
    return {
        **record_as_json(version.record),
        "protection": version.protection,
        "has_value": value is not None,
        "value_base64": None if value is None else base64_of(value),
        "version": {
            "machine": place.writer.hex(),
            "index": place.index,
            "part": place.part,
            "key": opened.key.hex(),
            "epoch": examination.reader.group_keys[opened.key].epoch,
            "digest": version.digest.hex(),
        },
        "versions": examination.selection.counts[version.name],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    digits, request, challenge = attempt.digits, attempt.request, attempt.challenge
    return {
        "attempt": attempt.name,
        "records": attempt.ends,
        "made": None if request is None else _moment(request.made),
        "member": None if challenge is None else challenge.member.hex(),
        "digits": None if digits is None else f"{digits:06}",
        "pasted_code": attempt.pasted_code,
        "is_refused": attempt.is_refused,
    }


def _token_request(request: TokenRequest) -> dict[str, Any]:
    return {
        "token": request.identifier.hex(),
        "issuer": request.issuer.hex(),
        "machine": request.machine.hex(),
        "scope": _scope(request.scope),
        "expires": _moment(request.expires),
    }


def _said(what: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"record": where, "text": text} for where, text in what]


def circle_as_json(examination: CircleExamination) -> dict[str, Any]:
    circle, reader = examination.circle, examination.reader
    opened = sorted(
        examination.selection.current.values(), key=lambda one: one.version.plaintext
    )
    items = [_item(examination, one) for one in opened if not one.version.is_deletion]
    deletions = [_item(examination, one) for one in opened if one.version.is_deletion]
    return {
        "circle": {
            "identifier": circle.identifier.hex(),
            "prefix": examination.records.prefix,
            "membership": _head(circle.head),
            "epoch": circle.epoch,
            "has_recovery_code": circle.recovery is not None,
            "reader": reader.identifier.hex(),
        },
        "membership": [_change(entry) for entry in circle.entries],
        "machines": [_machine(examination, name) for name in sorted(circle.machines)],
        "keys": [
            {
                "identifier": identifier.hex(),
                "epoch": key.epoch,
                "group": key.group.decode("utf-8", "backslashreplace"),
            }
            for identifier, key in sorted(reader.group_keys.items())
        ],
        "items": items,
        "deletions": deletions,
        "joining": [_attempt(attempt) for attempt in examination.attempts],
        "token_requests": [_token_request(one) for one in examination.token_requests],
        "verification": {
            "is_sound": not examination.problems,
            "problems": _said(examination.problems),
            "notices": _said(examination.notices),
            "grants_opened": reader.grants_opened,
        },
    }
