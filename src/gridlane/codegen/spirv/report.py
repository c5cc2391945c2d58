"""How a kernel reports to the host: raise and print, by the layout of core/gpu_abi.py."""

from __future__ import annotations

from gridlane.codegen.spirv.bit_access import Spot, global_pointer, load_bits, store_bits
from gridlane.codegen.spirv.emission import Emission, emits
from gridlane.codegen.spirv.gridops import (
    block_index,
    memory_barrier,
    push_constant,
    scope_id,
    semantics_id,
    thread_index,
)
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.core import gpu_abi as abi
from gridlane.core.dtypes import DType, u32, u64
from gridlane.ir.ops import control
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope


def _block(state: Emission) -> int:
    """The address of the kernel's report block."""
    state.reports = True
    return push_constant(state, "report")


def _put(state: Emission, address: int, offset: int, value: int, bits: int = 32) -> None:
    """Store into the block."""
    place = state.code.plus(u64, address, offset)
    store_bits(state, Spot(None, place, bits // 8, volatile=True), value, bits)


def _atomic(state: Emission, opcode: Opcode, address: int, offset: int, value: int) -> int:
    """Emit a relaxed atomic on a word of the block; the old word."""
    code = state.code
    pointer = global_pointer(state, code.plus(u64, address, offset), code.scalar(u32))
    how = scope_id(state, MemoryScope.DEVICE), semantics_id(state, MemoryOrder.RELAXED)
    return code.op(opcode, u32, pointer, *how, value)


@emits(control.Raise)
def raise_error(state: Emission, op: control.Raise) -> None:
    """Report an error, and end the thread."""
    report_error(state, op)
    state.code.do(Opcode.Return)


@emits(control.Report)
def report_error(state: Emission, op: control.Raise | control.Report) -> None:
    """Report an error, unless a thread has done so."""
    code, block = state.code, _block(state)
    one = code.const(1, u32)
    old = _atomic(state, Opcode.AtomicExchange, block, abi.CLAIMED_OFFSET, one)
    with code.when(code.compare(Opcode.IEqual, old, code.const(0, u32))):
        for axis in range(3):
            _put(state, block, abi.THREAD_OFFSET + 4 * axis, thread_index(state, axis))
            _put(state, block, abi.BLOCK_OFFSET + 4 * axis, block_index(state, axis))
        memory_barrier(state, MemoryScope.SYSTEM, MemoryOrder.SEQ_CST)
        _put(state, block, abi.ERROR_OFFSET, code.const(op.code + 1, u32))


@emits(control.Print)
def print_line(state: Emission, op: control.Print) -> None:
    """Allocate a record, fill it, and mark it filled."""
    code, block = state.code, _block(state)
    state.prints.append(op)
    size = abi.RECORD_HEADER_BYTES + abi.CELL_BYTES * len(op.arguments)
    taken = code.const(size, u32)
    offset = _atomic(state, Opcode.AtomicIAdd, block, abi.PRINT_HEAD_OFFSET, taken)
    end = code.plus(u32, offset, size)
    where = code.plus(u64, block, abi.PRINT_CAPACITY_OFFSET)
    room = load_bits(state, Spot(None, where, 4, volatile=True), 32)
    inside = code.compare(Opcode.ULessThanEqual, end, room)
    # A head that has wrapped would be small again.
    fits = code.both(inside, code.compare(Opcode.ULessThan, offset, end))
    with code.when(fits):
        _fill(state, op, code.add(u64, block, code.resized(offset, u32, u64)))


def _fill(state: Emission, op: control.Print, record: int) -> None:
    """Write a record; ``record`` is its address relative to the first."""
    for number, argument in enumerate(op.arguments):
        assert isinstance(argument.type, DType)
        cell = abi.RECORDS_OFFSET + abi.RECORD_HEADER_BYTES + abi.CELL_BYTES * number
        _put(state, record, cell, _as_cell(state, state.name(argument), argument.type), 64)
    memory_barrier(state, MemoryScope.SYSTEM, MemoryOrder.SEQ_CST)
    site = state.code.const(len(state.prints), u32)
    _put(state, record, abi.RECORDS_OFFSET, site)


def _as_cell(state: Emission, value: int, type_: DType) -> int:
    """The bits of a scalar in the low bytes of 64."""
    bits = 8 * type_.size
    return state.code.unsigned_resized(state.code.bits(value, type_), bits, 64)
