"""Names of ops by family, and those that are legal at the stages that IR goes through.

``KERNEL`` is what frontends make. What a code generator takes is in the record of its backend. The
name ``CFG`` is reserved for a control-flow graph that a frontend for PTX would make.
"""

from __future__ import annotations

from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import math

MATH = frozenset(cls.name for cls in REGISTRY.values() if cls.__module__ == math.__name__)

ARITHMETIC = frozenset(cls.name for cls in REGISTRY.values() if cls.elementwise) - MATH
"""What a target does not emit of these, passes/legalise/expand_ops.py writes in others."""

# fmt: off
MEMORY = frozenset((
    "load", "store", "offset", "field_pointer", "recast", "address", "from_address", "global",
    "dynamic_shared", "local_array", "read", "write", "pack", "part",
))

ATOMIC = frozenset(("atomic", "atomic_cas"))

COOPERATIVE = frozenset(("grid_sync",))

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

REPORTS = frozenset(("report",))

CALLS = frozenset(("call",))

# fmt: on

COMMON = ARITHMETIC | MATH | MEMORY | ATOMIC | GRID | WARP | CONTROL
"""What every target has."""

KERNEL = COMMON | COOPERATIVE | COPIES | MATRIX | REPORTS | CALLS
"""What frontends make, and passes until the last one."""
