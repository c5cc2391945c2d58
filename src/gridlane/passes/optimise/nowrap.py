"""Marks the sums and products of narrowed indices that cannot wrap in a valid access.

If an index ``a + b`` lies within an array and ``b`` has known bounds, then ``a`` has bounds too.
A code generator may then widen the terms one by one, and strength-reduce an address along a loop.
"""

from __future__ import annotations

from collections import defaultdict

from gridlane.analysis.intervals import I32, Interval, hull, inside
from gridlane.core.compact import LIMIT
from gridlane.core.dtypes import i32
from gridlane.ir.ops import arith, memory
from gridlane.ir.values import Function, Value


def mark_indices(kernel: Function, known: dict[Value, Interval]) -> None:
    """Set ``nowrap`` on the ops that cannot wrap.

    Args:
        kernel: after narrowing.
        known: bounds of i32 values that are exact, not just low bits.
    """
    _Marks(kernel, known).run()


class _Marks:
    def __init__(self, kernel: Function, known: dict[Value, Interval]) -> None:
        self.known = known
        self.ops = list(kernel.body.walk())
        self.roots = {p.value for p in kernel.params if p.path[-1:] == ("data",)}
        self.users: dict[Value, int] = defaultdict(int)
        self.bounds: dict[Value, list[Interval]] = defaultdict(list)
        """For each value, the bounds that each of its users implies."""
        self.carried = {op.value for op in self.ops if isinstance(op, memory.WriteVar)}
        """Loop-carried values. Such a counter is better left in 32 bits, and LLVM widens counters
        that it knows not to wrap."""
        for op in self.ops:
            for value in op.operands():
                self.users[value] += 1

    def run(self) -> None:
        """Visit ops backwards, so that all users of a value precede it."""
        for op in reversed(self.ops):
            if isinstance(op, memory.Offset):
                if op.index.type is i32 and op.pointer in self.roots:
                    most = LIMIT // memory.element_of(op, op.pointer).size
                    self.bounds[op.index].append((-most, most))
            elif isinstance(op, arith.Add | arith.Sub | arith.Mul) and op.lhs.type is i32:
                self._binary(op)

    def _bound(self, value: Value) -> Interval | None:
        """The bounds of a value: by the analysis, or because all of its users imply them."""
        if value in self.known:
            return self.known[value]
        implied = self.bounds[value]
        if not implied or len(implied) < self.users[value]:
            return None
        interval = implied[0]
        for other in implied[1:]:
            interval = hull(interval, other)
        return interval

    def _binary(self, op: arith.Add | arith.Sub | arith.Mul) -> None:
        result = self._bound(op.results[0])
        if result is None or op.results[0] in self.carried:
            return
        left, right = self.known.get(op.lhs), self.known.get(op.rhs)
        if left is not None and right is not None:
            # The full interval of the type is that of a result that may wrap.
            op.nowrap = result != I32
            return
        if isinstance(op, arith.Mul) or (left is None and right is None):
            return
        # Only the low bits of one side are known so far; the other side bounds it.
        if right is not None:
            sign = 1 if isinstance(op, arith.Sub) else -1
            implied = _sum(result, right, sign)
            unknown = op.lhs
        else:
            assert left is not None
            minus = isinstance(op, arith.Sub)
            implied = _sum(left, result, -1) if minus else _sum(result, left, -1)
            unknown = op.rhs
        if inside(implied, I32):
            op.nowrap = True
            self.bounds[unknown].append(implied)


def _sum(a: Interval, b: Interval, sign: int) -> Interval:
    """The interval of a + sign * b."""
    low, high = sorted((sign * b[0], sign * b[1]))
    return a[0] + low, a[1] + high
