"""The parts of functions between the calls of a cycle, and the variables that live across calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.ops.graph import Block, Graph, successors
from gridlane.ir.values import Function, Param, Region, Value, Var


@dataclass(slots=True, eq=False)
class Segment:
    """A part of a block: ``ops``, then ``end``, a terminator or a call of the cycle.

    Attributes:
        after: the call whose results it begins with.
    """

    ops: list[Op]
    end: Op
    after: control.Call | None = None
    following: list[Segment] = field(default_factory=list["Segment"])
    reads: set[Var] = field(default_factory=set[Var])
    writes: set[Var] = field(default_factory=set[Var])
    live: set[Var] = field(default_factory=set[Var])
    """The variables whose value at the start is read."""


class Member:
    """A function of a cycle, in segments. Values that cross from one to another are in variables.

    Args:
        given: parameters that are the same in all calls; the others, ``own``, are in variables.

    Attributes:
        segments: the entry first; ``labels``: those that begin a block.
        params: the variables of the parameters, but of ``given``.
        variables: all of the function.
        hoisted: ops without operands and effects that several segments use.
    """

    def __init__(self, function: Function, names: set[str], given: list[Param]) -> None:
        self.function, self.names = function, names
        self.segments: list[Segment] = []
        self.labels: dict[int, Segment] = {}
        self._split()
        own = self.own = [param for param in function.params if param not in given]
        self.params = [Var(each.value.name or "given", each.value.type) for each in own]
        self.hoisted: list[Op] = []
        crossing = self._crossing()
        self.kept = {value: Var(value.name or "kept", value.type) for value in crossing}
        self.kept.update((p.value, var) for p, var in zip(own, self.params, strict=True))
        self.variables = list(dict.fromkeys((*function.variables, *self.kept.values())))
        for each in self.segments:
            self._keep(each)
        self._find_live()

    def _split(self) -> None:
        graph = self.function.body.ops[-1]
        assert isinstance(graph, Graph), "recursion is removed from graphs"
        ends: list[tuple[Segment, Block]] = []
        for block in graph.blocks():
            ops, after = list[Op](), None
            for op in block.body.ops:
                is_call = isinstance(op, control.Call) and op.callee in self.names
                if not (is_call or op.terminator):
                    ops.append(op)
                    continue
                segment = Segment(ops, op, after)
                if after is None:
                    self.labels[block.label] = segment
                else:
                    self.segments[-1].following = [segment]
                self.segments.append(segment)
                ops, after = [], op if isinstance(op, control.Call) else None
            ends.append((self.segments[-1], block))
        for last, block in ends:
            assert not isinstance(last.end, control.Call)
            last.following = [self.labels[label] for label in successors(block)]

    def _crossing(self) -> list[Value]:
        """The values that segments use and others define."""
        home: dict[Value, Segment] = {}
        for each in self.segments:
            results = list(each.after.results) if each.after else []
            home.update(dict.fromkeys((v for op in each.ops for v in op.results), each))
            home.update(dict.fromkeys(results, each))
        crossing: dict[Value, None] = {}
        for each in self.segments:
            for value in _operands(each):
                if value in home and home[value] is not each:
                    crossing[value] = None
        free = [value for value in crossing if _is_free(value)]
        self.hoisted = [value.op for value in free if value.op is not None]
        away = set(self.hoisted)
        for each in self.segments:
            each.ops = [op for op in each.ops if op not in away]
        return [value for value in crossing if value not in set(free)]

    def _keep(self, segment: Segment) -> None:
        """Write the values that others use, and read those of others at the start."""
        own = {value for op in segment.ops for value in op.results}
        own.update(segment.after.results if segment.after else ())
        new: dict[Value, Value] = {}
        reads: list[Op] = []
        for value in dict.fromkeys(_operands(segment)):
            if value in self.kept and value not in own:
                reads.append(memory.ReadVar(self.kept[value], loc=segment.end.loc))
                new[value] = reads[-1].result
        ops = reads
        for value in segment.after.results if segment.after else ():
            if value in self.kept:
                ops.append(memory.WriteVar(self.kept[value], value, loc=segment.end.loc))
        for op in segment.ops:
            ops.append(op)
            ops += [
                memory.WriteVar(self.kept[value], value, loc=op.loc)
                for value in op.results
                if value in self.kept
            ]
        segment.ops = ops
        for op in Region([*ops, segment.end]).walk():
            op.replace_operands(lambda value: new.get(value, value))

    def _find_live(self) -> None:
        users: dict[Segment, list[Segment]] = {each: [] for each in self.segments}
        for each in self.segments:
            for other in each.following:
                users[other].append(each)
            for op in each.ops:
                inside = Region([op]).walk()
                each.reads |= {
                    inner.var
                    for inner in inside
                    if isinstance(inner, memory.ReadVar) and inner.var not in each.writes
                }
                if isinstance(op, memory.WriteVar):
                    each.writes.add(op.var)
            each.live = set(each.reads)
        waiting = list(self.segments)
        while waiting:
            each = waiting.pop()
            for user in users[each]:
                more = (each.live - user.writes) - user.live
                if more:
                    user.live |= more
                    waiting.append(user)


def _operands(segment: Segment) -> Iterator[Value]:
    for op in Region([*segment.ops, segment.end]).walk():
        yield from op.operands()


def _is_free(value: Value) -> bool:
    """Whether a value may as well be computed at the start of the function."""
    op = value.op
    if op is None or not op.pure or op.REGION_FIELDS or any(True for _ in op.operands()):
        return False
    return len(op.results) == 1 and not isinstance(op, memory.LocalArray)
