"""Gradients of layer and RMS normalisation.

The first kernel goes over rows and keeps their statistics, the second one over columns, so that
sums are added in one order on every device and in every run.
"""

from __future__ import annotations

from typing import Any

from gridlane.tiles.kernels.norms import (
    expect_axis,
    norm_options,
    parameter,
    step_of,
    value_of,
)
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    as_rows,
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
from gridlane.tiles.kernels.programs.norm_gradients import norm_gradient_columns, norm_gradient_rows

_ROWS, _COLUMNS = 8, 64


def layer_norm_backward(
    grad: Any, x: Any, weight: Any = None, out: Any = None, *, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    """The gradients of ``layer_norm``'s input, weight and bias.

    Args:
        grad: the gradient of the result, of x's shape and dtype.
        x, weight, eps: as they were passed to ``layer_norm``.
        out: the array for the input's gradient, of x's shape and dtype; a new one by default.

    Returns:
        ``out``, and new arrays for the weight and the bias: those are of the weight's dtype, or of
        x's where there is no weight, whose gradient is None then.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> x, weight = np.array([[1.0, 3.0]]), np.ones(2)
    >>> layer_norm_backward(np.array([[1.0, 2.0]]), x, weight, eps=0.0)[1:]
    (array([-1.,  2.]), array([1., 2.]))
    """
    return _backward(grad, x, weight, out, eps, True)


def rms_norm_backward(
    grad: Any, x: Any, weight: Any = None, out: Any = None, *, eps: float = 1e-6
) -> tuple[Any, Any]:
    """The gradients of ``rms_norm``'s input and weight.

    Args, results and errors are those of ``layer_norm_backward``, without the bias.
    """
    return _backward(grad, x, weight, out, eps, False)[:2]


def _backward(
    grad: Any, x: Any, weight: Any, out: Any, eps: float, centred: bool
) -> tuple[Any, Any, Any]:
    source, given = operand("x", x, FLOATS), operand("grad", grad, FLOATS)
    expect_axis(source)
    expect_shape(given, source.shape)
    expect_dtype(given, source)
    scale = parameter("weight", weight, source)
    target = result("out", out, source, source.shape, source.dtype)
    dtype = scale.dtype if scale else source.dtype
    width = source.shape[-1:]
    if not target.size:
        shift = zeros("bias", source, width, dtype) if centred else None
        made = zeros("weight", source, width, dtype) if scale else None
        return target.value, value_of(made), value_of(shift)
    given, source, rows = as_rows(given, source, target)
    made = new("weight", source, width, dtype) if scale else None
    shift = new("bias", source, width, dtype) if centred else None
    kept = [new(each, source, rows.shape[:1], sum_name(source.dtype)) for each in ("mean", "scale")]
    _launch(given, source, scale, rows, kept, eps, centred)
    if made or shift:
        norm_gradient_columns[(-(-width[0] // _COLUMNS),)](
            given.value, source.value, kept[0].value, kept[1].value, value_of(made),
            value_of(shift), *rows.shape, given.strides, source.strides, ROWS=_ROWS,
            COLUMNS=_COLUMNS, SUM=sum_type(source.dtype), INDEX=index_type(given, source),
        )  # fmt: skip
    return target.value, value_of(made), value_of(shift)


def _launch(
    grad: Operand,
    x: Operand,
    weight: Operand | None,
    out: Operand,
    kept: list[Operand],
    eps: float,
    centred: bool,
) -> None:
    norm_gradient_rows[(out.shape[0],)](
        grad.value, x.value, value_of(weight), out.value, kept[0].value, kept[1].value,
        out.shape[1], step_of(weight), grad.strides, x.strides, out.strides,
        CENTRED=centred, EPS=float(eps), **norm_options(x, grad, out),
    )  # fmt: skip
