"""``numba`` itself: the names that programs for numba.cuda import from it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Names outside ``__all__`` are names of the module all the same.
from gridlane import cuda as cuda
from gridlane.core.errors import MissingError
from gridlane.core.numpy_types import from_numpy as from_dtype
from gridlane.cuda import types
from gridlane.cuda.host import settings as config  # noqa: F401  # pyright: ignore[reportUnusedImport]  # numba.config
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat import core as core
from gridlane.cuda.numba_compat import core as np  # noqa: F401  # pyright: ignore[reportUnusedImport]  # numba.np
from gridlane.cuda.numba_compat import errors, installed
from gridlane.cuda.numba_compat.host import generated_jit as generated_jit
from gridlane.cuda.numba_compat.host import get_num_threads, jit, njit, prange, set_num_threads
from gridlane.cuda.numba_compat.host_ufuncs import guvectorize, vectorize
from gridlane.cuda.types import none, void
from gridlane.frontends.python.pointer_stubs import carray, farray
from gridlane.frontends.python.stubs import literal_unroll

# The version of numba whose dialect this follows.
__version__ = "0.61.2"
version_info = (0, 61, 2)

# The scalars: numba.float32, numba.f4 …; and numba's errors and warnings.
globals().update(types.SCALAR_NAMES)
globals().update({name: getattr(errors, name) for name in errors.__all__})


def __getattr__(name: str) -> Any:
    if name == "extending":
        return import_module("gridlane.cuda.extending")
    if name == "typed":
        try:
            return installed.typed()
        except ImportError as error:
            raise MissingError(str(error)) from error
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba")


_OURS = {"bfloat16", "f2", "float16", "float_"}
"""Scalars whose names numba does not give."""

# The part of numba's own ``__all__`` that exists here: no module, and np least of all.
__all__ = [
    "carray", "farray", "from_dtype", "get_num_threads", "guvectorize", "jit", "literal_unroll",
    "njit", "none", "prange", "set_num_threads", "typeof", "vectorize", "void",
]  # fmt: skip
__all__ += [name for name in types.SCALAR_NAMES if name not in _OURS]
__all__ += errors.__all__
