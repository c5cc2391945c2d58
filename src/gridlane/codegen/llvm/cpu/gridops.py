"""Thread and block indices, fences, and a kernel's reports to the host."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu.control import emit_exit
from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Uniform, Varying
from gridlane.codegen.llvm.cpu.layout import WARP
from gridlane.codegen.llvm.cpu.perlane import for_each_lane
from gridlane.codegen.llvm.text import scalar_name, vector_constant, widen
from gridlane.core import cpu_abi as abi
from gridlane.core.dtypes import DType
from gridlane.ir.ops import control, grid
from gridlane.ir.values import Value

_AXES = "xyz"


@emits(grid.ThreadIdx)
def thread_idx(state: Emission, op: grid.ThreadIdx) -> None:
    """Emit the thread's index along an axis."""
    axis = op.axis.value
    shape = state.shapes.of(op.results[0])
    if state.layout.block[axis] == 1:
        state.set(op.results[0], Uniform("0"))
    elif shape.kind is Kind.VARYING:
        state.set(op.results[0], Varying(_index_vector(state, axis)))
    else:
        base = _index_base(state, axis)
        linear = shape.kind is Kind.LINEAR
        state.set(op.results[0], Linear(base, 1) if linear else Uniform(base))


def _index_base(state: Emission, axis: int) -> str:
    """The index of the chunk's first thread, where the chunk lies within one row or plane."""
    x, y, _ = state.layout.block
    first = first_thread(state)
    if axis == 0:
        return first if state.layout.threads == x else state.body.op(f"urem i32 {first}, {x}")
    row = state.body.op(f"udiv i32 {first}, {x}") if axis == 1 else ""
    if axis == 1:
        return row if state.layout.block[2] == 1 else state.body.op(f"urem i32 {row}, {y}")
    return state.body.op(f"udiv i32 {first}, {x * y}")


def _index_vector(state: Emission, axis: int) -> str:
    """The index of each lane by division, for blocks whose rows do not fill chunks."""
    x, y, _ = state.layout.block
    vector = widen("i32", state.lanes)
    lanes = vector_constant(range(state.lanes), "i32")
    base = state.broadcast(first_thread(state), "i32")
    thread = state.body.op(f"add {vector} {base}, {lanes}")
    if axis == 0:
        return state.body.op(f"urem {vector} {thread}, splat (i32 {x})")
    if axis == 1:
        row = state.body.op(f"udiv {vector} {thread}, splat (i32 {x})")
        return state.body.op(f"urem {vector} {row}, splat (i32 {y})")
    return state.body.op(f"udiv {vector} {thread}, splat (i32 {x * y})")


def first_thread(state: Emission) -> str:
    """The number in its block of the chunk's first thread, as i32."""
    if state.layout.chunks == 1:
        return "0"
    return state.body.op(f"mul i32 {state.known['chunk']}, {state.lanes}")


@emits(grid.LaneId)
def lane_id(state: Emission, op: grid.LaneId) -> None:
    """Emit the thread's number modulo 32."""
    first = first_thread(state)
    if state.shapes.of(op.results[0]).kind is Kind.LINEAR:
        state.set(op.results[0], Linear(state.body.op(f"and i32 {first}, {WARP - 1}"), 1))
        return
    vector = widen("i32", state.lanes)
    lanes = vector_constant(range(state.lanes), "i32")
    thread = state.body.op(f"add {vector} {state.broadcast(first, 'i32')}, {lanes}")
    state.set(
        op.results[0], Varying(state.body.op(f"and {vector} {thread}, splat (i32 {WARP - 1})"))
    )


@emits(grid.BlockIdx)
def block_idx(state: Emission, op: grid.BlockIdx) -> None:
    """Emit the block's index."""
    state.set(op.results[0], Uniform(state.known[f"block.{_AXES[op.axis.value]}"]))


@emits(grid.GridDim)
def grid_dim(state: Emission, op: grid.GridDim) -> None:
    """Emit the number of blocks in the grid."""
    state.set(op.results[0], Uniform(state.known[f"grid.{_AXES[op.axis.value]}"]))


@emits(grid.BlockDim)
def block_dim(state: Emission, op: grid.BlockDim) -> None:
    """Emit the number of threads in a block: a constant, as code is compiled per block shape."""
    state.set(op.results[0], Uniform(str(state.layout.block[op.axis.value])))


@emits(grid.DynamicSharedSize)
def dynamic_shared_size(state: Emission, op: grid.DynamicSharedSize) -> None:
    """Emit the bytes of shared memory that the launch gave."""
    where = state.body.op(f"getelementptr i8, ptr %context, i64 {abi.DYNAMIC_OFFSET}")
    state.set(op.results[0], Uniform(state.body.op(f"load i32, ptr {where}")))


@emits(grid.Machine)
def machine(state: Emission, op: grid.Machine) -> None:
    """Emit the system's monotonic clock, in nanoseconds, or what the launch has reported; the
    processor is one multiprocessor."""
    known = {grid.Reading.MULTIPROCESSOR: "0", grid.Reading.MULTIPROCESSORS: "1"}
    if op.kind in known:
        state.set(op.results[0], Uniform(known[op.kind]))
        return
    body = state.body
    if op.kind is grid.Reading.ERRORS:
        slot = body.op(f"getelementptr i8, ptr {state.known['context']}, i64 {abi.ERROR_OFFSET}")
        code = body.op(f"load atomic i32, ptr {slot} monotonic, align 4")
        has_report = body.op(f"icmp ne i32 {code}, 0")
        state.set(op.results[0], Uniform(body.op(f"zext i1 {has_report} to i64")))
        return
    time = body.alloca("[2 x i64]", align=8)
    body.call("i32", "clock_gettime", [("i32", str(_MONOTONIC)), ("ptr", time)])
    seconds = body.op(f"load i64, ptr {time}")
    rest = body.op(f"getelementptr i64, ptr {time}, i64 1")
    whole = body.op(f"mul i64 {seconds}, 1000000000")
    state.set(
        op.results[0], Uniform(body.op(f"add i64 {whole}, {body.op(f'load i64, ptr {rest}')}"))
    )


_MONOTONIC = 6 if sys.platform == "darwin" else 1
"""CLOCK_MONOTONIC of time.h."""


@emits(grid.Fence)
def fence(state: Emission, op: grid.Fence) -> None:
    """Emit a fence of the processor; none for a warp or block, which one worker runs in order."""
    if op.scope in (grid.MemoryScope.WARP, grid.MemoryScope.BLOCK):
        state.body.do('fence syncscope("singlethread") seq_cst')
    else:
        state.body.do("fence seq_cst")


@emits(control.Raise)
def raise_error(state: Emission, op: control.Raise) -> None:
    """Report the first error of the launch, and end the lanes."""
    lane = state.first_lane(state.bits(state.mask))
    thread = state.body.op(f"add i32 {first_thread(state)}, {lane}")
    report(state, op.code, thread, [of_lane(state, value, lane) for value in op.numbers])
    emit_exit(state, op)


def report(state: Emission, code: int, thread: str, numbers: Sequence[str] = ()) -> None:
    """Emit a report of an error, if it is the launch's first one.

    Args:
        thread: an i32, the number of the thread in its block.
        numbers: i64, of the error's detail.
    """
    body, context = state.body, state.known["context"]
    slot = body.op(f"getelementptr i8, ptr {context}, i64 {abi.ERROR_OFFSET}")
    pair = body.op(f"cmpxchg ptr {slot}, i32 0, i32 {code + 1} acq_rel monotonic")
    won = body.op(f"extractvalue {{i32, i1}} {pair}, 1")
    first, done = body.label("report"), body.label("reported")
    body.branch_if(won, first, done)
    body.start(first)
    for name, offset, value in (
        ("i32", abi.ERROR_THREAD_OFFSET, thread),
        ("i64", abi.ERROR_BLOCK_OFFSET, state.known["block"]),
    ):
        where = body.op(f"getelementptr i8, ptr {context}, i64 {offset}")
        body.do(f"store {name} {value}, ptr {where}")
    for number, value in enumerate(numbers):
        offset = abi.NUMBERS_OFFSET + 8 * number
        where = body.op(f"getelementptr i8, ptr {context}, i64 {offset}")
        body.do(f"store i64 {value}, ptr {where}")
    body.branch(done)
    body.start(done)


def of_lane(state: Emission, value: Value, lane: str) -> str:
    """An i64 in a lane, whose number is an i32."""
    rep = state.rep(value)
    if isinstance(rep, Uniform):
        return rep.name
    return state.extract(state.as_vector(rep, value.type), "i64", lane)


@emits(control.Print)
def print_line(state: Emission, op: control.Print) -> None:
    """Pass each lane's arguments to the host's callback, as 64-bit cells."""
    body = state.body
    site = state.prints.index(op) if op in state.prints else len(state.prints)
    if site == len(state.prints):
        state.prints.append(op)
    cells = body.alloca(f"[{max(1, len(op.arguments))} x i64]", align=8)
    context = state.known["context"]

    def emit(values: list[str], lane: str) -> list[str]:
        for index, (value, argument) in enumerate(zip(values, op.arguments, strict=True)):
            where = body.op(f"getelementptr i64, ptr {cells}, i64 {index}")
            name = scalar_name(argument.type)
            if name == "i1":
                value, name = body.op(f"zext i1 {value} to i8"), "i8"
            body.do(f"store {name} {value}, ptr {where}")
        function = body.op(f"getelementptr i8, ptr {context}, i64 {abi.PRINT_OFFSET}")
        callback = body.op(f"load ptr, ptr {function}")
        body.do(f"call void {callback}(i32 {site}, ptr {cells})")
        return []

    for argument in op.arguments:
        assert isinstance(argument.type, DType)
    for_each_lane(state, [(state.rep(v), v.type) for v in op.arguments], [], emit)
