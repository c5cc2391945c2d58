"""Attention, backward, by tensor descriptors of the axes (batch, head, length, width), whose boxes
a GPU copies itself. Scores are computed again from the logarithms of the weights; one program adds
up what is added to a gradient, so sums have one order."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import full_range, key_range, store_rows


@jit
def add_query_gradients(
    mine, g, log, sum_, k, v, batch, head, begin, end, place, keys, total, SCALE: tl.constexpr,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr,
    VALUES: tl.constexpr,
):  # fmt: skip
    """The gradient of queries at some places among the keys, of the keys from ``begin`` on."""
    for at in range(begin, end, N):
        key = k.load([batch, head, at, 0]).reshape(N, WIDTH)
        value = v.load([batch, head, at, 0]).reshape(N, VALUES)
        scores = tl.dot(mine, tl.trans(key))
        powers = tl.exp2(scores * (SCALE * 1.4426950408889634) - log[:, None])
        if MASKED:
            j = at + tl.arange(0, N)
            seen = j[None, :] < keys
            if CAUSAL:
                seen &= j[None, :] <= place[:, None]
            powers = tl.where(seen, powers, 0.0)
        turned = tl.dot(g, tl.trans(value))
        turned = powers * (turned - sum_[:, None])
        total = tl.dot(turned.to(key.dtype), key, total)
    return total


@jit(do_not_specialize=("blocks", "heads", "group"))
def described_query_gradients(
    q, k, v, grad, logs, sums, out, blocks, heads, group, queries, keys, width, out_steps,
    SCALE: tl.constexpr, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradient of some queries of one head; those that see the most keys come first. ``logs``
    and ``sums`` are contiguous."""
    tile = tl.program_id(0)
    block, head, batch = tile % blocks, tile // blocks % heads, tile // blocks // heads
    if CAUSAL:
        block = blocks - 1 - block
    far, first = head // group, block * M
    i = first + tl.arange(0, M)
    place = i + (keys - queries)
    mine = q.load([batch, head, first, 0]).reshape(M, WIDTH)
    g = grad.load([batch, head, first, 0]).reshape(M, VALUES)
    where = (tile // blocks).to(INDEX) * queries + i
    log = tl.load(logs + where, mask=i < queries, other=0.0) * 1.4426950408889634
    sum_ = tl.load(sums + where, mask=i < queries, other=0.0)
    last = tl.minimum(first + M, queries)
    begin, end = key_range(first, last, queries, keys, 0, N, CAUSAL, False)
    start, stop = full_range(first, last, begin, queries, keys, 0, N, CAUSAL, False)
    total = tl.zeros((M, WIDTH), tl.float32)
    total = add_query_gradients(
        mine, g, log, sum_, k, v, batch, far, start, stop, place, keys, total, SCALE, False, CAUSAL,
        N, WIDTH, VALUES,
    )  # fmt: skip
    total = add_query_gradients(
        mine, g, log, sum_, k, v, batch, far, stop, end, place, keys, total, SCALE, True, CAUSAL, N,
        WIDTH, VALUES,
    )  # fmt: skip
    out += batch.to(INDEX) * out_steps[0] + head.to(INDEX) * out_steps[1]
    store_rows(out, total * SCALE, i, queries, out_steps[2], out_steps[3], width, WIDTH, INDEX)


@jit
def add_key_gradients(
    key, value, q, grad, logs, sums, batch, head, begin, end, j, queries, shift, total_k, total_v,
    SCALE: tl.constexpr, MASKED: tl.constexpr, M: tl.constexpr, WIDTH: tl.constexpr,
    VALUES: tl.constexpr,
):  # fmt: skip
    """The gradients of keys j and their values, of the queries from ``begin`` on. Those behind the
    last one are 0, and so is what they add."""
    for at in range(begin, end, M):
        i = at + tl.arange(0, M)
        log = tl.load(logs + i, mask=i < queries, other=0.0) * 1.4426950408889634
        mine = q.load([batch, head, at, 0]).reshape(M, WIDTH)
        g = grad.load([batch, head, at, 0]).reshape(M, VALUES)
        scores = tl.dot(key, tl.trans(mine))
        powers = tl.exp2(scores * (SCALE * 1.4426950408889634) - log[None, :])
        if MASKED:
            powers = tl.where(j[:, None] <= i[None, :] + shift, powers, 0.0)
        turned = tl.dot(value, tl.trans(g))
        total_v = tl.dot(powers.to(g.dtype), g, total_v)
        sum_ = tl.load(sums + i, mask=i < queries, other=0.0)
        turned = powers * (turned - sum_[None, :])
        total_k = tl.dot(turned.to(mine.dtype), mine, total_k)
    return total_k, total_v


@jit(do_not_specialize=("blocks", "heads", "group"))
def described_key_gradients(
    q, k, v, grad, logs, sums, out_k, out_v, blocks, heads, group, queries, keys, width, values,
    out_k_steps, out_v_steps, SCALE: tl.constexpr, CAUSAL: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The gradients of some keys and values of one head of them, of all heads of queries."""
    tile = tl.program_id(0)
    first, far, batch = tile % blocks * N, tile // blocks % heads, tile // blocks // heads
    key = k.load([batch, far, first, 0]).reshape(N, WIDTH)
    value = v.load([batch, far, first, 0]).reshape(N, VALUES)
    j, shift = first + tl.arange(0, N), keys - queries
    total_k = tl.zeros((N, WIDTH), tl.float32)
    total_v = tl.zeros((N, VALUES), tl.float32)
    begin = tl.zeros((), tl.int32)
    if CAUSAL:  # the first query that sees one of the keys, or one a little in front of it
        begin = tl.maximum(first - shift, 0) // M * M
    for head in range(far * group, far * group + group):
        row = (batch * (heads * group) + head).to(INDEX) * queries
        total_k, total_v = add_key_gradients(
            key, value, q, grad, logs + row, sums + row, batch, head, begin, queries, j, queries,
            shift, total_k, total_v, SCALE, CAUSAL, M, WIDTH, VALUES,
        )  # fmt: skip
    wide = far.to(INDEX)
    out_k += batch.to(INDEX) * out_k_steps[0] + wide * out_k_steps[1]
    out_v += batch.to(INDEX) * out_v_steps[0] + wide * out_v_steps[1]
    store_rows(out_k, total_k * SCALE, j, keys, out_k_steps[2], out_k_steps[3], width, WIDTH, INDEX)
    store_rows(out_v, total_v, j, keys, out_v_steps[2], out_v_steps[3], values, VALUES, INDEX)
