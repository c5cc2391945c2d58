"""Arrays of floats in fewer bits, with a bound of the error.

Nothing uses it unless a user asks: what comes back are other numbers.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from gridlane.core.frozen import frozen

KINDS = ("bf16", "fp8_e4m3", "fp8_e5m2", "int8")
_ROUNDING = {"bf16": 2.0**-8, "fp8_e4m3": 2.0**-4, "fp8_e5m2": 2.0**-3}
"""Half of the distance of neighbours, by the power of two below them: the largest error of a number
that is rounded to nearest."""
_LEAST = {"bf16": 2.0**-134, "fp8_e4m3": 2.0**-10, "fp8_e5m2": 2.0**-17}
"""Half of the smallest positive number: the largest error below the normal numbers."""
_LARGEST = {"fp8_e4m3": 448.0, "fp8_e5m2": 57344.0}
_SLACK = 1 + 2.0**-15
"""Covers the roundings of the computation itself, to float32 and in float64."""
_FORM = struct.Struct("<4sBBBxIQ")
_MAGIC = b"GLQ1"
_TYPES = ("float32", "float64")
_CODES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int8")


@frozen
class Quantised:
    """An array in fewer bits.

    Attributes:
        kind: ``bf16``, ``fp8_e4m3``, ``fp8_e5m2`` or ``int8``.
        shape, dtype: of the array.
        block: how many elements, in C's order, share a scale.
        codes: one for each element, one-dimensional.
        scales: float64, one for each block; a block's numbers are its codes times its scale. All
            are 1 for ``bf16``, powers of two for fp8.
        bounds: float64, for each block the most by which any of its numbers may be off.
    """

    kind: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    block: int
    codes: np.ndarray[Any, Any]
    scales: np.ndarray[Any, np.dtype[np.float64]]
    bounds: np.ndarray[Any, np.dtype[np.float64]]

    def restore(self) -> np.ndarray[Any, Any]:
        """An array of the first one's shape and dtype: x with abs(x - original) <= bound."""
        scales = np.repeat(self.scales, self.block)[: self.codes.size]
        values = self.codes.astype(np.float64)
        finite = np.isfinite(values)
        most = float(np.finfo(self.dtype).max)
        with np.errstate(over="ignore"):  # a code that was rounded up, of the largest numbers
            values = np.where(finite, np.clip(values * scales, -most, most), values)
        return values.astype(self.dtype).reshape(self.shape)

    def pack(self) -> bytes:
        """The bytes of it, for a store; ``unpack`` reads them."""
        head = _FORM.pack(
            _MAGIC,
            KINDS.index(self.kind),
            _TYPES.index(self.dtype.name),
            len(self.shape),
            self.block,
            self.codes.size,
        )
        shape = struct.pack(f"<{len(self.shape)}Q", *self.shape)
        parts = head, shape, self.scales.tobytes(), self.bounds.tobytes(), self.codes.tobytes()
        return b"".join(parts)


def quantise(array: np.ndarray[Any, Any], kind: str, block: int = 256) -> Quantised:
    """Round an array to fewer bits.

    For a block whose numbers have at most the magnitude ``m``, of which ``p`` is the largest power
    of two in it, and whose scale is ``s``, the error of each number is at most (times 1 + 2^-15,
    for the computation's own roundings)

    - ``bf16``: max(p * 2^-8, 2^-134),
    - ``fp8_e4m3``: max(p * 2^-4, s * 2^-10), where s is the least power of two with m / s <= 448,
    - ``fp8_e5m2``: max(p * 2^-3, s * 2^-17), where s is the least power of two with m / s <= 57344,
    - ``int8``: s / 2 + m * 2^-24, where s is m / 127; the last part is the rounding to float32.

    Scales of fp8 are 2^-130 at least. ``Quantised.bounds`` has these numbers.

    Args:
        array: float32 or float64, of any shape. In int8 and fp8 all numbers are finite.
        kind: ``bf16``, ``fp8_e4m3``, ``fp8_e5m2`` or ``int8``.
        block: how many elements share a scale.

    Raises:
        TypeError: another dtype.
        ValueError: no such kind, a block of no elements, or numbers that the kind does not have:
            NaN and infinity in fp8 and int8, finite ones that bf16 would make infinite.

    >>> small = quantise(np.array([0.1, -0.2, 0.3], np.float32), "int8")
    >>> small.codes.tolist(), bool(np.abs(small.restore() - [0.1, -0.2, 0.3]).max() <= small.bounds)
    ([42, -85, 127], True)
    """
    if kind not in KINDS:
        raise ValueError(f"kinds are {', '.join(KINDS)}, not {kind!r}")
    if array.dtype.name not in _TYPES or not array.dtype.isnative:
        raise TypeError(f"arrays are float32 or float64, not {array.dtype}")
    if not 1 <= block < 1 << 32:
        raise ValueError(f"a block of {block} elements")
    flat = np.ascontiguousarray(array).reshape(-1)
    count = -(-flat.size // block)
    rows = np.zeros(count * block, np.float64)
    rows[: flat.size] = flat
    rows = rows.reshape(count, block)
    finite = np.isfinite(rows)
    if kind != "bf16" and not finite.all():
        raise ValueError(f"the array has numbers that are not finite, which {kind} does not store")
    most = np.max(np.where(finite, np.abs(rows), 0), axis=1, initial=0)
    scales = _scales(kind, most)
    scaled = rows / scales[:, None]
    if kind == "int8":
        codes = np.clip(np.rint(scaled), -127, 127).astype(np.int8)
        bounds = (scales / 2 + most * 2.0**-24) * _SLACK
    else:
        with np.errstate(over="ignore", under="ignore"):
            codes = scaled.astype(_code_type(kind))
        if not np.isfinite(codes.astype(np.float64))[finite].all():
            raise ValueError(f"the array has numbers beyond the largest of {kind}")
        power = np.ldexp(0.5, np.frexp(most)[1]) * (most > 0)
        bounds = np.maximum(power * _ROUNDING[kind], scales * _LEAST[kind]) * _SLACK
    codes = codes.reshape(-1)[: flat.size]
    return Quantised(kind, array.shape, array.dtype, block, codes, scales, bounds)


def unpack(data: bytes | bytearray | memoryview) -> Quantised:
    """What ``pack`` wrote.

    Raises:
        ValueError: the bytes are not of a quantised array.
    """
    try:
        magic, kind, dtype, axes, block, size = _FORM.unpack_from(data)
        if magic != _MAGIC:
            raise ValueError("they begin with other bytes")
        shape = struct.unpack_from(f"<{axes}Q", data, _FORM.size)
        place, count = _FORM.size + 8 * axes, -(-size // block)
        code = _code_type(KINDS[kind])
        if len(data) != place + 16 * count + size * code.itemsize or int(np.prod(shape)) != size:
            raise ValueError("their number is not that of the shape")
        values = np.frombuffer(data, np.float64, 2 * count, place).copy()
        codes = np.frombuffer(data, np.uint8, -1, place + 16 * count).copy().view(code)
        return Quantised(
            KINDS[kind],
            shape,
            np.dtype(_TYPES[dtype]),
            block,
            codes,
            values[:count],
            values[count:],
        )
    except (struct.error, IndexError, ZeroDivisionError, ValueError) as error:
        raise ValueError(f"the bytes are not of a quantised array: {error}") from error


def _scales(kind: str, most: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The scales of blocks by their largest magnitudes."""
    if kind == "bf16":
        return np.ones_like(most)
    if kind == "int8":
        scales = np.maximum(most / 127, np.nextafter(0.0, 1.0))
        # Rounded down to a subnormal number it leaves the largest number beyond 127 steps.
        scales = np.where(most / scales > 127, np.nextafter(scales, np.inf), scales)
        return np.where(most == 0, 1.0, scales)
    # most / 448 = fraction * 2**exponent, with a fraction of [1/2, 1): 2**exponent is enough.
    fraction, exponent = np.frexp(most / _LARGEST[kind])
    exponent = np.where(fraction == 0.5, exponent - 1, np.where(fraction > 0, exponent, -130))
    return np.where(most == 0, 1.0, np.ldexp(1.0, np.maximum(exponent, -130)))


def _code_type(kind: str) -> np.dtype[Any]:
    name = _CODES[KINDS.index(kind)]
    if name == "int8":
        return np.dtype(np.int8)
    import ml_dtypes  # a first use takes some milliseconds

    return np.dtype(getattr(ml_dtypes, name))
