"""Products without matrix instructions: each thread has some rows by some columns of the sums in
registers, and reads the factors by vectors where they lie so in shared memory."""

from __future__ import annotations

from gridlane.core.dtypes import DType, u32, u64
from gridlane.ir.ops import memory, tiles
from gridlane.ir.types import vector
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.core_products import in_shared
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.indices import (
    BitIndex,
    Coordinates,
    Index,
    log2,
    source,
    swapped,
    unflattened,
)
from gridlane.passes.tiles.layouts import Layout
from gridlane.passes.tiles.placement import LOADS, Placement
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import add_product, part, rounded, sum_type
from gridlane.passes.tiles.widths import BYTES, chunks_of

_UNROLLED = 1024
"""Products of a thread that are written out; more are a loop."""

_WORDS = {4: u32, 8: u64}
"""The types of a vector's elements, by the bytes of a factor's."""


Elements = dict[Coordinates, Value]
"""The elements of one place of the inner axis, by rows or columns."""


def neighbours(
    placement: Placement, op: tiles.TileDot, known: Contiguity | None
) -> tuple[int, int]:
    """How many neighbouring rows and columns a thread should have, so that it reads them as one
    vector: those of factors whose lines in shared memory are along them."""
    if known is None or not placement.machine.factors:
        return 1, 1
    return _neighbours(op.lhs, 0, known), _neighbours(op.rhs, 1, known)


def _neighbours(factor: Value, axis: int, known: Contiguity) -> int:
    """The neighbours along an axis of a factor; 1 where its lines are along the other one."""
    value, turned = factor_of(factor)
    size = _size(factor)
    if not isinstance(value.op, LOADS) or size not in _WORDS:
        return 1
    chunks = chunks_of(known, value.op)
    along = chunks is not None and chunks.axis == (1 - axis if turned else axis)
    return BYTES // size if along else 1


def dot_by_blocks(state: State, op: tiles.TileDot, storage: Storage, layout: Layout) -> None:
    """Compute a product: an element of a factor is read once for all sums of a thread."""
    b, type_, depth = state.b, sum_type(op), type_of(op.lhs).shape[-1]
    places = [
        unflattened(b, layout.at(register, state.thread), storage.type.shape)
        for register in range(layout.count)
    ]
    rows = [*dict.fromkeys(at[:-1] for at in places)]
    columns = [*dict.fromkeys((*at[:-2], at[-1]) for at in places)]
    left, right = _Factor(state, op, rows, True), _Factor(state, op, columns, False)
    step = max(left.depth, right.depth)
    written = _written(depth // step, step * layout.count) if left.wide or right.wide else 1
    with state.together():
        totals: list[Var] = []
        for at in places:
            totals.append(b.variable("total", type_))
            b.write(totals[-1], b.cast(element(state, op.acc, at), type_))
        with state.counted(depth // step // written, "k") as counter:
            for number in range(written):
                k = _place(counter, number, depth, step, written)
                _add(state, op, (left, right), k, step, dict(zip(places, totals, strict=True)))
        for at, total in zip(places, totals, strict=True):
            state.write(storage, at, rounded(state, storage, b.read(total)))


def _add(
    state: State,
    op: tiles.TileDot,
    factors: tuple[_Factor, _Factor],
    k: Index,
    step: int,
    totals: dict[Coordinates, Var],
) -> None:
    """Add the products of ``step`` places of the inner axis. Few elements are read before they are
    needed, as registers are few."""
    left, right = factors
    if left.depth > 1 and right.depth > 1:
        a = left.read(k, left.lines)
        for column in right.lines:
            c = right.read(k, [column])
            mine = {at: var for at, var in totals.items() if (*at[:-2], at[-1]) == column}
            for n in range(step):
                _add_place(state, op, a[n], c[n], mine)
        return
    ahead = [each.read(k, each.lines) if each.depth > 1 else None for each in factors]
    for n in range(step):
        place = k if not n else _behind(k, n)
        a, c = (
            found[n] if found is not None else each.read(place, each.lines)[0]
            for each, found in zip(factors, ahead, strict=True)
        )
        _add_place(state, op, a, c, totals)


def _add_place(
    state: State, op: tiles.TileDot, a: Elements, c: Elements, totals: dict[Coordinates, Var]
) -> None:
    for at in _in_quads([*totals]):
        product, total = (a[at[:-1]], c[*at[:-2], at[-1]]), totals[at]
        value = add_product(state, state.b.read(total), *product, op.fused)
        state.b.write(total, value)


_QUAD = 4


def _in_quads(places: list[Coordinates]) -> list[Coordinates]:
    """Places by squares of four rows and columns, along rows back and forth: neighbours share a
    factor, whose register NVIDIA's GPUs keep at hand, as they read few in a cycle."""
    rows = {row: n for n, row in enumerate(dict.fromkeys(at[:-1] for at in places))}
    columns = {column: n for n, column in enumerate(dict.fromkeys(at[-1] for at in places))}

    def rank(at: Coordinates) -> tuple[int, int, int, int]:
        row, column = rows[at[:-1]], columns[at[-1]]
        return row // _QUAD, column // _QUAD, row, -column if row % 2 else column

    return sorted(places, key=rank)


def _written(steps: int, products: int) -> int:
    """How many steps of so many products are written out: a power of two."""
    written = 1
    while steps % (2 * written) == 0 and 2 * written * products <= _UNROLLED:
        written *= 2
    return written


def _place(counter: Value, number: int, depth: int, step: int, written: int) -> Index:
    """Where a step begins along the inner axis."""
    if log2(depth) is None:
        return counter
    outer = source(counter, depth // step // written)
    inner = outer.joined(BitIndex(number), log2(written) or 0)
    return inner.joined(BitIndex(), log2(step) or 0)


class _Factor:
    """A factor of a thread.

    Attributes:
        lines: the rows or columns that the thread needs.
        depth: the places of the inner axis that it reads as one vector.
        width: the lines that it reads so.
    """

    def __init__(
        self, state: State, op: tiles.TileDot, lines: list[Coordinates], is_left: bool
    ) -> None:
        self.value = value = op.lhs if is_left else op.rhs
        self.state, self.lines, self.is_left, self.type = state, lines, is_left, sum_type(op)
        self.depth = self.width = 1
        found, most = in_shared(state, value), BYTES // _size(value)
        if found is None or _size(value) not in _WORDS or not state.machine.factors:
            return
        if log2(type_of(value).shape[-1 if is_left else -2]) is None:
            return
        self.storage, self.turned = found
        if self.storage.swizzle or self.storage.stride % most:
            return
        is_along_depth = (self.turned == self.storage.turned) == is_left
        if is_along_depth:
            self.depth = most
        elif _in_groups(lines, most):
            self.width = most

    @property
    def wide(self) -> bool:
        """Whether it is read by vectors."""
        return self.depth > 1 or self.width > 1

    def read(self, k: Index, lines: list[Coordinates]) -> list[Elements]:
        """The elements of ``depth`` places of the inner axis from ``k`` on."""
        if self.depth > 1:
            found = [self._vector(line, k) for line in lines]
            return [
                {line: vector[n] for line, vector in zip(lines, found, strict=True)}
                for n in range(self.depth)
            ]
        if self.width > 1:
            return [self._by_groups(k)]
        return [{line: self._element(line, k) for line in lines}]

    def _element(self, line: Coordinates, k: Index) -> Value:
        at = (*line, k) if self.is_left else (*line[:-1], k, line[-1])
        return part(self.state, self.value, at, self.type)

    def _by_groups(self, k: Index) -> Elements:
        result: Elements = {}
        for line in self.lines:
            last = line[-1]
            assert isinstance(last, BitIndex)
            if last.constant % self.width == 0:
                for n, each in enumerate(self._vector(line, k)):
                    result[*line[:-1], _behind(last, n)] = each
        return result

    def _vector(self, line: Coordinates, k: Index) -> list[Value]:
        """Neighbours in shared memory."""
        state, storage, b = self.state, self.storage, self.state.b
        at = (*line, k) if self.is_left else (*line[:-1], k, line[-1])
        address = state.address(storage, swapped(at) if self.turned else at)
        if storage.start is None:
            state.touch(storage.symbol)
        type_ = storage.type.element
        assert isinstance(type_, DType)
        words = vector(_WORDS[type_.size], BYTES // type_.size)
        whole = b.load(b.recast(address, memory.pointer_beside(address, words)))
        parts = [b.value(memory.Part(whole, n)) for n in range(BYTES // type_.size)]
        return [b.bitcast(each, type_) for each in parts]


def _size(factor: Value) -> int:
    type_ = type_of(factor).element
    assert isinstance(type_, DType)
    return type_.size


def _in_groups(lines: list[Coordinates], width: int) -> bool:
    """Whether lines are groups of neighbours, each of which begins at a multiple of its size."""
    bits, there = log2(width) or 0, {*lines}
    for line in lines:
        last = line[-1]
        if not isinstance(last, BitIndex) or any(each.at < bits for each in last.parts):
            return False
        first = last.constant & -width
        if any((*line[:-1], BitIndex(first + n, last.parts)) not in there for n in range(width)):
            return False
    return True


def _behind(index: Index, n: int) -> BitIndex:
    """The index some places behind a multiple of a power of two."""
    assert isinstance(index, BitIndex)
    return BitIndex(index.constant + n, index.parts)
