"""Arithmetic, logic, comparison and conversion of scalars.

Integers wrap around. Floats follow IEEE 754 with round to nearest even, one rounding per op, unless
the op's ``fast`` flags allow more.
"""

from __future__ import annotations

from math import copysign

from gridlane.core.dtypes import DType, b1
from gridlane.ir.op import FastMath, Op, Scope, family, operation
from gridlane.ir.types import PointerType, Type, VectorType
from gridlane.ir.values import Value


@operation("const")
class Const(Op):
    """A compile-time scalar: bool for b1, int in range for integers, float for floats; 0 for a
    null pointer. A float is stored rounded to its type; there is one NaN.

    ``undefined``: it stands for a value that the program has not given, as that of a register of
    PTX which is read before it is written. The value is 0; the interpreter reports where such a
    value, or one computed from it, reaches a store, an address or a branch (``interp/poison.py``).
    """

    value: bool | int | float
    type: Type
    undefined: bool = False
    pure = True
    elementwise = True
    produces = ("type",)

    @property
    def is_negative_zero(self) -> bool:
        """Whether it is the float -0."""
        return self.value == 0 and isinstance(self.value, float) and copysign(1, self.value) < 0

    def check(self, scope: Scope) -> None:
        kind, value = self.type, self.value
        zero = not value and not self.is_negative_zero
        self.require(zero or not self.undefined, f"an undefined value is 0, not {value!r}")
        if isinstance(kind, PointerType):
            self.require(value == 0 and type(value) is int, "a constant pointer is 0")
            return
        self.require(isinstance(kind, DType), f"{kind} has no constants")
        assert isinstance(kind, DType)
        if kind.is_bool:
            self.require(type(value) is bool, f"{value!r} is not a bool")
        elif kind.is_integer:
            self.require(type(value) is int, f"{value!r} is not an int")
            self.require(kind.min <= value <= kind.max, f"{value} does not fit in {kind}")
        else:
            self.require(type(value) is float, f"{value!r} is not a float")


@family
class Binary(Op):
    """Two operands of one scalar type; the result has that type."""

    lhs: Value
    rhs: Value
    accepts = "integers and floats"
    pure = True
    elementwise = True
    produces = ("lhs",)

    def check(self, scope: Scope) -> None:
        same = self.lhs.type == self.rhs.type
        self.require(same, f"operands have types {self.lhs.type} and {self.rhs.type}")
        check_accepts(self, self.lhs.type, self.accepts)


@family
class FastBinary(Binary):
    """``Binary``, with flags of floats."""

    fast: FastMath = FastMath.NONE


def is_scalar(type_: Type) -> bool:
    """Whether a type is a scalar; an attribute's annotation does not bind parsed text."""
    return isinstance(type_, DType)


def check_accepts(op: Op, type_: Type, accepts: str) -> None:
    """Verify that ``type_`` is in the class of scalars that ``accepts`` names."""
    ok = isinstance(type_, DType) and (
        (type_.is_integer and "integers" in accepts)
        or (type_.is_float and "floats" in accepts)
        or (type_.is_bool and "bool" in accepts)
    )
    op.require(ok, f"takes {accepts}, not {type_}")


@operation("add")
class Add(FastBinary):
    """lhs + rhs; integers wrap. ``nowrap``: the sum is known not to; wrapping is undefined then."""

    nowrap: bool = False
    commutative = True
    modular = True


@operation("sub")
class Sub(FastBinary):
    """lhs - rhs; integers wrap. ``nowrap``: the difference is known not to."""

    nowrap: bool = False
    modular = True


@operation("mul")
class Mul(FastBinary):
    """lhs * rhs; integers wrap. ``nowrap``: the product is known not to."""

    nowrap: bool = False
    commutative = True
    modular = True


@operation("div")
class Div(FastBinary):
    """lhs / rhs. Integers round towards zero; the quotient by zero has all bits set; the most
    negative number by -1 wraps to itself. ``inside``: neither occurs; they are undefined then."""

    inside: bool = False
    exact = True


@operation("rem")
class Rem(FastBinary):
    """The remainder of ``div``, with the sign of lhs; by zero it is lhs. For floats: C's fmod,
    exact. ``inside``: as of ``div``."""

    inside: bool = False
    exact = True


@operation("mulhi")
class MulHi(Binary):
    """The upper half of the double-width product."""

    accepts = "integers"
    commutative = True


@operation("min")
class Min(FastBinary):
    """The smaller. A number takes precedence over a float NaN, and -0 is below +0."""

    commutative = True
    exact = True


@operation("max")
class Max(FastBinary):
    """The larger. A number takes precedence over a float NaN, and +0 is above -0."""

    commutative = True
    exact = True


@operation("and")
class And(Binary):
    """Bitwise and."""

    accepts = "integers and bool"
    commutative = True
    modular = True


@operation("or")
class Or(Binary):
    """Bitwise or."""

    accepts = "integers and bool"
    commutative = True
    modular = True


@operation("xor")
class Xor(Binary):
    """Bitwise exclusive or."""

    accepts = "integers and bool"
    commutative = True
    modular = True


@family
class Shift(Op):
    """A shift of ``value`` by ``amount``, an integer of any type read as unsigned."""

    value: Value
    amount: Value
    inside: bool = False
    pure = True
    elementwise = True
    produces = ("value",)

    def check(self, scope: Scope) -> None:
        check_accepts(self, self.value.type, "integers")
        check_accepts(self, self.amount.type, "integers")


@operation("shl")
class Shl(Shift):
    """Left shift; 0 for an amount of the width or more. ``inside``: the amount is below the width;
    the result is undefined otherwise."""


@operation("shr")
class Shr(Shift):
    """Right shift: arithmetic for signed types, logical for unsigned. For an amount of the width or
    more the result is the sign (0 or -1) or 0. ``inside``: as of ``shl``."""


@family
class Unary(Op):
    """One scalar operand; the result has its type."""

    value: Value
    accepts = "integers and floats"
    pure = True
    elementwise = True
    produces = ("value",)

    def check(self, scope: Scope) -> None:
        check_accepts(self, self.value.type, self.accepts)


@family
class FastUnary(Unary):
    """``Unary``, with flags of floats."""

    fast: FastMath = FastMath.NONE


@operation("neg")
class Neg(FastUnary):
    """-value; integers wrap, floats flip the sign bit."""

    modular = True


@operation("abs")
class Abs(FastUnary):
    """The magnitude; the most negative integer wraps to itself; floats clear the sign bit."""

    exact = True


@operation("not")
class Not(Unary):
    """Bitwise complement; logical not for b1."""

    accepts = "integers and bool"
    modular = True


@operation("popcount")
class Popcount(Unary):
    """The number of one bits, in the operand's type (for i8 it is at most 8, so it fits)."""

    accepts = "integers"


@operation("clz")
class Clz(Unary):
    """The number of leading zero bits; the width for 0."""

    accepts = "integers"


@operation("brev")
class Brev(Unary):
    """The bits in reverse order."""

    accepts = "integers"


@family
class Compare(Op):
    """Two operands of one type; the result is b1. A comparison with NaN is false, except ``ne``."""

    lhs: Value
    rhs: Value
    fast: FastMath = FastMath.NONE
    accepts = "integers and floats"
    pure = True
    elementwise = True
    produces = (b1,)

    def check(self, scope: Scope) -> None:
        same = self.lhs.type == self.rhs.type
        self.require(same, f"operands have types {self.lhs.type} and {self.rhs.type}")
        if not isinstance(self.lhs.type, PointerType):
            check_accepts(self, self.lhs.type, self.accepts)


@operation("eq")
class Eq(Compare):
    """lhs == rhs."""

    accepts = "integers, floats and bool"
    commutative = True


@operation("ne")
class Ne(Compare):
    """lhs != rhs; true when either is NaN."""

    accepts = "integers, floats and bool"
    commutative = True


@operation("lt")
class Lt(Compare):
    """lhs < rhs."""


@operation("le")
class Le(Compare):
    """lhs <= rhs."""


@operation("gt")
class Gt(Compare):
    """lhs > rhs."""


@operation("ge")
class Ge(Compare):
    """lhs >= rhs."""


@operation("select")
class Select(Op):
    """``on_true`` where the condition holds, else ``on_false``; both are evaluated."""

    condition: Value
    on_true: Value
    on_false: Value
    pure = True
    elementwise = True
    produces = ("on_true",)

    def check(self, scope: Scope) -> None:
        self.require(self.condition.type is b1, "the condition is a b1")
        same = self.on_true.type == self.on_false.type
        self.require(same, f"sides have types {self.on_true.type} and {self.on_false.type}")


@operation("cast")
class Cast(Op):
    """The value converted to another scalar type.

    int to int: truncates, or sign-extends a signed source and zero-extends an unsigned one. To b1:
    != 0 (NaN is true). From b1: 0 or 1. int to float, float to float: round to nearest even (a
    large value overflows to infinity). float to int: towards zero, saturating, 0 for NaN.

    ``inside``: a float has an integer of the type; the result is undefined otherwise.
    """

    value: Value
    type: DType
    inside: bool = False
    pure = True
    elementwise = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        for type_ in (self.value.type, self.type):
            self.require(is_scalar(type_), f"{type_} is not a scalar")


@operation("bitcast")
class Bitcast(Op):
    """The same bits as another scalar or vector type of the same size (b1 excluded)."""

    value: Value
    type: Type
    pure = True
    elementwise = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        for type_ in (self.value.type, self.type):
            plain = isinstance(type_, DType | VectorType) and type_ is not b1
            self.require(plain, f"{type_} has no bits to reinterpret")
        self.require(self.value.type.size == self.type.size, "sizes differ")


@operation("fma")
class Fma(Op):
    """a * b + c with one rounding; floats only."""

    a: Value
    b: Value
    c: Value
    fast: FastMath = FastMath.NONE
    pure = True
    elementwise = True
    commutative = True
    produces = ("a",)

    def check(self, scope: Scope) -> None:
        same = self.a.type == self.b.type == self.c.type
        self.require(same, "operand types differ")
        check_accepts(self, self.a.type, "floats")
