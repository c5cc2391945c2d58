"""The position of each op in the tree of regions, and the extent of each variable."""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.values import Function, Region, Var

Path = tuple[tuple[Op | None, Region], ...]


@dataclass(slots=True)
class Extent:
    """Of a variable: ``depth`` is the length of the path to the region that holds all accesses;
    ``reading_loop`` the loop directly in it that does all the reading, if there is one."""

    depth: int
    reading_loop: Op | None


class Places:
    """Paths of a function's ops: the (op, region) pairs around each, outermost (None, body) first.

    Attributes:
        order: all ops in program order, outer before inner.
        path: of each op.
        variables: the extent of each variable.
        accesses: the reads and writes of each variable.
        zeroed: variables that may be read before they are written, so their zero matters.
    """

    def __init__(self, function: Function) -> None:
        self.order: list[Op] = []
        self.path: dict[Op, Path] = {}
        self.variables: dict[Var, Extent] = {}
        self.zeroed: set[Var] = set()
        self.accesses: dict[Var, list[Op]] = {}
        self._targets: dict[Op, tuple[Op | None, int]] = {}
        self._enter(function.body, ((None, function.body),))
        for var, accesses in self.accesses.items():
            self.variables[var] = self._extent(var, accesses)

    def _enter(self, region: Region, path: Path) -> None:
        for op in region.ops:
            self.order.append(op)
            self.path[op] = path
            if isinstance(op, memory.ReadVar | memory.WriteVar):
                self.accesses.setdefault(op.var, []).append(op)
            for inner in op.regions():
                self._enter(inner, (*path, (op, inner)))

    def _extent(self, var: Var, accesses: list[Op]) -> Extent:
        """The region of all accesses, when each entry of it writes first; else the function."""
        paths = [self.path[op] for op in accesses]
        depth = 1
        while all(len(p) > depth and p[depth][1] is paths[0][depth][1] for p in paths):
            depth += 1
        first = accesses[0]
        if not (isinstance(first, memory.WriteVar) and len(self.path[first]) == depth):
            self.zeroed.add(var)
            depth = 1
        reads = [self.path[op] for op in accesses if isinstance(op, memory.ReadVar)]
        loop = reads[0][depth][0] if reads and len(reads[0]) > depth else None
        shared = all(len(p) > depth and p[depth][0] is loop for p in reads)
        return Extent(depth, loop if shared and isinstance(loop, control.Loop) else None)

    def target(self, op: Op) -> tuple[Op | None, int]:
        """The loop, scope or function (None) that a terminator leaves, and the depth at which the
        path inside of it begins."""
        if op not in self._targets:
            self._targets[op] = self._target(op)
        return self._targets[op]

    def _target(self, op: Op) -> tuple[Op | None, int]:
        path = self.path[op]
        constructs: dict[type[Op], type[Op]] = {
            control.Break: control.Loop,
            control.Continue: control.Loop,
            control.Leave: control.ScopeOp,
        }
        wanted = constructs.get(type(op))
        if wanted is None:
            return None, 1
        label = op.target if isinstance(op, control.Leave) else 0
        for index in range(len(path) - 1, 0, -1):
            container = path[index][0]
            if not isinstance(container, wanted):
                continue
            if not label or (isinstance(container, control.ScopeOp) and container.label == label):
                return container, index + 1
        raise AssertionError(f"{op.name} stands outside its construct")
