"""Products of whole matrices in shared memory, by a warp: what processors have in the place of
matrix instructions."""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64, i32
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.types import Space
from gridlane.ir.values import Value

ELEMENTS = (f32, f64, i32)
"""Elements of the matrices."""


@operation("warp_product")
class WarpProduct(Op):
    """Add the product of two matrices to a third.

    All 32 lanes of a warp run it together, with the same pointers. The matrices are in shared
    memory, each row behind the other; the sums lie in none of the factors. Products are added one
    after the other, in the order of ``depth``; those of floats may be fused with the addition, and
    integers wrap.

    Attributes:
        left: the first element of ``rows`` times ``depth``.
        right: of ``depth`` times ``columns``.
        sums: of ``rows`` times ``columns``, which are read and written.
    """

    left: Value
    right: Value
    sums: Value
    rows: int
    depth: int
    columns: int
    cross_lane = True

    def check(self, scope: Scope) -> None:
        self.require(min(self.rows, self.depth, self.columns) > 0, "matrices have elements")
        matrices = self.left, self.right, self.sums
        kinds = {element_of(self, each) for each in matrices}
        known = len(kinds) == 1 and kinds <= set(ELEMENTS)
        self.require(known, f"matrices are of one type of {', '.join(map(str, ELEMENTS))}")
        shared = all(space_of(each) is Space.SHARED for each in matrices)
        self.require(shared, "matrices are in shared memory")
