"""Handles: the numbers by which a program names streams, events, modules and other objects."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

from gridlane.abi.failure import INVALID_HANDLE, fail

T = TypeVar("T")

_numbers = itertools.count(0x6C00_0000_0010, 16)
"""They look like aligned addresses, and none is used twice: a destroyed one is never another."""


class Handles(Generic[T]):
    """The live objects of a kind.

    Args:
        kind: what they are, for messages.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._objects: dict[int, T] = {}

    def add(self, made: T) -> int:
        """A new handle of an object."""
        number = next(_numbers)
        self._objects[number] = made
        return number

    def get(self, number: int) -> T:
        """The object with a handle.

        Raises:
            Failure: INVALID_HANDLE, there is none, or it was destroyed.
        """
        found = self._objects.get(number)
        if found is None:
            fail(INVALID_HANDLE, f"{number:#x} is no {self._kind}")
        return found

    def find(self, number: int) -> T | None:
        """The object with a handle, if there is one."""
        return self._objects.get(number)

    def remove(self, number: int) -> T:
        """End a handle, and return its object.

        Raises:
            Failure: INVALID_HANDLE, there is none.
        """
        found = self._objects.pop(number, None)
        if found is None:
            fail(INVALID_HANDLE, f"{number:#x} is no {self._kind}")
        return found

    def discard(self, number: int) -> None:
        """End a handle, if it lives."""
        self._objects.pop(number, None)

    def objects(self) -> tuple[T, ...]:
        """All live ones."""
        return tuple(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)
