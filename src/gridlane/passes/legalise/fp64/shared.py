"""The common part of holding f64 in one f32 or in two: the fallback on exact bits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gridlane.core.dtypes import f64, u64
from gridlane.core.errors import TargetError
from gridlane.ir.expressions import Expression
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control
from gridlane.ir.values import Value
from gridlane.passes.legalise.fp64.exact import from_scalar, to_scalar
from gridlane.passes.legalise.representation import Parts, Representation

LARGEST = float(np.finfo(np.float32).max)
LEAST = 2.0**-149


class OverBits(Representation):
    """Holds f64 in f32, with conversions from and to the bits of binary64."""

    MODE = ""
    """The name of the way that the user chose (``fp64=``)."""

    def bits(self, value: Value) -> Expression:
        """The bits of a value."""
        raise NotImplementedError

    def held(self, bits: Expression) -> Parts:
        """The representation of a value, from its bits."""
        raise NotImplementedError

    def entered(self, param: Value) -> Parts:
        return self.held(self.writer.wrap(self.builder.bitcast(param, u64)))

    def cast_over_bits(self, op: arith.Cast) -> Sequence[Parts]:
        """Cast from or to f64, with one rounding to the representation."""
        if op.type is f64:
            return [self.held(from_scalar(self.writer, self.expressions(op.value)[0]))]
        return [(to_scalar(self.writer, self.bits(op.value), op.type).value,)]

    def bitcast(self, op: arith.Bitcast) -> Sequence[Parts]:
        if op.type is f64:
            raw = self.builder.bitcast(self.one(op.value), u64)
            return [self.held(self.writer.wrap(raw))]
        return [(self.builder.bitcast(self.bits(op.value).value, op.type),)]

    def print_(self, op: control.Print) -> Sequence[Parts]:
        printed = [
            self.bits(value).reread(f64).value if value.type is f64 else value
            for value in op.arguments
        ]
        self.builder.emit(op.of(tuple(printed)))
        return []

    def fitting(self, op: arith.Const) -> float:
        """The value of a constant, which must be in the range of f32."""
        number = float(op.value)
        size = abs(number)
        if math.isfinite(number) and (size > LARGEST or 0.0 < size < LEAST):
            raise TargetError(
                f"the number {number!r} is beyond float32, in which fp64={self.MODE!r} computes; "
                "set GRIDLANE_FP64=exact, or use cuda.jit(fp64='exact')",
                op.loc,
            )
        return number

    def refuse(self, op: Op) -> Sequence[Parts]:
        """Refuse an op that needs float64 in memory's own format. The error names no mode for
        atomics: every mode refuses them."""
        swaps = isinstance(op, (atomic.Atomic, atomic.AtomicCas))
        raise TargetError(
            f"{op.name} of float64 in memory: the target has no float64, and fp64={self.MODE!r} "
            "computes with it but does not keep it there; " + (FLOAT32 if swaps else IN_MEMORY),
            op.loc,
        )


FLOAT32 = "use an array of float32"
IN_MEMORY = (
    "set GRIDLANE_FP64=exact (binary64, slow) or GRIDLANE_FP64=narrow (in float32), for "
    f"one kernel cuda.jit(fp64='exact') or 'narrow', or {FLOAT32}"
)
"""The advice for float64 in memory where the mode has none."""


def needs_f32(value: float) -> float:
    """A number rounded to f32."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))
