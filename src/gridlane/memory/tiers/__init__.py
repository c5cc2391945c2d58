"""Tiers of memory: arrays larger than a device and than the host's memory; blocks on disk."""

from gridlane.core.errors import (
    BlockInUse,
    SpillError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TierError,
    TierFull,
)
from gridlane.memory.tiers.array import TieredArray, tiered
from gridlane.memory.tiers.codecs import CodecMissing
from gridlane.memory.tiers.statistics import TierStatistics
from gridlane.memory.tiers.store import BlockStore, StoreStatistics
from gridlane.memory.tiers.tiers import Tiers

__all__ = [
    "BlockInUse",
    "BlockStore",
    "CodecMissing",
    "SpillError",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreStatistics",
    "StoreUnavailable",
    "TierError",
    "TierFull",
    "TierStatistics",
    "TieredArray",
    "Tiers",
    "tiered",
]
