"""The work of a kernel's thread, or of a program over tiles, counted in its IR.

Loops count by their trips where these follow from the launch: its shape, and the numbers among its
arguments. A thread is that with the number 0 of block 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory, tile_memory
from gridlane.ir.ops import math as functions
from gridlane.ir.ops.products import Mma
from gridlane.ir.ops.tiles import TileDot
from gridlane.ir.types import PointerType, Space, TileType, Type
from gridlane.ir.values import Function, Module, Region, Value, Var

Dim3 = tuple[int, int, int]
Path = tuple[str | int, ...]
Known = dict[Value, int | float]
_AXES = [*grid.Axis]
_UNKNOWN_TRIPS = 16.0
_MOST = 1e12
_DEEPEST = 8
_COSTS: dict[type[Op], float] = {
    arith.Const: 0.0, memory.ReadVar: 0.0, memory.WriteVar: 0.0, arith.Cast: 0.5,
    arith.Div: 8.0, arith.Rem: 8.0, functions.Sqrt: 8.0, Mma: 8.0,
}  # fmt: skip
_FUNCTION, _LOOP = 16.0, 2.0
"""Operations of a mathematical function, and of a loop's iteration."""
_MATRIX = 16.0
"""Multiplications of a matrix instruction in the time of one operation of its threads."""
_FILLED = 16
"""Extents of a tile that matrix instructions fill."""
_ARITHMETIC: dict[type[Op], Callable[..., int | float]] = {
    arith.Add: operator.add, arith.Sub: operator.sub, arith.Mul: operator.mul, arith.Min: min,
    arith.Max: max, arith.And: operator.and_,
}  # fmt: skip


@frozen
class Work:
    """The work of one thread, or of one program over tiles.

    Attributes:
        operations: of all elements; a multiplication of matrix instructions is a part of one.
        bytes: of device memory.
        warps: of a program; 0 for a thread.
        shared: bytes of a block's static shared memory.
    """

    operations: float
    bytes: float
    warps: int
    shared: int


def work_of(
    module: Module, numbers: Mapping[tuple[int, Path], int | float], blocks: Dim3, block: Dim3
) -> Work:
    """The work of a kernel.

    Args:
        numbers: what is known of the arguments: a number by the argument's place and the path in
            it, as ``(2, ())``, or ``(0, ("shape", 1))``.
        blocks: along each axis.
        block: threads of a block along each axis.
    """
    counter = _Counter(module, blocks, block)
    known: Known = {}
    for param in module.kernel.params:
        value = numbers.get((param.argument, tuple(param.path)))
        if value is not None:
            known[param.value] = value
    counter.function(module.kernel, known, 1.0, 0)
    shared = sum(each.size for each in module.static_shared())
    return Work(counter.operations, counter.bytes, module.program_warps, shared)


class _Counter:
    def __init__(self, module: Module, blocks: Dim3, block: Dim3) -> None:
        self.module, self.blocks, self.block = module, blocks, block
        self.operations = self.bytes = 0.0

    def function(self, function: Function, known: Known, times: float, depth: int) -> None:
        """Add a function's body."""
        self._region(function.body, known, times, depth)

    def _region(self, region: Region, known: Known, times: float, depth: int) -> None:
        for number, op in enumerate(region.ops):
            inner = times
            if isinstance(op, control.Loop):
                inner = min(times * self._trips(op, region.ops[:number], known), _MOST)
                self.operations += inner * _LOOP
            for each in op.regions():
                self._region(each, known, inner, depth)
            if isinstance(op, control.Call) and depth < _DEEPEST:
                callee = self.module.functions[op.callee]
                pairs = zip(callee.params, op.operands(), strict=False)
                given = {p.value: self._value(v, known) for p, v in pairs}
                inside = {each: value for each, value in given.items() if value is not None}
                self.function(callee, inside, times, depth + 1)
            else:
                self.operations += times * _operations(op)
                self.bytes += times * _bytes(op)

    def _trips(self, loop: control.Loop, before: list[Op], known: Known) -> float:
        """The trips of a loop that counts up to a limit."""
        test = next((op for op in loop.body.ops if isinstance(op, control.If)), None)
        if test is None or [type(op) for op in test.then.ops] != [control.Break]:
            return _UNKNOWN_TRIPS
        compare = test.condition.op
        if not isinstance(compare, arith.Ge):
            return _UNKNOWN_TRIPS
        counter = _counter(compare.lhs)
        step = self._step(counter, loop, known) if counter is not None else None
        stop = self._value(compare.rhs, known)
        if counter is None or not step or step < 0 or stop is None:
            return _UNKNOWN_TRIPS
        writes = [op for op in before if isinstance(op, memory.WriteVar) and op.var is counter]
        start = self._value(writes[-1].value, known) if writes else None
        return max(math.ceil((stop - (start or 0)) / step), 0)

    def _step(self, counter: Var, loop: control.Loop, known: Known) -> int | float | None:
        for op in loop.step.ops:
            if isinstance(op, memory.WriteVar) and op.var is counter:
                added = op.value.op
                if isinstance(added, arith.Add) and _counter(added.lhs) is counter:
                    return self._value(added.rhs, known)
        return None

    def _value(self, value: Value, known: Known) -> int | float | None:
        """The number that a value is; None where that is unknown."""
        if value in known:
            return known[value]
        op = value.op
        if isinstance(op, arith.Const):
            return op.value
        if isinstance(op, arith.Cast):
            return self._value(op.value, known)
        if isinstance(op, grid.GridDim):
            return self.blocks[_AXES.index(op.axis)]
        if isinstance(op, grid.BlockDim):
            return self.block[_AXES.index(op.axis)]
        if isinstance(op, grid.ThreadIdx | grid.BlockIdx):
            return 0
        apply = _ARITHMETIC.get(type(op)) if op is not None else None
        if apply is None or op is None:
            return None
        items = [self._value(each, known) for each in op.operands()]
        return None if None in items else apply(*items)


def _counter(value: Value) -> Var | None:
    """The variable that a value reads."""
    op = value.op
    while isinstance(op, arith.Cast):
        op = op.value.op
    return op.var if isinstance(op, memory.ReadVar) else None


def _operations(op: Op) -> float:
    if isinstance(op, TileDot):
        return _product(op)
    cost = _COSTS.get(type(op))
    if cost is None:
        cost = _FUNCTION if type(op).__module__ == functions.__name__ else 1.0
    return cost * max([_count(value.type) for value in op.results], default=1)


def _product(op: TileDot) -> float:
    """Multiplications of tiles, fewer where matrix instructions have their types."""
    left, right = op.lhs.type, op.rhs.type
    assert isinstance(left, TileType) and isinstance(right, TileType)
    extents = (*left.shape, right.shape[-1])
    if left.element.size > 2:
        return float(math.prod(extents))
    *batches, m, k, n = extents
    filled = [-(-each // _FILLED) * _FILLED for each in (m, n, k)]
    return math.prod(batches) * math.prod(filled) / _MATRIX


def _bytes(op: Op) -> float:
    if isinstance(op, memory.Load | memory.Store):
        pointer = op.pointer.type
        if not isinstance(pointer, PointerType) or pointer.space in (Space.SHARED, Space.LOCAL):
            return 0.0
        return _size(op.value.type if isinstance(op, memory.Store) else op.results[0].type)
    if isinstance(op, tile_memory.TileLoad | tile_memory.TileLoadBlock):
        return _size(op.results[0].type)
    if isinstance(op, tile_memory.TileStore | tile_memory.TileStoreBlock):
        return _size(op.value.type)
    return 0.0


def _count(type_: Type) -> int:
    return type_.count if isinstance(type_, TileType) else 1


def _size(type_: Type) -> float:
    return float(type_.size if isinstance(type_, TileType | DType) else 8)
