"""Uses a processor's mode that flushes subnormal f32, in kernels that flush everywhere.

In that mode (``codegen/llvm/cpu/flushing.py``) all arithmetic reads subnormal operands as 0 and
replaces subnormal results by 0. So a kernel qualifies if each op that computes with floats flushes,
or does the same in either mode. An op that flushes then needs nothing else, but LLVM may drop it
where it changes nothing but subnormal numbers, such as a product by 1. Where the bits of its result
count, as in a store, they are flushed explicitly; another op that flushes, a comparison or a
conversion to an integer does it itself.

LLVM knows of the mode, but not everywhere. It turns a comparison and a choice of the same values
into an instruction that flushes the choice. So a kernel with comparisons of numbers that are not
flushed does not qualify if the bits of any such number count. LLVM also folds comparisons, square
roots and fused products of constants without the mode, and turns a quotient by 2^-127 into a
product by 2^127, so a value that may be a constant is flushed explicitly for them.

The mode is that of f64 as well. A kernel may have f64 that is computed of integers and constants,
if its size shows that neither it nor the f32 that is made of it can be a subnormal number.
"""

from __future__ import annotations

from math import isfinite

from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, control, floating, grid, math, memory, warp
from gridlane.ir.ops.floating import flushes
from gridlane.ir.ops.memory import part_types
from gridlane.ir.rewriting import erase_dead
from gridlane.ir.types import Type
from gridlane.ir.values import Function, Module, Region, Value, Var
from gridlane.passes.legalise.flushing import expand_flushing, is_normal_constant
from gridlane.passes.legalise.subnormal_constants import subnormal_constants

_MOVES = (
    arith.Const, arith.Select, arith.Bitcast, arith.Neg, arith.Abs, math.Copysign, floating.Flush,
    memory.ReadVar, memory.WriteVar, memory.Load, memory.Store, memory.Pack, memory.Part,
    math.Trunc, math.Rint, warp.Shuffle,
)  # fmt: skip
"""Ops on the bits of floats, and those that give 0 of its sign for a subnormal number, flushed or
not."""
_ARITHMETIC = (
    arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Fma, math.Sqrt, math.Rsqrt,
    floating.FmaTowards,
)  # fmt: skip
"""Ops that processors have. Functions of a library may need subnormal numbers inside."""
_INLINE = (math.Exp2, math.Log2)
"""Functions that the code generator computes by arithmetic where they may be rough."""
_OTHER_CODE = (control.Print, control.Call, grid.RunOthers)
"""Ops that leave the kernel."""
_SIGNS = (arith.Neg, arith.Abs)
_INTEGRAL = (math.Trunc, math.Rint, math.Floor, math.Ceil)
_OF_VALUES = (memory.WriteVar, arith.Select, arith.Cast, *_SIGNS, *_INTEGRAL, floating.Flush)
"""Ops that hand on a number, whose bits count where the result's do, or that flush it."""
_ORDERS = (arith.Lt, arith.Le, arith.Gt, arith.Ge)
_FOLDED = (arith.Fma, arith.Div, math.Sqrt, math.Rsqrt, floating.FmaTowards)
"""Ops whose results of constants LLVM computes without the mode."""
_ASKS = arith.Compare, arith.Cast
"""Ops that take 0 for subnormal operands; what LLVM knows as constants it compares as they are."""


def flush_by_mode(module: Module) -> None:
    """Leave the ops that flush to the processor's mode, if it suits the whole kernel, which is the
    only function; else expand them. The code generator sets the mode if some are left."""
    functions = list(module.functions.values())
    if not any(flushes(op) for function in functions for op in function.body.walk()):
        return
    erase_dead(functions[0].body)
    flow = _Flow(functions[0])
    suits = all(flow.suits(op) for op in flow.ops) and not flow.may_choose_by_flushing()
    if len(functions) > 1 or not suits:
        expand_flushing(module)
        return
    flow.flush_escapes(functions[0].body)
    erase_dead(functions[0].body)


class _Flow:
    """Which values of a kernel count as flushed, and which of these may not be so yet.

    Attributes:
        lazy: variables whose values all count as flushed.
        flushed: values that count so.
        late: those whose bits may still be subnormal numbers.
        constants: see ``subnormal_constants``.
        grains: see ``_grains``.
    """

    def __init__(self, kernel: Function) -> None:
        self.ops = list(kernel.body.walk())
        self.grains = _grains(self.ops)
        self.lazy = {var for var in kernel.variables if var.type is f32}
        while True:
            self.flushed: set[Value] = set()
            self.late: set[Value] = set()
            raw: set[Var] = set()
            for op in self.ops:
                if isinstance(op, memory.WriteVar) and op.var in self.lazy:
                    if not self.is_flushed(op.value):
                        raw.add(op.var)
                else:
                    self._note(op)
            if not raw:
                break
            self.lazy -= raw
        self.constants = subnormal_constants(self.ops, self.lazy, _FOLDED)

    def is_flushed(self, value: Value) -> bool:
        """Whether a value counts as flushed."""
        return value in self.flushed or is_normal_constant(value)

    def _note(self, op: Op) -> None:
        """Note what an op's result is."""
        if flushes(op) or (isinstance(op, memory.ReadVar) and op.var in self.lazy):
            self.flushed.update(op.results)
            self.late.update(op.results)
        elif isinstance(op, (floating.Flush, *_INTEGRAL)) or self._converts_normal(op):
            self.flushed.update(op.results)
        elif isinstance(op, arith.Min | arith.Max):
            if all(map(self.is_flushed, op.operands())):
                self.flushed.update(op.results)
        elif isinstance(op, (arith.Select, *_SIGNS)):
            sources = [value for value in op.operands() if value.type is f32]
            if sources and all(map(self.is_flushed, sources)):
                self.flushed.update(op.results)
                if not self.late.isdisjoint(sources):
                    self.late.update(op.results)

    def _converts_normal(self, op: Op) -> bool:
        """Whether an op makes an f32 of what has no subnormal one: integers, and some f64."""
        if not isinstance(op, arith.Cast) or op.type is not f32:
            return False
        source = op.value.type
        assert isinstance(source, DType)
        return source.is_integer or self.grains.get(op.value, _FINEST) <= _FINEST_OF_F32

    def suits(self, op: Op) -> bool:
        """Whether an op does the same in the mode, or flushes."""
        values = (*op.operands(), *op.results)
        types = {value.type for value in values if value not in self.grains}
        if isinstance(op, arith.Cast) and op.value in self.grains and op.type is f32:
            return self._converts_normal(op)
        if isinstance(op, _OTHER_CODE) or any(map(_holds_other_floats, types)):
            return False
        if not any(map(_holds_f32, types)):
            return True
        if flushes(op):
            return isinstance(op, _ARITHMETIC) or (
                isinstance(op, _INLINE) and bool(op.fast & FastMath.ROUGH)
            )
        if isinstance(op, arith.Cast):
            return not op.type.is_bool or self.is_flushed(op.value)
        if isinstance(op, arith.Compare | arith.Min | arith.Max | math.Floor | math.Ceil):
            return all(map(self.is_flushed, op.operands()))
        return isinstance(op, _MOVES)

    def may_choose_by_flushing(self) -> bool:
        """Whether a number is compared and one's bits count, of those that are not flushed."""
        return any(map(self._compares_raw, self.ops)) and any(map(self._takes_bits, self.ops))

    def _compares_raw(self, op: Op) -> bool:
        return isinstance(op, _ORDERS) and any(
            isinstance(value.op, floating.Flush) and not self.is_flushed(value.op.value)
            for value in op.operands()
        )

    def _takes_bits(self, op: Op) -> bool:
        if flushes(op) or isinstance(op, _OF_VALUES):
            return False
        return any(_holds_f32(v.type) and not self.is_flushed(v) for v in op.operands())

    def flush_escapes(self, region: Region) -> None:
        """Flush the values whose bits count, at each such use."""
        ops, region.ops = region.ops, []
        for op in ops:
            for inner in op.regions():
                self.flush_escapes(inner)
            new: dict[Value, Value] = {}
            for value in op.operands():
                if self._flushes(op):
                    raw = value.op.value if isinstance(value.op, floating.Flush) else value
                    if not self._is_folded(op, raw):
                        new[value] = raw
                    elif raw is value:
                        new[value] = self._flushed(region, value, op)
                elif value in self.late and not self._delays(op):
                    new[value] = self._flushed(region, value, op)
            if new:
                op.replace_operands(lambda value, new=new: new.get(value, value))
            region.ops.append(op)

    def _flushed(self, region: Region, value: Value, user: Op) -> Value:
        flush = floating.Flush(value, loc=user.loc)
        region.ops.append(flush)
        return flush.results[0]

    def _is_folded(self, op: Op, raw: Value) -> bool:
        """Whether LLVM may compute an op on a constant as if there were no mode."""
        is_known = raw.type is f32 and raw in self.constants
        return is_known and isinstance(op, (*_FOLDED, *_ASKS))

    def _flushes(self, op: Op) -> bool:
        """Whether an op takes 0 for subnormal operands, in the mode."""
        return flushes(op) or isinstance(op, _ASKS)

    def _delays(self, op: Op) -> bool:
        """Whether an op passes on a value that is flushed later."""
        if isinstance(op, memory.WriteVar):
            return op.var in self.lazy
        return any(value in self.late for value in op.results)


_FINEST, _FINEST_OF_F32 = 1022, 126
"""The normal numbers of f64 and of f32 are multiples of 2 to the minus these."""


def _grains(ops: list[Op]) -> dict[Value, int]:
    """f64 that are multiples of 2^-n, or infinite, or no numbers, with n, at most 1022: they are no
    subnormal numbers. Rounding makes no multiple another one."""
    grains: dict[Value, int] = {}
    for op in ops:
        grain = _grain(op, grains) if op.results and op.results[0].type is f64 else None
        if grain is not None and grain <= _FINEST:
            grains[op.results[0]] = grain
    return grains


def _grain(op: Op, known: dict[Value, int]) -> int | None:
    if isinstance(op, arith.Const):
        if not isfinite(op.value):
            return 0
        return float(op.value).as_integer_ratio()[1].bit_length() - 1
    if isinstance(op, arith.Cast):
        assert isinstance(op.value.type, DType)
        return 0 if op.value.type.is_integer else None
    parts = [known.get(value) for value in op.operands()]
    sizes = [part for part in parts if part is not None]
    if len(sizes) < len(parts):
        return None
    if isinstance(op, arith.Mul):
        return sum(sizes)
    return max(sizes) if isinstance(op, arith.Add | arith.Sub | arith.Neg) else None


def _floats(type_: Type) -> set[DType]:
    """The float types in a type."""
    parts = part_types(type_)
    if parts:
        return {each for part in parts for each in _floats(part)}
    return {type_} if isinstance(type_, DType) and type_.is_float else set()


def _holds_f32(type_: Type) -> bool:
    return f32 in _floats(type_)


def _holds_other_floats(type_: Type) -> bool:
    return bool(_floats(type_) - {f32})
