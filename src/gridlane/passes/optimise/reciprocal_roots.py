"""Folds 1 / sqrt(x) into rsqrt(x), an instruction of GPUs, where both ops may be approximate."""

from __future__ import annotations

from gridlane.ir.builder import constant
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math
from gridlane.ir.rewriting import replace_values
from gridlane.ir.values import Module, Region, Value
from gridlane.passes.optimise.promote import drop_dead


def reciprocal_roots(module: Module) -> None:
    """Fold reciprocals of square roots in the kernel."""
    new: dict[Value, Value] = {}
    _region(module.kernel.body, new)
    replace_values(module.kernel.body, new)
    if new:
        drop_dead(module.kernel.body)


def _region(region: Region, new: dict[Value, Value]) -> None:
    ops: list[Op] = []
    for op in region.ops:
        for inner in op.regions():
            _region(inner, new)
        ops.append(op)
        if not isinstance(op, arith.Div) or constant(op.lhs) != 1:
            continue
        root = op.rhs.op
        if isinstance(root, math.Sqrt) and op.fast & root.fast & FastMath.AFN:
            rsqrt = math.Rsqrt(root.value, root.fast, loc=op.loc)
            ops.append(rsqrt)
            new[op.results[0]] = rsqrt.results[0]
    region.ops[:] = ops
