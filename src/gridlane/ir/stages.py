"""The ops that are legal at each stage of IR, by name.

Frontends make ``KERNEL``; or ``CFG``, which ``passes/structure/structurize.py`` turns into
``KERNEL``; or ``TILE``, programs over whole tiles. The ops that a code generator emits are in the
record of its backend. ``ir/families.py`` has the families.
"""

from __future__ import annotations

from gridlane.ir.families import (
    ATOMIC,
    CALLS,
    CHECKS,
    CLUSTERS,
    CONTROL,
    COOPERATIVE,
    COPIES,
    EXITS,
    GRAPH,
    GRID,
    MACHINE,
    MATRIX,
    MBARRIERS,
    MEMORY,
    MEMORY_PRODUCTS,
    PAIRS,
    PARTS,
    PRODUCTS,
    REPORTS,
    TENSORS,
    TILES,
    WARP,
    WARPGROUPS,
)
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import math

MATH = frozenset(cls.name for cls in REGISTRY.values() if cls.__module__ == math.__name__)

ARITHMETIC = frozenset(cls.name for cls in REGISTRY.values() if cls.elementwise) - MATH
"""passes/legalise/expand_ops.py expands those of these that a target does not emit."""

COMMON = ARITHMETIC | MATH | MEMORY | ATOMIC | GRID | WARP | CONTROL
"""Ops that every target emits."""

KERNEL = COMMON.union(
    PARTS,
    MACHINE,
    PRODUCTS,
    MEMORY_PRODUCTS,
    COOPERATIVE,
    CLUSTERS,
    COPIES,
    MATRIX,
    REPORTS,
    CALLS,
    EXITS,
    PAIRS,
    CHECKS,
    WARPGROUPS,
    MBARRIERS,
    TENSORS,
)
"""Ops that frontends make, and all passes but the last."""

CFG = KERNEL | GRAPH
"""Ops that frontends make whose input is a control-flow graph."""

TILE = KERNEL | TILES
"""Ops that frontends make where a block is one thread of control over whole tiles."""

FIRST = CFG | TILE
"""Ops that some frontend makes."""
