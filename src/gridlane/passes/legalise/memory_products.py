"""Lowers products of matrices in shared memory to loops, for targets that do not emit them: each
lane has every 32nd of the sums."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, f64, i32
from gridlane.ir.builder import Builder
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import LaneId
from gridlane.ir.ops.memory import element_of
from gridlane.ir.ops.memory_products import WarpProduct
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.values import Module, Value

_WARP = 32


def memory_products(module: Module) -> None:
    """Lower the ``warp_product`` of all functions."""
    for function in module.functions.values():
        if any(isinstance(op, WarpProduct) for op in function.body.walk()):
            _Lowering(module, function).region(function.body)


class _Lowering(Rewriter):
    def replaced(self, op: Op) -> tuple[()] | None:
        if not isinstance(op, WarpProduct):
            return None
        _product(self.builder, op)
        return ()


def _product(b: Builder, op: WarpProduct) -> None:
    number = b.variable("element", i32)
    b.write(number, b.cast(b.value(LaneId()), i32))
    with b.loop() as loop:
        now = b.read(number)
        b.break_if(b.value(arith.Ge(now, b.const(op.rows * op.columns, i32))))
        columns = b.const(op.columns, i32)
        row, column = b.div(now, columns), b.rem(now, columns)
        place = b.offset(op.sums, now)
        if op.pitch:
            start = b.mul(row, b.const(op.pitch, i32))
            place = b.offset(op.sums, b.add(start, column))
        kind = element_of(op, op.sums)
        assert isinstance(kind, DType)
        total = b.variable("total", kind)
        b.write(total, b.load(place))
        k = b.variable("k", i32)
        b.write(k, b.const(0, i32))
        with b.loop() as inner:
            at = b.read(k)
            b.break_if(b.value(arith.Ge(at, b.const(op.depth, i32))))
            left = b.offset(op.left, _place(b, row, at, op.rows, op.depth, op.turned_left))
            right = _place(b, at, column, op.depth, op.columns, op.turned_right)
            right = b.offset(op.right, right)
            first, second = (b.cast(b.load(each), kind) for each in (left, right))
            b.write(total, _sum(b, b.read(total), first, second, op.fused))
        with b.inside(inner.step):
            b.write(k, b.add(b.read(k), b.const(1, i32)))
        b.store(place, b.read(total))
    with b.inside(loop.step):
        b.write(number, b.add(b.read(number), b.const(_WARP, i32)))


def _place(b: Builder, row: Value, column: Value, rows: int, columns: int, turned: bool) -> Value:
    """The number of an element."""
    if turned:
        row, column, columns = column, row, rows
    return b.add(b.mul(row, b.const(columns, i32)), column)


def _sum(b: Builder, total: Value, left: Value, right: Value, fused: bool) -> Value:
    if total.type not in (f32, f64):
        return b.add(total, b.mul(left, right))
    fast = FastMath.CONTRACT if fused else FastMath.NONE
    return b.value(arith.Add(total, b.value(arith.Mul(left, right, fast)), fast))
