"""Products of whole matrices in shared memory, by a warp: what processors have in the place of
matrix instructions."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, f64, i8, i32, u8, u64
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.types import Space
from gridlane.ir.values import Value

FACTORS: dict[DType, tuple[DType, ...]] = {f32: (f32,), f64: (f64,), i32: (i32, i8, u8)}
"""Elements of the factors, by the element of the sums."""


@operation("warp_product")
class WarpProduct(Op):
    """Add the product of two matrices to a third.

    All 32 lanes of a warp run it together, with the same pointers. The matrices are in shared
    memory, each row behind the other; the sums lie in none of the factors. Products are added one
    after the other, in the order of ``depth``; integers are those of the sums' type, which wrap.

    Attributes:
        left: the first element of ``rows`` times ``depth``.
        right: of ``depth`` times ``columns``.
        sums: of ``rows`` times ``columns``, which are read and written.
        fused: products of floats may be fused with additions.
        turned_left, turned_right: the factor is in memory by columns, each behind the other; not of
            bytes.
        ahead: arrays of addresses, in shared memory, of which the processor may fetch
            ``lines`` cache lines each; they may be addresses of nothing.
        counts: of the addresses of each array.
        pitch: elements from a row of the sums to the next one; 0 for ``columns``.
    """

    left: Value
    right: Value
    sums: Value
    rows: int
    depth: int
    columns: int
    fused: bool = True
    turned_left: bool = False
    turned_right: bool = False
    ahead: tuple[Value, ...] = ()
    counts: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    pitch: int = 0
    cross_lane = True

    def check(self, scope: Scope) -> None:
        self.require(min(self.rows, self.depth, self.columns) > 0, "matrices have elements")
        kind, *factors = (element_of(self, each) for each in (self.sums, self.left, self.right))
        known = factors[0] == factors[1] and factors[0] in FACTORS.get(kind, ())  # type: ignore[arg-type]  # a pointer is in no table
        self.require(known, f"no products of {factors[0]} and {factors[1]} in {kind}")
        self.require(self.pitch == 0 or self.pitch >= self.columns, "rows of sums overlap")
        plain = not (self.turned_left or self.turned_right)
        self.require(plain or factors[0].size > 1, "factors of bytes are in memory by rows")
        given = (self.left, self.right, self.sums, *self.ahead)
        shared = all(space_of(each) is Space.SHARED for each in given)
        self.require(shared, "matrices are in shared memory")
        addresses = all(element_of(self, each) is u64 for each in self.ahead)
        self.require(addresses and len(self.counts) == len(self.ahead), "addresses are counted u64")
