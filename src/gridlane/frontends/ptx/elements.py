"""Elements of arrays at an index in a register, ``table[%r1 + 2]``: what computes their addresses.

ptxas takes the low 32 bits of the register plus the constant as an unsigned index, and multiplies
it by the size of the array's type.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, i16
from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.operands import Number, Operand, Reg, Register, Symbol
from gridlane.frontends.ptx.types import TYPES

Step = tuple[str, tuple[str, ...], tuple[Operand, ...]]
"""An opcode, its modifiers and its operands."""

INDEXED = frozenset(("ld", "ldu", "st", "mov"))
"""The instructions that take such elements."""


@frozen
class Element:
    """An element of an array at a register plus a constant."""

    name: str
    variable: Declared
    index: Register
    plus: int


def steps_to(
    element: Element, bits: int, register: Callable[[str], Register]
) -> tuple[Register, list[Step]]:
    """The register that holds the address of an element, and what computes it.

    Args:
        bits: of the address.
        register: makes a register of a type.
    """
    start, end = register(f"u{bits}"), register(f"u{bits}")
    size = Number(TYPES[element.variable.type].size)
    steps: list[Step] = [
        ("mov", (f"u{bits}",), (Reg(start), Symbol(element.name, element.variable)))
    ]
    index = element.index
    if index.type.bits != 32:
        index = register("u32")
        steps.append(
            ("cvt", ("u32", _spelled(element.index.type)), (Reg(index), Reg(element.index)))
        )
    if element.plus:
        moved = register("u32")
        steps.append(("add", ("u32",), (Reg(moved), Reg(index), Number(element.plus))))
        index = moved
    if bits == 32:
        steps.append(("mad", ("lo", "u32"), (Reg(end), Reg(index), size, Reg(start))))
        return end, steps
    offset = register("u64")
    steps.append(("mul", ("wide", "u32"), (Reg(offset), Reg(index), size)))
    steps.append(("add", ("u64",), (Reg(end), Reg(start), Reg(offset))))
    return end, steps


def _spelled(dtype: DType) -> str:
    return "s16" if dtype is i16 else f"u{dtype.bits}"
