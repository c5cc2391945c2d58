"""What kernels of gridlane's own libraries call beside numba's names: accesses of memory that the
host and other kernels change meanwhile, clocks, and the memory of a cluster's other blocks."""

from __future__ import annotations

from gridlane.frontends.python.stubs import (
    address_of,
    cluster_rank,
    cluster_size,
    cluster_sync,
    load_words,
    load_words_anywhere,
    nanoseconds,
    peer_address,
    rest,
    store_words,
    store_words_anywhere,
)
from gridlane.frontends.python.volatile_stubs import (
    bits_of,
    from_bits,
    load_volatile,
    store_volatile,
)

__all__ = [
    "address_of", "bits_of", "cluster_rank", "cluster_size", "cluster_sync", "from_bits",
    "load_volatile", "load_words", "load_words_anywhere", "nanoseconds", "peer_address", "rest",
    "store_volatile", "store_words", "store_words_anywhere",
]  # fmt: skip
