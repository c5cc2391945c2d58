"""Calls of nests that a library computes, for arguments like those of an earlier call. Hot."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gridlane.compute.libraries import Library
from gridlane.cuda.arrays.places import key_of, place_of

_MOST = 256
"""Kinds of arguments that are kept."""


class Repeated:
    """The libraries that computed for arrays of some types, shapes and relations: a call for others
    with the same key has no checks to make.

    Args:
        names: of the arguments, which are all tensors.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._libraries: dict[Hashable, Library] = {}

    def key_of(self, args: tuple[Any, ...]) -> Hashable | None:
        """A key of arguments; None for those that each call checks."""
        if len(args) != len(self._names):
            return None
        places = [place_of(each) for each in args]
        return None if None in places else key_of([each for each in places if each is not None])

    def run(self, key: Hashable, args: tuple[Any, ...]) -> bool:
        """Compute, if arguments with this key were computed before; return whether they were."""
        library = self._libraries.get(key)
        if library is None:
            return False
        library.run(dict(zip(self._names, args, strict=True)), None)
        return True

    def keep(self, key: Hashable, library: Library) -> None:
        """Keep the library that has computed for arguments."""
        if len(self._libraries) >= _MOST:
            self._libraries.clear()
        self._libraries[key] = library
