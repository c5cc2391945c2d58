"""Ops on a converted value and a constant: compilers have rules for such, and some are wrong.

Mesa 22.3 answered ``cast(x) < 5`` with no for every i32 made an i64, and takes the smaller of it
and -1 wrongly.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.devices import DEVICES, WORDS, assert_same, run_on
from tests.effort import NIGHTLY

from gridlane.core.dtypes import DType, f16, f32, f64, i8, i16, i32, i64, u32, u64
from gridlane.ir.parser import parse_module

PAIRS = (
    *((i32, i64), (u32, i64), (i32, u64), (i64, i32), (i16, i32), (i8, i16)),
    *((f32, f64), (f16, f32), (i32, f64), (i64, f32), (f64, i64)),
)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
OPS = (*("add", "sub", "mul", "div", "min", "max"), *COMPARISONS)
INTEGER_OPS = (*OPS, "rem", "and", "or", "xor", "shl", "shr", "mulhi")
EDGES = (0, 1, 5, 127, 128, 255, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40)
FIXED = (0, 1, 5, -1, -128, 2**31 - 1, 2**31)
BY_DAY = (0, 5, -1, 2**31)
USUAL = (5, -1)
"""For devices whose compilers take seconds for the others: they see 64 bits as two words."""


def numbers(dtype: DType) -> list[int]:
    """Numbers of either sign next to the bounds of types."""
    every = (*EDGES, *(-edge for edge in EDGES), -129, -32769, -(2**31) - 1)
    if dtype.is_float:
        return [n for n in every if abs(n) <= 65504 or dtype is not f16]
    return [n for n in every if dtype.min <= n <= dtype.max]


def program(source: DType, target: DType, values: list[int]) -> tuple[str, int]:
    """A kernel's text, with a column of 64 bits for each op, constant and order, and how many."""
    lines, at = [], 0
    ops = OPS if target.is_float else INTEGER_OPS
    for number in values:
        rounded = float(np.array(number, target.numpy))
        shown = rounded.hex() if target.is_float else str(number)
        lines.append(f"%c{at}: {target} = const {shown}")
        constant = f"%c{at}"
        for op, first in product(ops, (True, False)):
            pair = f"%w, {constant}" if first else f"{constant}, %w"
            kind = "b1" if op in COMPARISONS else target
            store = [
                f"%r{at}: {kind} = {op} {pair}",
                f"%k{at}: i32 = const {at}",
                f"%i{at}: i32 = add %base, %k{at}",
                f"%p{at}: ptr<{target}, global> = offset %o, %i{at}",
            ]
            if kind == "b1":
                store += [f"%x{at}: {target} = cast %r{at}", f"store %p{at}, %x{at}"]
            else:
                store.append(f"store %p{at}, %r{at}")
            lines += store
            at += 1
    head = [
        "%t: i32 = thread_idx x",
        f"%wide: i32 = const {at}",
        "%base: i32 = mul %t, %wide",
        f"%q: ptr<{source}, global> = offset %s, %t",
        f"%v: {source} = load %q",
        f"%w: {target} = cast %v",
    ]
    body = "".join(f"  {line}\n" for line in (*head, *lines))
    return f"kernel @k(%s: ptr<{source}, global>, %o: ptr<{target}, global>) {{\n{body}}}\n", at


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("source, target", PAIRS, ids=str)
def test_converted(source: DType, target: DType, device: str) -> None:
    values = np.array(numbers(source)).astype(source.numpy)
    chosen = FIXED if NIGHTLY else USUAL if device in WORDS else BY_DAY
    fixed = [number for number in chosen if number in numbers(target)]
    text, columns = program(source, target, fixed)
    module, out = parse_module(text), np.zeros(len(values) * columns, target.numpy)
    launch = (module, (1, 1, 1), (len(values), 1, 1), [values, out])
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    assert_same(got.arrays, wanted.arrays, ["values", "results"])
