"""Functions of the program's that each launch of any kernel calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Hook = Callable[..., Any]


class HookChain:
    """Functions that are called in order, each once.

    Args:
        changed: called when the functions are others.
        reversed: the last one is called first.
    """

    def __init__(self, changed: Callable[[], Any], reversed: bool = False) -> None:
        self.calls: list[Hook] = []
        self._changed, self._reversed = changed, reversed

    def add(self, func: Hook) -> None:
        """Call a function from now on, too."""
        if func not in self.calls:
            self.calls.append(func)
            self._changed()

    def remove(self, func: Hook) -> None:
        """Call a function no more."""
        if func in self.calls:
            self.calls.remove(func)
            self._changed()

    def __call__(self, *args: Any, **keywords: Any) -> None:
        for call in self.calls[:: -1 if self._reversed else 1]:
            call(*args, **keywords)


class LaunchMetadata:
    """What hooks of launches take: the facts of a launch, computed when one of them is needed.

    Args:
        known: the facts that each launch has.
        further: returns those of the kernel's own ``launch_metadata``; None for no others.
    """

    def __init__(
        self, known: dict[str, Any], further: Callable[[], dict[str, Any]] | None = None
    ) -> None:
        self._known, self._further = known, further

    def get(self) -> dict[str, Any]:
        """The facts by their names: ``name``, ``function``, ``stream``, and the kernel's own."""
        if self._further is not None:
            self._known.update(self._further())
            self._further = None
        return self._known
