"""Loads that a store has the other way round: shared memory is between both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_producers import lowered, program, run, whole

from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import memory
from gridlane.ir.types import Space
from gridlane.ir.values import Module


@jit
def turned(x, out, rows, columns, x_step, out_step, count, M: tl.constexpr, N: tl.constexpr,
           UNIT: tl.constexpr, DOWN: tl.constexpr):  # fmt: skip
    """A transposed matrix and 1, by tiles; extents and steps are in units of UNIT. ``DOWN``: lines
    of both are read and written along their columns, which are then neighbours of neither."""
    rows, columns = rows * UNIT, columns * UNIT
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), count, tl.num_programs(0)):
        i, j = tile // across * M + tl.arange(0, M), tile % across * N + tl.arange(0, N)
        inside = (i < rows)[:, None] & (j < columns)[None, :]
        if DOWN:
            values = tl.load(x + i[:, None] + j[None, :] * (x_step * UNIT), inside, 0)
            where = j[:, None] + i[None, :] * (out_step * UNIT)
        else:
            values = tl.load(x + i[:, None] * (x_step * UNIT) + j[None, :], inside, 0)
            where = j[:, None] * (out_step * UNIT) + i[None, :]
        tl.store(out + where, tl.trans(values + 1), tl.trans(inside))


def accesses(module: Module, kind: type, space: Space) -> list[int]:
    """The bytes of each load or store."""
    found = [op for op in module.kernel.body.walk() if isinstance(op, kind)]
    types = [(op.pointer.type.space, op.pointer.type.element) for op in found]  # type: ignore[attr-defined]
    return [element.size for where, element in types if where is space]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8])
@pytest.mark.parametrize("unit, warps", [(8, 1), (4, 2), (1, 4)])
@pytest.mark.parametrize("m, n", [(32, 32), (64, 16), (16, 64)])
def test_transposed(kind, unit, warps, m, n):
    """Extents are no multiples of the tile's; a program has several tiles."""
    rows, columns = 9 * 8, 5 * 8 if unit > 1 else 39
    x, out = whole((rows, columns), kind), np.full((columns, rows), 7, kind)
    numbers = [rows // unit, columns // unit, columns // unit, rows // unit]
    count = -(-rows // m) * -(-columns // n)
    args: list[Any] = [x.reshape(-1), out.reshape(-1), *numbers, count]
    constants = {"M": m, "N": n, "UNIT": unit}
    changed = lowered(program(turned, args, warps, 2, **constants, DOWN=False))
    assert accesses(changed, memory.Load, Space.SHARED)
    assert len(accesses(changed, memory.Store, Space.SHARED)) > 0
    for grid in (1, 3):
        got = run(changed, args, warps, grid)[0][1].reshape(columns, rows)
        np.testing.assert_array_equal(got, x.T + kind(1))


def test_neighbours_of_both():
    """Shared memory has words, as many as lines need that lanes read columns of; results are
    vectors of 16 bytes."""
    x, out = whole((64, 64)), np.zeros((64, 64), np.float16)
    args = [x.reshape(-1), out.reshape(-1), 8, 8, 8, 8, 1]
    changed = lowered(program(turned, args, 4, 2, M=64, N=64, UNIT=8, DOWN=False))
    assert set(accesses(changed, memory.Load, Space.GLOBAL)) == {4}
    assert set(accesses(changed, memory.Store, Space.SHARED)) == {4}
    assert set(accesses(changed, memory.Store, Space.GLOBAL)) == {16}
    (array,) = changed.static_shared()
    assert array.size == 64 * (64 + 2) * 2
    np.testing.assert_array_equal(run(changed, args, 4)[0][1].reshape(64, 64), x.T + 1)


def test_neighbours_of_the_same_axis():
    """Nothing is in shared memory where a load and its store go the same way."""
    x, out = whole((64, 64)), np.zeros((64, 64), np.float16)
    args = [x.reshape(-1), out.reshape(-1), 8, 8, 8, 8, 1]
    changed = lowered(program(turned, args, 4, 2, M=64, N=64, UNIT=8, DOWN=True))
    assert not list(changed.static_shared())
    got = run(changed, args, 4)[0][1].reshape(64, 64)
    np.testing.assert_array_equal(got, x.T + 1)


@jit
def in_place(x, M: tl.constexpr):
    """A square matrix over itself: all is loaded before any of it is stored."""
    i, j = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    tl.store(x + i * M + j, tl.trans(tl.load(x + i * M + j)))


def test_in_place():
    x = whole((32, 32))
    changed = lowered(program(in_place, [x.reshape(-1)], 4, 2, M=32))
    got = run(changed, [x.reshape(-1)], 4)[0][0].reshape(32, 32)
    np.testing.assert_array_equal(got, x.T)
