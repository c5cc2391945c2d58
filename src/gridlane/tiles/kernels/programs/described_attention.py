"""Attention, forward, by tensor descriptors of the axes (batch, head, length, width), whose boxes a
GPU copies itself."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import (
    divided,
    full_range,
    key_range,
    no_sums,
    scale_factors,
    scaled_scores,
    weighed,
)


@jit
def seen_keys(
    place, j, keys, window, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, RAGGED: tl.constexpr
):  # fmt: skip
    """Which keys j the queries at some places attend to."""
    seen = j < keys if RAGGED or not CAUSAL else j <= place
    if CAUSAL and RAGGED:
        seen &= j <= place
    if WINDOW:
        seen &= j > place - window
        if not CAUSAL:
            seen &= j < place + window
    return seen


@jit
def attend_described(
    mine, k, v, batch, head, begin, end, place, keys, window, factor, total, weight, largest,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, MASKED: tl.constexpr, CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr, RAGGED: tl.constexpr, BLIND: tl.constexpr, N: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr,
):  # fmt: skip
    """As ``attend`` of ``attention``, of queries at some places among the keys. The largest of
    scores is the largest of products, times a scale that is positive, so that each power is one
    sum of a product."""
    for at in range(begin, end, N):
        scores = tl.dot(mine, tl.trans(k.load([batch, head, at, 0]).reshape(N, WIDTH)))
        if SOFTCAP is not None or factor is not None:
            scores = scaled_scores(scores, factor, SCALE, SOFTCAP, False)
            FACTOR: tl.constexpr = 1.0
        elif SCALE > 0.0:
            FACTOR: tl.constexpr = SCALE * 1.4426950408889634
        else:
            scores *= SCALE * 1.4426950408889634
            FACTOR: tl.constexpr = 1.0
        if MASKED:
            j = at + tl.arange(0, N)
            seen = seen_keys(place[:, None], j[None, :], keys, window, CAUSAL, WINDOW, RAGGED)
            scores = tl.where(seen, scores, -float("inf"))
        powers, kept, weight, largest = weighed(scores, weight, largest, MASKED and BLIND, FACTOR)
        values = v.load([batch, head, at, 0]).reshape(N, VALUES)
        total = tl.dot(powers.to(values.dtype), values, total * kept[:, None])
    return total, weight, largest


@jit
def attend_all_described(
    mine, k, v, batch, head, first, queries, keys, window, factor, SCALE: tl.constexpr,
    SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, RAGGED: tl.constexpr,
    BLIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr,
    VALUES: tl.constexpr,
):  # fmt: skip
    """What ``attend_described`` returns of all keys that some queries see."""
    place = first + tl.arange(0, M) + (keys - queries)
    last = tl.minimum(first + M, queries)
    begin, end = key_range(first, last, queries, keys, window, N, CAUSAL, WINDOW)
    start, stop = full_range(first, last, begin, queries, keys, window, N, CAUSAL, WINDOW)
    largest, weight, total = no_sums(M, VALUES, tl.float32)
    if WINDOW:
        total, weight, largest = attend_described(
            mine, k, v, batch, head, begin, tl.minimum(start, end), place, keys, window, factor,
            total, weight, largest, SCALE, SOFTCAP, True, CAUSAL, WINDOW, RAGGED, BLIND, N, WIDTH,
            VALUES,
        )  # fmt: skip
    total, weight, largest = attend_described(
        mine, k, v, batch, head, start, stop, place, keys, window, factor, total, weight, largest,
        SCALE, SOFTCAP, False, CAUSAL, WINDOW, RAGGED, BLIND, N, WIDTH, VALUES,
    )  # fmt: skip
    if CAUSAL or WINDOW or RAGGED:
        total, weight, largest = attend_described(
            mine, k, v, batch, head, stop, end, place, keys, window, factor, total, weight, largest,
            SCALE, SOFTCAP, True, CAUSAL, WINDOW, RAGGED, BLIND, N, WIDTH, VALUES,
        )  # fmt: skip
    return total, weight, largest


@jit
def described_attention_tile(
    tile, q, k, v, out, logs, blocks, heads, group, queries, keys, window, values, out_steps,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, RAGGED: tl.constexpr,
    BLIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr,
    VALUES: tl.constexpr, INDEX: tl.constexpr, SOFTCAP: tl.constexpr, scales, scale_steps,
):  # fmt: skip
    """Some queries of one head. Where these see more keys the further back they are, the last ones
    come first: their programs take longest."""
    block, head, batch = tile % blocks, tile // blocks % heads, tile // blocks // heads
    far = head // group
    factor, value_factor = scale_factors(
        scales, scale_steps, batch.to(INDEX), far.to(INDEX), tl.float32
    )
    if CAUSAL:
        block = blocks - 1 - block
    first = block * M
    i = first + tl.arange(0, M)
    mine = q.load([batch, head, first, 0]).reshape(M, WIDTH)
    total, weight, largest = attend_all_described(
        mine, k, v, batch, far, first, queries, keys, window, factor, SCALE, SOFTCAP, CAUSAL,
        WINDOW, RAGGED, BLIND, M, N, WIDTH, VALUES,
    )  # fmt: skip
    shown = divided(total, weight, value_factor)
    out += batch.to(INDEX) * out_steps[0] + head.to(INDEX) * out_steps[1]
    d = tl.arange(0, VALUES).to(INDEX)
    inside = i[:, None] < queries
    if values is not None:
        inside &= d[None, :] < values
    where = out + i.to(INDEX)[:, None] * out_steps[2] + d[None, :] * out_steps[3]
    tl.store(where, shown, mask=inside)
    if logs is not None:
        log = (largest + tl.log2(weight)) * 0.6931471805599453
        row = (tile // blocks).to(INDEX) * queries
        tl.store(logs + row + i, log, mask=i < queries)


@jit(do_not_specialize=("count", "blocks", "heads", "group", "window"))
def described_attention_tiles(
    q, k, v, out, logs, count, blocks, heads, group, queries, keys, window, values, out_steps,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, RAGGED: tl.constexpr,
    BLIND: tl.constexpr, PERSISTENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, INDEX: tl.constexpr,
    SOFTCAP: tl.constexpr, scales, scale_steps,
):  # fmt: skip
    """All queries of all heads: a program computes M of them or, ``PERSISTENT``, one such block
    after another. ``RAGGED``: the keys are no multiple of N; ``BLIND``: a query may see none of a
    tile's keys before it has seen others. ``logs`` is contiguous, or None; ``values``
    is None if it is VALUES. ``SOFTCAP``, ``scales``: as of ``attention_tiles``."""
    if PERSISTENT:
        for tile in range(tl.program_id(0), count, tl.num_programs(0)):
            described_attention_tile(
                tile, q, k, v, out, logs, blocks, heads, group, queries, keys, window, values,
                out_steps, SCALE, CAUSAL, WINDOW, RAGGED, BLIND, M, N, WIDTH, VALUES, INDEX,
                SOFTCAP, scales, scale_steps,
            )  # fmt: skip
    else:
        described_attention_tile(
            tl.program_id(0), q, k, v, out, logs, blocks, heads, group, queries, keys, window,
            values, out_steps, SCALE, CAUSAL, WINDOW, RAGGED, BLIND, M, N, WIDTH, VALUES, INDEX,
            SOFTCAP, scales, scale_steps,
        )  # fmt: skip
