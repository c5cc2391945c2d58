"""Convolutions of up to three axes as products of shifted rows.

Places of the padded images are rows of a matrix, channels its columns. The rows that a tap reads
are those of the results, shifted by a constant; so a convolution is a sum of products of matrices,
a tap each, whose blocks a GPU copies by itself. Results between the lines of an image are computed
and not stored. Rows of few channels have those of all taps along the last axis one behind the
other. With strides the places between two results are channels more. Products are three of tf32
each; see ``split.py``.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from benchmarks.kernelbench import split

from gridlane import tiles
from gridlane.launch import current
from gridlane.tiles.descriptors import TensorDescriptor

tl = tiles.language

Triple = tuple[int, int, int]
K = 32
FEW = 16
"""Channels, of fewer of which rows have all taps along the last axis."""


class Walk(NamedTuple):
    """How results walk over images, an axis each: the first tap of result i is place
    ``stride * i - before``, and the next ones are ``step`` further each. ``flipped``: in reverse
    order. With strides the steps are 1, and taps are not flipped.
    """

    before: Triple
    step: Triple
    flipped: bool
    stride: Triple = (1, 1, 1)


@tiles.jit
def spread_rows(
    x, out, images, channels, extents, x_steps, before, step, stride, lines, width, out_part, pitch,
    TAPS: tl.constexpr, INNER: tl.constexpr, PLACES: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Both parts of some places of a line, for each its channels, or those of some taps one behind
    the other. ``lines``: layers of the padded images, and lines of a layer."""
    across = tl.cdiv(width, PLACES)
    line, block = tl.program_id(0) // across, tl.program_id(0) % across
    image, layer = line // (lines[0] * lines[1]), line // lines[1] % lines[0]
    e = tl.arange(0, INNER)[:, None]
    p = (block * PLACES + tl.arange(0, PLACES))[None, :]
    own = e % channels
    z = layer * stride[0] - before[0] + own // (stride[1] * stride[2]) % stride[0]
    y = line % lines[1] * stride[1] - before[1] + own // stride[2] % stride[1]
    at = (p + e // channels * step) * stride[2] - before[2] + own % stride[2]
    channel = own // (stride[0] * stride[1] * stride[2])
    inside = (z >= 0) & (z < extents[0]) & (y >= 0) & (y < extents[1])
    inside = inside & (at >= 0) & (at < extents[2]) & (e < channels * TAPS)
    where = image.to(tl.int64) * x_steps[0] + z.to(tl.int64) * x_steps[2]
    where = where + y.to(tl.int64) * x_steps[3] + channel.to(tl.int64) * x_steps[1]
    a = tl.trans(tl.load(x + where + at * x_steps[4], mask=inside, other=0.0))
    large = a
    if PARTS > 1:
        large = ((a.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
    p = (block * PLACES + tl.arange(0, PLACES))[:, None]
    e = tl.arange(0, INNER)[None, :]
    where = out + (line.to(tl.int64) * width + p) * pitch + e
    inside = (p < width) & (e < pitch)
    tl.store(where, large, mask=inside)
    if PARTS > 1:
        tl.store(where + out_part, a - large, mask=inside)


@tiles.jit
def spread_weights(
    w, out, filters, channels, taps, size, stride, w_steps, out_part, pitch,
    FLIPPED: tl.constexpr, TAPS: tl.constexpr, INNER: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Both parts of the weights of a filter and a tap, or of all taps along the last axis."""
    count = taps[0] * taps[1] * (1 if TAPS > 1 else taps[2])
    f, tap = tl.program_id(0) // count, tl.program_id(0) % count
    e = tl.arange(0, INNER)
    if TAPS > 1:
        a, b, c = tap // taps[1], tap % taps[1], e // channels
    else:
        a, b, c = tap // (taps[1] * taps[2]), tap // taps[2] % taps[1], tap % taps[2] + e * 0
    if FLIPPED:
        a, b, c = taps[0] - 1 - a, taps[1] - 1 - b, taps[2] - 1 - c
    own = e % channels
    a = a * stride[0] + own // (stride[1] * stride[2]) % stride[0]
    b = b * stride[1] + own // stride[2] % stride[1]
    c = c * stride[2] + own % stride[2]
    inside = (e < channels * TAPS) & (a < size[0]) & (b < size[1]) & (c < size[2])
    channel = own // (stride[0] * stride[1] * stride[2])
    where = f * w_steps[0] + channel * w_steps[1] + a * w_steps[2] + b * w_steps[3]
    values = tl.load(w + where + c * w_steps[4], mask=inside, other=0.0)
    large = values
    if PARTS > 1:
        bits = (values.to(tl.int32, bitcast=True) + 0x1000) & -0x2000
        large = bits.to(tl.float32, bitcast=True)
    where = out + tl.program_id(0) * pitch + e
    tl.store(where, large, mask=e < pitch)
    if PARTS > 1:
        tl.store(where + out_part, values - large, mask=e < pitch)


@tiles.jit
def shifted_products(
    a, b, bias, out, rows, filters, lines, width, results, taps, shifts, chunks, out_steps,
    PARTS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Tiles of places by filters, by as many programs as there are. Rests are added first."""
    down, across = tl.cdiv(rows, M), tl.cdiv(filters, N)
    steps = taps[0] * taps[1] * taps[2] * chunks
    for tile in range(tl.program_id(0), down * across, tl.num_programs(0)):
        i, j = tile // across * M, tile % across * N
        total = tl.zeros((M, N), tl.float32)
        for step in range((3 if PARTS > 1 else 1) * steps):
            turn = step // steps if PARTS > 1 else 2
            place = step - turn * steps if PARTS > 1 else step
            tap, chunk = place // chunks, place % chunks
            shift = tap // (taps[1] * taps[2]) * shifts[0] + tap % taps[2] * shifts[2]
            shift += tap // taps[2] % taps[1] * shifts[1]
            upper = i + shift + tl.where(turn == 0, rows, 0)
            lower = j + tl.where(turn == 1, filters, 0)
            total = tl.dot(a.load([upper, chunk * K]), b.load([lower, place * K]).T, total)
        p, f = i + tl.arange(0, M), j + tl.arange(0, N)
        if bias is not None:
            total += tl.load(bias + f, mask=f < filters, other=0.0).to(tl.float32)[None, :]
        x, line = p % width, p // width
        y, z = line % lines[1], line // lines[1] % lines[0]
        inside = (x < results[2]) & (y < results[1]) & (z < results[0]) & (p < rows)
        where = (line // (lines[0] * lines[1])).to(tl.int64) * out_steps[0]
        where += z.to(tl.int64) * out_steps[2] + y.to(tl.int64) * out_steps[3] + x * out_steps[4]
        where = where[:, None] + (f.to(tl.int64) * out_steps[1])[None, :]
        tl.store(out + where, total, mask=inside[:, None] & (f < filters)[None, :])


def is_for(x: Any) -> bool:
    """Whether this thread's device copies blocks of rows by itself, and images are large."""
    return split.is_for(prod(x.shape[2:]), 64)


def tile_of(filters: int) -> tuple[int, int, int, int]:
    """The rows and columns of a tile, its warps, and the steps that are in flight."""
    columns = min(max(1 << (filters - 1).bit_length(), 16), 128)
    return 128 if columns == 128 else 256, columns, 8, 4


def convolved(x: Any, w: Any, out: Any, walk: Walk, bias: Any = None) -> None:
    """Convolve images.

    Args:
        x: of shape (images, channels, layers, lines, places), float32, float16 or
            bfloat16; halves are multiplied as they are.
        w: of shape (filters, channels, taps along each axis); any strides.
        out: of shape (images, filters, results along each axis); any strides.
        bias: a number for each filter.
    """
    size_of = x.element_size()
    parts, whole, line = (2, K, 4) if size_of == 4 else (1, 2 * K, 8)
    split.calls.extend(["shifted"] * (parts - 1))
    images, channels, *extents = x.shape
    filters, _, *size = w.shape
    channels *= prod(walk.stride)
    taps = [-(-k // s) for k, s in zip(size, walk.stride, strict=True)]
    results = tuple(out.shape[2:])
    is_joined = channels < FEW
    joined = taps[2] if is_joined else 1
    own = taps[0], taps[1], 1 if is_joined else taps[2]
    lines = [r + s * (t - 1) for r, s, t in zip(results, walk.step, own, strict=True)]
    rows, inner = images * prod(lines), channels * joined
    deep = whole if inner > whole // 2 else whole // 2
    pitch, chunks = -(-inner // line) * line, -(-inner // deep)
    depth = prod(own) * chunks * deep
    spread = x.new_empty((parts, rows, pitch))
    block, places = 1 << (pitch - 1).bit_length(), 128 if pitch <= 64 else 64
    spread_rows[(images * lines[0] * lines[1] * -(-lines[2] // places),)](
        x, spread, images, channels, tuple(extents), x.stride(), walk.before, walk.step[2],
        walk.stride, (lines[0], lines[1]), lines[2], rows * pitch, pitch, TAPS=joined,
        INNER=block, PLACES=places, PARTS=parts, num_warps=8,
    )  # fmt: skip
    weights = x.new_empty((parts, filters, depth))
    spread_weights[(filters * prod(own),)](
        w, weights, filters, channels, tuple(taps), tuple(size), walk.stride, w.stride(),
        filters * depth, chunks * deep,
        FLIPPED=walk.flipped, TAPS=joined, INNER=1 << (chunks * deep - 1).bit_length(),
        PARTS=parts,
    )  # fmt: skip
    m, n, warps, stages = tile_of(filters)
    shifts = walk.step[0] * lines[1] * lines[2], walk.step[1] * lines[2], walk.step[2]
    tiles_of_all = -(-rows // m) * -(-filters // n)
    shifted_products[(min(tiles_of_all, max(current.device().limits.multiprocessors, 1)),)](
        TensorDescriptor(spread, (parts * rows, pitch), (pitch, 1), (m, deep)),
        TensorDescriptor(weights, (parts * filters, depth), (depth, 1), (n, deep)),
        bias, out, rows, filters, (lines[0], lines[1]), lines[2], results, own, shifts, chunks,
        out.stride(), PARTS=parts, M=m, N=n, K=deep, num_warps=warps, num_stages=stages,
    )  # fmt: skip
