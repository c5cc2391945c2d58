"""Decides which tiles are stored, and whether each thread keeps its own elements.

All other tiles are computed at each place where an element of them is needed. Uses follow
definitions, so one walk backwards sees who needs each tile before it decides about the tile.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, math, memory, tile_memory, tiles
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Module, Value, Var
from gridlane.passes.tiles.byte_floats import ByteFloats
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.layouts import Layout, Warps
from gridlane.passes.tiles.machine import TileMachine
from gridlane.passes.tiles.order import Order
from gridlane.passes.tiles.provenance import Provenance
from gridlane.passes.tiles.spread import spread_of

CHEAP = 24
"""The ops for an element that are computed again rather than stored."""
FAR = 8 * CHEAP
"""The same where one root needs elements at several places, of which it may need each once."""

_COSTS: dict[type[Op], int] = {
    arith.Const: 0,
    arith.Div: 12,
    arith.Rem: 12,
    control.Call: 16,
    control.Loop: 64,
    math.Floor: 1,
    math.Ceil: 1,
    math.Trunc: 1,
    math.Rint: 1,
    math.Copysign: 1,
    math.Sqrt: 12,
    math.Rsqrt: 12,
}
_FUNCTION = 25
"""Of other functions of mathematics."""

LOADS = (tile_memory.TileLoad, tile_memory.TileLoadBlock)
COMPUTED = (
    tiles.TileReduce, tiles.TileScan, tiles.TileSort, tiles.TileHistogram, tiles.TileDot,
    tile_memory.TileAtomic, tile_memory.TileAtomicCas,
)  # fmt: skip
"""Ops that compute whole tiles at their place."""


@frozen
class Use:
    """A place that needs elements of a tile.

    Attributes:
        root: the op that computes for each element.
        repeated: it needs an element more than once.
        own: a thread needs its own elements alone, in their order.
        apart: an element of the root needs several elements.
        via: how the place of an element follows from that of the root's: the changes of coordinates
            from the root on.
        late: by something that is not stored although it is a factor.
    """

    root: Op
    repeated: bool = False
    own: bool = True
    apart: bool = False
    via: tuple[object, ...] = ()
    late: bool = False


@frozen
class Schedule:
    """How a product is computed.

    Attributes:
        layout: of its sums.
        warps: how they divide the sums where matrix instructions compute them; else None.
        batches: of matrices, into how many parts warps divide these besides.
        groups: how warpgroups divide them where their instructions do.
        matrices: how warps divide them where those of fragments do.
    """

    layout: Layout
    warps: Warps | None = None
    batches: int = 1
    groups: Warps | None = None
    matrices: Warps | None = None


@dataclass(slots=True)
class Placement:
    """Where tiles are.

    Attributes:
        stored: the tiles that are stored, and whether each thread keeps its own elements.
        variables: the same of variables.
        staged: stores whose values are computed as a whole first.
        uses: who needs each tile.
        in_layouts: reductions that combine a thread's own elements of a layout.
        layouts: of ops that compute for each element, and of the tiles and variables that each
            thread keeps its own elements of; what has none here is in the order of rows.
        products: how products with a layout are computed.
        byte_floats: products whose factors are bytes that are floats.
        swizzled: factors of products by warpgroups, which lie in shared memory in patterns.
        paired: left factors in registers.
        transposed: loads that shared memory has as a store needs them the other way round.
        padded: tiles whose rows in shared memory have elements behind them, and how many.
        spared: functions that are not stored, and loads that are if memory may change before their
            uses.
    """

    module: Module
    machine: TileMachine
    order: Order
    provenance: Provenance
    stored: dict[Value, bool] = field(default_factory=dict[Value, bool])
    variables: dict[Var, bool] = field(default_factory=dict[Var, bool])
    staged: set[Op] = field(default_factory=set[Op])
    uses: dict[Value, list[Use]] = field(default_factory=lambda: defaultdict(list))
    in_layouts: frozenset[Op] = frozenset()
    layouts: dict[object, Layout] = field(default_factory=dict[object, Layout])
    products: dict[Op, Schedule] = field(default_factory=dict[Op, Schedule])
    byte_floats: dict[Op, ByteFloats] = field(default_factory=dict[Op, ByteFloats])
    transposed: set[Op] = field(default_factory=set[Op])
    padded: dict[Value, int] = field(default_factory=dict[Value, int])
    swizzled: set[Value] = field(default_factory=set[Value])
    paired: set[object] = field(default_factory=set[object])
    spared: frozenset[Op] = frozenset()
    _costs: dict[object, int] = field(default_factory=dict[object, int])
    _used: frozenset[Value] = frozenset()

    @property
    def used(self) -> frozenset[Value]:
        """The values that some op has as an operand."""
        if not self._used:
            self._used = frozenset([v for op in self.order.ops for v in op.operands()])
        return self._used

    @property
    def threads(self) -> int:
        """The threads of the block."""
        return self.machine.threads(self.module.program_warps)

    def decide(self) -> None:
        """Visit all ops, the last first."""
        threads_apart: set[Var] = set()
        for op in reversed(self.order.ops):
            for value in op.results:
                if isinstance(value.type, TileType):
                    self._result(op, value)
            self._operands(op)
            if isinstance(op, memory.ReadVar) and isinstance(op.var.type, TileType):
                uses = self.uses[op.results[0]]
                if not all(use.own for use in uses) and op.results[0] not in self.stored:
                    threads_apart.add(op.var)
        for var in self.order.function.variables:
            if isinstance(var.type, TileType):
                self.variables[var] = var not in threads_apart

    # ---- results

    def _result(self, op: Op, value: Value) -> None:
        uses = self.uses[value]
        if not uses:
            return
        if isinstance(op, COMPUTED) or self._keeps(op, value, uses):
            makes_own = isinstance(op, OWN) or not isinstance(op, COMPUTED)
            if isinstance(op, tiles.TileDot):
                makes_own = not self.machine.lockstep
            self.stored[value] = makes_own and all(use.own for use in uses)

    def _keeps(self, op: Op, value: Value, uses: list[Use]) -> bool:
        """Whether a tile that could be computed where it is needed is stored instead."""
        assert isinstance(value.type, TileType)
        if op in self.transposed:
            return True
        if isinstance(op, LOADS):
            if op in self.spared:
                return any(self._changes(op, use) for use in uses)
            if len(uses) > 1 or uses[0].repeated:
                return not isinstance(value.type.element, PointerType)
            if isinstance(op, tile_memory.TileLoad) and op.volatile:
                return True
            return self._changes(op, uses[0])
        if isinstance(op, memory.ReadVar):
            return any(self._rewritten(op, use) for use in uses)
        if isinstance(value.type.element, PointerType) or not isinstance(op, tiles.TileMap):
            return False
        if op in self.spared:
            return False
        if any(
            isinstance(use.root, tiles.TileDot) and use.repeated and not use.late for use in uses
        ):
            return True
        if len(uses) > 1 or uses[0].repeated:
            return self.cost(value) > CHEAP
        return uses[0].apart and self.cost(value) > FAR

    def _changes(self, load: Op, use: Use) -> bool:
        """Whether memory may change between a load and its use."""
        stores = self.order.between(load, use.root).stores
        own = self.order.effects(use.root).stores
        if (
            isinstance(use.root, tile_memory.TileStore | tile_memory.TileStoreBlock)
            and any(self.provenance.may_meet(load, each) for each in own)
            and use in self._values_of(use.root, load)
        ):
            self.staged.add(use.root)
            own = ()
        return any(self.provenance.may_meet(load, each) for each in (*stores, *own))

    def _values_of(self, root: Op, load: Op) -> list[Use]:
        """The uses of a load by the value that a store writes, and by nothing else of it."""
        assert isinstance(root, tile_memory.TileStore | tile_memory.TileStoreBlock)
        others = [v for v in root.operands() if v is not root.value]
        if any(self._derives(each, load) for each in others):
            return []
        return self.uses[load.results[0]]

    def _derives(self, value: Value, op: Op) -> bool:
        """Whether a tile that is not stored is computed of the result of an op."""
        seen, waiting = {value}, [value]
        while waiting:
            each = waiting.pop()
            if each.op is op:
                return True
            if each.op is None or each in self.stored or not isinstance(each.type, TileType):
                continue
            fresh = [v for v in each.op.operands() if v not in seen]
            seen.update(fresh)
            waiting += fresh
        return False

    def _rewritten(self, read: memory.ReadVar, use: Use) -> bool:
        """Whether the variable may have another value where its old one is needed."""
        if read.var in self.order.between(read, use.root).variables:
            return True
        writes = isinstance(use.root, memory.WriteVar) and use.root.var is read.var
        return writes and not use.own

    def cost(self, value: Value) -> int:
        """The ops that one element takes."""
        if value in self.stored or not isinstance(value.type, TileType) or value.op is None:
            return 0
        if value not in self._costs:
            own = self._function_cost(value.op.callee) if isinstance(value.op, tiles.TileMap) else 0
            if isinstance(value.op, LOADS):
                own = 4
            rest = 0 if isinstance(value.op, COMPUTED) else sum(map(self.cost, value.op.operands()))
            self._costs[value] = min(own + rest, 1 << 20)
        return self._costs[value]

    def _function_cost(self, name: str) -> int:
        if name not in self._costs:
            ops = self.module.functions[name].body.walk()
            self._costs[name] = sum([_cost(op, self.machine.lockstep) for op in ops])
        return self._costs[name]

    # ---- operands

    def _operands(self, op: Op) -> None:
        for value, repeated, own in self._needs(op):
            if not isinstance(value.type, TileType):
                continue
            results = [r for r in op.results if isinstance(r.type, TileType)]
            if _is_root(op):
                self._add(value, Use(op, repeated, own))
                continue
            for number, result in enumerate(results):
                if result in self.stored:
                    self._add(value, Use(op, repeated, own))
                    continue
                change = _change(op, value, number)
                for use in self.uses[result]:
                    again, same = use.repeated or repeated, use.own and own
                    via, late = (*use.via, *change), use.late or op in self.spared
                    self._add(value, Use(use.root, again, same, use.apart, via, late))

    def _add(self, value: Value, use: Use) -> None:
        """Note a use; the same root needs a tile once, as it computes an element once."""
        for index, known in enumerate(self.uses[value]):
            if known.root is use.root:
                self.uses[value][index] = Use(
                    use.root,
                    known.repeated or use.repeated or known.own != use.own,
                    known.own and use.own,
                    known.apart or use.apart or known.via != use.via,
                    known.via,
                    known.late and use.late,
                )
                return
        self.uses[value].append(use)

    def _needs(self, op: Op) -> list[tuple[Value, bool, bool]]:
        """The operands of an op, whether each element is needed more than once, and whether a
        thread needs its own alone."""
        if isinstance(op, tiles.TileBroadcast):
            assert isinstance(op.source.type, TileType)
            return [(op.source, op.source.type.count < op.type.count, False)]
        if isinstance(op, tiles.TileReduce):
            return [(value, False, self._reduces_own(op)) for value in op.arguments]
        if isinstance(op, tiles.TileScan):
            lines = spread_of(self.module, op, self.threads).lines
            return [(value, False, lines < self.threads) for value in op.arguments]
        if isinstance(op, tiles.TileSort):
            shape = tiles.tile_of(op, op.source).shape
            whole = op.axis == len(shape) - 1 and log2(shape[-1]) is not None
            return [(op.source, False, whole)]
        if isinstance(op, tiles.TileDot):
            packs = self.machine.lockstep  # each element of what is not stored once
            return [
                (op.lhs, not (packs and op.lhs.op in self.spared), False),
                (op.rhs, not (packs and op.rhs.op in self.spared), False),
                (op.acc, False, not self.machine.lockstep),
            ]
        if isinstance(op, tiles.TileGather):
            return [(op.source, True, False), (op.index, False, True)]
        own = not isinstance(op, APART)
        return [(value, False, own) for value in op.operands()]

    def _reduces_own(self, op: tiles.TileReduce) -> bool:
        return op in self.in_layouts or self.reduces_rows(op)

    def reduces_rows(self, op: tiles.TileReduce) -> bool:
        """Whether threads combine their own elements in the order of rows."""
        spread = spread_of(self.module, op, self.threads)
        last = op.axis == len(tiles.tile_of(op, op.arguments[0]).shape) - 1
        return last and spread.own and spread.threads == self.threads


OWN = (tile_memory.TileAtomic, tile_memory.TileAtomicCas)
"""Ops whose results each thread makes for its own elements."""

APART = (
    tiles.TileTranspose,
    tiles.TileJoin,
    tiles.TileSplit,
    tiles.TileCat,
    tiles.TileItem,
    tile_memory.TilePrint,
)
"""Ops that need elements of other threads."""

ROOTS = (
    *COMPUTED,
    tiles.TileItem,
    tile_memory.TileStore,
    tile_memory.TileStoreBlock,
    tile_memory.TilePrint,
    tile_memory.TileStopIf,
    memory.WriteVar,
)


def _is_root(op: Op) -> bool:
    return isinstance(op, ROOTS)


def _change(op: Op, value: Value, number: int) -> tuple[object, ...]:
    """How the coordinates of an operand's element differ from those of a result's; nothing where
    both have one row-major number."""
    if isinstance(op, tiles.TileSplit):
        return ((op.name, number),)
    if isinstance(op, tiles.TileTranspose):
        return ((op.name, op.order, value.type),)
    if isinstance(op, tiles.TileBroadcast):
        return ((op.name, value.type, op.type),)
    if isinstance(op, tiles.TileGather):
        return ((op.name, op),) if value is op.source else ()
    if isinstance(op, tiles.TileCat):
        return ((op.name, value is op.lhs, op.axis, value.type, op.result.type),)
    return (op.name,) if isinstance(op, tiles.TileJoin) else ()


def _is_float(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_float


def _cost(op: Op, by_vectors: bool) -> int:
    """The cost of an op. Vectors of processors divide integers as floats, one after the other."""
    if by_vectors and isinstance(op, arith.Div | arith.Rem) and not _is_float(op.lhs):
        return 2 * CHEAP
    if isinstance(op, control.Return | memory.ReadVar | memory.WriteVar):
        return 0
    known = _COSTS.get(type(op))
    if known is not None:
        return known
    return _FUNCTION if type(op).__module__ == math.__name__ else 1
