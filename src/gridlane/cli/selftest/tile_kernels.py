"""The tile programs of the self-test. Each writes one row of ``out`` per tested feature; ROWS has
their names, in order. Sums of floats are exact, so that their order makes no difference."""

# pyright: basic, reportIndexIssue=false, reportOperatorIssue=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false
# Programs: their arguments have the types of each launch.

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.functions import TileFunction

WARPS = 4
"""Of the block that runs a program, where a device has warps."""
ROWS = {
    "whole_tiles": (
        *("add", "masks", "sum", "scan", "sort", "argmax", "transpose"),
        *("histogram", "atomics", "product", "loop"),
    ),
    "float_tiles": ("add", "max", "exp2", "product", "loop"),
}
_SIZE = tl.constexpr(128)
_WIDTH = tl.constexpr(192)
"""Of a row of ``out``."""


@TileFunction
def whole_tiles(left, right, out):
    i = tl.arange(0, _SIZE)
    x, y = tl.load(left + i), tl.load(right + i)
    tl.store(out + i, x + y)
    tl.store(out + _WIDTH + i, tl.load(left + i, mask=i % 3 == 0, other=7), mask=i % 5 != 0)
    tl.store(out + 2 * _WIDTH + i, tl.sum(x, axis=0) + tl.zeros_like(i))
    tl.store(out + 3 * _WIDTH + i, tl.cumsum(x, axis=0))
    tl.store(out + 4 * _WIDTH + i, tl.sort(x))
    tl.store(out + 5 * _WIDTH + i, tl.argmax(x, axis=0) + tl.zeros_like(i))
    turned = tl.trans(tl.reshape(x, (8, 16)))
    tl.store(out + 6 * _WIDTH + i, tl.reshape(turned, (_SIZE,)))
    tl.store(out + 7 * _WIDTH + tl.arange(0, 16), tl.histogram(x & 15, 16))
    tl.atomic_add(out + 8 * _WIDTH + (i & 7), x, sem="relaxed")
    j = tl.arange(0, 16)
    a = tl.load(left + (j[:, None] * 16 + j[None, :]) % _WIDTH).to(tl.int8)
    b = tl.load(right + (j[:, None] * 16 + j[None, :]) % _WIDTH).to(tl.int8)
    at = j[:, None] * 16 + j[None, :]
    tl.store(out + 9 * _WIDTH + at, tl.dot(a, b), mask=at < _WIDTH)
    total = tl.zeros_like(x)
    for n in range(0, tl.sum(x & 3, axis=0) % 16 + 4):
        total += (y >> 3) * n
    tl.store(out + 10 * _WIDTH + i, total)


@TileFunction
def float_tiles(left, right, out):
    i, j = tl.arange(0, _SIZE), tl.arange(0, 16)
    x, y = tl.load(left + i), tl.load(right + i)
    tl.store(out + i, x + y)
    tl.store(out + _WIDTH + i, tl.max(tl.where(x < 1e9, x, 0.0), axis=0) + tl.zeros_like(x))
    tl.store(out + 2 * _WIDTH + i, tl.exp2((i % 16 - 8).to(tl.float32)))
    at = j[:, None] * 16 + j[None, :]
    a, b = (at % 7).to(tl.float16), (at % 5 - 2).to(tl.float16)
    tl.store(out + 3 * _WIDTH + at, tl.dot(a, b), mask=at < _WIDTH)
    total = tl.zeros((16, 16), tl.float32)
    for n in range(0, 5):
        total = tl.dot(a + n, b, total)
    tl.store(out + 4 * _WIDTH + at, total, mask=at < _WIDTH)
