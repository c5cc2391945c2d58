"""Attention, forward: softmax of scaled products as it comes, a tile of queries a program."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.language.extra import libdevice
from gridlane.tiles.jit import jit


@jit
def visible(i, j, queries, keys, window, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """Which queries i attend to which keys j: the last query is at the place of the last key."""
    place = i + (keys - queries)
    seen = (i < queries) & (j < keys)
    if CAUSAL:
        seen &= j <= place
    if WINDOW:
        seen &= j > place - window
        if not CAUSAL:
            seen &= j < place + window
    return seen


@jit
def key_range(
    first, last, queries, keys, window,
    STEP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
):  # fmt: skip
    """The keys, from a multiple of a step, that some of the queries from first to last see."""
    shift = keys - queries
    begin = tl.zeros((), tl.int32)
    end = keys
    if CAUSAL:
        end = tl.minimum(end, last + shift)
    if WINDOW:
        begin = tl.maximum(first + shift - window + 1, 0) // STEP * STEP
        if not CAUSAL:
            end = tl.minimum(end, last + shift - 1 + window)
    return begin, end


@jit
def load_rows(
    base, i, count, row_step, step, width, WIDTH: tl.constexpr, INDEX: tl.constexpr
):  # fmt: skip
    """A tile of rows i, 0 behind the last one and behind the width."""
    d = tl.arange(0, WIDTH).to(INDEX)
    where = base + i.to(INDEX)[:, None] * row_step + d[None, :] * step
    return tl.load(where, mask=(i[:, None] < count) & (d[None, :] < width), other=0.0)


@jit
def store_rows(
    base, tile, i, count, row_step, step, width, WIDTH: tl.constexpr, INDEX: tl.constexpr
):  # fmt: skip
    """A tile to rows i."""
    d = tl.arange(0, WIDTH).to(INDEX)
    where = base + i.to(INDEX)[:, None] * row_step + d[None, :] * step
    tl.store(where, tile, mask=(i[:, None] < count) & (d[None, :] < width))


@jit
def piece(starts, batch, total):
    """Where a sequence begins among all tokens, and its length, within these."""
    begin = tl.minimum(tl.maximum(tl.load(starts + batch), 0), total).to(tl.int32)
    end = tl.minimum(tl.maximum(tl.load(starts + batch + 1), begin), total).to(tl.int32)
    return begin, end - begin


@jit
def full_range(
    first, last, begin, queries, keys, window,
    STEP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
):  # fmt: skip
    """The keys, between multiples of a step, that all queries from first to last see."""
    shift = keys - queries
    start, end = begin, keys
    if CAUSAL:
        end = tl.minimum(end, first + shift + 1)
    if WINDOW:
        start = tl.maximum(start, tl.maximum(last + shift - window + STEP - 1, 0) // STEP * STEP)
        if not CAUSAL:
            end = tl.minimum(end, first + shift + window)
    return start, tl.maximum(tl.maximum(end, 0) // STEP * STEP, start)


@jit
def bent(x, EXACT: tl.constexpr):
    """The hyperbolic tangent; not ``EXACT``, of which the error is some 1e-7 alone, not relative to
    the result."""
    if EXACT:
        return libdevice.tanh(x)
    return 1.0 - 2.0 / (1.0 + tl.exp2(x * 2.8853900817779268))


@jit
def is_wide(kind: tl.constexpr):
    """Whether floats have more than 16 bits."""
    return kind == tl.float32 or kind == tl.float64


@jit
def scaled_scores(
    scores, factor, SCALE: tl.constexpr, SOFTCAP: tl.constexpr, EXACT: tl.constexpr
):  # fmt: skip
    """Scores of products, in units of log(2).

    Args:
        factor: of the products besides, of their dtype, or None.
    """
    if SOFTCAP is None:
        if factor is not None:
            return scores * (factor * (SCALE * 1.4426950408889634))
        return scores * (SCALE * 1.4426950408889634)
    if factor is not None:
        scores *= factor
    return bent(scores * (SCALE / SOFTCAP), EXACT) * (SOFTCAP * 1.4426950408889634)


@jit
def scale_factors(scales, steps, batch, head, SUM: tl.constexpr):
    """The factor of products of queries and keys, and that of values, in the type of sums; None
    for 1."""
    if scales is None:
        return None, None
    q_scale, k_scale, v_scale = scales
    factor, values = None, None
    if q_scale is not None:
        factor = tl.load(q_scale + batch * steps[0][0] + head * steps[0][1]).to(SUM)
    if k_scale is not None:
        other = tl.load(k_scale + batch * steps[1][0] + head * steps[1][1]).to(SUM)
        factor = other if factor is None else factor * other
    if v_scale is not None:
        values = tl.load(v_scale + batch * steps[2][0] + head * steps[2][1]).to(SUM)
    return factor, values


@jit
def divided(total, weight, factor):
    """Sums of values by their weights, times a factor, if there is one. By reciprocals: quotients
    take longer."""
    shown = total * (1.0 / tl.where(weight == 0, 1.0, weight))[:, None]
    if factor is not None:
        shown *= factor
    return shown


@jit
def no_sums(M: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr):
    """The largest scores, the weights and the weighted sums of values of no keys."""
    largest = tl.full((M,), -float("inf"), SUM)
    weight = tl.zeros((M,), SUM)
    return largest, weight, tl.zeros((M, VALUES), SUM)


@jit
def weighed(
    scores, weight, largest, MASKED: tl.constexpr = True, FACTOR: tl.constexpr = None
):  # fmt: skip
    """The weights of some more keys, what the sums before are times, and the sum of weights and the
    largest scores with these. Scores, times the factor, are in units of log(2)."""
    high = tl.max(scores, axis=1)
    if FACTOR is not None:
        high *= FACTOR
    higher = tl.maximum(largest, high)
    shift = tl.where(higher == -float("inf"), 0.0, higher) if MASKED else higher
    if FACTOR is not None:
        scores *= FACTOR
    powers = tl.exp2(scores - shift[:, None])
    kept = tl.exp2(largest - shift)
    return powers, kept, weight * kept + tl.sum(powers, axis=1), higher


@jit
def exact_dot(a, b, total, SUM: tl.constexpr):
    """Products of the factors as they are, and a sum."""
    return tl.dot(a, b, total, input_precision="ieee", out_dtype=SUM)


@jit
def attend(
    mine, k, v, begin, end, i, queries, keys, window, k_row, k_step, v_row, v_step, width, values,
    factor, total, weight, largest, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, N: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The weighted sums of values, not divided yet, their weights, and the largest scores in units
    of log(2), with some more keys. A row that sees no key has the weight 0."""
    for at in range(begin, end, N):
        j = at + tl.arange(0, N)
        key = load_rows(k, j, keys, k_row, k_step, width, WIDTH, INDEX)
        scores = tl.dot(mine, tl.trans(key), input_precision="ieee", out_dtype=SUM)
        scores = scaled_scores(scores, factor, SCALE, SOFTCAP, is_wide(k.dtype.element_ty))
        if MASKED:
            seen = visible(i[:, None], j[None, :], queries, keys, window, CAUSAL, WINDOW)
            scores = tl.where(seen, scores, -float("inf"))
        powers, kept, weight, largest = weighed(scores, weight, largest, MASKED)
        value = load_rows(v, j, keys, v_row, v_step, values, VALUES, INDEX)
        total = exact_dot(powers.to(v.dtype.element_ty), value, total * kept[:, None], SUM)
    return total, weight, largest


@jit
def attend_all(
    mine, k, v, first, queries, keys, window, width, values, k_steps, v_steps, factor,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr,
    INDEX: tl.constexpr,
):  # fmt: skip
    """What ``attend`` returns of all keys that some queries see, the last of which need no mask."""
    i = first + tl.arange(0, M)
    last = tl.minimum(first + M, queries)
    begin, end = key_range(first, last, queries, keys, window, N, CAUSAL, WINDOW)
    start, stop = full_range(first, last, begin, queries, keys, window, N, CAUSAL, WINDOW)
    largest, weight, total = no_sums(M, VALUES, SUM)
    if WINDOW:
        total, weight, largest = attend(
            mine, k, v, begin, tl.minimum(start, end), i, queries, keys, window,
            k_steps[2], k_steps[3], v_steps[2], v_steps[3], width, values,
            factor, total, weight, largest,
            SCALE, SOFTCAP, True, CAUSAL, WINDOW, N, WIDTH, VALUES, SUM, INDEX,
        )  # fmt: skip
    total, weight, largest = attend(
        mine, k, v, start, stop, i, queries, keys, window,
        k_steps[2], k_steps[3], v_steps[2], v_steps[3], width, values,
        factor, total, weight, largest,
        SCALE, SOFTCAP, False, CAUSAL, WINDOW, N, WIDTH, VALUES, SUM, INDEX,
    )  # fmt: skip
    return attend(
        mine, k, v, stop, end, i, queries, keys, window,
        k_steps[2], k_steps[3], v_steps[2], v_steps[3], width, values,
        factor, total, weight, largest,
        SCALE, SOFTCAP, True, CAUSAL, WINDOW, N, WIDTH, VALUES, SUM, INDEX,
    )  # fmt: skip


@jit(do_not_specialize=("blocks", "heads", "group", "window"))
def attention_tiles(
    q, k, v, out, logs, q_starts, k_starts, blocks, heads, group, queries, keys, window,
    width, values, q_steps, k_steps, v_steps, out_steps, log_steps, scales, scale_steps,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some queries of one head; steps are those of (batch, head, length, width). ``scales`` are
    None, or those of queries, keys and values, with steps of (batch, head of keys)."""
    place = tl.program_id(0)
    first = place % blocks * M
    head = place // blocks % heads
    batch = (place // blocks // heads).to(INDEX)
    if q_starts is not None:
        q_begin, queries = piece(q_starts, batch, queries)
        k_begin, keys = piece(k_starts, batch, keys)
        q += q_begin.to(INDEX) * q_steps[2]
        out += q_begin.to(INDEX) * out_steps[2]
        logs += q_begin.to(INDEX) * log_steps[2]
        k += k_begin.to(INDEX) * k_steps[2]
        v += k_begin.to(INDEX) * v_steps[2]
    if first < queries:
        far = (head // group).to(INDEX)
        factor, value_factor = scale_factors(scales, scale_steps, batch, far, SUM)
        head = head.to(INDEX)
        q += batch * q_steps[0] + head * q_steps[1]
        k += batch * k_steps[0] + far * k_steps[1]
        v += batch * v_steps[0] + far * v_steps[1]
        out += batch * out_steps[0] + head * out_steps[1]
        logs += batch * log_steps[0] + head * log_steps[1]
        i = first + tl.arange(0, M)
        mine = load_rows(q, i, queries, q_steps[2], q_steps[3], width, WIDTH, INDEX)
        total, weight, largest = attend_all(
            mine, k, v, first, queries, keys, window, width, values, k_steps, v_steps, factor,
            SCALE, SOFTCAP, CAUSAL, WINDOW, M, N, WIDTH, VALUES, SUM, INDEX,
        )  # fmt: skip
        shown = total / tl.where(weight == 0, 1.0, weight)[:, None]
        if value_factor is not None:
            shown *= value_factor
        store_rows(out, shown, i, queries, out_steps[2], out_steps[3], values, VALUES, INDEX)
        log = (largest + tl.log2(weight)) * 0.6931471805599453
        tl.store(logs + i.to(INDEX) * log_steps[2], log, mask=i < queries)


@jit
def in_halves(x):
    """Floats of 8 bits as float16. Those of 4 bits of exponent are its bits, but for a factor, and
    for NaN."""
    if x.dtype == tl.float8e4nv:
        bits = x.to(tl.uint8, bitcast=True).to(tl.uint16)
        rest = bits & 127
        made = (((bits & 128) << 8) | (rest << 7)).to(tl.float16, bitcast=True) * 256.0
        return tl.where(rest == 127, float("nan"), made)
    return x.to(tl.float16)


@jit
def widened_elements(arrays, outs, counts, BLOCK: tl.constexpr, INDEX: tl.constexpr):
    """Floats of 8 bits of three arrays in a row, in float16; a program has some of one of them."""
    place = tl.program_id(0)
    first, second = tl.cdiv(counts[0], BLOCK), tl.cdiv(counts[1], BLOCK)
    if place < first:
        widen(arrays[0], outs[0], counts[0], place, BLOCK, INDEX)
    elif place < first + second:
        widen(arrays[1], outs[1], counts[1], place - first, BLOCK, INDEX)
    else:
        widen(arrays[2], outs[2], counts[2], place - first - second, BLOCK, INDEX)


@jit
def widen(x, out, count, place, BLOCK: tl.constexpr, INDEX: tl.constexpr):
    """A block of floats of 8 bits in float16."""
    i = place.to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, in_halves(tl.load(x + i, mask=i < count)), mask=i < count)
