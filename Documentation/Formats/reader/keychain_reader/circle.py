"""Who belongs to a circle, and what of the logs counts: Documentation/Synchronization.md.

A circle is what its membership log says. An entry that is rejected changes nothing.
"""

from dataclasses import dataclass, field

from .circle_entries import (
    NO_TOKEN,
    REMOVE,
    RETIRE,
    ZEROS,
    Addition,
    Closing,
    Founding,
    Head,
    Heads,
    Machine,
    MembershipEntry,
    SignedHead,
    decode_head,
    decode_membership,
)
from .errors import Inauthentic, Malformed

NO_ENTRIES: Head = (0, ZEROS)


@dataclass(frozen=True)
class Retirement:
    #: The index of the change.
    at: int
    #: Up to which index the log is retired.
    end: int
    #: The last entry of the signer's log, which has the copies.
    signer: bytes
    copied: int


@dataclass
class Circle:
    identifier: bytes = ZEROS
    salt: bytes = b""
    key_check: bytes = b""
    recovery: Machine | None = None
    entries: list[MembershipEntry] = field(default_factory=list)
    #: All machines that ever belonged to the circle.
    machines: dict[bytes, Machine] = field(default_factory=dict)
    names: dict[bytes, bytes] = field(default_factory=dict)
    #: The index of the removal.
    removed: dict[bytes, int] = field(default_factory=dict)
    #: The index of the latest suspension.
    suspended: dict[bytes, int] = field(default_factory=dict)
    #: The retirements of each machine's log whose copies count.
    retirements: dict[bytes, list[Retirement]] = field(default_factory=dict)
    #: How far the logs of absent machines count.
    closed: dict[bytes, int] = field(default_factory=dict)
    closed_digests: dict[bytes, bytes] = field(default_factory=dict)
    #: Changes that closed logs: their index, whose log (None: all), how far.
    closings: list[tuple[int, bytes | None, Heads]] = field(default_factory=list)
    tokens: set[bytes] = field(default_factory=set)

    @property
    def members(self) -> list[bytes]:
        return sorted(set(self.machines) - set(self.removed))

    @property
    def epoch(self) -> int:
        return len(self.removed)

    @property
    def head(self) -> Head:
        if not self.entries:
            return NO_ENTRIES
        return len(self.entries), self.entries[-1].signed.digest

    def epoch_at(self, index: int) -> int:
        return sum(at <= index for at in self.removed.values())

    def contains(self, entry: MembershipEntry) -> bool:
        before = self.entries[entry.index - 1 : entry.index] if entry.index else []
        return any(one.signed.digest == entry.signed.digest for one in before)

    def append(self, data: bytes) -> None:
        self.accept(decode_membership(data))

    def accept(self, entry: MembershipEntry) -> None:
        place = (entry.circle, entry.index, entry.previous)
        if not self.entries:
            if not isinstance(entry.body, Founding) or place != (ZEROS, 1, ZEROS):
                raise Malformed("the first entry founds no circle")
            by = Machine(entry.body.founder)
            if by.identifier != entry.signer:
                raise Inauthentic("the founder didn't sign")
            if entry.body.recovery == entry.body.founder:
                raise Malformed("the founder's keys are those of the recovery code")
        else:
            index, digest = self.head
            if place != (self.identifier, index + 1, digest):
                raise Malformed("not the next entry of the membership log")
            by = self._signer(entry.signer)
            self._check(entry, by)
        by.verify(entry.signed.signature, entry.signed.message)
        self._apply(entry)
        self.entries.append(entry)

    def _signer(self, signer: bytes) -> Machine:
        if self.recovery and self.recovery.identifier == signer:
            return self.recovery
        if signer not in self.members:
            raise Inauthentic("signed by no member")
        return self.machines[signer]

    def _check(self, entry: MembershipEntry, by: Machine) -> None:
        body = entry.body
        if isinstance(body, Founding):
            raise Malformed("a circle is founded twice")
        if isinstance(body, Addition):
            if Machine(body.description).identifier in self.machines:
                raise Inauthentic("a machine is added again")
            if self.recovery is not None and body.description == self.recovery.description:
                raise Inauthentic("the recovery code's keys are added as a machine")
            if body.token in self.tokens:
                raise Inauthentic("a token is used again")
        else:
            self._check_closing(entry.kind, body, entry.signer)
        if by.groups is not None:
            raise Inauthentic("the signer may not change the membership")

    def _check_closing(self, kind: int, body: Closing, signer: bytes) -> None:
        if kind != RETIRE:
            if body.target not in self.members:
                raise Inauthentic("no member is removed or suspended")
            return
        absent = body.target in self.removed or body.target in self.suspended
        if not absent or body.target not in body.heads:
            raise Inauthentic("a log is retired that isn't closed")
        if signer == body.target:
            raise Inauthentic("a machine retires its own log")
        # Only the indexes are compared.
        end = body.heads[body.target][0]
        if end != self.closed[body.target]:
            raise Inauthentic("a log is retired at another index than it was closed")
        if end < self.retired_to(body.target):
            raise Inauthentic("a log is retired less far than it is already")

    def _apply(self, entry: MembershipEntry) -> None:
        body = entry.body
        if isinstance(body, Founding):
            self.identifier = entry.signed.digest
            self.salt = body.salt
            self.key_check = body.key_check
            self.machines[entry.signer] = Machine(body.founder)
            self.names[entry.signer] = body.name
            if body.recovery is not None:
                self.recovery = Machine(body.recovery)
        elif isinstance(body, Addition):
            machine = Machine(body.description, body.scope, entry.index)
            self.machines[machine.identifier] = machine
            self.names[machine.identifier] = body.name
            if body.token != NO_TOKEN:
                self.tokens.add(body.token)
        elif entry.kind == RETIRE:
            end = body.heads[body.target][0]
            # The recovery code has no log that could become void.
            has_log = entry.signer in self.machines
            copied = body.heads.get(entry.signer, NO_ENTRIES)[0] if has_log else 0
            retirement = Retirement(entry.index, end, entry.signer, copied)
            self.retirements.setdefault(body.target, []).append(retirement)
        else:
            last, digest = body.heads.get(body.target, NO_ENTRIES)
            self.closed[body.target], self.closed_digests[body.target] = last, digest
            if entry.kind == REMOVE:
                self.removed[body.target] = entry.index
                self.closings.append((entry.index, None, body.heads))
            else:
                self.suspended[body.target] = entry.index
                self.closings.append((entry.index, body.target, body.heads))
            self._drop_retirements()

    def _drop_retirements(self) -> None:
        """A log counts again if the copies of its entries became void."""
        dropped = True
        while dropped:
            dropped = False
            for target, all_of_it in self.retirements.items():
                void = (
                    place for place, one in enumerate(all_of_it)
                    if self.is_void(one.signer, one.copied, one.at - 1)
                )
                # Later ones of the same log end, too.
                end = next(void, len(all_of_it))
                dropped = dropped or end < len(all_of_it)
                self.retirements[target] = all_of_it[:end]

    # What others say of the membership

    def check_membership(self, head: Head) -> None:
        index, digest = head
        if index > len(self.entries):
            raise Inauthentic(f"it names entry {index} of the membership log, not shown")
        if index == 0:
            raise Inauthentic("it names no entry of the membership log")
        if self.entries[index - 1].signed.digest != digest:
            raise Inauthentic("it names another membership log")

    def was_member(self, machine: bytes, index: int) -> bool:
        if machine not in self.machines:
            return False
        end = self.removed.get(machine, index + 1)
        return self.machines[machine].added <= index < end

    def counts(self, writer: bytes, index: int, known: int) -> bool:
        is_retired = self._retired_at(writer, index, known) is not None
        return not is_retired and not self.is_void(writer, index, known)

    def retired_to(self, machine: bytes) -> int:
        return max((one.end for one in self.retirements.get(machine, [])), default=0)

    def _retired_at(self, writer: bytes, index: int, known: int) -> int | None:
        """The index of the change that retired an entry."""
        found = (
            one.at for one in self.retirements.get(writer, [])
            if index <= one.end and known < one.at
        )
        return next(found, None)

    def is_void(self, writer: bytes, index: int, known: int) -> bool:
        retired_at = self._retired_at(writer, index, known) or len(self.entries) + 2
        return any(
            known < at < retired_at
            and target in (None, writer)
            and index > heads.get(writer, NO_ENTRIES)[0]
            for at, target, heads in self.closings
        )

    def heads_known_of(self, writer: bytes, reader: bytes) -> list[Head]:
        """Entries of a log whose digests the reader knows before it reads them.

        Its own addition names one, and the change that closed the log last another one.
        """
        found = []
        if reader in self.machines:
            body = self.entries[self.machines[reader].added - 1].body
            if isinstance(body, Addition) and writer in body.heads:
                found.append(body.heads[writer])
        if writer in self.closed:
            found.append((self.closed[writer], self.closed_digests[writer]))
        return found

    def verify_head(self, data: bytes) -> SignedHead:
        """That of a machine that is or was a member; it counts only if the machine is one now.

        What it says of the membership log isn't verified.
        """
        head = decode_head(data)
        if head.circle != self.identifier:
            raise Inauthentic("it belongs to another circle")
        if head.machine not in self.machines:
            raise Inauthentic("it is signed by no member")
        signed = head.signed
        self.machines[head.machine].verify(signed.signature, signed.message)
        return head
