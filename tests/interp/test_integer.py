"""The integer ops that instruction sets have, by Python's integers and the text of the PTX ISA."""

from __future__ import annotations

import operator
import random

import numpy as np
import pytest
from tests.interp.test_arith import results, rows, same

from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import INTEGERS, DType, b1, i32, i64, u32, u64
from gridlane.core.errors import VerifyError
from gridlane.ir.op import REGISTRY, Scope
from gridlane.ir.ops.integer import PermuteMode
from gridlane.ir.values import Function, Module, Value


def saturated(exact: int, dtype: DType) -> int:
    return max(dtype.min, min(dtype.max, exact))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_saturating(dtype: DType) -> None:
    """add.sat and sub.sat limit the result to the range of the type."""
    columns = grid_of(special(dtype, 12), special(dtype, 12))
    (total,) = results("add_sat", [dtype, dtype], columns)
    (rest,) = results("sub_sat", [dtype, dtype], columns)
    same(total, [saturated(a + b, dtype) for a, b in rows(columns)], columns)
    same(rest, [saturated(a - b, dtype) for a, b in rows(columns)], columns)


def words(value: int, dtype: DType) -> list[int]:
    """An integer of three words, least significant first."""
    return [dtype.wrap(value >> dtype.bits * place) for place in range(3)]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_carries_of_long_sums(dtype: DType) -> None:
    """add.cc, addc.cc and addc in a row add integers of three words; sub.cc and so on subtract."""
    size, draw = 3 * dtype.bits, random.Random(f"{dtype}")
    ends = [0, 1, (1 << size) - 1, 1 << dtype.bits, (1 << dtype.bits) - 1, 1 << size - 1]
    ends += [draw.getrandbits(size) for _ in range(6)]
    pairs = [(a, b) for a in ends for b in ends]
    columns = [[words(a, dtype) for a, _ in pairs], [words(b, dtype) for _, b in pairs]]
    for op, exact in (("add_carry", operator.add), ("sub_borrow", operator.sub)):
        carry = np.zeros(len(pairs), bool)
        wanted = [exact(a, b) for a, b in pairs]
        for place in range(3):
            row = [np.array([w[place] for w in column], dtype.numpy) for column in columns]
            got, carry = results(op, [dtype, dtype, b1], [*row, carry])
            assert got.tolist() == [words(value, dtype)[place] for value in wanted]
        assert carry.tolist() == [value >> size != 0 for value in wanted]


def test_operands_of_other_types_are_refused() -> None:
    op = REGISTRY["add_carry"](Value(i32), Value(u32), Value(b1))  # type: ignore[call-arg]
    with pytest.raises(VerifyError, match=r"add_carry: takes .*not \(i32, u32, b1\)"):
        op.check(Scope(Module(), Function("f")))


# For the low two bits 0 to 3 of the selector: the bytes of the result, most significant first.
PERMUTED = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}
"""The table of prmt in the PTX ISA."""


def permuted(low: int, high: int, selector: int, mode: str) -> int:
    """prmt, by the PTX ISA: eight bytes, of which a selection of four bits takes one."""
    octets = (low | high << 32).to_bytes(8, "little")
    if mode == "generic":
        nibbles = [selector >> shift & 15 for shift in (12, 8, 4, 0)]
    else:
        nibbles = [int(digit) for digit in PERMUTED[mode][selector & 3]]
    taken = [octets[nibble & 7] for nibble in nibbles]
    signed = [255 if byte >> 7 else 0 for byte in taken]
    made = [sign if nibble & 8 else byte for nibble, byte, sign in zip(nibbles, taken, signed)]
    return int.from_bytes(made, "big")


@pytest.mark.parametrize("mode", [*PERMUTED, "generic"])
def test_permute(mode: str) -> None:
    selectors = np.array(
        [*range(64), *(n << 4 * p for n in range(16) for p in range(4))], np.uint32
    )
    selectors = np.concatenate([selectors, special(u32, 60)])
    patterns = np.array([0x80FF7F00, 0x0180FE81, 0x03020100, 0xF7E6D5C4], np.uint32)
    columns = grid_of(patterns, patterns[::-1], selectors)

    def make(*values):
        return REGISTRY["prmt"](*values, mode=PermuteMode(mode))  # type: ignore[call-arg]

    (got,) = results("prmt", [u32] * 3, columns, make)
    same(got, [permuted(*row, mode) for row in rows(columns)], columns)


def extracted(value: int, position: int, length: int, dtype: DType) -> int:
    """bfe, bit by bit as the PTX ISA has it."""
    last = dtype.bits - 1
    start, size = position & 0xFF, length & 0xFF
    bits = [value >> place & 1 for place in range(dtype.bits)]
    sign = bits[min(start + size - 1, last)] if dtype.is_signed and size else 0
    inside = [place < size and start + place <= last for place in range(dtype.bits)]
    made = [bits[start + place] if inside[place] else sign for place in range(dtype.bits)]
    return dtype.wrap(sum(bit << place for place, bit in enumerate(made)))


NUMBERS = [*range(4), 7, 8, 15, 16, *range(30, 36), *range(62, 67), 127, 128, 254, 255]
"""Positions and lengths; what follows differs in the bits that do not matter."""
BEYOND = [256, 257, 0x1FF, 0x80000004, 2**32 - 1]


def fields(dtype: DType) -> list[np.ndarray]:
    """Patterns of a type with positions and lengths."""
    numbers = np.array([*NUMBERS, *BEYOND], np.uint32)
    patterns = np.array([dtype.wrap(n) for n in (-1, 0xA5C3_5A3C_8001_7FFE, 0x7B12 << 49)])
    return grid_of(patterns.astype(dtype.numpy), numbers, numbers)


@pytest.mark.parametrize("dtype", [i32, u32, i64, u64], ids=str)
def test_field(dtype: DType) -> None:
    columns = fields(dtype)
    (got,) = results("bfe", [dtype, u32, u32], columns)
    same(got, [extracted(*row, dtype) for row in rows(columns)], columns)


def inserted(field: int, base: int, position: int, length: int, dtype: DType) -> int:
    """bfi, bit by bit as the PTX ISA has it."""
    start, size = position & 0xFF, length & 0xFF
    bits = [base >> place & 1 for place in range(dtype.bits)]
    for place in range(size):
        if start + place < dtype.bits:
            bits[start + place] = field >> place & 1
    return dtype.wrap(sum(bit << place for place, bit in enumerate(bits)))


@pytest.mark.parametrize("dtype", [i32, u32, i64, u64], ids=str)
def test_with_field(dtype: DType) -> None:
    base, position, length = fields(dtype)
    columns = [base[::-1] ^ base[7], base, position, length]
    (got,) = results("bfi", [dtype, dtype, u32, u32], columns)
    same(got, [inserted(*row, dtype) for row in rows(columns)], columns)
