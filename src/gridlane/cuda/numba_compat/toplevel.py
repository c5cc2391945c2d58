"""``numba`` itself: what programs for numba.cuda import from it."""

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.core.argtypes import from_numpy as from_dtype
from gridlane.cuda import settings as config
from gridlane.cuda import types
from gridlane.cuda.argument_types import typeof
from gridlane.cuda.gufunc import guvectorize
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat import core, errors
from gridlane.cuda.numba_compat import core as np
from gridlane.cuda.numba_compat.errors import (
    NumbaDeprecationWarning,
    NumbaPerformanceWarning,
    NumbaWarning,
)
from gridlane.cuda.numba_compat.host import generated_jit, jit, njit, prange
from gridlane.cuda.types import none, void
from gridlane.cuda.ufunc import vectorize

# The numba whose dialect this follows.
__version__ = "0.61.2"
version_info = (0, 61, 2)

# The scalars: numba.float32, numba.f4 …
globals().update(types.SCALAR_NAMES)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba")


__all__ = [
    "NumbaDeprecationWarning",
    "NumbaPerformanceWarning",
    "NumbaWarning",
    "config",
    "core",
    "cuda",
    "errors",
    "from_dtype",
    "generated_jit",
    "guvectorize",
    "jit",
    "njit",
    "none",
    "np",
    "prange",
    "typeof",
    "types",
    "vectorize",
    "void",
]
__all__ += types.SCALAR_NAMES
