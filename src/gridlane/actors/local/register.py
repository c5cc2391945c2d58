"""The lattices of a runtime. Lifetime: a lattice lives as long as the user's last reference; a
restored one lives until it has ended."""

from __future__ import annotations

import threading
import weakref
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    """An entry of a register: an object with a name and an end."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        ...


T = TypeVar("T", bound=Named)


class Register(Generic[T]):
    """The live lattices, in the order of the launches. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[weakref.ref[T]] = []
        self._restored: list[T] = []

    def add(self, ref: T, keep: bool = False) -> None:
        """Add a lattice; ``keep`` owns one that has no other reference yet."""
        with self._lock:
            self._found = [each for each in self._found if each() is not None]
            self._found.append(weakref.ref(ref))
            if keep:
                self._restored.append(ref)

    def all(self) -> list[T]:
        """The lattices that have not ended."""
        with self._lock:
            known = [each() for each in self._found]
            self._restored = [each for each in self._restored if not each.has_ended]
        return [each for each in known if each is not None and not each.has_ended]

    def find(self, name: str) -> T | None:
        """The lattice of a name."""
        return next((each for each in self.all() if each.name == name), None)
