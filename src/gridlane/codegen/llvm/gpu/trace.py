"""In debug code, each warp notes the line of the access that it is about to make."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.report import report_block
from gridlane.codegen.llvm.text import Body
from gridlane.core import gpu_abi as abi
from gridlane.ir.op import Op
from gridlane.ir.ops.grid import Axis, BlockDim, BlockIdx, GridDim, ThreadIdx
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

_MARK = "gridlane_mark"


def _mark_function(state: Emission) -> str:
    """The function that notes a line; its callees are declared with the kernel's."""
    body, pointer = Body(), state.pointer_name(Space.GLOBAL)
    number = body.op(f"load i64, {pointer} @{abi.REPORT}, align 8")
    block = f"{pointer} {body.op(f'inttoptr i64 {number} to {pointer}')}"
    capacity, slots = (
        body.op(f"load volatile i32, {pointer} {_moved(body, block, offset)}, align 4")
        for offset in (abi.PRINT_CAPACITY_OFFSET, abi.TRACE_SLOTS_OFFSET)
    )
    body.branch_if(body.op(f"icmp eq i32 {slots}, 0"), "done", "store")
    body.start("store")
    place = body.op(f"shl i32 {_slot(state, body, slots)}, 2")
    place = body.op(f"add i32 {body.op(f'add i32 {place}, {capacity}')}, {abi.RECORDS_OFFSET}")
    where = _moved(body, block, place)
    body.do("fence seq_cst")
    body.do(f"store volatile i32 %line, {pointer} {where}, align 4")
    body.do("fence seq_cst")
    body.branch("done")
    body.start("done")
    body.do("ret void")
    state.body.declared |= body.declared
    head = f"define internal void @{_MARK}(i32 %line) noinline {{"
    return "\n".join((head, *body.lines, "}"))


def _moved(body: Body, block: str, offset: int | str) -> str:
    return body.op(f"getelementptr i8, {block}, i32 {offset}")


def _slot(state: Emission, body: Body, slots: str) -> str:
    """The slot of the warp: its number in the grid, modulo the slots, which are a power of two."""
    index = state.overlay.index
    tx, ty, tz = (index(body, ThreadIdx, axis) for axis in Axis)
    nx, ny, nz = (index(body, BlockDim, axis) for axis in Axis)
    bx, by, bz = (index(body, BlockIdx, axis) for axis in Axis)
    gx, gy = (index(body, GridDim, axis) for axis in (Axis.X, Axis.Y))
    thread = _flat(body, (tx, ty, tz), (nx, ny))
    warp = body.op(f"lshr i32 {thread}, 5")
    cta = _flat(body, (bx, by, bz), (gx, gy))
    threads = body.op(f"mul i32 {body.op(f'mul i32 {nx}, {ny}')}, {nz}")
    warps = body.op(f"lshr i32 {body.op(f'add i32 {threads}, 31')}, 5")
    number = body.op(f"add i32 {body.op(f'mul i32 {cta}, {warps}')}, {warp}")
    return body.op(f"and i32 {number}, {body.op(f'sub i32 {slots}, 1')}")


def _flat(body: Body, position: tuple[str, str, str], extents: tuple[str, str]) -> str:
    """The linear index of a position in a box, x fastest."""
    row = body.op(f"add i32 {body.op(f'mul i32 {position[2]}, {extents[1]}')}, {position[1]}")
    return body.op(f"add i32 {body.op(f'mul i32 {row}, {extents[0]}')}, {position[0]}")


@contextmanager
def traced(state: Emission, op: Op, pointer: Value) -> Generator[None]:
    """Emit an access of ``pointer`` between two notes in debug code."""
    assert isinstance(pointer.type, PointerType)
    reachable = pointer.type.space in (Space.GLOBAL, Space.GENERIC)
    launched = state.module.export is None  # a launch has a report block, other callers have none
    if not (state.options.debug and launched and reachable and op.loc.line):
        yield
        return
    report_block(state)
    if _MARK not in state.functions:
        state.functions[_MARK] = _mark_function(state)
    state.body.do(f"call void @{_MARK}(i32 {op.loc.line})")
    yield
    state.body.do(f"call void @{_MARK}(i32 0)")
