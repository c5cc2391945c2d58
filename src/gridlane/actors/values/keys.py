"""The numbers of actors, and of names in tables that devices search."""

from __future__ import annotations

import hashlib

_TOP = 1 << 63


def key_of(name: str) -> int:
    """64 bits of a name, with the top bit set: the numbers of actors have it clear.

    >>> key_of("risk") >> 63
    1
    """
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") | _TOP


class Numbers:
    """The numbers of actors in the order of their launches; one thread at a time.

    Attributes:
        following: the next number.
    """

    def __init__(self, following: int) -> None:
        self.following = following

    def take(self) -> int:
        """The next number."""
        self.following += 1
        return self.following - 1
