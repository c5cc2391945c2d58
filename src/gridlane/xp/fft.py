"""Fourier transforms, by the array API standard's names. NumPy computes them on the host: their
operands are copied there, and the results back to the device."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane.xp import creation, dtypes, manipulation
from gridlane.xp.arrays import Array
from gridlane.xp.hosts import on_host
from gridlane.xp.operands import of_array
from gridlane.xp.protocols import lacking

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def fft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The transform along a dimension, cut or padded with zeros to ``n`` elements."""
    return on_host(np.fft.fft, x, n=n, axis=axis, norm=norm)


def ifft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of ``fft``."""
    return on_host(np.fft.ifft, x, n=n, axis=axis, norm=norm)


def rfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The transform of real elements along a dimension, without the conjugate half."""
    return on_host(np.fft.rfft, x, n=n, axis=axis, norm=norm)


def irfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of ``rfft``."""
    return on_host(np.fft.irfft, x, n=n, axis=axis, norm=norm)


def hfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The transform of a signal that equals its conjugate in reverse; it is real."""
    return on_host(np.fft.hfft, x, n=n, axis=axis, norm=norm)


def ihfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of ``hfft``."""
    return on_host(np.fft.ihfft, x, n=n, axis=axis, norm=norm)


def _several(
    function: Any, x: Array, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str
) -> Array:
    if s is not None and axes is None:  # the last dimensions, as the standard says
        axes = tuple(range(x.ndim - len(s), x.ndim))
    return on_host(function, x, s=s, axes=axes, norm=norm)


def fftn(
    x: Array,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The transform along several dimensions, by default all, cut or padded to extents ``s``."""
    return _several(np.fft.fftn, x, s, axes, norm)


def ifftn(
    x: Array,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The inverse of ``fftn``."""
    return _several(np.fft.ifftn, x, s, axes, norm)


def rfftn(
    x: Array,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The transform of real elements along several dimensions, without the last one's conjugate
    half."""
    return _several(np.fft.rfftn, x, s, axes, norm)


def irfftn(
    x: Array,
    /,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The inverse of ``rfftn``."""
    return _several(np.fft.irfftn, x, s, axes, norm)


# --- of no transform ---


def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Array:
    """The frequencies of the elements of ``fft``, for samples at a distance of ``d``."""
    count = operator.index(n)
    indices = creation.arange(count, dtype=np.float64, device=device)
    wrapped = indices - creation.asarray(float(count), device=indices.device) * (
        indices >= (count + 1) // 2
    )
    return _real(wrapped * (1.0 / (count * d)) if count else wrapped, dtype)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Array:
    """The frequencies of the elements of ``rfft``."""
    count = operator.index(n)
    indices = creation.arange(count // 2 + 1, dtype=np.float64, device=device)
    return _real(indices * (1.0 / (count * d)), dtype)


def _real(frequencies: Array, dtype: Any) -> Array:
    wanted = np.dtype(np.float64) if dtype is None else dtypes.checked(dtype)
    if dtypes.letter(wanted) != "f":
        raise ValueError(f"frequencies have a float dtype, not {wanted}")
    return frequencies.astype(wanted, copy=False)


@of_array
def fftshift(x: Array, /, axes: int | Sequence[int] | None = None) -> Array:
    """Move the frequency zero to the middle of dimensions, by default all."""
    own = _axes(x, axes)
    return manipulation.roll(x, tuple([x.shape[each] // 2 for each in own]), axis=own)


@of_array
def ifftshift(x: Array, /, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of ``fftshift``."""
    own = _axes(x, axes)
    return manipulation.roll(x, tuple([-(x.shape[each] // 2) for each in own]), axis=own)


def _axes(x: Array, axes: int | Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    return (axes,) if isinstance(axes, int) else tuple(axes)


def __getattr__(name: str) -> Any:
    raise lacking(name, "fft")
