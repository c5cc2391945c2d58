"""``numba.cuda.typing``: types of calls."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridlane.core.argtypes import ArgType, Signature
from gridlane.cuda.kernels import argument_types as typeof
from gridlane.cuda.names import missing


def signature(return_type: ArgType, *args: ArgType) -> Signature:
    """The signature of a function.

    >>> from gridlane import cuda
    >>> signature(cuda.void, cuda.int32, cuda.float32[:]) == cuda.void(cuda.int32, cuda.float32[:])
    True
    """
    return Signature(return_type, args)


def __getattr__(name: str) -> Any:
    if name == "templates":
        return import_module("gridlane.cuda.extending.templates")
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba.cuda.typing")


__all__ = ["signature", "typeof"]
