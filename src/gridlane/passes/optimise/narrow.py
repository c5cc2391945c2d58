"""Narrows 64-bit integers to 32 bits where results stay the same.

There are two reasons. The range analysis shows that a value fits in an i32. Or only its low 32 bits
matter: an index into an array of at most ``compact.LIMIT`` bytes is an i32 wherever the access is
valid, and the low bits of sums and products depend on the low bits of the operands alone.

The pass is for compact launches (``Target.compact``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gridlane.analysis.intervals import I32, Interval, clamp, full, inside
from gridlane.analysis.ranges import Ranges, TooLarge
from gridlane.core.compact import LIMIT
from gridlane.core.decisions import asked, decided
from gridlane.core.dtypes import DType, b1, i32, i64, u64
from gridlane.core.source import Loc
from gridlane.ir.op import REGISTRY, FieldKind, Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.rewriting import replace_values
from gridlane.ir.values import Function, Module, Param, Region, Value, Var
from gridlane.passes.optimise.nowrap import mark_indices
from gridlane.passes.optimise.promote import drop_dead

MODULAR = (arith.Const, arith.Select, *(cls for cls in REGISTRY.values() if cls.modular))
"""Ops whose results' low bits depend on the low bits of their operands alone."""
EXACT = tuple(cls for cls in REGISTRY.values() if cls.exact)
"""Ops that are the same in fewer bits when operands and result fit."""


def narrow_integers(module: Module) -> None:
    """Narrow 64-bit integers of the kernel to 32 bits where no result changes."""
    kernel = module.kernel
    before = _wide_places(kernel) if asked() else set[Loc]()
    try:
        ranges: Ranges | None = Ranges(kernel, promised(kernel))
    except TooLarge:
        ranges = None
    exact = _Narrow(kernel, ranges).run()
    drop_dead(kernel.body)
    mark_indices(kernel, exact)
    if before:
        _tell(before, _wide_places(kernel))


def _wide_places(kernel: Function) -> set[Loc]:
    """Where integers of 64 bits are computed."""
    return {
        op.loc
        for op in kernel.body.walk()
        if not isinstance(op, arith.Const | arith.Cast | memory.ReadVar | memory.Load)
        and any(map(is_wide, op.results))
    }


def _tell(before: set[Loc], after: set[Loc]) -> None:
    for loc in before:
        message = "of 64 bits" if loc in after else "narrowed to 32 bits in launches of usual size"
        decided(loc, "integers", message)


def promised(kernel: Function) -> dict[Value, Interval]:
    """The bounds that a compact launch promises for the kernel's parameters."""
    bounds: dict[Value, Interval] = {}
    for param in kernel.params:
        if param.value.type is i64:
            bounds[param.value] = (0 if _is_length(param) else -LIMIT, LIMIT)
    return bounds


def _is_length(param: Param) -> bool:
    return len(param.path) > 1 and param.path[-2] == "shape"


class _Narrow:
    """Rewrites one kernel. The *half* of a value is the i32 of its low 32 bits."""

    def __init__(self, kernel: Function, ranges: Ranges | None) -> None:
        self.kernel = kernel
        self.ranges = ranges
        self.users: dict[Value, list[Op]] = defaultdict(list)
        self.small = {p.value for p in kernel.params if p.path[-1:] == ("data",)}
        self.variables = self._narrow_variables()
        self.takes: dict[Op, tuple[Value, ...]] = {}
        self.low_only: set[Value] = set()
        self.wanted: set[Value] = set()
        self.half: dict[Value, Value] = {}
        self.whole: dict[Value, Value] = {}

    def run(self) -> dict[Value, Interval]:
        """Decide which values are wanted in 32 bits, then narrow them. Returns the bounds of the
        halves that equal their values."""
        ops = list(self.kernel.body.walk())
        for op in ops:
            self._note_pointers(op)
            self.takes[op] = self._taken(op)
            for value in op.operands():
                self.users[value].append(op)
        for op in reversed(ops):
            self.low_only.update(v for v in op.results if is_wide(v) and self._only_low(v))
        for values in self.takes.values():
            self._want(values)
        self._make()
        ranges = self.ranges
        if ranges is None:
            return {}
        known = {v: i for v, i in ranges.of.items() if not is_wide(v) and inside(i, I32)}
        exact = {h: ranges.of.get(v) or I32 for v, h in self.half.items() if self._fits(v)}
        return known | exact

    # --- candidates ---

    def _fits(self, value: Value) -> bool:
        """Whether a value fits in an i32 wherever it is defined."""
        if isinstance(value.op, memory.ReadVar) and value.op.var in self.variables:
            return True
        return self.ranges is not None and inside(
            self.ranges.of.get(value) or full(value.type), I32
        )

    def _fits_at(self, op: Op, *values: Value) -> bool:
        """Whether operands fit in an i32 at an op."""
        ranges = self.ranges
        return ranges is not None and all(inside(ranges.at(op, value), I32) for value in values)

    def _narrow_variables(self) -> dict[Var, Var]:
        if self.ranges is None:
            return {}
        return {
            var: Var(var.name, i32)
            for var, interval in self.ranges.written.items()
            if var.type in (i64, u64) and inside(interval, I32)
        }

    def _note_pointers(self, op: Op) -> None:
        """Note pointers into small memory: arrays of compact launches, and a block's own."""
        own = isinstance(op, memory.GlobalAddress | memory.DynamicShared | memory.LocalArray)
        steps = isinstance(op, memory.Offset | memory.FieldPointer | memory.Recast)
        if own or (steps and next(op.operands()) in self.small):
            self.small.update(op.results)

    def _taken(self, op: Op) -> tuple[Value, ...]:
        """The wide operands whose halves an op takes instead."""
        if isinstance(op, memory.Offset):
            return (op.index,) if is_wide(op.index) and op.pointer in self.small else ()
        if isinstance(op, memory.WriteVar):
            return (op.value,) if op.var in self.variables else ()
        if isinstance(op, arith.Compare) and is_wide(op.lhs) and self._decided(op) is None:
            return (op.lhs, op.rhs) if self._fits_at(op, op.lhs, op.rhs) else ()
        if isinstance(op, arith.Cast) and is_wide(op.value):
            same = op.type.is_float and self._fits_at(op, op.value)
            cut = op.type.is_integer and op.type.bits <= 32
            return (op.value,) if same or cut else ()
        return ()

    def _decided(self, op: arith.Compare) -> bool | None:
        """A comparison's result by the ranges, None where both are possible. A loop tests whether
        its counter wraps, which never happens in a compact launch."""
        if self.ranges is None:
            return None
        left, right = self.ranges.at(op, op.lhs), self.ranges.at(op, op.rhs)
        for truth in (True, False):
            if clamp(op.name, truth, left, right) is None:
                return not truth
        return None

    def _only_low(self, value: Value) -> bool:
        """Whether only the low bits of a value are used."""
        for user in self.users[value]:
            if value in self.takes[user]:
                continue
            if not self._is_modular(user) or user.results[0] not in self.low_only:
                return False
            if isinstance(user, arith.Shl) and user.amount is value:
                return False
        return True

    def _is_modular(self, op: Op | None) -> bool:
        """Whether the low bits of an op's result depend on those of its operands alone."""
        if isinstance(op, arith.Shl):
            return is_wide(op.value) and self._is_amount(op)
        if isinstance(op, arith.Cast):
            return isinstance(op.value.type, DType) and not op.value.type.is_float
        return isinstance(op, MODULAR) and is_wide(op.results[0])

    def _is_exact(self, op: Op | None) -> bool:
        """Whether an op is the same in 32 bits for every value of its operands."""
        if isinstance(op, arith.Shr):
            return self._is_amount(op) and self._fits_at(op, op.value)
        return isinstance(op, EXACT) and self._fits_at(op, *op.operands())

    def _is_amount(self, op: arith.Shl | arith.Shr) -> bool:
        """Whether a shift's amount equals its half, read as unsigned."""
        ranges = self.ranges
        return ranges is not None and inside(ranges.at(op, op.amount), (0, I32[1]))

    def _want(self, values: Iterable[Value]) -> None:
        """Request the halves of values, and of the operands that compute them."""
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if is_wide(value) and value not in self.wanted:
                self.wanted.add(value)
                if self._is_made(value) and value.op is not None:
                    waiting += value.op.operands()

    def _is_made(self, value: Value) -> bool:
        """Whether a half is computed from halves, rather than truncated from the whole."""
        op = value.op
        if self._fits(value) and (self._is_exact(op) or self._is_modular(op)):
            return True
        return value in self.low_only and self._is_modular(op)

    # --- rewriting ---

    def _make(self) -> None:
        head: list[Op] = []
        for param in self.kernel.params:
            if param.value in self.wanted:
                head.append(self._cut(param.value))
        self._region(self.kernel.body)
        self.kernel.body.ops[:0] = head
        replace_values(self.kernel.body, self.whole)
        self.kernel.variables[:] = [self.variables.get(v, v) for v in self.kernel.variables]

    def _region(self, region: Region) -> None:
        rewritten: list[Op] = []
        for op in region.ops:
            for inner in op.regions():
                self._region(inner)
            rewritten += self._rewritten(op)
        region.ops = rewritten

    def _rewritten(self, op: Op) -> list[Op]:
        """The ops that replace an op."""
        if isinstance(op, memory.ReadVar) and op.var in self.variables:
            read = memory.ReadVar(self.variables[op.var], loc=op.loc)
            return [read, self._extended(op.results[0], read.results[0])]
        if isinstance(op, arith.Compare) and is_wide(op.lhs):
            truth = self._decided(op)
            if truth is not None:
                const = arith.Const(truth, b1, loc=op.loc)
                self.whole[op.results[0]] = const.results[0]
                return [const]
        taken = self.takes[op]
        if isinstance(op, memory.WriteVar) and taken:
            return [memory.WriteVar(self.variables[op.var], self.half[op.value], loc=op.loc)]
        if taken:
            op.replace_operands(lambda value: self.half[value] if value in taken else value)
        replacement = [op]
        for value in op.results:
            if value in self.wanted:
                replacement += self._halved(op, value)
        return replacement

    def _halved(self, op: Op, value: Value) -> list[Op]:
        """The ops that compute a result's half."""
        if not self._is_made(value):
            return [self._cut(value)]
        new_ops: list[Op] = []
        if isinstance(op, arith.Const):
            new_ops.append(arith.Const(i32.wrap(int(op.value)), i32, loc=op.loc))
        elif isinstance(op, arith.Cast):
            if is_wide(op.value):
                self.half[value] = self.half[op.value]
            elif op.value.type is i32:
                self.half[value] = op.value
            else:
                new_ops.append(arith.Cast(op.value, i32, loc=op.loc))
        else:
            new_ops.append(self._clone(op))
        if new_ops:
            self.half[value] = new_ops[0].results[0]
        if self._fits(value):
            new_ops.append(self._extended(value, self.half[value]))
        return new_ops

    def _clone(self, op: Op) -> Op:
        """The op on halves."""
        fields = {}
        for name, kind, _ in op.LAYOUT:
            field = getattr(op, name)
            wide = kind is FieldKind.OPERAND and is_wide(field)
            fields[name] = self.half[field] if wide else field
        return type(op)(**fields, loc=op.loc)

    def _extended(self, value: Value, half: Value) -> Op:
        """The op that extends a half to its value, and replaces the value."""
        assert isinstance(value.type, DType)
        whole = arith.Cast(half, value.type)
        self.half[value] = half
        self.whole[value] = whole.results[0]
        return whole

    def _cut(self, value: Value) -> Op:
        cut = arith.Cast(value, i32)
        self.half[value] = cut.results[0]
        return cut


def is_wide(value: Value) -> bool:
    """Whether a value is a 64-bit integer."""
    return value.type in (i64, u64)
