"""What tensor instructions are given, executed by the words of the PTX ISA, against numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.codegen.warp_machine import Warp

from gridlane.codegen.llvm.gpu.nvptx import emit_kernel
from gridlane.core.dtypes import DType, bf16, f16, f32, i8, i32, u8
from gridlane.core.options import KernelOptions
from gridlane.ir.ops.matrix import DEPTHS
from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify

ROWS, COLUMNS = 32, 48
RNG = np.random.default_rng(9)

TEXT = """
kernel @k(%a: ptr<{x}, {space}>, %b: ptr<{y}, {space}>, %c: ptr<{z}, global>, %d: ptr<{z}, global>,
          %sa: i64, %sb: i64, %sc: i64, %sd: i64) {{
  %x: frag<a, {m}, {k}, {x}> = fragment_load %a, %sa [by_columns={first}]
  %y: frag<b, {k}, {n}, {y}> = fragment_load %b, %sb [by_columns={second}]
  %z: frag<acc, {m}, {n}, {z}> = fragment_load %c, %sc [by_columns={third}]
  %w: frag<acc, {m}, {n}, {z}> = fragment_mma %x, %y, %z
  fragment_store %d, %sd, %w [by_columns={fourth}]
}}
"""


def lines_of(matrix: np.ndarray, by_columns: bool, pad: int) -> np.ndarray:
    """How a matrix lies in memory, with elements behind each line."""
    lines = matrix.T if by_columns else matrix
    return np.pad(lines, ((0, 0), (0, pad)))


def run(
    elements: tuple[DType, DType, DType], space: str, orders: tuple[bool, ...], capability: int
):
    """(what the warp stores, what it should)."""
    x, y, z = elements
    depth = 2 * DEPTHS[x]
    names = ("first", "second", "third", "fourth")
    flags = {name: str(order).lower() for name, order in zip(names, orders, strict=True)}
    shape = {"m": ROWS, "n": COLUMNS, "k": depth}
    module = parse_module(TEXT.format(x=x, y=y, z=z, space=space, **shape, **flags))
    verify(module)
    a, b, c = (
        RNG.integers(0 if type_ is u8 else -3, 4, extents).astype(type_.numpy)
        for type_, extents in zip(elements, ((ROWS, depth), (depth, COLUMNS), (ROWS, COLUMNS)))
    )
    matrices = [*zip((a, b, c, np.zeros_like(c)), orders, strict=True)]
    arrays = [lines_of(m, order, 16 // m.dtype.itemsize) for m, order in matrices]
    starts = np.cumsum([0, *[array.nbytes for array in arrays]]).tolist()
    memory = np.concatenate([np.ascontiguousarray(x).view(np.uint8).reshape(-1) for x in arrays])
    warp = Warp(memory, [*starts[:4], *[array.shape[1] for array in arrays]])
    warp.run(emit_kernel(module, KernelOptions(), capability).text)
    stored = memory[starts[3] :].view(c.dtype).reshape(arrays[3].shape)
    wide = np.float64
    return stored, lines_of(
        a.astype(wide) @ b.astype(wide) + c.astype(wide), orders[3], 16 // z.size
    )


PRODUCTS = [
    (f16, f16, f32),
    (f16, f16, f16),
    (bf16, bf16, f32),
    (f32, f32, f32),
    (i8, i8, i32),
    (u8, i8, i32),
]
ORDERS = [(x, y, z, z ^ x) for x, y, z in product((False, True), repeat=3)]


@pytest.mark.parametrize("capability", [75, 80, 90])
@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("elements", PRODUCTS, ids=lambda types: "-".join(map(str, types)))
def test_products(elements, space, capability) -> None:
    if capability < 80 and elements[0] in (bf16, f32):
        return
    for orders in ORDERS:
        stored, wanted = run(elements, space, orders, capability)
        assert (stored.astype(np.float64) == wanted).all(), orders
