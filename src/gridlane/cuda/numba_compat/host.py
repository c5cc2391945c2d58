"""``numba.jit`` and ``numba.njit``: device functions in kernels, plain Python on the host."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gridlane.core.errors import UnsupportedError
from gridlane.cuda.decorators import jit as cuda_jit
from gridlane.cuda.signatures import is_signature

prange = range


class HostFunction:
    """A function that kernels may call, and that the host runs in Python.

    gridlane compiles kernels only, so on the host the answer is the same and no faster.
    """

    def __init__(self, function: Callable[..., Any], fastmath: bool) -> None:
        functools.update_wrapper(self, function, updated=())
        self.py_func = function
        self._device = cuda_jit(function, device=True, fastmath=fastmath)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.py_func(*args, **kwargs)

    @property
    def __gridlane_function__(self) -> Any:
        return self._device.__gridlane_function__


def jit(func_or_sig: Any = None, *args: Any, **options: Any) -> Any:
    """Make a function that kernels may call; signatures and options for the host are accepted."""
    fastmath = bool(options.get("fastmath"))
    if func_or_sig is None or isinstance(func_or_sig, list) or is_signature(func_or_sig):
        return lambda function: HostFunction(function, fastmath)
    return HostFunction(func_or_sig, fastmath)


njit = jit


def generated_jit(*args: Any, **options: Any) -> Any:
    """Functions chosen by the types of their arguments are not here."""
    raise UnsupportedError("generated_jit: write one device function for each type instead")
