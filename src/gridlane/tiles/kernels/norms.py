"""Layer normalisation (Ba, Kiros & Hinton 2016) and RMS normalisation (Zhang & Sennrich 2019) of
the last axis. The variance is that of centred elements, so it loses nothing where the mean is
large."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.blocks import held_row, row_block
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    as_rows,
    expect_shape,
    index_type,
    operand,
    result,
    sum_type,
)
from gridlane.tiles.kernels.programs.norms import norm_rows


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, out: Any = None, *, eps: float = 1e-5
) -> Any:
    """Elements less their row's mean, divided by its deviation, times a weight, plus a bias.

    Args:
        x: an array of float16, bfloat16, float32 or float64, whose last axis is normalised.
        weight: one number for each column, of any of these dtypes; None for 1.
        bias: one number for each column; None for 0.
        out: an array of x's shape and dtype, which may be x itself; a new one by default.
        eps: added to the variance.

    Returns:
        ``out``. Sums are of float32, or float64 for float64.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0]]), eps=0.0)
    array([[-1.,  1.]])
    """
    return _normalised(x, weight, bias, out, eps, True)


def rms_norm(x: Any, weight: Any = None, out: Any = None, *, eps: float = 1e-6) -> Any:
    """Elements divided by the root of the mean square of their row, times a weight.

    Args, results and errors are those of ``layer_norm``.

    >>> import numpy as np
    >>> rms_norm(np.array([[3.0, 3.0]]), np.array([1.0, 2.0]), eps=0.0)
    array([[1., 2.]])
    """
    return _normalised(x, weight, None, out, eps, False)


def parameter(name: str, value: Any, x: Operand) -> Operand | None:
    """A weight or bias, of one number for each column.

    Raises:
        ArgumentError: it has another shape.
    """
    if value is None:
        return None
    made = operand(name, value, FLOATS, 1)
    expect_shape(made, x.shape[-1:])
    return made


def row_options(
    x: Operand, *arrays: Operand | None, axis: int = -1, is_held: bool = False
) -> dict[str, Any]:
    """The constants of kernels over rows of x along an axis.

    Args:
        is_held: programs hold a row of several tiles.
    """
    kind, columns = sum_type(x.dtype), x.shape[axis]
    size = kind.primitive_bitwidth // 8
    options = {"BLOCK": row_block(columns, size), "SUM": kind, "INDEX": index_type(x, *arrays)}
    if is_held:
        options |= held_row(columns, size)
    return options | {"WHOLE": options["BLOCK"] >= columns}


def step_of(array: Operand | None) -> int:
    """The step of a weight or bias, in elements."""
    return 0 if array is None else array.strides[0]


def value_of(array: Operand | None) -> Any:
    """The array of an operand that may be missing."""
    return None if array is None else array.value


def _normalised(x: Any, weight: Any, bias: Any, out: Any, eps: float, centred: bool) -> Any:
    source = operand("x", x, FLOATS)
    expect_axis(source)
    scale, shift = parameter("weight", weight, source), parameter("bias", bias, source)
    target = result("out", out, source, source.shape, source.dtype)
    if not target.size:
        return target.value
    source, rows = as_rows(source, target)
    norm_rows[(rows.shape[0],)](
        source.value, value_of(scale), value_of(shift), rows.value, rows.shape[1],
        step_of(scale), step_of(shift), source.strides, rows.strides,
        CENTRED=centred, EPS=float(eps), **row_options(source, rows, is_held=True),
    )  # fmt: skip
    return target.value


def expect_axis(x: Operand) -> None:
    """Raise ArgumentError if an array has no last axis."""
    if not x.shape:
        raise ArgumentError(f"{x}; it must have a dimension")
