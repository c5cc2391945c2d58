"""Layouts that follow from those of others: of rows and columns that products and reductions share,
and of left factors that matrix instructions take from registers.

A tile, a variable or an op without a layout has the one that all that need it agree on: where an op
computes an element, what it needs lies in the same thread. Along a broadcast axis all threads hold
one element each, so such a layout may hold an element in several threads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gridlane.ir.op import Op
from gridlane.ir.ops import memory, tile_memory, tiles
from gridlane.ir.types import TileType
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.layouts import Layout, core_layout, group_layout
from gridlane.passes.tiles.links import Links
from gridlane.passes.tiles.placement import COMPUTED, LOADS, ROOTS, Placement

MOST = 16
"""The registers of elements that several threads hold."""

_JOINED = (
    memory.WriteVar,
    memory.ReadVar,
    tiles.TileMap,
    tile_memory.TileStore,
    tile_memory.TileStoreBlock,
    *LOADS,
)
"""Ops that compute their elements in any layout."""

Item = Value | Var
"""A tile that is stored, or a variable of tiles."""


def follow(placement: Placement) -> None:
    """Note the layouts that follow, until there are no more; what has one is in registers."""
    while _followed(placement):
        pass
    for op in placement.products:
        assert isinstance(op, tiles.TileDot)
        read, item = op.lhs.op, op.lhs
        if isinstance(read, memory.ReadVar) and op.lhs not in placement.stored:
            item = read.var
        if item in placement.layouts and placement.layouts[item] == left_layout(placement, op):
            placement.paired.add(item)


def _followed(placement: Placement) -> bool:
    needs, links = _needs(placement)
    changed = False
    for members in links.sets():
        items = [each for each in members if isinstance(each, Item)]
        layouts = {layout for each in items for layout in needs[each]}
        layout = layouts.pop() if len(layouts) == 1 else None
        if layout is None or not all(_takes(placement, members, each, layout) for each in members):
            continue
        changed = True
        placement.layouts.update(dict.fromkeys(members, layout))
        for each in items:
            if isinstance(each, Var):
                placement.variables[each] = True
            else:
                placement.stored[each] = True
                placement.padded.pop(each, None)
                placement.swizzled.discard(each)
    return changed


def _needs(placement: Placement) -> tuple[dict[Item, set[Layout | None]], Links]:
    """The layouts that items without one are needed in and have; None where that is no layout. Also
    the items and ops that have one layout together."""
    needs: dict[Item, set[Layout | None]] = defaultdict(set)
    links = Links()

    def need(item: Item, layout: Layout | None) -> None:
        links.set_of(item)
        needs[item].add(layout)

    for op in placement.order.ops:
        kept = [value for value in op.results if value in placement.stored]
        if not kept and not isinstance(op, ROOTS):
            continue
        for value in kept:
            made = _made(placement, op)
            if value in placement.layouts:
                continue
            if made is _SAME:
                links.join(op, value)
            else:
                need(value, made)
        if isinstance(op, memory.WriteVar) and _is_open(placement, op.var):
            if op in placement.layouts:
                need(op.var, placement.layouts[op])
            else:
                links.join(op, op.var)
        for item, needed in _items(placement, op, _layout_of(placement, op)):
            if not _is_open(placement, item):
                continue
            if needed is _SAME:
                links.join(op, item)
            else:
                need(item, needed)
    return needs, links


def _layout_of(placement: Placement, op: Op) -> Layout | None:
    """The layout that an op computes elements in."""
    layout = placement.layouts.get(op)
    if layout is not None and not _is_alone(placement, op):
        return layout
    return _SAME if isinstance(op, _JOINED) else None


def _items(
    placement: Placement, op: Op, layout: Layout | None
) -> Iterator[tuple[Item, Layout | None]]:
    """The stored tiles and variables that an op computes elements of, and the layouts that it needs
    them in."""
    if isinstance(op, memory.ReadVar):
        yield op.var, layout
    elif isinstance(op, tiles.TileDot):
        schedule = placement.products.get(op)
        yield from _leaves(placement, op.lhs, left_layout(placement, op))
        yield from _leaves(placement, op.rhs, None)
        yield from _leaves(placement, op.acc, schedule.layout if schedule is not None else None)
    else:
        for operand in op.operands():
            yield from _leaves(placement, operand, layout)


def _is_alone(placement: Placement, op: Op) -> bool:
    """Whether a store has a layout for its own sake, as nothing else is in it."""
    if not isinstance(op, tile_memory.TileStore):
        return False
    needed = [item for value in op.operands() for item, _ in _leaves(placement, value, None)]
    return not any(item in placement.layouts for item in needed)


def _is_open(placement: Placement, item: Item) -> bool:
    return isinstance(item.type, TileType) and item not in placement.layouts


def _made(placement: Placement, op: Op) -> Layout | None:
    """The layout that an op makes its results in."""
    layout = placement.layouts.get(op)
    if isinstance(op, tiles.TileReduce) and layout is not None:
        shape = tiles.tile_of(op, op.arguments[0]).shape
        return _projected(layout, shape, (*shape[: op.axis], 1, *shape[op.axis + 1 :]))
    if layout is not None and not isinstance(op, COMPUTED):
        return layout
    return _SAME if isinstance(op, _JOINED) else None


_SAME = Layout((), (), -1)
"""The layout of the op that needs an element, which has none yet."""


def left_layout(placement: Placement, op: tiles.TileDot) -> Layout | None:
    """The layout of a left factor in registers: the sums of an instruction for two times 8 columns
    lie as a left factor of 16 bits. None where the instructions read it from shared memory."""
    schedule, lhs = placement.products.get(op), tiles.tile_of(op, op.lhs)
    if placement.machine.opaque:
        return None
    if op.lhs not in placement.stored and not isinstance(op.lhs.op, memory.ReadVar):
        return None
    if schedule is None or log2(lhs.shape[-1]) is None or getattr(lhs.element, "size", 0) != 2:
        return None
    if len(lhs.shape) != 2:
        return None
    rows, depth = lhs.shape
    if schedule.groups is not None:
        return group_layout(rows, depth, schedule.groups) if schedule.groups.across == 1 else None
    if schedule.warps is not None and schedule.warps.across == 1:
        return core_layout(rows, depth, schedule.warps)
    return None


def _leaves(
    placement: Placement, value: Value, layout: Layout | None
) -> Iterator[tuple[Item, Layout | None]]:
    """The stored tiles and variables that an element of a tile is computed of, and the layouts they
    are needed in."""
    waiting, seen = [(value, layout)], set[tuple[Value, Layout | None]]()
    while waiting:
        each = value, layout = waiting.pop()
        if each in seen or not isinstance(value.type, TileType):
            continue
        seen.add(each)
        op = value.op
        if value in placement.stored or op is None:
            yield value, layout
        elif isinstance(op, memory.ReadVar):
            yield op.var, layout
        else:
            waiting += [(operand, _through(op, layout)) for operand in op.operands()]


def _through(op: Op, layout: Layout | None) -> Layout | None:
    """The layout that operands are needed in, if the result is in a layout."""
    if layout is None or isinstance(op, tiles.TileMap | tiles.TileReshape | LOADS[0] | LOADS[1]):
        return layout
    if isinstance(op, tiles.TileBroadcast):
        source = op.source.type
        assert isinstance(source, TileType)
        if layout is _SAME:
            return _SAME if source.count == op.type.count else None
        return _projected(layout, op.type.shape, source.shape)
    return None


def _projected(layout: Layout, shape: tuple[int, ...], source: tuple[int, ...]) -> Layout | None:
    """The layout of what an axis of ``shape`` repeats, of which ``source`` has extent 1."""
    places: list[int] = []
    number = 0
    for extent, own in zip(reversed(shape), reversed(source), strict=True):
        for _ in range(log2(extent) or 0):
            places.append(0 if own != extent else 1 << number)
            number += own == extent
    if log2(number) is None and any(log2(extent) is None for extent in shape):
        return None

    def moved(step: int) -> int:
        return places[step.bit_length() - 1] if step else 0

    registers = [moved(step) for step in layout.registers]
    threads = [moved(step) for step in layout.threads]
    return Layout(tuple(filter(None, registers)), tuple(threads), number)


def _takes(placement: Placement, members: set[object], item: object, layout: Layout) -> bool:
    """Whether a tile, a variable or an op of a set may have a layout."""
    if not layout.is_sole() and layout.count > MOST:
        return False
    if isinstance(item, Item):
        return isinstance(item.type, TileType) and item.type.count == 1 << layout.bits
    assert isinstance(item, Op)
    if not isinstance(item, _JOINED) or (layout.is_sole() and _loads(placement, item)):
        return False
    return all(
        _is_readable(placement, members, leaf, needed)
        for leaf, needed in _items(placement, item, layout)
    )


def _is_readable(
    placement: Placement, members: set[object], item: Item, layout: Layout | None
) -> bool:
    """Whether a thread has the elements of a tile or a variable that it needs in a layout."""
    if item in placement.layouts or item in members:
        return placement.layouts.get(item, layout) == layout and layout is not None
    own = placement.variables[item] if isinstance(item, Var) else placement.stored[item]
    return not own


def _loads(placement: Placement, op: Op) -> bool:
    """Whether the elements that an op computes are loaded for it."""
    if isinstance(op, LOADS):
        return True
    waiting, seen = [*op.operands()], set[Value]()
    while waiting:
        value = waiting.pop()
        if value in seen or value in placement.stored or value.op is None:
            continue
        seen.add(value)
        if isinstance(value.op, LOADS):
            return True
        waiting += [each for each in value.op.operands() if isinstance(each.type, TileType)]
    return False
