"""Fourier transforms, by the array API standard's names. NumPy computes them on the host: their
operands are copied there, and the results back to the device."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridlane.core.naming import named
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


def _along_one(function: Callable[..., Any], text: str):
    def transform(
        x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        return on_host(function, x, n=n, axis=axis, norm=norm)

    return named(transform, function.__name__, text)


fft = _along_one(
    np.fft.fft, "The transform along a dimension, cut or padded with zeros to ``n`` elements."
)
ifft = _along_one(np.fft.ifft, "The inverse of ``fft``.")
rfft = _along_one(
    np.fft.rfft, "The transform of real elements along a dimension, without the conjugate half."
)
irfft = _along_one(np.fft.irfft, "The inverse of ``rfft``.")
hfft = _along_one(
    np.fft.hfft, "The transform of a signal that equals its conjugate in reverse; it is real."
)
ihfft = _along_one(np.fft.ihfft, "The inverse of ``hfft``.")


def _along_several(function: Callable[..., Any], text: str):
    def transform(
        x: Array,
        /,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Array:
        if s is not None and axes is None:  # the last dimensions, as the standard says
            axes = tuple(range(x.ndim - len(s), x.ndim))
        return on_host(function, x, s=s, axes=axes, norm=norm)

    return named(transform, function.__name__, text)


fftn = _along_several(
    np.fft.fftn,
    "The transform along several dimensions, by default all, cut or padded to extents ``s``.",
)
ifftn = _along_several(np.fft.ifftn, "The inverse of ``fftn``.")
rfftn = _along_several(
    np.fft.rfftn,
    """The transform of real elements along several dimensions, without the last one's conjugate
    half.""",
)
irfftn = _along_several(np.fft.irfftn, "The inverse of ``rfftn``.")


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
