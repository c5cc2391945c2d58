"""Calls that repeat: the launches of an algorithm for arrays of the same types, lengths and
relations differ in addresses alone, so a later call of these has no checks to make.

A call has a recipe if all its arrays are of one dimension, without gaps, on the current device, and
it runs on the default stream in temporary memory of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from gridlane.algorithms.caching import cached_table
from gridlane.algorithms.face.calling import Prepared
from gridlane.algorithms.inner.launching import Notes, notes, noting
from gridlane.cuda.arrays.alike import ArraysLike
from gridlane.cuda.arrays.allocation import allocate
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.arrays.places import Place, key_of, place_of
from gridlane.cuda.interop.torch_streams import captured_stream
from gridlane.launch import current
from gridlane.memory.resource import ALIGNMENT, Buffer
from gridlane.runtime.protocol import Device

_DEFAULT = 0
_MOST = 256
"""Recipes that are kept."""
_NUMBERS = bool, int, float, np.generic
_NAME = "scratch of algorithms"
_LEAST_KEPT = 1 << 16
_MOST_KEPT = 1 << 21
"""Bytes of temporary memory that a device keeps between calls: calls with more allocate theirs."""
_recipes: dict[Hashable, Recipe] = cached_table()


class Recipe:
    """The launches of calls for arrays with one key."""

    def __init__(self, notes: Notes, places: list[Place]) -> None:
        """Prepare the launches of a call that ran.

        Raises:
            OtherError: an argument is no number and in no array.
        """
        bases = [(each.address, each.size, number) for number, each in enumerate(places, 1)]
        self._size, starts = 0, list[int]()
        for each in notes.scratch:
            bases.append((each.address, each.nbytes, -len(starts)))
            starts.append(self._size)
            self._size += -(-each.nbytes // ALIGNMENT) * ALIGNMENT
        self._owned: list[tuple[ArraysLike, int, int]] = []
        """Arrays in the temporary memory: like which, their number, and their offset."""
        self._given: list[tuple[ArraysLike, int, int, int]] = []
        """Those in arrays of the caller's, with the number of the array."""
        self._count, self._launches = 0, list[_Launch]()
        numbers: dict[int, int] = {}
        for launch, args in notes.launches:
            for value in args:
                if isinstance(value, DeviceNDArray) and id(value) not in numbers:
                    numbers[id(value)] = self._count
                    self._add(value, bases, starts)
                elif not isinstance(value, (DeviceNDArray, *_NUMBERS)):
                    raise OtherError
            slots = [(n, numbers[id(v)]) for n, v in enumerate(args) if id(v) in numbers]
            plain = [None if isinstance(each, DeviceNDArray) else each for each in args]
            self._launches.append((launch, plain, slots))
        self._kept: tuple[Buffer, list[Any]] | None = None

    def _add(
        self, array: DeviceNDArray, bases: list[tuple[int, int, int]], starts: list[int]
    ) -> None:
        inside = [
            (which, array.address - start)
            for start, size, which in bases
            if start <= array.address and array.address + array.nbytes <= start + size
        ]
        if not inside:
            raise OtherError
        which, offset = inside[0]
        if which > 0:
            self._given.append((ArraysLike(array), self._count, offset, which - 1))
        else:
            self._owned.append((ArraysLike(array), self._count, starts[-which] + offset))
        self._count += 1

    def run(self, places: list[Place], is_default: bool = True) -> None:
        """Launch for other arrays. Hot.

        Args:
            is_default: whether launches are on the default stream.
        """
        if is_default and self._size <= _MOST_KEPT and _kept_lock.acquire(blocking=False):
            try:
                self._run(places, self._in_kept())
            finally:
                _kept_lock.release()
        else:  # another thread, or stream, launches in the memory that is kept
            self._run(places, self._arrays_in(allocate(self._size)))

    def _run(self, places: list[Place], arrays: list[Any]) -> None:
        for alike, number, offset, which in self._given:
            place = places[which]
            arrays[number] = alike.at(place.address + offset, _buffer_of(place))
        for launch, plain, slots in self._launches:
            args = [*plain]  # other threads launch too, and no array outlives the call here
            for position, number in slots:
                args[position] = arrays[number]
            launch(*args)

    def _arrays_in(self, scratch: Buffer) -> list[Any]:
        """The arrays in temporary memory, at their numbers."""
        arrays: list[Any] = [None] * self._count
        for alike, number, offset in self._owned:
            arrays[number] = alike.at(scratch.address + offset, scratch)
        return arrays

    def _in_kept(self) -> list[Any]:
        """Those in the memory that the device keeps."""
        scratch = _kept(current.device(), self._size)
        if self._kept is None or self._kept[0] is not scratch:
            self._kept = scratch, self._arrays_in(scratch)
        return [*self._kept[1]]


_Launch = tuple[Callable[..., Any], list[Any], list[tuple[int, int]]]
"""A configured kernel, its arguments, and which of them are which arrays."""


class OtherError(Exception):
    """A call has no recipe."""


_kept_lock = threading.Lock()
"""Is held by the thread that launches in the memory that is kept. All launches there are on the
default stream, in whose order the memory is used again."""


def _kept(device: Device, size: int) -> Buffer:
    """The temporary memory that a device keeps, of ``size`` bytes at least."""
    buffer: Buffer | None = device.memory.kept.get(_NAME)
    if buffer is None or buffer.size < size:
        buffer = device.memory.kept[_NAME] = device.allocate(max(_LEAST_KEPT, size))
    return buffer


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
    is_usual = (stream is None or stream is _DEFAULT) and not current.fusing()
    if what is not None and is_usual and captured_stream(arrays, current.device()) is not None:
        what = None  # torch's graph has launches, in memory of their own
    if what is not None and is_usual and notes() is None:
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
    with noting() as noted:
        prepare().run(None, stream)
    try:
        made = Recipe(noted, places)
    except OtherError:
        return
    if len(_recipes) >= _MOST:
        _recipes.clear()
    _recipes[what, key] = made
