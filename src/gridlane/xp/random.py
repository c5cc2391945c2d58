"""Random numbers by NumPy's names, of the sequence of NumPy's ``Philox``.

A generator has a key and a place in the sequence. Numbers are computed from their places, so that
they are the same on every device, and fuse with what uses them.
"""

from __future__ import annotations

import math
import operator
import threading
from typing import Any

import numpy as np

from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.runtime.protocol import Device
from gridlane.xp import dtypes, manipulation, philox
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.creation import asarray
from gridlane.xp.functions import function
from gridlane.xp.nodes import Node, Shape, contiguous, index, number
from gridlane.xp.protocols import lacking
from gridlane.xp.reductions import functions as reductions
from gridlane.xp.reductions.scans import cumulative_sum
from gridlane.xp.sorting.searching import searchsorted
from gridlane.xp.sorting.sorts import argsort
from gridlane.xp.views import shape_of

__all__ = ["Generator", "default_rng"]

Size = int | tuple[int, ...] | None
_WORD = np.dtype(np.uint64)


def default_rng(seed: Any = None, *, device: str | None = None) -> Generator:
    """A generator.

    Args:
        seed: what ``numpy.random.SeedSequence`` takes; None for one of the system's.
        device: of its arrays; by default the current one.
    """
    first, second = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    there = current.device() if device is None else get_device(device)
    return Generator((int(first), int(second)), there)


class Generator:
    """Random numbers. Any thread may use it."""

    def __init__(self, key: tuple[int, int], device: Device) -> None:
        self._key, self._device = key, device
        self._place = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Generator(Philox) on {self._device.name!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            return _restored, (self._key, self._device.name, self._place)

    # --- numbers of the sequence ---

    def _numbers(self, shape: Shape, operation: Any) -> Node:
        """The next numbers of the sequence, or halves of them."""
        size = math.prod(shape)
        with self._lock:
            start = self._place
            self._place += size if operation is philox.WORDS else -(-size // 2)
        places = index(self._device, shape, contiguous(shape))
        keys = [number(each, _WORD) for each in (start, *self._key)]
        dtype = operation.types(()).outputs[0]
        return Node(self._device, dtype, shape, operation, (places, *keys))

    def _uniform(self, shape: Shape, dtype: np.dtype[Any]) -> Array:
        """Floats from 0 up to, not including, 1, as NumPy makes them."""
        if dtype == np.float64:
            bits = Array(self._numbers(shape, philox.WORDS)) >> np.uint64(11)
            return Array(cast(bits.node, dtype)) * 2.0**-53
        if dtype != np.float32:
            raise TypeError(f"Unsupported dtype {dtype!r} for random")
        bits = Array(self._numbers(shape, philox.HALVES)) >> np.uint32(8)
        return Array(cast(bits.node, dtype)) * 2.0**-24

    # --- distributions ---

    def random(self, size: Size = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Floats from 0 up to, not including, 1. Those of float64 are the ones of
        ``numpy.random.Generator(numpy.random.Philox(seed))``."""
        if out is not None:
            if size is not None and _shape(size) != out.shape:
                raise ValueError("size must match out.shape when used together")
            out[...] = self._uniform(out.shape, out.dtype)
            return out
        return self._uniform(_shape(size), np.dtype(dtype))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None) -> Array:
        """Floats from ``low`` to ``high``."""
        shape = _shape(size, low, high)
        _not_negative("high - low", high - low)
        return self._uniform(shape, np.dtype(np.float64)) * (high - low) + low

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Array:
        """Integers from ``low``, or 0, up to ``high``, which is left out unless ``endpoint``. They
        are not those of NumPy's generators; the chances of two differ by 2**-64 times their
        number at most.

        Raises:
            ValueError: there are none, or the dtype does not hold them.
        """
        if high is None:
            low, high = 0, low
        first, last = operator.index(low), operator.index(high) - (not endpoint)
        own = dtypes.checked(dtype)
        facts = np.iinfo(own) if own.kind in "iu" else None
        if facts is None:
            raise TypeError(f"Unsupported dtype {own!r} for integers")
        if first > last:
            raise ValueError("low >= high")
        if first < facts.min or last > facts.max:
            raise ValueError("low or high is out of bounds for " + own.name)
        words = Array(self._numbers(_shape(size), philox.WORDS))
        count = last - first + 1
        if count < 2**64:
            words = _high_product(words, count)
        return Array(cast((words + np.uint64(first % 2**64)).node, own))

    def standard_normal(self, size: Size = None, dtype: Any = np.float64) -> Array:
        """Floats of the normal distribution of mean 0 and deviation 1, by Box and Muller."""
        shape, own = _shape(size), np.dtype(dtype)
        one = 1.0 - self._uniform(shape, own)
        angle = self._uniform(shape, own) * (2 * math.pi)
        return function("sqrt")(function("log")(one) * -2.0) * function("cos")(angle)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        """Floats of a normal distribution."""
        _not_negative("scale", scale)
        return self.standard_normal(_shape(size, loc, scale)) * scale + loc

    def standard_exponential(self, size: Size = None, dtype: Any = np.float64) -> Array:
        """Floats of the exponential distribution of mean 1."""
        return -function("log")(1.0 - self._uniform(_shape(size), np.dtype(dtype)))

    def exponential(self, scale: Any = 1.0, size: Size = None) -> Array:
        """Floats of an exponential distribution."""
        _not_negative("scale", scale)
        return self.standard_exponential(_shape(size, scale)) * scale

    # --- orders ---

    def permutation(self, x: int | Array, axis: int = 0) -> Array:
        """Integers below a number, or the parts of an array, in a random order."""
        if not isinstance(x, Array):
            return self._order(max(0, operator.index(x)))
        if not x.ndim:
            raise ValueError("x must be an integer or at least 1-dimensional")
        return manipulation.take(x, self._order(x.shape[axis]), axis=axis)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Put the parts of an array into a random order."""
        if not isinstance(x, Array):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"shuffle: the operand is an array of gridlane.xp, not {type(x).__name__}"
            )
        x[...] = self.permutation(x, axis)

    def _order(self, count: int) -> Array:
        return argsort(Array(self._numbers((count,), philox.WORDS)))

    def choice(
        self,
        a: int | Array,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
    ) -> Array:
        """Random parts of an array, or integers below a number.

        Args:
            replace: whether one may be chosen twice.
            p: their chances; by default they are equal.

        Raises:
            ValueError: there are too few, or the chances do not fit.
        """
        if isinstance(a, Array) and not a.ndim:
            raise ValueError("a must be an integer or at least 1-dimensional")
        count = a.shape[axis] if isinstance(a, Array) else operator.index(a)
        shape = _shape(size)
        if count < 0 or (not count and math.prod(shape)):
            raise ValueError("a cannot be empty, or a negative number, unless no samples are taken")
        if p is not None:
            places = self._weighted(count, shape, replace, p)
        elif replace and count:
            places = self.integers(count, size=shape)
        else:
            if math.prod(shape) > count:
                raise ValueError(
                    "Cannot take a larger sample than population when replace is False"
                )
            places = manipulation.reshape(self._order(count)[: math.prod(shape)], shape)
        return manipulation.take(a, places, axis=axis) if isinstance(a, Array) else places

    def _weighted(self, count: int, shape: Shape, replace: bool, p: Any) -> Array:
        chances = p if isinstance(p, Array) else asarray(p, device=self._device.name)
        if chances.shape != (count,):
            raise ValueError("a and p must have same size")
        if not replace:
            raise ValueError("choice: chances with replace=False are not supported")
        if not bool(reductions.all(chances >= 0)):  # NaN is not either
            raise ValueError("Probabilities are not non-negative")
        sums = cumulative_sum(chances.astype(np.float64))
        if abs(float(sums[-1]) - 1) > 1e-8:
            raise ValueError("Probabilities do not sum to 1.")
        places = searchsorted(sums, self._uniform(shape, np.dtype(np.float64)), side="right")
        return function("minimum")(places, count - 1)


def _restored(key: tuple[int, int], device: str, place: int) -> Generator:
    """An unpickled generator."""
    generator = Generator(key, get_device(device))
    generator._place = place  # pyright: ignore[reportPrivateUsage]
    return generator


def _not_negative(name: str, value: Any) -> None:
    """Refuse negative parameters of distributions.

    Raises:
        ValueError: one is.
    """
    is_negative = value < 0
    if bool(reductions.any(is_negative) if isinstance(is_negative, Array) else is_negative):
        raise ValueError(f"{name} < 0")


def _shape(size: Size, *parameters: Any) -> Shape:
    """The shape of results; without a size that of the parameters."""
    if size is not None:
        return shape_of(size)
    return np.broadcast_shapes(*[each.shape for each in parameters if isinstance(each, Array)])


def _high_product(words: Array, count: int) -> Array:
    """The upper halves of products of 64-bit numbers with one."""
    low, high = words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)
    a, b = np.uint64(count & 0xFFFFFFFF), np.uint64(count >> 32)
    middle = high * a + ((low * a) >> np.uint64(32))
    rest = low * b + (middle & np.uint64(0xFFFFFFFF))
    return high * b + (middle >> np.uint64(32)) + (rest >> np.uint64(32))


def __getattr__(name: str) -> Any:
    raise lacking(name, "random")
