"""The numbers of actors, and of names in tables that devices search."""

from __future__ import annotations

import hashlib

from gridlane.actors.errors import ActorError

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


def verify_alone(name: str, keys: dict[int, str]) -> str:
    """A name whose key no other name has: actors with one key would get each other's messages."""
    other = keys.get(key_of(name), name)
    if other != name:
        raise ActorError(f"the names {name!r} and {other!r} have the same key; choose another one")
    return name
