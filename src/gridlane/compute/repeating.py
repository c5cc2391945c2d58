"""Calls of nests that a library computes, for arguments like those of an earlier call. Hot."""

from __future__ import annotations

from collections.abc import Container, Hashable
from typing import Any

from gridlane.compute.libraries import Library
from gridlane.cuda.arrays.places import Place, key_of, place_of

_MOST = 256
"""Kinds of arguments that are kept."""


class Repeated:
    """The libraries that computed for arrays of some types, shapes and relations: a call for others
    with the same key has no checks to make.

    Args:
        names: of the arguments.
        tensors: those that are arrays; whole numbers of the others decide what is computed.
    """

    def __init__(self, names: tuple[str, ...], tensors: Container[str]) -> None:
        self._names = names
        self._arrays = tuple([n for n, name in enumerate(names) if name in tensors])
        self._scalars = tuple([n for n, name in enumerate(names) if name not in tensors])
        self._libraries: dict[Hashable, Library] = {}

    def key_of(self, args: tuple[Any, ...]) -> Hashable | None:
        """A key of arguments; None for those that each call checks."""
        if len(args) != len(self._names):
            return None
        places: list[Place] = []
        for number in self._arrays:
            place = place_of(args[number], any_order=True)
            if place is None:
                return None
            places.append(place)
        if not self._scalars:
            return key_of(places)
        numbers: list[Hashable] = []
        for number in self._scalars:
            value = args[number]
            if value.__class__ is not float and value.__class__ is not int:
                return None
            numbers.append(value if value.__class__ is int else float)
        key = key_of(places)
        return None if key is None else (key, *numbers)

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
