"""One machine of a circle, which reads all logs with its private X-Wing key."""

from dataclasses import dataclass, field

from .circle import Circle
from .circle_entries import (
    ZEROS,
    Grant,
    Head,
    Heads,
    LogEntry,
    SealedVersion,
    Wanted,
    decode_log_entry,
)
from .circle_items import Place, Version, open_version
from .circle_keys import AgreementKey, GroupKey, group_label, open_grant
from .errors import FormatError, Inauthentic, Malformed


@dataclass
class Log:
    index: int = 0
    digest: bytes = ZEROS
    #: The last entry of the membership log that the writer knew.
    known: int = 0
    #: The first entry that is still needed, as the last entry says.
    first: int = 1
    #: The same, as the entries say that have a say in which versions count.
    needed: int = 1
    #: The last entries of other logs that the machine has read, as the entries that count say.
    acknowledged: Heads = field(default_factory=dict)
    is_clean: bool = False
    entries: int = 0
    void: list[int] = field(default_factory=list)
    #: First and last index of entries that weren't there.
    skipped: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Stored:
    """A version that counts, as far as it is known before it is opened."""

    place: Place
    sealed: SealedVersion


@dataclass(frozen=True)
class Opened:
    place: Place
    key: bytes
    version: Version


@dataclass
class Selection:
    """What the logs say of all items."""

    #: The version that counts, by the item's name.
    current: dict[tuple[object, ...], Opened] = field(default_factory=dict)
    #: How many versions there are of the item.
    counts: dict[tuple[object, ...], int] = field(default_factory=dict)
    #: Versions under keys that this machine wasn't granted.
    closed: list[Stored] = field(default_factory=list)
    #: Versions that are skipped because of their writers' scope.
    beyond_scope: list[Place] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


class Reader:
    """Takes entries as they are appended; it opens versions when all are there.

    `problems` are those of single parts, which don't make an entry invalid.
    """

    def __init__(self, circle: Circle, identifier: bytes, seed: bytes) -> None:
        self.circle = circle
        self.identifier = identifier
        self.key = AgreementKey(seed)
        self.logs: dict[bytes, Log] = {}
        #: Whether others can't know more of this machine's own log than is in `logs`.
        self.has_read_own_log = False
        self.circle_key: bytes | None = None
        self.group_keys: dict[bytes, GroupKey] = {}
        self.stored: list[Stored] = []
        #: From which entry on a closed log leads to the entry that closed it.
        self.confirmed: dict[bytes, int] = {}
        #: Which recipient has or gets a key by a grant, and which places need one.
        self.granted: set[tuple[bytes, bytes]] = set()
        self.wanted: list[tuple[Place, bytes]] = []
        self.grants_opened = 0
        self.problems: list[tuple[str, str]] = []
        self.notices: list[tuple[str, str]] = []

    def append(self, data: bytes) -> None:
        self.accept(decode_log_entry(data))

    def next_index(self, writer: bytes) -> int:
        return self.logs.get(writer, Log()).index + 1

    def accept(self, entry: LogEntry, may_skip: bool = False) -> None:
        """`may_skip`: the entries before this one may be missing."""
        log = self.logs.get(entry.writer, Log())
        self._check(entry, log, may_skip)
        circle, writer, index = self.circle, entry.writer, entry.index
        if index > log.index + 1:
            log.skipped.append((log.index + 1, index - 1))
        log.index, log.digest = index, entry.signed.digest
        log.known, log.first = entry.membership[0], entry.first
        log.is_clean = entry.is_clean
        log.entries += 1
        self.logs[writer] = log
        self._note_standing(entry, log)
        if index == circle.closed.get(writer):
            # The chain of digests proves nothing about what is before a gap.
            self.confirmed[writer] = max((last + 1 for _, last in log.skipped), default=1)
        for number, part in enumerate(entry.parts):
            place = Place(circle.identifier, writer, index, number)
            if isinstance(part, Grant):
                self._take_grant(part, place, log.known)
            elif isinstance(part, Wanted):
                self.wanted += [(place, key) for key in part.keys]
            elif circle.counts(writer, index, log.known):
                self.stored.append(Stored(place, part))

    def _note_standing(self, entry: LogEntry, log: Log) -> None:
        """Takes what an entry says of logs, as far as its standing permits."""
        writer, index = entry.writer, entry.index
        counts = self.circle.counts(writer, index, log.known)
        if self.circle.is_void(writer, index, log.known):
            log.void.append(index)
            # After it, the machine states again what it has read.
            log.acknowledged = {}
        elif counts:
            # The last one counts, even if it is lower.
            log.acknowledged.update(entry.heads)
        # This machine goes on from there in any case: nothing else is left of its own log.
        if counts or writer == self.identifier:
            log.needed = entry.first

    def _check(self, entry: LogEntry, log: Log, may_skip: bool) -> None:
        if entry.circle != self.circle.identifier:
            raise Inauthentic("it belongs to another circle")
        follows = (entry.index, entry.previous) == (log.index + 1, log.digest)
        if not follows and not (may_skip and entry.index > log.index + 1):
            raise Malformed("it is not the next entry of the log")
        if entry.first < log.first:
            raise Malformed("it needs an earlier entry than the one before")
        if entry.membership[0] < log.known:
            raise Malformed("it knows less of the membership log than the one before")
        self.circle.check_membership(entry.membership)
        if not self.circle.was_member(entry.writer, entry.membership[0]):
            raise Inauthentic("its writer was no member")
        for index, digest in self.circle.heads_known_of(entry.writer, self.identifier):
            if entry.index == index and entry.signed.digest != digest:
                raise Inauthentic("it is a fork: a change of the members names another entry")
        machine = self.circle.machines[entry.writer]
        machine.verify(entry.signed.signature, entry.signed.message)
        self.compare(entry.heads)

    def compare(self, heads: Heads) -> None:
        """Raises a fork, if heads that something names show one."""
        for machine, head in heads.items():
            self._compare(machine, head)

    def _compare(self, machine: bytes, head: Head) -> None:
        index, digest = head
        log = self.logs.get(machine, Log())
        if index == log.index and digest != log.digest:
            raise Inauthentic(f"it is a fork: it names another entry {index} of {machine.hex()}")
        # Of a log that isn't this machine's, such entries are withheld.
        if machine == self.identifier and self.has_read_own_log and index > log.index:
            raise Inauthentic(f"it is a fork: it names entry {index} of the reader's own log")

    # Grants. Those in retired entries and in entries that aren't needed are taken, too.

    def _take_grant(self, grant: Grant, place: Place, known: int) -> None:
        circle = self.circle
        is_void = circle.is_void(place.writer, place.index, known)
        if not is_void:
            # Its giver grants again what is in a void entry.
            self.granted |= {(grant.recipient, key) for key in grant.keys}
        if grant.recipient != self.identifier:
            return
        try:
            circle_key, keys = open_grant(
                self.key, circle.identifier, circle.key_check, place.writer, grant
            )
        except FormatError as error:
            self.problems.append((str(place), str(error)))
            return
        self.grants_opened += 1
        self.circle_key = circle_key
        is_of_other = is_void and place.writer != self.identifier
        for name, key in keys.items():
            if key.epoch > circle.epoch_at(known):
                text = "ignored: a key of an epoch that the grant's entry doesn't know"
                self.notices.append((str(place), text))
            elif not self._scope_includes(place.writer, key.group):
                text = "ignored: a key of a group that isn't in the giver's scope"
                self.notices.append((str(place), text))
            elif is_of_other and key.epoch == circle.epoch:
                # Others would seal items under it, which a removed machine may know.
                text = "ignored: a key of the current epoch in a void entry"
                self.notices.append((str(place), text))
            else:
                self.group_keys[name] = key

    # Items

    def _scope_includes(self, writer: bytes, group: bytes) -> bool:
        groups = self.circle.machines[writer].groups
        if groups is None:
            return True
        if self.circle_key is None:
            raise Inauthentic("without the circle key the writer's scope says nothing")
        return group_label(self.circle_key, group) in groups

    def _is_confirmed(self, place: Place) -> bool:
        """A removed machine could write its log anew, up to the entry that closed it."""
        writer = place.writer
        if writer not in self.circle.removed or place.index > self.circle.closed[writer]:
            return True
        return writer in self.confirmed and place.index >= self.confirmed[writer]

    def select(self) -> Selection:
        """By the rule of which version counts, over all logs as read so far."""
        result = Selection()
        for stored in self.stored:
            place = stored.place
            if place.index < self.logs[place.writer].needed or not self._is_confirmed(place):
                continue
            key = self.group_keys.get(stored.sealed.key)
            if key is None:
                result.closed.append(stored)
                continue
            try:
                if not self._scope_includes(place.writer, key.group):
                    result.beyond_scope.append(place)
                    continue
                version = open_version(key.key, stored.sealed, place)
                if version.record.access_group != key.group:
                    raise Malformed("a version is under the key of another group")
            except FormatError as error:
                result.problems.append((str(place), str(error)))
                continue
            name = version.name
            result.counts[name] = result.counts.get(name, 0) + 1
            present = result.current.get(name)
            if present is None or version.supersedes(present.version):
                result.current[name] = Opened(place, stored.sealed.key, version)
        return result
