"""Lowers numbered barriers of some threads to barriers of all that reach them.

Control flow is structured: the threads that a numbered barrier joins reach the same op, so a
barrier of those that reach it joins them. Their number is compared with the kernel's count, as the
kernel may mean threads that reach another op. If threads arrive without waiting, or reach one
barrier at several places, structure/barriers_by_turns.py lowers the barriers before this pass, on
devices whose warps take turns.
"""

from __future__ import annotations

from gridlane.core.dtypes import b1, i32, u32
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import BarrierArrive, BarrierPart, BarrierReduce, Reduction
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.warps_by_blocks import barriers_by_blocks

NUMBERS = 16
"""The barriers of a block."""


def whole_barriers(module: Module) -> None:
    """Lower the numbered barriers of a module where no thread arrives without waiting."""
    ops = _ops(module)
    if not any(isinstance(op, BarrierPart) for op in ops):
        return
    if any(isinstance(op, BarrierArrive) for op in ops):
        return
    for function in module.functions.values():
        _Lowering(module, function).region(function.body)


def whole_barriers_together(module: Module) -> None:
    """Lower numbered barriers where each waits for all threads that have not ended.

    Two parts of the block that wait separately would meet, so all threads reach each barrier."""
    parts = any(isinstance(op, BarrierPart) for op in _ops(module))
    whole_barriers(module)
    if parts:
        barriers_by_blocks(module)


def _ops(module: Module) -> list[Op]:
    return [op for function in module.functions.values() for op in function.body.walk()]


class _Lowering(Rewriter):
    def replaced(self, op: Op) -> tuple[Value] | None:
        return (self._part(op),) if isinstance(op, BarrierPart) else None

    def _part(self, op: BarrierPart) -> Value:
        """The reduction of the threads that reach a barrier."""
        b = self.builder
        self._require(b.lt(op.number, b.const(NUMBERS, u32)), "the barrier is none of 0 to 15")
        if constant(op.number) is not None:
            true = b.const(True, b1)
            came = b.value(BarrierReduce(Reduction.COUNT, true))
            reduction = b.const(0, i32)
            if op.kind is not Reduction.NONE:
                reduction = b.value(BarrierReduce(op.kind, op.predicate))
        else:
            came, reduction = self._by_number(op)
        total = b.cast(came, u32)
        threads = b.and_(b.add(total, b.const(31, u32)), b.const(~31 & u32.max, u32))
        self._require(
            b.eq(threads, op.count),
            "other threads than the number of this barrier's reach it together; here the threads "
            "of a numbered barrier wait at the same place of the program",
        )
        return reduction

    def _by_number(self, op: BarrierPart) -> tuple[Value, Value]:
        """The number of threads that reach this thread's barrier, and their reduction, by a barrier
        of the threads for each number."""
        b = self.builder
        number, came, matching = (
            b.variable(name, type_) for name, type_ in (("n", u32), ("came", i32), ("made", i32))
        )
        b.write(number, b.const(0, u32))
        with b.loop() as loop:
            b.break_if(b.value(arith.Ge(b.read(number), b.const(NUMBERS, u32))))
            own = b.eq(op.number, b.read(number))
            here = b.value(BarrierReduce(Reduction.COUNT, own))
            true = b.value(BarrierReduce(Reduction.COUNT, b.and_(own, op.predicate)))
            with b.if_(own):
                b.write(came, here)
                b.write(matching, true)
            with b.inside(loop.step):
                b.write(number, b.add(b.read(number), b.const(1, u32)))
        total, holds = b.read(came), b.read(matching)
        zero = b.const(0, i32)
        if op.kind is Reduction.NONE:
            return total, zero
        if op.kind is Reduction.COUNT:
            return total, holds
        is_all = op.kind is Reduction.ALL
        reduced = b.eq(holds, total) if is_all else b.value(arith.Ne(holds, zero))
        return total, b.cast(reduced, i32)

    def _require(self, holds: Value, message: str) -> None:
        if not constant(holds):
            self.builder.raise_if(self.builder.not_(holds), "RuntimeError", message)
