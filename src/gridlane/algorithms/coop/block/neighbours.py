"""Functions of neighbouring items of a block: differences, and flags of where items change."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from gridlane import cuda
from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import Group, block_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.operators import combining, comparing
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


class BlockAdjacentDifferenceType(IntEnum):
    """Of which neighbour the difference is: the one in front or the one behind."""

    SubtractLeft = auto()
    SubtractRight = auto()


class BlockDiscontinuityType(IntEnum):
    """Which items have flags: the first of each run, the last, or both."""

    HEADS = auto()
    TAILS = auto()
    HEADS_AND_TAILS = auto()


def _edges(group: Group, element: Element) -> Dispatcher:
    """The device function ``(memory, values, ins)`` that copies a thread's items to ``ins[1:-1]``
    and its neighbours' next to them: that of the first thread, or the last, is undefined."""
    get, put, items = element.get, element.put, group.items
    section = group.section(element, count=2 * group.threads)
    locate, sync = group.place, group.sync

    @jit(device=True)
    def edges(memory, values, ins):
        tile = section(memory)
        t, threads, mask = locate()
        put(tile, t, get(values, 0))
        put(tile, threads + t, get(values, items - 1))
        sync(mask)
        for e in range(items):
            put(ins, e + 1, get(values, e))
        put(ins, 0, get(tile, threads + t - 1))
        put(ins, items + 1, get(tile, t + 1))
        sync(mask)

    return edges


def make_adjacent_difference(
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int = 1,
    difference_op: Any = None,
    block_adjacent_difference_type: Any = BlockAdjacentDifferenceType.SubtractLeft,
    methods: Any = None,
    valid_items: Any = None,
    tile_predecessor_item: Any = None,
    tile_successor_item: Any = None,
) -> Invocable:
    """Combine each of a block's items with a neighbour: ``op(item, neighbour)``.

    The result has the call ``(items, outputs)``, which may be one array. The item without a
    neighbour is its own output.

    Args:
        dtype: the type of the items.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: items of each thread in a row.
        difference_op: a function; the difference by default.
        block_adjacent_difference_type: the neighbour in front, or that behind.
        methods: accepted; values of a program's types need none.
        valid_items: anything but None: calls have the number of valid items behind the arrays.
            Others are their own outputs.
        tile_predecessor_item, tile_successor_item: anything but None: calls end with the item in
            front of the block's first one, or behind its last.

    Raises:
        ValueError: a number, a kind, or an argument that the kind does not have.
    """
    kind = _kind(block_adjacent_difference_type, BlockAdjacentDifferenceType)
    is_left = kind is BlockAdjacentDifferenceType.SubtractLeft
    other = tile_successor_item if is_left else tile_predecessor_item
    if other is not None:
        name = "tile_successor_item" if is_left else "tile_predecessor_item"
        raise ValueError(f"{name} is not valid for {kind.name}")
    group = block_group(threads_per_block, items_per_thread)
    element = element_of(normalize_dtype_param(dtype))
    op = combining((lambda a, b: a - b) if difference_op is None else difference_op, element, "op")
    get, put, items, dtype = element.get, element.put, group.items, element.dtype
    edges, locate, most = _edges(group, element), group.place, group.count
    has_count = valid_items is not None
    has_edge = (tile_predecessor_item if is_left else tile_successor_item) is not None

    @jit(device=True)
    def adjacent_difference(memory, values, outputs, *rest):
        ins = cuda.local.array(items + 2, dtype)
        edges(memory, values, ins)
        t, _, _ = locate()
        valid = min(most, rest[0]) if has_count else most
        for e in range(items):
            i = t * items + e
            item = get(ins, e + 1)
            has_other = i > 0 if is_left else i < valid - 1
            if i < valid and has_other:
                put(outputs, e, op(item, get(ins, e if is_left else e + 2)))
            elif has_edge and i == (0 if is_left else valid - 1):
                put(outputs, e, op(item, element_cast(rest[-1])))
            else:
                put(outputs, e, item)

    element_cast = element.cast
    return with_memory(adjacent_difference, 2, 2 * group.threads * element.size)


def make_discontinuity(
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int = 1,
    flag_op: Any = None,
    block_discontinuity_type: Any = BlockDiscontinuityType.HEADS,
    flag_dtype: Any = None,
    methods: Any = None,
    tile_predecessor_item: Any = None,
    tile_successor_item: Any = None,
) -> Invocable:
    """Flag where a block's items change: ``flag_op(item, next_item)``.

    The result has the call ``(flags, items)``, or for heads and tails ``(head_flags, tail_flags,
    items)``. The block's first item is a head, its last a tail, if a call has no item next to it.

    Args:
        dtype: the type of the items.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: items of each thread in a row.
        flag_op: whether two neighbours differ.
        block_discontinuity_type: which items have flags.
        flag_dtype: accepted; flags have the type of their array.
        methods: accepted; values of a program's types need none.
        tile_predecessor_item, tile_successor_item: anything but None: calls have the item in front
            of the block, or behind it. It is the last argument, or with heads and tails that
            behind the flags which it is for.

    Raises:
        ValueError: a number, a kind, or an argument that the kind does not have.
    """
    kind = _kind(block_discontinuity_type, BlockDiscontinuityType)
    if flag_op is None:
        raise ValueError("flag_op must be provided for block discontinuity")
    before, after = tile_predecessor_item is not None, tile_successor_item is not None
    if kind is BlockDiscontinuityType.HEADS and after:
        raise ValueError("tile_successor_item is not valid for HEADS")
    if kind is BlockDiscontinuityType.TAILS and before:
        raise ValueError("tile_predecessor_item is not valid for TAILS")
    group = block_group(threads_per_block, items_per_thread)
    element = element_of(normalize_dtype_param(dtype))
    heads, tails = (
        _flagging(group, element, flag_op, True),
        _flagging(group, element, flag_op, False),
    )
    edges, width, item_type = _edges(group, element), group.items + 2, element.dtype

    @jit(device=True)
    def discontinuity(memory, *arguments):
        ins = cuda.local.array(width, item_type)
        if kind == BlockDiscontinuityType.HEADS:
            edges(memory, arguments[1], ins)
            heads(arguments[0], ins, arguments[2:])
        elif kind == BlockDiscontinuityType.TAILS:
            edges(memory, arguments[1], ins)
            tails(arguments[0], ins, arguments[2:])
        else:
            edges(memory, arguments[-1], ins)
            heads(arguments[0], ins, arguments[1:2] if before else ())
            second = 2 if before else 1
            tails(arguments[second], ins, arguments[second + 1 : second + 2] if after else ())

    both = kind is BlockDiscontinuityType.HEADS_AND_TAILS
    arrays = 1 if both and before else 2 if after or not both else 3
    return with_memory(discontinuity, arrays, 2 * group.threads * element.size)


def _flagging(group: Group, element: Element, op: Any, is_head: bool) -> Dispatcher:
    """The device function ``(flags, ins, edge)``, of items between their neighbours, and the item
    next to the block, if there is one."""
    differs, items, get, cast = (
        comparing(op, element, "flag_op"),
        group.items,
        element.get,
        element.cast,
    )
    locate = group.place

    @jit(device=True)
    def flag(flags, ins, edge):
        t, threads, _ = locate()
        for e in range(items):
            low = e if is_head else e + 1
            is_edge = t == 0 and e == 0 if is_head else t == threads - 1 and e == items - 1
            if not is_edge:
                flags[e] = bool(differs(get(ins, low), get(ins, low + 1)))
            elif len(edge) == 0:
                flags[e] = True
            elif is_head:
                flags[e] = bool(differs(cast(edge[0]), get(ins, 1)))
            else:
                flags[e] = bool(differs(get(ins, items), cast(edge[0])))

    return flag


def _kind(value: Any, kinds: Any) -> Any:
    if value not in list(kinds):
        raise ValueError(f"{value!r} is no {kinds.__name__}")
    return kinds(value)
