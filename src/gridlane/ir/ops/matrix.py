"""Matrix fragments: a matrix that the 32 lanes of a warp hold together, for tensor cores.

All 32 lanes run each of these ops convergently, with the same pointer, stride and numbers; a
divergent warp is an error, which hardware may show by a wrong result. The target decides which lane
holds which element. A variable of a fragment that only some lanes of a warp write is undefined.

Memory: a fragment's rows, or its columns when ``by_columns``, are lines of consecutive elements,
``stride`` elements (i64) from the start of one to the next. Each line starts at a multiple of 16
bytes.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, bf16, f16, f32, i8, i32, i64, u8
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.matrix_instructions import FACTORS, largest
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.types import FragmentType, Role, Space, Type
from gridlane.ir.values import Value

LINE_ALIGN = 16
"""Alignment in bytes of the start of each line in memory."""

DEPTHS = {element: largest(factor, 80).depth for element, factor in FACTORS.items()}
"""The number that divides the inner extent of a product, by the element of its factors."""

ACCUMULATORS = (f32, f16, i32, bf16)
"""Elements of accumulators. bf16 is for loading, storing and conversion only."""

PRODUCTS: dict[DType, tuple[DType, ...]] = {
    f16: (f32, f16),
    bf16: (f32,),
    f32: (f32,),
    i8: (i32,),
    u8: (i32,),
}
"""Elements of the accumulators that factors may be multiplied into."""

CONVERSIONS = {(f32, f16), (f16, f32), (f32, bf16), (bf16, f32), (i32, f32)}
"""Pairs of accumulator elements (from, to) with a conversion."""

SCALED = (f32, f16, i32)
"""Elements of accumulators that can be scaled."""

EDGE = 16
"""The number that divides the outer extents of factors, and both of an accumulator."""


def steps_of(type_: FragmentType) -> tuple[int, int]:
    """The numbers that divide a fragment's rows and columns.

    >>> steps_of(FragmentType(Role.A, 64, 32, f16)), steps_of(FragmentType(Role.B, 8, 32, f32))
    ((16, 16), (8, 16))
    """
    depth = DEPTHS.get(type_.element, EDGE)
    return {Role.A: (EDGE, depth), Role.B: (depth, EDGE), Role.ACC: (EDGE, EDGE)}[type_.role]


def wrong(type_: FragmentType) -> str:
    """An error message for an invalid fragment type, or ""."""
    known = ACCUMULATORS if type_.role is Role.ACC else tuple(DEPTHS)
    if type_.element not in known:
        return f"a fragment {type_.role.value} has elements {', '.join(map(str, known))}"
    rows, cols = steps_of(type_)
    if type_.rows < 1 or type_.cols < 1 or type_.rows % rows or type_.cols % cols:
        return (
            f"a fragment {type_.role.value} of {type_.element} has a multiple of {rows} rows and "
            f"{cols} columns"
        )
    return ""


def fragment_of(op: Op, type_: Type) -> FragmentType:
    """The fragment type that an operand or result has; VerifyError when it is none."""
    op.require(isinstance(type_, FragmentType), f"{type_} is not a fragment")
    assert isinstance(type_, FragmentType)
    reason = wrong(type_)
    op.require(not reason, f"{type_}: {reason}")
    return type_


def _check_access(op: FragmentLoad | FragmentStore, fragment: FragmentType) -> None:
    element = element_of(op, op.pointer)
    op.require(element is fragment.element, f"{fragment} is not made of {element}")
    known = (Space.GLOBAL, Space.SHARED, Space.GENERIC)
    op.require(space_of(op.pointer) in known, f"{op.pointer.type}: global or shared memory only")
    op.require(op.stride.type is i64, "the stride is an i64")


@operation("fragment_fill")
class FragmentFill(Op):
    """A fragment with ``value`` in every place."""

    value: Value
    type: FragmentType
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        fragment = fragment_of(self, self.type)
        same = self.value.type is fragment.element
        self.require(same, f"{self.value.type} in a {fragment}")


@operation("fragment_load")
class FragmentLoad(Op):
    """A fragment from memory. Factors of f32 are rounded as tf32: to 10 mantissa bits, to nearest,
    ties away from zero."""

    pointer: Value
    stride: Value
    type: FragmentType
    by_columns: bool = False
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        _check_access(self, fragment_of(self, self.type))


@operation("fragment_store")
class FragmentStore(Op):
    """Write an accumulator to memory."""

    pointer: Value
    stride: Value
    fragment: Value
    by_columns: bool = False

    def check(self, scope: Scope) -> None:
        fragment = fragment_of(self, self.fragment.type)
        self.require(fragment.role is Role.ACC, "accumulators are stored only")
        _check_access(self, fragment)


@operation("fragment_mma")
class FragmentMma(Op):
    """The accumulator a @ b + c, in steps of ``DEPTHS`` of the inner extent, each as the op ``mma``
    has it: integers are exact and wrap; products of floats are exact and are added one after the
    other to the sum, in binary64, which is rounded at the end of the step: to f32, and for f16 from
    that to f16. Hardware adds in an order of its own and rounds partial sums (to f32 or f16, some
    towards zero): its result differs by some rounding steps of the largest partial sum."""

    a: Value
    b: Value
    c: Value
    produces = ("c",)

    def check(self, scope: Scope) -> None:
        a, b, c = (fragment_of(self, value.type) for value in (self.a, self.b, self.c))
        roles = (a.role, b.role, c.role)
        self.require(roles == (Role.A, Role.B, Role.ACC), f"takes a, b and acc, not {a}, {b}, {c}")
        shapes = a.cols == b.rows and (a.rows, b.cols) == (c.rows, c.cols)
        self.require(shapes, f"{a} times {b} does not fit {c}")
        mixed = {a.element, b.element} == {i8, u8}
        self.require(a.element is b.element or mixed, f"{a} times {b}: the elements differ")
        self.require(c.element in PRODUCTS[a.element], f"{a} times {b} into {c}")


@operation("fragment_scale")
class FragmentScale(Op):
    """Every element of an accumulator times ``factor``: f32, f16 rounded; i32 wraps."""

    fragment: Value
    factor: Value
    produces = ("fragment",)

    def check(self, scope: Scope) -> None:
        fragment = fragment_of(self, self.fragment.type)
        good = fragment.role is Role.ACC and fragment.element in SCALED
        self.require(good, f"{fragment} cannot be scaled")
        same = self.factor.type is fragment.element
        self.require(same, f"{fragment} times {self.factor.type}")


@operation("fragment_convert")
class FragmentConvert(Op):
    """An accumulator with every element converted, as ``cast`` does."""

    fragment: Value
    type: FragmentType
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        old, new = fragment_of(self, self.fragment.type), fragment_of(self, self.type)
        same = (old.role, old.rows, old.cols) == (new.role, new.rows, new.cols)
        self.require(same and old.role is Role.ACC, f"{old} to {new}")
        self.require((old.element, new.element) in CONVERSIONS, f"{old} to {new}")
