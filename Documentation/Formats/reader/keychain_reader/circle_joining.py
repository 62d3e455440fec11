"""The records of joining, and requests with join tokens."""

from dataclasses import dataclass, field

from .circle import Circle
from .circle_entries import Cursor, Head, Scope, Signed, digest_of, identifier_of, verify
from .errors import FormatError, Inauthentic, Malformed

_SIZES = {1: 80, 2: 160, 3: 1322, 4: 8}
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def pasted_code(digest: bytes) -> str:
    number = int.from_bytes(digest, "big") >> 126
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


# Six digits


@dataclass(frozen=True)
class Request:
    circle: bytes
    commitment: bytes
    made: int


@dataclass(frozen=True)
class Challenge:
    circle: bytes
    commitment: bytes
    member: bytes
    head: Head
    #: The head as it is in the message.
    encoded_head: bytes
    nonce: bytes


@dataclass(frozen=True)
class Opening:
    description: bytes
    nonce: bytes


def _body(data: bytes, kind: int) -> Cursor:
    if len(data) != _SIZES[kind]:
        raise Malformed("a message has another size")
    cursor = Cursor(data)
    cursor.expect(b"KCSJ\x01" + bytes([kind, 0, 0]))
    return cursor


def decode_request(data: bytes) -> Request:
    cursor = _body(data, 1)
    return Request(cursor.take(32), cursor.take(32), cursor.signed())


def decode_challenge(data: bytes) -> Challenge:
    cursor = _body(data, 2)
    circle, commitment, member = cursor.take(32), cursor.take(32), cursor.take(16)
    head, encoded = cursor.head(), data[88:128]
    return Challenge(circle, commitment, member, head, encoded, cursor.take(32))


def decode_opening(data: bytes) -> Opening:
    cursor = _body(data, 3)
    return Opening(cursor.description(), cursor.take(32))


def commitment_of(circle: bytes, opening: Opening) -> bytes:
    text = b"swift-keychain sync 1 commitment" + circle
    return digest_of(text + opening.description + opening.nonce)


def digits_of(challenge: Challenge, opening: Opening) -> int:
    text = b"swift-keychain sync 1 digits" + challenge.circle + challenge.commitment
    text += challenge.member + challenge.encoded_head + challenge.nonce
    digest = digest_of(text + opening.description + opening.nonce)
    return int.from_bytes(digest[:8], "big") % 1_000_000


@dataclass
class Attempt:
    """An attempt to join, as far as its records are sound."""

    name: str
    ends: list[str]
    request: Request | None = None
    challenge: Challenge | None = None
    opening: Opening | None = None
    #: That of a joiner with a pasted code.
    description: bytes | None = None
    is_refused: bool = False
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def digits(self) -> int | None:
        if self.request is None or self.challenge is None or self.opening is None:
            return None
        return digits_of(self.challenge, self.opening)

    def take(self, end: str, data: bytes, circle: Circle) -> None:
        if end == "1":
            self._take_request(decode_request(data), circle)
        elif end == "2":
            self._take_challenge(decode_challenge(data), circle)
        elif end == "3":
            self._take_opening(decode_opening(data), circle)
        elif end == "d":
            self._take_description(data)
        else:
            _body(data, 4)
            self.is_refused = True

    def _take_request(self, request: Request, circle: Circle) -> None:
        if request.circle != circle.identifier:
            raise Inauthentic("a request is for another circle")
        if request.commitment[:8].hex() != self.name:
            raise Inauthentic("a request is in another attempt's place")
        self.request = request

    def _take_challenge(self, challenge: Challenge, circle: Circle) -> None:
        if challenge.circle != circle.identifier:
            raise Inauthentic("a challenge is for another circle")
        if self.request is None or challenge.commitment != self.request.commitment:
            raise Inauthentic("a challenge answers another commitment")
        circle.check_membership(challenge.head)
        if not circle.was_member(challenge.member, challenge.head[0]):
            raise Inauthentic("a challenge is by no member")
        self.challenge = challenge

    def _take_opening(self, opening: Opening, circle: Circle) -> None:
        expected = commitment_of(circle.identifier, opening)
        if self.request is None or expected != self.request.commitment:
            raise Inauthentic("an opening is of another commitment")
        self.opening = opening

    def _take_description(self, data: bytes) -> None:
        cursor = Cursor(data)
        description = cursor.description()
        cursor.require_end()
        if digest_of(description)[:8].hex() != self.name:
            raise Inauthentic("a description is in another attempt's place")
        self.description = description

    @property
    def pasted_code(self) -> str | None:
        if self.description is None:
            return None
        return pasted_code(digest_of(b"swift-keychain sync 1 joiner" + self.description))


def examine_attempt(name: str, records: dict[str, bytes], circle: Circle) -> Attempt:
    attempt = Attempt(name, sorted(records))
    for end in attempt.ends:
        try:
            attempt.take(end, records[end], circle)
        except FormatError as error:
            attempt.problems.append((f"j/{name}/{end}", str(error)))
    return attempt


# Join tokens


@dataclass(frozen=True)
class TokenRequest:
    circle: bytes
    head: Head
    issuer: bytes
    scope: Scope
    expires: int
    public_key: bytes
    #: That of the token, by its issuer.
    token: Signed
    description: bytes
    signature: bytes

    @property
    def identifier(self) -> bytes:
        return digest_of(b"swift-keychain sync 1 token" + self.public_key)[:16]

    @property
    def machine(self) -> bytes:
        return identifier_of(self.description)


def decode_token_request(data: bytes) -> TokenRequest:
    cursor = Cursor(data)
    cursor.expect(b"KCST\x01" + bytes(3))
    circle, head, issuer = cursor.take(32), cursor.head(), cursor.take(16)
    scope, expires = cursor.scope(), cursor.signed()
    public_key = cursor.signing_key()
    message, signature = data[: cursor.at], cursor.take(64)
    description, last = cursor.description(), cursor.take(64)
    cursor.require_end()
    return TokenRequest(
        circle, head, issuer, scope, expires, public_key, Signed(message, signature),
        description, last,
    )


def verify_token_request(data: bytes, circle: Circle) -> TokenRequest:
    request = decode_token_request(data)
    if request.circle != circle.identifier:
        raise Inauthentic("a token is for another circle")
    circle.check_membership(request.head)
    issuer = circle.machines.get(request.issuer)
    if issuer is None or not circle.was_member(request.issuer, request.head[0]):
        raise Inauthentic("a token was issued by no member")
    if issuer.groups is not None:
        raise Inauthentic("a token was issued by a member with a scope")
    issuer.verify(request.token.signature, request.token.message)
    text = b"swift-keychain sync 1 token request" + circle.identifier
    verify(request.public_key, request.signature, text + request.description)
    return request
