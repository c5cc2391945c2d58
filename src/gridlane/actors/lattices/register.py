"""The lattices of a runtime. They go with the user's last reference, but for restored ones."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridlane.actors.lattices.ref import LatticeRef


class Register:
    """Who is there, in the order of the launches. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[weakref.ref[LatticeRef]] = []
        self._restored: list[LatticeRef] = []

    def add(self, ref: LatticeRef, keep: bool = False) -> None:
        """Add a lattice; keep one that nobody else refers to yet."""
        with self._lock:
            self._found = [each for each in self._found if each() is not None]
            self._found.append(weakref.ref(ref))
            if keep:
                self._restored.append(ref)

    def all(self) -> list[LatticeRef]:
        """The lattices that have not ended."""
        with self._lock:
            found = [each() for each in self._found]
            self._restored = [each for each in self._restored if not each.has_ended]
        return [each for each in found if each is not None and not each.has_ended]

    def find(self, name: str) -> LatticeRef | None:
        """The lattice of a name."""
        return next((each for each in self.all() if each.name == name), None)
