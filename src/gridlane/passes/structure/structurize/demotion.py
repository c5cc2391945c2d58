"""Moves values into variables, where their uses are out of their sight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gridlane.ir.op import Op
from gridlane.ir.ops import memory
from gridlane.ir.values import Value, Var
from gridlane.passes.structure.inline import declare_variables
from gridlane.passes.structure.structurize.flow import Flow


class Uses:
    """Where the values of a flow are defined and used.

    Attributes:
        home: the node of each value that is visible outside of its op.
        users: for each of them, the other nodes that use it.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.home: dict[Value, int] = {}
        self.users: dict[Value, dict[int, None]] = {}
        for number, node in enumerate(flow.nodes):
            self.home.update((value, number) for op in node.ops for value in op.results)
        for number, node in enumerate(flow.nodes):
            for value in node.operands():
                if self.home.get(value, number) != number:
                    self.users.setdefault(value, {})[number] = None

    def demote(self, values: Mapping[Value, Iterable[int]]) -> None:
        """Keep values in variables, which the given nodes read. An op without operands and effects
        moves to the function's head instead."""
        hoisted = dict.fromkeys(value.op for value in values if _is_free(value))
        kept = {v: Var(v.name or "kept", v.type) for v in values if v.op not in hoisted}
        self._hoist([op for op in hoisted if op])
        declare_variables(self.flow.function, list(kept.values()))
        for number in dict.fromkeys(self.home[value] for value in kept):
            self._write(number, kept)
        reads: dict[int, dict[Value, Var]] = {}
        for value, var in kept.items():
            for user in values[value]:
                reads.setdefault(user, {})[value] = var
                del self.users[value][user]
        for number, read in reads.items():
            self._read(number, read)

    def _hoist(self, hoisted: list[Op]) -> None:
        away = set(hoisted)
        for number in dict.fromkeys(self.home[op.result] for op in hoisted):
            node = self.flow.nodes[number]
            node.ops = [op for op in node.ops if op not in away]
        self.flow.head += hoisted
        for op in hoisted:
            del self.home[op.result], self.users[op.result]

    def _write(self, number: int, kept: dict[Value, Var]) -> None:
        """Write the values of a node after the ops that define them."""
        node = self.flow.nodes[number]
        ops: list[Op] = []
        for op in node.ops:
            ops.append(op)
            ops += [
                memory.WriteVar(kept[value], value, loc=op.loc)
                for value in op.results
                if value in kept
            ]
        node.ops = ops

    def _read(self, number: int, kept: dict[Value, Var]) -> None:
        """Read variables in front of a node's first use of their values, and use that."""
        node = self.flow.nodes[number]
        new: dict[Value, Value] = {}
        ops: list[Op] = []
        for op in node.ops:
            self._read_for(op, kept, new, ops)
            ops.append(op)
        last = [node.condition] if node.condition is not None else []
        if node.end is not None:
            last += node.end.operands()
        for value in last:
            if value in kept and value not in new:
                ops.append(memory.ReadVar(kept[value], loc=node.loc))
                new[value] = ops[-1].result
        node.ops = ops
        node.replace(new)

    def _read_for(
        self, op: Op, kept: dict[Value, Var], new: dict[Value, Value], ops: list[Op]
    ) -> None:
        waiting = [op]
        while waiting:
            inner = waiting.pop()
            for value in inner.operands():
                if value in kept and value not in new:
                    ops.append(memory.ReadVar(kept[value], loc=op.loc))
                    new[value] = ops[-1].result
            for region in inner.regions():
                waiting += region.ops


def _is_free(value: Value) -> bool:
    """Whether a value may as well be computed at the start of the function."""
    op = value.op
    if op is None or not op.pure or op.REGION_FIELDS or any(True for _ in op.operands()):
        return False
    return len(op.results) == 1
