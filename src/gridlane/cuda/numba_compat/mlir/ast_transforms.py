"""``numba_cuda_mlir.ast_transforms``: the error of what cannot be evaluated."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.internals import ROOT, reaches_into_compiler
from gridlane.frontends.python.consteval_stubs import ConstevalError


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    error = missing(name, f"{ROOT}.ast_transforms")
    raise type(error)(reaches_into_compiler(f"{ROOT}.ast_transforms.{name}") or str(error))


__all__ = ["ConstevalError"]
