"""What can be wrong with a file, in the words that the vectors use."""


class FormatError(Exception):
    """Bytes that the format documents reject."""

    #: The name that the vectors give to the failure, where they give one.
    failure = "malformed"


class Malformed(FormatError):
    failure = "malformed"


class OtherVersion(FormatError):
    """A version that is not known. The vectors call version 0 "newer", too."""

    failure = "newerVersion"


class Inauthentic(FormatError):
    failure = "inauthentic"


class MissingKey(FormatError):
    failure = "missingKey"


class WrongPasscode(FormatError):
    failure = "wrongPasscode"


class WrongApplicationPassword(FormatError):
    failure = "applicationPassword"


class DamagedMetadata(FormatError):
    failure = "metadata"


class DamagedSecret(FormatError):
    failure = "secret"
