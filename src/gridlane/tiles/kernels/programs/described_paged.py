"""Attention of one query a sequence to keys and values in pages, by tensor descriptors of the axes
(page, head, token, width), whose boxes a GPU copies itself."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import no_sums, scaled_scores, weighed
from gridlane.tiles.kernels.programs.paged import (
    attend_newest,
    length_of,
    load_group,
    store_part,
)


@jit
def attend_boxes(
    mine, k_boxes, v_boxes, tables, head, begin, end, largest, weight, total, pages, page,
    table_step, SCALE: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """As ``attend_newest``, of tiles of which all keys are seen, by boxes."""
    for at in range(begin, end, N):
        which = tl.load(tables + (at // page).to(INDEX) * table_step)
        known = (which >= 0) & (which < pages)
        box, slot = tl.where(known, which, 0).to(tl.int32), at % page
        key = k_boxes.load([box, head, slot, 0]).reshape(N, WIDTH)
        scores = tl.dot(mine, tl.trans(key))
        scores = scaled_scores(scores, None, SCALE, None, False)
        scores = tl.where(known, scores, float("nan"))
        powers, kept, weight, largest = weighed(scores, weight, largest)
        value = v_boxes.load([box, head, slot, 0]).reshape(N, VALUES)
        total = tl.dot(powers.to(value.dtype), value, total * kept[:, None])
    return largest, weight, total


@jit(do_not_specialize=("pages", "most", "heads", "group", "parts", "window"))
def described_paged_parts(
    q, k_boxes, v_boxes, k, v, tables, lengths, out, logs, pages, page, most, heads, group, parts,
    window, width, values, q_steps, k_steps, v_steps, table_steps, length_step,
    SCALE: tl.constexpr, WINDOW: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """As ``paged_attention_parts``, of pages whose tokens are a multiple of N. Boxes are tiles of
    which all keys are seen; others are read by addresses, as what a cache has behind the last
    token may be any bits."""
    place = tl.program_id(0)
    part, head, batch = place % parts, place // parts % heads, place // parts // heads
    length = length_of(lengths, batch.to(INDEX), length_step, most)
    share = tl.cdiv(tl.cdiv(length, N), parts) * N
    begin = part * share
    end = tl.minimum(begin + share, length)
    start = begin
    if WINDOW:
        first = tl.maximum(length - window, 0)
        begin = tl.maximum(begin, first // N * N)
        start = tl.maximum(begin, tl.cdiv(first, N) * N)
    stop = tl.maximum(end // N * N, start)
    mine = load_group(q, batch.to(INDEX), head, group, q_steps, width, M, WIDTH, INDEX)
    k += head.to(INDEX) * k_steps[2]
    v += head.to(INDEX) * v_steps[2]
    tables += batch.to(INDEX) * table_steps[0]
    largest, weight, total = no_sums(M, VALUES, tl.float32)
    if WINDOW:
        total, weight, largest = attend_newest(
            mine, k, v, tables, begin, tl.minimum(start, end), length - window, total, weight,
            largest, pages, page, width, values, k_steps, v_steps, table_steps[1], SCALE, None,
            True, N, WIDTH, VALUES, tl.float32, INDEX,
        )  # fmt: skip
    largest, weight, total = attend_boxes(
        mine, k_boxes, v_boxes, tables, head, start, stop, largest, weight, total, pages, page,
        table_steps[1], SCALE, N, WIDTH, VALUES, INDEX,
    )  # fmt: skip
    total, weight, largest = attend_newest(
        mine, k, v, tables, stop, end, length - window, total, weight, largest, pages, page, width,
        values, k_steps, v_steps, table_steps[1], SCALE, None, WINDOW, N, WIDTH, VALUES,
        tl.float32, INDEX,
    )  # fmt: skip
    store_part(total, weight, largest, out, logs, place, group, values, M, VALUES, INDEX)
