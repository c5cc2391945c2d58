"""Formulas over the IR: values with Python's operators, and the writer of their ops.

A function of mathematics takes a ``Writer`` and ``Expression`` operands and returns expressions;
a number beside an expression becomes a constant of its type.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from gridlane.core.dtypes import (
    DType,
    b1,
    bf16,
    f16,
    f32,
    f64,
    i16,
    i32,
    i64,
    u16,
    u32,
    u64,
)
from gridlane.core.frozen import frozen
from gridlane.ir.builder import Builder, rounded
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.ir.types import Type
from gridlane.ir.values import Value, Var

Number = int | float


@frozen
class Format:
    """A float type and its layout.

    Attributes:
        precision: bits of the significand, the hidden one included.
        bias: the exponent of the largest power of two.
        whole, unsigned: the integers of the same width.
    """

    dtype: DType
    whole: DType
    unsigned: DType
    precision: int
    bias: int

    @property
    def fraction(self) -> int:
        """Bits of the stored significand."""
        return self.precision - 1

    @property
    def tiny(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign(self) -> int:
        """The sign bit, as a signed integer."""
        return self.whole.min

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return self.whole.max


FORMATS = {
    f32: Format(f32, i32, u32, 24, 127),
    f64: Format(f64, i64, u64, 53, 1023),
}
"""The float types that functions are written for."""

NARROW = {
    f16: Format(f16, i16, u16, 11, 15),
    bf16: Format(bf16, i16, u16, 8, 127),
}
"""The types that compute in f32, except for functions of the bits alone."""


def _of_two(op: type[Op]):
    def method(self: Expression, other: Expression | Number) -> Expression:
        return self.writer.binary(op, self, _lifted(self, other))

    return method


def _reversed(op: type[Op]):
    def method(self: Expression, other: Number) -> Expression:
        return self.writer.binary(op, _lifted(self, other), self)

    return method


def _of_one(op: type[Op]):
    def method(self: Expression) -> Expression:
        return self.writer.wrap(self.writer.builder.unary(op, self.value))

    return method


def _lifted(like: Expression, other: Expression | Number) -> Expression:
    return other if isinstance(other, Expression) else like.writer.const(other, like.dtype)


class Expression:
    """A value with operators. ``equals`` and ``differs`` compare for equality."""

    __slots__ = ("value", "writer")

    def __init__(self, writer: Writer, value: Value) -> None:
        self.writer = writer
        self.value = value

    @property
    def dtype(self) -> DType:
        """The scalar type."""
        assert isinstance(self.value.type, DType)
        return self.value.type

    __add__ = _of_two(arith.Add)
    __radd__ = _reversed(arith.Add)
    __sub__ = _of_two(arith.Sub)
    __rsub__ = _reversed(arith.Sub)
    __mul__ = _of_two(arith.Mul)
    __rmul__ = _reversed(arith.Mul)
    __truediv__ = _of_two(arith.Div)
    __rtruediv__ = _reversed(arith.Div)
    __mod__ = _of_two(arith.Rem)
    __and__ = _of_two(arith.And)
    __or__ = _of_two(arith.Or)
    __xor__ = _of_two(arith.Xor)
    __lshift__ = _of_two(arith.Shl)
    __rshift__ = _of_two(arith.Shr)
    __neg__ = _of_one(arith.Neg)
    __invert__ = _of_one(arith.Not)
    __abs__ = _of_one(arith.Abs)
    __lt__ = _of_two(arith.Lt)
    __le__ = _of_two(arith.Le)
    __gt__ = _of_two(arith.Gt)
    __ge__ = _of_two(arith.Ge)

    equals = _of_two(arith.Eq)
    """self == other."""

    differs = _of_two(arith.Ne)
    """self != other; true for NaN."""

    def is_nan(self) -> Expression:
        """Whether a float is NaN."""
        return self.differs(self)

    high_product = _of_two(arith.MulHi)
    """The upper half of the double-width product of integers."""

    leading_zeros = _of_one(arith.Clz)
    """Leading zero bits of an integer."""

    least = _of_two(arith.Min)
    """The smaller; a number wins over NaN."""

    most = _of_two(arith.Max)
    """The larger; a number wins over NaN."""

    sqrt = _of_one(math.Sqrt)
    """The square root, correctly rounded."""

    rint = _of_one(math.Rint)
    """The nearest integral float."""

    trunc = _of_one(math.Trunc)
    """The value rounded to an integral float towards zero."""

    def cast(self, dtype: DType) -> Expression:
        """The value converted to another scalar type."""
        return self.writer.wrap(self.writer.builder.cast(self.value, dtype))

    def reread(self, dtype: DType) -> Expression:
        """The value's bits as another type."""
        return self.writer.wrap(self.writer.builder.bitcast(self.value, dtype))


class Local:
    """A variable of the function under construction."""

    def __init__(self, writer: Writer, var: Var) -> None:
        self._writer, self._var = writer, var

    def get(self) -> Expression:
        """The variable's value at this point."""
        return self._writer.wrap(self._writer.builder.read(self._var))

    def set(self, value: Expression) -> None:
        """Write the variable at this point."""
        self._writer.builder.write(self._var, value.value)


class Writer:
    """Writes one function in one float format. ``constants`` collects the constants, each once;
    they belong at the function's start. ``fuses``: ``fma`` of f32 rounds once."""

    def __init__(self, builder: Builder, form: Format, fuses: bool = False) -> None:
        self.builder = builder
        self.form = form
        self.fuses = fuses
        self.constants: dict[tuple[str, Type], arith.Const] = {}

    def wrap(self, value: Value) -> Expression:
        """An IR value as an expression."""
        return Expression(self, value)

    def const(self, number: Number, dtype: DType) -> Expression:
        """A constant of any type; floats are rounded to it."""
        exact = rounded(number, dtype)
        key = (repr(exact), dtype)  # repr, as 0.0 and -0.0 are equal
        if key not in self.constants:
            self.constants[key] = arith.Const(exact, dtype)
        return self.wrap(self.constants[key].results[0])

    def real(self, number: Number | Fraction) -> Expression:
        """A constant of the writer's float type."""
        return self.const(float(number), self.form.dtype)

    def true(self) -> Expression:
        """The constant True."""
        return self.const(True, b1)

    def binary(self, op: type[Op], lhs: Expression, rhs: Expression) -> Expression:
        """Emit an op of two operands."""
        return self.wrap(self.builder.value(op(lhs.value, rhs.value)))  # type: ignore[call-arg]  # the fields of every Binary

    def fma(self, a: Expression, b: Expression, c: Expression | Number) -> Expression:
        """a * b + c, with one rounding or two."""
        last = c if isinstance(c, Expression) else self.real(c)
        return self.wrap(self.builder.fma(a.value, b.value, last.value))

    def polynomial(self, x: Expression, coefficients: Sequence[float]) -> Expression:
        """Evaluate by Horner's rule, lowest power first."""
        total = self.real(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, coefficient)
        return total

    def select(
        self, condition: Expression, on_true: Expression | Number, on_false: Expression | Number
    ) -> Expression:
        """Select one of two values; a number takes the other's type or is a float."""
        if not isinstance(on_true, Expression):
            like = on_false.dtype if isinstance(on_false, Expression) else self.form.dtype
            on_true = self.const(on_true, like)
        if not isinstance(on_false, Expression):
            on_false = self.const(on_false, on_true.dtype)
        return self.wrap(self.builder.select(condition.value, on_true.value, on_false.value))

    def variable(self, name: str, start: Expression) -> Local:
        """A variable with an initial value."""
        local = Local(self, self.builder.variable(name, start.value.type))
        local.set(start)
        return local

    @contextmanager
    def when(self, condition: Expression) -> Generator[None, None, None]:
        """Run the ops written in the block where the condition holds."""
        with self.builder.if_(condition.value):
            yield

    # ---- the bits of floats

    def bits(self, x: Expression) -> Expression:
        """A float's bits as a signed integer."""
        return x.reread(self.form.whole)

    def from_bits(self, bits: Expression) -> Expression:
        """The float that has these bits."""
        return bits.reread(self.form.dtype)

    def power_of_two(self, exponent: Expression) -> Expression:
        """2 to the power of an i32, in the normal range."""
        biased = (exponent + self.form.bias).cast(self.form.whole)
        return self.from_bits(biased << self.form.fraction)

    def scaled(self, x: Expression, exponent: Expression) -> Expression:
        """x * 2**exponent, rounded once when x is between 1/4 and 4; the exponent is an i32
        within twice the range of exponents."""
        half = exponent >> 1
        return x * self.power_of_two(half) * self.power_of_two(exponent - half)

    def with_sign(self, x: Expression, sign: Expression) -> Expression:
        """The magnitude of x with the sign of another float."""
        form = self.form
        return self.from_bits((self.bits(x) & form.magnitude) | (self.bits(sign) & form.sign))

    def is_negative(self, x: Expression) -> Expression:
        """Whether the sign bit is set."""
        return self.bits(x) < 0
