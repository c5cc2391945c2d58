"""The entry function of a kernel: parameters, the loop over blocks, the block's work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from gridlane.analysis.warp_scheduling import is_clustered, may_take_turns, takes_turns
from gridlane.codegen.llvm.cpu import (
    aggregates,
    atomics,
    checks,
    cluster_coroutines,
    directed,
    flushing,
    gridops,
    mathlib,
    memory,
    memory_products,
    mma_memory,
    products,
    warp_coroutines,
    warpgroups,
    warps,
)
from gridlane.codegen.llvm.cpu.accesses import outline_accesses
from gridlane.codegen.llvm.cpu.apart import find_scopes
from gridlane.codegen.llvm.cpu.blocks import Blocks
from gridlane.codegen.llvm.cpu.debug_lines import with_places, without_marks
from gridlane.codegen.llvm.cpu.exchanges import exchanges, may_exchange
from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform
from gridlane.codegen.llvm.cpu.layout import WARP, Layout, choose
from gridlane.codegen.llvm.cpu.moves import stored_vectors
from gridlane.codegen.llvm.cpu.plan import Planner
from gridlane.codegen.llvm.cpu.shapes import Shapes
from gridlane.codegen.llvm.machine import ONE_LANE, Machine
from gridlane.codegen.llvm.outline import outlined
from gridlane.codegen.llvm.text import Body, halves_as_bits, memory_name, scalar_name
from gridlane.core import cpu_abi as abi
from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import i64
from gridlane.core.errors import TargetError
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc
from gridlane.ir.op import Op
from gridlane.ir.ops.clusters import ALONE
from gridlane.ir.ops.control import Loop
from gridlane.ir.ops.floating import flushes
from gridlane.ir.ops.memory import DynamicShared
from gridlane.ir.values import Function, Module, Param

FAMILIES = (
    aggregates, atomics, checks, cluster_coroutines, directed, gridops, mathlib, memory,
    memory_products, mma_memory, products, warp_coroutines, warpgroups, warps,
)  # fmt: skip
"""Imported for the emitters that they register."""

MOST_REPEATED_LOOPS = 32
"""Loops of unknown trip count are unrolled in kernels with at most so many loops: what LLVM's
unrolling costs grows with the square of their number."""

LARGE = 4096
"""The ops of a kernel above which it is split into functions."""

PIECE = 2000
"""The least lines of LLVM IR of such a function."""

_SCRATCH = "$SCRATCH$"
_PARAMETERS = {
    "%params": "ptr noalias readonly",
    "%context": "ptr",
    "%first": "i64",
    "%last": "i64",
    "%arena": "ptr noalias",
}


@frozen
class KernelCode:
    """The LLVM IR of a kernel and the facts that the runtime needs. Where warps take turns the
    frames of ``turns`` add to its scratch: so many, of the coroutine ``turn``. In clusters each of
    their ``blocks`` has scratch and shared memory, from multiples of ``align`` bytes on."""

    text: str
    entry: str
    static_shared: int
    scratch: int
    work: int
    prints: tuple[Op, ...]
    symbols: tuple[str, ...]
    layout: Layout
    uses_dynamic_shared: bool
    turns: int
    places: tuple[Loc, ...] = ()
    loops: tuple[Loc, ...] = ()
    marked: str = ""
    asks_host: bool = False
    blocks: int = 1
    align: int = abi.ARENA_ALIGN

    @property
    def placed(self) -> str:
        """``text`` with the places of instructions; without those of coroutines."""
        return self.text if self.turns else with_places(self.marked, len(self.places))

    @property
    def turn(self) -> str:
        """The coroutine's name."""
        return warp_coroutines.coroutine_of(self.entry)


def emit_kernel(
    module: Module,
    slots: tuple[ParamSlot, ...],
    block: tuple[int, int, int],
    machine: Machine,
) -> KernelCode:
    """Vectorise a kernel whose calls are inlined, for one block shape.

    Args:
        module: its kernel is the only function.
        slots: the place of each parameter of the kernel in the parameter block.
        block: threads along x, y, z.
        machine: the target machine.
    """
    with halves_as_bits(not machine.converts_halves):
        return _emitted(module, slots, block, machine)


def _emitted(
    module: Module,
    slots: tuple[ParamSlot, ...],
    block: tuple[int, int, int],
    machine: Machine,
) -> KernelCode:
    state = _begun(module, block, machine)
    layout, ops = state.layout, state.shapes.places.order
    _prologue(state, slots)
    checks.find_ranges(state, ops)
    if not state.turns and not state.body.piece:
        find_scopes(state)
    each = _one_block if state.turns else _each_block
    each(state, Blocks(state, Planner(state.shapes, whole=state.turns)))
    entry = f"{module.kernel.name}.kernel"  # no library has a function of such a name
    functions = _outlined(state, entry)
    scratch = _round_up(state.scratch, abi.ARENA_ALIGN) + state.shared_spare
    marked = _module_text(state, entry, functions, scratch)
    blocks_of_cluster = math.prod(module.cluster)
    return KernelCode(
        without_marks(marked),
        entry,
        static_shared=state.shared_bytes,
        scratch=scratch,
        work=state.work * layout.chunks * max(1, layout.lanes // state.lanes_of_vector),
        prints=tuple(state.prints),
        symbols=tuple(sorted(state.symbols)),
        layout=layout,
        uses_dynamic_shared=any(isinstance(op, DynamicShared) for op in ops),
        turns=layout.chunks * blocks_of_cluster if state.turns else 0,
        places=tuple(loc for _, loc in state.places.values()),
        loops=tuple(loc for _, loc in state.loops.values()),
        marked=marked,
        asks_host=bool(state.ranges),
        blocks=blocks_of_cluster,
        align=abi.ARENA_ALIGN + state.shared_spare,
    )


def _begun(module: Module, block: tuple[int, int, int], machine: Machine) -> Emission:
    """The emission of a kernel, of which nothing is emitted yet."""
    chosen = choose(module.kernel, block, machine.vector_bytes)
    if module.program_warps:  # its threads are one warp that runs in lockstep
        chosen = Layout(block, WARP)
    shapes, exchange = _shapes(module.kernel, chosen)
    state = Emission(module, shapes, shapes.layout, machine, Body(machine.rounds_to_integers))
    ops = shapes.places.order
    loops = sum(isinstance(op, Loop) for op in ops)
    state.repeats_loops = loops <= MOST_REPEATED_LOOPS
    clustered = is_clustered(module, ops)
    if clustered:
        _require_turns(ops)
        state.known["apart"] = "%apart"
    state.turns = clustered or takes_turns(ops)
    state.body.piece = PIECE if len(ops) > LARGE and not state.turns else 0
    state.exchanges = exchange
    state.stored = stored_vectors(ops)
    state.used = {value for op in ops for value in op.operands()}
    return state


def _require_turns(ops: Sequence[Op]) -> None:
    """Require that a kernel of clusters has barriers at which chunks can take turns alone.

    Raises:
        TargetError: it has another one.
    """
    for op in ops:
        if not may_take_turns([op]):
            raise TargetError(f"the cpu target has no {op.name} in kernels of clusters", op.loc)


def _shapes(kernel: Function, layout: Layout) -> tuple[Shapes, Callable[[], bool]]:
    """The shapes of values, in chunks of a layout or in warps if lanes exchange data; and whether
    they do."""
    stores = may_exchange(kernel)
    if layout.lanes % WARP and layout.chunks > 1:
        if stores and exchanges(wide := Shapes(kernel, Layout(layout.block, WARP))):
            return wide, lambda: True
        return Shapes(kernel, layout), lambda: False
    shapes = Shapes(kernel, layout)
    return shapes, cache(lambda: stores and exchanges(shapes))


def _prologue(state: Emission, slots: tuple[ParamSlot, ...]) -> None:
    """Load the parameters and the launch's numbers."""
    body, known = state.body, state.known
    known.update(arena="%arena", context="%context", chunk="0")
    for axis, offset in zip("xyz", abi.GRID_OFFSETS, strict=True):
        where = body.op(f"getelementptr i8, ptr %context, i64 {offset}")
        known[f"grid.{axis}"] = body.op(f"load i32, ptr {where}, !invariant.load !0", "grid")
    one = ""
    if state.layout.lanes == 1 and any(map(_is_row, state.shapes.function.params)):
        # LLVM makes vectors for a step of 1 between rows, and scalar code for any other one. It
        # does not test the step if that is a product.
        one = body.op('call i64 asm "", "=r,0"(i64 1)')
    for param, slot in zip(state.shapes.function.params, slots, strict=True):
        where = body.op(f"getelementptr i8, ptr %params, i64 {slot.offset}")
        type_ = param.value.type
        if param.by_value:
            state.set(param.value, Uniform(where))
            continue
        name = body.op(f"load {memory_name(type_)}, ptr {where}, !invariant.load !0", "param")
        if scalar_name(type_) == "i1":
            name = body.op(f"icmp ne i8 {name}, 0")
        if state.layout.lanes == 1 and _is_row(param):
            name = body.op(f"mul i64 {name}, {one}")
        state.set(param.value, Uniform(name))
    _lay_out_shared(state)


def _is_row(param: Param) -> bool:
    """Whether a parameter is the length of an array's rows."""
    return param.path[-2:-1] == ("shape",) and param.path[-1] != 0 and param.value.type is i64


def _lay_out_shared(state: Emission) -> None:
    """Place the static shared arrays, and the dynamic memory behind them. Scratch in front of them
    has room to align them to more than the arena is."""
    known, static = state.known, state.module.static_shared()
    ops = state.shapes.places.order
    dynamic = max([16, *(op.align for op in ops if isinstance(op, DynamicShared))])
    start = state.body.op(f"getelementptr i8, ptr %arena, i64 {_SCRATCH}", "shared")
    most = max([dynamic, *(item.align for item in static)])
    state.shared_spare = max(0, most - abi.ARENA_ALIGN)
    known["shared"] = memory.aligned(state, start, most) if state.shared_spare else start
    end = 0
    for item in static:
        end = _round_up(end, max(16, item.align))
        known[f"shared.{item.name}"] = str(end)
        end += item.size
    state.shared_bytes = _round_up(end, dynamic)
    known["dynamic"] = str(state.shared_bytes)


def _round_up(number: int, align: int) -> int:
    return -(-number // align) * align


def _each_block(state: Emission, blocks: Blocks) -> None:
    """Emit the loop over the blocks of this call."""
    body = state.body
    counter = body.alloca("i64")
    body.do(f"store i64 %first, ptr {counter}")
    head, done = body.label("block"), body.label("end")
    body.branch(head)
    body.start(head)
    number = body.op(f"load i64, ptr {counter}", "block")
    _find_block(state, number)
    blocks.emit()
    if state.open:
        following = body.op(f"add i64 {number}, 1")
        body.do(f"store i64 {following}, ptr {counter}")
        more = body.op(f"icmp ult i64 {following}, %last")
        body.branch_if(more, head, done)
        body.start(done)
    body.do("ret void")


def _one_block(state: Emission, blocks: Blocks) -> None:
    """Emit the work of a chunk of the block that a coroutine is given."""
    _find_block(state, "%block")
    blocks.emit()
    if state.open:
        state.body.branch("finished")


def _find_block(state: Emission, number: str) -> None:
    """Find a block's place in the grid."""
    body, known = state.body, state.known
    if state.module.cluster != ALONE:
        _find_in_cluster(state, number)
        return
    known["block"] = number
    gx, gy = [body.op(f"zext i32 {known[f'grid.{axis}']} to i64") for axis in "xy"]
    row = body.op(f"udiv i64 {number}, {gx}")
    for axis, value in (
        ("x", body.op(f"urem i64 {number}, {gx}")),
        ("y", body.op(f"urem i64 {row}, {gy}")),
        ("z", body.op(f"udiv i64 {row}, {gy}")),
    ):
        known[f"block.{axis}"] = body.op(f"trunc i64 {value} to i32")


def _find_in_cluster(state: Emission, number: str) -> None:
    """Find the place in the grid of the block of rank ``%rank`` in a cluster."""
    body, known = state.body, state.known
    left, rank = body.op(f"trunc i64 {number} to i32"), "%rank"
    for axis, size in zip("xyz", state.module.cluster, strict=True):
        grid = known[f"grid.{axis}"]
        own, rank = body.op(f"urem i32 {rank}, {size}"), body.op(f"udiv i32 {rank}, {size}")
        count = body.op(f"udiv i32 {grid}, {size}")
        place, left = body.op(f"urem i32 {left}, {count}"), body.op(f"udiv i32 {left}, {count}")
        known[f"block.{axis}"] = body.op(f"add i32 {body.op(f'mul i32 {place}, {size}')}, {own}")
    total = body.op(f"zext i32 {known['block.z']} to i64")
    for axis in "yx":
        gap = body.op(f"zext i32 {known[f'grid.{axis}']} to i64")
        index = body.op(f"zext i32 {known[f'block.{axis}']} to i64")
        total = body.op(f"add i64 {body.op(f'mul i64 {total}, {gap}')}, {index}")
    known["block"] = total


def _outlined(state: Emission, entry: str) -> list[str]:
    """Make functions of the pieces of a large kernel, with their frame in the scratch."""
    body = state.body
    if not body.piece:
        return []
    types = {name: type_.split()[0] for name, type_ in _PARAMETERS.items()}
    pieces = outlined(entry, types, body.allocas, body.lines)
    place = -(-state.scratch // 64) * 64
    state.scratch = place + pieces.frame
    frame = f"  %frame = getelementptr i8, ptr %arena, i64 {place}"
    body.lines = [frame, *pieces.lines]
    return pieces.functions


def _module_text(state: Emission, entry: str, functions: list[str], scratch: int) -> str:
    """The whole LLVM module."""
    lines = [line.replace(_SCRATCH, str(scratch)) for line in state.body.lines]
    allocas = state.body.allocas
    lines, accesses = outline_accesses(lines, state.machine)
    if state.turns:
        taken = warp_coroutines.OF_CLUSTER if "apart" in state.known else warp_coroutines.TAKEN
        turn = warp_coroutines.coroutine_of(entry)
        functions = [*functions, *warp_coroutines.coroutine(turn, allocas, lines, taken)]
        allocas, lines = [], _scheduler(state, turn, scratch)
    parameters = ", ".join(f"{type_} {name}" for name, type_ in _PARAMETERS.items())
    attributes = _attributes(state)
    head = [f'define void @"{entry}"({parameters}) #0 {{']
    by_mode = any(flushes(op) for op in state.shapes.places.order)
    if by_mode:
        attributes += flushing.ATTRIBUTES
        body = f"{entry}.flushing"
        head = [*flushing.entry(entry, body, _PARAMETERS)]
        head.append(f'define internal void @"{body}"({parameters}) #1 {{')
    return "\n".join(
        [
            *_constants(state.module),
            *head,
            "entry:",
            *allocas,
            *lines,
            "}",
            *functions,
            *accesses,
            *state.functions.values(),
            *sorted(state.body.declared.values()),
            f"attributes #0 = {{ {attributes} }}",
            *([f"attributes #1 = {{ noinline {attributes} }}"] if functions or by_mode else []),
            "!0 = !{}",
            *(f"!{number} = {node}" for number, node in enumerate(state.metadata, 1)),
            "",
        ]
    )


def _scheduler(state: Emission, turn: str, scratch: int) -> list[str]:
    """The work of an entry that resumes coroutines."""
    if "apart" not in state.known:  # the kernel has no clusters
        return warp_coroutines.scheduler(turn, state.layout.chunks)
    return cluster_coroutines.scheduler(
        turn,
        state.layout.chunks,
        math.prod(state.module.cluster),
        scratch + state.shared_bytes,
        abi.ARENA_ALIGN + state.shared_spare,
        state.known.get("stuck", "0"),
    )


def _attributes(state: Emission) -> str:
    """The attributes of the entry."""
    width = state.machine.vector_bytes * 8
    attributes = (
        f'nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" '
        '"no-trapping-math"="true"'
    )
    return f"{attributes} {ONE_LANE}" if state.layout.lanes == 1 else attributes


def _constants(module: Module) -> list[str]:
    return [
        f"@constant.{item.name} = private unnamed_addr constant [{len(item.data)} x i8] "
        f'c"{_escaped(item.data)}", align {max(16, item.align)}'
        for item in module.globals.values()
        if item.data is not None
    ]


def _escaped(data: bytes) -> str:
    """Bytes as an LLVM string."""
    return "".join(f"\\{byte:02X}" for byte in data)
