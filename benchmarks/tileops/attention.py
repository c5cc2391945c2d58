"""Attention: of whole sequences, packed ones, windows, gradients, and decoding."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import torch
from benchmarks.tileops.cases import Builder, Case, Given, Missing
from torch.nn.functional import scaled_dot_product_attention as attend

from gridlane.tiles import kernels


def _sequences(given: Given, shape: list[int]) -> Any:
    """An array (sequences, heads, tokens, width), in memory with tokens in front of heads."""
    batch, tokens, heads, width = shape
    return given.normal(batch, given.length(tokens), heads, width).transpose(1, 2)


def _arrays(given: Given) -> tuple[Any, Any, Any]:
    q, k, v = (_sequences(given, given[f"{each}_shape"]) for each in ("q", "kv", "kv"))
    return q, k, v


def forward(given: Given) -> Case:
    q, k, v = _arrays(given)
    causal = given["is_causal"]
    return Case(
        lambda: kernels.attention(q, k, v, causal=causal),
        lambda: attend(q, k, v, is_causal=causal, enable_gqa=True),
    )


def backward(given: Given) -> Case:
    q, k, v = (each.requires_grad_() for each in _arrays(given))
    causal = given["is_causal"]
    with torch.enable_grad():
        known = attend(q, k, v, is_causal=causal, enable_gqa=True)
    grad = torch.randn_like(known)
    plain = tuple([each.detach() for each in (q, k, v)])
    out, logs = kernels.attention(*plain, causal=causal, return_logs=True)
    return Case(
        lambda: kernels.attention_backward(grad, *plain, out, logs, causal=causal),
        lambda: torch.autograd.grad(known, (q, k, v), grad, retain_graph=True),
    )


def _mask(queries: int, keys: int, window: int, causal: bool) -> Any:
    """Which keys a query sees: those up to its own place, which the last key has for the last
    query, and no more than a window before it."""
    i, j = torch.arange(queries)[:, None] + keys - queries, torch.arange(keys)[None, :]
    return (j >= i - window) & ((j <= i) if causal else (j > -1))


def windowed(given: Given) -> Case:
    q, k, v = _arrays(given)
    window = min(given["window_size_left"], given.length(given["window_size_left"]))
    mask = _mask(q.shape[2], k.shape[2], window, given["is_causal"])
    return Case(
        lambda: kernels.attention(q, k, v, causal=given["is_causal"], window=window + 1),
        lambda: attend(q, k, v, attn_mask=mask, enable_gqa=True),
    )


def attended(
    q: Any, k: Any, v: Any, mask: Any = None, scale: Any = None, causal: bool = False,
    softcap: float | None = None,
) -> Any:  # fmt: skip
    """torch's attention; with a bound of scores by its other functions, as it has none."""
    if softcap is None:
        return attend(q, k, v, attn_mask=mask, scale=scale, is_causal=causal, enable_gqa=True)
    group = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(group, 1) for each in (k, v))
    scores = (q @ k.transpose(-1, -2)).float() * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = softcap * torch.tanh(scores / softcap)
    if causal:
        mask = _mask(q.shape[2], k.shape[2], k.shape[2], True)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1).to(v.dtype) @ v


def narrow(given: Given) -> Case:
    """One sequence of floats of 8 bits; torch's attention of what they stand for."""
    if given["batch"] != 1 or given["total_q"] != given["total_kv"]:
        raise Missing("packed sequences of floats of 8 bits")
    shapes = [given.length(given["total_q"]), given["heads"], given["heads_kv"], given["dim"]]
    tokens, heads, far, width = shapes
    arrays, scales, wide = [], [], []
    for count in (heads, far, far):
        x = given.normal(1, tokens, count, width).transpose(1, 2).float()
        group = count // far
        scale = x.view(1, far, group, tokens, width).abs().amax((2, 3, 4)) / 448
        factor = scale.repeat_interleave(group, 1)[..., None, None]
        arrays.append((x / factor).to(torch.float8_e4m3fn))
        scales.append(scale)
        wide.append((arrays[-1].float() * factor).to(given.dtype))
    names = dict(zip(("q_scale", "k_scale", "v_scale"), scales, strict=True))
    causal = given["is_causal"]
    return Case(
        lambda: kernels.attention(*arrays, causal=causal, **names),
        lambda: attended(*wide, causal=causal),
    )


def packed(given: Given) -> Case:
    """Sequences one behind the other; torch takes one after another."""
    if given.get("backend") == "fp8":
        return narrow(given)
    batch, window = given["batch"], given.get("window_size_left", -1)
    lengths = given.get("q_lens") or [given["total_q"] // batch] * batch
    others = given.get("kv_lens") or [given.get("total_kv", given.get("total_k")) // batch] * batch
    starts, ends = (
        torch.tensor([0, *accumulate(map(given.length, each))], dtype=torch.int32)
        for each in (lengths, others)
    )
    width = given["dim"]
    q = given.normal(int(starts[-1]), given["heads"], width)
    k, v = (given.normal(int(ends[-1]), given["heads_kv"], width) for _ in range(2))
    scale, causal, softcap = given.get("sm_scale"), given["is_causal"], given.get("softcap")
    parts = [
        (slice(*one), slice(*other))
        for one, other in zip(pairwise(starts.tolist()), pairwise(ends.tolist()), strict=True)
    ]
    tokens = [(one.stop - one.start, other.stop - other.start) for one, other in parts]
    masks = [
        None if window < 0 and m == n else _mask(m, n, window if window >= 0 else n, causal)
        for m, n in tokens
    ]

    def ours() -> Any:
        return kernels.packed_attention(
            q, k, v, starts, ends, causal=causal, scale=scale, softcap=softcap,
            window=None if window < 0 else window + 1,
        )  # fmt: skip

    def theirs() -> Any:
        made = [
            attended(
                q[one].transpose(0, 1)[None], k[other].transpose(0, 1)[None],
                v[other].transpose(0, 1)[None], mask, scale, causal and mask is None, softcap,
            )[0].transpose(0, 1)
            for (one, other), mask in zip(parts, masks, strict=True)
        ]  # fmt: skip
        return torch.cat(made)

    return Case(ours, theirs)


PAGE = 64


def decode(given: Given) -> Case:
    """The newest token of each sequence; a cache in one piece is one of pages in order."""
    shape, softcap = given["q_shape"], given.get("softcap")
    batch, heads, width = shape[0], shape[-2], shape[-1]
    _, tokens, key_heads, _ = given["kv_shape"]
    tokens = given.length(tokens)
    q = given.normal(batch, heads, width)
    k, v = (given.normal(batch, tokens, key_heads, width) for _ in range(2))
    pages = tokens // PAGE
    tables = torch.arange(batch * pages, dtype=torch.int32).view(batch, pages)
    lengths = torch.full((batch,), tokens, dtype=torch.int32)
    cache = [each.view(batch * pages, PAGE, key_heads, width) for each in (k, v)]
    return Case(
        lambda: kernels.paged_attention(q, *cache, tables, lengths, softcap=softcap),
        lambda: attended(
            q[:, :, None], k.transpose(1, 2), v.transpose(1, 2), softcap=softcap
        ).squeeze(2),
    )


def paged(given: Given) -> Case:
    """Sequences of the same number of pages, in any order."""
    shape, page, softcap = given["q_shape"], given["page_size"], given.get("softcap")
    batch, heads, width = shape[0], shape[-2], shape[-1]
    tokens, key_heads, _ = given["kv_shape"]
    pages = tokens // page
    each = max(pages // batch, 1)
    q = given.normal(batch, heads, width)
    k, v = (given.normal(pages, page, key_heads, width) for _ in range(2))
    tables = torch.randperm(pages)[torch.arange(batch * each) % pages].view(batch, each)
    tables = tables.to(torch.int32)
    lengths = torch.full((batch,), each * page - page // 2, dtype=torch.int32)
    known = int(lengths[0])

    def theirs() -> Any:
        """Of the pages in order."""
        keys, values = (
            cache[tables.long()].view(batch, each * page, key_heads, width)[:, :known]
            for cache in (k, v)
        )
        return attended(
            q[:, :, None], keys.transpose(1, 2), values.transpose(1, 2), softcap=softcap
        ).squeeze(2)

    ours = lambda: kernels.paged_attention(  # noqa: E731  of this workload
        q, k, v, tables, lengths, softcap=softcap
    )
    return Case(ours, theirs)


def latent(given: Given) -> Case:
    """Heads that share one key: they are the queries of one head."""
    batch, heads, width = given["q_shape"]
    more, tokens = given["pe_dim"], given.length(given["kv_shape"][1])
    q, q_more = given.normal(batch, heads, width), given.normal(batch, heads, more)
    k, k_more = given.normal(batch, tokens, 1, width), given.normal(batch, tokens, 1, more)

    def joined() -> tuple[Any, Any, Any]:
        queries = torch.cat((q, q_more), -1)[:, None]
        return queries, torch.cat((k, k_more), -1).transpose(1, 2), k.transpose(1, 2)

    return Case(
        lambda: kernels.attention(*joined()).squeeze(1), lambda: attend(*joined()).squeeze(1)
    )


def sparse(given: Given) -> Case:
    """Keys by their numbers, of those that are not behind a query; torch gathers them."""
    batch, queries, heads, width = given["q_shape"]
    _, keys, far, _ = given["kv_shape"]
    count, tail, first = given["topk"], given["dim_tail"], given["q_start_index_s"]
    if given.factor > 1:
        queries, keys, count, first = 16, 256, 128, 128
    q = given.normal(batch, queries, heads, width).transpose(1, 2)
    cache = given.normal(batch, keys, far, width).transpose(1, 2)
    values = cache[..., : width - tail]
    order = torch.rand(batch, far, queries, keys).argsort(-1)[..., :count]
    last = torch.arange(queries)[:, None] + first
    indices = torch.where(order <= last, order, -1).to(torch.int32)
    group = heads // far

    def theirs() -> Any:
        """A few queries at a time: each has its own keys."""
        made = []
        for begin in range(0, queries, 64):
            own = indices[:, :, begin : begin + 64]
            known = own.clamp(min=0).long().flatten(2)[..., None]
            k, v = (
                torch.take_along_dim(each, known, 2).unflatten(2, own.shape[2:])
                for each in (cache, values)
            )
            mine = q[:, :, begin : begin + 64].unflatten(1, (far, group)).transpose(2, 3)
            seen = (own >= 0)[..., None, :]
            parts = attend(mine.flatten(0, 2), k.flatten(0, 2), v.flatten(0, 2),
                           attn_mask=seen.flatten(0, 2))  # fmt: skip
            made.append(parts.unflatten(0, mine.shape[:3]).transpose(2, 3).flatten(1, 2))
        return torch.cat(made, 2)

    return Case(lambda: kernels.sparse_attention(q, cache, values, indices), theirs)


BUILDERS: dict[str, Builder] = {
    "MultiHeadAttentionFwdOp": forward,
    "GroupedQueryAttentionFwdOp": forward,
    "MultiHeadAttentionBwdOp": backward,
    "GroupedQueryAttentionBwdOp": backward,
    "GroupedQueryAttentionPrefillFwdOp": packed,
    "GroupedQueryAttentionSlidingWindowFwdOp": windowed,
    "GroupedQueryAttentionSlidingWindowVarlenFwdOp": packed,
    "MultiHeadAttentionDecodeWithKVCacheFwdOp": decode,
    "GroupedQueryAttentionDecodeWithKVCacheFwdOp": decode,
    "MultiHeadAttentionDecodePagedWithKVCacheFwdOp": paged,
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp": paged,
    "MultiHeadLatentAttentionDecodeWithKVCacheFwdOp": latent,
    "DeepSeekSparseAttentionDecodeWithKVCacheFwdOp": sparse,
}
