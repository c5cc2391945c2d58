"""Products by warpgroups: sums in registers, factors in shared memory in the patterns that
``warpgroup_mma`` reads (``ir.ops.shared_matrix``)."""

from __future__ import annotations

from dataclasses import replace

from gridlane.core.dtypes import b1, u8, u64
from gridlane.core.frozen import frozen
from gridlane.ir.ops import tiles
from gridlane.ir.ops.matrix_instructions import FACTORS
from gridlane.ir.ops.products import Factor
from gridlane.ir.ops.shared_matrix import layout_of
from gridlane.ir.ops.warpgroups import (
    ROWS,
    WarpgroupCommit,
    WarpgroupFence,
    WarpgroupMma,
    WarpgroupWait,
    depth_of,
)
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Value
from gridlane.passes.tiles import waits
from gridlane.passes.tiles.core_products import (
    in_registers,
    in_shared,
    staged,
    type_of_storage,
    words_of,
)
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import BitIndex, Bits, Coordinates, log2, unflattened
from gridlane.passes.tiles.layouts import LANE_BITS
from gridlane.passes.tiles.placement import Schedule
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import in_place, rounded, sum_type
from gridlane.passes.tiles.turns import TurnCode

_GROUP_BITS = LANE_BITS + 2


def dot_by_groups(state: State, op: tiles.TileDot, storage: Storage, schedule: Schedule) -> None:
    """Compute a product by ``warpgroup_mma``, with one before that waits for it; all warpgroups
    run it together."""
    if _is_joint(state, op):
        return
    first = next((each for each, other in state.joint.items() if other is op), None)
    ops = [first, op] if isinstance(first, tiles.TileDot) and _is_joint(state, first) else [op]
    left = in_registers(state, op.lhs) or _matrix(state, op.lhs, is_left=True)
    rights = [_matrix(state, each.rhs, is_left=False) for each in ops]
    right = replace(rights[0], lines=sum(each.lines for each in rights))
    b, type_ = state.b, sum_type(op)
    with state.together():
        cells = _cells(state, ops, storage)
        sums = [b.cast(element(state, each.acc, at), type_) for each, _, at in cells]
        for each in (left, right):
            if isinstance(each, _Matrix) and each.storage.start is None:
                state.touch(each.storage.symbol)
        words = _words(state, left, schedule, right.depth) if isinstance(left, Storage) else {}
        sums = _sums(state, op, (left, right), words, schedule, sums)
        late = waits.is_late(state, op, storage)
        if not late:
            wait = WarpgroupWait(int(op in state.flights), state.is_alone(), tuple(sums))
            sums = b.emit(wait).results
        for (_, target, at), total in zip(cells, sums, strict=True):
            state.write(target, at, rounded(state, target, total))
    if late:
        waits.start(state, op, storage, [word for each in words.values() for word in each])


def _is_joint(state: State, op: tiles.TileDot) -> bool:
    """Whether a product is computed by the instructions of the next one. Nothing reads its sums
    where both are in flight."""
    other = state.joint.get(op)
    return other is not None and {op, other} <= state.flights


def _cells(
    state: State, ops: list[tiles.TileDot], storage: Storage
) -> list[tuple[tiles.TileDot, Storage, Coordinates]]:
    """The sums of products in the order of instructions, which have the columns of all: the product
    of each, its memory, and its place there."""
    lists: list[list[tuple[tiles.TileDot, Storage, Coordinates]]] = []
    for each in ops:
        schedule, target = state.placement.products[each], storage
        if each is not ops[-1]:
            target = in_place(state, each)
            assert target is not None  # as it is in flight
        groups, layout, shape = schedule.groups, schedule.layout, target.type.shape
        assert groups is not None
        count = layout.count * ROWS * groups.down // shape[0]
        for register in range(layout.count):
            at = unflattened(state.b, layout.at(register, state.thread), shape)
            if register // count == len(lists):
                lists.append([])
            lists[register // count].append((each, target, at))
    return [cell for cells in lists for cell in cells]


@frozen
class _Matrix:
    """A factor in shared memory.

    Attributes:
        across: consecutive items are those of several lines.
        lines: of the whole factor: rows of A or columns of B.
        depth: items of a line.
    """

    storage: Storage
    across: bool
    lines: int
    depth: int

    @property
    def layout(self) -> int:
        """The layout of ``ir.ops.shared_matrix``."""
        swizzle = self.storage.swizzle
        leading = self.depth * swizzle if self.across else 16
        return layout_of(leading, 8 * swizzle, swizzle)

    def start(self, state: State, line: BitIndex, item: int) -> Value:
        """The address of an item, of which the pattern of 16 bytes begins anew."""
        b, storage = state.b, self.storage
        first = b.recast(state.pointer_to(storage.symbol), pointer(u8, Space.SHARED))
        size, swizzle = type_of_storage(storage).size, storage.swizzle
        if storage.start is not None:
            first = b.offset(first, b.mul(storage.start, b.const(size, storage.start.type)))
        if self.across:
            step, known = size * self.depth, item * swizzle
        else:
            step = swizzle
            panel, inside = divmod(item * size, swizzle)
            known = panel * self.lines * swizzle + inside
        known += line.constant * step
        moved = BitIndex(0, line.parts).value(b)
        first = b.offset(first, b.mul(moved, b.const(step, moved.type)))
        return b.offset(first, b.const(known, moved.type)) if known else first


def _matrix(state: State, value: Value, is_left: bool) -> _Matrix:
    """A factor in panels; one that lies otherwise is copied."""
    found = in_shared(state, value)
    storage, turned = found or (None, False)
    if storage is None or not storage.swizzle:
        along = not is_left and type_of(value).element.size != 2  # type: ignore[union-attr]  # a scalar
        storage, turned = staged(state, value, swizzled=True, along=along), False
    shape = type_of(value).shape[::-1] if is_left else type_of(value).shape
    items_are_last = is_left != turned
    across = items_are_last == storage.turned
    return _Matrix(storage, across, shape[1], shape[0])


def _sums(
    state: State,
    op: tiles.TileDot,
    factors: tuple[_Matrix | Storage, _Matrix],
    words: dict[tuple[int, int], tuple[Value, ...]],
    schedule: Schedule,
    sums: list[Value],
) -> list[Value]:
    """Start the products that are added to the sums."""
    b, groups = state.b, schedule.groups
    assert groups is not None
    (left, right), kinds = factors, _factors_of(state, op)
    rows, columns = type_of(op.lhs).shape[0] // groups.down, right.lines // groups.across
    across, down = log2(groups.across) or 0, log2(groups.down) or 0
    whole = _GROUP_BITS + across + down
    row = _bits(state, _GROUP_BITS + across, down, whole).joined(BitIndex(), log2(rows) or 0)
    column = _bits(state, _GROUP_BITS, across, whole).joined(BitIndex(), log2(columns) or 0)
    layout, true, in_block = b.const(right.layout, u64), b.const(True, b1), columns // 2
    if state.turns.has_first(op):
        TurnCode(b, state.thread).begin()
    b.emit(WarpgroupFence())
    for item in range(0, right.depth, depth_of(kinds[0])):
        second = right.start(state, column, item)
        for block in range(rows // ROWS):
            line, mine = block * ROWS, slice(block * in_block, (block + 1) * in_block)
            if isinstance(left, Storage):
                first, is_across = words[line, item], False
            else:
                place = left.start(state, BitIndex(row.constant + line, row.parts), item)
                first, is_across = (place, b.const(left.layout, u64)), left.across
            sums[mine] = b.emit(
                WarpgroupMma(
                    columns, *kinds, False, False, is_across, right.across, False,
                    first, second, layout, true, tuple(sums[mine]),
                )
            ).results  # fmt: skip
    b.emit(WarpgroupCommit())
    if not state.turns.has_first(op):
        _end_turn(state, op)
    return sums


def _end_turn(state: State, op: tiles.TileDot) -> None:
    """Behind the last product of a turn: begin the next warpgroup's, and emit what waits for it."""
    if state.turns.has_last(op):
        TurnCode(state.b, state.thread).end()
    late, state.late = state.late, None
    if late is not None:
        late()


def _words(
    state: State, left: Storage, schedule: Schedule, depth: int
) -> dict[tuple[int, int], tuple[Value, ...]]:
    """The registers of a left factor, by the row and the item."""
    assert schedule.groups is not None
    step, rows = depth_of(Factor.F16), left.type.shape[0] // schedule.groups.down
    return {
        (line, item): words_of(state, left, (line // ROWS * depth + item) // 2)
        for line in range(0, rows, ROWS)
        for item in range(0, depth, step)
    }


def _factors_of(state: State, op: tiles.TileDot) -> tuple[Factor, Factor]:
    floats = state.placement.byte_floats.get(op)
    if floats is not None:
        return floats.left, floats.right
    kind = FACTORS[type_of(op.lhs).element]  # type: ignore[index]  # a scalar
    return kind, kind


def _bits(state: State, low: int, count: int, whole: int) -> BitIndex:
    """Bits of this thread's number."""
    if not count:
        return BitIndex()
    return BitIndex(0, (Bits(state.thread, low, count, 0, low + count == whole),))
