"""What the pools of devices tell of themselves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """Bytes and counts of a device's pool.

    Attributes:
        used, peak: bytes of live allocations, now and at most.
        reserved: bytes that the pool holds of the device, those it keeps for later included.
        allocations, frees: how many there were.
        limit: the most bytes that may be used; None for the device's memory.
    """

    used: int
    peak: int
    reserved: int
    allocations: int
    frees: int
    limit: int | None
