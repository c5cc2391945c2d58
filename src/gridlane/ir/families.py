"""Names of ops by family.

``ir/stages.py`` has the families that are those of a module of ``ir/ops``. Every process reads
these, so they import no op.
"""

from __future__ import annotations

# fmt: off
MEMORY = frozenset((
    "load", "store", "offset", "field_pointer", "recast", "address", "from_address", "global",
    "dynamic_shared", "local_array", "read", "write", "pack", "part",
))

ATOMIC = frozenset(("atomic", "atomic_cas"))

PAIRS = frozenset(("atomic_cas_pair",))

COOPERATIVE = frozenset(("grid_sync",))

CLUSTERS = frozenset((
    "cluster_rank", "cluster_size", "cluster_arrive", "cluster_wait", "cluster_sync",
    "peer_address", "mbarrier_arrive_peer", "mbarrier_expect_peer", "mbarrier_complete_peer",
    "tensor_multicast",
))

PEERS = frozenset((
    "cluster_rank", "cluster_size", "cluster_arrive", "cluster_wait", "peer_address",
))

PARTS = frozenset(("barrier_part", "barrier_arrive"))

PRODUCTS = frozenset(("mma", "mma_load", "mma_store"))

MEMORY_PRODUCTS = frozenset(("warp_product",))

MBARRIERS = frozenset((
    "mbarrier_init", "mbarrier_arrive", "mbarrier_expect", "mbarrier_complete", "mbarrier_passed",
    "mbarrier_pending",
))

TENSORS = frozenset((
    "tensor_load", "tensor_store", "tensor_reduce", "bulk_commit", "bulk_wait", "proxy_fence",
))

WARPGROUP_PRODUCTS = frozenset(("warpgroup_mma",))

WARPGROUPS = WARPGROUP_PRODUCTS.union((
    "warpgroup_fence", "warpgroup_commit", "warpgroup_wait", "register_limit",
))

MACHINE = frozenset(("machine", "run_others"))

GRID = frozenset((
    "thread_idx", "block_idx", "block_dim", "grid_dim", "lane_id", "dynamic_shared_size",
    "barrier", "barrier_reduce", "sync_warp", "fence", "dynamic_shared_size",
))

WARP = frozenset((
    "shuffle", "vote", "match_any", "match_all", "active_mask", "warp_reduce",
))

LANES = WARP | {"sync_warp"}

COPIES = frozenset(("async_copy", "async_commit", "async_wait"))

MATRIX = frozenset((
    "fragment_fill", "fragment_load", "fragment_store", "fragment_mma", "fragment_scale",
    "fragment_convert",
))

CONTROL = frozenset((
    "if", "loop", "scope", "break", "continue", "leave", "return", "raise", "print",
))

CHECKS = frozenset(("stop_if", "check_access"))

REPORTS = frozenset(("report",))

CALLS = frozenset(("call",))

EXITS = frozenset(("exit",))

GRAPH = frozenset(("graph", "block", "branch", "branch_if", "switch"))

TILES = frozenset((
    "tile_splat", "tile_iota", "tile_map", "tile_broadcast", "tile_reshape", "tile_transpose",
    "tile_join", "tile_split", "tile_cat", "tile_gather", "tile_item", "tile_reduce", "tile_scan",
    "tile_sort", "tile_histogram", "tile_dot", "tile_load", "tile_store", "tile_load_block",
    "tile_store_block", "tile_atomic", "tile_atomic_cas", "tile_print", "tile_stop_if",
))

# fmt: on
