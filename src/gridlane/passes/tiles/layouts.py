"""Layouts: which element of a tile each register of each thread holds.

A layout is a linear map over bits: each bit of the number of a register and of a thread adds, by
exclusive or, to the row-major number of an element. Blocked layouts, fragments of ``mma`` and
slices of them are all such maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gridlane.core.frozen import frozen
from gridlane.ir.ops.products import COLUMNS
from gridlane.ir.ops.warpgroups import ROWS as GROUP_ROWS
from gridlane.ir.ops.warpgroups import WIDEST
from gridlane.ir.values import Value
from gridlane.passes.tiles.indices import BitIndex, Bits, log2

LANE_BITS = 5
_EDGE = 16
"""Rows of a product of ``mma``."""


@frozen
class Layout:
    """A linear map from numbers of registers and threads to numbers of elements.

    Attributes:
        registers, threads: for each bit of the number, what it adds to the element's number. The
            lower five bits of a thread's number are its lane's.
        bits: of an element's number.
    """

    registers: tuple[int, ...]
    threads: tuple[int, ...]
    bits: int

    @property
    def count(self) -> int:
        """The registers of a thread."""
        return 1 << len(self.registers)

    def place(self, register: int, thread: int) -> int:
        """The number of the element of a register of a thread."""
        return mapped(self.registers, register) ^ mapped(self.threads, thread)

    def is_whole(self) -> bool:
        """Whether each element is in one register of one thread, and a bit in one of its number."""
        steps = (*self.registers, *self.threads)
        single = all(step and log2(step) is not None for step in steps)
        return single and len({*steps}) == len(steps) == self.bits

    def is_sole(self) -> bool:
        """Whether each element is in one thread."""
        return all(self.threads)

    def register(self, constant: int) -> int:
        """The register whose bits add a constant to the element's number, where each has a bit of
        it."""
        result = sum(1 << bit for bit, step in enumerate(self.registers) if constant & step)
        assert self.place(result, 0) == constant
        return result

    def holder(self, number: int) -> tuple[int, int]:
        """The register and the thread that hold an element; the inverse of ``place``."""
        both = mapped(inverse((*self.registers, *self.threads)), number)
        return both & (self.count - 1), both >> len(self.registers)

    def at(self, register: int, thread: Value) -> BitIndex:
        """The number of the element of a register of this thread, of which bits are those of
        registers and threads; see ``is_whole``."""
        parts: list[Bits] = []
        for bit, step in sorted(enumerate(self.threads), key=lambda each: each[1]):
            if not step:
                continue
            place, last = log2(step) or 0, parts[-1] if parts else None
            whole = bit == len(self.threads) - 1
            if last and last.low + last.count == bit and last.at + last.count == place:
                parts[-1] = Bits(thread, last.low, last.count + 1, last.at, whole)
            else:
                parts.append(Bits(thread, bit, 1, place, whole))
        return BitIndex(mapped(self.registers, register), tuple(parts))


def mapped(steps: Sequence[int], number: int) -> int:
    """The image of a number.

    >>> mapped((1, 8, 2), 0b101)
    3
    """
    result = 0
    for bit, step in enumerate(steps):
        if number >> bit & 1:
            result ^= step
    return result


def composed(outer: Sequence[int], inner: Iterable[int]) -> tuple[int, ...]:
    """The map that applies ``inner``, then ``outer``.

    >>> composed((4, 1), (2, 3))
    (1, 5)
    """
    return tuple([mapped(outer, step) for step in inner])


def inverse(steps: Sequence[int]) -> tuple[int, ...]:
    """The inverse of a map of as many bits.

    >>> inverse((4, 1, 3))
    (2, 6, 1)

    Raises:
        ValueError: two numbers have one image.
    """
    rows = [(step, 1 << bit) for bit, step in enumerate(steps)]
    for bit in range(len(rows)):
        pivot = next((n for n in range(bit, len(rows)) if rows[n][0] >> bit & 1), None)
        if pivot is None:
            raise ValueError(f"{tuple(steps)} has no inverse")
        rows[bit], rows[pivot] = rows[pivot], rows[bit]
        image, source = rows[bit]
        rows = [
            (i ^ image, s ^ source) if n != bit and i >> bit & 1 else (i, s)
            for n, (i, s) in enumerate(rows)
        ]
    return tuple([source for _, source in rows])


def is_same(left: BitIndex, right: BitIndex) -> bool:
    """Whether two indices are of the same bits, however these are grouped."""
    return left.constant == right.constant and _single(left) == _single(right)


def _single(index: BitIndex) -> dict[int, tuple[Value, int]]:
    return {p.at + n: (p.source, p.low + n) for p in index.parts for n in range(p.count)}


# ---- of products


@frozen
class Warps:
    """How the warps of a block divide an accumulator: into ``down`` by ``across`` parts."""

    down: int
    across: int


def warps_of(
    rows: int, columns: int, warps: int, by_rows: bool, edge: int = COLUMNS
) -> Warps | None:
    """The division of an accumulator among all warps; None where it is too small.

    Args:
        by_rows: a row is one warp's where possible, as reductions along it are then in its lanes.
        edge: the columns of a product.

    >>> warps_of(128, 128, 4, False), warps_of(128, 64, 4, True), warps_of(16, 8, 4, False)
    (Warps(down=2, across=2), Warps(down=4, across=1), None)
    """
    down = across = 1
    while down * across < warps:
        can_down, can_across = rows // down > _EDGE, columns // across > edge
        is_tall = rows // down >= columns // across
        if can_down and (by_rows or is_tall or not can_across):
            down *= 2
        elif can_across:
            across *= 2
        else:
            return None
    return Warps(down, across)


def core_layout(rows: int, columns: int, warps: Warps) -> Layout:
    """The layout of the sums of ``mma`` (``ir.ops.products.sum_place``), by warps. The registers
    of a thread are in the order of products: down, across, those of one product."""
    wide, high = log2(columns) or 0, log2(rows) or 0

    def column(first: int, end: int) -> list[int]:
        return [1 << bit for bit in range(first, end)]

    def row(first: int, end: int) -> list[int]:
        return [1 << bit + wide for bit in range(first, end)]

    across, down = log2(warps.across) or 0, log2(warps.down) or 0
    registers = [*column(0, 1), *row(3, 4), *column(3, wide - across), *row(4, high - down)]
    lanes = [*column(1, 3), *row(0, 3)]
    others = [*column(wide - across, wide), *row(high - down, high)]
    return Layout(tuple(registers), (*lanes, *others), wide + high)


def batched_layout(count: int, each: Layout, parts: int) -> Layout:
    """The layout of matrices, of which each has the same: a part of the warps has some that follow
    each other, one behind the other in its registers."""
    bits, high = log2(count) or 0, log2(parts) or 0
    steps = [1 << bit + each.bits for bit in range(bits)]
    own = bits - high
    return Layout((*each.registers, *steps[:own]), (*each.threads, *steps[own:]), each.bits + bits)


def fragment_layout(rows: int, columns: int, warps: Warps) -> Layout:
    """The layout of sums that warps store to shared memory as fragments of 16 by 16, and read from
    there: a lane has eight neighbours of each. The registers of a thread are in the order of
    fragments, down and across, and of neighbours."""
    wide, high = log2(columns) or 0, log2(rows) or 0
    across, down = log2(warps.across) or 0, log2(warps.down) or 0
    column = [1 << bit for bit in range(wide)]
    row = [1 << bit + wide for bit in range(high)]
    registers = (*column[:3], *column[4 : wide - across], *row[4 : high - down])
    others = (*column[wide - across :], *row[high - down :])
    return Layout(registers, (column[3], *row[:4], *others), wide + high)


def groups_of(rows: int, columns: int, groups: int) -> Warps | None:
    """The division of an accumulator among warpgroups, of whose instructions each has 64 rows and
    at most 256 columns; None where it does not go up.

    >>> groups_of(128, 256, 2), groups_of(64, 256, 2), groups_of(64, 64, 2), groups_of(64, 512, 1)
    (Warps(down=2, across=1), Warps(down=1, across=2), None, None)
    """
    down = across = 1
    while down * across < groups:
        if rows // down > GROUP_ROWS:
            down *= 2
        elif columns // across > GROUP_ROWS:
            across *= 2
        else:
            return None
    fits = rows // down >= GROUP_ROWS and 16 <= columns // across <= WIDEST
    return Warps(down, across) if fits else None


def group_layout(rows: int, columns: int, groups: Warps) -> Layout:
    """The layout of the sums of ``warpgroup_mma``, by warpgroups: each of their four warps has 16
    of 64 rows. The registers of a thread are in the order of instructions, and of one of them."""
    wide, high = log2(columns) or 0, log2(rows) or 0
    across, down = log2(groups.across) or 0, log2(groups.down) or 0

    def column(first: int, end: int) -> list[int]:
        return [1 << bit for bit in range(first, end)]

    def row(first: int, end: int) -> list[int]:
        return [1 << bit + wide for bit in range(first, end)]

    registers = [*column(0, 1), *row(3, 4), *column(3, wide - across), *row(6, high - down)]
    lanes = [*column(1, 3), *row(0, 3)]
    warps = row(4, 6)
    others = [*column(wide - across, wide), *row(high - down, high)]
    return Layout(tuple(registers), (*lanes, *warps, *others), wide + high)


def blocked_layout(
    rows: int, columns: int, threads: int, high: int = 1, wide: int = 1
) -> Layout | None:
    """A layout for sums of scalar products: a thread has some rows by some columns. None where
    threads have less than one element each.

    Args:
        high, wide: rows and columns of a thread that are neighbours, where it has so many. By
            default threads beside each other have neighbouring columns.
    """
    across_bits, down_bits, bits = log2(columns) or 0, log2(rows) or 0, log2(threads) or 0
    own = across_bits + down_bits - bits
    if own < 0:
        return None
    down = min(down_bits, own // 2)
    across = min(across_bits, own - down)
    down = own - across
    if down > down_bits:
        return None
    columns_of, their_columns = _divided(across_bits, across, log2(wide) or 0)
    rows_of, their_rows = _divided(down_bits, down, log2(high) or 0)
    rows_of, their_rows = ([step << across_bits for step in each] for each in (rows_of, their_rows))
    if high == wide == 1:
        lanes = [*their_columns, *their_rows]
    else:
        lanes = _interleaved(their_rows, their_columns)
    return Layout((*columns_of, *rows_of), tuple(lanes), across_bits + down_bits)


def _divided(bits: int, own: int, near: int) -> tuple[list[int], list[int]]:
    """The bits of an extent that a thread has, the lowest ``near`` ones among them where it has
    enough, and those of threads."""
    steps, near = [1 << bit for bit in range(bits)], near if own >= near else 0
    rest = bits - own + near
    return [*steps[:near], *steps[rest:]], steps[near:rest]


_LANE_ROWS = 0, 4
"""The bits of a lane's number that are those of rows: two lanes that differ in the lowest bit read
the same columns, and two that differ in the next one the same rows. NVIDIA's shared memory serves
such reads of 16 bytes in half the time."""


def _interleaved(rows: list[int], columns: list[int]) -> list[int]:
    """The bits of rows and columns as those of threads."""
    rows, columns, lanes = [*rows], [*columns], list[int]()
    while rows or columns:
        of_rows = len(lanes) in _LANE_ROWS or (len(lanes) >= LANE_BITS and not columns)
        first, second = (rows, columns) if of_rows else (columns, rows)
        lanes.append((first or second).pop(0))
    return lanes
