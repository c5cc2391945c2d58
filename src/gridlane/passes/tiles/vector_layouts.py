"""Layouts of elements that follow no product: each thread has neighbours in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gridlane.ir.op import Op
from gridlane.ir.ops import memory, tile_memory
from gridlane.ir.types import TileType
from gridlane.ir.values import Value
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.layouts import Layout
from gridlane.passes.tiles.placement import Placement
from gridlane.passes.tiles.widths import width_of


def vector_layout(placement: Placement, known: Contiguity, roots: list[Op]) -> Layout | None:
    """A layout whose threads have neighbours along the last axis, as many as the widest access of
    some ops takes at once; None where all are of single elements, or threads would have too
    many."""
    shapes = {shape_of(root) for root in roots}
    if len({math.prod(shape) for shape in shapes}) != 1 or () in shapes:
        return None
    count = math.prod(next(iter(shapes)))
    own = count // placement.threads
    if log2(count) is None or not 1 < own <= placement.machine.sums:
        return None
    widths = [1]
    for root in roots:
        for op in _accesses(placement, root):
            axis = len(shape_of(op)) - 1
            widths.append(width_of(known, op, axis))
    width = min(max(widths), own)
    if width < 2 or any(shape[-1] < width for shape in shapes):
        return None
    bits, low, high = log2(count) or 0, log2(width) or 0, log2(placement.threads) or 0
    steps = [1 << bit for bit in range(bits)]
    return Layout((*steps[:low], *steps[low + high :]), tuple(steps[low : low + high]), bits)


def shape_of(root: Op) -> tuple[int, ...]:
    """The shape of the tile whose elements an op computes."""
    if isinstance(root, memory.WriteVar | memory.ReadVar):
        return root.var.type.shape if isinstance(root.var.type, TileType) else ()
    types = [value.type for value in root.operands()]
    return next((type_.shape for type_ in types if isinstance(type_, TileType)), ())


def _accesses(placement: Placement, root: Op) -> Iterator[Op]:
    """The loads and the store of the elements that an op computes."""
    if isinstance(root, tile_memory.TileStore | tile_memory.TileLoad):
        yield root
    waiting, seen = [*root.operands()], set[Value]()
    while waiting:
        value = waiting.pop()
        if value in seen or value in placement.stored or value.op is None:
            continue
        seen.add(value)
        if isinstance(value.op, tile_memory.TileLoad):
            yield value.op
        if isinstance(value.type, TileType):
            waiting += value.op.operands()
