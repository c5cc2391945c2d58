"""Attention of new tokens to keys and values in pages, by tensor descriptors whose boxes a GPU
copies itself."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import (
    full_range,
    key_range,
    piece,
    scale_factors,
    scaled_scores,
)
from gridlane.tiles.kernels.programs.described_attention import seen_keys
from gridlane.tiles.kernels.programs.paged import attend_paged


@jit
def attend_pages(
    mine, k, v, table, table_step, head, begin, end, place, keys, window, pages, page, factor,
    known, total, weight, largest, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, N: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """As ``attend_described``, of keys in pages, each of which has some tiles; and whether the
    cache has all of these."""
    for at in range(begin, end, N):
        which = tl.load(table + (at // page).to(INDEX) * table_step)
        known &= (which >= 0) & (which < pages)
        which, slot = which.to(tl.int32), at % page
        scores = tl.dot(mine, tl.trans(k.load([which, head, slot, 0]).reshape(N, WIDTH)))
        if SOFTCAP is not None or factor is not None or SCALE <= 0.0:
            scores = scaled_scores(scores, factor, SCALE, SOFTCAP, False)
            FACTOR: tl.constexpr = 1.0
        else:
            FACTOR: tl.constexpr = SCALE * 1.4426950408889634
        if MASKED:
            j = at + tl.arange(0, N)
            seen = seen_keys(place[:, None], j[None, :], keys, window, CAUSAL, WINDOW, True)
            scores = tl.where(seen, scores, -float("inf"))
        higher = tl.maximum(largest, tl.max(scores, axis=1) * FACTOR)
        shift = tl.where(higher == -float("inf"), 0.0, higher) if MASKED else higher
        powers = tl.exp2(scores * FACTOR - shift[:, None])
        kept = tl.exp2(largest - shift)
        weight = weight * kept + tl.sum(powers, axis=1)
        values = v.load([which, head, slot, 0]).reshape(N, VALUES)
        total = tl.dot(powers.to(values.dtype), values, total * kept[:, None])
        largest = higher
    return known, total, weight, largest


@jit(do_not_specialize=("blocks", "heads", "group", "pages", "most", "window"))
def described_prefill_tiles(
    q, k, v, key_rows, value_rows, tables, lengths, starts, out, blocks, heads, group, tokens,
    pages, page, most, window, width, values, key_steps, value_steps, table_steps, length_step,
    out_steps, scales, scale_steps, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    LAST: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some new tokens of one head of a sequence, to all its tokens, which pages have. Descriptors
    are those of (head, token, width), and of (page, head, slot, width).

    Behind a sequence's last token its page may have any numbers, which no weight of 0 makes 0. So
    the keys of a tile that is not full are read by their addresses, LAST at once.
    """
    place = tl.program_id(0)
    block, head = blocks - 1 - place % blocks, place // blocks % heads
    batch = (place // blocks // heads).to(INDEX)
    begin, count = piece(starts, batch, tokens)
    first = block * M
    if first < count:
        far = head // group
        cached = tl.minimum(tl.maximum(tl.load(lengths + batch * length_step), 0), most)
        keys = cached.to(tl.int32) + count
        factor, value_factor = scale_factors(scales, scale_steps, batch, far.to(INDEX), tl.float32)
        table = tables + batch * table_steps[0]
        mine = q.load([head, begin + first, 0]).reshape(M, WIDTH)
        i = first + tl.arange(0, M)
        at = i + (keys - count)
        last = tl.minimum(first + M, count)
        start, end = key_range(first, last, count, keys, window, N, CAUSAL, WINDOW)
        full, stop = full_range(first, last, start, count, keys, window, N, CAUSAL, WINDOW)
        end = tl.minimum(end, most)  # of tables
        whole = tl.maximum(tl.minimum(keys, most) // N * N, start)
        stop = tl.minimum(stop, most)
        largest = tl.full((M,), -float("inf"), tl.float32)
        weight = tl.zeros((M,), tl.float32)
        total = tl.zeros((M, VALUES), tl.float32)
        known = keys <= most
        if WINDOW:
            known, total, weight, largest = attend_pages(
                mine, k, v, table, table_steps[1], far, start, tl.minimum(full, whole), at, keys,
                window, pages, page, factor, known, total, weight, largest, SCALE, SOFTCAP, True,
                CAUSAL, WINDOW, N, WIDTH, VALUES, INDEX,
            )  # fmt: skip
        known, total, weight, largest = attend_pages(
            mine, k, v, table, table_steps[1], far, full, stop, at, keys, window, pages, page,
            factor, known, total, weight, largest, SCALE, SOFTCAP, False, CAUSAL, WINDOW, N, WIDTH,
            VALUES, INDEX,
        )  # fmt: skip
        known, total, weight, largest = attend_pages(
            mine, k, v, table, table_steps[1], far, stop, tl.minimum(end, whole), at, keys,
            window, pages, page, factor, known, total, weight, largest, SCALE, SOFTCAP, True,
            CAUSAL, WINDOW, N, WIDTH, VALUES, INDEX,
        )  # fmt: skip
        total, weight, largest = attend_paged(
            mine, key_rows + far.to(INDEX) * key_steps[2],
            value_rows + far.to(INDEX) * value_steps[2], table, whole, end, at, window, pages, page,
            table_steps[1], key_steps, value_steps, width, values, factor, total, weight, largest,
            SCALE, SOFTCAP, True, CAUSAL, WINDOW, LAST, WIDTH, VALUES, tl.float32, INDEX,
        )  # fmt: skip
        shown = total * (1.0 / tl.where(weight == 0, 1.0, weight))[:, None]
        if value_factor is not None:
            shown *= value_factor
        shown = tl.where(known, shown, float("nan"))
        out += begin.to(INDEX) * out_steps[0] + head.to(INDEX) * out_steps[1]
        d = tl.arange(0, VALUES).to(INDEX)
        inside = (i[:, None] < count) & (d[None, :] < values)
        where = out + i.to(INDEX)[:, None] * out_steps[0] + d[None, :] * out_steps[2]
        tl.store(where, shown, mask=inside)
