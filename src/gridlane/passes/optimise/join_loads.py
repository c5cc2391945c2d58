"""Joins loads of adjacent words of shared memory into vector loads.

A processor that computes the addresses of a vector's lanes one by one then computes one address for
four words. Four words of one array form an aligned vector for every index where the index without
its constant is a multiple of four; the constant is the position of a word in it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from gridlane.core.dtypes import DType, b1
from gridlane.core.encoding import encode
from gridlane.ir.op import FieldKind, Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.rewriting import erase_dead, replace_values
from gridlane.ir.types import PointerType, Space, VectorType
from gridlane.ir.values import Module, Region, Value

WIDTH = 4
"""Words of a vector."""

DEPTH = 12
"""The longest chain of ops in an index that is compared."""

Terms = frozenset[tuple[Value, int]]
"""A sum: values with their factors."""


@dataclass(slots=True)
class _Group:
    """Loads of one vector, in order, with the place of each in it."""

    loads: list[tuple[memory.Load, int]] = field(default_factory=list[tuple[memory.Load, int]])


def join_loads(module: Module) -> None:
    """Join the loads of the kernel's regions between ops that may write to shared memory."""
    body = module.kernel.body
    new: dict[Value, Value] = {}
    numbers = _Numbers()
    regions = [body, *(inner for op in body.walk() for inner in op.regions())]
    for region in regions:
        _region(module, region, numbers, new)
    if new:
        replace_values(body, new)
        erase_dead(body)


def _region(module: Module, region: Region, numbers: _Numbers, new: dict[Value, Value]) -> None:
    groups: dict[tuple[Value, DType, Terms, int], _Group] = {}
    first: dict[Op, list[Op]] = {}
    for op in region.ops:
        if _may_write(op):
            _join(groups, first, new)
            continue
        located = _place(module, op, numbers) if isinstance(op, memory.Load) else None
        if located is not None:
            base, terms, lane = located
            assert isinstance(op, memory.Load) and isinstance(op.result.type, DType)
            key = base, op.result.type, terms, lane // WIDTH
            groups.setdefault(key, _Group()).loads.append((op, lane % WIDTH))
    _join(groups, first, new)
    if first:
        region.ops = [made for op in region.ops for made in (*first.get(op, ()), op)]


def _may_write(op: Op) -> bool:
    """Whether an op may change the words of shared memory."""
    if isinstance(op, memory.Store):
        assert isinstance(op.pointer.type, PointerType)
        return op.pointer.type.space is not Space.GLOBAL or op.volatile
    quiet = (memory.Load, memory.ReadVar, memory.WriteVar)
    return not (op.pure or isinstance(op, quiet))


class _Numbers:
    """Finds values that are equal because they are computed in the same way."""

    def __init__(self) -> None:
        self._first: dict[Hashable, Value] = {}
        self._known: dict[Value, Value] = {}

    def same(self, value: Value, depth: int = DEPTH) -> Value:
        """The first value of the queries so far that equals a value, as far as ``depth`` ops
        show."""
        if value not in self._known:
            key = self._key(value, depth - 1) if depth else None
            self._known[value] = value if key is None else self._first.setdefault(key, value)
        return self._known[value]

    def _key(self, value: Value, depth: int) -> Hashable | None:
        op = value.op
        if op is None or not op.pure or op.REGION_FIELDS:
            return None
        fields: list[Hashable] = [type(op), op.results.index(value)]
        for name, kind, _ in op.LAYOUT:
            item = getattr(op, name)
            if kind is FieldKind.OPERAND:
                item = self.same(item, depth)
            elif kind is FieldKind.OPERANDS:
                item = tuple([self.same(part, depth) for part in item])
            elif isinstance(item, float):
                item = encode(item)  # 0.0 == -0.0
            fields.append(item)
        return tuple(fields)


def _place(module: Module, op: memory.Load, numbers: _Numbers) -> tuple[Value, Terms, int] | None:
    """(array, index without its constant, constant) of a word in static shared memory."""
    pointer, type_ = op.pointer, op.result.type
    step = pointer.op
    if op.volatile or not isinstance(type_, DType) or type_.bits != 32 or type_ is b1:
        return None
    if not isinstance(step, memory.Offset) or not isinstance(step.pointer.op, memory.GlobalAddress):
        return None
    symbol = step.pointer.op.symbol
    item = module.globals[symbol]
    assert isinstance(pointer.type, PointerType)
    if item.space is not Space.SHARED or item.size % (4 * WIDTH) or item.align % (4 * WIDTH):
        return None
    sums: dict[Value, int] = {}
    number = _sum(step.index, 1, numbers, sums)
    if any(factor % WIDTH for factor in sums.values()):
        return None
    return numbers.same(step.pointer), frozenset(sums.items()), number


def _sum(
    value: Value, factor: int, numbers: _Numbers, sums: dict[Value, int], depth: int = DEPTH
) -> int:
    """Add ``factor`` times a value to ``sums``, and return the constant part. Indices wrap at a
    power of two, which four divides."""
    op, below = value.op, depth - 1
    if isinstance(op, arith.Const):
        return factor * int(op.value)
    if isinstance(op, arith.Add) and depth:
        return sum(_sum(side, factor, numbers, sums, below) for side in (op.lhs, op.rhs))
    if isinstance(op, arith.Mul) and depth:
        for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if isinstance(other.op, arith.Const):
                return _sum(one, factor * int(other.op.value), numbers, sums, below)
    value = numbers.same(value)
    sums[value] = sums.get(value, 0) + factor
    return 0


def _join(
    groups: dict[tuple[Value, DType, Terms, int], _Group],
    first: dict[Op, list[Op]],
    new: dict[Value, Value],
) -> None:
    """Insert a vector load before the first load of each group, and use its lanes."""
    for (_, dtype, _, _), group in groups.items():
        if len({at for _, at in group.loads}) < 2:
            continue
        load, lane = group.loads[0]
        step = load.pointer.op
        assert isinstance(step, memory.Offset) and isinstance(step.index.type, DType)
        back = arith.Const(lane, step.index.type, loc=load.loc)
        start = arith.Sub(step.index, back.result, loc=load.loc)
        pointer = memory.Offset(step.pointer, start.result, loc=load.loc)
        whole = PointerType(VectorType(dtype, WIDTH), Space.SHARED)
        recast = memory.Recast(pointer.result, whole, loc=load.loc)
        vector = memory.Load(recast.result, loc=load.loc)
        new_ops: list[Op] = [back, start, pointer, recast, vector]
        for other, place in group.loads:
            part = memory.Part(vector.result, place, loc=other.loc)
            new_ops.append(part)
            new[other.result] = part.result
        first.setdefault(load, []).extend(new_ops)
    groups.clear()
