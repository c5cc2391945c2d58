"""What tiers count."""

from __future__ import annotations

from gridlane.core.frozen import frozen


class Counters:
    """What happened so far.

    Attributes:
        hits, misses: pins of copies that were in their place, and that were not.
        to_disk, from_disk, to_device, from_device: bytes that were moved.
        prefetched, cleaned: blocks that the background brought, and wrote to disk ahead.
    """

    def __init__(self) -> None:
        self.hits = self.misses = 0
        self.to_disk = self.from_disk = self.to_device = self.from_device = 0
        self.prefetched = self.cleaned = 0


@frozen
class TierStatistics:
    """Bytes and counts of tiers.

    Attributes:
        blocks: of live arrays that were ever used.
        host_used, host_peak, host_quota: bytes of blocks in host memory, now and at most.
        device_used: by the devices' names.
        pinned: bytes of blocks that are pinned on the host.
        hits, misses: pins of copies that were in their place, and that were not.
        host_evictions, device_evictions: copies that left for others.
        to_disk, from_disk, to_device, from_device: bytes that were moved.
        prefetched, cleaned: blocks that the background brought, and wrote to disk ahead.
        undeleted: blocks of ended arrays that the store failed to delete.
    """

    blocks: int
    host_used: int
    host_peak: int
    host_quota: int
    device_used: dict[str, int]
    pinned: int
    hits: int
    misses: int
    host_evictions: int
    device_evictions: int
    to_disk: int
    from_disk: int
    to_device: int
    from_device: int
    prefetched: int
    cleaned: int
    undeleted: int
