"""Programs that Triton's own compiler has translated to PTX: see make.py."""

from __future__ import annotations

from tests.frontends.triton.running import jit

import gridlane.frontends.triton.language as tl


@jit
def add(x, y, out, count, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@jit
def integers(x, y, out, count, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    a = tl.load(x + at)
    b = tl.load(y + at)
    tl.store(out + at, a // b)
    tl.store(out + SIZE + at, a % b)
    tl.store(out + 2 * SIZE + at, (a >> 3) ^ (b << 2))
    tl.store(out + 3 * SIZE + at, tl.cdiv(a, b))
    tl.store(out + 4 * SIZE + at, tl.where(a < b, a, -b))
    tl.store(out + 5 * SIZE + at, tl.abs(a) + tl.maximum(a, b) - tl.minimum(a, 5))
    tl.store(out + 6 * SIZE + at, a.to(tl.int8).to(tl.int32) + a.to(tl.uint16).to(tl.int32))
    tl.store(out + 7 * SIZE + at, tl.umulhi(a, b) + (a > b).to(tl.int32) + ~a)
    tl.store(out + 8 * SIZE + at, (a.to(tl.uint32) // 3).to(tl.int32) + (a.to(tl.int64) * b >> 5))


@jit
def in_order(x, y, out, count, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    a = tl.load(x + at)
    tl.store(out + at, tl.cumsum(a, 0))
    tl.store(out + SIZE + at, tl.sort(a))
    tl.store(out + 2 * SIZE + at, tl.flip(a, 0))
    most, place = tl.max(a // 100, 0, return_indices=True)
    tl.store(out + 3 * SIZE + at, most * 1000 + place)
    tl.store(out + 4 * SIZE + at, tl.argmin(a // 100, 0) + tl.xor_sum(a, 0))


@jit
def randoms(x, y, out, count, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    a, b, c, d = tl.randint4x(count, at)
    tl.store(out + at, a)
    tl.store(out + SIZE + at, b)
    tl.store(out + 2 * SIZE + at, c)
    tl.store(out + 3 * SIZE + at, d)
    tl.store(out + 4 * SIZE + at, (tl.rand(count, at) * 16777216).to(tl.int32))


@jit
def two_axes(x, y, out, count, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    place = at[:, None] * SIZE + at[None, :]
    a = tl.load(x + place)
    tl.store(out + at, tl.sum(a, 0))
    tl.store(out + SIZE + at, tl.max(a, 1))
    tl.store(out + 2 * SIZE + at, tl.argmax(a // 100, 1))
    tl.store(out + 4 * SIZE + place, tl.trans(a) + a)


@jit
def loops(x, y, out, count, SIZE: tl.constexpr):
    total = tl.load(x)
    for step in range(count, 0, -3):
        if step % 2 == 0:
            total += step
        else:
            total = total * 3 - tl.load(x + step)
    while total > 100:
        total = total // 7 - 1
    tl.store(out, total)
    tl.store(out + 1, total if total < 0 else -total)


SIZES = {add: 256, integers: 128, in_order: 64, randoms: 64, two_axes: 16, loops: 16}
"""The programs, all on i32, and their blocks."""
