"""The uniformity analysis: how each value varies over threads, and where control flow diverges.

A forward analysis to a fixpoint over structured control flow. It assumes that everything is uniform
and only ever gives up assumptions, so it ends. What a value's shape is, and the shape of each op's
results, is a subclass's: ``BlockUniformity`` knows no more than a ``Kind`` and holds for blocks of
any size; ``codegen/llvm/cpu/shapes.py`` knows the block and how addresses step from lane to lane.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

from gridlane.analysis.op_positions import Places
from gridlane.ir.op import Op
from gridlane.ir.ops import control, grid, memory
from gridlane.ir.values import Function, Value, Var


class Kind(IntEnum):
    """How a value varies; larger is worse.

    The same for all threads of the block; the same for those of a chunk, which run as the lanes of
    one vector; linear in the lane; varying.
    """

    BLOCK = 0
    CHUNK = 1
    LINEAR = 2
    VARYING = 3


@dataclass(slots=True)
class Exits:
    """How the ways out of a loop, a scope or the function diverge."""

    breaks: Kind = Kind.BLOCK
    continues: Kind = Kind.BLOCK


WayOut = tuple[Op | None, str]
"""The construct that threads leave (None: the function), and whether by "breaks" or "continues"."""

Shape = TypeVar("Shape")


class Uniformity(ABC, Generic[Shape]):
    """The analysis of a kernel whose calls are inlined.

    Attributes:
        values, variables: the shape of each.
        exits: of each loop and scope; ``exits[None]`` is the function (returns).
        kills: for each op, the constructs around it (None: the function) that some threads may
            leave there while others stay.
        masked: writes that only some of the threads which read the variable later execute.
    """

    unseen: Shape
    """The shape of a variable before its first write."""
    same: Shape
    """The shape of a value that all threads of the block share."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.places = Places(function)
        self.values: dict[Value, Shape] = {}
        self.exits: dict[Op | None, Exits] = {None: Exits()}
        self.kills: dict[Op, set[WayOut]] = {}
        self.masked: set[Op] = set()
        self.variables: dict[Var, Shape] = {var: self.entry(var) for var in function.variables}
        for op in self.places.order:
            if isinstance(op, control.Loop | control.ScopeOp):
                self.exits[op] = Exits()
        self._changed = True
        while self._changed:
            self._changed = False
            for op in self.places.order:
                self._visit(op)

    # ---- what a subclass knows

    @abstractmethod
    def transfer(self, op: Op) -> tuple[Shape, ...]:
        """The shapes of an op's results."""

    @abstractmethod
    def join(self, a: Shape, b: Shape) -> Shape:
        """The shape of a value that is one or the other."""

    @abstractmethod
    def worsen(self, shape: Shape, level: Kind) -> Shape:
        """The shape of a variable that is written where control flow diverges at ``level``."""

    @abstractmethod
    def level(self, shape: Shape) -> Kind:
        """How a branch on a condition diverges: BLOCK, CHUNK or VARYING."""

    def entry(self, var: Var) -> Shape:
        """The shape of a variable where the function starts."""
        return self.same if var in self.places.zeroed else self.unseen

    # ---- what it finds

    def of(self, value: Value) -> Shape:
        """A value's shape."""
        return self.values.get(value, self.same)

    def condition_level(self, op: control.If) -> Kind:
        """How an If diverges."""
        return self.level(self.of(op.condition))

    def is_varying_loop(self, op: Op) -> bool:
        """Whether threads of a chunk leave a loop in different iterations."""
        return self.exits[op].breaks >= Kind.LINEAR or bool(self.kills.get(op))

    def divergent(self, op: Op) -> bool:
        """Whether some threads of a chunk may run an op without the others.

        That is so under a varying condition, in a loop that threads leave in different iterations,
        and behind an op in which some leave a construct around both.
        """
        path = self.places.path[op]
        inner = [container for container, _ in path[1:]] + [op]
        for (container, region), holder in zip(path, inner, strict=True):
            if isinstance(container, control.If):
                if self.condition_level(container) >= Kind.LINEAR:
                    return True
            elif isinstance(container, control.Loop):
                apart = self.exits[container].continues >= Kind.LINEAR
                if apart or self.is_varying_loop(container):
                    return True
            for before in region.ops:
                if before is holder:
                    break
                if self.kills.get(before):
                    return True
        return False

    # ---- the fixpoint

    def _visit(self, op: Op) -> None:
        """Update what follows from one op."""
        if op.results:
            for result, shape in zip(op.results, self.transfer(op), strict=True):
                if self.values.get(result) != shape:
                    self.values[result] = shape
                    self._changed = True
        if isinstance(op, memory.WriteVar):
            self._write(op)
        elif op.terminator:
            self._exit(op)

    def _write(self, op: memory.WriteVar) -> None:
        level = self._path_level(op)
        if level >= Kind.LINEAR:
            self.masked.add(op)
        shape = self.worsen(self.of(op.value), level)
        old = self.variables[op.var]
        new = shape if old is self.unseen else self.join(old, shape)
        if new != old:
            self.variables[op.var] = new
            self._changed = True

    def _path_level(self, op: memory.WriteVar) -> Kind:
        """How control diverges between the region that holds all accesses of the variable and the
        write. Leaving a loop does not count when only that loop reads the variable."""
        facts = self.places.variables[op.var]
        level = Kind.BLOCK
        for container, region in reversed(self.places.path[op][facts.depth :]):
            if level >= Kind.VARYING:
                break
            if isinstance(container, control.If):
                level = max(level, self.condition_level(container))
                continue
            exits = self.exits[container]
            if container is not facts.reading_loop:
                level = max(level, exits.breaks)
            if isinstance(container, control.Loop) and region is container.body:
                level = max(level, exits.continues)
        return Kind(level)

    def _exit(self, op: Op) -> None:
        """Note how a break, continue, leave, return or raise diverges, and whose threads it
        takes."""
        path = self.places.path[op]
        target, depth = self.places.target(op)
        level = Kind.BLOCK
        for container, _ in reversed(path[depth:]):
            if level >= Kind.VARYING:
                break
            if isinstance(container, control.If):
                level = max(level, self.condition_level(container))
            elif container is not None:
                inner = self.exits[container]
                level = max(level, inner.breaks, inner.continues)
        exits = self.exits[target]
        level = max(level, exits.continues)
        name = "continues" if isinstance(op, control.Continue) else "breaks"
        if level > getattr(exits, name):
            setattr(exits, name, Kind(level))
            self._changed = True
        if level < Kind.LINEAR:
            return
        holder = (target, name)
        for container, _ in reversed(path[depth:]):
            if container is not None and container is not target:
                held = self.kills.setdefault(container, set())
                if holder in held:  # then those around it have it, too
                    break
                held.add(holder)
                self._changed = True
        self.kills.setdefault(op, set()).add(holder)


class BlockUniformity(Uniformity[Kind]):
    """Which values all threads of a block share, whatever the block's size.

    What is read from memory may differ from thread to thread, as others may write between.
    """

    unseen = Kind.BLOCK
    same = Kind.BLOCK

    OWN = frozenset((grid.ThreadIdx, grid.LaneId, memory.LocalArray))
    """Pure ops whose results differ from thread to thread."""

    def transfer(self, op: Op) -> tuple[Kind, ...]:
        """Varying where an operand is, or where the op is not a function of its operands. Calls
        that are not inlined are of library functions, which are."""
        if isinstance(op, memory.ReadVar):
            kind = self.variables[op.var]
        elif isinstance(op, grid.BarrierReduce):
            kind = Kind.BLOCK
        elif type(op) in self.OWN or not (op.pure or isinstance(op, control.Call)):
            kind = Kind.VARYING
        else:
            kind = max((self.of(operand) for operand in op.operands()), default=Kind.BLOCK)
        return (kind,) * len(op.results)

    def join(self, a: Kind, b: Kind) -> Kind:
        """The worse of both."""
        return max(a, b)

    def worsen(self, shape: Kind, level: Kind) -> Kind:
        """The worse of both."""
        return max(shape, level)

    def level(self, shape: Kind) -> Kind:
        """The condition's kind."""
        return shape
