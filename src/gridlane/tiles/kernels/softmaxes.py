"""Softmax and its logarithm along an axis, and their gradients.

A row that fits into one tile is read once. A longer one is read twice: the first pass keeps the
largest element so far and the sum of the exponentials, which it scales when the largest changes
(Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018).
"""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.norms import row_options
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    contiguous,
    expect_like,
    merged,
    operand,
    result,
)
from gridlane.tiles.kernels.programs.softmaxes import softmax_gradient_rows, softmax_rows


def softmax(x: Any, out: Any = None, *, axis: int = -1) -> Any:
    """The exponentials of elements, divided by their sum along an axis.

    Args:
        x: an array of float16, bfloat16, float32 or float64, of any strides.
        out: an array of x's shape and dtype, which may be x itself; a new one by default.
        axis: along which the results add up to 1.

    Returns:
        ``out``. Sums are of float32, or float64 for float64.

    Raises:
        ArgumentError: an array or the axis does not fit.

    >>> import numpy as np
    >>> softmax(np.array([0.0, np.log(3.0)]))
    array([0.25, 0.75])
    """
    return _forward(x, out, axis, False)


def log_softmax(x: Any, out: Any = None, *, axis: int = -1) -> Any:
    """The logarithms of ``softmax``, without overflow or loss of small ones.

    Args, results and errors are those of ``softmax``.

    >>> import numpy as np
    >>> log_softmax(np.array([-1000.0, 0.0]))
    array([-1000.,     0.])
    """
    return _forward(x, out, axis, True)


def softmax_backward(grad: Any, y: Any, out: Any = None, *, axis: int = -1) -> Any:
    """The gradient of ``softmax``'s input, from that of its result and its result ``y``.

    Args:
        grad: of y's shape and dtype.
        out: of y's shape and dtype; a new array by default.

    Raises:
        ArgumentError: an array or the axis does not fit.

    >>> import numpy as np
    >>> softmax_backward(np.array([1.0, 0.0]), np.array([0.25, 0.75]))
    array([ 0.1875, -0.1875])
    """
    return _backward(grad, y, out, axis, False)


def log_softmax_backward(grad: Any, y: Any, out: Any = None, *, axis: int = -1) -> Any:
    """The gradient of ``log_softmax``'s input, from that of its result and its result ``y``.

    Args, results and errors are those of ``softmax_backward``.
    """
    return _backward(grad, y, out, axis, True)


def _forward(x: Any, out: Any, axis: int, log: bool) -> Any:
    source = operand("x", x, FLOATS)
    target = result("out", out, source, source.shape, source.dtype)
    own = _axis(source, axis)
    if not target.size:
        return target.value
    count, inner, (source, target), steps = _walk(own, source, target)
    options = row_options(source, target, axis=own, is_held=True)
    softmax_rows[(count,)](
        source.value, target.value, source.shape[own], inner, *steps, LOG=log, **options
    )
    return target.value


def _backward(grad: Any, y: Any, out: Any, axis: int, log: bool) -> Any:
    source = operand("y", y, FLOATS)
    given = operand("grad", grad, FLOATS)
    expect_like(given, source)
    target = result("out", out, source, source.shape, source.dtype)
    own = _axis(source, axis)
    if not target.size:
        return target.value
    count, inner, arrays, steps = _walk(own, given, source, target)
    options = row_options(source, target, given, axis=own)
    softmax_gradient_rows[(count,)](
        *[each.value for each in arrays], source.shape[own], inner, *steps, LOG=log, **options
    )
    return target.value


def _axis(x: Operand, axis: int) -> int:
    count = len(x.shape)
    if not -count <= axis < count:
        raise ArgumentError(f"{x}; it has no axis {axis}")
    return axis % count


def _walk(
    axis: int, *arrays: Operand
) -> tuple[int, int, tuple[Operand, ...], list[tuple[int, int, int]]]:
    """The number of rows along an axis, that of inner rows, the arrays, or copies of them whose
    rows have two steps, and these steps; the last array is written."""
    for taken in (arrays, (*map(contiguous, arrays[:-1]), arrays[-1])):
        around = [(*e.strides[:axis], *e.strides[axis + 1 :]) for e in taken]
        shape = taken[0].shape
        groups = merged((*shape[:axis], *shape[axis + 1 :]), around)
        if len(groups) <= 2:
            none = (1, (0,) * len(taken))
            (outer, far), (inner, near) = [*[none] * (2 - len(groups)), *groups]
            steps = [
                (one, other, each.strides[axis])
                for one, other, each in zip(far, near, taken, strict=True)
            ]
            return outer * inner, inner, taken, steps
    raise ArgumentError(
        f"{arrays[-1]}, with strides {arrays[-1].strides}: its rows are more than two steps apart; "
        "pass a contiguous array"
    )
