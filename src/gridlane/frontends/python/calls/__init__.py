"""Calls: a table from what is called to what is emitted."""

from __future__ import annotations

from gridlane.frontends.python.calls import (
    atomics,
    builtin,
    casts,
    complex_mathematics,
    copies,
    fp16,
    grid,
    integers,
    mathematics,
    matrix,
    memory,
    methods,
    numpy_functions,
    operator_functions,
    warps,
)
from gridlane.frontends.python.calls.dispatch import call
from gridlane.frontends.python.calls.registry import VALUES

__all__ = [
    "VALUES",
    "atomics",
    "builtin",
    "call",
    "casts",
    "complex_mathematics",
    "copies",
    "fp16",
    "grid",
    "integers",
    "mathematics",
    "matrix",
    "memory",
    "methods",
    "numpy_functions",
    "operator_functions",
    "warps",
]
