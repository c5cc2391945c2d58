"""Objects created by decorators: other processes find them by name, like functions."""

from __future__ import annotations

import pickle
import sys
from importlib import import_module
from typing import Any, Self


def object_named(module: str, path: str) -> Any:
    """The object with a qualified name in a loaded module, or None."""
    item: Any = sys.modules.get(module)
    for part in path.split("."):
        item = getattr(item, part, None)
    return item


def _imported(module: str, path: str) -> Any:
    """The object, in a process that may not have loaded the module."""
    import_module(module)
    return object_named(module, path)


class Named:
    """Base of the objects that decorators create. A copy is the object itself.

    Attributes:
        py_func: the function.
    """

    py_func: Any

    def _made_again(self, original: Any) -> Any:
        """How another process recreates this object from the object with its name there, in the
        form of ``__reduce__``; None if it cannot."""
        return None

    def __reduce__(self) -> Any:
        module, name = self.py_func.__module__, self.py_func.__qualname__
        original = object_named(module, name)
        if original is self:
            return _imported, (module, name)
        made_again = self._made_again(original)
        if made_again is None:
            raise pickle.PicklingError(
                f"{name} cannot be pickled: another process finds a kernel by its name, and "
                f"{module}.{name} is not this one; define it at the top level of a module"
            )
        return made_again

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
