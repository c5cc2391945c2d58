"""Attention of one query a sequence to keys and values in pages."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import (
    attend,
    exact_dot,
    in_halves,
    is_wide,
    key_range,
    load_rows,
    no_sums,
    piece,
    scale_factors,
    scaled_scores,
    store_rows,
    weighed,
)


@jit
def load_paged(
    base, page, slot, seen, page_step, slot_step, step, width,
    WIDTH: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Rows of pages, 0 where they are not seen."""
    d = tl.arange(0, WIDTH).to(INDEX)
    where = base + (page * page_step + slot * slot_step)[:, None] + d[None, :] * step
    return tl.load(where, mask=seen[:, None] & (d[None, :] < width), other=0.0)


@jit
def length_of(lengths, batch, step, most):
    """The tokens of a sequence, which pages have room for."""
    return tl.minimum(tl.maximum(tl.load(lengths + batch * step), 0), most).to(tl.int32)


@jit
def load_group(
    q, batch, head, group, steps, width, M: tl.constexpr, WIDTH: tl.constexpr, INDEX: tl.constexpr
):  # fmt: skip
    """The queries of a sequence that have one head of keys."""
    g = tl.arange(0, M)
    d = tl.arange(0, WIDTH).to(INDEX)
    row = (head * group + g).to(INDEX)
    q += batch * steps[0] + row[:, None] * steps[1] + d[None, :] * steps[2]
    return tl.load(q, mask=(g[:, None] < group) & (d[None, :] < width), other=0.0)


@jit
def attend_newest(
    mine, k, v, tables, begin, end, first, total, weight, largest, pages, page, width, values,
    k_steps, v_steps, table_step, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    WINDOW: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The sums of values, the weights and the largest scores after the keys from ``begin`` to
    ``end``; those in front of ``first`` are not seen if there is a window."""
    for at in range(begin, end, N):
        j = at + tl.arange(0, N)
        seen = j < end
        if WINDOW:
            seen &= j >= first
        which = tl.load(tables + (j // page).to(INDEX) * table_step, mask=seen, other=0)
        known = (which >= 0) & (which < pages)
        which, slot = which.to(INDEX), (j % page).to(INDEX)
        key = load_paged(
            k, which, slot, seen & known, k_steps[0], k_steps[1], k_steps[3], width, WIDTH, INDEX
        )
        scores = tl.dot(mine, tl.trans(key), input_precision="ieee", out_dtype=SUM)
        scores = scaled_scores(scores, None, SCALE, SOFTCAP, is_wide(k.dtype.element_ty))
        scores = tl.where(known[None, :], scores, float("nan"))
        scores = tl.where(seen[None, :], scores, -float("inf"))
        powers, kept, weight, largest = weighed(scores, weight, largest)
        value = load_paged(
            v, which, slot, seen & known, v_steps[0], v_steps[1], v_steps[3], values, VALUES, INDEX
        )
        total = exact_dot(powers.to(v.dtype.element_ty), value, total * kept[:, None], SUM)
    return total, weight, largest


@jit
def store_part(
    total, weight, largest, out, logs, place, group, values, M: tl.constexpr,
    VALUES: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Store the result of a part, and the logarithms of its weights."""
    g = tl.arange(0, M)
    e = tl.arange(0, VALUES).to(INDEX)
    row = place.to(INDEX) * group + g
    shown = total / tl.where(weight == 0, 1.0, weight)[:, None]
    where = out + row[:, None] * values + e[None, :]
    tl.store(where, shown, mask=(g[:, None] < group) & (e[None, :] < values))
    tl.store(logs + row, largest + tl.log2(weight), mask=g < group)


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
    length = length_of(lengths, batch, length_step, most)
    share = tl.cdiv(tl.cdiv(length, N), parts) * N
    begin = part * share
    end = tl.minimum(begin + share, length)
    if WINDOW:
        begin = tl.maximum(begin, (length - window) // N * N)
    mine = load_group(q, batch, head, group, q_steps, width, M, WIDTH, INDEX)
    k += head * k_steps[2]
    v += head * v_steps[2]
    tables += batch * table_steps[0]
    largest, weight, total = no_sums(M, VALUES, SUM)
    total, weight, largest = attend_newest(
        mine, k, v, tables, begin, end, length - window, total, weight, largest, pages, page,
        width, values, k_steps, v_steps, table_steps[1], SCALE, SOFTCAP, WINDOW, N, WIDTH, VALUES,
        SUM, INDEX,
    )  # fmt: skip
    store_part(total, weight, largest, out, logs, place, group, values, M, VALUES, INDEX)


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


@jit
def sequence_of(i, starts, sequences):
    """The sequences of packed tokens i, and where these begin; behind the last one, their number.
    ``starts`` do not decrease."""
    number = tl.zeros(i.shape, tl.int32)
    begin = tl.zeros(i.shape, tl.int64) + tl.load(starts).to(tl.int64)
    for each in range(sequences):
        end = tl.load(starts + each + 1).to(tl.int64)
        is_behind = i >= end
        number = tl.where(is_behind, each + 1, number)
        begin = tl.where(is_behind, end, begin)
    return tl.where(i < begin, sequences, number), begin


@jit(do_not_specialize=("tokens", "sequences"))
def token_places(starts, lengths, out, tokens, sequences, length_step, BLOCK: tl.constexpr):
    """The place of each packed token in its sequence, of which a number of tokens came before; -1
    for those of no sequence."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    number, begin = sequence_of(i, starts, sequences)
    known = (i < tokens) & (number < sequences)
    place = i - begin
    if lengths is not None:
        place += tl.load(lengths + number.to(tl.int64) * length_step, mask=known, other=0)
    tl.store(out + i, tl.where(known, place, -1), mask=i < tokens)


@jit
def store_paged(
    base, tile, page, slot, seen, page_step, slot_step, step, width, scale,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Rows to pages, divided by a scale; of numbers within a limit, if there is one."""
    d = tl.arange(0, WIDTH).to(INDEX)
    where = base + (page * page_step + slot * slot_step)[:, None] + d[None, :] * step
    if scale is not None:
        tile = tile.to(SUM) / scale.to(SUM)
    if LIMIT > 0.0:
        tile = tl.maximum(tile.to(SUM), -LIMIT, propagate_nan=tl.PropagateNan.ALL)
        tile = tl.minimum(tile, LIMIT, propagate_nan=tl.PropagateNan.ALL)
    tl.store(where, tile.to(base.dtype.element_ty), mask=seen[:, None] & (d[None, :] < width))


@jit(do_not_specialize=("tokens", "sequences", "pages", "most", "heads"))
def append_tiles(
    k, v, keys, values, tables, lengths, starts, tokens, sequences, pages, page, most, heads, width,
    value_width, k_steps, v_steps, key_steps, value_steps, table_steps, length_step, scales,
    scale_steps, M: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, LIMIT: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some packed tokens of one head to the pages of their sequences, behind what these have."""
    head = (tl.program_id(0) % heads).to(INDEX)
    i = tl.program_id(0) // heads * M + tl.arange(0, M)
    number, begin = sequence_of(i.to(tl.int64), starts, sequences)
    seen = (i < tokens) & (number < sequences)
    number = number.to(INDEX)
    place = i - begin + tl.load(lengths + number * length_step, mask=seen, other=0).to(tl.int64)
    seen &= (place >= 0) & (place < most)
    at = tables + number * table_steps[0] + (place // page).to(INDEX) * table_steps[1]
    which = tl.load(at, mask=seen, other=0)
    seen &= (which >= 0) & (which < pages)
    which, slot = which.to(INDEX), (place % page).to(INDEX)
    key = load_rows(k + head * k_steps[1], i, tokens, k_steps[0], k_steps[2], width, WIDTH, INDEX)
    value = load_rows(
        v + head * v_steps[1], i, tokens, v_steps[0], v_steps[2], value_width, VALUES, INDEX
    )
    key_scale, value_scale = None, None
    if scales is not None:
        if scales[0] is not None:
            key_scale = tl.load(scales[0] + head * scale_steps[0])
        if scales[1] is not None:
            value_scale = tl.load(scales[1] + head * scale_steps[1])
    store_paged(
        keys + head * key_steps[2], key, which, slot, seen, key_steps[0], key_steps[1],
        key_steps[3], width, key_scale, LIMIT, WIDTH, SUM, INDEX,
    )  # fmt: skip
    store_paged(
        values + head * value_steps[2], value, which, slot, seen, value_steps[0], value_steps[1],
        value_steps[3], value_width, value_scale, LIMIT, VALUES, SUM, INDEX,
    )  # fmt: skip


@jit(do_not_specialize=("slots", "entries", "pages", "heads"))
def widened_pages(
    cache, out, tables, lengths, own, slots, entries, pages, page, heads, width, steps, out_steps,
    table_steps, length_step, scale, scale_steps, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """A page of floats of 8 bits of one head of a sequence, times its scale, to the page that the
    sequence has in ``out``; its number goes to ``own``, if that is an array. A page that the cache
    does not have is NaN."""
    place = tl.program_id(0)
    head = (place % heads).to(INDEX)
    slot, batch = place // heads % slots, (place // heads // slots).to(INDEX)
    if own is not None:
        number = batch * slots + slot
        tl.store(own + number, number.to(tl.int32), mask=place % heads == 0)
    length = tl.load(lengths + batch * length_step)
    if slot.to(tl.int64) * page < length:
        at = tables + batch * table_steps[0] + slot.to(INDEX) * table_steps[1]
        which = tl.load(at, mask=slot < entries, other=-1)
        known = (which >= 0) & (which < pages)
        factor = tl.full((), 1.0, tl.float32)
        if scale is not None:
            factor = tl.load(scale + batch * scale_steps[0] + head * scale_steps[1])
        cache += which.to(INDEX) * steps[0] + head * steps[2]
        out += (batch * slots + slot) * out_steps[0] + head * out_steps[2]
        d = tl.arange(0, WIDTH).to(INDEX)
        for first in range(0, page, ROWS):
            i = (first + tl.arange(0, ROWS)).to(INDEX)
            inside = (i[:, None] < page) & (d[None, :] < width)
            where = cache + i[:, None] * steps[1] + d[None, :] * steps[3]
            tile = in_halves(tl.load(where, mask=inside & known)).to(tl.float32) * factor
            tile = tl.where(known, tile, float("nan"))
            where = out + i[:, None] * out_steps[1] + d[None, :] * out_steps[3]
            tl.store(where, tile, mask=inside)


@jit
def attend_paged(
    mine, k, v, tables, begin, end, place, window, pages, page, table_step, k_steps, v_steps, width,
    values, factor, total, weight, largest, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    AHEAD: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, N: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """As ``attend``, of queries at some places, to keys and values in pages; all of these are in
    front of them unless ``AHEAD``."""
    for at in range(begin, end, N):
        j = at + tl.arange(0, N)
        inside = j < end
        which = tl.load(tables + (j // page).to(INDEX) * table_step, mask=inside, other=0)
        known = (which >= 0) & (which < pages)
        which, slot = which.to(INDEX), (j % page).to(INDEX)
        key = load_paged(
            k, which, slot, inside & known, k_steps[0], k_steps[1], k_steps[3], width, WIDTH, INDEX
        )
        if key.dtype != mine.dtype:
            key = in_halves(key).to(mine.dtype)
        scores = tl.dot(mine, tl.trans(key), input_precision="ieee", out_dtype=SUM)
        scores = scaled_scores(scores, factor, SCALE, SOFTCAP, is_wide(mine.dtype))
        seen = inside[None, :]
        if AHEAD and CAUSAL:
            seen &= j[None, :] <= place[:, None]
        if WINDOW:
            seen &= j[None, :] > place[:, None] - window
            if AHEAD and not CAUSAL:
                seen &= j[None, :] < place[:, None] + window
        scores = tl.where(known[None, :], scores, float("nan"))
        scores = tl.where(seen, scores, -float("inf"))
        powers, kept, weight, largest = weighed(scores, weight, largest)
        value = load_paged(
            v, which, slot, inside & known, v_steps[0], v_steps[1], v_steps[3], values, VALUES,
            INDEX,
        )  # fmt: skip
        if value.dtype != mine.dtype:
            value = in_halves(value).to(mine.dtype)
        total = exact_dot(powers.to(mine.dtype), value, total * kept[:, None], SUM)
    return total, weight, largest


@jit
def attend_known(
    mine, k, v, tables, first, last, count, cached, known, window, pages, page, table_step, k_steps,
    v_steps, width, values, factor, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    AHEAD: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """What ``attend_paged`` returns of the first ``known`` tokens, for the queries from ``first``
    to ``last`` of ``count`` new ones behind the cached ones."""
    largest, weight, total = no_sums(M, VALUES, SUM)
    begin, end = key_range(first, last, count, cached + count, window, N, CAUSAL, WINDOW)
    return attend_paged(
        mine, k, v, tables, begin, tl.minimum(end, known), first + tl.arange(0, M) + cached, window,
        pages, page, table_step, k_steps, v_steps, width, values, factor, total, weight, largest,
        SCALE, SOFTCAP, AHEAD, CAUSAL, WINDOW, N, WIDTH, VALUES, SUM, INDEX,
    )  # fmt: skip


@jit
def attend_new(
    mine, k, v, begin, head, first, last, count, window, k_steps, v_steps, width, values, total,
    weight, largest, SCALE: tl.constexpr, SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr,
    VALUES: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The sums of values and the weights with those of new tokens, for the queries from ``first``
    to ``last`` of ``count``, where a sequence begins at a packed token."""
    k += begin * k_steps[0] + head * k_steps[1]
    v += begin * v_steps[0] + head * v_steps[1]
    start, end = key_range(first, last, count, count, window, N, CAUSAL, WINDOW)
    total, weight, _ = attend(
        mine, k, v, start, end, first + tl.arange(0, M), count, count, window, k_steps[0],
        k_steps[2], v_steps[0], v_steps[2], width, values, None, total, weight, largest,
        SCALE, SOFTCAP, True, CAUSAL, WINDOW, N, WIDTH, VALUES, SUM, INDEX,
    )  # fmt: skip
    return total, weight


@jit(do_not_specialize=("blocks", "heads", "group", "pages", "most", "window"))
def paged_prefill_tiles(
    q, k, v, keys, values, tables, lengths, starts, out, blocks, heads, group, tokens, pages, page,
    most, window, width, value_width, q_steps, k_steps, v_steps, key_steps, value_steps,
    table_steps, length_step, out_steps, scales, scale_steps,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some new tokens of one head of a sequence, to its tokens in pages, and then to the new ones,
    which pages have as well where ``k`` is None. Steps of packed arrays are those of (token, head,
    width)."""
    place, head = tl.program_id(0), tl.program_id(0) % heads
    first = place // heads % blocks * M
    batch = (place // heads // blocks).to(INDEX)
    begin, count = piece(starts, batch, tokens)
    if first < count:
        far = (head // group).to(INDEX)
        cached = length_of(lengths, batch, length_step, most)
        factor, value_factor = scale_factors(scales, scale_steps, batch, far, SUM)
        shift = begin.to(INDEX)
        q += shift * q_steps[0] + head.to(INDEX) * q_steps[1]
        out += shift * out_steps[0] + head.to(INDEX) * out_steps[1]
        i = first + tl.arange(0, M)
        mine = load_rows(q, i, count, q_steps[0], q_steps[2], width, WIDTH, INDEX)
        last, known = tl.minimum(first + M, count), cached + count if k is None else cached
        total, weight, largest = attend_known(
            mine, keys + far * key_steps[2], values + far * value_steps[2],
            tables + batch * table_steps[0], first, last, count, cached, tl.minimum(known, most),
            window, pages, page, table_steps[1], key_steps, value_steps, width, value_width, factor,
            SCALE, SOFTCAP, k is None, CAUSAL, WINDOW, M, N, WIDTH, VALUES, SUM, INDEX,
        )  # fmt: skip
        if value_factor is not None:
            total *= value_factor
        if k is None:
            weight = tl.where(known <= most, weight, float("nan"))
        else:
            total, weight = attend_new(
                mine, k, v, shift, far, first, last, count, window, k_steps, v_steps, width,
                value_width, total, weight, largest, SCALE, SOFTCAP, CAUSAL, WINDOW, M, N, WIDTH,
                VALUES, SUM, INDEX,
            )  # fmt: skip
        total /= tl.where(weight == 0, 1.0, weight)[:, None]
        store_rows(out, total, i, count, out_steps[0], out_steps[2], value_width, VALUES, INDEX)
