"""Linear algebra, by the array API standard's names. Products, norms and traces are computed on the
device. NumPy computes decompositions, solutions and determinants on the host: their operands are
copied there, and the results back to the device."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from gridlane.xp import creation, dtypes, manipulation, views
from gridlane.xp.arrays import Array
from gridlane.xp.functions import function
from gridlane.xp.hosts import on_host
from gridlane.xp.manipulation import matrix_transpose
from gridlane.xp.operands import of_array, of_arrays
from gridlane.xp.products import matmul, tensordot, vecdot
from gridlane.xp.protocols import lacking
from gridlane.xp.reductions import functions as reductions

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class EigResult(NamedTuple):
    """Eigenvalues, and the eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Factors: a matrix with orthonormal columns, and an upper triangular one."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its magnitude."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Factors: left singular vectors in columns, singular values, right ones in rows."""

    U: Array
    S: Array
    Vh: Array


# --- on the host ---


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """The triangular factor of positive definite matrices.

    Raises:
        LinAlgError: one is not positive definite.
    """
    return on_host(np.linalg.cholesky, x, upper=upper)


def det(x: Array, /) -> Array:
    """The determinants of matrices."""
    return on_host(np.linalg.det, x)


def eig(x: Array, /) -> EigResult:
    """The complex eigenvalues and eigenvectors of matrices."""
    values, vectors = on_host(np.linalg.eig, x)
    return EigResult(_complex(values), _complex(vectors))


def eigh(x: Array, /) -> EigResult:
    """The eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    return EigResult(*on_host(np.linalg.eigh, x))


def eigvals(x: Array, /) -> Array:
    """The complex eigenvalues of matrices."""
    return _complex(on_host(np.linalg.eigvals, x))


def eigvalsh(x: Array, /) -> Array:
    """The eigenvalues of symmetric or Hermitian matrices."""
    return on_host(np.linalg.eigvalsh, x)


def _complex(x: Array) -> Array:
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def inv(x: Array, /) -> Array:
    """The inverses of matrices.

    Raises:
        LinAlgError: one has none.
    """
    return on_host(np.linalg.inv, x)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """The numbers of singular values above a part, ``rtol``, of the largest one."""
    return on_host(np.linalg.matrix_rank, x, rtol=rtol)


@of_array
def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """The pseudo-inverses of matrices, without singular values below a part of the largest one."""
    if rtol is None:
        real = np.finfo(np.result_type(x.dtype, np.float32)).eps
        rtol = float(max(x.shape[-2:], default=1) * real)
    return on_host(np.linalg.pinv, x, rtol=rtol)


def qr(x: Array, /, mode: str = "reduced") -> QRResult:
    """The factors of matrices, "reduced" or "complete"."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is 'reduced' or 'complete', not {mode!r}")
    return QRResult(*on_host(np.linalg.qr, x, mode=mode))


def slogdet(x: Array, /) -> SlogdetResult:
    """The determinants of matrices, as signs and logarithms."""
    return SlogdetResult(*on_host(np.linalg.slogdet, x))


def solve(x1: Array, x2: Array, /) -> Array:
    """The solutions of ``x1 @ x = x2``; a vector ``x2`` is one column.

    Raises:
        LinAlgError: a matrix has no inverse.
    """
    return on_host(np.linalg.solve, x1, x2)


def svd(x: Array, /, full_matrices: bool = True) -> SVDResult:
    """The singular value decompositions of matrices."""
    return SVDResult(*on_host(np.linalg.svd, x, full_matrices=full_matrices))


def svdvals(x: Array, /) -> Array:
    """The singular values of matrices, the largest first."""
    return on_host(np.linalg.svdvals, x)


# --- on the device ---


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements along a dimension.

    Raises:
        ValueError: they have another number of elements.
    """
    one, other = manipulation.broadcast_arrays(x1, x2)
    along = views.axis_of(axis, min(x1.ndim, x2.ndim)) - min(x1.ndim, x2.ndim)
    if x1.shape[along] != 3 or x2.shape[along] != 3:
        raise ValueError("cross: the operands have three elements along the axis")
    first = [manipulation.moveaxis(one, along, -1)[..., each] for each in range(3)]
    second = [manipulation.moveaxis(other, along, -1)[..., each] for each in range(3)]
    parts = [
        first[(each + 1) % 3] * second[(each + 2) % 3]
        - first[(each + 2) % 3] * second[(each + 1) % 3]
        for each in range(3)
    ]
    return manipulation.stack(parts, axis=along)


@of_array
def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """A view of the diagonals of matrices, ``offset`` above the main ones."""
    return Array(views.diagonal(x.node, operator.index(offset)))


@of_array
def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of the diagonals of matrices."""
    return reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@of_arrays
def outer(x1: Array, x2: Array, /) -> Array:
    """The products of each element of a vector with each of another."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError("outer: the operands are vectors")
    return x1[:, None] * x2[None, :]


def matrix_power(x: Array, n: int, /) -> Array:
    """The products of ``n`` equal matrices, or of their inverses.

    Raises:
        ValueError: the matrices are not square.
    """
    power = operator.index(n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError("matrix_power: the operand has square matrices")
    if power < 0:
        return matrix_power(inv(x), -power)
    if not power:
        one = creation.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        return manipulation.broadcast_to(one, x.shape).copy()
    result, square = None, x
    while power:
        if power & 1:
            result = square if result is None else matmul(result, square)
        power >>= 1
        square = matmul(square, square) if power else square
    assert result is not None
    return result.copy() if result is x else result


@of_array
def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """The norms of vectors along dimensions, by default all: the sums of powers of magnitudes, or
    the largest or smallest of these for plus and minus infinity."""
    size = _magnitudes(x)
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord == math.inf:
        return reductions.max(size, **options)
    if ord == -math.inf:
        return reductions.min(size, **options)
    if ord == 0:
        return reductions.sum((size != 0).astype(size.dtype), **options)
    if ord == 1:
        return reductions.sum(size, **options)
    if ord == 2:
        return function("sqrt")(reductions.sum(size * size, **options))
    return reductions.sum(size**ord, **options) ** (1 / ord)


def _magnitudes(x: Array) -> Array:
    floats = x if dtypes.letter(x.dtype) in "fc" else x.astype(np.float64)
    return abs(floats)


@of_array
def norm(
    x: Array,
    ord: Any = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Array:
    """The norms of vectors along one dimension or of matrices in two, as NumPy's function of this
    name; of all elements without an axis."""
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else views.axes_of(axis, x.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order {ord!r} for vectors")
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    result = matrix_norm(
        manipulation.moveaxis(x, axes, (-2, -1)), ord="fro" if ord is None else ord
    )
    return manipulation.expand_dims(result, axes) if keepdims else result


@of_array
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norms of matrices: "fro", "nuc", or 1, 2, infinity and their negatives.

    Raises:
        ValueError: there is no such norm.
    """
    if x.ndim < 2:
        raise ValueError("matrix_norm: the operand has matrices")
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        along = -2 if abs(ord) == 1 else -1
        sums = reductions.sum(_magnitudes(x), axis=along, keepdims=True)
        result = (reductions.max if ord > 0 else reductions.min)(sums, axis=(-2, -1), keepdims=True)
    elif ord in (2, -2, "nuc"):
        values = svdvals(x)[..., None]
        fold = {2: reductions.max, -2: reductions.min, "nuc": reductions.sum}[ord]
        result = fold(values, axis=(-2, -1), keepdims=True)
    else:
        raise ValueError(f"matrix_norm: no norm {ord!r}")
    return result if keepdims else manipulation.squeeze(result, (-2, -1))


def __getattr__(name: str) -> Any:
    raise lacking(name, "linalg")
