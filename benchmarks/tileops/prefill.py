"""New tokens of a paged cache: turned, written, and their attention."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import torch
from benchmarks.tileops.attention import _mask, attended
from benchmarks.tileops.cases import Builder, Case, Given
from torch.nn.attention.bias import causal_lower_right

from gridlane.tiles import kernels

BASE = 10000.0


def _lengths(given: Given) -> tuple[list[int], list[int]]:
    """New tokens of each sequence, and those before."""
    batch, page = given["batch"], given["page_size"]
    whole = given["max_pages_per_req"] * page
    fresh = given.get("q_lens") or [given["total_q"] // batch] * batch
    before = given.get("cache_lens") or [whole - given["max_seqlen_q"]] * batch
    return [*map(given.length, fresh)], [*map(given.length, before)]


def _angles(count: int, rotary: int) -> tuple[Any, Any]:
    steps = BASE ** (-torch.arange(0, rotary, 2) / rotary)
    turns = torch.arange(count)[:, None] * steps
    return turns.cos(), turns.sin()


def _turned(x: Any, cos: Any, sin: Any, rotary: int) -> Any:
    """Rotary positions of packed tokens, by torch."""
    a, b, rest = x.float().split((rotary // 2, rotary // 2, x.shape[-1] - rotary), -1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat((a * c - b * s, b * c + a * s, rest), -1).to(x.dtype)


def paged_prefill(given: Given) -> Case:
    fresh, before = _lengths(given)
    heads, far, width, page = (given[e] for e in ("heads", "heads_kv", "dim", "page_size"))
    kind = getattr(torch, given.get("cache_dtype", given["dtypes"][0]))
    narrow, softcap = kind != given.dtype, given.get("softcap")
    first = [0, *accumulate(fresh)]
    starts, lengths = (torch.tensor(each, dtype=torch.int32) for each in (first, before))
    counts = [-(-(m + n) // page) for m, n in zip(fresh, before, strict=True)]
    pages = torch.randperm(sum(counts))
    tables = torch.zeros(len(counts), max(counts), dtype=torch.int32)
    for number, (at, end) in enumerate(pairwise([0, *accumulate(counts)])):
        tables[number, : end - at] = pages[at:end]
    q, k, v = (given.normal(first[-1], each, width) for each in (heads, far, far))
    caches = [given.normal(len(pages), page, far, width).to(kind) for _ in range(2)]
    others = [each.clone() for each in caches]
    rotary = (given.get("rotary_dim") or width) if given.get("fuse_rope") else 0
    cos, sin = _angles(max(map(sum, zip(fresh, before, strict=True))), rotary or 2)
    one = torch.tensor(0.5)
    scales: dict[str, Any] = {"k_scale": one, "v_scale": one} if narrow else {}
    last = int(tables[0, counts[0] - 1])

    def ours() -> Any:
        new_q, new_k = q, k
        if rotary:
            places = kernels.packed_positions(starts, first[-1], lengths)
            new_q, new_k = (
                kernels.rope(
                    each.transpose(0, 1)[None], cos, sin, positions=places, rotary=rotary
                )[0].transpose(0, 1)
                for each in (q, k)
            )  # fmt: skip
        kernels.append_paged(new_k, v, *caches, tables, lengths, starts, **scales)
        own_tokens = (new_k, v) if narrow else (None, None)  # which caches of their dtype have now
        made = kernels.paged_prefill(
            new_q, *own_tokens, *caches, tables, lengths, starts, softcap=softcap,
            longest=max(fresh), **scales,
        )  # fmt: skip
        return made, caches[0][last].to(q.dtype)

    places = torch.cat([torch.arange(n, n + m) for m, n in zip(fresh, before, strict=True)])
    which = torch.repeat_interleave(torch.arange(len(fresh)), torch.tensor(fresh))
    own = tables[which, places // page].long(), places % page
    masks = [
        _mask(m, m + n, m + n, True) if softcap else causal_lower_right(m, m + n)
        for m, n in zip(fresh, before, strict=True)
    ]

    def theirs() -> Any:
        new_q, new_k = q, k
        if rotary:
            new_q, new_k = (_turned(each, cos[places], sin[places], rotary) for each in (q, k))
        for cache, each in zip(others, (new_k, v), strict=True):
            cache[own] = (each / one).to(kind) if narrow else each
        made = []
        for number, mask in enumerate(masks):
            mine = slice(first[number], first[number + 1])
            joined = []
            for cache, each in zip(others, (new_k, v), strict=True):
                known = cache[tables[number, : counts[number]].long()].view(-1, far, width)
                known = known[: before[number]]
                known = (known.to(q.dtype) * one.to(q.dtype)) if narrow else known
                joined.append(torch.cat((known, each[mine])).transpose(0, 1)[None])
            made.append(attended(new_q[mine].transpose(0, 1)[None], *joined, mask, softcap=softcap))
        return torch.cat(made, 2)[0].transpose(0, 1), others[0][last].to(q.dtype)

    return Case(ours, theirs)


BUILDERS: dict[str, Builder] = {
    "GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp": paged_prefill,
}
