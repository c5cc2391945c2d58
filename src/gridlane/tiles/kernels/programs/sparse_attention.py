"""Attention of each query to keys that are listed by their numbers."""

from __future__ import annotations

from gridlane.frontends.triton import language as tl
from gridlane.tiles.jit import jit
from gridlane.tiles.kernels.programs.attention import (
    exact_dot,
    is_wide,
    no_sums,
    scaled_scores,
    weighed,
)


@jit
def load_listed(
    base, rows, inside, row_step, step, first, last, WIDTH: tl.constexpr, INDEX: tl.constexpr
):  # fmt: skip
    """Elements of some rows from a first one to behind a last one, 0 where they are not inside."""
    d = first + tl.arange(0, WIDTH)
    where = base + rows[:, None] * row_step + d.to(INDEX)[None, :] * step
    return tl.load(where, mask=inside[:, None] & (d[None, :] < last), other=0.0)


@jit
def attend_listed(
    mine, rest, k, v, indices, keys, count, width, values, k_steps, v_steps, index_step,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, SHARED: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, MAIN: tl.constexpr, TAIL: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """The weighted sums of the values of listed keys, not divided yet, and their weights.

    Args:
        mine, rest: the first MAIN elements of queries, and the others; None for none.
    """
    largest, weight, total = no_sums(M, VALUES, SUM)
    for at in range(0, count, N):
        j = at + tl.arange(0, N)
        which = tl.load(indices + j.to(INDEX) * index_step, mask=j < count, other=-1)
        seen = (which >= 0) & (which < keys)
        which = which.to(INDEX)
        key = load_listed(k, which, seen, k_steps[2], k_steps[3], 0, width, MAIN, INDEX)
        scores = tl.dot(mine, tl.trans(key), input_precision="ieee", out_dtype=SUM)
        if TAIL > 0:
            more = load_listed(k, which, seen, k_steps[2], k_steps[3], MAIN, width, TAIL, INDEX)
            scores = exact_dot(rest, tl.trans(more), scores, SUM)
        scores = scaled_scores(scores, None, SCALE, SOFTCAP, is_wide(k.dtype.element_ty))
        scores = tl.where(seen[None, :], scores, -float("inf"))
        powers, kept, weight, largest = weighed(scores, weight, largest)
        if SHARED:
            value = key
        else:
            value = load_listed(v, which, seen, v_steps[2], v_steps[3], 0, values, VALUES, INDEX)
        total = exact_dot(powers.to(v.dtype.element_ty), value, total * kept[:, None], SUM)
    return total, weight


@jit(do_not_specialize=("blocks", "heads", "group", "queries", "keys", "count"))
def sparse_attention_tiles(
    q, k, v, indices, out, blocks, heads, group, queries, keys, count, width, values,
    q_steps, k_steps, v_steps, index_steps, out_steps,
    SCALE: tl.constexpr, SOFTCAP: tl.constexpr, SHARED: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, MAIN: tl.constexpr, TAIL: tl.constexpr, VALUES: tl.constexpr,
    SUM: tl.constexpr, INDEX: tl.constexpr,
):  # fmt: skip
    """Some heads of one query that share a head of keys. The width is in two powers of two, the
    second of which may be 0. ``SHARED``: the values are the first MAIN elements of the keys."""
    place = tl.program_id(0)
    block = place % blocks
    query = (place // blocks % queries).to(INDEX)
    far = (place // blocks // queries % heads).to(INDEX)
    batch = (place // blocks // queries // heads).to(INDEX)
    k += batch * k_steps[0] + far * k_steps[1]
    v += batch * v_steps[0] + far * v_steps[1]
    indices += batch * index_steps[0] + far * index_steps[1] + query * index_steps[2]
    member = block * M + tl.arange(0, M)
    own = member < group
    head = far * group + member.to(INDEX)
    q += batch * q_steps[0] + query * q_steps[2]
    mine = load_listed(q, head, own, q_steps[1], q_steps[3], 0, width, MAIN, INDEX)
    rest = None
    if TAIL > 0:
        rest = load_listed(q, head, own, q_steps[1], q_steps[3], MAIN, width, TAIL, INDEX)
    total, weight = attend_listed(
        mine, rest, k, v, indices, keys, count, width, values, k_steps, v_steps, index_steps[3],
        SCALE, SOFTCAP, SHARED, M, N, MAIN, TAIL, VALUES, SUM, INDEX,
    )  # fmt: skip
    shown = total / tl.where(weight == 0, 1.0, weight)[:, None]
    out += batch * out_steps[0] + query * out_steps[2]
    d = tl.arange(0, VALUES).to(INDEX)
    where = out + head[:, None] * out_steps[1] + d[None, :] * out_steps[3]
    tl.store(where, shown, mask=own[:, None] & (d[None, :] < values))
