"""Calls of nests that a library computes, for arguments like those of an earlier call. Hot."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable
from typing import Any

from gridlane.algorithms.face.recipes import OtherError, Recipe
from gridlane.algorithms.inner.launching import noting
from gridlane.compute.libraries import Library
from gridlane.cuda.arrays.places import Place, key_of, place_of
from gridlane.launch import current
from gridlane.launch.fusion.redirecting import native_stream

_MOST = 256
"""Kinds of arguments that are kept."""


Call = tuple[Hashable, list[Place]]
"""A key of arguments, and where arrays among them lie."""


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
        self._recipes: dict[Hashable, Recipe | None] = {}

    def call_of(self, args: tuple[Any, ...]) -> Call | None:
        """The key of arguments, and where arrays lie; None for those that each call checks."""
        if len(args) != len(self._names):
            return None
        places: list[Place] = []
        for number in self._arrays:
            place = place_of(args[number], any_order=True)
            if place is None:
                return None
            places.append(place)
        key = key_of(places)
        if key is None or not self._scalars:
            return None if key is None else (key, places)
        numbers: list[Hashable] = []
        for number in self._scalars:
            value = args[number]
            if value.__class__ is not float and value.__class__ is not int:
                return None
            numbers.append(value if value.__class__ is int else float)
        return (key, *numbers), places

    def run(self, call: Call, args: tuple[Any, ...]) -> bool:
        """Compute, if arguments with this key were computed before; return whether they were."""
        key, places = call
        library = self._libraries.get(key)
        if library is None:
            return False
        recipe = self._recipes.get(key)
        stream = native_stream() if current.fusing() else current.device().default_stream
        if recipe is not None and stream is not None:
            recipe.run(places, is_default=stream is current.device().default_stream)
            return True
        given = dict(zip(self._names, args, strict=True))
        if key in self._recipes or not library.is_of_algorithms or stream is None:
            library.run(given, None)
            return True
        with noting() as notes:
            library.run(given, None)
        try:
            self._recipes[key] = Recipe(notes, places)
        except OtherError:
            self._recipes[key] = None
        return True

    def again(self, call: Call) -> Callable[[tuple[Any, ...]], None] | None:
        """What computes for the arrays of a call that ran, whose places are not looked up again;
        None where another thread dropped it."""
        library, names = self._libraries.get(call[0]), self._names
        if library is None:
            return None

        def run(args: tuple[Any, ...]) -> None:
            library.run(dict(zip(names, args, strict=True)), None)

        return run

    def is_of_algorithms(self, call: Call) -> bool:
        """Whether what computed for such arguments is of ``gridlane.algorithms``."""
        library = self._libraries.get(call[0])
        return library is None or library.is_of_algorithms

    def keep(self, call: Call, library: Library) -> None:
        """Keep the library that has computed for arguments."""
        if len(self._libraries) >= _MOST:
            self._libraries.clear()
            self._recipes.clear()
        self._libraries[call[0]] = library
