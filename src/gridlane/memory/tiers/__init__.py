"""Tiers of memory: blocks on disk."""

from gridlane.core.errors import StoreCorrupt, StoreError, StoreFull, StoreUnavailable
from gridlane.memory.tiers.codecs import CodecMissing
from gridlane.memory.tiers.store import BlockStore, StoreStatistics

__all__ = [
    "BlockStore",
    "CodecMissing",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreStatistics",
    "StoreUnavailable",
]
