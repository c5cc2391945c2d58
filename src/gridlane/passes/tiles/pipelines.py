"""Loads of loops, some iterations ahead: asynchronous copies into a ring of stages.

A loop qualifies whose body begins with the test that ends it, and which has no other exit. Loads
qualify that are factors of products, in the body itself, by vectors; whose addresses and masks are
computed of what does not change in the loop and of variables that advance by the same step in each
iteration, so that those of a later iteration are known; and that no store of the loop overwrites.

One barrier an iteration orders both directions: behind it all copies of this iteration have arrived
for all threads, and no thread reads the stage any more that the next copies fill.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

from gridlane.core.dtypes import DType, i32
from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import arith, control, copies, memory, tiles
from gridlane.ir.types import TileType
from gridlane.ir.values import Region, Value, Var
from gridlane.passes.tiles import decisions
from gridlane.passes.tiles.chunks import copy_chunks, held_chunks
from gridlane.passes.tiles.elements import type_of
from gridlane.passes.tiles.fragment_products import patch_bytes
from gridlane.passes.tiles.placement import Placement
from gridlane.passes.tiles.shared import Life, life_of
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.widths import Chunks, chunks_of


@dataclass(slots=True)
class Pipeline:
    """A loop and its loads.

    Attributes:
        end: the condition that ends it.
        loads: and how each is divided.
        scalars: ops of the loop that addresses, masks and the condition are computed of, in order.
        steps: what variables among them advance by.
        counters: those that the condition is computed of; they advance by positive constants.
        stages: of the ring.
        late: a product by warpgroups starts the copies, while it runs.
        held: what loads without asynchronous copies hold in registers (``prefetches.py``).
        flies: a product is in flight while the next iteration begins, and reads the stage before.
    """

    loop: control.Loop
    end: Value
    loads: dict[Op, Chunks]
    scalars: list[Op]
    steps: dict[Var, Value]
    counters: frozenset[Var]
    stages: int = 0
    slot: Var | None = None
    rings: dict[Op, Storage] = field(default_factory=dict[Op, Storage])
    started: bool = False
    late: bool = False
    flies: bool = False
    held: dict[Op, list[Var]] = field(default_factory=dict[Op, list[Var]])

    @property
    def ahead(self) -> int:
        """How many iterations ahead copies start."""
        return self.stages - 1 - self.flies


IN_FLIGHT = 4
"""The fewest stages with which products are left in flight: one is theirs, and two are copied."""


# ---- which loops


def pipeline_of(state: State, loop: control.Loop) -> Pipeline | None:
    """The pipeline of a loop; None where nothing in it qualifies."""
    placement, wanted = state.placement, state.module.program_stages
    end = end_of(loop)
    if wanted < 2 or not state.machine.factors or end is None:
        return None
    finder = Finder(placement, loop)
    if not finder.scalar(end) or not all(map(_is_positive, finder.steps.values())):
        return None
    pipeline = Pipeline(loop, end, {}, [], {}, frozenset(finder.steps))
    for op in loop.body.ops:
        result = op.results[0] if op.results else None
        wanted_here = result in placement.padded and op not in state.rings
        wanted_here = wanted_here and op not in placement.transposed
        chunks = chunks_of(state.contiguity, op) if wanted_here else None
        if chunks is not None and _is_kept(placement, loop, op) and finder.operands(op):
            pipeline.loads[op] = chunks
    if not pipeline.loads or not finder.steady([*pipeline.loads]):
        return None
    pipeline.scalars = sorted(finder.ops, key=placement.order.number.__getitem__)
    pipeline.steps = finder.steps
    pipeline.stages = _stages(state, pipeline, wanted)
    if state.machine.opaque:  # one stage is enough, as registers hold the next tiles
        held = {op: held_chunks(state, op, chunks) for op, chunks in pipeline.loads.items()}
        pipeline.held = {op: each for op, each in held.items() if each is not None}
        pipeline.stages = min(2, pipeline.stages)
        return pipeline if pipeline.stages and len(pipeline.held) == len(held) else None
    return pipeline if pipeline.stages > 1 else None


def end_of(loop: control.Loop) -> Value | None:
    """The condition of a loop's only exit, in front of everything that has effects."""
    end: Value | None = None
    for op in loop.body.ops:
        if isinstance(op, control.If):
            only = [type(each) for each in op.then.ops] == [control.Break] and not op.orelse.ops
            end = op.condition if only else None
            break
        if not op.pure and not isinstance(op, memory.ReadVar):
            return None
    exits = (control.Break, control.Continue, control.Leave, control.Return, control.Raise)
    count = sum(isinstance(op, exits) for part in loop.regions() for op in _own(part))
    return end if count == 1 else None


def _is_positive(step: Value) -> bool:
    return isinstance(step.op, arith.Const) and step.op.value > 0


def _own(region: Region) -> list[Op]:
    """The ops of a region, and the exits of what is inside of it that may leave it."""
    result: list[Op] = []
    for op in region.ops:
        result.append(op)
        for inner in op.regions():
            held = _own(inner)
            if isinstance(op, control.Loop):
                held = [
                    each for each in held if not isinstance(each, control.Break | control.Continue)
                ]
            result += held
    return result


def _is_kept(placement: Placement, loop: control.Loop, op: Op) -> bool:
    """Whether memory that a load reads stays as it is during a loop."""
    stores = placement.order.effects(loop).stores
    return not any(placement.provenance.may_meet(op, each) for each in stores)


class Finder:
    """Collects what addresses are computed of."""

    def __init__(self, placement: Placement, loop: control.Loop) -> None:
        self.placement, self.loop = placement, loop
        self.ops: dict[Op, None] = {}
        self.steps: dict[Var, Value] = {}
        self._tiles: dict[Op, bool] = {}

    def operands(self, op: Op) -> bool:
        """Whether all operands of a load are known for later iterations."""
        return all([self.value(each) for each in op.operands()])

    def value(self, value: Value) -> bool:
        """Whether a tile or a scalar is known for later iterations."""
        return self._tile(value) if isinstance(value.type, TileType) else self.scalar(value)

    def _inside(self, op: Op) -> bool:
        return self.loop in self.placement.order.loops(op)

    def _tile(self, value: Value) -> bool:
        op = value.op
        if op is None or value in self.placement.stored or isinstance(op, memory.ReadVar):
            return op is None or (value in self.placement.stored and not self._inside(op))
        if op not in self._tiles:
            plain = isinstance(op, _SHAPES)
            self._tiles[op] = plain and all([self.value(each) for each in op.operands()])
        return self._tiles[op]

    def scalar(self, value: Value) -> bool:
        """Whether a scalar is known for later iterations."""
        op = value.op
        if op is None or not self._inside(op) or op in self.ops:
            return True
        if isinstance(op, memory.ReadVar):
            known = self._variable(op.var)
        else:
            known = op.pure and not op.REGION_FIELDS
            known = known and all([self.scalar(each) for each in op.operands()])
        if known:
            self.ops[op] = None
        return known

    def _variable(self, var: Var) -> bool:
        """Whether a variable advances by one step in each iteration, or not at all."""
        writes = self._writes(var)
        if not writes:
            return True
        total = writes[0].value.op
        direct = self.placement.order.path[writes[0]][-1][1] in (self.loop.body, self.loop.step)
        if len(writes) > 1 or not direct or not isinstance(total, arith.Add):
            return False
        for before, step in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
            read = before.op
            if isinstance(read, memory.ReadVar) and read.var is var and self._fixed(step):
                self.steps[var] = step
                return self._inside(read)
        return False

    def _fixed(self, value: Value) -> bool:
        """Whether a scalar is the same in each iteration."""
        op = value.op
        if op is None or not self._inside(op):
            return True
        plain = op.pure and not op.REGION_FIELDS and not isinstance(op, memory.ReadVar)
        return plain and all([self._fixed(each) for each in op.operands()])

    def _writes(self, var: Var) -> list[memory.WriteVar]:
        return [
            op
            for op in self.placement.order.ops
            if isinstance(op, memory.WriteVar) and op.var is var and self._inside(op)
        ]

    def steady(self, loads: list[Op]) -> bool:
        """Whether variables change behind all loads and all that reads them, so that they have
        their values of this iteration there."""
        number = self.placement.order.number
        last = max(map(number.__getitem__, [*loads, *self.ops]))
        for var in self.steps:
            if any(number[write] < last for write in self._writes(var)):
                return False
        return True


_SHAPES = (
    tiles.TileSplat,
    tiles.TileIota,
    tiles.TileMap,
    tiles.TileBroadcast,
    tiles.TileReshape,
    tiles.TileTranspose,
)


def _stages(state: State, pipeline: Pipeline, wanted: int) -> int:
    """The stages that fit into shared memory beside all tiles there; those whose lives do not meet
    the loop's have the memory of the ring."""
    placement, order = state.placement, state.placement.order
    results = {op.results[0]: type_of(op.results[0]).element for op in pipeline.loads}
    rings = sorted([_bytes(state, value) for value in results], reverse=True)
    first, last = order.number[pipeline.loop], order.last[pipeline.loop]
    others, outside = 0, list[tuple[Life, int]]()
    for value, own in placement.stored.items():
        if own or value in results:
            continue
        life = life_of(placement, value)
        if (life[1] < first or last < life[0]) and type_of(value).element in results.values():
            outside.append((life, _bytes(state, value)))
        else:
            others += _bytes(state, value)
    others += sum((n - 1) * _bytes(state, op.results[0]) for op, n in state.rings.items())
    others += sum(_size(var.type) for var, own in placement.variables.items() if not own)
    if state.machine.opaque:
        others += patch_bytes(state.threads)
    for stages in range(wanted, 0, -1):
        if others + _most([stages * each for each in rings], outside) <= state.machine.shared:
            return stages
    return 0


def _most(rings: list[int], outside: list[tuple[Life, int]]) -> int:
    """The bytes of rings and of tiles that have their memory at other times."""
    most = sum(rings)
    for (start, _), _ in outside:
        now = [size for (first, last), size in outside if first <= start <= last]
        pairs = zip_longest(rings, sorted(now, reverse=True), fillvalue=0)
        most = max(most, sum(map(max, pairs)))
    return most


def _size(type_: object) -> int:
    assert isinstance(type_, TileType)
    element = type_.element
    size = element.size if isinstance(element, DType) else 8
    return -(-type_.count * size // 16) * 16


def _bytes(state: State, value: Value) -> int:
    type_ = type_of(value)
    pad = state.placement.padded.get(value, 0)
    lines = type_.count // min(type_.shape[-2:]) if pad else 0
    element = type_.element
    size = element.size if isinstance(element, DType) else 8
    return -(-(type_.count + lines * pad) * size // 16) * 16


# ---- their code


def begin(state: State, pipeline: Pipeline) -> None:
    """In front of the loop: start the copies of the first iterations."""
    b, order = state.b, state.placement.order
    life = order.number[pipeline.loop], order.last[pipeline.loop]
    pipeline.late = _has_group_product(state, pipeline)
    pipeline.slot = b.variable("stage", i32)
    b.write(pipeline.slot, b.const(0, i32))
    decisions.pipeline(pipeline.loop.loc, len(pipeline.loads), pipeline.stages)
    for op, chunks in pipeline.loads.items():
        value = op.results[0]
        decisions.stored(state.machine, type_of(value), op.loc, 0, pipeline.stages)
        pipeline.rings[op] = state.ring(value, not chunks.axis, pipeline.stages, life)
        state.ahead[op] = partial(_advance, state, pipeline)
    for distance in range(pipeline.ahead):
        with state.together():
            for ring in pipeline.rings.values():
                state.touch(ring.symbol, True)
            _prepared(state, pipeline, distance, b.const(distance, i32))()


def _advance(state: State, pipeline: Pipeline) -> None:
    """At the first load of an iteration: wait for its copies, and start those of a later one."""
    if pipeline.started:
        return
    pipeline.started = True
    b, ahead = state.b, pipeline.ahead
    assert pipeline.slot is not None
    slot = b.read(pipeline.slot)
    b.emit(copies.AsyncWait(ahead - 1))
    state.meet()
    back = pipeline.stages - ahead
    wraps = b.lt(slot, b.const(back, i32))
    target = b.add(slot, b.select(wraps, b.const(ahead, i32), b.const(-back, i32)))
    start = _prepared(state, pipeline, ahead, target)
    if pipeline.late:
        state.late = start  # while the products run, which read none of the stage that it fills
    else:
        with state.together():
            start()
    for op, ring in pipeline.rings.items():
        state.stored[op.results[0]] = state.stage(ring, slot)


def step(state: State, pipeline: Pipeline) -> None:
    """Between two iterations: the next stage."""
    b = state.b
    assert pipeline.slot is not None
    following = b.add(b.read(pipeline.slot), b.const(1, i32))
    wraps = b.eq(following, b.const(pipeline.stages, i32))
    b.write(pipeline.slot, b.select(wraps, b.const(0, i32), following))


def _has_group_product(state: State, pipeline: Pipeline) -> bool:
    """Whether warpgroups compute a product in the loop itself, behind all of its loads."""
    placement, number = state.placement, state.placement.order.number
    last = max(map(number.__getitem__, pipeline.loads))
    for op in pipeline.loop.body.ops:
        schedule = placement.products.get(op)
        if schedule is not None and schedule.groups and number[op] > last:
            return op.results[0] in placement.stored
    return False


def _prepared(state: State, pipeline: Pipeline, distance: int, slot: Value) -> Callable[[], None]:
    """What starts the copies of the iteration some behind the current one, if there is one, with
    its scalars as they are now."""

    def copy(op: Op, chunks: Chunks) -> None:
        copy_chunks(state, op, chunks, state.stage(pipeline.rings[op], slot), True)

    start = prepared(state, pipeline, distance, copy)

    def start_all() -> None:
        start()
        state.b.emit(copies.AsyncCommit())

    return start_all


def prepared(
    state: State,
    pipeline: Pipeline,
    distance: int,
    load: Callable[[Op, Chunks], None],
    always: bool = False,
) -> Callable[[], None]:
    """What loads for the iteration some behind the current one, if there is one, with its scalars
    as they are now.

    Args:
        always: for this iteration again if there is none, so that no branch is around the loads.
    """
    b, saved, memo = state.b, dict(state.values), state.memo
    state.memo = {}
    rises = advanced(state, pipeline, distance)
    runs = b.not_(state.of(pipeline.end))
    for each in rises:  # a counter that wraps is past every end
        runs = b.and_(runs, each)
    if always:
        state.values = dict(saved)
        advanced(state, pipeline, distance, runs)
    later, state.values, state.memo = state.values, saved, memo

    def start() -> None:
        before, held = state.values, state.memo
        state.values = later
        with state.where(None if always else runs):
            for op, chunks in pipeline.loads.items():
                state.memo = {}
                load(op, chunks)
        state.values, state.memo = before, held

    return start


def advanced(
    state: State, pipeline: Pipeline, distance: int, runs: Value | None = None
) -> list[Value]:
    """Set scalars to what they are some iterations later, or, unless one runs then, to what they
    are; the result is whether each counter has risen."""
    b, rises = state.b, list[Value]()
    for op in pipeline.scalars:
        if isinstance(op, memory.ReadVar):
            now = value = b.read(op.var)
            by = pipeline.steps.get(op.var)
            if by is not None and distance:
                assert isinstance(value.type, DType)
                step = b.mul(_step_of(state, pipeline, by), b.const(distance, value.type))
                if runs is not None:
                    step = b.select(runs, step, b.const(0, value.type))
                value = b.add(now, step)
                if op.var in pipeline.counters:
                    rises.append(b.value(arith.Gt(value, now)))
            state.values[op.results[0]] = value
        else:
            copy = clone_op(op, dict(state.values), {})
            b.region.ops.append(copy)
            state.values.update(zip(op.results, copy.results, strict=True))
    return rises


def _step_of(state: State, pipeline: Pipeline, value: Value) -> Value:
    """A step, which ops of the loop may compute."""
    op = value.op
    if op is None or pipeline.loop not in state.placement.order.loops(op):
        return state.of(value)
    operands = {each: _step_of(state, pipeline, each) for each in op.operands()}
    copy = clone_op(op, operands, {})
    state.b.region.ops.append(copy)
    return copy.results[op.results.index(value)]
