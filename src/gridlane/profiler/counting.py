"""An estimate of a launch's floating-point operations: a few threads of the grid are followed
through the kernel's IR, with the launch's parameters.

Numbers that follow from the parameters and the thread's place are known; what is in memory is not.
If a branch depends on that, its longer side counts. A long loop is followed for a few iterations,
from which the rest is extrapolated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, math
from gridlane.ir.ops.control import Break, Call, Continue, Exit, If, Leave, Loop, Raise, Return
from gridlane.ir.ops.control import ScopeOp as Inner
from gridlane.ir.ops.graph import Graph
from gridlane.ir.ops.matrix import FragmentMma
from gridlane.ir.ops.memory import ReadVar, WriteVar
from gridlane.ir.ops.products import Mma
from gridlane.ir.ops.warpgroups import ROWS, WARPS, WarpgroupMma
from gridlane.ir.types import FragmentType
from gridlane.ir.values import Module, Region, Value, Var

Dim3 = tuple[int, int, int]
_Known = int | float | None
_Signal = tuple[str, object] | None
"""How a region ended: None at its end, else the name of a terminator and its target or values."""

SAMPLES = 16
"""Threads that are followed."""
_FOLLOWED = 4
"""Iterations of a loop that are followed before the rest is told from them."""
_PATIENCE = 32
"""Iterations that are followed where each costs something else."""
_LANES = 32
_MOST_OPS = 200_000
"""Ops that are followed for one launch; a kernel that takes more is not counted."""
_DEEPEST = 24
"""Calls in calls."""

_COUNTED: dict[type[Op], int] = {
    **dict.fromkeys((arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Rem, math.Sqrt), 1),
    arith.Fma: 2,
}
"""Operations of an op on floats; each function of ``math`` counts as one."""


class NotCountable(Exception):
    """The kernel's operations cannot be estimated."""


@dataclass(slots=True)
class Flops:
    """Floating-point operations of a launch, by the width of the numbers.

    Attributes:
        wide: of 64 bits.
        narrow: of 32 bits and less.
    """

    wide: float = 0.0
    narrow: float = 0.0

    @property
    def total(self) -> float:
        """All."""
        return self.wide + self.narrow

    def plus(self, other: Flops, times: float = 1.0) -> None:
        """Add others."""
        self.wide += other.wide * times
        self.narrow += other.narrow * times


def flops(module: Module, values: Sequence[_Known], block: Dim3, blocks: Dim3) -> Flops:
    """Estimate the floating-point operations of a launch.

    Args:
        values: of the kernel's parameters; None for an unknown one, such as a pointer.
        blocks: along each axis.

    Raises:
        NotCountable: the kernel is a control-flow graph, or too long to follow.
    """
    threads = block[0] * block[1] * block[2] * blocks[0] * blocks[1] * blocks[2]
    count = min(SAMPLES, threads)
    total, budget = Flops(), [_MOST_OPS]
    for n in range(count):
        # Evenly over the grid, at another place within each part.
        index = (2 * n + 1) * threads // (2 * count)
        thread = _Thread(module, *_place(index, block, blocks), block, blocks, budget)
        total.plus(thread.run(values), threads / count)
    return total


def _place(index: int, block: Dim3, blocks: Dim3) -> tuple[Dim3, Dim3]:
    """The thread and the block with a number in the grid."""
    of_block, own = divmod(index, block[0] * block[1] * block[2])
    return _unravel(own, block), _unravel(of_block, blocks)


def _unravel(index: int, shape: Dim3) -> Dim3:
    return index % shape[0], index // shape[0] % shape[1], index // (shape[0] * shape[1])


_ARITHMETIC: dict[type[Op], Callable[..., int | float]] = {
    arith.Add: operator.add,
    arith.Sub: operator.sub,
    arith.Mul: operator.mul,
    arith.Min: min,
    arith.Max: max,
    arith.And: operator.and_,
    arith.Or: operator.or_,
    arith.Xor: operator.xor,
    arith.Eq: operator.eq,
    arith.Ne: operator.ne,
    arith.Lt: operator.lt,
    arith.Le: operator.le,
    arith.Gt: operator.gt,
    arith.Ge: operator.ge,
    arith.Neg: lambda a: -a,
    arith.Not: lambda a: not a if isinstance(a, bool) else ~a,
    arith.Abs: lambda a: abs(a),
    arith.Shl: lambda a, b: a << min(b, 64) if b >= 0 else 0,
    arith.Shr: lambda a, b: a >> b if b >= 0 else 0,
    # Towards zero, as the ops have it.
    arith.Div: lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1),
    arith.Rem: lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
}
_COMPARES = (arith.Lt, arith.Le, arith.Gt, arith.Ge, arith.Ne, arith.Eq)


@dataclass(slots=True)
class _Thread:
    """One thread on its way through the kernel."""

    module: Module
    thread: Dim3
    block: Dim3
    shape: Dim3
    blocks: Dim3
    budget: list[int]
    values: dict[Value, _Known] = field(default_factory=dict[Value, _Known])
    variables: dict[Var, _Known] = field(default_factory=dict[Var, _Known])
    done: Flops = field(default_factory=Flops)
    depth: int = 0

    def run(self, values: Sequence[_Known]) -> Flops:
        kernel = self.module.kernel
        for param, value in zip(kernel.params, values):
            self.values[param.value] = value
        self._region(kernel.body)
        return self.done

    def _region(self, region: Region) -> _Signal:
        for op in region.ops:
            self.budget[0] -= 1
            if self.budget[0] < 0:
                raise NotCountable("the kernel is too long to follow")
            ended = self._op(op)
            if ended is not None:
                return ended
        return None

    def _op(self, op: Op) -> _Signal:
        if isinstance(op, ReadVar):
            self.values[op.result] = self.variables.get(op.var)
        elif isinstance(op, WriteVar):
            self.variables[op.var] = self.values.get(op.value)
        elif isinstance(op, If):
            return self._if(op)
        elif isinstance(op, Loop):
            return self._loop(op)
        elif isinstance(op, Inner):
            ended = self._region(op.body)
            left = ended is not None and ended[0] == "leave" and ended[1] in (0, op.label)
            return None if left else ended
        elif isinstance(op, Call):
            return self._call(op)
        elif isinstance(op, Graph):
            raise NotCountable("the kernel is a control-flow graph")
        elif op.terminator:
            return _ended(op)
        else:
            self._compute(op)
        return None

    # --- control ---

    def _if(self, op: If) -> _Signal:
        condition = self.values.get(op.condition)
        if condition is not None:
            return self._region(op.then if condition else op.orelse)
        # It depends on what is in memory: the longer side counts, and none leaves the code around.
        before, sides = dict(self.variables), []
        for region in (op.then, op.orelse):
            own, self.done, self.variables = self.done, Flops(), dict(before)
            self._region(region)
            sides.append((self.done, self.variables))
            self.done = own
        self.done.plus(max((side[0] for side in sides), key=lambda side: side.total))
        first, second = (side[1] for side in sides)
        same = {var: value for var, value in first.items() if second.get(var) == value}
        self.variables = same
        return None

    def _loop(self, op: Loop) -> _Signal:
        costs: list[Flops] = []
        seen: list[dict[Var, _Known]] = []
        while True:
            seen.append(dict(self.variables))
            times = self._trips_left(op, seen) if len(costs) >= _FOLLOWED else None
            if times is not None and (_is_regular(costs) or len(costs) >= _PATIENCE):
                self._rest(op, times, costs)
                return None
            own, self.done = self.done, Flops()
            ended = self._region(op.body)
            if ended is None or ended[0] == "continue":
                self._region(op.step)
                costs.append(self.done)
                self.done, cost = own, self.done
                self.done.plus(cost)
                continue
            own.plus(self.done)
            self.done = own
            return None if ended[0] == "break" else ended

    def _rest(self, op: Loop, times: int, costs: list[Flops]) -> None:
        """The iterations that are not followed: each as much more than the one before as the last
        followed one or, if those differ otherwise, as many as these on average."""
        if _is_regular(costs):
            self.done.plus(costs[-1], times)
            self.done.plus(_growth(costs[-2], costs[-1]), times * (times + 1) / 2)
        else:
            for cost in costs:
                self.done.plus(cost, times / len(costs))
        for each in _written(op):
            self.variables[each] = None

    def _trips_left(self, op: Loop, seen: list[dict[Var, _Known]]) -> int | None:
        """The number of further iterations, by the test that leaves the loop first; None if its
        counter does not change by the same number each time, so that it has to be followed.

        Raises:
            NotCountable: what is in memory ends it.
        """
        known, trips = False, list[int]()
        for test in op.body.ops:
            side = (test.then.ops or test.orelse.ops) if isinstance(test, If) else []
            if not isinstance(test, If) or not side or not isinstance(side[0], Break):
                continue
            known = known or self.values.get(test.condition) is not None
            compare = test.condition.op
            if isinstance(compare, arith.Not):
                compare = compare.value.op
            if not isinstance(compare, _COMPARES):
                continue
            a, b = (self._steps(value, seen) for value in (compare.lhs, compare.rhs))
            if a is not None and b is not None and a[1] != b[1]:
                times = ceil((b[0] - a[0]) / (a[1] - b[1]))
                trips += [times] if times >= 0 else []  # else it was passed before
        if not known:
            raise NotCountable("a loop ends by what is in memory")
        return min(trips, default=None)

    def _steps(self, value: Value, seen: list[dict[Var, _Known]]) -> tuple[float, float] | None:
        """A number in the next iteration, and its change per iteration."""
        if isinstance(value.op, ReadVar):
            now, last, before = (each.get(value.op.var) for each in reversed(seen[-3:]))
            if now is None or last is None or before is None or now - last != last - before:
                return None
            return now, now - last
        known = self.values.get(value)
        return None if known is None else (known, 0.0)

    def _call(self, op: Call) -> _Signal:
        callee = self.module.functions[op.callee]
        if self.depth > _DEEPEST:
            raise NotCountable("the kernel calls itself")
        for param, argument in zip(callee.params, op.arguments):
            self.values[param.value] = self.values.get(argument)
        self.depth += 1
        ended = self._region(callee.body)
        self.depth -= 1
        if ended is not None and ended[0] == "exit":
            return ended
        returned = ended[1] if ended is not None else ()
        assert isinstance(returned, tuple)
        for result, value in zip(op.results, returned):
            self.values[result] = self.values.get(value)
        return None

    # --- numbers ---

    def _compute(self, op: Op) -> None:
        self._count(op)
        for result in op.results:
            self.values[result] = self._number(op, result)

    def _number(self, op: Op, result: Value) -> _Known:
        if isinstance(op, grid.GridQuery):
            return self._places()[type(op)][op.axis.value]
        if isinstance(op, arith.Const):
            return op.value if isinstance(op.value, int | float) else None
        operands = [self.values.get(value) for value in op.operands()]
        if isinstance(op, arith.Select):
            return None if operands[0] is None else operands[1 if operands[0] else 2]
        if any(each is None for each in operands) or not isinstance(result.type, DType):
            return None
        if isinstance(op, arith.Cast):
            return _fitting(operands[0], result.type)
        compute = _ARITHMETIC.get(type(op))
        if compute is None or (result.type.is_float and isinstance(op, arith.Div)):
            return None
        try:
            return _fitting(compute(*operands), result.type)
        except (ZeroDivisionError, TypeError, OverflowError):
            return None

    def _places(self) -> Mapping[type[Op], Dim3]:
        return {
            grid.ThreadIdx: self.thread,
            grid.BlockIdx: self.block,
            grid.BlockDim: self.shape,
            grid.GridDim: self.blocks,
        }

    def _count(self, op: Op) -> None:
        if isinstance(op, FragmentMma | Mma | WarpgroupMma):
            self._count_product(op)
            return
        type_ = op.results[0].type if op.results else None
        if not isinstance(type_, DType) or not type_.is_float:
            return
        number = _COUNTED.get(type(op), 1 if op.approximate else 0)
        if type_.bits == 64:
            self.done.wide += number
        else:
            self.done.narrow += number

    def _count_product(self, op: FragmentMma | Mma | WarpgroupMma) -> None:
        """The share of a lane in a product of its warp."""
        if isinstance(op, Mma):
            size, wide = op.rows * op.depth * 8, op.results[0].type == op.a[0].type
        elif isinstance(op, WarpgroupMma):
            size, wide = ROWS // WARPS * op.depth * op.columns, False
        else:
            left, right = op.a.type, op.b.type
            assert isinstance(left, FragmentType) and isinstance(right, FragmentType)
            size, wide = left.rows * left.cols * right.cols, left.element.bits == 64
        if wide:
            self.done.wide += 2 * size / _LANES
        else:
            self.done.narrow += 2 * size / _LANES


def _growth(before: Flops, after: Flops) -> Flops:
    return Flops(after.wide - before.wide, after.narrow - before.narrow)


def _is_regular(costs: list[Flops]) -> bool:
    """Whether the last iterations each cost as much more than the one before."""
    first, second, third = costs[-3:]
    return _growth(first, second) == _growth(second, third)


def _written(op: Op) -> set[Var]:
    inner = (each for region in op.regions() for each in region.walk())
    return {each.var for each in inner if isinstance(each, WriteVar)}


def _fitting(number: int | float | None, type_: DType) -> _Known:
    """A number as a type holds it."""
    if number is None or type_.is_float:
        return None if number is None else float(number)
    bits = int(number) & ((1 << type_.bits) - 1)
    return bits - (1 << type_.bits) if type_.is_signed and bits >> (type_.bits - 1) else bits


def _ended(op: Op) -> _Signal:
    if isinstance(op, Break):
        return "break", None
    if isinstance(op, Continue):
        return "continue", None
    if isinstance(op, Leave):
        return "leave", op.target
    if isinstance(op, Return):
        return "return", op.values
    assert isinstance(op, Exit | Raise) or op.terminator
    return "exit", None
