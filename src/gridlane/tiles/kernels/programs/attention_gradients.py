"""Attention, backward: scores are computed again from the logarithms of the weights. One program
adds up what is added to a gradient, so sums have one order."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import (
    bent,
    exact_dot,
    is_wide,
    key_range,
    load_rows,
    piece,
    store_rows,
    visible,
)


@jit
def scores_and_slopes(
    products, SCALE: tl.constexpr, SOFTCAP: tl.constexpr, EXACT: tl.constexpr
):  # fmt: skip
    """Scores in units of log(2), and what derivatives of scores are times, or None."""
    if SOFTCAP is None:
        return products * (SCALE * 1.4426950408889634), None
    bound = bent(products * (SCALE / SOFTCAP), EXACT)
    return bound * (SOFTCAP * 1.4426950408889634), 1.0 - bound * bound


@jit
def logs_and_sums(logs, sums, rows, i, queries, step, INDEX: tl.constexpr):
    """The logarithms of queries' weights in units of log(2), and the sums of their rows; ``rows``
    is where those of their head begin."""
    where = rows + i.to(INDEX) * step
    log = tl.load(logs + where, mask=i < queries, other=0.0) * 1.4426950408889634
    return log, tl.load(sums + where, mask=i < queries, other=0.0)


@jit(do_not_specialize=("blocks", "heads"))
def products_of_rows(
    out, grad, sums, starts, blocks, heads, queries, values, out_steps, grad_steps, sum_steps,
    M: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The sum of each row's products of results and their gradients."""
    place = tl.program_id(0)
    first = place % blocks * M
    head = (place // blocks % heads).to(INDEX)
    batch = (place // blocks // heads).to(INDEX)
    if starts is not None:
        begin, queries = piece(starts, batch, queries)
        out += begin.to(INDEX) * out_steps[2]
        grad += begin.to(INDEX) * grad_steps[2]
        sums += begin.to(INDEX) * sum_steps[2]
    out += batch * out_steps[0] + head * out_steps[1]
    grad += batch * grad_steps[0] + head * grad_steps[1]
    sums += batch * sum_steps[0] + head * sum_steps[1]
    i = first + tl.arange(0, M)
    one = load_rows(out, i, queries, out_steps[2], out_steps[3], values, VALUES, INDEX).to(SUM)
    other = load_rows(grad, i, queries, grad_steps[2], grad_steps[3], values, VALUES, INDEX).to(SUM)
    where = sums + i.to(INDEX) * sum_steps[2]
    tl.store(where, tl.sum(one * other, axis=1), mask=i < queries)


@jit
def query_gradients(
    mine, g, log, sum_, k, v, first, queries, keys, window, width, values, k_steps, v_steps,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradient of some queries, not scaled yet, of all keys that they see."""
    i = first + tl.arange(0, M)
    total = tl.zeros((M, WIDTH), SUM)
    last = tl.minimum(first + M, queries)
    begin, end = key_range(first, last, queries, keys, window, N, CAUSAL, WINDOW)
    for at in range(begin, end, N):
        j = at + tl.arange(0, N)
        key = load_rows(k, j, keys, k_steps[2], k_steps[3], width, WIDTH, INDEX)
        value = load_rows(v, j, keys, v_steps[2], v_steps[3], values, VALUES, INDEX)
        scores = tl.dot(mine, tl.trans(key), input_precision="ieee", out_dtype=SUM)
        seen = visible(i[:, None], j[None, :], queries, keys, window, CAUSAL, WINDOW)
        scores, slope = scores_and_slopes(scores, SCALE, SOFTCAP, is_wide(k.dtype.element_ty))
        powers = tl.where(seen, tl.exp2(scores - log[:, None]), 0.0)
        turned = tl.dot(g, tl.trans(value), input_precision="ieee", out_dtype=SUM)
        turned = powers * (turned - sum_[:, None])
        if slope is not None:
            turned *= slope
        total = exact_dot(turned.to(k.dtype.element_ty), key, total, SUM)
    return total


@jit(do_not_specialize=("blocks", "heads", "group", "window"))
def query_gradient_tiles(
    q, k, v, grad, logs, sums, out, q_starts, k_starts, blocks, heads, group, queries, keys, window,
    width, values, q_steps, k_steps, v_steps, grad_steps, log_steps, out_steps,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradient of some queries of one head."""
    place = tl.program_id(0)
    first = place % blocks * M
    head = place // blocks % heads
    batch = (place // blocks // heads).to(INDEX)
    if q_starts is not None:
        q_begin, queries = piece(q_starts, batch, queries)
        k_begin, keys = piece(k_starts, batch, keys)
        q += q_begin.to(INDEX) * q_steps[2]
        grad += q_begin.to(INDEX) * grad_steps[2]
        out += q_begin.to(INDEX) * out_steps[2]
        logs += q_begin.to(INDEX) * log_steps[2]
        sums += q_begin.to(INDEX) * log_steps[2]
        k += k_begin.to(INDEX) * k_steps[2]
        v += k_begin.to(INDEX) * v_steps[2]
    if first < queries:
        far = (head // group).to(INDEX)
        head = head.to(INDEX)
        q += batch * q_steps[0] + head * q_steps[1]
        k += batch * k_steps[0] + far * k_steps[1]
        v += batch * v_steps[0] + far * v_steps[1]
        grad += batch * grad_steps[0] + head * grad_steps[1]
        out += batch * out_steps[0] + head * out_steps[1]
        rows = batch * log_steps[0] + head * log_steps[1]
        i = first + tl.arange(0, M)
        mine = load_rows(q, i, queries, q_steps[2], q_steps[3], width, WIDTH, INDEX)
        g = load_rows(grad, i, queries, grad_steps[2], grad_steps[3], values, VALUES, INDEX)
        log, sum_ = logs_and_sums(logs, sums, rows, i, queries, log_steps[2], INDEX)
        total = query_gradients(
            mine, g, log, sum_, k, v, first, queries, keys, window, width, values, k_steps, v_steps,
            SCALE, SOFTCAP, CAUSAL, WINDOW, M, N, WIDTH, VALUES, SUM, INDEX,
        )  # fmt: skip
        total *= SCALE
        store_rows(out, total, i, queries, out_steps[2], out_steps[3], width, WIDTH, INDEX)


@jit
def query_range(
    first, queries, keys, window,
    M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
):  # fmt: skip
    """The queries, from a multiple of M, that see some of N keys."""
    shift = keys - queries
    begin = tl.zeros((), tl.int32)
    end = queries
    if CAUSAL:
        begin = tl.maximum(first - shift, 0) // M * M
    if WINDOW:
        end = tl.minimum(end, tl.minimum(first + N, keys) - 1 + window - shift)
        if not CAUSAL:
            begin = tl.maximum(first - window + 1 - shift, 0) // M * M
    return begin, end


@jit
def add_key_gradients(
    key, value, j, q, grad, logs, sums, rows, begin, end, queries, keys, window, width, values,
    q_steps, grad_steps, log_step, total_k, total_v, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, M: tl.constexpr, WIDTH: tl.constexpr,
    VALUES: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradients of keys j, not scaled yet, and of their values, with some queries more."""
    for at in range(begin, end, M):
        i = at + tl.arange(0, M)
        mine = load_rows(q, i, queries, q_steps[2], q_steps[3], width, WIDTH, INDEX)
        g = load_rows(grad, i, queries, grad_steps[2], grad_steps[3], values, VALUES, INDEX)
        log, sum_ = logs_and_sums(logs, sums, rows, i, queries, log_step, INDEX)
        scores = tl.dot(key, tl.trans(mine), input_precision="ieee", out_dtype=SUM)
        seen = visible(i[None, :], j[:, None], queries, keys, window, CAUSAL, WINDOW)
        scores, slope = scores_and_slopes(scores, SCALE, SOFTCAP, is_wide(key.dtype))
        powers = tl.where(seen, tl.exp2(scores - log[None, :]), 0.0)
        total_v = exact_dot(powers.to(g.dtype), g, total_v, SUM)
        turned = tl.dot(value, tl.trans(g), input_precision="ieee", out_dtype=SUM)
        turned = powers * (turned - sum_[None, :])
        if slope is not None:
            turned *= slope
        total_k = exact_dot(turned.to(mine.dtype), mine, total_k, SUM)
    return total_k, total_v


@jit
def key_gradients(
    key, value, q, grad, logs, sums, batch, far, group, first, queries, keys, window, width, values,
    q_steps, grad_steps, log_steps, SCALE: tl.constexpr, SOFTCAP: tl.constexpr,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradients of N keys, not scaled yet, and of their values, of all heads of queries."""
    j = first + tl.arange(0, N)
    total_k = tl.zeros((N, WIDTH), SUM)
    total_v = tl.zeros((N, VALUES), SUM)
    begin, end = query_range(first, queries, keys, window, M, N, CAUSAL, WINDOW)
    for head in range(far * group, far * group + group):
        h = tl.cast(head, INDEX)
        my_q = q + batch * q_steps[0] + h * q_steps[1]
        my_grad = grad + batch * grad_steps[0] + h * grad_steps[1]
        rows = batch * log_steps[0] + h * log_steps[1]
        total_k, total_v = add_key_gradients(
            key, value, j, my_q, my_grad, logs, sums, rows, begin, end, queries, keys, window,
            width, values, q_steps, grad_steps, log_steps[2], total_k, total_v, SCALE, SOFTCAP,
            CAUSAL, WINDOW, M, WIDTH, VALUES, SUM, INDEX,
        )  # fmt: skip
    return total_k, total_v


@jit(do_not_specialize=("blocks", "heads", "group", "window"))
def key_gradient_tiles(
    q, k, v, grad, logs, sums, out_k, out_v, q_starts, k_starts, blocks, heads, group,
    queries, keys, window, width, values,
    q_steps, k_steps, v_steps, grad_steps, log_steps, out_k_steps, out_v_steps,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradients of some keys and values of one head of them, of all heads of queries."""
    place = tl.program_id(0)
    first = place % blocks * N
    far = place // blocks % heads
    batch = (place // blocks // heads).to(INDEX)
    if q_starts is not None:
        q_begin, queries = piece(q_starts, batch, queries)
        k_begin, keys = piece(k_starts, batch, keys)
        q += q_begin.to(INDEX) * q_steps[2]
        grad += q_begin.to(INDEX) * grad_steps[2]
        logs += q_begin.to(INDEX) * log_steps[2]
        sums += q_begin.to(INDEX) * log_steps[2]
        k += k_begin.to(INDEX) * k_steps[2]
        v += k_begin.to(INDEX) * v_steps[2]
        out_k += k_begin.to(INDEX) * out_k_steps[2]
        out_v += k_begin.to(INDEX) * out_v_steps[2]
    if first < keys:
        wide = far.to(INDEX)
        k += batch * k_steps[0] + wide * k_steps[1]
        v += batch * v_steps[0] + wide * v_steps[1]
        j = first + tl.arange(0, N)
        key = load_rows(k, j, keys, k_steps[2], k_steps[3], width, WIDTH, INDEX)
        value = load_rows(v, j, keys, v_steps[2], v_steps[3], values, VALUES, INDEX)
        total_k, total_v = key_gradients(
            key, value, q, grad, logs, sums, batch, far, group, first, queries, keys, window, width,
            values, q_steps, grad_steps, log_steps, SCALE, SOFTCAP, CAUSAL, WINDOW, M, N, WIDTH,
            VALUES, SUM, INDEX,
        )  # fmt: skip
        total_k *= SCALE
        out_k += batch * out_k_steps[0] + wide * out_k_steps[1]
        out_v += batch * out_v_steps[0] + wide * out_v_steps[1]
        store_rows(out_k, total_k, j, keys, out_k_steps[2], out_k_steps[3], width, WIDTH, INDEX)
        store_rows(out_v, total_v, j, keys, out_v_steps[2], out_v_steps[3], values, VALUES, INDEX)
