"""Objects created by decorators: other processes find them by name, like functions, or make them
again from source."""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import Any, Self


def object_named(module: str, path: str) -> Any:
    """The object with a qualified name in a loaded module, or None."""
    item: Any = sys.modules.get(module)
    for part in path.split("."):
        item = getattr(item, part, None)
    return item


class Named:
    """Base of the objects that decorators create. A copy is the object itself.

    Attributes:
        py_func: the function.
    """

    py_func: Any

    def __gridlane_name__(self) -> tuple[str, str]:
        """The module and the qualified name by which other processes may find it."""
        return self.py_func.__module__, self.py_func.__qualname__

    @abstractmethod
    def __gridlane_parts__(self) -> tuple[Any, ...]:
        """What another process makes it of, in the form of ``__reduce__``."""

    def __reduce__(self) -> Any:
        # Few programs need it.
        from gridlane.frontends.python.pickled import reduced

        return reduced(self, *self.__gridlane_name__())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
