"""Access constraints: the field `accc` of a record."""

OR = 1 << 14
PASSWORD = 1 << 31
CURRENT_SET = 1 << 3
#: Presence, biometry in two forms, passcode, companion, application password.
CONDITIONS = 1 << 0 | 1 << 1 | CURRENT_SET | 1 << 4 | 1 << 5 | PASSWORD
#: Conditions, "or", "and", use of a private key.
KNOWN = CONDITIONS | OR | 1 << 15 | 1 << 30


def is_valid(constraints: int) -> bool:
    """Whether a record may have them; none at all are not written."""
    return constraints != 0 and not constraints & ~KNOWN


def requires_password(constraints: int) -> bool:
    """Whether the secret is sealed with the application password."""
    return bool(constraints & PASSWORD)
