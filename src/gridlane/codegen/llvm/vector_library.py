"""glibc's vector functions on a machine, by the names of their variants."""

from __future__ import annotations

import ctypes
from functools import cache

from gridlane.codegen.llvm.machine import Machine
from gridlane.core.processors import ARM, X86

LIBRARY = "libmvec.so.1"

_VARIANTS = {X86: {"e": 64, "d": 32, "b": 16}, ARM: {"n": 16}}
"""glibc's letter for each vector length in bytes: AVX-512, AVX2, SSE; Advanced SIMD."""

_ABSENT = ("tgamma", "lgamma")
"""Functions that glibc has for scalars alone."""


@cache
def vector_library() -> ctypes.CDLL | None:
    """libmvec, if this system has it."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        return None


def has_vector_library(machine: Machine) -> bool:
    """Whether code for a machine may call libmvec: as the user chose, else as on this system."""
    if machine.vector_library is None:
        return vector_library() is not None
    return machine.vector_library


@cache
def vector_function(
    machine: Machine, name: str, type_: str, lanes: int, operands: int
) -> str | None:
    """The symbol of a function on ``lanes`` of ``float`` or ``double``, or None."""
    if name in _ABSENT or not has_vector_library(machine):
        return None
    size = 4 if type_ == "float" else 8
    for letter, length in _VARIANTS.get(machine.architecture, {}).items():
        if length == lanes * size and length <= machine.vector_bytes:
            suffix = "f" if size == 4 else ""
            symbol = f"_ZGV{letter}N{lanes}{'v' * operands}_{name}{suffix}"
            # Another system's library is assumed to have the functions of glibc 2.40.
            known = machine.vector_library or hasattr(vector_library(), symbol)
            return symbol if known else None
    return None
