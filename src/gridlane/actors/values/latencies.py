"""Latencies of an actor: times in buckets, and their quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane.actors.layouts.blocks import BUCKETS, Latencies
from gridlane.actors.layouts.python import dtype

NAMES = tuple(field.name for field in Latencies.fields)
_DTYPE = dtype(Latencies)


def _end_of(number: int) -> int:
    """Nanoseconds at which a bucket ends; engine/telemetry.h has the same buckets."""
    if number < 4:
        return number + 1
    exponent = number // 4 + 1
    return (4 + number % 4 + 1) << exponent - 2


ENDS: np.ndarray[Any, np.dtype[np.int64]] = np.array([_end_of(n) for n in range(BUCKETS)])
"""The ends of all buckets, in nanoseconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Latency:
    """Times of one kind, in seconds.

    Attributes:
        count: the number of times.
        mean, largest: in seconds; 0 where there are none.
        buckets: the number of times of each length; ``ENDS`` has the lengths.
    """

    count: int
    mean: float
    largest: float
    buckets: np.ndarray[Any, np.dtype[np.uint64]]

    def quantile(self, share: float) -> float:
        """The time that a share of all does not exceed: where its bucket ends, a quarter above the
        true one at most. In seconds; 0 where there are none.

        Raises:
            ValueError: the share is not between 0 and 1.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"a share of {share} is not between 0 and 1")
        if not self.count:
            return 0.0
        below = np.cumsum(self.buckets)
        number = int(np.searchsorted(below, max(1.0, share * self.count)))
        return min(float(ENDS[min(number, BUCKETS - 1)]) * 1e-9, self.largest)

    @property
    def p50(self) -> float:
        """The median."""
        return self.quantile(0.5)

    @property
    def p99(self) -> float:
        """The time that 99 of 100 do not exceed."""
        return self.quantile(0.99)

    @property
    def p999(self) -> float:
        """The time that 999 of 1000 do not exceed."""
        return self.quantile(0.999)

    def __repr__(self) -> str:
        return (
            f"Latency(count={self.count}, p50={self.p50:.3g}, p99={self.p99:.3g}, "
            f"p999={self.p999:.3g}, largest={self.largest:.3g})"
        )


def read_latencies(data: bytes | memoryview) -> dict[str, Latency]:
    """The latencies in the bytes of a ``Latencies``, by their names."""
    whole: Any = np.frombuffer(bytes(data), _DTYPE)[0]
    latencies: dict[str, Latency] = {}
    for name in NAMES:
        one = whole[name]
        buckets = one["buckets"].copy()
        count = int(buckets.sum())
        mean = int(one["total"]) * 1e-9 / count if count else 0.0
        latencies[name] = Latency(count, mean, int(one["largest"]) * 1e-9, buckets)
    return latencies
