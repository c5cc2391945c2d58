"""Whether a kernel may read an argument after it has written another one."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.frontends.python.roots import Root, Sources
from gridlane.frontends.python.unit import Made, Unit
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Region

_Loops = tuple[control.Loop, ...]


class Times:
    """The order of the ops of a kernel, as far as its structure shows."""

    def __init__(self, unit: Unit, roots: Sources) -> None:
        self._unit, self._roots = unit, roots
        self._places: dict[Op, tuple[int, _Loops]] = {}
        self._regions: dict[Region, tuple[int, _Loops]] = {}
        self._reads: dict[Root, list[Op]] | None = None

    def may_read_after(self, root: Root, write: Op, expression: Made) -> bool:
        """Whether an array may be read after an op writes another one, by an expression.

        Args:
            expression: the place of its translation.
        """
        if self._reads is None:
            self._reads = self._number()
        begin, written = self._begin(expression), self._places.get(write)
        if begin is None or written is None:
            return True
        end, outer = self._regions[expression.region][0], set(begin[1])
        for read in self._reads.get(root, ()):
            place = self._places.get(read)
            if place is None or begin[0] <= written[0] < place[0]:
                return True
            common = set(written[1]).intersection(place[1])
            if begin[0] <= place[0] < end:
                common -= outer  # the expression is translated anew in each of their iterations
            if not all(self._is_checked(loop, written[1]) for loop in common):
                return True
        return False

    def _is_checked(self, loop: control.Loop, loops: _Loops) -> bool:
        """Whether a loop is one of a store whose arrays are checked, or inside of one."""
        around = loops[: loops.index(loop) + 1]
        return any(each in self._unit.checked_loops for each in around)

    def _begin(self, expression: Made) -> tuple[int, _Loops] | None:
        """The number of the first op behind an expression, and the loops around that."""
        region = self._regions.get(expression.region)
        if region is None or expression.ops > len(expression.region.ops):
            return None
        if expression.ops == len(expression.region.ops):
            return region
        return self._places[expression.region.ops[expression.ops]]

    def _number(self) -> dict[Root, list[Op]]:
        """Number the kernel's ops. The reads of all functions, by what they read."""
        module, reads = self._unit.module, dict[Root, list[Op]]()
        self._walk(module.kernel.body)
        for function in module.functions.values():
            for op in function.body.walk():
                for root in self._read(op):
                    reads.setdefault(root, []).append(op)
        return reads

    def _walk(self, body: Region) -> None:
        """Number the ops of a region, and note where each region ends."""
        waiting: list[tuple[Region, Iterator[Op], _Loops]] = [(body, iter(body.ops), ())]
        while waiting:
            region, ops, loops = waiting[-1]
            op = next(ops, None)
            if op is None:
                self._regions[region] = len(self._places), loops
                waiting.pop()
                continue
            self._places[op] = len(self._places), loops
            inner = (*loops, op) if isinstance(op, control.Loop) else loops
            waiting += [(each, iter(each.ops), inner) for each in reversed([*op.regions()])]

    def _read(self, op: Op) -> Iterator[Root]:
        """The arrays that an op may read."""
        if op.pure or isinstance(op, memory.Store | memory.WriteVar | control.Call):
            return
        for each in op.operands():
            if isinstance(each.type, PointerType):
                yield from self._roots.of(each)
