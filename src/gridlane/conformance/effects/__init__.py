"""Cases of the ops with effects: memory, atomics, grid, warp, control flow."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.atomics import atomics
from gridlane.conformance.effects.clusters import of_clusters
from gridlane.conformance.effects.control import branches, calls, ends
from gridlane.conformance.effects.making import case, out
from gridlane.conformance.effects.matrices import registers
from gridlane.conformance.effects.mbarriers import mbarriers_of_a_block
from gridlane.conformance.effects.memory import (
    addresses,
    arrays_of_the_kernel,
    loads_and_stores,
    variables_and_parts,
)
from gridlane.conformance.effects.memory_products import memory_products
from gridlane.conformance.effects.scopes import scopes
from gridlane.conformance.effects.tensors import copies_of_boxes
from gridlane.conformance.effects.threads import asynchronous, barriers, grids, queries
from gridlane.conformance.effects.tiles import tiles
from gridlane.conformance.effects.warpgroups import orders
from gridlane.conformance.effects.warpgroups import products as products_of_warpgroups
from gridlane.conformance.effects.warps import (
    in_step,
    matches,
    products,
    reductions,
    shuffles,
    votes,
)

FAMILIES = (
    loads_and_stores, addresses, arrays_of_the_kernel, variables_and_parts, atomics, queries,
    barriers, grids, of_clusters, asynchronous, shuffles, votes, matches, reductions, in_step,
    products, registers, memory_products, products_of_warpgroups, orders, mbarriers_of_a_block,
    copies_of_boxes, branches, scopes, ends, calls, tiles,
)  # fmt: skip


def effects() -> Iterator[Case]:
    """Cases of everything but arithmetic."""
    for family in FAMILIES:
        yield from family()


__all__ = ["atomics", "case", "effects", "loads_and_stores", "out"]
