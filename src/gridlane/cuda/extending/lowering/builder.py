"""The part of llvmlite's IRBuilder that is translated: numbers, comparisons, conversions, structs.

Integers have no sign in LLVM IR: a value here is a signed one, and operations on unsigned numbers
convert to them and back, which changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.errors import UnsupportedError
from gridlane.cuda.extending.lowering.types import dtype_of_llvm
from gridlane.cuda.extending.lowering.values import (
    Lowered,
    items_of,
    scalar_of,
    signed,
    unsigned,
    with_items,
)
from gridlane.frontends.python.operands import Operand, Scalar
from gridlane.frontends.python.translator import Translator
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

_ARITHMETIC: dict[str, type[Op]] = {
    "add": arith.Add,
    "sub": arith.Sub,
    "mul": arith.Mul,
    "fadd": arith.Add,
    "fsub": arith.Sub,
    "fmul": arith.Mul,
}
_BINARY: dict[str, type[Op]] = {
    "fdiv": arith.Div,
    "sdiv": arith.Div,
    "srem": arith.Rem,
    "frem": arith.Rem,
    "and_": arith.And,
    "or_": arith.Or,
    "xor": arith.Xor,
}
_UNSIGNED: dict[str, type[Op]] = {"udiv": arith.Div, "urem": arith.Rem}
_SHIFTS: dict[str, Callable[[Value, Value], Op]] = {"shl": arith.Shl, "ashr": arith.Shr}
_COMPARE: dict[str, type[Op]] = {
    "==": arith.Eq,
    "!=": arith.Ne,
    "<": arith.Lt,
    "<=": arith.Le,
    ">": arith.Gt,
    ">=": arith.Ge,
}
_CASTS = {
    "trunc": (False, False),  # the low bits
    "zext": (False, False),  # zeros in front
    "sext": (False, False),  # copies of the sign in front
    "fpext": (True, True),
    "fptrunc": (True, True),  # rounded
    "fptosi": (True, False),
    "fptoui": (True, False),
    "sitofp": (False, True),
    "uitofp": (False, True),
}
"""Conversions: whether they take a float, and make one."""
_NARROWER = ("trunc", "fptrunc")
_WIDER = ("sext", "fpext", "zext")


class Builder:
    """Emits ops where the translation is; every method returns a value."""

    def __init__(self, t: Translator) -> None:
        self._t = t

    def _made(self, operand: Operand) -> Lowered:
        return Lowered(self._t, operand)

    def _pair(self, name: str, lhs: Any, rhs: Any) -> tuple[Scalar, Scalar]:
        a, b = scalar_of(self._t, lhs), scalar_of(self._t, rhs)
        if a.dtype is not b.dtype:
            raise self._t.fail(UnsupportedError, f"builder.{name} of {a.dtype} and {b.dtype}")
        if a.dtype.is_float is not name.startswith("f"):
            raise self._t.fail(UnsupportedError, f"builder.{name} does not take {a.dtype}")
        return a, b

    def __getattr__(self, name: str) -> Any:
        if name in _ARITHMETIC or name in _BINARY or name in _UNSIGNED:
            return lambda lhs, rhs, *_, **__: self._binary(name, lhs, rhs)
        if name in _SHIFTS or name == "lshr":
            return lambda lhs, rhs, *_, **__: self._shift(name, lhs, rhs)
        if name in _CASTS:
            return lambda value, kind, *_, **__: self._cast(name, value, kind)
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._t.fail(
            UnsupportedError,
            f"builder.{name} is not translated; builder has arithmetic, comparisons, conversions, "
            "select, extract_value and insert_value. Write the rest in Python: "
            "context.compile_internal(builder, function, signature, args), or @overload",
        )

    def _binary(self, name: str, lhs: Any, rhs: Any) -> Lowered:
        t = self._t
        a, b = self._pair(name, lhs, rhs)
        if a.dtype.is_bool and name not in ("and_", "or_", "xor"):
            raise t.fail(UnsupportedError, f"builder.{name} of bools; extend them with zext")
        if name in _ARITHMETIC:
            return self._made(Scalar(t.arithmetic(_ARITHMETIC[name], a.value, b.value)))
        if name in _UNSIGNED:
            op = _UNSIGNED[name]
            number = t.b.binary(op, unsigned(t, a).value, unsigned(t, b).value)
            return self._made(signed(t, Scalar(number)))
        return self._made(Scalar(t.b.binary(_BINARY[name], a.value, b.value)))

    def _shift(self, name: str, lhs: Any, rhs: Any) -> Lowered:
        t = self._t
        a, b = self._pair(name, lhs, rhs)
        if name == "lshr":
            op = arith.Shr(unsigned(t, a).value, unsigned(t, b).value)
        else:
            op = _SHIFTS[name](a.value, b.value)
        return self._made(signed(t, Scalar(t.b.value(op))))

    def neg(self, value: Any, *_: Any, **__: Any) -> Lowered:
        """``-value`` of an integer."""
        return self._made(Scalar(self._t.b.neg(scalar_of(self._t, value).value)))

    fneg = neg

    def not_(self, value: Any, *_: Any, **__: Any) -> Lowered:
        """The bits of an integer, inverted."""
        return self._made(Scalar(self._t.b.not_(scalar_of(self._t, value).value)))

    def fma(self, a: Any, b: Any, c: Any, *_: Any, **__: Any) -> Lowered:
        """``a * b + c``, rounded once."""
        values = [scalar_of(self._t, each).value for each in (a, b, c)]
        return self._made(Scalar(self._t.b.fma(*values)))

    # ---- comparisons

    def icmp_signed(self, op: str, lhs: Any, rhs: Any, name: str = "") -> Lowered:
        """Compare integers with a sign."""
        a, b = self._pair("icmp_signed", lhs, rhs)
        return self._made(Scalar(self._t.b.binary(_COMPARE[op], a.value, b.value)))

    def icmp_unsigned(self, op: str, lhs: Any, rhs: Any, name: str = "") -> Lowered:
        """Compare integers without a sign."""
        t = self._t
        a, b = (unsigned(t, each) for each in self._pair("icmp_unsigned", lhs, rhs))
        return self._made(Scalar(t.b.binary(_COMPARE[op], a.value, b.value)))

    def fcmp_ordered(self, op: str, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Lowered:
        """Compare floats; false where one is a NaN."""
        b = self._t.b
        x, y = (each.value for each in self._pair("fcmp_ordered", lhs, rhs))
        both = b.and_(b.eq(x, x), b.eq(y, y))
        if op == "ord":
            return self._made(Scalar(both))
        comparison = b.binary(_COMPARE[op], x, y)
        return self._made(Scalar(b.and_(comparison, both) if op == "!=" else comparison))

    def fcmp_unordered(
        self, op: str, lhs: Any, rhs: Any, name: str = "", flags: Any = ()
    ) -> Lowered:
        """Compare floats; true where one is a NaN."""
        b = self._t.b
        x, y = (each.value for each in self._pair("fcmp_unordered", lhs, rhs))
        either = b.not_(b.and_(b.eq(x, x), b.eq(y, y)))
        if op == "uno":
            return self._made(Scalar(either))
        return self._made(Scalar(b.or_(b.binary(_COMPARE[op], x, y), either)))

    def select(self, cond: Any, lhs: Any, rhs: Any, *_: Any, **__: Any) -> Lowered:
        """One of two numbers."""
        t = self._t
        a, b = scalar_of(t, lhs), scalar_of(t, rhs)
        if a.dtype is not b.dtype:
            raise t.fail(UnsupportedError, f"builder.select of {a.dtype} and {b.dtype}")
        return self._made(Scalar(t.b.select(scalar_of(t, cond).value, a.value, b.value)))

    # ---- conversions

    def _cast(self, name: str, value: Any, kind: Any) -> Lowered:
        t = self._t
        number, wanted = scalar_of(t, value), dtype_of_llvm(kind)
        own = number.dtype
        narrower = wanted.bits < own.bits
        fits = (own.is_float, wanted.is_float) == _CASTS[name]
        fits &= narrower if name in _NARROWER else True
        fits &= wanted.bits > own.bits if name in _WIDER else True
        if not fits:
            raise t.fail(UnsupportedError, f"builder.{name} does not convert {own} to {wanted}")
        if name in ("zext", "uitofp"):
            number = unsigned(t, number)
        if wanted.is_bool:
            one = t.number(1, own)
            return self._made(Scalar(t.b.eq(t.b.and_(number.value, one.value), one.value)))
        if name == "fptoui":
            scalar = Scalar(t.b.cast(number.value, unsigned(t, t.number(0, wanted)).dtype))
            return self._made(signed(t, scalar))
        scalar = Scalar(t.b.cast(number.value, wanted))
        if own.is_bool and name in ("sext", "sitofp"):
            scalar = Scalar(t.b.neg(scalar.value))
        return self._made(scalar)

    def bitcast(self, value: Any, kind: Any, name: str = "") -> Lowered:
        """The same bits as another number."""
        t = self._t
        number, wanted = scalar_of(t, value), dtype_of_llvm(kind)
        if number.dtype is wanted:
            return self._made(number)
        if number.dtype.bits != wanted.bits:
            raise t.fail(UnsupportedError, f"builder.bitcast of {number.dtype} to {wanted}")
        return self._made(Scalar(t.b.bitcast(number.value, wanted)))

    # ---- structs

    def extract_value(self, value: Any, index: Any, *_: Any, **__: Any) -> Lowered:
        """A member of a struct, by its number or by a path of numbers."""
        for number in [index] if isinstance(index, int) else index:
            value = self._made(items_of(self._t, value)[number])
        return value

    def insert_value(self, value: Any, item: Any, index: Any, *_: Any, **__: Any) -> Lowered:
        """A struct with another member."""
        t = self._t
        path = [index] if isinstance(index, int) else list(index)
        items = list(items_of(t, value))
        if len(path) > 1:
            inner = self.insert_value(self._made(items[path[0]]), item, path[1:])
            items[path[0]] = inner.operand
        else:
            items[path[0]] = item.operand if isinstance(item, Lowered) else scalar_of(t, item)
        return self._made(with_items(value.operand, tuple(items)))
