"""The mathematical functions that each target has, which legalize_math keeps."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, f64
from gridlane.core.frozen import frozen
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.ops import math

Ops = frozenset[type[Op]]


@frozen
class Natives:
    """The ops that a target has on f32, on f64, and on f16 and bf16; callable as ``keep``.

    Attributes:
        rough: those of f32 that it has where they may be rough (``FastMath.ROUGH``).
        widened: those of f32 that compute in f64, as theirs of f32 are more than 1 ulp off.
        fuses: whether a fused multiply-add of f32 rounds once.
    """

    f32: Ops
    f64: Ops
    narrow: Ops
    rough: Ops = frozenset()
    widened: Ops = frozenset()
    fuses: bool = False

    def __call__(self, op: type[Op], dtype: DType) -> bool:
        return op in {f32: self.f32, f64: self.f64}.get(dtype, self.narrow)


_NVPTX: Ops = frozenset((math.Rsqrt, math.Ldexp))

_ROUGH: Ops = frozenset((math.Sin, math.Cos, math.Exp2, math.Log2))

NVPTX = Natives(_NVPTX, _NVPTX, _NVPTX, _ROUGH, fuses=True)
"""An NVIDIA GPU without libdevice. The approximate instructions for sin, cos, exp2 and log2 are
not accurate enough to count."""
_CPU: Ops = frozenset((math.Ldexp,))

CPU = Natives(
    *(_CPU, _CPU, _CPU),
    rough=frozenset((math.Exp2, math.Log2, math.Rsqrt)),
    widened=frozenset((math.Lgamma,)),
    fuses=True,
)
"""A CPU without a vector math library."""
CPU_SINGLE = Natives(
    _CPU | {math.Rsqrt},
    frozenset([cls for cls in REGISTRY.values() if cls.__module__ == math.__name__]),
    _CPU,
    rough=CPU.rough,
    widened=CPU.widened,
    fuses=True,
)
"""A CPU with a vector math library, of which functions of f64 are taken alone: for programs that
are content with an f32 less than 1 ulp off, where the library's of f64, rounded, takes twice the
time. Infinities are as quick as other numbers."""
NOTHING = Natives(frozenset(), frozenset(), frozenset())
"""A target that has only arithmetic, sqrt and the rounding functions."""
