"""Loads of tiles by a warp of their own, the *producer*: which, and what decides when they run.

A load qualifies that reads a block of a tensor which a tensor map describes, as a factor of
products by warpgroups alone. The producer runs a slice of the program: the loads, and the control
flow and the scalars that decide which blocks they read. It is ahead of the program by the stages of
rings in shared memory, through all loops. It reads scalars from memory that the program does not
change. Where the slice would need elements of tiles or of other memory, there is no producer.

Loads of one region that are needed equally long are one *site*: their boxes arrive at one mbarrier.
An op that may write what a load reads later is a *gate*: the producer waits for the program there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gridlane.core.dtypes import DType
from gridlane.core.source import Loc
from gridlane.core.tensor_map import ALIGN, MOST_SPAN, SWIZZLES
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory, tile_memory, tiles
from gridlane.ir.ops.warpgroups import WARPS
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Param, Value, Var
from gridlane.passes.tiles import decisions
from gridlane.passes.tiles.clusters import Common, ends_early, parts_of
from gridlane.passes.tiles.factors import factor_of, is_of_lines, is_of_matrices
from gridlane.passes.tiles.joint_products import partners
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.order import ORDERS, Order, writes_memory
from gridlane.passes.tiles.placement import Placement
from gridlane.passes.tiles.state import State, Storage, swizzle_of
from gridlane.passes.tiles.tensor_map_params import ELEMENTS
from gridlane.passes.tiles.tensor_stores import may_store, room_of

MOST_THREADS = 1024
"""Of a block."""

Load = tile_memory.TileLoadBlock


@dataclass(slots=True, eq=False)
class Site:
    """Loads of one region that arrive together.

    Attributes:
        last: the last op of their region that needs them.
        first: the site whose ring it has, if that is another one's: of the same blocks of the same
            tensors, and none of both is needed while the other one is.
        stages: of their ring.
        rings: the memory of each.
        barriers: the number of the first of its mbarriers: for each stage one of its arrival, then
            for each one of its release.
        slot, parity: the program's next stage, and the parity of the phase that it waits for.
        held: the stage that a product in flight reads, or -1.
        current: the stage that the code being lowered reads.
    """

    loads: list[Load]
    last: Op
    first: Site | None = None
    stages: int = 1
    rings: dict[Op, Storage] = field(default_factory=dict[Op, Storage])
    barriers: int = 0
    slot: Var | None = None
    parity: Var | None = None
    held: Var | None = None
    current: Value | None = None


@dataclass(slots=True, eq=False)
class Producer:
    """What the producer does.

    Attributes:
        ops: those of the program that it runs as well.
        gates: ops that it waits for, with the descriptors whose memory they write, if it is known.
        joint: loads of one site, of which the stages of the second follow those of the first; both
            are right factors of ``products``.
        cluster: the programs of a cluster.
        shared: loads whose parts each of these copies to all.
        stores: those by tensor maps, with the parameters that describe each tensor.
    """

    sites: list[Site]
    ops: set[Op]
    gates: dict[Op, tuple[Param, ...]]
    joint: dict[Load, Load]
    products: dict[Op, Op]
    cluster: int = 1
    shared: frozenset[Load] = frozenset()
    stores: dict[Op, tuple[Param, ...]] = field(default_factory=dict[Op, tuple[Param, ...]])

    def are_shared(self, site: Site) -> bool:
        """Whether some of a site's loads are."""
        return any(op in self.shared for op in site.loads)

    def site_of(self, op: Op) -> Site | None:
        """The site whose last load an op is."""
        return next((site for site in self.sites if site.loads[-1] is op), None)


def producer_of(state: State) -> Producer | None:
    """The producer of a program; None where it has none."""
    placement = state.placement
    if not state.machine.groups or state.threads + extra_threads(state.threads) > MOST_THREADS:
        return None
    loads = [op for op in placement.order.ops if isinstance(op, Load) and _may_load(placement, op)]
    odd = [op for op in loads if not _begins_aligned(state, op)]
    loads = [op for op in loads if op not in odd]
    if odd:
        decisions.no_producer(odd[0].loc, "a block may begin at no multiple of 16 bytes of a line")
    if not loads:
        return None
    slice_ = Slice(placement)
    pairs = partners(placement)
    sites = _sites(placement, loads, pairs)
    if not any(placement.order.loops(site.last) for site in sites):
        return None
    for op in loads:
        slice_.load(op)
    slice_.close()
    if slice_.refusal is not None:
        decisions.no_producer(*slice_.refusal)
        return None
    gates = _gates(placement, loads)
    shared = _shared(state, sites, gates)
    _share(placement, sites, shared)
    stores = _stores(state)
    room = _allot_stages(state, sites, room_of(state.threads))
    if room is None:
        decisions.no_producer(loads[0].loc, "their memory does not fit")
        return None
    pairs = {one: other for one, other in pairs.items() if _are_together(sites, one, other)}
    joint = {_right(one): _right(other) for one, other in pairs.items()}
    cluster = state.module.program_cluster if shared else 1
    stores = stores if room else {}
    return Producer(sites, slice_.ops, gates, joint, pairs, cluster, shared, stores)


def _stores(state: State) -> dict[Op, tuple[Param, ...]]:
    """The stores by tensor maps, with the parameters that describe the tensor of each; none where
    a program may end while they read its memory."""
    placement = state.placement
    if ends_early(placement.order) is not None:
        return {}
    found = [op for op in placement.order.ops if isinstance(op, tile_memory.TileStoreBlock)]
    maps = {op: map_of(placement, op) for op in found if may_store(state, op)}
    return {op: known for op, known in maps.items() if known is not None}


def _shared(state: State, sites: list[Site], gates: Iterable[Op]) -> frozenset[Load]:
    """The loads that the producers of a cluster share; none where the program asks for none."""
    size = state.module.program_cluster
    if size == 1:
        return frozenset()
    common = Common(state.placement, size)
    early = ends_early(state.placement.order)
    if early is not None:
        decisions.no_cluster(early.loc, "a program may end early, while others copy to it")
        return frozenset()
    alone = next((op for op in gates if not common.around(op)), None)
    if alone is not None:
        decisions.no_cluster(alone.loc, "only some of its programs write here")
        return frozenset()
    loads = [op for site in sites for op in site.loads]
    found = frozenset(op for op in loads if _is_shared(common, op))
    if not found:
        decisions.no_cluster(loads[0].loc, "all its programs need other blocks")
    return found


def _is_shared(common: Common, op: Load) -> bool:
    element = op.type.element
    assert isinstance(element, DType)
    if has_axes_of_lines(op.type):
        return False
    if not parts_of(op.type.shape, element, swizzle_of(op.type, False), common.size):
        return False
    return common.around(op) and all(map(common.of, op.starts))


def _right(op: Op) -> Load:
    """The load of a product's right factor."""
    assert isinstance(op, tiles.TileDot)
    load = factor_of(op.rhs)[0].op
    assert isinstance(load, Load)
    return load


def _are_together(sites: list[Site], one: Op, other: Op) -> bool:
    """Whether the right factors of two products are of one site, which shares its ring with none,
    and of no other product."""
    loads = _right(one), _right(other)
    site = next((each for each in sites if loads[0] in each.loads), None)
    if site is None or loads[1] not in site.loads or site.first is not None:
        return False
    return all(each.first is not site for each in sites)


def extra_threads(threads: int) -> int:
    """The threads besides those of a program: a warp; a warpgroup where the program has several,
    as a quarter of a multiprocessor has registers for as many threads more then, and warpgroups
    alone hand registers on.

    >>> extra_threads(128), extra_threads(256)
    (32, 128)
    """
    return WARP if threads <= WARP * WARPS else WARP * WARPS


# ---- which loads


def _may_load(placement: Placement, op: Load) -> bool:
    value, type_ = op.results[0], op.type
    if value not in placement.swizzled or not isinstance(type_.element, DType):
        return False
    params = placement.provenance.params
    base = params.get(op.base)
    if base is None or not base.mapped or map_of(placement, op) is None or op.cache:
        return False
    if type_.element not in ELEMENTS or swizzle_of(type_, False) not in SWIZZLES:
        return False
    whole = {*op.checked} == {*range(len(type_.shape))}
    if has_axes_of_lines(type_) and max(type_.shape[:-1]) > MOST_SPAN:
        return False
    return whole and all(_is_factor(placement, each, value) for each in _users(placement, value))


def has_axes_of_lines(type_: TileType) -> bool:
    """Whether a tile's lines have several axes, of which one box has all."""
    return any(extent > 1 for extent in type_.shape[:-2])


def _begins_aligned(state: State, op: Load) -> bool:
    """Whether the boxes of a load begin at multiples of 16 bytes of a line, without which a GPU
    ends the launch with an illegal instruction."""
    element = op.type.element
    assert isinstance(element, DType)
    return state.contiguity.of(op.starts[-1]).divisor * element.size % ALIGN == 0


def map_of(placement: Placement, op: Load | tile_memory.TileStoreBlock) -> tuple[Param, ...] | None:
    """The parameters that describe a tensor: its address, extents, and byte strides of all axes but
    the last, whose elements are neighbours. None where it is not of one host's descriptor."""
    params = placement.provenance.params
    base = params.get(op.base)
    if base is None or not base.mapped:
        return None
    type_ = op.base.type
    assert isinstance(type_, PointerType)
    *strides, last = op.strides
    found = [base, *[params.get(each) for each in op.extents]]
    found += [params.get(_bytes_of(each, type_.element.size)) for each in strides]
    rank = len(op.extents)
    paths = [("data",), *[("shape", n) for n in range(rank)]]
    paths += [("strides", n) for n in range(rank - 1)]
    result: list[Param] = []
    for param, path in zip(found, paths, strict=True):
        if param is None or param.argument != base.argument:
            return None
        if param.path != (*base.path[:-1], *path):
            return None
        result.append(param)
    is_dense = isinstance(last.op, arith.Const) and last.op.value == 1
    return tuple(result) if is_dense else None


def _bytes_of(stride: Value, size: int) -> Value:
    """The bytes of a stride in elements."""
    op = stride.op
    if size == 1 and not isinstance(op, arith.Div):
        return stride
    if isinstance(op, arith.Div) and isinstance(op.rhs.op, arith.Const) and op.rhs.op.value == size:
        return op.lhs
    return stride if op is not None else Value(stride.type)


def _users(placement: Placement, value: Value) -> list[Op]:
    """The ops that need a tile, its transpose, or that with fewer axes of lines."""
    found: list[Op] = []
    for op in placement.order.ops:
        if value not in op.operands() or _is_dead(placement, op):
            continue
        is_same = (isinstance(op, tiles.TileTranspose) and is_of_matrices(op)) or (
            isinstance(op, tiles.TileReshape) and is_of_lines(op)
        )
        if is_same:
            found += _users(placement, op.results[0])
        else:
            found.append(op)
    return found


def _is_dead(placement: Placement, op: Op) -> bool:
    """Whether nothing needs a function's results."""
    return isinstance(op, tiles.TileMap) and not any(
        placement.uses.get(each) for each in op.results
    )


def _is_factor(placement: Placement, op: Op, value: Value) -> bool:
    """Whether warpgroups read a tile as a factor of a product, which is computed."""
    schedule = placement.products.get(op)
    if not isinstance(op, tiles.TileDot) or schedule is None or schedule.groups is None:
        return False
    if op.results[0] not in placement.stored or factor_of(op.acc)[0] is value:
        return False
    return value in (factor_of(op.lhs)[0], factor_of(op.rhs)[0])


def _sites(placement: Placement, loads: list[Load], pairs: dict[Op, Op]) -> list[Site]:
    """The loads, of which neighbours that are needed until the same op are together; in ``loads``
    remain those that are in a site.

    Args:
        pairs: products that may be computed where the second one is.
    """
    order, sites = placement.order, list[Site]()
    for op in list(loads):
        _, region, index = order.path[op][-1]
        depth = len(order.path[op]) - 1
        users = _users(placement, op.results[0])
        ends = {order.path[pairs.get(user, user)][depth][2] for user in users}
        last = region.ops[max(ends)]
        if any(_jumps(each) for each in region.ops[index : max(ends) + 1]):
            loads.remove(op)
            continue
        before = sites[-1] if sites else None
        if before is not None and before.last is last:
            start = order.path[before.loads[0]][-1]
            between = region.ops[start[2] : index]
            plain = not any(each.REGION_FIELDS or writes_memory(each) for each in between)
            if start[1] is region and plain and index < min(ends | {_first(placement, before)}):
                before.loads.append(op)
                continue
        sites.append(Site([op], last))
    return sites


def _first(placement: Placement, site: Site) -> int:
    """The place in their region of the first op that needs loads of a site."""
    path = placement.order.path
    depth = len(path[site.loads[0]]) - 1
    users = [user for op in site.loads for user in _users(placement, op.results[0])]
    return min(path[user][depth][2] for user in users)


_ENDS = control.Return | control.Exit | control.Raise


def _jumps(op: Op, in_loop: bool = False) -> bool:
    """Whether control may leave an op but behind it."""
    if isinstance(op, control.Break | control.Continue):
        return not in_loop
    if isinstance(op, control.Leave | _ENDS):
        return True
    loops = in_loop or isinstance(op, control.Loop)
    return any(_jumps(each, loops) for region in op.regions() for each in region.ops)


def _share(placement: Placement, sites: list[Site], shared: frozenset[Load]) -> None:
    """Find the sites that have a ring together."""
    order, known = placement.order, dict[object, list[Site]]()
    for site in sites:
        loads = site.loads
        kinds = [(map_of(placement, op), op.type, op.padding, op in shared) for op in loads]
        others = known.setdefault(tuple(kinds), [])
        start, end = order.number[site.loads[0]], order.last[site.last]
        if all(order.last[each.last] < start or end < _start(order, each) for each in others):
            site.first = others[0] if others else None
            others.append(site)


def _start(order: Order, site: Site) -> int:
    return order.number[site.loads[0]]


def _allot_stages(state: State, sites: list[Site], beside: int) -> bool | None:
    """Choose the stages: as many as fit where loads are in the innermost loops, else one. Whether
    as many fit with some bytes beside them; None if none does."""
    placement, order = state.placement, state.placement.order
    around = {loop for site in sites for loop in order.loops(site.last)[:-1]}
    sizes = {site: sum(_size(op.type) for op in site.loads) for site in sites if not site.first}
    many = [site for site in sites if order.loops(site.last) and not around & {_loop(order, site)}]
    rings = {site.first or site for site in many}
    loaded = {op.results[0] for site in sites for op in site.loads}
    tiles_ = [v.type for v, own in placement.stored.items() if not own and v not in loaded]
    tiles_ += [var.type for var, own in placement.variables.items() if not own]
    others = sum(_size(each) for each in tiles_ if isinstance(each, TileType)) + 1024
    others += sum(size for site, size in sizes.items() if site not in rings)
    total, wanted = max(1, sum(sizes[site] for site in rings)), state.module.program_stages
    room, less = ((state.machine.shared - others - each) // total for each in (0, beside))
    for site in sites:
        if (site.first or site) in rings:
            site.stages = min(max(wanted, 1), room)
    return min(max(wanted, 1), room) == min(max(wanted, 1), less) if room > 0 else None


def _loop(order: Order, site: Site) -> Op:
    return order.loops(site.last)[-1]


def _size(type_: TileType) -> int:
    size = type_.element.size if isinstance(type_.element, DType) else 8
    return -(-type_.count * size // 1024) * 1024


# ---- the slice


class Slice:
    """The part of a program that decides what its loads read.

    Attributes:
        ops: those that the producer runs as well: control flow, and computations of scalars.
        refusal: where and why there is no slice.
    """

    def __init__(self, placement: Placement) -> None:
        self.placement, self.order = placement, placement.order
        self.ops: set[Op] = set()
        self._waiting: list[Op] = []
        self.refusal: tuple[Loc, str] | None = None
        self._writes: dict[Var, list[memory.WriteVar]] = {}
        for op in self.order.ops:
            if isinstance(op, memory.WriteVar):
                self._writes.setdefault(op.var, []).append(op)
            elif isinstance(op, _STOPS):
                self._refuse(op, "the program may stop elsewhere")

    def _refuse(self, op: Op, text: str) -> None:
        if self.refusal is None:
            self.refusal = op.loc, text

    def load(self, op: Load) -> None:
        """Include what a load depends on."""
        self._around(op)
        for start in op.starts:
            self._value(start)

    def close(self) -> None:
        """Include what those depend on, and the jumps that decide whether they run."""
        jumps = [op for op in self.order.ops if op.terminator]
        size = -1
        while size != len(self.ops):
            size = len(self.ops)
            while self._waiting:
                self._operands(self._waiting.pop())
            for op in jumps:
                target = self._target(op)
                if target is None or target in self.ops:
                    self._add(op)

    def _target(self, op: Op) -> Op | None:
        """The construct that a jump leaves; None for the program."""
        for holder, _, _ in reversed(self.order.path[op]):
            if isinstance(op, control.Leave):
                if isinstance(holder, control.ScopeOp) and op.target in (0, holder.label):
                    return holder
            elif isinstance(op, control.Break | control.Continue) and isinstance(
                holder, control.Loop
            ):
                return holder
        return None

    def _around(self, op: Op) -> None:
        for holder, _, _ in self.order.path[op]:
            if holder is not None:
                self._add(holder)

    def _add(self, op: Op) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self._waiting.append(op)

    def _operands(self, op: Op) -> None:
        self._around(op)
        for operand in op.operands():
            self._value(operand)
        if isinstance(op, memory.ReadVar):
            for write in self._writes.get(op.var, ()):
                self._add(write)

    def _value(self, value: Value) -> None:
        op = value.op
        if isinstance(value.type, TileType):
            self._refuse(op or self.order.ops[0], "elements of a tile decide what is loaded")
            return
        if op is None or op in self.ops:
            return
        if not self._is_known(op):
            self._refuse(op, "memory decides what is loaded")
            return
        self._add(op)

    def _is_known(self, op: Op) -> bool:
        """Whether the producer computes the same as the program, at another time."""
        if isinstance(op, memory.ReadVar):
            return True
        if not isinstance(op, memory.Load):
            return op.pure and not op.REGION_FIELDS
        if op.volatile or op.cache == "cv":
            return False
        writes = [each for each in self.order.ops if writes_memory(each)]
        return not any(
            _is_before(self.placement, each, op)
            and (isinstance(each, ORDERS) or self.placement.provenance.may_meet(op, each))
            for each in writes
        )


_STOPS = (
    control.StopIf,
    control.CheckAccess,
    control.Raise,
    tile_memory.TileStopIf,
)
"""Ops behind which some threads may not run."""


# ---- gates


def _gates(placement: Placement, loads: list[Load]) -> dict[Op, tuple[Param, ...]]:
    """The ops that may write what a load reads that may run behind them."""
    order, result = placement.order, dict[Op, tuple[Param, ...]]()
    for op in order.ops:
        if not writes_memory(op) or op.REGION_FIELDS:
            continue
        later = [each for each in loads if _is_before(placement, op, each)]
        if any(placement.provenance.may_meet(each, op) for each in later):
            known = map_of(placement, op) if isinstance(op, tile_memory.TileStoreBlock) else None
            result[op] = known or ()
    return result


def _is_before(placement: Placement, op: Op, load: Op) -> bool:
    order = placement.order
    return order.number[op] < order.number[load] or bool({*order.loops(op)} & {*order.loops(load)})
