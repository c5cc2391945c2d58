"""How a kernel reports to the host: raise and print, by the layout of core/gpu_abi.py."""

from __future__ import annotations

from dataclasses import replace

from gridlane.codegen.clike.emission import Emission, Place, emits
from gridlane.codegen.clike.gridops import asked
from gridlane.codegen.clike.warps import in_words
from gridlane.core import gpu_abi as abi
from gridlane.core.dtypes import DType, b1, u32
from gridlane.ir.ops import control, grid


def _field(state: Emission, block: Place, offset: str) -> Place:
    """A u32 in the block, at a number of bytes from its start."""
    return replace(block, pointer=state.dialect.moved(block.pointer, offset, u32, 1))


def _put(state: Emission, block: Place, offset: int, value: str) -> None:
    state.dialect.store(state, _field(state, block, f"{offset}u"), u32, value)


@emits(control.Raise)
def raise_error(state: Emission, op: control.Raise) -> None:
    """Report an error, and end the thread."""
    report_error(state, op)
    state.line("return;")


@emits(control.Report)
def report_error(state: Emission, op: control.Raise | control.Report) -> None:
    """Report an error, unless a thread has done so. The host reads it after the grid, so the order
    of these writes does not matter."""
    block, dialect = state.dialect.report(state), state.dialect
    claimed = _field(state, block, f"{abi.CLAIMED_OFFSET}u")
    old = state.let(u32, dialect.atomic(state, claimed, u32, "exchange", "1u"))
    with state.block_of(f"if ({old} == 0u) {{"):
        for base, cls in ((abi.THREAD_OFFSET, grid.ThreadIdx), (abi.BLOCK_OFFSET, grid.BlockIdx)):
            for n, index in enumerate(asked(state, cls)):
                _put(state, block, base + 4 * n, dialect.convert(u32, index))
        _put(state, block, abi.ERROR_OFFSET, f"{op.code + 1}u")


@emits(control.Print)
def print_line(state: Emission, op: control.Print) -> None:
    """Allocate a record and fill it."""
    block, dialect = state.dialect.report(state), state.dialect
    state.prints.append(op)
    size = abi.RECORD_HEADER_BYTES + abi.CELL_BYTES * len(op.arguments)
    head = _field(state, block, f"{abi.PRINT_HEAD_OFFSET}u")
    position = state.let(u32, dialect.atomic(state, head, u32, "add", f"{size}u"))
    capacity = _field(state, block, f"{abi.PRINT_CAPACITY_OFFSET}u")
    room = state.let(u32, dialect.load(state, capacity, u32))
    # A head that has wrapped would be small again.
    fits = state.let(b1, f"({position} + {size}u) <= {room} && {position} < ({position} + {size}u)")
    with state.block_of(f"if ({fits}) {{"):
        start = state.let(u32, f"{position} + {abi.RECORDS_OFFSET}u")
        record = _field(state, block, start)
        for n, argument in enumerate(op.arguments):
            assert isinstance(argument.type, DType)
            words = in_words(state, state.name(argument), argument.type)
            for half, word in enumerate((*words, "0u")[:2]):
                offset = abi.RECORD_HEADER_BYTES + abi.CELL_BYTES * n + 4 * half
                _put(state, record, offset, word)
        _put(state, record, 0, f"{len(state.prints)}u")
