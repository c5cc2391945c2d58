"""``numba`` itself: what programs for numba.cuda import from it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridlane.core.argtypes import from_numpy as from_dtype
from gridlane.cuda import settings as config
from gridlane.cuda import types
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat import errors
from gridlane.cuda.numba_compat.errors import (
    NumbaDeprecationWarning,
    NumbaPerformanceWarning,
    NumbaWarning,
)
from gridlane.cuda.numba_compat.host import generated_jit, jit, njit, prange

# The numba whose dialect this follows.
__version__ = "0.61.2"
version_info = (0, 61, 2)

_LATER = {
    "cuda": ("gridlane.cuda", None),
    "vectorize": ("gridlane.cuda.ufunc", "vectorize"),
    "guvectorize": ("gridlane.cuda.gufunc", "guvectorize"),
    "typeof": ("gridlane.cuda.argument_types", "typeof"),
    "core": ("gridlane.cuda.numba_compat.core", None),
    "np": ("gridlane.cuda.numba_compat.core", None),
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _LATER:
        module, attribute = _LATER[name]
        value = import_module(module)
        return value if attribute is None else getattr(value, attribute)
    if name in types.SCALAR_NAMES or name in ("void", "none"):
        return getattr(types, name)
    raise missing(name, "numba")


__all__ = [
    *types.SCALAR_NAMES,
    "NumbaDeprecationWarning",
    "NumbaPerformanceWarning",
    "NumbaWarning",
    "config",
    "errors",
    "from_dtype",
    "generated_jit",
    "guvectorize",
    "jit",
    "njit",
    "prange",
    "typeof",
    "types",
    "vectorize",
    "void",
]
