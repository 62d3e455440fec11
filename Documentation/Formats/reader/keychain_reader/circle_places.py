"""Where the server has the entries of logs: Documentation/Synchronization.md.

The key of a record says only where to look. Whose entry it is, and at which index, follows
from its bytes: so an entry that lies in another one's place is one of its own log.
"""

from collections.abc import Iterable

from .circle_entries import LogEntry, decode_log_entry
from .errors import FormatError

#: The machine, and the index.
LogPlace = tuple[bytes, int]


def key_of(place: LogPlace) -> str:
    return f"l/{place[0].hex()}/{place[1]:016x}"


class Places:
    """The entries in the logs of a circle's machines."""

    def __init__(
        self, logs: dict[bytes, dict[int, bytes]], machines: Iterable[bytes]
    ) -> None:
        #: For each place, the entries that belong there, and under which keys they lie.
        self.entries: dict[LogPlace, list[tuple[str, LogEntry]]] = {}
        #: For each place whose record gives no entry for it, the reason.
        self.obstacles: dict[LogPlace, str] = {}
        self.indexes = {machine: sorted(logs.get(machine, {})) for machine in machines}
        for machine, indexes in self.indexes.items():
            for index in indexes:
                self._take((machine, index), logs[machine][index])

    def _take(self, place: LogPlace, data: bytes) -> None:
        key = key_of(place)
        try:
            entry = decode_log_entry(data)
        except FormatError as error:
            self.obstacles[place] = str(error)
            return
        own = entry.writer, entry.index
        found = self.entries.setdefault(own, [])
        if own == place:
            found.insert(0, (key, entry))
            return
        found.append((key, entry))
        self.obstacles[place] = f"an entry is in another one's place: that of {key_of(own)}"

    def next_place(self, machine: bytes, index: int) -> LogPlace | None:
        """From which place on a log goes on, if its entries before `index` were read.

        An entry that was deleted has no key, so only a key ends a gap.
        """
        if (machine, index) in self.entries:
            return machine, index
        later = (other for other in self.indexes[machine] if other >= index)
        found = next(later, None)
        return None if found is None else (machine, found)
