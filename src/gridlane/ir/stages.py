"""Names of ops by family, and the ops that are legal at each stage of IR.

Frontends make ``KERNEL``, or ``CFG``, which ``passes/structure/structurize.py`` turns into
``KERNEL``. The ops that a code generator emits are in the record of its backend.
"""

from __future__ import annotations

from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import math

MATH = frozenset(cls.name for cls in REGISTRY.values() if cls.__module__ == math.__name__)

ARITHMETIC = frozenset(cls.name for cls in REGISTRY.values() if cls.elementwise) - MATH
"""passes/legalise/expand_ops.py expands those of these that a target does not emit."""

# fmt: off
MEMORY = frozenset((
    "load", "store", "offset", "field_pointer", "recast", "address", "from_address", "global",
    "dynamic_shared", "local_array", "read", "write", "pack", "part",
))

ATOMIC = frozenset(("atomic", "atomic_cas"))

COOPERATIVE = frozenset(("grid_sync",))

PARTS = frozenset(("barrier_part", "barrier_arrive"))

PRODUCTS = frozenset(("mma",))

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

REPORTS = frozenset(("report",))

CALLS = frozenset(("call",))

EXITS = frozenset(("exit",))

GRAPH = frozenset(("graph", "block", "branch", "branch_if", "switch"))

# fmt: on

COMMON = ARITHMETIC | MATH | MEMORY | ATOMIC | GRID | WARP | CONTROL
"""Ops that every target emits."""

KERNEL = (
    COMMON | PARTS | MACHINE | PRODUCTS | COOPERATIVE | COPIES | MATRIX | REPORTS | CALLS | EXITS
)
"""Ops that frontends make, and all passes but the last."""

CFG = KERNEL | GRAPH
"""Ops that frontends make whose input is a control-flow graph."""
