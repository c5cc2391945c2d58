"""Attention: of batches, of packed sequences, and its gradients.

The forward pass keeps the largest score so far and the sum of the weights, and no matrix of scores;
the backward pass computes the scores again (Dao, "FlashAttention-2", 2023; Milakov & Gimelshein
2018).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels import described_gradients, prepared
from gridlane.tiles.kernels.attention_calls import (
    Call,
    Weighing,
    checked_softcap,
    is_narrow,
    result_type,
    scales_of,
    widened,
)
from gridlane.tiles.kernels.blocks import attention_blocks, power_of_2
from gridlane.tiles.kernels.described_attentions import prepare
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    NARROW,
    Operand,
    contiguous,
    expect_dtype,
    expect_shape,
    index_type,
    new,
    operand,
    result,
    sum_name,
    sum_type,
    zeros,
)
from gridlane.tiles.kernels.programs.attention import attention_tiles
from gridlane.tiles.kernels.programs.attention_gradients import (
    key_gradient_tiles,
    products_of_rows,
    query_gradient_tiles,
)


def attention(
    q: Any,
    k: Any,
    v: Any,
    out: Any = None,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    return_logs: bool = False,
) -> Any:
    """Sums of values, weighted by the softmax of the products of queries and keys.

    Args:
        q: queries, of shape (batch, heads, queries, width), of float16, bfloat16, float32, float64
            or floats of 8 bits; views of other orders of axes are as good. Floats of 8 bits are
            multiplied as float16, which has them all.
        k: keys, of shape (batch, heads of keys, keys, width) and q's dtype. As many heads of q
            share one of keys as there are of these (grouped-query attention).
        v: values, of shape (batch, heads of keys, keys, width of values).
        out: of shape (batch, heads, queries, width of values) and q's dtype; for floats of 8 bits
            float16 or bfloat16. A new array by default.
        causal: a query sees no key behind its own place; the last query has the last key's place.
        window: a query sees the keys less than this many places before its own one and, unless
            ``causal``, behind it.
        scale: of the products; by default 1 / sqrt(width).
        softcap: bounds scaled products, to ``softcap * tanh(products * scale / softcap)``.
        q_scale, k_scale, v_scale: what queries, keys and values are times: float32 of shape (), or
            (batch, heads of keys).
        return_logs: return the logarithms of the sums of the weights as well.

    Returns:
        ``out``; with ``return_logs`` a pair of it and an array of float32, or float64 for float64,
        of shape (batch, heads, queries), which ``attention_backward`` needs. A query that sees no
        key has zeros, and the logarithm of 0.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> q, k = np.zeros((1, 1, 2, 1)), np.zeros((1, 1, 2, 1))
    >>> attention(q, k, np.array([1.0, 3.0]).reshape(1, 1, 2, 1), causal=True).ravel()
    array([1., 2.])
    """
    scales = q_scale, k_scale, v_scale
    options = "attention", causal, window, scale, softcap, return_logs
    is_plain = all(each is None for each in scales) and not is_narrow(q)
    key = prepared.key_of((q, k, v, out), options) if is_plain else None
    known = prepared.find(key)
    if known is not None:
        return known.run(q, k, v, out)
    call = _batched(q, k, v, Weighing(causal, window, scale, softcap), (*FLOATS, *NARROW))
    call = call._replace(scales=scales_of(scales, (call.sequences, call.k.shape[1])))
    shape = *call.q.shape[:3], call.v.shape[3]
    given = result("out", out, call.q, shape, result_type(q, call.q, out))
    found = prepare(call, given, return_logs) if given.size else None
    if found is None:
        return _forward(call, given, return_logs)
    if key is not None:
        prepared.remember(key, found)
    return found.run(call.q.value, call.k.value, call.v.value, given.value)


def packed_attention(
    q: Any,
    k: Any,
    v: Any,
    query_starts: Any,
    key_starts: Any = None,
    out: Any = None,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    return_logs: bool = False,
) -> Any:
    """``attention`` of sequences of different lengths, one behind the other.

    Args:
        q: of shape (all queries, heads, width).
        k, v: of shape (all keys, heads of keys, width).
        query_starts: int32 or int64 of shape (sequences + 1,): where each one's queries begin, and
            the end of the last. Queries of no sequence have undefined results.
        key_starts: the same of keys; by default those of queries.
        out: of shape (all queries, heads, width of values); a new array by default.
        causal, window, scale, softcap, return_logs: as of ``attention``; the logarithms have the
            shape (heads, all queries).
        q_scale, k_scale, v_scale: as of ``attention``; of shape (), or (sequences, heads of keys).

    Returns, raises: as ``attention``.
    """
    weighing = Weighing(causal, window, scale, softcap)
    call = _packed(q, k, v, query_starts, key_starts, weighing, (*FLOATS, *NARROW))
    scales = scales_of((q_scale, k_scale, v_scale), (call.sequences, call.k.shape[1]))
    call = call._replace(scales=scales)
    shape = call.q.shape[2], call.heads, call.v.shape[3]
    given = result("out", out, call.q, shape, result_type(q, call.q, out))
    return _forward(call, given, return_logs)


def attention_backward(
    grad: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    logs: Any,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> tuple[Any, Any, Any]:
    """The gradients of ``attention``'s queries, keys and values.

    Args:
        grad: the gradient of the result, of its shape and dtype.
        q, k, v, causal, window, scale, softcap: as they were passed to ``attention``; floats of 8
            bits, and scales of arrays, have no gradients.
        out, logs: what it returned with ``return_logs``.

    Returns:
        New arrays of the shapes and dtypes of q, k and v.

    Raises:
        ArgumentError: an array or option does not fit.
    """
    call = _batched(q, k, v, Weighing(causal, window, scale, softcap), FLOATS)
    return _backward(call, grad, out, logs)


def packed_attention_backward(
    grad: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    logs: Any,
    query_starts: Any,
    key_starts: Any = None,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> tuple[Any, Any, Any]:
    """The gradients of ``packed_attention``'s queries, keys and values, which are those of
    ``attention_backward`` otherwise. Tokens of no sequence have the gradient 0."""
    weighing = Weighing(causal, window, scale, softcap)
    call = _packed(q, k, v, query_starts, key_starts, weighing, FLOATS)
    return _backward(call, grad, out, logs)


def _batched(q: Any, k: Any, v: Any, weighing: Weighing, dtypes: tuple[str, ...]) -> Call:
    made = [operand(name, each, dtypes, 4) for name, each in (("q", q), ("k", k), ("v", v))]
    batch, keys = made[0].shape[0], made[1].shape[2]
    _check(made, (batch, keys))
    longest = made[0].shape[2], keys
    return _call(widened(made), None, batch, longest, weighing)


def _packed(
    q: Any,
    k: Any,
    v: Any,
    query_starts: Any,
    key_starts: Any,
    weighing: Weighing,
    dtypes: tuple[str, ...],
) -> Call:
    flat = [operand(name, each, dtypes, 3) for name, each in (("q", q), ("k", k), ("v", v))]
    made = [with_batch(each) for each in flat]
    given = query_starts if key_starts is None else key_starts
    starts = [
        contiguous(operand(name, each, INDICES, 1))
        for name, each in (("query_starts", query_starts), ("key_starts", given))
    ]
    if not starts[0].size:
        raise ArgumentError(f"{starts[0]}; it must have the end of the last sequence")
    expect_shape(starts[1], starts[0].shape)
    _check(made, (1, made[1].shape[2]))
    longest = [_longest(one, each.shape[2]) for one, each in zip(starts, made, strict=False)]
    count = starts[0].size - 1
    pair = starts[0], starts[1]
    made = [with_batch(each) for each in widened(flat)]
    return _call(made, pair, count, (longest[0], longest[1]), weighing)


def with_batch(array: Operand) -> Operand:
    """An array of shape (length, heads, width) with the axes of one batch."""
    (length, heads, width), (row, head, step) = array.shape, array.strides
    shape, strides = (1, heads, length, width), (0, head, row, step)
    return Operand(array.name, array.value, shape, strides, array.dtype)


def _longest(starts: Operand, total: int) -> int:
    """The most tokens of a sequence; all where that is on a device."""
    if not isinstance(starts.value, np.ndarray):
        return total
    ends = np.clip(starts.value, 0, total)
    return int(np.diff(ends).max(initial=0))


def _check(made: list[Operand], known: tuple[int, int]) -> None:
    q, k, v = made
    (batch, keys), heads = known, k.shape[1]
    expect_shape(k, (batch, heads, keys, q.shape[3]))
    expect_shape(v, (batch, heads, keys, v.shape[3]))
    for each in (k, v):
        expect_dtype(each, q)
    if not heads or q.shape[1] % heads:
        raise ArgumentError(f"{q}, and {k}: the heads of q must be a multiple of those of k")


def checked_window(window: int | None) -> int:
    """The places of a window, and 0 for none.

    Raises:
        ArgumentError: it is less than 1.
    """
    if window is not None and window < 1:
        raise ArgumentError(f"window is {window}; it must be at least 1")
    return window or 0


def scale_of(scale: float | None, width: int) -> float:
    """The factor of products of queries and keys."""
    return 1 / math.sqrt(max(width, 1)) if scale is None else float(scale)


def _call(
    made: list[Operand],
    starts: tuple[Operand, Operand] | None,
    sequences: int,
    longest: tuple[int, int],
    weighing: Weighing,
) -> Call:
    q, k, v = made
    width, values = power_of_2(q.shape[3]), power_of_2(v.shape[3])
    tile = attention_blocks(*longest, max(width, values), q.dtype)
    constants = {
        "SCALE": scale_of(weighing.scale, q.shape[3]), "CAUSAL": bool(weighing.causal),
        "WINDOW": weighing.window is not None, "M": tile.rows, "N": tile.columns, "WIDTH": width,
        "VALUES": values, "SUM": sum_type(q.dtype), "num_warps": tile.warps,
        "SOFTCAP": checked_softcap(weighing.softcap),
    }  # fmt: skip
    heads = q.shape[1]
    group, places = heads // k.shape[1], checked_window(weighing.window)
    return Call(q, k, v, starts, sequences, longest, heads, group, places, constants)


def _forward(call: Call, given: Operand, return_logs: bool) -> Any:
    q, k, v = call.q, call.k, call.v
    is_packed = call.starts is not None
    target = with_batch(given) if is_packed else given
    logs = _log_rows(new("logs", q, q.shape[:3], sum_name(q.dtype)), call)
    if logs.size:
        blocks = -(-call.longest[0] // call.constants["M"])
        grid = (blocks * call.heads * call.sequences,)
        attention_tiles[grid](
            q.value, k.value, v.value, target.value, logs.value, *call.first_arguments, blocks,
            call.heads, call.group, *call.extents, q.strides, k.strides, v.strides, target.strides,
            logs.strides, *call.scale_arguments, **call.constants,
            INDEX=index_type(q, k, v, target, logs),
        )  # fmt: skip
    if not return_logs:
        return given.value
    return given.value, logs.value[0] if is_packed else logs.value


def _backward(call: Call, grad: Any, out: Any, logs: Any) -> tuple[Any, Any, Any]:
    q, k, v = call.q, call.k, call.v
    packed = call.starts is not None
    kept = operand("logs", logs, (sum_name(q.dtype),), 2 if packed else 3)
    given, found = (operand(n, e, (q.dtype,)) for n, e in (("grad", grad), ("out", out)))
    shape = (*q.shape[:3], v.shape[3])
    expect_shape(kept, q.shape[1:3] if packed else q.shape[:3])
    for each in (given, found):
        expect_shape(each, (shape[2], shape[1], shape[3]) if packed else shape)
    made = [_like(each, packed) for each in (q, k, v)]
    if not q.size or not k.size or not v.size:
        return made[0][0], made[1][0], made[2][0]
    if packed:
        given, found = with_batch(given), with_batch(found)
    kept = _log_rows(contiguous(kept), call)
    sums = _log_rows(new("sums", q, kept.shape, kept.dtype), call)
    _launch_backward(call, given, found, kept, sums, [each[1] for each in made])
    return made[0][0], made[1][0], made[2][0]


def _log_rows(array: Operand, call: Call) -> Operand:
    """A contiguous array of a number for each query, as one of shape (batch, heads, queries)."""
    _, heads, queries, _ = call.q.shape
    steps = (0 if call.starts else heads * queries, queries, 1)
    return Operand(array.name, array.value, call.q.shape[:3], steps, array.dtype)


def _like(array: Operand, packed: bool) -> tuple[Any, Operand]:
    """A new array of zeros for a gradient, and its operand."""
    batch, heads, length, width = array.shape
    name = f"gradient of {array.name}"
    if not packed:
        made = zeros(name, array, (batch, heads, length, width), array.dtype)
        return made.value, made
    made = zeros(name, array, (length, heads, width), array.dtype)
    return made.value, with_batch(made)


def _launch_backward(
    call: Call,
    grad: Operand,
    out: Operand,
    logs: Operand,
    sums: Operand,
    gradients: list[Operand],
) -> None:
    q, k, v = call.q, call.k, call.v
    constants = {**call.constants, "INDEX": index_type(q, k, v, grad, out, *gradients)}
    if constants["SOFTCAP"] is not None:  # whose slopes take registers
        constants["M"] = min(constants["M"], constants["N"])
    blocks, count = -(-call.longest[0] // constants["M"]), call.sequences
    rest = {each: constants[each] for each in ("M", "VALUES", "SUM", "INDEX", "num_warps")}
    products_of_rows[(blocks * call.heads * count,)](
        out.value, grad.value, sums.value, call.first_arguments[0], blocks, call.heads, q.shape[2],
        v.shape[3], out.strides, grad.strides, sums.strides, **rest,
    )  # fmt: skip
    if described_gradients.launch(call, grad, logs, sums, gradients):
        return
    arrays = q.value, k.value, v.value, grad.value, logs.value, sums.value
    steps = q.strides, k.strides, v.strides, grad.strides, logs.strides
    own, *others = gradients
    query_gradient_tiles[(blocks * call.heads * count,)](
        *arrays, own.value, *call.first_arguments, blocks, call.heads, call.group, *call.extents,
        *steps, own.strides, **constants,
    )  # fmt: skip
    heads = call.heads // call.group
    blocks = -(-call.longest[1] // constants["N"])
    key_gradient_tiles[(blocks * heads * count,)](
        *arrays, *[each.value for each in others], *call.first_arguments, blocks, heads,
        call.group, *call.extents, *steps, *[each.strides for each in others], **constants,
    )  # fmt: skip
