"""Examines all records of a circle with the keys of a member.

1. The membership log is verified from its first entry, then each log, the reader's own
   first. Nothing of an entry that is rejected is taken.
2. Every head that anything signed names is compared with the entries: one that is other
   is a fork, also where no rule rejects it; one that isn't there was withheld.
"""

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from .circle import Circle
from .circle_dump import PrivateKeys, Records
from .circle_entries import (
    Addition,
    Closing,
    Head,
    Heads,
    LogEntry,
    SignedHead,
    decode_membership,
)
from .circle_joining import (
    Attempt,
    TokenRequest,
    examine_attempt,
    verify_token_request,
)
from .circle_keys import (
    AgreementKey,
    is_scalar,
    open_name,
    recovery_scalar,
    recovery_seed,
    signing_key_of,
)
from .circle_places import Places, key_of
from .circle_reader import Log, Reader, Selection
from .errors import FormatError, Inauthentic, Malformed, MissingKey


@dataclass
class Claims:
    """Which entries of logs exist, by whom it is said."""

    #: For a machine and an index, who names which digest.
    digests: dict[tuple[bytes, int], dict[bytes, str]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    latest: dict[bytes, tuple[int, str]] = field(default_factory=dict)

    def add(self, machine: bytes, head: Head, by: str) -> None:
        index, digest = head
        if index == 0:
            return
        self.digests[machine, index].setdefault(digest, by)
        if index > self.latest.get(machine, (0, ""))[0]:
            self.latest[machine] = index, by

    def add_all(self, heads: Heads, by: str) -> None:
        for machine, head in heads.items():
            self.add(machine, head, by)

    def forks(self, machines: Container[bytes]) -> Iterator[tuple[str, str]]:
        """In the logs of these machines. Others have none, whatever is said of them."""
        for (machine, index), digests in sorted(self.digests.items()):
            if machine in machines and len(digests) > 1:
                named = " and ".join(sorted(digests.values()))
                where = f"l/{machine.hex()}/{index:016x}"
                yield where, f"there are different entries in this place, by {named}"


@dataclass
class CircleExamination:
    records: Records
    circle: Circle
    reader: Reader
    selection: Selection = field(default_factory=Selection)
    names: dict[bytes, str] = field(default_factory=dict)
    heads: dict[bytes, SignedHead] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    token_requests: list[TokenRequest] = field(default_factory=list)
    #: Where, and what is wrong.
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: What isn't wrong and may explain what is missing.
    notices: list[tuple[str, str]] = field(default_factory=list)


# Membership


def _read_membership(records: Records, problems: list[tuple[str, str]]) -> Circle:
    circle = Circle()
    first = records.membership.get(1)
    if first is None:
        raise Malformed("the membership log has no first entry")
    if decode_membership(first).signed.digest != records.circle:
        raise Malformed("the first entry is of another circle")
    taken = 0
    for index in sorted(records.membership):
        where = f"m/{index:016x}"
        if index != taken + 1:
            problems.append((where, "entries of the membership log before it are missing"))
            break
        try:
            entry = decode_membership(records.membership[index])
            # One that was read before, in another one's place, changes nothing.
            if not circle.contains(entry):
                circle.accept(entry)
        except FormatError as error:
            if index == 1:
                raise
            problems.append((where, str(error)))
            break
        taken += 1
    rest = len(records.membership) - taken
    if rest:
        problems.append(("m", f"{rest} entries of the membership log aren't taken"))
    return circle


def _reader(circle: Circle, keys: PrivateKeys) -> Reader:
    """The machine, or the recovery code, to which the keys belong."""
    machines = dict(circle.machines)
    scalar, seed = keys.scalar, keys.seed
    if keys.code is not None:
        if circle.recovery is None:
            raise MissingKey("the circle has no recovery code")
        machines = {circle.recovery.identifier: circle.recovery}
        scalar = recovery_scalar(keys.code, circle.salt)
        seed = recovery_seed(keys.code, circle.salt)
    if seed is None:
        raise MissingKey("there is no seed of an X-Wing key")
    if scalar is not None and not is_scalar(scalar):
        raise Malformed("the signing key is no scalar of the curve")
    agreement = AgreementKey(seed).public
    signing = None if scalar is None else signing_key_of(scalar)
    for identifier, machine in machines.items():
        fits = machine.description[66:] == agreement
        if fits and signing in (None, machine.description[1:66]):
            return Reader(circle, identifier, seed)
    raise MissingKey("the keys belong to no machine of the circle")


# Logs


class Examiner:
    def __init__(self, records: Records, keys: PrivateKeys) -> None:
        problems: list[tuple[str, str]] = []
        circle = _read_membership(records, problems)
        self.records, self.circle = records, circle
        self.reader = _reader(circle, keys)
        self.result = CircleExamination(records, circle, self.reader, problems=problems)
        self.claims = Claims()
        self.places = Places(records.logs, circle.machines)

    def problem(self, where: str, what: str) -> None:
        self.result.problems.append((where, what))

    def notice(self, where: str, what: str) -> None:
        self.result.notices.append((where, what))

    def run(self) -> CircleExamination:
        self._claims_of_membership()
        own = self.reader.identifier
        for machine in sorted(self.circle.machines, key=lambda name: (name != own, name)):
            self._read_log(machine)
            # The log of a machine that left may be deleted.
            if machine == own and own in self.circle.members:
                self.reader.has_read_own_log = True
        for machine in sorted(set(self.records.logs) - set(self.circle.machines)):
            self.problem(f"l/{machine.hex()}", "a log of no machine of the circle")
        self._read_heads()
        for where, what in self.claims.forks(self.circle.machines):
            self.problem(where, what)
        for machine in sorted(self.circle.machines):
            self._check_completeness(machine)
        self._read_joining()
        self._read_names()
        self._select()
        for key in self.records.others:
            self.problem(key, "a record of no kind")
        return self.result

    def _claims_of_membership(self) -> None:
        for entry in self.circle.entries:
            if isinstance(entry.body, Addition | Closing):
                self.claims.add_all(entry.body.heads, f"m/{entry.index:016x}")

    def _read_log(self, machine: bytes) -> None:
        while True:
            place = self.places.next_place(machine, self.reader.next_index(machine))
            if place is None:
                return
            candidates = self.places.entries.get(place, [])
            is_taken = any(self._takes(entry, where) for where, entry in candidates)
            where = key_of(place)
            if place in self.places.obstacles:
                # What ends a log is a problem; where another record has the entry, it doesn't.
                say = self.notice if is_taken else self.problem
                say(where, self.places.obstacles[place])
            if is_taken:
                continue
            rest = sum(index > place[1] for index in self.places.indexes[machine])
            if rest:
                self.problem(where, f"{rest} entries after it aren't taken")
            return

    def _takes(self, entry: LogEntry, where: str) -> bool:
        try:
            self.reader.accept(entry, may_skip=True)
        except FormatError as error:
            self.problem(where, str(error))
            return False
        self._claims_of_entry(entry, where)
        return True

    def _claims_of_entry(self, entry: LogEntry, where: str) -> None:
        self.claims.add(entry.writer, (entry.index, entry.signed.digest), where)
        self.claims.add(entry.writer, (entry.index - 1, entry.previous), where)
        self.claims.add_all(entry.heads, where)

    def _read_heads(self) -> None:
        for machine, data in sorted(self.records.heads.items()):
            where = f"h/{machine.hex()}"
            try:
                head = self.circle.verify_head(data)
                if head.machine in self.circle.removed:
                    self.notice(where, "the head of a removed machine doesn't count")
                    continue
                self._check_order(head)
                self.reader.compare({head.machine: head.log})
            except FormatError as error:
                self.problem(where, str(error))
                continue
            if head.machine != machine:
                self.notice(where, f"this is the head of {head.machine.hex()}")
            self.result.heads[head.machine] = head
            self.claims.add(head.machine, head.log, where)

    def _check_order(self, head: SignedHead) -> None:
        """A key doesn't say whose head there is, so several can be of one machine."""
        before = self.result.heads.get(head.machine)
        if before and (head.log[0], head.made) < (before.log[0], before.made):
            raise Inauthentic("it is older than another head of the machine")

    def _check_completeness(self, machine: bytes) -> None:
        """What is needed of the log, and isn't there."""
        log = self.reader.logs.get(machine, Log())
        where = f"l/{machine.hex()}"
        retired = self.circle.retired_to(machine)
        for first, last in log.skipped:
            first = max(first, log.first, retired + 1)
            if first <= last:
                self.problem(where, f"entries {first} to {last} are missing")
        last, by = self.claims.latest.get(machine, (0, ""))
        if machine in self.circle.removed:
            last = min(last, self.circle.closed[machine])
        if last > max(log.index, retired):
            text = f"the log was read to entry {log.index} and goes to {last}, by {by}"
            self.problem(where, text)

    # Joining

    def _read_joining(self) -> None:
        for name, records in sorted(self.records.joining.items()):
            attempt = examine_attempt(name, records, self.circle)
            self.result.attempts.append(attempt)
            self.result.problems += attempt.problems
        for token, data in sorted(self.records.tokens.items()):
            where = f"t/{token.hex()}"
            try:
                request = verify_token_request(data, self.circle)
            except FormatError as error:
                self.problem(where, str(error))
                continue
            self.result.token_requests.append(request)
            if request.identifier != token:
                self.notice(where, f"this is the request of t/{request.identifier.hex()}")
            if request.identifier in self.circle.tokens:
                self.notice(where, "the token was used")
            if request.issuer not in self.circle.members:
                self.notice(where, "the token's issuer was removed")

    # Names and items

    def _read_names(self) -> None:
        if self.reader.circle_key is None:
            self.notice("l", "no grant gives the circle key, so names stay closed")
            return
        for machine, box in self.circle.names.items():
            if not box:
                continue
            try:
                name = open_name(self.reader.circle_key, machine, box)
                self.result.names[machine] = name
            except FormatError as error:
                # It is taken all the same, and has no name.
                where = f"m/{self.circle.machines[machine].added:016x}"
                self.notice(where, f"the name of the machine: {error}")

    def _has_scope(self) -> bool:
        machine = self.circle.machines.get(self.reader.identifier)
        return machine is not None and machine.groups is not None

    def _select(self) -> None:
        selection = self.reader.select()
        self.result.selection = selection
        self.result.problems += self.reader.problems + selection.problems
        self.result.notices += self.reader.notices
        for place in selection.beyond_scope:
            self.notice(str(place), "skipped: its writer's scope doesn't include the group")
        for stored in selection.closed:
            text = f"a version under the key {stored.sealed.key.hex()}, which isn't granted"
            # One that sees every group is granted every key.
            say = self.notice if self._has_scope() else self.problem
            say(str(stored.place), text)
        for place, key in self.reader.wanted:
            if (place.writer, key) not in self.reader.granted:
                self.notice(str(place), f"the key {key.hex()} is wanted and not granted")


def examine_circle(records: Records, keys: PrivateKeys) -> CircleExamination:
    return Examiner(records, keys).run()
