"""Products with weights of 4 bits, two in a byte: the low four bits are the even element of the
inner dimension. A weight is a scale times the difference of its number and a zero point."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit


@jit
def inner_share(part, parts, count, STEP: tl.constexpr):
    """The bytes of a part of the inner dimension: the first, and behind the last."""
    share = tl.cdiv(tl.cdiv(count, STEP), parts) * STEP
    first = part * share
    return first, tl.minimum(first + share, count)


@jit
def int4_row_tiles(
    a, b, scales, zeros, out, n, count, group, parts, a_steps, b_steps, scale_steps, zero_steps,
    out_steps, WHOLE: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """Some columns of one row, or a part of their sums, without matrix instructions. ``count`` and
    ``group`` are bytes, multiples of a step; ``out_steps`` are those of rows, columns and parts.
    ``WHOLE``: the columns are a multiple of N.

    A number of 4 bits becomes a float by the bits of 2 ** 23, which conversions would take longer
    for.
    """
    across = tl.cdiv(n, N)
    place = tl.program_id(0)
    part, row = place % parts, (place // parts // across).to(INDEX)
    j = (place // parts % across) * N + tl.arange(0, N)
    columns = j.to(INDEX)
    inside = None if WHOLE else j < n
    known = None if WHOLE else (j < n)[:, None]
    first, last = inner_share(part, parts, count, STEP)
    total = tl.zeros((N, STEP), SUM)
    step = tl.arange(0, STEP)
    for begin in range(first, last, STEP):
        at = begin + step
        where = b + columns[:, None] * b_steps[0] + at.to(INDEX)[None, :] * b_steps[1]
        packed = tl.load(where, mask=known).to(tl.int32)
        mine = a + row * a_steps[0] + at.to(INDEX) * 2 * a_steps[1]
        even = tl.load(mine).to(SUM)
        odd = tl.load(mine + a_steps[1]).to(SUM) * 0.0625
        which = (begin // group).to(INDEX)
        scale = tl.load(scales + columns * scale_steps[0] + which * scale_steps[1], mask=inside)
        zero = tl.zeros((N,), tl.float32)
        if zeros is not None:
            point = zeros + columns * zero_steps[0] + which * zero_steps[1]
            zero = tl.load(point, mask=inside).to(tl.float32)
        low = ((packed & 15) | 0x4B000000).to(tl.float32, bitcast=True)
        high = ((packed & 240) | 0x4B000000).to(tl.float32, bitcast=True)
        low -= (8388608.0 + zero)[:, None]
        high -= (8388608.0 + 16.0 * zero)[:, None]
        sums = low.to(SUM) * even[None, :] + high.to(SUM) * odd[None, :]
        total += sums * scale.to(SUM)[:, None]
    where = out + row * out_steps[0] + part.to(INDEX) * out_steps[2] + columns * out_steps[1]
    tl.store(where, tl.sum(total, axis=1), mask=j < n)


@jit
def nibble(words, zero, NUMBER: tl.constexpr):
    """The numbers of 4 bits at a place in words, less zero points, times a power of 16, as floats;
    and that power. They stay where they are, within the bits of 2 ** 23."""
    SHIFT: tl.constexpr = 20 if NUMBER > 4 else 0
    PLACE: tl.constexpr = NUMBER - 5 if NUMBER > 4 else NUMBER
    bits = ((words >> SHIFT) & (15 << (4 * PLACE))) | 0x4B000000
    return bits.to(tl.float32, bitcast=True) - (8388608.0 + zero * 16.0**PLACE)[:, None]


@jit
def load_words(rows, at, count, STEP: tl.constexpr):
    """A step of bytes of rows as words, the last one where there is no other."""
    begin = (rows + tl.minimum(at, count - STEP)).to(tl.pointer_type(tl.int32))
    return tl.load(begin[:, None] + tl.arange(0, STEP // 4)[None, :])


@jit
def int4_word_tiles(
    a, b, scales, zeros, out, n, count, group, parts, a_steps, b_steps, scale_steps, zero_steps,
    out_steps, N: tl.constexpr, STEP: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """As ``int4_row_tiles`` with sums of float32, of columns that are a multiple of N and whose
    bytes are neighbours, eight numbers at once; words are loaded two steps ahead."""
    WORDS: tl.constexpr = STEP // 4
    across = n // N
    place = tl.program_id(0)
    part, row = place % parts, (place // parts // across).to(INDEX)
    columns = ((place // parts % across) * N + tl.arange(0, N)).to(INDEX)
    first, last = inner_share(part, parts, count, STEP)
    step = tl.arange(0, WORDS)
    total = tl.zeros((N, WORDS), tl.float32)
    b += columns * b_steps[0]
    words = load_words(b, first, count, STEP)
    ahead = load_words(b, first + STEP, count, STEP)
    a += row * a_steps[0]
    for begin in range(first, last, STEP):
        which = (begin // group).to(INDEX)
        scale = tl.load(scales + columns * scale_steps[0] + which * scale_steps[1])
        zero = tl.zeros((N,), tl.float32)
        if zeros is not None:
            zero = tl.load(zeros + columns * zero_steps[0] + which * zero_steps[1]).to(tl.float32)
        mine = a + (begin * 2 + step * 8).to(INDEX) * a_steps[1]
        sums = tl.zeros((N, WORDS), tl.float32)
        for number in tl.static_range(8):
            power: tl.constexpr = 16.0 ** -(number - 5 if number > 4 else number)
            x = tl.load(mine + number * a_steps[1]).to(tl.float32) * power
            sums += nibble(words, zero, number) * x[None, :]
        total += sums * scale.to(tl.float32)[:, None]
        words = ahead
        ahead = load_words(b, begin + 2 * STEP, count, STEP)
    where = out + row * out_steps[0] + part.to(INDEX) * out_steps[2] + columns * out_steps[1]
    tl.store(where, tl.sum(total, axis=1))


@jit
def int4_tiles(
    a, b, scales, zeros, out, m, n, count, group, parts, a_steps, b_steps, scale_steps, zero_steps,
    out_steps, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """A tile, or a part of its sums, by products of the even and of the odd elements."""
    across = tl.cdiv(n, N)
    place = tl.program_id(0)
    part, tile = place % parts, place // parts
    i = tile // across * M + tl.arange(0, M)
    j = tile % across * N + tl.arange(0, N)
    rows, columns = i.to(INDEX), j.to(INDEX)
    first, last = inner_share(part, parts, count, STEP)
    total = tl.zeros((M, N), SUM)
    step = tl.arange(0, STEP)
    for begin in range(first, last, STEP):
        at = begin + step
        seen = at < last
        where = b + at.to(INDEX)[:, None] * b_steps[1] + columns[None, :] * b_steps[0]
        packed = tl.load(where, mask=seen[:, None] & (j[None, :] < n), other=0).to(tl.int32)
        mine = a + rows[:, None] * a_steps[0] + at.to(INDEX)[None, :] * 2 * a_steps[1]
        known = (i[:, None] < m) & seen[None, :]
        even = tl.load(mine, mask=known, other=0.0)
        odd = tl.load(mine + a_steps[1], mask=known, other=0.0)
        which = (begin // group).to(INDEX)
        scale = tl.load(
            scales + columns * scale_steps[0] + which * scale_steps[1], mask=j < n, other=0.0
        )
        low, high = packed & 15, packed >> 4
        if zeros is not None:
            point = zeros + columns * zero_steps[0] + which * zero_steps[1]
            zero = tl.load(point, mask=j < n, other=0).to(tl.int32)
            low -= zero[None, :]
            high -= zero[None, :]
        sums = tl.dot(even, low.to(a.dtype.element_ty), input_precision="ieee", out_dtype=SUM)
        sums = tl.dot(odd, high.to(a.dtype.element_ty), sums, input_precision="ieee", out_dtype=SUM)
        total += sums * scale.to(SUM)[None, :]
    where = out + rows[:, None] * out_steps[0] + columns[None, :] * out_steps[1]
    where += part.to(INDEX) * out_steps[2]
    tl.store(where, total, mask=(i[:, None] < m) & (j[None, :] < n))
