"""Products of matrices by a warpgroup: four warps whose first has a number that 4 divides.

The threads of a warp run each op convergently, and the four warps run the same ops in one order.
PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.dtypes import b1, f32, i32, u32
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops import arith, grid
from gridlane.ir.ops.products import COLUMNS, Factor, Mma
from gridlane.ir.ops.shared_matrix import SharedMatrix, check_matrix
from gridlane.ir.types import Type
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder

ROWS = 64
"""Rows of A and of the sums."""

WARPS = 4
"""Warps of a warpgroup; each has 16 rows."""

WIDEST = 256
"""The most columns."""

DEPTH_BYTES = 32
"""Bytes of a row of A: its items along the depth."""

FACTORS = frozenset((
    Factor.F16, Factor.BF16, Factor.TF32, Factor.E4M3, Factor.E5M2, Factor.S8, Factor.U8,
))  # fmt: skip
_EIGHTS = ({Factor.E4M3, Factor.E5M2}, {Factor.S8, Factor.U8})


def depth_of(factor: Factor) -> int:
    """Items of a row of A."""
    return 8 * DEPTH_BYTES // factor.bits


@operation("warpgroup_mma")
class WarpgroupMma(Op):
    """A product of a matrix A of 64 rows, and B of ``columns``, plus C where ``scale`` holds.

    The depth is 32 bytes of each row. Warp ``w`` of the warpgroup has the rows from 16 w on; its
    registers of A and of the sums are those of ``mma`` for each 8 columns, and so are the sums:
    products are exact and are added to C one after the other in binary64. Where ``scale`` does not
    hold, C counts as zero, whatever it is, also NaN or undefined. NVIDIA's hardware adds in another
    order, with other roundings.

    Shared memory is read between the op and the ``warpgroup_wait`` that covers it. The results are
    defined from the op on if ``waits``; else from the wait that has them among its values on.

    Attributes:
        columns: 8 to 256, a multiple of 8; of integers, of 16 from 32 on.
        limited: sums of integers saturate.
        negated: the product is subtracted.
        left_across, right_across: consecutive items in memory are those of several lines.
        a: 4 registers, u32, or a pointer and a layout as in ``ir.ops.shared_matrix``.
        b, layout: the pointer and the layout of B.
        c: f32 or i32, or u32 with two f16. The results are likewise.
    """

    columns: int
    left: Factor
    right: Factor
    limited: bool
    negated: bool
    left_across: bool
    right_across: bool
    waits: bool
    a: tuple[Value, ...]
    b: Value
    layout: Value
    scale: Value
    c: tuple[Value, ...]
    cross_lane = True

    def result_types(self) -> tuple[Type, ...]:
        return tuple([value.type for value in self.c])

    @property
    def has_halves(self) -> bool:
        """Whether the sums are two f16 in a word."""
        return self.c[0].type is u32

    @property
    def in_memory(self) -> bool:
        """Whether A is in shared memory."""
        return len(self.a) == 2

    @property
    def depth(self) -> int:
        """Items of a row of A."""
        return depth_of(self.left)

    def check(self, scope: Scope) -> None:
        pair = {self.left, self.right}
        known = self.left in FACTORS and (len(pair) == 1 or pair in _EIGHTS)
        self.require(known, f"there is no product of {self.left.value} and {self.right.value}")
        step = 16 if self.left.is_integer and self.columns > 32 else 8
        fits = 0 < self.columns <= WIDEST and self.columns % step == 0
        self.require(fits, f"{self.columns} columns: 8 to {WIDEST}, a multiple of {step}")
        if self.in_memory:
            check_matrix(self, *self.a)
        else:
            good = len(self.a) == 4 and all(value.type is u32 for value in self.a)
            self.require(good, "A is 4 registers u32, or a pointer and a layout")
        check_matrix(self, self.b, self.layout)
        across = self.left_across or self.right_across
        self.require(not across or self.left.bits == 16, "items of 16 bits alone lie across lines")
        self.require(self.in_memory or not self.left_across, "registers have one layout")
        self.require(self.scale.type is b1, "the scale is a b1")
        has_whole = self.left in (Factor.BF16, Factor.TF32)
        wanted = (i32,) if self.left.is_integer else (f32,) if has_whole else (f32, u32)
        self.require(all(v.type in wanted for v in self.c), f"sums are {wanted}")
        self.require(len({value.type for value in self.c}) == 1, "sums have one type")
        count = self.columns // (4 if self.has_halves else 2)
        self.require(len(self.c) == count, f"there are {count} registers of sums")
        good = self.left.is_integer or not self.limited
        self.require(good, "sums of integers are limited")
        self.require(not (self.left.is_integer and self.negated), "no integers are negated")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        """By ``mma`` of 8 columns each; a warp reads its own rows of A and all of B."""
        lane = b.cast(b.value(grid.LaneId()), u32)
        line = b.binary(arith.Shr, lane, b.const(2, u32))
        thread = b.and_(lane, b.const(3, u32))
        a = self._negated(b, self._left(b, line, thread))
        right = SharedMatrix.read(b, self.b, self.layout, self.right_across)
        in_step = len(self.c) * COLUMNS // self.columns
        sums: list[Value] = []
        for number in range(self.columns // COLUMNS):
            group = b.const(number, u32)
            words = tuple(
                self._word(b, right, self.right_across, group, line, thread, n) for n in (0, 1)
            )
            old = self.c[number * in_step : (number + 1) * in_step]
            start = tuple(b.select(self.scale, each, b.const(0, each.type)) for each in old)
            product = Mma(16, self.depth, self.left, self.right, self.limited, a, words, start)
            sums += b.emit(product).results
        return tuple(sums)

    def _left(self, b: Builder, line: Value, thread: Value) -> tuple[Value, ...]:
        """The registers of A."""
        if not self.in_memory:
            return self.a
        start, layout = self.a
        left = SharedMatrix.read(b, start, layout, self.left_across)
        warp = b.and_(b.binary(arith.Shr, thread_number(b), b.const(5, u32)), b.const(3, u32))
        first = b.mul(warp, b.const(2, u32))
        return tuple(
            self._word(
                b, left, self.left_across, b.add(first, b.const(n % 2, u32)), line, thread, n // 2
            )
            for n in range(4)
        )

    def _word(
        self,
        b: Builder,
        matrix: SharedMatrix,
        across: bool,
        group: Value,
        line: Value,
        thread: Value,
        half: int,
    ) -> Value:
        """A register of a factor: its items begin at 4 bytes for each thread in 16 bytes."""
        if across:
            return matrix.pair(b, group, line, b.mul(thread, b.const(2, u32)), half)
        return matrix.word(b, group, line, b.mul(thread, b.const(4, u32)), half)

    def _negated(self, b: Builder, a: tuple[Value, ...]) -> tuple[Value, ...]:
        """A with other signs, if the product is subtracted."""
        if not self.negated:
            return a
        bits = self.left.bits
        signs = sum(1 << bits * n + bits - 1 for n in range(32 // bits))
        return tuple(b.binary(arith.Xor, word, b.const(signs, u32)) for word in a)


def thread_number(b: Builder) -> Value:
    """The number of the thread in its block, u32; x is the fastest."""
    x, y, z = (b.cast(b.value(grid.ThreadIdx(axis)), u32) for axis in grid.Axis)
    wide, high = (b.cast(b.value(grid.BlockDim(axis)), u32) for axis in (grid.Axis.X, grid.Axis.Y))
    return b.add(x, b.mul(wide, b.add(y, b.mul(high, z))))


@operation("warpgroup_fence")
class WarpgroupFence(Op):
    """Order the accesses to registers, and to shared memory by products of this warpgroup, before
    the products that follow. PTX: ``wgmma.fence``. Nothing where products are done at once."""

    cross_lane = True

    def expand(self, b: Builder) -> tuple[Value, ...]:
        return ()


@operation("warpgroup_commit")
class WarpgroupCommit(Op):
    """Make a group of the warpgroup's products that are in none yet. PTX: ``wgmma.commit_group``.
    Nothing where products are done at once."""

    cross_lane = True

    def expand(self, b: Builder) -> tuple[Value, ...]:
        return ()


@operation("warpgroup_wait")
class WarpgroupWait(Op):
    """Wait until at most the ``pending`` latest groups of products of the whole warpgroup are in
    flight. PTX: ``wgmma.wait_group``.

    A warp that goes on knows that no other warp of its warpgroup reads the shared memory of those
    products any more. Where each warp does its part of a product at once, it waits for the others.

    Attributes:
        values: sums of products that are awaited; the results are these.
        alone: the block has no other threads than those of one warpgroup.
    """

    pending: int
    alone: bool = False
    values: tuple[Value, ...] = ()
    barrier = True

    def result_types(self) -> tuple[Type, ...]:
        return tuple([value.type for value in self.values])

    def check(self, scope: Scope) -> None:
        self.require(0 <= self.pending < 8, f"0 to 7 groups are left, not {self.pending}")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        """By a barrier of the warpgroup."""
        if self.alone:
            b.emit(grid.Barrier())
            return self.values
        group = b.binary(arith.Shr, thread_number(b), b.const(7, u32))
        count, false = b.const(32 * WARPS, u32), b.const(False, b1)
        b.emit(grid.BarrierPart(grid.Reduction.NONE, group, count, false, hidden=True))
        return self.values


@operation("register_limit")
class RegisterLimit(Op):
    """Let each thread of the warpgroup have ``count`` registers from here on. PTX:
    ``setmaxnreg``. A hint: nothing on a device that shares out no registers."""

    count: int
    increases: bool
    cross_lane = True

    def check(self, scope: Scope) -> None:
        good = 24 <= self.count <= 256 and self.count % 8 == 0
        self.require(good, f"24 to 256 registers, a multiple of 8, not {self.count}")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        return ()
