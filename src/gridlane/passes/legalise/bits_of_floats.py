"""Replaces functions of a float's bits, which LLVM lacks, by those of ``legalise/math``."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops.math import Frexp, Nextafter
from gridlane.ir.values import Module

_OPS: frozenset[type[Op]] = frozenset((Frexp, Nextafter))


def functions_of_bits(module: Module) -> None:
    """Lower frexp and nextafter."""
    for function in module.functions.values():
        if not _OPS.isdisjoint(map(type, function.body.walk())):
            from gridlane.passes.legalise.math import legalize_math  # few kernels need it

            legalize_math(module, _is_kept)
            return


def _is_kept(op: type[Op], dtype: DType) -> bool:
    return op not in _OPS
