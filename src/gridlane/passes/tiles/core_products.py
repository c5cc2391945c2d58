"""Products by matrix instructions: sums in registers, factors in shared memory."""

from __future__ import annotations

import math
from dataclasses import replace

from gridlane.core.dtypes import DType, i8, u8, u32
from gridlane.ir.ops import tiles
from gridlane.ir.ops.matrix import DEPTHS
from gridlane.ir.ops.matrix_instructions import FACTORS
from gridlane.ir.ops.mma_memory import MmaLoad
from gridlane.ir.ops.products import COLUMNS, Mma
from gridlane.ir.types import FragmentType, PointerType, Role, pointer, tile
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.indices import (
    BitIndex,
    Bits,
    Coordinates,
    Index,
    log2,
    source,
    unflattened,
)
from gridlane.passes.tiles.layouts import LANE_BITS, Warps
from gridlane.passes.tiles.placement import Schedule
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import rounded, sum_type

_HIGH = 16
"""Rows of an instruction's sums."""

_UNROLLED = 8
"""Instructions along the inner extent that are written out; more are a loop."""


def dot_by_cores(state: State, op: tiles.TileDot, storage: Storage, schedule: Schedule) -> None:
    """Compute a product by ``mma``; all warps run it together."""
    held = in_registers(state, op.lhs)
    left = _Held(state, held, type_of(op.lhs).shape[-1]) if held else _Factor(state, op.lhs, Role.A)
    factors = left, _Factor(state, op.rhs, Role.B)
    shape, layout, b = storage.type.shape, schedule.layout, state.b
    type_ = sum_type(op)
    with state.together():
        totals: list[Var] = []
        for at in state.places(layout, shape):
            totals.append(b.variable("total", type_))
            b.write(totals[-1], b.cast(element(state, op.acc, at), type_))
        _sums(state, op, factors, schedule, totals)
        for register, total in enumerate(totals):
            at = unflattened(b, layout.at(register, state.thread), shape)
            state.write(storage, at, rounded(state, storage, b.read(total)))


class _Factor:
    """A factor in shared memory.

    Attributes:
        turned: it is the transpose of the stored tile.
    """

    def __init__(self, state: State, value: Value, role: Role) -> None:
        found = in_shared(state, value)
        if found is None or found[0].swizzle:  # as other products read it, by warpgroups
            found = staged(state, value), False
        self.state, self.role, (self.storage, self.turned) = state, role, found

    def registers(
        self, batch: Coordinates, line: Index, inner: Index, extent: int, depth: int
    ) -> tuple[Value, ...]:
        """The registers of ``extent`` rows of A or columns of B from ``line`` on, and ``depth``
        inner places; of several matrices, those of one."""
        state, storage, b = self.state, self.storage, self.state.b
        size = type_of_storage(storage).size
        is_left = self.role is Role.A
        shape = (extent, depth) if is_left else (depth, extent)
        element_type = type_of_storage(storage)
        held = u8 if element_type is i8 else element_type
        matrix = FragmentType(self.role, *shape, held)
        at = (line, inner) if is_left else (inner, line)
        if self.turned:
            at = (at[1], at[0])
        if storage.start is None:
            state.touch(storage.symbol)
        start = state.address(storage, (*batch, *at))
        if held is not element_type:
            assert isinstance(start.type, PointerType)
            start = b.recast(start, pointer(held, start.type.space))
        stride = b.const(storage.stride, u32)
        within = at[0] if storage.turned else at[1]
        aligned = storage.stride * size % 16 == 0 == _divisor(within) * size % 16
        by_columns = self.turned != storage.turned
        return b.emit(MmaLoad(start, stride, matrix, by_columns, aligned)).results


class _Held:
    """A left factor in registers."""

    def __init__(self, state: State, storage: Storage, depth: int) -> None:
        self.state, self.storage, self.depth = state, storage, depth

    def registers(
        self, batch: Coordinates, line: Index, inner: Index, extent: int, depth: int
    ) -> tuple[Value, ...]:
        """The registers of ``extent`` rows of this warp, and 16 inner places from a known one."""
        assert isinstance(inner, BitIndex) and not inner.parts and not batch
        words: list[Value] = []
        for row in range(extent // _HIGH):
            first = (row * self.depth + inner.constant) // 2
            words += words_of(self.state, self.storage, first)
        return tuple(words)


def _divisor(index: Index) -> int:
    """A power of two that divides an index."""
    if not isinstance(index, BitIndex):
        return 1
    known = [index.constant & -index.constant] if index.constant else []
    return min([1 << 12, *known, *[1 << part.at for part in index.parts]])


def type_of_storage(storage: Storage) -> DType:
    """The type of a stored tile's elements."""
    assert isinstance(storage.type.element, DType)
    return storage.type.element


def in_registers(state: State, value: Value) -> Storage | None:
    """The registers that hold a left factor (``following.left_layout``); None where none do."""
    stored = state.stored.get(value)
    if stored is None and value.op is not None:
        stored = state.variable_of(value.op)
    return stored if stored is not None and stored.pairs else None


def words_of(state: State, storage: Storage, first: int) -> tuple[Value, ...]:
    """The registers of 16 rows of A and 16 items of 16 bits, which are 8 elements from ``first``
    on of a thread: a word is two neighbours."""
    assert storage.pairs
    return tuple([state.b.read(var) for var in storage.registers[first // 2 : first // 2 + 4]])


def in_shared(state: State, value: Value) -> tuple[Storage, bool] | None:
    """The shared memory that holds a factor, and whether its transpose; None where none does."""
    inner, turned = factor_of(value)
    stored, op = state.stored.get(inner), inner.op
    if stored is None and op is not None:
        stored = state.variable_of(op)
    if stored is None or stored.own:
        return None
    shape = type_of(value).shape
    shape = (*shape[:-2], shape[-1], shape[-2]) if turned else shape
    if stored.type.shape != shape:  # of more axes in front
        stored = replace(stored, type=tile(shape, stored.type.element))
    return stored, turned


def staged(state: State, value: Value, swizzled: bool = False, along: bool = False) -> Storage:
    """A factor that is computed where it is needed, as a whole in shared memory; ``along``: whose
    lines there are its columns."""
    type_ = type_of(value)
    copy = state.allocate(
        tile(type_.shape, type_.element), False, state.b.loc, turned=along, swizzled=swizzled
    )
    with state.together(), state.elements(type_.shape) as at:
        state.write(copy, at, element(state, value, at))
    return copy


def warp_place(state: State, warps: Warps, batches: int = 1) -> tuple[BitIndex, BitIndex, BitIndex]:
    """The numbers of this warp's part down, across, and of batches."""
    across, down, parts = (log2(n) or 0 for n in (warps.across, warps.down, batches))
    whole = across + down + parts + LANE_BITS

    def bits(low: int, count: int) -> BitIndex:
        if not count:
            return BitIndex()
        return BitIndex(0, (Bits(state.thread, low, count, 0, low + count == whole),))

    places = (LANE_BITS + across, down), (LANE_BITS, across), (LANE_BITS + across + down, parts)
    first, second, third = (bits(low, count) for low, count in places)
    return first, second, third


def _sums(
    state: State,
    op: tiles.TileDot,
    factors: tuple[_Factor | _Held, _Factor],
    schedule: Schedule,
    totals: list[Var],
) -> None:
    """Add the products to the sums."""
    lhs, warps = type_of(op.lhs), schedule.warps
    assert isinstance(lhs.element, DType) and warps is not None
    step = DEPTHS[lhs.element]
    steps = lhs.shape[-1] // step
    rows, columns = lhs.shape[-2] // warps.down, type_of(op.rhs).shape[-1] // warps.across
    down, across, part = warp_place(state, warps, schedule.batches)
    own = math.prod(lhs.shape[:-2]) // schedule.batches
    each = len(totals) // own
    first_row = down.joined(BitIndex(), log2(rows) or 0)
    first_column = across.joined(BitIndex(), log2(columns) or 0)
    written = steps if isinstance(factors[0], _Held) else min(steps, _UNROLLED)
    assert steps % written == 0
    with state.counted(steps // written, "k") as counter:
        outer = source(counter, steps // written)
        for number in range(written):
            inner = outer.joined(BitIndex(number), log2(written) or 0)
            inner = inner.joined(BitIndex(), log2(step) or 0)
            for matrix in range(own):
                batch = (part.joined(BitIndex(matrix), log2(own) or 0),) * (len(lhs.shape) - 2)
                a = factors[0].registers(batch, first_row, inner, rows, step)
                c = factors[1].registers(batch, first_column, inner, columns, step)
                mine = totals[matrix * each : (matrix + 1) * each]
                _step(state, op, a, c, mine, rows // _HIGH, columns // COLUMNS)


def _step(
    state: State,
    op: tiles.TileDot,
    left: tuple[Value, ...],
    right: tuple[Value, ...],
    totals: list[Var],
    down: int,
    across: int,
) -> None:
    """One instruction for each place of the sums."""
    b = state.b
    lhs = type_of(op.lhs).element
    assert isinstance(lhs, DType)
    factor, step = FACTORS[lhs], DEPTHS[lhs]
    a, c = len(left) // down, len(right) // across
    for row in range(down):
        for column in range(across):
            first = 4 * (row * across + column)
            mine = totals[first : first + 4]
            made = b.emit(
                Mma(
                    _HIGH,
                    step,
                    factor,
                    factor,
                    False,
                    left[a * row : a * (row + 1)],
                    right[c * column : c * (column + 1)],
                    tuple([b.read(total) for total in mine]),
                )
            )
            for total, value in zip(mine, made.results, strict=True):
                b.write(total, value)
