"""Gradients of layer and RMS normalisation.

Each program has some rows, and sums of its own for weights and biases, which a second kernel adds
in order: a device has the same sums in every run.
"""

from __future__ import annotations

from typing import Any

from gridlane.tiles.kernels.blocks import multiprocessors
from gridlane.tiles.kernels.norms import (
    expect_axis,
    parameter,
    row_options,
    step_of,
    value_of,
)
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    as_rows,
    expect_like,
    index_type,
    new,
    operand,
    result,
    sum_name,
    sum_type,
    zeros,
)
from gridlane.tiles.kernels.programs.norm_gradients import add_rows, norm_gradient_rows

_PROGRAMS = 4
"""For each of a device's multiprocessors."""
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
    expect_like(given, source)
    scale = parameter("weight", weight, source)
    target = result("out", out, source, source.shape, source.dtype)
    dtype = scale.dtype if scale else source.dtype
    width = source.shape[-1:]
    if not target.size:
        shift = zeros("bias", source, width, dtype) if centred else None
        made = zeros("weight", source, width, dtype) if scale else None
        return target.value, value_of(made), value_of(shift)
    given, source, rows = as_rows(given, source, target)
    programs = min(rows.shape[0], _PROGRAMS * multiprocessors())
    shape, name = (programs, width[0]), sum_name(source.dtype)
    sums = [
        zeros("sums", source, shape, name) if each else None
        for each in (scale is not None, centred)
    ]
    norm_gradient_rows[(programs,)](
        given.value, source.value, value_of(scale), rows.value, value_of(sums[0]),
        value_of(sums[1]), *rows.shape, step_of(scale), given.strides, source.strides,
        rows.strides, CENTRED=centred, EPS=float(eps), **row_options(source, given, rows),
    )  # fmt: skip
    made, shift = [each and _added(each, source, dtype) for each in sums]
    return target.value, made, shift


def _added(sums: Operand, like: Operand, dtype: str) -> Any:
    """The sums of the columns of programs' sums."""
    programs, columns = sums.shape
    out = new("sum", like, (columns,), dtype)
    add_rows[(-(-columns // _COLUMNS),)](
        sums.value, out.value, programs, columns, ROWS=_ROWS, COLUMNS=_COLUMNS,
        SUM=sum_type(like.dtype), INDEX=index_type(sums),
    )  # fmt: skip
    return out.value
