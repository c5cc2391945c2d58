"""``numba_cuda_mlir`` itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.internals import ROOT, reaches_into_compiler
from gridlane.cuda.numba_compat.mlir import cuda as cuda
from gridlane.cuda.numba_compat.modules import MODULES
from gridlane.frontends.python.pointer_stubs import carray, farray

# The version whose dialect this follows.
__version__ = "0.6.0"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    module = MODULES.get(f"{ROOT}.{name}")
    if module is not None:
        return import_module(module)
    error = missing(name, ROOT)
    raise type(error)(reaches_into_compiler(f"{ROOT}.{name}") or str(error))


__all__ = ["__version__", "carray", "cuda", "farray"]
