"""Emits the plan of a kernel: the skeleton once per block, each segment as a loop over chunks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from gridlane.analysis.crossings import Crossings
from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu import control as flow
from gridlane.codegen.llvm.cpu import leaving
from gridlane.codegen.llvm.cpu.dispatch import emit_op
from gridlane.codegen.llvm.cpu.lanes import Emission, Placed, Scratch, Uniform
from gridlane.codegen.llvm.cpu.masked_exits import masked_exits
from gridlane.codegen.llvm.cpu.memory import aligned, array_bytes
from gridlane.codegen.llvm.cpu.plan import Plan, Planner, Segment, Skeleton
from gridlane.codegen.llvm.cpu.registers import MAKERS, registers_of
from gridlane.codegen.llvm.cpu.shapes import VARYING
from gridlane.codegen.llvm.text import vector_constant, widen
from gridlane.core.config import config
from gridlane.core.dtypes import b1
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.values import Value, Var

_MASK = VARYING
_CHEAP = 6
"""A value needed in another segment is recomputed there if that takes at most this many ops."""

_MOST_STACK = 64 << 10
"""The most bytes of local arrays, of all lanes, on the stack of a thread, which may be small."""


class Blocks:
    """Emission of one block's work.

    Attributes:
        masks: scratch of the masks of the current region of the skeleton.
        alive: scratch of the lanes that have not returned, if segments share it.
    """

    def __init__(self, state: Emission, planner: Planner) -> None:
        self.state = state
        self.planner = planner
        self.masks: list[Placed] = []
        self.alive: Placed | None = None
        self.loops: dict[Op, tuple[Placed | None, Placed | None]] = {}
        self.crossings = Crossings(state.shapes.function.body)
        self.masked = masked_exits(state.shapes.places, planner)
        self.segments = list(dict.fromkeys(planner.segment_of.values()))
        self.several = len(planner.plan) > 1 or not all(
            isinstance(item, Segment) for item in planner.plan
        )
        self.places: dict[Var, Scratch] = {}
        self.array_places: dict[Op, tuple[int, int]] = {}
        self._costs: dict[Value, int] = {}
        self._users()
        self._variables()

    # ---- values across segments

    def _users(self) -> None:
        """Find the values that a segment defines and ops outside of it use."""
        segment_of = self.planner.segment_of
        self.needs: dict[Segment, dict[Value, None]] = {s: {} for s in self.segments}
        matrices: dict[Op, None] = {}
        for op in self.state.shapes.places.order:
            home = segment_of.get(op)
            for value in op.operands():
                if value.op is None or (home is None and value.op in self.planner.scalar):
                    continue
                source = segment_of.get(value.op)
                if source is home and home is not None:
                    continue
                if source is not None and isinstance(value.op, MAKERS):
                    matrices[value.op] = None
                elif source is not None and not self._recomputable(value):
                    self._cross(value)
                if home is not None and source is not None:
                    self.needs[home][value] = None
        if matrices:
            registers_of(self.state).cross(self.state, matrices)

    def _cross(self, value: Value) -> None:
        if value not in self.state.crossing:
            shape = self.state.shapes.of(value)
            self.state.crossing[value] = self.state.place(value.type, shape)

    def _recomputable(self, value: Value) -> bool:
        """Whether a value takes few ops to compute from values that are available everywhere."""
        return self._cost(value) <= _CHEAP

    def _cost(self, value: Value) -> int:
        if value not in self._costs:
            self._costs[value] = self._measure(value)
        return self._costs[value]

    def _measure(self, value: Value) -> int:
        op = value.op
        if op is None or op in self.planner.scalar:
            return 0
        if not op.pure or isinstance(op, arith.Div | arith.Rem):
            return _CHEAP + 1
        if op not in self.planner.segment_of:
            return 0
        return 1 + sum(self._cost(operand) for operand in op.operands())

    def _variables(self) -> None:
        """Allocate the memory of every variable: block-wide, crossing segments, or local to one."""
        state, planner = self.state, self.planner
        homes: dict[Var, set[Segment | None]] = {}
        for op in state.shapes.places.order:
            if isinstance(op, memory.ReadVar | memory.WriteVar):
                homes.setdefault(op.var, set()).add(planner.segment_of.get(op))
        for var in state.shapes.function.variables:
            if var not in homes:
                continue
            shape = state.shapes.variables[var]
            if var in planner.block_variables:
                state.variables[var] = state.reserve(var.type, shape)
                continue
            zeroed = var in state.shapes.places.zeroed
            if len(homes[var]) > 1 or (zeroed and self.several):
                self.places[var] = state.place(var.type, shape)
            state.variables[var] = state.reserve(var.type, shape)
        self._arrays()

    def _arrays(self) -> None:
        """Allocate scratch for local arrays: of all chunks where segments share them, of one where
        they are too large for the stack, or need more alignment than it has."""
        state = self.state
        arrays = [op for op in state.shapes.places.order if isinstance(op, memory.LocalArray)]
        sizes = [-(-array_bytes(state, op) // 64) * 64 + self._spare(op) for op in arrays]
        most = 0 if any(map(self._spare, arrays)) else _MOST_STACK
        if not self.several and sum(sizes) <= most:
            return
        for op, size in zip(arrays, sizes, strict=True):
            if self.several or state.turns:
                self.array_places[op] = state.take(size)
            else:
                offset = -(-state.scratch // 64) * 64
                self.array_places[op] = offset, 0
                state.scratch = offset + size

    def _spare(self, op: memory.LocalArray) -> int:
        """Bytes that an array's start may move up by, as scratch is a multiple of 64."""
        interleaved = op.results[0] in self.state.shapes.interleaved
        return 0 if interleaved else max(0, op.align - 64)

    # ---- the block

    def emit(self) -> None:
        """Emit the whole plan."""
        state = self.state
        returns = any(
            isinstance(op, control.Return | control.Raise) for op in state.shapes.places.order
        )
        if returns and self.several:
            self.alive = self._mask_place()
            with self.each_chunk():
                self._store_mask(self.alive, self._first_mask())
        for var in state.shapes.places.zeroed:
            if var in self.planner.block_variables:
                state.keep(state.variables[var], state.zero(var.type), var.type)
        zeroed = [var for var in self.places if var in state.shapes.places.zeroed]
        if zeroed:
            with self.each_chunk():
                for var in zeroed:
                    state.keep(state.placed(self.places[var]), state.zero(var.type), var.type)
        self.plan(self.planner.plan)

    def plan(self, plan: Plan) -> None:
        """Emit the items of a plan in order."""
        start = self.state.body.here()
        for item in plan:
            if not self.state.open:
                return
            start = self.state.body.cut(start)
            if isinstance(item, Segment):
                self.segment(item)
            else:
                self.skeleton(item)

    @contextmanager
    def each_chunk(self) -> Generator[str]:
        """Emit a loop over the chunks of the block; yields the label at its end, to which code that
        ends early jumps."""
        state, body = self.state, self.state.body
        end = body.label("chunk_end")
        count = state.layout.chunks
        if count == 1 or state.turns:
            state.known["chunk"] = "%chunk" if state.turns else "0"
            yield end
            body.branch(end)
            body.start(end)
            return
        counter = body.alloca("i32")
        head, done = body.label("chunk"), body.label("chunks")
        body.do(f"store i32 0, ptr {counter}")
        body.branch(head)
        body.start(head)
        state.known["chunk"] = body.op(f"load i32, ptr {counter}", "chunk")
        yield end
        body.branch(end)
        body.start(end)
        following = body.op(f"add nuw nsw i32 {state.known['chunk']}, 1")
        body.do(f"store i32 {following}, ptr {counter}")
        more = body.op(f"icmp ult i32 {following}, {count}")
        body.branch_if(more, head, done)
        body.start(done)

    # ---- masks of chunks

    def _mask_place(self) -> Placed:
        place = self.state.place(b1, _MASK)
        assert isinstance(place, Placed)
        return place

    def _store_mask(self, place: Placed, mask: str | None) -> None:
        state = self.state
        address = state.chunk_address(place.offset, place.distance)
        value = mask if mask is not None else "splat (i1 true)"
        state.body.do(f"store {state.mask_type} {value}, ptr {address}")

    def _load_mask(self, place: Placed) -> str:
        address = self.state.chunk_address(place.offset, place.distance)
        return self.state.body.op(f"load {self.state.mask_type}, ptr {address}")

    def _first_mask(self) -> str | None:
        """The lanes of the chunk that have a thread."""
        state, layout = self.state, self.state.layout
        if not layout.partial:
            return None
        if layout.chunks == 1:
            lanes = ["true" if lane < layout.threads else "false" for lane in range(state.lanes)]
            return vector_constant(lanes, "i1")
        vector = widen("i32", state.lanes)
        first = state.body.op(f"mul i32 {state.known['chunk']}, {state.lanes}")
        left = state.body.op(f"sub i32 {layout.threads}, {first}")
        lanes = vector_constant(range(state.lanes), "i32")
        return state.body.op(f"icmp slt {vector} {lanes}, {state.broadcast(left, 'i32')}")

    def current_mask(self) -> str | None:
        """The running lanes of the current chunk in the current region of the skeleton."""
        mask_places = [*self.masks, *([self.alive] if self.alive else [])]
        mask = None if mask_places else self._first_mask()
        for place in mask_places:
            mask = self.state.both(mask, self._load_mask(place))
        return mask

    # ---- segments

    def segment(self, segment: Segment) -> None:
        """Emit one segment: a loop over the chunks."""
        state, body = self.state, self.state.body
        accessed = self._accessed(segment)
        with self.each_chunk() as end:
            state.mask = self.current_mask()
            started = state.started = state.mask
            if state.mask is not None and (self.masks or self.alive):
                run = body.label("run")
                body.branch_if(state.any(state.mask), run, end)
                body.start(run)
            supplied = self._enter(segment, accessed)
            finish = body.label("finish")
            state.exits[None, "breaks"] = finish
            flow.emit_ops(state, segment.ops, finish)
            if state.open:
                body.branch(finish)
            state.open = True
            body.start(finish)
            self._leave(accessed, started)
        state.stale.update(value for op in _walk(segment.ops) for value in op.results)
        state.stale.update(supplied)
        state.mask = None

    def _enter(self, segment: Segment, accessed: dict[Var, bool]) -> set[Value]:
        """Fetch the values and variables that the segment needs; returns the values."""
        state = self.state
        leaving.begin(state)
        if self.alive or state.shapes.exits[None].breaks >= Kind.LINEAR:
            leaving.enter(state, (None, "breaks"), state.mask)
        for var in accessed:
            if var in self.places:
                rep = state.fetch(state.placed(self.places[var]), var.type)
                state.keep(state.variables[var], rep, var.type)
            elif var in state.shapes.places.zeroed:
                state.keep(state.variables[var], state.zero(var.type), var.type)
        for op, (offset, distance) in self.array_places.items():
            assert isinstance(op, memory.LocalArray)
            spare = self._spare(op)
            start = state.chunk_address(offset + spare, distance)
            state.arrays[op] = aligned(state, start, op.align) if spare else start
        new_values: set[Value] = set()
        for value in self.needs[segment]:
            self._supply(value, new_values)
        return new_values

    def _supply(self, value: Value, supplied: set[Value]) -> None:
        """Make a value of another segment available in this chunk."""
        state, op = self.state, value.op
        if value in supplied or op is None or op not in self.planner.segment_of:
            return
        slot = state.crossing.get(value)
        if isinstance(op, MAKERS):
            supplied.update(registers_of(state).enter(state, op))
        if value in supplied:
            return
        supplied.add(value)
        if slot is not None:
            state.set(value, state.fetch(state.placed(slot), value.type))
            return
        for operand in op.operands():
            self._supply(operand, supplied)
        emit_op(state, op)

    def _accessed(self, segment: Segment) -> dict[Var, bool]:
        """The variables that a segment accesses, and whether it writes them."""
        accessed: dict[Var, bool] = {}
        for op in _walk(segment.ops):
            if isinstance(op, memory.ReadVar):
                accessed.setdefault(op.var, False)
            elif isinstance(op, memory.WriteVar):
                accessed[op.var] = True
        return {var: w for var, w in accessed.items() if var not in self.planner.block_variables}

    def _leave(self, accessed: dict[Var, bool], before: str | None) -> None:
        """Write back the variables and masks that the segment changed."""
        state = self.state
        for var, written in accessed.items():
            if written and var in self.places:
                rep = state.fetch(state.variables[var], var.type)
                state.keep(state.placed(self.places[var]), rep, var.type)
        if self.alive is not None:
            left = leaving.kept(state, (None, "breaks"), before)
            old = self._load_mask(self.alive)
            kept = state.both(old, left) if before is None else self._merged(old, left, before)
            self._store_mask(self.alive, kept)

    def _merged(self, old: str, left: str, before: str) -> str:
        """The live lanes: those that the segment did not run, and those that remain after it."""
        state = self.state
        idle = state.without(old, before)
        return state.body.op(f"or {state.mask_type} {idle}, {left}")

    # ---- the skeleton

    def skeleton(self, item: Skeleton) -> None:
        """Emit one op of the skeleton."""
        state, op = self.state, item.op
        state.mask = None
        if isinstance(op, grid.Barrier):
            state.body.do('fence syncscope("singlethread") seq_cst')
        elif isinstance(op, grid.BarrierReduce):
            self._reduce(op)
        elif isinstance(op, grid.RunOthers):
            state.set(op.results[0], Uniform(str(config().spin_milliseconds)))
        elif isinstance(op, control.If):
            self._if(item, op)
        elif isinstance(op, control.Loop):
            self._loop(item, op)
        elif isinstance(op, control.ScopeOp):
            self._scope(item, op)
        elif op.terminator:
            self._exit(op)
        else:
            emit_op(state, op)

    def _value_in_chunk(self, value: Value) -> str:
        """A predicate in the current chunk."""
        if value.op is not None and value.op in self.planner.segment_of:
            self._supply(value, set())
        return self.state.vector(value)

    def _reduce(self, op: grid.BarrierReduce) -> None:
        """Count the lanes whose predicate is true, over all chunks."""
        state, body = self.state, self.state.body
        yes, total = body.alloca("i32"), body.alloca("i32")
        for counter in (yes, total):
            body.do(f"store i32 0, ptr {counter}")
        with self.each_chunk():
            mask = self.current_mask()
            holds = state.both(self._value_in_chunk(op.predicate), mask)
            assert holds is not None
            self._count(yes, holds)
            if mask is not None:
                self._count(total, mask)
        count = body.op(f"load i32, ptr {yes}")
        if op.kind is not grid.Reduction.COUNT:
            everyone = str(state.layout.threads)
            if self.masks or self.alive or state.layout.partial:
                everyone = body.op(f"load i32, ptr {total}")
            wanted = (
                f"eq i32 {count}, {everyone}"
                if op.kind is grid.Reduction.ALL
                else f"ne i32 {count}, 0"
            )
            count = body.op(f"zext i1 {body.op(f'icmp {wanted}')} to i32")
        state.set(op.results[0], Uniform(count))

    def _count(self, counter: str, mask: str) -> None:
        """Add the number of lanes of a mask."""
        state, body = self.state, self.state.body
        width = f"i{state.lanes}"
        ones = body.intrinsic("ctpop", width, 0, [state.bits(mask)])
        more = state.as_i32(ones, state.lanes)
        old = body.op(f"load i32, ptr {counter}")
        body.do(f"store i32 {body.op(f'add i32 {old}, {more}')}, ptr {counter}")

    def _if(self, item: Skeleton, op: control.If) -> None:
        """Emit a branch of the block, or masks where the condition may diverge."""
        if item.uniform:
            condition = self.state.uniform(op.condition)
            self._branch(condition, item.regions, (None, None))
            return
        then, orelse = self._mask_place(), self._mask_place()
        state = self.state
        with self.each_chunk():
            mask = self.current_mask()
            condition = self._value_in_chunk(op.condition)
            self._store_mask(then, state.both(mask, condition))
            self._store_mask(orelse, state.without(mask, condition))
        if self.planner.agrees(op):
            self._branch(self._any(then), item.regions, (None, None))
            return
        for place, region in ((then, item.regions[0]), (orelse, item.regions[1])):
            if region:
                self._branch(self._any(place), [region, []], (place, None))

    def _branch(
        self, condition: str, regions: list[Plan], masks: tuple[Placed | None, Placed | None]
    ) -> None:
        """Emit a branch to one of two plans, each under its mask."""
        body = self.state.body
        labels = [body.label("block_then"), body.label("block_else")]
        merge = body.label("block_merge")
        body.branch_if(condition, *labels)
        for label, plan, place in zip(labels, regions, masks, strict=True):
            body.start(label)
            self.state.open = True
            if place is not None:
                self.masks.append(place)
            self.plan(plan)
            if place is not None:
                self.masks.pop()
            if self.state.open:
                body.branch(merge)
        body.start(merge)
        self.state.open = True

    def _any(self, *masks: Placed) -> str:
        """Whether a lane of any chunk is in all of the masks."""
        state, body = self.state, self.state.body
        flag = body.alloca("i1")
        body.do(f"store i1 false, ptr {flag}")
        with self.each_chunk():
            mask: str | None = None
            for place in masks:
                mask = state.both(mask, self._load_mask(place))
            assert mask is not None
            old = body.op(f"load i1, ptr {flag}")
            body.do(f"store i1 {body.op(f'or i1 {old}, {state.any(mask)}')}, ptr {flag}")
        return body.op(f"load i1, ptr {flag}")

    def _loop(self, item: Skeleton, op: control.Loop) -> None:
        """Emit a loop of the block; masks hold the lanes in it where its exits diverge."""
        state, body = self.state, self.state.body
        start, step, done = body.label("loop"), body.label("loop_step"), body.label("loop_done")
        state.exits[op, "breaks"], state.exits[op, "continues"] = done, step
        live = self._holder_place() if (op, "breaks") in self.masked else None
        paused = self._mask_place() if (op, "continues") in self.masked else None
        self.loops[op] = (live, paused)
        outer, work = len(self.masks), state.work
        if live:
            self.masks.append(live)
        body.branch(start)
        body.start(start)
        if paused:
            with self.each_chunk():
                self._store_mask(paused, None)
            self.masks.append(paused)
        self.plan(item.regions[0])
        if state.open:
            body.branch(step)
        body.start(step)
        state.open = True
        del self.masks[outer + bool(live) :]
        around = [self.loops[scope][0] for scope in self.crossings.of.get(op, ())]
        if live or self.masks or self.alive or any(around):
            again = body.label("loop_again")
            running = [*self.masks, *([self.alive] if self.alive else [])]
            body.branch_if(self._any(*running), again, done)
            body.start(again)
        self.plan(item.regions[1])
        body.branch(start)
        body.start(done)
        del self.masks[outer:]
        state.work += (state.work - work) * (flow.assumed_trips(state) - 1)

    def _holder_place(self) -> Placed:
        """Scratch that holds the lanes that enter a loop or scope."""
        place = self._mask_place()
        with self.each_chunk():
            self._store_mask(place, self.current_mask())
        return place

    def _scope(self, item: Skeleton, op: control.ScopeOp) -> None:
        """Emit a scope of the block."""
        state, body = self.state, self.state.body
        done = body.label("scope_done")
        state.exits[op, "breaks"] = done
        live = self._holder_place() if (op, "breaks") in self.masked else None
        self.loops[op] = (live, None)
        if live:
            self.masks.append(live)
        self.plan(item.regions[0])
        if live:
            self.masks.pop()
        if state.open:
            body.branch(done)
        body.start(done)
        state.open = True

    def _exit(self, op: Op) -> None:
        """Emit break, continue or leave, for the whole block or the current masks' lanes."""
        state = self.state
        target, _ = state.shapes.places.target(op)
        assert target is not None
        is_continue = isinstance(op, control.Continue)
        live, paused = self.loops[target]
        place = paused if is_continue else live
        if place is None:
            state.body.branch(state.exits[target, "continues" if is_continue else "breaks"])
            state.open = False
            return
        with self.each_chunk():
            mask = self.current_mask()
            old = self._load_mask(place)
            running = mask if mask is not None else "splat (i1 true)"
            self._store_mask(place, state.without(old, running))


def _walk(ops: list[Op]) -> Iterator[Op]:
    """Ops and all ops in their regions."""
    for op in ops:
        yield op
        for region in op.regions():
            yield from region.walk()
