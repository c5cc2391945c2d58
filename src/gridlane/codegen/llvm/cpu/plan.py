"""Splits a kernel at its barriers.

Control flow round a barrier runs once for the block (a skeleton); between barriers are segments,
each a loop over the chunks. A plan is the tree of these. The operands of the skeleton's own
branches are computed once for the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu.shapes import Shapes
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.values import Region, Value, Var


@dataclass(slots=True, eq=False)
class Segment:
    """Ops without a barrier, run chunk by chunk."""

    ops: list[Op] = field(default_factory=list[Op])


@dataclass(slots=True, eq=False)
class Skeleton:
    """An op that the block runs once: a barrier, a scalar op, an exit, or control flow with the
    plans of its regions."""

    op: Op
    regions: list[Plan] = field(default_factory=list["Plan"])
    uniform: bool = True


Plan = list[Segment | Skeleton]


class Planner:
    """Makes the plan.

    Args:
        whole: whether it is one segment with the barriers in it.

    Attributes:
        scalar: ops that run once for the block, because the skeleton's branches need them.
        block_variables: variables that live once for the block.
        segment_of: for each op in a segment, nested ones included, the segment.
    """

    def __init__(self, shapes: Shapes, whole: bool = False) -> None:
        self.shapes = shapes
        self.scalar: set[Op] = set()
        self.block_variables: set[Var] = set()
        self.segment_of: dict[Op, Segment] = {}
        self._skeleton: set[Op] = set()
        self._writes: dict[Var, list[memory.WriteVar]] = {}
        for op in shapes.places.order:
            if isinstance(op, memory.WriteVar):
                self._writes.setdefault(op.var, []).append(op)
        if not whole:
            self._find_skeleton()
            self._find_scalars()
        self.plan = self._region(shapes.function.body)

    # ---- what runs once for the block

    def _find_skeleton(self) -> None:
        """Barriers, what contains them, and the exits out of what contains them."""
        places = self.shapes.places
        for op in places.order:
            if op.barrier:
                self._skeleton.add(op)
                self._skeleton.update(c for c, _ in places.path[op] if c is not None)
        changed = True
        while changed:
            changed = False
            for op in places.order:
                if op in self._skeleton or not op.terminator:
                    continue
                target, depth = places.target(op)
                if target is None or target not in self._skeleton:
                    continue
                inside = [c for c, _ in places.path[op][depth:] if c is not None]
                self._skeleton.update([op, *inside])
                changed = True

    def _find_scalars(self) -> None:
        """The backward slice of the skeleton's block-uniform conditions."""
        needed = [
            op.condition
            for op in self._skeleton
            if isinstance(op, control.If) and self._hoistable(op.condition, set())
        ]
        while needed:
            op = needed.pop().op
            if op is None or op in self.scalar:
                continue
            self.scalar.add(op)
            needed += op.operands()
            if isinstance(op, memory.ReadVar) and op.var not in self.block_variables:
                self.block_variables.add(op.var)
                for write in self._writes.get(op.var, ()):
                    self.scalar.add(write)
                    needed.append(write.value)

    def _hoistable(self, value: Value, seen: set[object]) -> bool:
        """Whether a value is the same for the block and can be computed outside of any segment;
        ``seen`` holds the values and variables that are being looked at already."""
        if value in seen or value.op is None:
            return True
        seen.add(value)
        op = value.op
        if self.shapes.of(value).kind is not Kind.BLOCK or not self._at_skeleton(op):
            return False
        if isinstance(op, memory.ReadVar):
            if op.var in seen:
                return True
            seen.add(op.var)
            return all(
                self._at_skeleton(write) and self._hoistable(write.value, seen)
                for write in self._writes.get(op.var, ())
            )
        if not (op.pure or op.barrier or isinstance(op, memory.Load)):
            return False
        return all(self._hoistable(operand, seen) for operand in op.operands())

    def _at_skeleton(self, op: Op) -> bool:
        """Whether only the skeleton's control flow surrounds an op."""
        path = self.shapes.places.path[op]
        return all(container in self._skeleton for container, _ in path[1:])

    def agrees(self, op: control.If) -> bool:
        """Whether all lanes that reach a branch of the skeleton take the same side. Scalar ops
        behind it run for the block, so that an exit on that side must be none under a mask."""
        condition = op.condition
        return condition.op is None or self.shapes.of(condition).kind is Kind.BLOCK

    # ---- the tree

    def _region(self, region: Region) -> Plan:
        plan: Plan = []
        pending = Segment()
        for op in region.ops:
            if op not in self._skeleton and op not in self.scalar:
                pending.ops.append(op)
                self._assign(op, pending)
                continue
            if pending.ops and not self._may_pass(op):
                plan.append(pending)
                pending = Segment()
            plan.append(self._skeleton_op(op))
        if pending.ops:
            plan.append(pending)
        return plan

    def _may_pass(self, op: Op) -> bool:
        """Whether a scalar op may run before the segment in front of it: one that neither changes
        anything nor sees changes that a segment can make."""
        return op in self.scalar and (op.pure or isinstance(op, memory.ReadVar))

    def _skeleton_op(self, op: Op) -> Skeleton:
        if op in self.scalar and op not in self._skeleton:
            return Skeleton(op)
        uniform = (
            not isinstance(op, control.If)
            or op.condition.op in self.scalar
            or (op.condition.op is None)
        )
        return Skeleton(op, [self._region(inner) for inner in op.regions()], uniform)

    def _assign(self, op: Op, segment: Segment) -> None:
        self.segment_of[op] = segment
        for region in op.regions():
            for inner in region.ops:
                self._assign(inner, segment)
