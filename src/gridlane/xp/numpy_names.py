"""Functions of NumPy's that the array API standard lacks, of the functions that it has."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gridlane.xp import creation, dtypes, linalg, manipulation, products, views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array, as_node
from gridlane.xp.functions import function
from gridlane.xp.indexing import assign
from gridlane.xp.operands import of_array, of_arrays
from gridlane.xp.reductions import functions as reductions

# --- facts ---


@of_array
def ndim(a: Array, /) -> int:
    """The number of dimensions."""
    return a.ndim


@of_array
def shape(a: Array, /) -> tuple[int, ...]:
    """The extent of each dimension."""
    return a.shape


@of_array
def size(a: Array, /, axis: int | tuple[int, ...] | None = None) -> int:
    """The number of elements, or those along dimensions."""
    if axis is None:
        return a.size
    return math.prod([a.shape[each] for each in views.axes_of(axis, a.ndim)])


# --- copies ---


@of_array
def copy(a: Array, /) -> Array:
    """A copy, in C's order."""
    return a.copy()


@of_array
def copyto(dst: Array, src: Any, /, casting: str = "same_kind", where: Any = True) -> None:
    """Write elements to an array, everywhere or where a mask holds.

    Raises:
        TypeError: the rule of casting forbids it.
        ValueError: the elements do not broadcast.
    """
    if isinstance(src, Array) and not np.can_cast(src.dtype, dst.dtype, casting):  # type: ignore[arg-type]  # NumPy checks it
        raise TypeError(
            f"Cannot cast array data from {src.dtype} to {dst.dtype} according to the rule "
            f"{casting!r}"
        )
    if where is not True:
        mask = where if isinstance(where, Array) else creation.asarray(where, device=dst.device)
        source = Array(cast(as_node(src, dst), dst.dtype))
        assign(dst.leaf(), ..., function("where")(mask, source, dst).node)
        return
    assign(dst.leaf(), ..., as_node(src, dst))


# --- new arrays ---


def identity(n: int, /, dtype: Any = None, *, device: str | None = None) -> Array:
    """A square matrix with ones on its diagonal."""
    return creation.eye(n, dtype=dtype, device=device)


def tri(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: str | None = None
) -> Array:
    """A matrix with ones on and below the diagonal that is ``k`` above the main one."""
    ones = creation.ones((N, N if M is None else M), dtype=dtype, device=device)
    return creation.tril(ones, k=k)


def logspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: str | None = None,
) -> Array:
    """Powers of a base at equal distances of their exponents."""
    exponents = creation.linspace(start, stop, num, endpoint=endpoint, device=device)
    result = function("pow")(float(base), exponents)
    return result if dtype is None else result.astype(dtype, copy=False)


# --- parts and joints ---


@of_array
def split(ary: Array, indices_or_sections: Any, /, axis: int = 0) -> list[Array]:
    """Views of parts along a dimension, of equal extents or between indices.

    Raises:
        ValueError: there are no equal parts.
    """
    along = views.axis_of(axis, ary.ndim)
    if hasattr(indices_or_sections, "__index__"):
        count = operator.index(indices_or_sections)
        if count < 1 or ary.shape[along] % count:
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@of_array
def array_split(ary: Array, indices_or_sections: Any, /, axis: int = 0) -> list[Array]:
    """Views of parts along a dimension, the first of which may have one element more."""
    along = views.axis_of(axis, ary.ndim)
    extent = ary.shape[along]
    if hasattr(indices_or_sections, "__index__"):
        count = operator.index(indices_or_sections)
        if count < 1:
            raise ValueError("number sections must be larger than 0.")
        least, more = divmod(extent, count)
        ends = [least * each + min(each, more) for each in range(count + 1)]
    else:
        ends = [0, *[operator.index(each) for each in indices_or_sections], extent]
    before = (slice(None),) * along
    return [ary[(*before, slice(*pair))] for pair in pairwise(ends)]


@of_array
def hsplit(ary: Array, indices_or_sections: Any, /) -> list[Array]:
    """``split`` along the second dimension, or the only one."""
    return split(ary, indices_or_sections, axis=1 if ary.ndim > 1 else 0)


@of_array
def vsplit(ary: Array, indices_or_sections: Any, /) -> list[Array]:
    """``split`` along the first dimension."""
    return split(ary, indices_or_sections, axis=0)


@of_arrays
def atleast_1d(*arys: Array) -> Any:
    """Views of at least one dimension."""
    results = tuple([each if each.ndim else manipulation.reshape(each, 1) for each in arys])
    return results[0] if len(results) == 1 else results


@of_arrays
def atleast_2d(*arys: Array) -> Any:
    """Views of at least two dimensions; a vector is a row."""
    results = tuple(
        [each if each.ndim > 1 else manipulation.reshape(each, (1, each.size)) for each in arys]
    )
    return results[0] if len(results) == 1 else results


@of_arrays
def hstack(tup: Sequence[Array], /) -> Array:
    """Arrays one after another along the second dimension, vectors along the only one."""
    parts = [atleast_1d(each) for each in tup]
    return manipulation.concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1)


@of_arrays
def vstack(tup: Sequence[Array], /) -> Array:
    """Arrays below each other; a vector is a row."""
    return manipulation.concat([atleast_2d(each) for each in tup], axis=0)


@of_arrays
def column_stack(tup: Sequence[Array], /) -> Array:
    """Arrays beside each other; a vector is a column."""
    parts = [each if each.ndim > 1 else manipulation.reshape(each, (-1, 1)) for each in tup]
    return manipulation.concat(parts, axis=1)


@of_array
def append(arr: Array, values: Array, /, axis: int | None = None) -> Array:
    """An array and another one behind it."""
    return manipulation.concat([arr, values], axis=axis)


@of_array
def fliplr(m: Array, /) -> Array:
    """A view of the elements in reverse order along the second dimension."""
    return manipulation.flip(m, axis=1)


@of_array
def flipud(m: Array, /) -> Array:
    """A view of the elements in reverse order along the first dimension."""
    return manipulation.flip(m, axis=0)


@of_array
def rot90(m: Array, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """A view of the elements after turns by 90 degrees, from the first axis to the second."""
    first, second = views.axes_of(tuple(axes), m.ndim)
    turns = operator.index(k) % 4
    if turns == 2:
        return manipulation.flip(m, axis=(first, second))
    if turns == 0:
        return m[...]
    swapped = manipulation.flip(m, axis=second) if turns == 1 else m
    result = manipulation.swapaxes(swapped, first, second)
    return result if turns == 1 else manipulation.flip(result, axis=second)


@of_array
def pad(array: Array, pad_width: Any, /, mode: str = "constant", **options: Any) -> Array:
    """An array with further elements before and behind each dimension's.

    Args:
        pad_width: (before, behind) for each dimension, or for all, or one number for both.
        mode: "constant", with ``constant_values``, or "edge", "wrap", "reflect", "symmetric".

    Raises:
        ValueError: another mode.
    """
    widths = np.broadcast_to(np.asarray(pad_width, dtype=np.int64), (array.ndim, 2)).tolist()
    if (np.asarray(widths) < 0).any():
        raise ValueError("index can't contain negative values")
    if mode == "constant":
        value = options.pop("constant_values", 0)
        if options:
            raise TypeError(f"pad: no parameter {next(iter(options))!r} for the mode {mode!r}")
        extents = [sum(each) + own for each, own in zip(widths, array.shape, strict=True)]
        result = creation.full(tuple(extents), value, dtype=array.dtype, device=array.device)
        inner = [slice(a, a + own) for (a, _), own in zip(widths, array.shape, strict=True)]
        result[tuple(inner)] = array
        return result
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        raise ValueError(f"pad: the mode {mode!r} is not supported")
    result = array
    for axis, each in enumerate(widths):
        places = np.pad(np.arange(array.shape[axis]), each, mode, **options)  # type: ignore[call-overload]  # NumPy checks it
        result = manipulation.take(result, places, axis=axis)
    return result


# --- matrices ---


@of_array
def diagonal(a: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A view of the diagonals of two dimensions, as the last dimension."""
    return linalg.diagonal(manipulation.moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


@of_array
def trace(a: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
    """The sums of the diagonals of two dimensions."""
    return reductions.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@of_array
def diag(v: Array, /, k: int = 0) -> Array:
    """A matrix with a vector on a diagonal; of a matrix a view of the diagonal."""
    if v.ndim == 2:
        return linalg.diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    extent = v.size + abs(operator.index(k))
    result = creation.zeros((extent, extent), dtype=v.dtype, device=v.device)
    linalg.diagonal(result, offset=k)[...] = v
    return result


@of_array
def dot(a: Array, b: Array, /) -> Array:
    """The sums of products along the last dimension of one operand and the last but one of the
    other; for numbers, their product."""
    if not isinstance(b, Array) or not a.ndim or not b.ndim:  # pyright: ignore[reportUnnecessaryIsInstance]
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return products.matmul(a, b)
    return products.tensordot(a, b, axes=((-1,), (-2 if b.ndim > 1 else -1,)))


@of_arrays
def inner(a: Array, b: Array, /) -> Array:
    """The sums of products along the last dimensions."""
    if not a.ndim or not b.ndim:
        return a * b
    return products.tensordot(a, b, axes=((-1,), (-1,)))


@of_arrays
def outer(a: Array, b: Array, /) -> Array:
    """The products of each element with each of another array."""
    return linalg.outer(manipulation.ravel(a), manipulation.ravel(b))


@of_arrays
def kron(a: Array, b: Array, /) -> Array:
    """The products of each element with another array, as blocks."""
    rank = max(a.ndim, b.ndim)
    one = manipulation.reshape(a, (1,) * (rank - a.ndim) + a.shape)
    other = manipulation.reshape(b, (1,) * (rank - b.ndim) + b.shape)
    shape = [extent * own for extent, own in zip(one.shape, other.shape, strict=True)]
    wide = [part for extent in one.shape for part in (extent, 1)]
    narrow = [part for extent in other.shape for part in (1, extent)]
    blocks = manipulation.reshape(one, tuple(wide)) * manipulation.reshape(other, tuple(narrow))
    return manipulation.reshape(blocks, tuple(shape))


# --- elements ---


@of_array
def isclose(
    a: Array, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether elements differ by at most ``atol + rtol * abs(b)``."""
    other = b if isinstance(b, Array) else creation.asarray(b, device=a.device)
    one = a if dtypes.letter(a.dtype) in "fc" else a.astype(np.float64)
    if dtypes.letter(other.dtype) not in "fc":
        other = other.astype(np.float64)
    both = function("isfinite")(one) & function("isfinite")(other)
    close = abs(one - other) <= atol + rtol * abs(other)
    result = function("where")(both, close, one == other)
    if equal_nan:
        result = result | (function("isnan")(one) & function("isnan")(other))
    return result


@of_array
def nan_to_num(
    x: Array,
    /,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """The elements, with numbers for NaN and infinities, by default the largest.

    Args:
        copy: False to store them in ``x``.
    """
    result = _finite(x, nan, posinf, neginf)
    if copy:
        return result
    assign(x.leaf(), ..., result.node)
    return x


def _finite(x: Array, nan: float, posinf: float | None, neginf: float | None) -> Array:
    if dtypes.letter(x.dtype) == "c":
        parts = [_finite(function(each)(x), nan, posinf, neginf) for each in ("real", "imag")]
        return parts[0] + parts[1] * 1j
    if dtypes.letter(x.dtype) != "f":
        return x.copy()
    facts, where = dtypes.finfo(x.dtype), function("where")
    result = where(function("isnan")(x), nan, x)
    result = where(x == np.inf, facts.max if posinf is None else posinf, result)
    return where(x == -np.inf, facts.min if neginf is None else neginf, result)
