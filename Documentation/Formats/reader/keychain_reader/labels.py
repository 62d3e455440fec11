"""Labels, under which rows are found."""

from collections.abc import Mapping
from dataclasses import dataclass

from .attributes import CLASSES, DATE, NUMBER, Value, empty_value
from .primitives import mac
from .record import Record

LABEL_SIZE = 16


@dataclass(frozen=True)
class Space:
    """Labels of different spaces have nothing to do with each other."""

    item_class: str
    is_synchronizable: bool
    is_tombstone: bool

    def head(self, domain: int) -> bytes:
        flags = int(self.is_synchronizable) + 2 * int(self.is_tombstone)
        return bytes([domain]) + self.item_class.encode("ascii") + bytes([flags])


@dataclass(frozen=True)
class Labels:
    grp: bytes
    k1: bytes
    k2: bytes
    k3: bytes
    terms: bytes


def comparison_bytes(value: Value) -> bytes:
    kinds = {NUMBER: b"\x01", DATE: b"\x02"}
    return kinds.get(value.type, b"\x00") + value.data


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _label(index_key: bytes, content: bytes) -> bytes:
    return mac(index_key, content)[:LABEL_SIZE]


def attribute_label(
    index_key: bytes, space: Space, name: str, value: Value
) -> bytes:
    content = space.head(1) + name.encode("ascii") + comparison_bytes(value)
    return _label(index_key, content)


def remaining_key_label(
    index_key: bytes,
    space: Space,
    access_group: bytes,
    attributes: Mapping[str, Value],
) -> bytes:
    content = space.head(2) + _sized(access_group)
    for name in CLASSES[space.item_class].rest_of_key:
        value = attributes.get(name, empty_value(name))
        content += name.encode("ascii") + _sized(comparison_bytes(value))
    return _label(index_key, content)


def group_label(index_key: bytes, space: Space, access_group: bytes) -> bytes:
    return _label(index_key, space.head(3) + access_group)


def labels_of(index_key: bytes, record: Record) -> Labels:
    """All labels of the row that holds a record."""
    space = Space(record.item_class, record.is_synchronizable, record.is_tombstone)
    item_class = CLASSES[record.item_class]
    attributes = record.attributes

    def key_label(name: str) -> bytes:
        value = attributes.get(name, empty_value(name))
        return attribute_label(index_key, space, name, value)

    return Labels(
        grp=group_label(index_key, space, record.access_group),
        k1=key_label(item_class.first_key),
        k2=key_label(item_class.second_key),
        k3=remaining_key_label(index_key, space, record.access_group, attributes),
        terms=b"".join(
            attribute_label(index_key, space, name, attributes[name])
            for name in item_class.terms
            if name in attributes
        ),
    )
