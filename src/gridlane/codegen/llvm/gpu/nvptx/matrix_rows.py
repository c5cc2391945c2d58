"""Registers of mma from whole lines of shared memory, by ldmatrix."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, require, special
from gridlane.codegen.llvm.gpu.trace import traced
from gridlane.ir.ops.mma_memory import MmaLoad, Place, lines
from gridlane.ir.types import Role

LEAST = 75
"""The compute capability from which there is ldmatrix."""


@emits(MmaLoad)
def load(state: Emission, op: MmaLoad) -> None:
    """Emit ldmatrix for four registers each: lane n supplies the address of line n % 8 of matrix
    n // 8, which is one register."""
    require(state, LEAST, op, op.name)
    starts = [register[0] for register in lines(op.matrix, op.by_columns)]
    turned = op.by_columns != (op.matrix.role is Role.B)
    first = 0
    with traced(state, op, op.pointer):
        while first < len(starts):
            count = next(n for n in (4, 2, 1) if _regular(starts[first : first + n], n))
            words = _matrices(state, op, starts[first : first + count], turned)
            for value, word in zip(op.results[first : first + count], words, strict=True):
                state.set(value, word)
            first += count


def _regular(starts: list[Place], count: int) -> bool:
    """Whether the bits of a matrix's number say how far it is from the first one."""
    if len(starts) < count:
        return False
    return count < 4 or all(
        starts[3][n] - starts[2][n] == starts[1][n] - starts[0][n] for n in (0, 1)
    )


def _matrices(state: Emission, op: MmaLoad, starts: list[Place], turned: bool) -> list[str]:
    """The registers of some matrices that start at places of memory."""
    body, size, count = state.body, op.matrix.element.size, len(starts)
    lane, stride = special(body, "laneid"), state.name(op.stride)
    line, item = body.op(f"and i32 {lane}, 7"), "0"
    for bit in range(count.bit_length() - 1):
        down, along = (starts[1 << bit][n] - starts[0][n] for n in (0, 1))
        one = body.op(f"and i32 {body.op(f'lshr i32 {lane}, {3 + bit}')}, 1")
        line = body.op(f"add i32 {line}, {body.op(f'mul i32 {one}, {down}')}") if down else line
        if along:
            moved = body.op(f"mul i32 {one}, {along * size}")
            item = body.op(f"add i32 {item}, {moved}")
    distance = body.op(f"mul i32 {body.op(f'mul i32 {line}, {size}')}, {stride}")
    own = body.op(f"add i32 {distance}, {item}")
    space = state.register_name(op.pointer.type)
    where = body.op(f"getelementptr i8, {space} {state.name(op.pointer)}, i32 {own}")
    down = body.op(f"mul i32 {stride}, {starts[0][0] * size}")
    known = body.op(f"add i32 {down}, {starts[0][1] * size}")
    where = body.op(f"getelementptr i8, {space} {where}, i32 {known}")
    trans = ".trans" if turned else ""
    result = "{ " + ", ".join(["i32"] * count) + " }" if count > 1 else "i32"
    name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"
    words = body.call(result, name, [("ptr addrspace(3)", where)])
    if count == 1:
        return [words]
    return [body.op(f"extractvalue {result} {words}, {n}") for n in range(count)]
