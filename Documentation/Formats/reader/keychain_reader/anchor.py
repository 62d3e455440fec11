"""The file `anchor`: the generation of the latest acknowledged commit."""

from .primitives import is_equal, mac

RECORD_SIZE = 48


def _generation_of(record: bytes, integrity_key: bytes) -> int | None:
    if record[:8] != b"KCAN" + (1).to_bytes(4, "big"):
        return None
    if not is_equal(mac(integrity_key, record[:16]), record[16:]):
        return None
    return int.from_bytes(record[8:16], "big")


def read_anchor(file: bytes, integrity_key: bytes) -> int | None:
    """The larger generation of the sound records, or None without one."""
    generations = []
    for start in (0, RECORD_SIZE):
        record = file[start : start + RECORD_SIZE]
        if len(record) == RECORD_SIZE:
            generation = _generation_of(record, integrity_key)
            if generation is not None:
                generations.append(generation)
    return max(generations, default=None)
