"""Cross entropy of logits and class numbers, and its gradient, without the probabilities in memory.

A row is read once for the logarithm of the sum of its exponentials (as in ``softmax``) and once
more for the gradient.
"""

from __future__ import annotations

import math
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.blocks import row_block
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    Operand,
    as_rows,
    contiguous,
    expect_shape,
    index_type,
    merged,
    new,
    operand,
    result,
    sum_name,
    sum_type,
    zeros,
)
from gridlane.tiles.kernels.programs.losses import (
    add_losses,
    cross_entropy_gradient_rows,
    cross_entropy_rows,
)

_COUNT = 1024
"""Losses that are added at once."""


def cross_entropy(
    logits: Any,
    targets: Any,
    out: Any = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """The negative logarithms of the probabilities that logits give to classes.

    Args:
        logits: of shape (..., classes), float16, bfloat16, float32 or float64.
        targets: the classes, int32 or int64, of shape (...). One that is no class and is not
            ignored makes NaN.
        out: the array for the losses, float32, or float64 for float64; a new one by default.
        ignore_index: a target whose loss is 0, and which is not counted.
        label_smoothing: the part of a target's weight that all classes share.
        reduction: "mean" of the losses that are counted, their "sum", or "none".

    Returns:
        ``out``: of shape () for a mean or sum, else of the targets' shape.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> float(cross_entropy(np.array([[0.0, np.log(3.0)]]), np.array([1])).round(6))
    0.287682
    """
    _check(label_smoothing, reduction)
    source, where = operand("logits", logits, FLOATS), operand("targets", targets, INDICES)
    _check_targets(source, where)
    kind = sum_name(source.dtype)
    shape = where.shape if reduction == "none" else ()
    target = result("out", out, source, shape, kind)
    if not where.size and reduction == "none":
        return target.value
    x, where = _as_rows(source), _flat(where)
    losses = _flat(target) if reduction == "none" else new("losses", x, x.shape[:1], kind)
    options = {"SUM": sum_type(source.dtype), "INDEX": index_type(x, where, losses)}
    if where.size:
        cross_entropy_rows[(x.shape[0],)](
            x.value, where.value, losses.value, x.shape[1], where.strides[0], losses.strides[0],
            x.strides, ignore_index, SMOOTHING=float(label_smoothing), BLOCK=_block(x), **options,
        )  # fmt: skip
    if reduction != "none":
        add_losses[(1,)](
            losses.value, where.value, target.value, None, x.shape[0], where.strides[0],
            ignore_index, MEAN=reduction == "mean", BLOCK=_COUNT, **options,
        )  # fmt: skip
    return target.value


def cross_entropy_backward(
    grad: Any,
    logits: Any,
    targets: Any,
    out: Any = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """The gradient of ``cross_entropy``'s logits.

    Args:
        grad: the gradient of the loss: a number, an array of shape (), or for "none" an array of
            the targets' shape.
        logits, targets, ignore_index, label_smoothing, reduction: as they were passed to
            ``cross_entropy``.
        out: of the logits' shape and dtype, which may be the logits themselves; a new array by
            default.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> cross_entropy_backward(1.0, np.array([[0.0, np.log(3.0)]]), np.array([1]))
    array([[ 0.25, -0.25]])
    """
    _check(label_smoothing, reduction)
    source, where = operand("logits", logits, FLOATS), operand("targets", targets, INDICES)
    _check_targets(source, where)
    given = _gradient(grad, source, where.shape if reduction == "none" else ())
    target = result("out", out, source, source.shape, source.dtype)
    if not target.size:
        return target.value
    x, rows = as_rows(source, target)
    where, given = _flat(where), _flat(given)
    kind = sum_type(source.dtype)
    options = {"SUM": kind, "INDEX": index_type(x, where, rows, given)}
    count = new("count", x, (), sum_name(x.dtype)) if reduction == "mean" else None
    if count is not None:
        add_losses[(1,)](
            None, where.value, None, count.value, x.shape[0], where.strides[0], ignore_index,
            MEAN=True, BLOCK=_COUNT, **options,
        )  # fmt: skip
    step = given.strides[0] if reduction == "none" else 0
    cross_entropy_gradient_rows[(x.shape[0],)](
        given.value, None if count is None else count.value, x.value, where.value, rows.value,
        x.shape[1], step, where.strides[0], x.strides, rows.strides, ignore_index,
        SMOOTHING=float(label_smoothing), BLOCK=_block(x), **options,
    )  # fmt: skip
    return target.value


def _block(x: Operand) -> int:
    return row_block(x.shape[1], sum_type(x.dtype).primitive_bitwidth // 8)


def _gradient(grad: Any, x: Operand, shape: tuple[int, ...]) -> Operand:
    if isinstance(grad, int | float):
        made = zeros("grad", x, (), sum_name(x.dtype))
        if grad:
            made.value[...] = grad
        given = made
    else:
        given = operand("grad", grad, FLOATS)
    expect_shape(given, shape)
    return given


def _check(smoothing: float, reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f'reduction is {reduction!r}; it must be "mean", "sum" or "none"')
    if not 0 <= smoothing <= 1 or math.isnan(smoothing):
        raise ArgumentError(f"label_smoothing is {smoothing}; it must be from 0 to 1")


def _check_targets(logits: Operand, targets: Operand) -> None:
    if not logits.shape or not logits.shape[-1]:
        raise ArgumentError(f"{logits}; it must have classes")
    expect_shape(targets, logits.shape[:-1])


def _as_rows(x: Operand) -> Operand:
    return as_rows(x)[0]


def _flat(array: Operand) -> Operand:
    """An array, or a copy, as one of one dimension."""
    groups = merged(array.shape, [array.strides])
    if len(groups) > 1:
        array = contiguous(array)
        groups = merged(array.shape, [array.strides])
    count, steps = groups[0] if groups else (array.size, (1,))
    return Operand(array.name, array.value, (count,), steps, array.dtype)
