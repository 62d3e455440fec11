"""Makes the vectors of headers of version 2, which row_vectors.py writes."""

from dataclasses import replace
from typing import Any

from row_writer import Bytes, Header, Part, hmac_sha256, u64

LARGEST = 2**64 - 1
RESERVED = "the header's reserved bytes are not zero"
SIZE = "the header has another size"
TAG = "the header's tag does not fit"
GUARDED_TAG = "the tag of the header's guarded part does not fit"
FIELDS = {
    "keychain's identifier": 8, "generation": 31, "set-aside count": 32,
    "keybag's generation": 47, "open tier's count": 55, "open tier's mask value": 56,
    "open tier's digest": 103, "guarded tier's count": 104,
    "number of the guarded tier's writes": 119, "guarded tier's mask value": 135,
    "guarded tier's digest": 136, "guarded part's tag": 199,
}


def flipped(content: bytes, at: int, bit: int = 1) -> bytes:
    at %= len(content)
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]


def headers(file_type: Any) -> Any:
    file = file_type("swift-keychain store header", {
        "Authentication": "The tag over the header.",
        "Digest": "The digests over rows, one of each tier.",
        "Guarded": "The guarded tier's part where it isn't what that tier's key vouches"
        " for. The tag over the header was made anew after each change.",
        "Structure": "Fields with values that no version 2 header has. Where the size"
        " allows it, the tag was made anew after the change.",
    })
    random = Bytes("header-v2")
    open_key, guarded_key, other_key = (random.take(32) for _ in range(3))
    identifier = random.take(16)

    def rows(count: int) -> list[tuple[bytes, bytes]]:
        return [(random.take(16), random.take(16)) for _ in range(count)]

    def listed(rows: list[tuple[bytes, bytes]]) -> list[dict[str, str]]:
        return [{"uuid": u.hex(), "metadataTag": tag.hex()} for u, tag in rows]

    def header(
        open_rows: list[tuple[bytes, bytes]], guarded_rows: list[tuple[bytes, bytes]],
        **changes: Any,
    ) -> Header:
        made = Header(
            identifier, 44, 2, 3, Part.of(open_key, open_rows, random.take(16)),
            Part.of(guarded_key, guarded_rows, random.take(16)), 7)
        return replace(made, **changes)

    def encoded(made: Header, guarded: bytes | None = None) -> bytes:
        return made.encoded(open_key, guarded_key, guarded)

    def valid(
        comment: str, made: Header, flag: str = "Digest", key: bytes | None = guarded_key,
        guarded: bytes | None = None,
        open_rows: list[tuple[bytes, bytes]] | None = None,
        guarded_rows: list[tuple[bytes, bytes]] | None = None,
    ) -> None:
        part = made.guarded
        count = part.count if guarded is None else int.from_bytes(guarded[:8], "big")
        file.add(
            comment, flag, None, integrityKey=open_key, guardedIntegrityKey=key,
            header=encoded(made, guarded), keychainID=made.identifier,
            generation=made.generation, setAsideCount=made.set_aside,
            keybagGeneration=made.keybag_generation, openCount=made.open.count,
            openDigest=made.open.digest.to_bytes(32, "big"), guardedCount=count,
            guardedWrites=None if key is None else made.guarded_writes,
            guardedDigest=None if key is None else part.digest.to_bytes(32, "big"),
            openRows=None if open_rows is None else listed(open_rows),
            guardedRows=None if guarded_rows is None else listed(guarded_rows),
        )

    def invalid(
        comment: str, flag: str, content: bytes, reason: str, key: bytes = open_key,
        guarded: bytes | None = guarded_key,
    ) -> None:
        file.add(
            comment, flag, reason, integrityKey=key, guardedIntegrityKey=guarded,
            header=content,
        )

    # What a writer makes.
    first, second = rows(3), rows(5)
    made = header(first, second)
    valid("rows of both tiers", made, open_rows=first, guarded_rows=second)
    valid("the same without the guarded tier's key", made, key=None, open_rows=first)
    new = header([], [], generation=1, set_aside=0, keybag_generation=1, guarded_writes=0)
    valid("a new database", new, open_rows=[], guarded_rows=[])
    valid("a new database without the guarded tier's key", new, key=None, open_rows=[])
    valid("open rows alone", header(first, []), open_rows=first, guarded_rows=[])
    valid("guarded rows alone", header([], second), open_rows=[], guarded_rows=second)
    valid("the rows in another order, under other masks", header(first[::-1], second[::-1]),
          open_rows=first, guarded_rows=second)
    valid("the same rows in both tiers: other digests", header(first, first),
          open_rows=first, guarded_rows=first)
    same = header(first, second)
    valid("one mask value for both tiers", replace(
        same, guarded=replace(same.guarded, mask_value=same.open.mask_value)),
        open_rows=first, guarded_rows=second)
    valid("mask values of zeros", replace(
        same, open=replace(same.open, mask_value=bytes(16)),
        guarded=replace(same.guarded, mask_value=bytes(16))),
        open_rows=first, guarded_rows=second)
    most = Part(LARGEST, 2**256 - 1, b"\xff" * 16)
    valid("the largest numbers", header(
        [], [], generation=LARGEST, set_aside=LARGEST, keybag_generation=LARGEST,
        open=replace(most, count=0), guarded=replace(most, count=LARGEST),
        guarded_writes=LARGEST))
    valid("the largest number of open rows", header([], [], open=most))
    # A commit that doesn't change guarded rows takes their part over as it stands.
    earlier = made.guarded_bytes(guarded_key)
    later = replace(header(rows(4), second), generation=45, guarded=made.guarded)
    valid("a guarded part of an earlier commit", later, guarded=earlier,
          guarded_rows=second)
    valid("a guarded part of an earlier commit, without its key", later, key=None,
          guarded=earlier)

    # Changed without the key.
    whole = encoded(made)
    for name, at in FIELDS.items():
        invalid(f"the {name} changed", "Authentication", flipped(whole, at), TAG)
        if at >= 104:
            invalid(f"the {name} changed, without the guarded tier's key",
                    "Authentication", flipped(whole, at), TAG, guarded=None)
    invalid("the tag's first bit changed", "Authentication", flipped(whole, 200, 0x80), TAG)
    invalid("the tag's last bit changed", "Authentication", flipped(whole, -1), TAG)
    invalid("another integrity key", "Authentication", whole, TAG, other_key)
    invalid("the guarded tier's key for the open one's", "Authentication", whole, TAG,
            guarded_key)
    body = whole[:200]
    invalid("a tag under the guarded tier's key", "Authentication",
            body + hmac_sha256(guarded_key, body), TAG)
    invalid("a tag over the open tier's part alone", "Authentication",
            body + hmac_sha256(open_key, body[:104]), TAG)
    invalid("a tag over all but the guarded part's", "Authentication",
            body + hmac_sha256(open_key, body[:168]), TAG)

    # The open tier's key is there, the guarded one's isn't: a part that is put in its place.
    part, content = earlier, earlier[:64]
    stranger = replace(made, identifier=random.take(16))
    parts = {
        "another keychain's guarded part": stranger.guarded_bytes(guarded_key),
        "the guarded part of another header under another key": made.guarded_bytes(other_key),
        "a guarded tag under the open tier's key": made.guarded_bytes(open_key),
        "a guarded tag without the identifier":
            content + hmac_sha256(guarded_key, b"guarded" + content),
        "a guarded tag without its name":
            content + hmac_sha256(guarded_key, identifier + content),
        "a guarded tag over the header before it too":
            content + hmac_sha256(guarded_key, b"guarded" + body[:104] + content),
        "a guarded part of zeros": bytes(96),
        "another count of guarded rows": flipped(part, 7),
        "a count of no guarded rows": bytes(8) + part[8:],
        "another number of writes": flipped(part, 15),
        "another mask value of the guarded tier": flipped(part, 16),
        "another digest of the guarded tier": flipped(part, 63),
        "another tag of the guarded part": flipped(part, 64),
        "the other end of that tag": flipped(part, -1, 0x80),
        "the open tier's count, mask value and digest":
            body[48:56] + part[8:16] + body[56:104] + part[64:],
    }
    for name, guarded in parts.items():
        invalid(name, "Guarded", encoded(made, guarded), GUARDED_TAG)
        valid(f"{name}, without that tier's key", made, "Guarded", None, guarded)
    invalid("another guarded integrity key", "Guarded", whole, GUARDED_TAG,
            guarded=other_key)
    invalid("the open tier's key for the guarded one's", "Guarded", whole, GUARDED_TAG,
            guarded=open_key)

    # What no header is.
    def anew(content: bytes) -> bytes:
        return content + hmac_sha256(open_key, content)

    flag = "Structure"
    invalid("the wrong magic", flag, anew(b"KCHE" + body[4:]), "the header has another magic")
    for version in (0, 1, 3):
        invalid(f"version {version}", flag, anew(body[:4] + bytes([version]) + body[5:]),
                f"the header has the version {version}")
    for at in (5, 6, 7):
        invalid(f"reserved byte {at} not zero", flag, anew(flipped(body, at)), RESERVED)
    invalid("no bytes", flag, b"", SIZE)
    invalid("the last byte missing", flag, whole[:-1], SIZE)
    invalid("a byte after the tag", flag, whole + b"\0", SIZE)
    invalid("a byte before the tag", flag, anew(body + b"\0"), SIZE)
    invalid("a byte less before the tag", flag, anew(body[:-1]), SIZE)
    invalid("no tag", flag, body, SIZE)
    invalid("no guarded part", flag, anew(body[:104]), SIZE)
    version1 = b"KCHD\x01\0\0\0" + identifier + u64(44) + u64(3) + u64(2) + u64(3)
    version1 += made.open.masked(open_key)
    invalid("a header of version 1", flag, anew(version1), SIZE)
    invalid("a header of version 1 that says version 2", flag,
            anew(b"KCHD\x02" + version1[5:]), SIZE)
    return file
