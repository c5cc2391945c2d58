"""How a kernel reports to the host: raise and print, by the layout of core/gpu_abi.py."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission, emits
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core import gpu_abi as abi
from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.ir.ops import control, grid
from gridlane.ir.types import Space


def report_block(state: Emission) -> str:
    """The address of the kernel's report block."""
    space, type_ = state.overlay.space_name(Space.GLOBAL), state.pointer_name(Space.GLOBAL)
    state.globals.setdefault(
        abi.REPORT, f"@{abi.REPORT} = {space} externally_initialized global i64 0, align 8"
    )
    number = state.body.op(f"load i64, {type_} @{abi.REPORT}, align 8")
    return state.body.op(f"inttoptr i64 {number} to {type_}")


def field(state: Emission, block: str, offset: int | str) -> str:
    """A typed pointer into the block."""
    type_ = state.pointer_name(Space.GLOBAL)
    where = state.body.op(f"getelementptr i8, {type_} {block}, i32 {offset}")
    return f"{type_} {where}"


def has_raised(state: Emission) -> str:
    """Whether a thread of the grid has raised."""
    claimed = field(state, report_block(state), abi.CLAIMED_OFFSET)
    return state.body.op(f"icmp ne i32 {state.body.op(f'load volatile i32, {claimed}')}, 0")


@emits(control.Raise)
def raise_error(state: Emission, op: control.Raise) -> None:
    """Report an error, unless a thread has done so, and end the thread."""
    body = state.body
    if state.module.export is not None:  # its caller is told, who may have no report block
        body.do(f"ret i32 {op.code + 1}")
        return
    block = report_block(state)
    old = body.op(f"atomicrmw xchg {field(state, block, abi.CLAIMED_OFFSET)}, i32 1 monotonic")
    first = body.op(f"icmp eq i32 {old}, 0")
    claim, done = body.label("report"), body.label("raised")
    body.branch_if(first, claim, done)
    body.start(claim)
    for base, query in ((abi.THREAD_OFFSET, grid.ThreadIdx), (abi.BLOCK_OFFSET, grid.BlockIdx)):
        for axis in grid.Axis:
            index, where = state.index(query, axis), field(state, block, base + 4 * axis.value)
            body.do(f"store volatile i32 {index}, {where}, align 4")
    body.do("fence seq_cst")
    where = field(state, block, abi.ERROR_OFFSET)
    body.do(f"store volatile i32 {op.code + 1}, {where}, align 4")
    body.branch(done)
    body.start(done)
    state.overlay.leave(body)
    body.do("unreachable")


@emits(control.Print)
def print_line(state: Emission, op: control.Print) -> None:
    """Allocate a record, fill it, and mark it filled."""
    if state.module.export is not None:
        raise TargetError(
            "print: a device function that is compiled by itself has no output, as the launch of a "
            "kernel has: print in the kernel, or compile the kernel that calls it",
            op.loc,
        )
    body = state.body
    site = len(state.prints)
    state.prints.append(op)
    block = report_block(state)
    size = abi.RECORD_HEADER_BYTES + abi.CELL_BYTES * len(op.arguments)
    head = field(state, block, abi.PRINT_HEAD_OFFSET)
    offset = body.op(f"atomicrmw add {head}, i32 {size} monotonic")
    end = body.op(f"add i32 {offset}, {size}")
    capacity = field(state, block, abi.PRINT_CAPACITY_OFFSET)
    room = body.op(f"load volatile i32, {capacity}, align 4")
    # A head that has wrapped would be small again.
    inside = body.op(f"icmp ule i32 {end}, {room}")
    upwards = body.op(f"icmp ult i32 {offset}, {end}")
    fits = body.op(f"and i1 {inside}, {upwards}")
    fill, done = body.label("record"), body.label("printed")
    body.branch_if(fits, fill, done)
    body.start(fill)
    start = body.op(f"add i32 {offset}, {abi.RECORDS_OFFSET}")
    record = body.op(f"getelementptr i8, {state.pointer_name(Space.GLOBAL)} {block}, i32 {start}")
    for n, argument in enumerate(op.arguments):
        assert isinstance(argument.type, DType)
        cell = field(state, record, abi.RECORD_HEADER_BYTES + abi.CELL_BYTES * n)
        value = _as_cell(state, state.name(argument), argument.type)
        body.do(f"store volatile i64 {value}, {cell}, align 8")
    body.do("fence seq_cst")
    body.do(f"store volatile i32 {site + 1}, {field(state, record, 0)}, align 4")
    body.branch(done)
    body.start(done)


def _as_cell(state: Emission, value: str, type_: DType) -> str:
    """The bits of a scalar in the low bytes of 64."""
    name, bits = scalar_name(type_), 1 if type_.is_bool else type_.bits
    if type_.is_float and name != f"i{bits}":
        value = state.body.op(f"bitcast {name} {value} to i{bits}")
    return value if bits == 64 else state.body.op(f"zext i{bits} {value} to i64")
