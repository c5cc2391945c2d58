"""The code of a producer, and what the program does where it loads: rings of stages in shared
memory, and two mbarriers for each stage.

The producer, one thread of a warp behind the program's, waits until a stage is released, and copies
the boxes of a site to it, which arrive at the first mbarrier. The program waits for that, and a
thread of each warpgroup arrives at the second one when the products that read the stage are done.
The stages of a ring are filled in turn, so both sides count alone; each time around the parity of
the phases that they wait for changes.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

from gridlane.core.dtypes import DType, b1, i32, i64, u8, u32, u64
from gridlane.core.tensor_map import MOST_SPAN
from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import arith, control, grid, memory, tile_memory
from gridlane.ir.ops.clusters import (
    ClusterRank,
    ClusterSync,
    MbarrierArrivePeer,
    TensorMulticast,
)
from gridlane.ir.ops.mbarriers import MbarrierArrive, MbarrierInit, MbarrierPassed
from gridlane.ir.ops.shared_matrix import ALIGN
from gridlane.ir.ops.tensors import BulkWait, ProxyFence, TensorLoad
from gridlane.ir.ops.warpgroups import WARPS, RegisterLimit
from gridlane.ir.rewriting import Labels
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import Global, Param, Region, Value, Var
from gridlane.passes.tiles import decisions, tensor_stores
from gridlane.passes.tiles.clusters import parts_of
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.producers import (
    Load,
    Producer,
    Site,
    extra_threads,
    has_axes_of_lines,
    map_of,
)
from gridlane.passes.tiles.state import State, Storage, swizzle_of
from gridlane.passes.tiles.tensor_map_params import map_param

_SYMBOL = "tile.barriers"
_GROUP = WARP * WARPS
"""The threads of a warpgroup."""
_LANES = 512
"""The registers that each lane of all warps of a quarter of a multiprocessor have together."""
_LEAST, _MOST = 24, 240
"""The fewest and the most registers of a thread that warpgroups agree on."""


@contextmanager
def producing(state: State, producer: Producer, body: Region) -> Generator[None]:
    """Emit what precedes the program and the code of the producer; the block emits the program."""
    b, threads = state.b, state.threads
    code = _Code(state, producer)
    state.joint = producer.products
    code.prepare()
    first = b.eq(state.thread, b.const(threads, i32))
    apart = b.value(arith.Ge(state.thread, b.const(threads, i32)))
    extra = extra_threads(threads)
    with b.if_(apart) as branch:
        if extra > WARP:
            b.emit(RegisterLimit(_LEAST, False))
        with b.if_(first):
            _Slice(code, Labels(state.function)).region(body)
    state.has_producer = True
    with b.inside(branch.orelse):
        if extra > WARP:
            b.emit(RegisterLimit(_registers(threads), True))
        code.begin()
        yield
        code.end()
    state.module.extra_threads = extra


def _registers(threads: int) -> int:
    """The registers of each thread of the program, if the producer's warpgroup keeps the fewest."""
    groups = threads // _GROUP
    each = _LANES // (groups + 1) // 8 * 8
    return min((each * (groups + 1) - _LEAST) // groups // 8 * 8, _MOST)


@dataclass(slots=True)
class _Ring:
    """The next stage of one side."""

    slot: Var
    parity: Var
    stages: int


@dataclass(slots=True)
class _Gate:
    """An op that the producer waits for: two mbarriers, which each side has a parity of.

    Attributes:
        holds: whether it does; None if always.
    """

    barriers: int
    holds: Value | None
    theirs: Var
    ours: Var


def _meets(state: State, loads: Iterable[Op], op: Op, target: tuple[Param, ...]) -> Value | None:
    """Whether the memory of a store may meet that of the loads; None if it always may."""
    if not target:
        return None
    b, meets = state.b, list[Value]()
    sources = {map_of(state.placement, load): load for load in loads}  # type: ignore[arg-type]  # loads
    low, end = _bounds(state, target)
    for source, load in sources.items():
        if source is None or not state.placement.provenance.may_meet(load, op):
            continue
        start, stop = _bounds(state, source)
        meets.append(b.and_(b.lt(low, stop), b.lt(start, end)))
    result = b.const(False, b1)
    for each in meets:
        result = b.or_(result, each)
    return result


def _bounds(state: State, tensor: tuple[Param, ...]) -> tuple[Value, Value]:
    """The first address of a tensor, and that behind it; none of its extents is 0."""
    b, rank = state.b, len(tensor) // 2
    base, *numbers = [param.value for param in tensor]
    assert isinstance(base.type, PointerType)
    size = base.type.element.size
    last, span = b.const(1, i64), b.const(size, i64)
    for extent, stride in zip(numbers[: rank - 1], numbers[rank:], strict=True):
        span = b.add(span, b.mul(b.sub(extent, last), stride))
    inner = b.mul(b.sub(numbers[rank - 1], last), b.const(size, i64))
    start = b.value(memory.Address(base))
    return start, b.add(start, b.cast(b.add(span, inner), u64))


@dataclass(slots=True)
class _Code:
    """What both sides need.

    Attributes:
        theirs: the program's rings.
        ours: the producer's.
        rank: the block's number in a cluster of several.
    """

    state: State
    producer: Producer
    theirs: dict[Site, _Ring] = field(default_factory=dict[Site, _Ring])
    ours: dict[Site, _Ring] = field(default_factory=dict[Site, _Ring])
    gates: dict[Op, _Gate] = field(default_factory=dict[Op, _Gate])
    maps: dict[Op, Value] = field(default_factory=dict[Op, Value])
    rank: Value | None = None

    # ---- in front

    def prepare(self) -> None:
        """Allot memory, begin the mbarriers, and note what the program does at its loads."""
        state, b, counts = self.state, self.state.b, list[int]()
        life = 0, len(state.placement.order.ops)
        for site in self.producer.sites:
            if site.first is None:
                site.barriers = len(counts)
                sides = self.producer.cluster if self.producer.are_shared(site) else 1
                counts += [1] * site.stages + [sides * state.threads // _GROUP] * site.stages
                self.theirs[site], self.ours[site] = self._ring(site), self._ring(site)
                for op in site.loads:
                    decisions.stored(state.machine, op.type, op.loc, 0, site.stages)
                    self._allot(site, op, life)
                for op in site.loads:
                    self.maps[op] = self._map(op, site.rings[op])
            else:
                self._join(site, site.first)
            for op in site.loads:
                state.ahead[op], state.rings[op] = _nothing, site.stages
            state.ahead[site.loads[-1]] = lambda site=site: self._receive(site)
            state.behind.setdefault(site.last, []).append(lambda site=site: self._release(site))
            decisions.produced(site.loads[0].loc, len(site.loads), site.stages)
        for op, target in self.producer.gates.items():
            theirs, ours = (b.variable("passed", u32) for _ in range(2))
            self.gates[op] = _Gate(len(counts), _meets(state, self.maps, op, target), theirs, ours)
            counts += [self.producer.cluster * state.threads, self.producer.cluster]
            state.behind.setdefault(op, []).append(lambda op=op: self._pass(self.gates[op]))
        tensor_stores.begin(state, self.producer.stores, life)
        state.module.globals[_SYMBOL] = Global(_SYMBOL, u64, len(counts), Space.SHARED, 8)
        with b.if_(state.is_first()):
            for number, count in enumerate(counts):
                b.emit(MbarrierInit(self.barrier(number), b.const(count, u32)))
            b.emit(ProxyFence(shared=self.producer.cluster == 1))
        if self.producer.cluster == 1:
            b.emit(grid.Barrier())
            return
        # A peer copies to this block, and arrives here, only once its mbarriers are there.
        state.module.cluster = self.producer.cluster, 1, 1
        b.emit(ClusterSync())
        self.rank = b.value(ClusterRank())
        for op in self.producer.shared:
            decisions.shared(op.loc, self.producer.cluster)

    def end(self) -> None:
        """Behind the program: the block stays while others copy to it or arrive at it."""
        ops = self.state.b.region.ops
        last = [ops.pop()] if ops and ops[-1].terminator else []
        if self.state.tensor_stores:
            self.state.b.emit(BulkWait(0, True))  # the block's shared memory is read until then
        if self.producer.cluster > 1:
            self.state.b.emit(ClusterSync())
        ops += last

    def _allot(self, site: Site, op: Load, life: tuple[int, int]) -> None:
        """The memory of a load's ring; of two joint ones, both."""
        state, joint = self.state, self.producer.joint
        other = joint.get(op)
        if other is not None:
            site.rings[op], site.rings[other] = _joint_rings(state, (op, other), site.stages, life)
        elif op not in joint.values():
            site.rings[op] = state.ring(op.results[0], False, site.stages, life)

    def _join(self, site: Site, first: Site) -> None:
        """Have the ring of another site."""
        site.barriers = first.barriers
        self.theirs[site], self.ours[site] = self.theirs[first], self.ours[first]
        for op, other in zip(site.loads, first.loads, strict=True):
            site.rings[op], self.maps[op] = first.rings[other], self.maps[other]

    def _ring(self, site: Site) -> _Ring:
        b = self.state.b
        return _Ring(b.variable("stage", i32), b.variable("parity", u32), site.stages)

    def _map(self, op: Load, ring: Storage) -> Value:
        """The parameter that is the map of a load's tensor."""
        known, element = map_of(self.state.placement, op), op.type.element
        assert known is not None and isinstance(element, DType)
        *outer, lines, _ = op.type.shape
        lines //= self._parts(op)
        box = (*outer, min(lines, MOST_SPAN), ring.swizzle // element.size)
        nan = op.padding is tile_memory.Padding.NANS
        return map_param(self.state, known, element, box, ring.swizzle, nan)

    # ---- mbarriers

    def barrier(self, number: int, stage: Value | None = None) -> Value:
        """The place of an mbarrier: of one for each stage, that of a stage."""
        b = self.state.b
        start = b.value(memory.GlobalAddress(_SYMBOL, pointer(u64, Space.SHARED)))
        index = b.const(number, i32)
        return b.offset(start, index if stage is None else b.add(stage, index))

    def wait(self, barrier: Value, parity: Value) -> None:
        """Wait until the phase of a parity is complete."""
        b = self.state.b
        with b.loop():
            b.emit(grid.RunOthers())
            b.break_if(b.value(MbarrierPassed(barrier, parity, True, True)))

    def arrive(self, barrier: Value, bytes_: int = 0) -> None:
        """Count this thread, and bytes that are to arrive."""
        b = self.state.b
        one, more = b.const(1, u32), b.const(bytes_, u32)
        b.emit(MbarrierArrive(barrier, one, more, bool(bytes_)))

    def next(self, ring: _Ring) -> tuple[Value, Value]:
        """The next stage of a side and the parity of its phase; the one behind it is the next."""
        b = self.state.b
        slot, parity = b.read(ring.slot), b.read(ring.parity)
        following = b.add(slot, b.const(1, i32))
        wraps = b.eq(following, b.const(ring.stages, i32))
        b.write(ring.slot, b.select(wraps, b.const(0, i32), following))
        b.write(ring.parity, self.other(parity, wraps))
        return slot, parity

    def other(self, parity: Value, wraps: Value | None = None) -> Value:
        """The other parity, if some condition holds."""
        b = self.state.b
        one = b.const(1, u32)
        changed = b.value(arith.Xor(parity, one))
        return changed if wraps is None else b.select(wraps, changed, parity)

    # ---- the program

    def begin(self) -> None:
        """In front of the program."""
        b = self.state.b
        for site in self.producer.sites:
            site.held = b.variable("held", i32)
            b.write(site.held, b.const(-1, i32))

    def _receive(self, site: Site) -> None:
        """At the last load of a site: wait until all have arrived."""
        state = self.state
        slot, parity = self.next(self.theirs[site])
        self.wait(self.barrier(site.barriers, slot), parity)
        site.current = slot
        for op in site.loads:
            state.stored[op.results[0]] = state.stage(site.rings[op], slot)

    def _release(self, site: Site) -> None:
        """Behind the last product that reads a stage: release it, or, if the product is in flight,
        the stage before."""
        state, b = self.state, self.state.b
        assert site.current is not None and site.held is not None
        if site.last not in state.flights:
            self._free(site, site.current)
            return
        self._free_held(site)
        b.write(site.held, site.current)
        loop = state.placement.order.loops(site.last)[-1]
        state.behind.setdefault(loop, []).append(lambda: self._free_last(site))

    def _free_last(self, site: Site) -> None:
        """Behind a loop whose products are awaited."""
        b = self.state.b
        assert site.held is not None
        self._free_held(site)
        b.write(site.held, b.const(-1, i32))

    def _free_held(self, site: Site) -> None:
        b = self.state.b
        assert site.held is not None
        held = b.read(site.held)
        with b.if_(b.value(arith.Ge(held, b.const(0, i32)))):
            self._free(site, held)

    def _free(self, site: Site, slot: Value) -> None:
        """Release a stage: a thread of each warpgroup does, whose warps are all behind the wait of
        the product."""
        b = self.state.b
        lane = b.and_(self.state.thread, b.const(_GROUP - 1, i32))
        bar = self.barrier(site.barriers + site.stages, slot)
        if not self.producer.are_shared(site):
            with b.if_(b.eq(lane, b.const(0, i32))):
                self.arrive(bar)
            return
        with b.if_(b.lt(lane, b.const(self.producer.cluster, i32))):
            b.emit(MbarrierArrivePeer(bar, b.cast(lane, u32), b.const(1, u32)))

    def _pass(self, gate: _Gate) -> None:
        """Behind an op that the producer waits for, once it has seen the one before."""
        state, b = self.state, self.state.b
        with state.where(gate.holds):
            parity = b.read(gate.theirs)
            self.wait(self.barrier(gate.barriers + 1), self.other(parity))
            if state.tensor_stores:
                b.emit(BulkWait(0))
            self._fence()
            self._arrive_everywhere(self.barrier(gate.barriers))
            b.write(gate.theirs, self.other(parity))

    def _fence(self) -> None:
        """Order what a program has written before later copies of boxes, by peers as well."""
        b = self.state.b
        if self.producer.cluster > 1:
            b.emit(grid.Fence(grid.MemoryScope.DEVICE, grid.MemoryOrder.ACQ_REL))
        b.emit(ProxyFence())

    def _arrive_everywhere(self, bar: Value) -> None:
        """Count this thread in all blocks of the cluster. At a gate all producers wait for all
        programs, and these for the producers to have seen the gate before: so no arrival is of a
        later phase."""
        self.arrive(bar)
        b, size = self.state.b, self.producer.cluster
        for step in range(1, size):
            assert self.rank is not None
            rank = b.value(arith.Rem(b.add(self.rank, b.const(step, i32)), b.const(size, i32)))
            b.emit(MbarrierArrivePeer(bar, b.cast(rank, u32), b.const(1, u32)))

    # ---- the producer

    def copy(self, site: Site, values: dict[Value, Value]) -> None:
        """At the last load of a site: copy all to the next stage, once it is released."""
        state = self.state
        slot, parity = self.next(self.ours[site])
        self.wait(self.barrier(site.barriers + site.stages, slot), self.other(parity))
        bar = self.barrier(site.barriers, slot)
        self.arrive(bar, sum(op.type.count * op.type.element.size for op in site.loads))  # type: ignore[union-attr]  # scalars
        for op in site.loads:
            self._boxes(op, state.stage(site.rings[op], slot), bar, values)

    def _boxes(self, op: Load, stage: Storage, bar: Value, values: dict[Value, Value]) -> None:
        """Copy a tile: panels of so many columns as a swizzle has, of up to 256 lines each, or of
        all lines where these have several axes."""
        state, b, element = self.state, self.state.b, op.type.element
        assert isinstance(element, DType) and stage.start is not None
        if op in self.producer.shared:
            self._shared_boxes(op, stage, bar, values)
            return
        *shape, columns = op.type.shape
        lines, width = math.prod(shape), stage.swizzle // element.size
        high = lines if has_axes_of_lines(op.type) else min(lines, MOST_SPAN)
        *outer, row, column = (values.get(each, each) for each in op.starts)
        start = b.offset(state.pointer_to(stage.symbol), stage.start)
        for panel in range(columns // width):
            for part in range(0, lines, high):
                known = b.const(panel * lines * width + part * width, i32)
                box = b.recast(b.offset(start, known), pointer(u8, Space.SHARED))
                place = (
                    b.add(column, b.const(panel * width, i32)),
                    b.add(row, b.const(part, i32)),
                    *reversed(outer),
                )
                b.emit(TensorLoad(box, self.maps[op], bar, place))

    def _parts(self, op: Load) -> int:
        """The boxes of lines of a panel, for a load that programs share."""
        if op not in self.producer.shared:
            return 1
        element = op.type.element
        assert isinstance(element, DType)
        swizzle = swizzle_of(op.type, False)
        return parts_of(op.type.shape, element, swizzle, self.producer.cluster)

    def _shared_boxes(
        self, op: Load, stage: Storage, bar: Value, values: dict[Value, Value]
    ) -> None:
        """Copy this program's part of a tile to all of the cluster: some of its panels, or some
        lines of each."""
        state, b, element = self.state, self.state.b, op.type.element
        assert isinstance(element, DType) and stage.start is not None and self.rank is not None
        size, parts = self.producer.cluster, self._parts(op)
        lines, columns = op.type.shape[-2:]
        width, own_lines = stage.swizzle // element.size, lines // parts
        panels, high = columns // width, min(own_lines, MOST_SPAN)
        of_panels = panels * parts // size
        *outer, row, column = (values.get(each, each) for each in op.starts)
        start = b.offset(state.pointer_to(stage.symbol), stage.start)
        first_panel = first_line = b.const(0, i32)
        if parts == 1:
            first_panel = b.mul(self.rank, b.const(of_panels, i32))
        else:
            first_line = b.mul(self.rank, b.const(own_lines, i32))
        start = b.offset(start, b.mul(first_panel, b.const(lines * width, i32)))
        start = b.offset(start, b.mul(first_line, b.const(width, i32)))
        row = b.add(row, first_line)
        column = b.add(column, b.mul(first_panel, b.const(width, i32)))
        blocks = b.const((1 << size) - 1, u32)
        for panel in range(of_panels):
            for part in range(0, own_lines, high):
                known = b.const(panel * lines * width + part * width, i32)
                box = b.recast(b.offset(start, known), pointer(u8, Space.SHARED))
                place = (
                    b.add(column, b.const(panel * width, i32)),
                    b.add(row, b.const(part, i32)),
                    *reversed(outer),
                )
                b.emit(TensorMulticast(box, self.maps[op], bar, blocks, place))

    def await_(self, gate: _Gate) -> None:
        """Where the program may write what is loaded later: wait for it."""
        state, b = self.state, self.state.b
        with state.where(gate.holds):
            parity = b.read(gate.ours)
            self.wait(self.barrier(gate.barriers), parity)
            self._fence()
            self._arrive_everywhere(self.barrier(gate.barriers + 1))
            b.write(gate.ours, self.other(parity))


def _joint_rings(
    state: State, loads: tuple[Load, Load], stages: int, life: tuple[int, int]
) -> tuple[Storage, Storage]:
    """Rings of two tiles, of which each stage of the second is behind that of the first."""
    first, second = (Storage(op.type, False, swizzle=swizzle_of(op.type, False)) for op in loads)
    pitch = first.count + second.count
    symbol = state.arrays.allot(first.type.element, stages * pitch, life, ALIGN)
    for each in (first, second):
        each.symbol, each.pitch = symbol, pitch
    second.skip = first.count
    return first, second


def _nothing() -> None:
    """A load that arrives with a later one."""


class _Slice:
    """Emits the producer's part of a program."""

    def __init__(self, code: _Code, labels: Labels) -> None:
        self.code, self.labels = code, labels
        self.values: dict[Value, Value] = {}
        self.variables: dict[Var, Var] = {}
        self.scopes: dict[int, int] = {}

    def region(self, region: Region) -> None:
        """The part of a region."""
        code, b = self.code, self.code.state.b
        for op in region.ops:
            b.loc = op.loc
            if op in code.producer.ops:
                self._op(op)
            site = code.producer.site_of(op)
            if site is not None:
                code.copy(site, self.values)
            if op in code.gates:
                code.await_(code.gates[op])

    def _op(self, op: Op) -> None:
        b = self.code.state.b
        if isinstance(op, grid.ThreadIdx | grid.BlockDim):
            self.values[op.results[0]] = b.const(int(isinstance(op, grid.BlockDim)), i32)
            return
        if isinstance(op, memory.ReadVar | memory.WriteVar) and op.var not in self.variables:
            self.variables[op.var] = b.variable(op.var.name, op.var.type)
        if not op.REGION_FIELDS:
            copy = clone_op(op, self.values, self.variables)
            if isinstance(copy, control.Leave):
                copy.target = self.scopes.get(copy.target, 0)
            b.region.ops.append(copy)
            return
        copy = self._construct(op)
        b.emit(copy)
        for old, new in zip(op.regions(), copy.regions(), strict=True):
            with b.inside(new):
                self.region(old)

    def _construct(self, op: Op) -> Op:
        if isinstance(op, control.If):
            return control.If(self.values.get(op.condition, op.condition), Region(), Region())
        if isinstance(op, control.Loop):
            return control.Loop(Region(), Region(), op.unroll)
        assert isinstance(op, control.ScopeOp)
        if op.label:
            self.scopes[op.label] = self.labels.fresh()
        return control.ScopeOp(Region(), self.scopes.get(op.label, 0))
