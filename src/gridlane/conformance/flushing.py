"""Comparison on devices that may flush subnormal f32 to 0.

WGSL, GLSL and Metal's language leave that to the device, and NVIDIA's atomic sums flush in memory;
``Backend.subnormals`` names the targets. bf16 computes in f32, so its subnormals are flushed as
well. A case that differs on such a device is run again without subnormal operands, and subnormal
results count as 0 on both sides: all other results must equal the interpreter's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridlane.backends import backend
from gridlane.backends.record import Subnormals
from gridlane.conformance.cases import Case
from gridlane.core.dtypes import bf16, f32
from gridlane.ir.ops import arith
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.values import Module

LEAST = 2.0**-126
"""The least normal number of f32 and bf16."""
FLUSHED = f"right, but f32 and bf16 below {LEAST:.3g} may be taken as 0"


def may_flush(target: str, op: str) -> bool:
    """Whether a target's language allows a device to flush, in an op."""
    where = backend(target).subnormals
    return where is Subnormals.LEFT_OPEN or (where is Subnormals.IN_ATOMICS and op == "atomic")


def flush(array: np.ndarray) -> np.ndarray:
    """An array whose subnormal f32 or bf16 are flushed to 0, with their signs. The least normal
    number is flushed as well: a result that is rounded up to it may be 0 elsewhere.

    >>> flush(np.array([1e-39, -1e-45, 1.0], np.float32)).tolist()
    [0.0, -0.0, 1.0]
    """
    if array.dtype not in (f32.numpy, bf16.numpy):
        return array
    with np.errstate(invalid="ignore"):
        small = np.abs(array.astype(np.float32)) <= np.float32(LEAST)
    return np.where(small, np.copysign(array.dtype.type(0), array), array)


def flushed(case: Case) -> Case:
    """The case without subnormal f32 and bf16, in arrays and constants."""
    arrays = [flush(array) for array in case.arrays]
    return replace(case, module=_flushed(case.module), arrays=arrays)


def _flushed(module: Module) -> Module:
    copy = parse_module(print_module(module))
    for function in copy.functions.values():
        for op in function.body.walk():
            if isinstance(op, arith.Const) and op.type in (f32, bf16) and abs(op.value) <= LEAST:
                op.value = float(np.copysign(0.0, op.value))
    return copy
