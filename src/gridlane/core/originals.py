"""Modules of other packages that gridlane's take the place of, for those that need the others.

gridlane's own driver for NVIDIA GPUs is on cuda-bindings, and so is cuda.core, in C.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType

_lock = threading.RLock()
_names: set[str] = set()
_originals: dict[str, ModuleType] = {}
_depth = 0


def replace(names: set[str]) -> None:
    """Declare that modules of these names are replaced from now on: loaded ones are put aside, and
    the next import decides which is loaded."""
    with _lock:
        _names.update(names)
        _originals.update(_taken(names))


def wanted() -> bool:
    """Whether imports of this moment are for the originals."""
    return _depth > 0


@contextmanager
def originals() -> Generator[None]:
    """Make imports find the replaced modules in the with block."""
    global _depth
    with _lock:
        if _depth or not _names:
            yield
            return
        replacements = _taken(_names)
        _put(_originals)
        _depth = 1
        try:
            yield
        finally:
            _depth = 0
            _originals.update(_taken(_names))
            _put(replacements)


def _taken(names: set[str]) -> dict[str, ModuleType]:
    """Remove modules from where imports find them; return those that were there."""
    removed: dict[str, ModuleType] = {}
    for name in names:
        module = sys.modules.pop(name, None)
        parent, _, own = name.rpartition(".")
        sys.modules.get(parent, ModuleType(parent)).__dict__.pop(own, None)
        if module is not None:
            removed[name] = module
    return removed


def _put(modules: dict[str, ModuleType]) -> None:
    for name, module in modules.items():
        sys.modules[name] = module
        parent, _, own = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], own, module)
