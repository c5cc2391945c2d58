"""Attention of one query a sequence to keys and values in pages."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import is_wide, scaled_scores


@jit
def load_paged(
    base, page, slot, seen, page_step, slot_step, step, width,
    WIDTH: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Rows of pages, 0 where they are not seen."""
    d = tl.arange(0, WIDTH).to(INDEX)
    where = base + (page * page_step + slot * slot_step)[:, None] + d[None, :] * step
    return tl.load(where, mask=seen[:, None] & (d[None, :] < width), other=0.0)


@jit(do_not_specialize=("pages", "most", "heads", "group", "parts", "window"))
def paged_attention_parts(
    q, k, v, tables, lengths, out, logs, pages, page, most, heads, group, parts, window,
    width, values, q_steps, k_steps, v_steps, table_steps, length_step,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, WINDOW: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """All queries that have one head of keys, of a part of these keys; ``out`` and ``logs`` are
    contiguous arrays of (batch, head of keys, part, query of the group)."""
    place = tl.program_id(0)
    part = place % parts
    head = (place // parts % heads).to(INDEX)
    batch = (place // parts // heads).to(INDEX)
    length = tl.minimum(tl.maximum(tl.load(lengths + batch * length_step), 0), most).to(tl.int32)
    share = tl.cdiv(tl.cdiv(length, N), parts) * N
    begin = part * share
    end = tl.minimum(begin + share, length)
    if WINDOW:
        begin = tl.maximum(begin, (length - window) // N * N)
    g = tl.arange(0, M)
    d = tl.arange(0, WIDTH).to(INDEX)
    q += batch * q_steps[0] + (head * group + g)[:, None] * q_steps[1] + d[None, :] * q_steps[2]
    mine = tl.load(q, mask=(g[:, None] < group) & (d[None, :] < width), other=0.0)
    k += head * k_steps[2]
    v += head * v_steps[2]
    tables += batch * table_steps[0]
    largest = tl.full((M,), -float("inf"), SUM)
    weight = tl.zeros((M,), SUM)
    total = tl.zeros((M, VALUES), SUM)
    for at in range(begin, end, N):
        j = at + tl.arange(0, N)
        seen = j < end
        if WINDOW:
            seen &= j >= length - window
        which = tl.load(tables + (j // page).to(INDEX) * table_steps[1], mask=seen, other=0)
        known = (which >= 0) & (which < pages)
        which, slot = which.to(INDEX), (j % page).to(INDEX)
        key = load_paged(
            k, which, slot, seen & known, k_steps[0], k_steps[1], k_steps[3], width, WIDTH, INDEX
        )
        scores = tl.dot(mine, tl.trans(key), input_precision="ieee", out_dtype=SUM)
        scores = scaled_scores(scores, None, SCALE, SOFTCAP, is_wide(k.dtype.element_ty))
        scores = tl.where(known[None, :], scores, float("nan"))
        scores = tl.where(seen[None, :], scores, -float("inf"))
        higher = tl.maximum(largest, tl.max(scores, axis=1))
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        powers = tl.exp2(scores - shift[:, None])
        kept = tl.exp2(largest - shift)
        weight = weight * kept + tl.sum(powers, axis=1)
        value = load_paged(
            v, which, slot, seen & known, v_steps[0], v_steps[1], v_steps[3], values, VALUES, INDEX
        )
        total = tl.dot(
            powers.to(v.dtype.element_ty), value, total * kept[:, None],
            input_precision="ieee", out_dtype=SUM,
        )  # fmt: skip
        largest = higher
    e = tl.arange(0, VALUES).to(INDEX)
    row = place.to(INDEX) * group + g
    shown = total / tl.where(weight == 0, 1.0, weight)[:, None]
    where = out + row[:, None] * values + e[None, :]
    tl.store(where, shown, mask=(g[:, None] < group) & (e[None, :] < values))
    tl.store(logs + row, largest + tl.log2(weight), mask=g < group)


@jit(do_not_specialize=("heads", "group", "parts"))
def join_parts(
    parts_out, logs, out, heads, group, parts, values, out_steps,
    PARTS: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The result of one query of its parts, whose weights are the powers of their logarithms."""
    place = tl.program_id(0)
    member = place % group
    head = place // group % heads
    batch = place // group // heads
    p = tl.arange(0, PARTS)
    row = ((batch * heads + head).to(INDEX) * parts + p) * group + member
    log = tl.load(logs + row, mask=p < parts, other=-float("inf"))
    most = tl.max(log, axis=0)
    weights = tl.exp2(log - tl.where(most == -float("inf"), 0.0, most))
    whole = tl.sum(weights, axis=0)
    e = tl.arange(0, VALUES).to(INDEX)
    inside = (p[:, None] < parts) & (e[None, :] < values)
    tile = tl.load(parts_out + row[:, None] * values + e[None, :], mask=inside, other=0.0)
    total = tl.sum(tile * weights[:, None], axis=0) / tl.where(whole == 0, 1.0, whole)
    out += batch.to(INDEX) * out_steps[0] + (head * group + member).to(INDEX) * out_steps[1]
    tl.store(out + e * out_steps[2], total, mask=e < values)
