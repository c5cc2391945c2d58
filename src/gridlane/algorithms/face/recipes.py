"""Calls that repeat: the launches of an algorithm for arrays of the same types, lengths and
relations differ in addresses alone, so a later call of these has no checks to make.

A call has a recipe if all its arrays are of one dimension, without gaps, on the current device, and
it runs on the default stream in temporary memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from gridlane.algorithms.caching import cached_table
from gridlane.algorithms.face.calling import Prepared
from gridlane.algorithms.inner.launching import Note, noting
from gridlane.cuda.arrays.alike import ArraysLike
from gridlane.cuda.arrays.allocation import allocate
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.arrays.places import Place, key_of, place_of
from gridlane.launch import current
from gridlane.memory.resource import Buffer

_DEFAULT = 0
_MOST = 256
"""Recipes that are kept."""
_NUMBERS = bool, int, float, np.generic
_recipes: dict[Hashable, _Recipe] = cached_table()


class _Recipe:
    """The launches of a call.

    Attributes:
        size: bytes of its temporary memory.
    """

    def __init__(self, notes: list[Note], places: list[Place], scratch: DeviceNDArray) -> None:
        """Prepare the launches of a call that ran.

        Raises:
            _OtherError: an argument is no number and in no array.
        """
        self.size = scratch.nbytes
        bases = [(each.address, each.size) for each in places]
        bases.append((scratch.address, scratch.nbytes))
        arrays: dict[int, int] = {}
        self._arrays: list[tuple[ArraysLike, int, int]] = []
        self._launches: list[tuple[Callable[..., Any], tuple[Any, ...], list[tuple[int, int]]]] = []
        for launch, args in notes:
            slots: list[tuple[int, int]] = []
            for number, value in enumerate(args):
                if isinstance(value, DeviceNDArray):
                    if id(value) not in arrays:
                        arrays[id(value)] = len(self._arrays)
                        self._arrays.append((ArraysLike(value), *_base_of(value, bases)))
                    slots.append((number, arrays[id(value)]))
                elif not isinstance(value, _NUMBERS):
                    raise _OtherError
            plain = [None if isinstance(each, DeviceNDArray) else each for each in args]
            self._launches.append((launch, tuple(plain), slots))

    def run(self, places: list[Place]) -> None:
        """Launch for other arrays. Hot."""
        scratch = allocate(self.size)
        addresses, buffers = [scratch.address], [scratch]
        for each in places:
            addresses.append(each.address)
            buffers.append(_buffer_of(each))
        made = [
            alike.at(addresses[base] + offset, buffers[base])
            for alike, base, offset in self._arrays
        ]
        for launch, plain, slots in self._launches:
            args = [*plain]
            for number, which in slots:
                args[number] = made[which]
            launch(*args)


class _OtherError(Exception):
    """A call has no recipe."""


def _base_of(array: DeviceNDArray, bases: list[tuple[int, int]]) -> tuple[int, int]:
    """The base that an array is in, 0 for the temporary memory, and its offset there.

    Raises:
        _OtherError: it is in none.
    """
    for number, (start, size) in enumerate(bases):
        if start <= array.address and array.address + array.nbytes <= start + size:
            return (number + 1) % len(bases), array.address - start
    raise _OtherError


def _buffer_of(place: Place) -> Buffer:
    if isinstance(place.owner, DeviceNDArray):
        return place.owner.buffer
    return Buffer(place.address, place.size, place.owner, current.device())


def run(what: Hashable, arrays: list[Any], stream: Any, prepare: Callable[[], Prepared]) -> None:
    """Run an algorithm on arrays, in temporary memory of its own.

    Args:
        what: the algorithm and its arguments besides the arrays; None for arguments that no recipe
            is for.
        stream: of the caller.
        prepare: the call as it is without a recipe.
    """
    key, places = None, []
    if what is not None and (stream is None or stream is _DEFAULT) and not current.fusing():
        found = [place_of(each) for each in arrays]
        places = [each for each in found if each is not None and each.is_line]
        key = key_of(places) if len(places) == len(arrays) else None
    if key is None:
        prepare().run(None, stream)
        return
    recipe = _recipes.get((what, key))
    if recipe is not None:
        recipe.run(places)
        return
    with noting() as notes:
        scratch = prepare().run(None, stream)
    try:
        made = _Recipe(notes, places, scratch)
    except _OtherError:
        return
    if len(_recipes) >= _MOST:
        _recipes.clear()
    _recipes[what, key] = made
