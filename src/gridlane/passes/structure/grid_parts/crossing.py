"""Find the values that live across the grid barriers of a kernel, and choose which are
recomputed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gridlane.analysis.meeting import GridUniformity
from gridlane.analysis.uniformity import Kind
from gridlane.core.dtypes import b1
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.ops.mma_memory import MmaLoad
from gridlane.ir.types import FragmentType, Space
from gridlane.ir.values import Function, Region, Value, Var
from gridlane.passes.structure.grid_parts.flatten import Flat, Node
from gridlane.passes.structure.inline import declare_variables

MOST_AGAIN = 24
"""The most ops that recompute one value instead of a store to memory."""

ARRAYS = memory.LocalArray, memory.GlobalAddress, memory.DynamicShared
Item = Value | Var


@dataclass(slots=True)
class Live:
    """The state that lives across one grid barrier.

    Attributes:
        kept: the variables that each thread stores in memory, including those of values.
        common: the variables that are the same in all threads, stored once.
        arrays: the local and shared arrays whose content is stored, by their ops.
    """

    kept: list[Var] = field(default_factory=list[Var])
    common: list[Var] = field(default_factory=list[Var])
    arrays: list[Op] = field(default_factory=list[Op])


class Crossing:
    """Move the values that live across the grid barriers of a kernel to variables.

    Args:
        shapes: what all threads have in common at a barrier; None if not all threads that have not
            ended reach it in the same iteration.

    Attributes:
        hoisted: the ops of local and shared arrays, which are in no node any more.
        again: values that each part recomputes.
        live: the state that lives across each barrier, by its number.

    Raises:
        TargetError: an address in a block's shared or a thread's local memory, or a fragment of a
            matrix, lives across a barrier and cannot be recomputed; located.
    """

    def __init__(self, function: Function, flat: Flat, shapes: GridUniformity | None) -> None:
        self.function, self.flat = function, flat
        kinds = shapes.variables if shapes is not None else {}
        self._common = {var for var, kind in kinds.items() if kind is Kind.BLOCK}
        self._shapes = shapes
        self.hoisted: dict[Value, Op] = {}
        self.again: set[Value] = set()
        self.live: dict[int, Live] = {}
        self._sizes: dict[Value, int] = {p.value: 0 for p in function.params}
        self._private = self._marked()
        self._hoist()
        live = self._live_at_starts()
        crossing = dict.fromkeys(
            item
            for number in range(1, len(flat.syncs) + 1)
            for item in live[flat.sync_goal(number)]
        )
        self._kept: dict[Value, Var] = {}
        for item in crossing:
            self._place(item)
        self._demote()
        for number in range(1, len(flat.syncs) + 1):
            self.live[number] = self._live(live[flat.sync_goal(number)])

    # --- arrays

    def _hoist(self) -> None:
        """Hoist the ops of arrays out of the nodes: each array is the same in all parts."""
        first: dict[object, Value] = {}
        renamed: dict[Value, Value] = {}
        for region in self._regions():
            kept: list[Op] = []
            for op in region.ops:
                if not _is_array(op):
                    kept.append(op)
                    continue
                same = first.setdefault(_array_key(op), op.results[0])
                if same is op.results[0]:
                    self.hoisted[same] = op
                else:
                    renamed[op.results[0]] = same
            region.ops[:] = kept
        if renamed:
            for node in self.flat.nodes:
                _replace(node, renamed)
        self._private = {renamed.get(v, v) if isinstance(v, Value) else v for v in self._private}

    def _regions(self) -> Iterator[Region]:
        """The ops of every node, and the regions in them."""
        for node in self.flat.nodes:
            top = Region()
            top.ops = node.ops
            yield top
            for op in list(top.walk()):
                yield from op.regions()

    def _marked(self) -> set[Item]:
        """Values and variables that may hold an address of a block's or a thread's own memory,
        which changes at a barrier."""
        items: set[Item] = set()
        ops = [op for node in self.flat.nodes for op in Region(node.ops).walk()]
        items.update(op.results[0] for op in ops if _is_array(op))
        before = -1
        while len(items) != before:
            before = len(items)
            for op in ops:
                if isinstance(op, memory.WriteVar):
                    if op.value in items:
                        items.add(op.var)
                elif isinstance(op, memory.ReadVar):
                    if op.var in items:
                        items.add(op.results[0])
                elif isinstance(op, MmaLoad):
                    continue
                elif (op.pure or op.cross_lane) and any(v in items for v in op.operands()):
                    items.update(value for value in op.results if value.type is not b1)
        for op in ops:
            value = getattr(op, "value", None)
            if not (op.pure or isinstance(op, memory.WriteVar)) and value in items:
                _refuse("an address in shared or local memory is stored", op)
        return items

    # --- liveness

    def _live_at_starts(self) -> list[dict[Item, None]]:
        """The values and variables that are live at the start of each node, in order."""
        nodes = self.flat.nodes
        facts = [_facts(node) for node in nodes]
        live: list[dict[Item, None]] = [{} for _ in nodes]
        changed = True
        while changed:
            changed = False
            for index in range(len(nodes) - 1, -1, -1):
                used, defined = facts[index]
                live_now = dict(used)
                for goal in nodes[index].goals:
                    live_now.update((i, None) for i in live[goal] if i not in defined)
                if len(live_now) != len(live[index]):
                    live[index], changed = live_now, True
        return live

    def _place(self, item: Item) -> None:
        """Decide whether a value or variable is stored, common, or recomputed behind a barrier."""
        if isinstance(item, Value):
            if item in self.hoisted or self._size(item) <= MOST_AGAIN:
                self.again.add(item)
                return
            if item in self._private and self._size(item) < _NEVER:
                self.again.add(item)
                return
        self._check(item)
        if isinstance(item, Value):
            self._kept[item] = var = Var(item.name or "kept", item.type)
            if self._shapes is not None and self._shapes.of(item) is Kind.BLOCK:
                self._common.add(var)

    def _check(self, item: Item) -> None:
        where = self.flat.syncs[0]
        if item in self._private:
            _refuse("an address in shared or local memory", where)
        if isinstance(item.type, FragmentType):
            _refuse("a fragment of a matrix", where)

    def _size(self, value: Value) -> int:
        """The number of ops that compute a value from the parameters; a large one above the
        limit."""
        known = self._sizes.get(value)
        if known is None:
            op = value.op
            if op is None or not _is_repeatable(op):
                known = _NEVER
            else:
                known = min(_NEVER, 1 + sum(map(self._size, op.operands())))
            self._sizes[value] = known
        return known

    def _live(self, items: Iterable[Item]) -> Live:
        live = Live()
        arrays: dict[Op, None] = {}
        for item in items:
            var = item if isinstance(item, Var) else self._kept.get(item)
            if var is not None:
                (live.common if var in self._common else live.kept).append(var)
            elif isinstance(item, Value):
                arrays.update(dict.fromkeys(self._arrays_of(item)))
        live.arrays = [*arrays]
        return live

    def _arrays_of(self, value: Value) -> Iterator[Op]:
        """The arrays whose addresses a value is computed from."""
        waiting, seen = [value], set[Value]()
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            if each in self.hoisted:
                yield self.hoisted[each]
            elif each.op is not None:
                waiting += each.op.operands()

    # --- values that are kept

    def _demote(self) -> None:
        """Move the stored values to variables."""
        declare_variables(self.function, list(self._kept.values()))
        for node in self.flat.nodes:
            ops: list[Op] = []
            own: set[Value] = set()
            for op in node.ops:
                self._read(op, own, ops)
                ops.append(op)
                for value in op.results:
                    own.add(value)
                    if value in self._kept:
                        ops.append(memory.WriteVar(self._kept[value], value, loc=op.loc))
            condition = node.condition
            if condition is not None and condition in self._kept and condition not in own:
                read = memory.ReadVar(self._kept[condition], loc=node.loc)
                ops.append(read)
                node.condition = read.result
            node.ops = ops

    def _read(self, op: Op, own: set[Value], ops: list[Op]) -> None:
        """Replace the operands of an op, and of ops nested in it, that other nodes define."""
        new: dict[Value, Value] = {}
        for each in Region([op]).walk():
            for value in each.operands():
                if value in self._kept and value not in own and value not in new:
                    read = memory.ReadVar(self._kept[value], loc=op.loc)
                    ops.append(read)
                    new[value] = read.result
        if new:
            for each in Region([op]).walk():
                each.replace_operands(lambda value: new.get(value, value))


_NEVER = 1 << 20
_REPEATED = arith.__name__, grid.__name__, memory.__name__


def _is_repeatable(op: Op) -> bool:
    """Whether an op has the same result in each part, and is cheap."""
    return op.pure and not op.cross_lane and type(op).__module__ in _REPEATED


def _is_array(op: Op) -> bool:
    if isinstance(op, memory.GlobalAddress):
        return op.type.space is Space.SHARED
    return isinstance(op, ARRAYS)


def _array_key(op: Op) -> object:
    """A key that is equal for ops of the same array."""
    if isinstance(op, memory.GlobalAddress):
        return op.symbol
    if isinstance(op, memory.DynamicShared):
        return memory.DynamicShared, op.type, op.align
    return op


def _replace(node: Node, new: dict[Value, Value]) -> None:
    for op in Region(node.ops).walk():
        op.replace_operands(lambda value: new.get(value, value))
    if node.condition is not None:
        node.condition = new.get(node.condition, node.condition)


def _facts(node: Node) -> tuple[dict[Item, None], set[Item]]:
    """The values that a node uses of others, and those that it defines for others."""
    used: dict[Item, None] = {}
    defined: set[Item] = set()
    inner: set[Value] = set()
    for op in node.ops:
        for each in Region([op]).walk():
            for value in each.operands():
                if value not in defined and value not in inner:
                    used[value] = None
            if isinstance(each, memory.ReadVar) and each.var not in defined:
                used[each.var] = None
            if each is not op:
                inner.update(each.results)
        defined.update(op.results)
        if isinstance(op, memory.WriteVar):
            defined.add(op.var)
    if node.condition is not None and node.condition not in defined:
        used[node.condition] = None
    return used, defined


def _refuse(what: str, op: Op) -> None:
    raise TargetError(
        f"grid_sync: {what} lives across a barrier of the grid, where the target runs the kernel "
        "in parts; compute it again behind the barrier",
        op.loc,
    )
