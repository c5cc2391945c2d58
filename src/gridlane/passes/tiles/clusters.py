"""Loads that the producers of a cluster's programs share: each copies a part of a tile to all.

Programs that are neighbours along x run in a cluster (``Module.program_cluster``). What is equal
for all of them is *common*: a number that depends on the first axis of the grid only by its
quotient by the cluster's size or a multiple of it. A load is shared if its place and the control
flow around it are common.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.ops.shared_matrix import ALIGN
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.order import Order, writes_memory
from gridlane.passes.tiles.placement import Placement

_LINES = ALIGN // 128
"""Lines of 128 bytes whose 16 bytes change places alike."""


class Common:
    """Which numbers are common.

    Attributes:
        size: of the cluster.
    """

    def __init__(self, placement: Placement, size: int) -> None:
        self.placement, self.order, self.size = placement, placement.order, size
        order = self.order
        self._writes: dict[Var, list[memory.WriteVar]] = {}
        self._jumps: dict[Op, list[Op]] = {}
        for op in order.ops:
            if isinstance(op, memory.WriteVar):
                self._writes.setdefault(op.var, []).append(op)
            if op.terminator:
                for holder, _, _ in order.path[op]:
                    if holder is not None:
                        self._jumps.setdefault(holder, []).append(op)
        self._varying: set[Var] = set()
        self._known: dict[Value, bool] = {}
        self._settle()

    def _settle(self) -> None:
        """Find the variables that are not common."""
        size = -1
        while size != len(self._varying):
            size, self._known = len(self._varying), {}
            for var, writes in self._writes.items():
                if var not in self._varying and not all(
                    self.of(write.value) and self.around(write) for write in writes
                ):
                    self._varying.add(var)

    def of(self, value: Value) -> bool:
        """Whether a number is common."""
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._of(value.op)
        return known

    def _of(self, op: Op | None) -> bool:
        if op is None:
            return True  # a parameter of the kernel
        if isinstance(op, grid.BlockIdx):
            return op.axis is not grid.Axis.X
        if isinstance(op, memory.ReadVar):
            return op.var not in self._varying
        if isinstance(op, arith.Div) and self._is_of_cluster(op):
            return True
        if isinstance(op, memory.Load):
            # Another program may have passed, and changed what it reads.
            writes = self.placement.order.ops
            if any(self.placement.provenance.may_meet(op, w) for w in writes if writes_memory(w)):
                return False
        elif not op.pure:
            return False
        return not op.REGION_FIELDS and all(map(self.of, op.operands()))

    def _is_of_cluster(self, op: arith.Div) -> bool:
        """Whether an op is the quotient of the block's number by a multiple of the size."""
        by = op.rhs.op
        if not isinstance(op.lhs.op, grid.BlockIdx) or not isinstance(by, arith.Const):
            return False
        divisor = by.value
        return isinstance(divisor, int) and divisor > 0 and divisor % self.size == 0

    def around(self, op: Op) -> bool:
        """Whether the programs of a cluster run an op equally often."""
        for holder, _, _ in self.order.path[op]:
            if isinstance(holder, control.If) and not self.of(holder.condition):
                return False
            if holder is not None and not all(map(self._decided, self._jumps.get(holder, ()))):
                return False
        return True

    def _decided(self, jump: Op) -> bool:
        """Whether the conditions around a jump are common."""
        holders = [holder for holder, _, _ in self.order.path[jump]]
        return all(self.of(each.condition) for each in holders if isinstance(each, control.If))


def ends_early(order: Order) -> Op | None:
    """An op that ends a program before its last one."""
    ends = control.Return | control.Exit | control.Raise
    return next((op for op in order.ops[:-1] if isinstance(op, ends)), None)


def parts_of(shape: tuple[int, ...], element: DType, swizzle: int, size: int) -> int:
    """Into how many boxes of fewer lines a panel of a shared tile is divided for a cluster: 1 where
    each program copies whole panels, 0 where the tile has no equal parts.

    >>> from gridlane.core.dtypes import f16
    >>> parts_of((64, 256), f16, 128, 2), parts_of((256, 64), f16, 128, 2)
    (1, 2)
    >>> parts_of((8, 64), f16, 128, 2)
    0
    """
    *_, lines, columns = shape
    panels = columns // (swizzle // element.size)
    if panels % size == 0:
        return 1
    return size if lines % (size * _LINES) == 0 else 0
