"""Handles: the numbers by which a program names streams, events, modules and other objects."""

from __future__ import annotations

import itertools
from typing import Generic, Protocol, TypeVar

from gridlane.abi.failure import INVALID_HANDLE, fail

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

_numbers = itertools.count(0x6C00_0000_0010, 16)
"""They look like aligned addresses, and none is used twice: a destroyed one is never another. C has
those from 0x6D00_0000_0010 on."""


class Outside(Protocol[T_contra]):
    """The interface of another creator of handles of a kind, which also ends them."""

    def settle(self) -> None:
        """Remove the objects whose handles were ended there."""
        ...

    def adopt(self, number: int) -> None:
        """Put an object with a handle that was made there, if there is one."""
        ...

    def add(self, target: T_contra) -> None:
        """Add an object that was made here."""
        ...

    def withdraw(self, number: int) -> None:
        """Remove an object that ends here."""
        ...


class Handles(Generic[T]):
    """The live objects of a kind.

    Args:
        kind: what they are, for messages.
        wrong: the error of a number that is no handle.

    Attributes:
        outside: another creator of handles of the kind.
    """

    def __init__(self, kind: str, wrong: int = INVALID_HANDLE) -> None:
        self._kind, self._wrong = kind, wrong
        self.outside: Outside[T] | None = None
        self._objects: dict[int, T] = {}

    def add(self, target: T) -> int:
        """A new handle of an object."""
        number = next(_numbers)
        self._objects[number] = target
        return number

    def get(self, number: int) -> T:
        """The object with a handle.

        Raises:
            Failure: there is none, or it was destroyed.
        """
        target = self.find(number)
        if target is None:
            fail(self._wrong, f"{number:#x} is no {self._kind}")
        return target

    def find(self, number: int) -> T | None:
        """The object with a handle, if there is one."""
        self._settle()
        if self.outside is not None and number not in self._objects:
            self.outside.adopt(number)
        return self._objects.get(number)

    def _settle(self) -> None:
        if self.outside is not None:
            self.outside.settle()

    def known(self, number: int) -> T | None:
        """The object with a handle, if it is here."""
        return self._objects.get(number)

    def put(self, number: int, target: T) -> bool:
        """Register an object under a handle of the other creator, unless the handle has an object
        already."""
        return self._objects.setdefault(number, target) is target

    def show(self, target: T) -> None:
        """Add an object to the other creator's."""
        if self.outside is not None:
            self.outside.add(target)

    def withdraw(self, number: int) -> None:
        """Remove an object from the other creator's."""
        if self.outside is not None:
            self.outside.withdraw(number)

    def remove(self, number: int) -> T:
        """End a handle, and return its object.

        Raises:
            Failure: there is none.
        """
        target = self._objects.pop(number, None)
        if target is None:
            fail(self._wrong, f"{number:#x} is no {self._kind}")
        return target

    def discard(self, number: int) -> None:
        """End a handle, if it lives."""
        self.withdraw(number)
        self._objects.pop(number, None)

    def objects(self) -> tuple[T, ...]:
        """All live ones that are here."""
        self._settle()
        return tuple(self._objects.values())

    def __len__(self) -> int:
        self._settle()
        return len(self._objects)
