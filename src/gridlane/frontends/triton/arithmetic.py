"""Arithmetic, comparisons and logic of tensors, and their operators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any

from gridlane.core.dtypes import b1
from gridlane.frontends.triton.casting import converted, reinterpreted, to_bool
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import Build, builtin
from gridlane.frontends.triton.elementwise import apply
from gridlane.frontends.triton.narrow import FORMATS, magnitude
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.promotion import (
    IncompatibleTypeError,
    operands,
    promoted_integers,
)
from gridlane.frontends.triton.shapes import expanded, matched
from gridlane.frontends.triton.types import (
    bfloat16,
    float32,
    get_int_dtype,
    int1,
    int32,
    require_arithmetic,
)
from gridlane.frontends.triton.values import define, member, tensor
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.values import Value


class PropagateNan(Enum):
    """What minimum and maximum of a NaN are: the other operand, or NaN."""

    NONE = 0
    ALL = 0xFFFF


def _logic(truth: Build, op: type[Op]) -> Build:
    """An op of numbers, and what it is of b1, whose arithmetic is that of one bit."""

    def build(b: Builder, x: Value, y: Value) -> Value:
        made = truth(b, x, y) if x.type is b1 else b.binary(op, x, y)
        assert isinstance(made, Value)
        return made

    return build


def _of(op: type[Op]) -> Build:
    return lambda b, x, y: b.binary(op, x, y)


def _less(b: Builder, x: Value, y: Value) -> Value:
    return b.and_(b.not_(x), y)


def _less_equal(b: Builder, x: Value, y: Value) -> Value:
    return b.or_(b.not_(x), y)


BUILDS: dict[str, Build] = {
    "add": _logic(_of(arith.Xor), arith.Add),
    "sub": _logic(_of(arith.Xor), arith.Sub),
    "mul": _logic(_of(arith.And), arith.Mul),
    "div": _logic(lambda b, x, y: x, arith.Div),
    "rem": _logic(lambda b, x, y: b.const(False, b1), arith.Rem),
    "min": _logic(_of(arith.And), arith.Min),
    "max": _logic(_of(arith.Or), arith.Max),
    "and": _of(arith.And),
    "or": _of(arith.Or),
    "xor": _of(arith.Xor),
    "eq": _of(arith.Eq),
    "ne": _of(arith.Ne),
    "lt": _logic(_less, arith.Lt),
    "le": _logic(_less_equal, arith.Le),
    "gt": _logic(lambda b, x, y: _less(b, y, x), arith.Gt),
    "ge": _logic(lambda b, x, y: _less_equal(b, y, x), arith.Ge),
    "shl": lambda b, x, y: b.value(arith.Shl(x, y)),
    "shr": lambda b, x, y: b.value(arith.Shr(x, y)),
}
"""The ops of two scalars of one type."""


def _number_or_tensor(value: Any) -> Any:
    plain = unwrapped(value)
    if not isinstance(plain, (tensor, bool, int, float)):
        raise TypeError(f"cannot convert {plain} of type {type(plain)} to tensor")
    return plain


def _computed(name: str, x: Any, y: Any, divides: bool = False) -> tensor:
    first, second = operands(_number_or_tensor(x), _number_or_tensor(y), divides=divides)
    require_arithmetic(first.dtype, name)
    return apply(name, BUILDS[name], [first, second], first.dtype)


@builtin
def add(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """x + y; a pointer moves by elements."""
    first, second = operands(_number_or_tensor(x), _number_or_tensor(y), pointers=(True, True))
    if first.dtype.is_ptr() and second.dtype.is_ptr():
        raise TypeError("cannot add pointers together")
    if second.dtype.is_ptr():
        first, second = second, first
    if first.dtype.is_ptr():
        return _moved(first, second)
    require_arithmetic(first.dtype, "addition")
    return apply("add", BUILDS["add"], [first, second], first.dtype)


def _moved(pointer: tensor, offset: tensor) -> tensor:
    """A pointer some elements further. Unsigned offsets are extended with zeros."""
    if offset.dtype.is_bool():
        offset = converted(offset, int32)

    def build(b: Builder, x: Value, y: Value) -> Value:
        return b.value(memory.Offset(x, y))

    return apply("offset", build, [pointer, offset], pointer.dtype)


@builtin
def sub(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """x - y; a pointer moves by elements."""
    first, second = operands(_number_or_tensor(x), _number_or_tensor(y), pointers=(True, False))
    if first.dtype.is_ptr():
        return _moved(first, negated(second))
    require_arithmetic(first.dtype, "subtraction")
    return apply("sub", BUILDS["sub"], [first, second], first.dtype)


@builtin
def mul(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """x * y."""
    return _computed("mul", x, y)


@builtin
def truediv(x: Any, y: Any) -> tensor:
    """x / y, in float32 where both are integers."""
    first, second = operands(_number_or_tensor(x), _number_or_tensor(y), divides=True)
    if first.dtype.is_int():
        first, second = converted(first, float32), converted(second, float32)
    require_arithmetic(first.dtype, "division")
    return apply("div", BUILDS["div"], [first, second], first.dtype)


@builtin
def floordiv(x: Any, y: Any) -> tensor:
    """x // y of integers, rounded towards zero."""
    first, second = operands(_number_or_tensor(x), _number_or_tensor(y), divides=True)
    if not first.dtype.is_int():
        raise TypeError(
            f"unexpected type {first.dtype}: // is of integers; use tl.floor(x / y) of floats"
        )
    return apply("div", BUILDS["div"], [first, second], first.dtype)


@builtin
def mod(x: Any, y: Any) -> tensor:
    """x % y, with the sign of x."""
    return _computed("rem", x, y, divides=True)


def negated(x: tensor) -> tensor:
    """-x; floats change their sign, that of 0 too."""
    if x.dtype.is_ptr():
        raise ValueError(f"wrong type argument to unary minus ({x.dtype!r})")
    if x.dtype.is_bool():
        return x
    require_arithmetic(x.dtype, "negation")
    return apply("neg", lambda b, v: b.neg(v), [x], x.dtype)


def inverted(x: tensor) -> tensor:
    """All bits flipped."""
    if x.dtype.is_ptr() or x.dtype.is_floating():
        raise ValueError(f"wrong type argument to unary invert ({x.dtype!r})")
    return apply("not", lambda b, v: b.not_(v), [x], x.dtype)


# ---- bits


def _bits(x: Any, y: Any) -> tuple[tensor, tensor]:
    first, second = operands(_number_or_tensor(x), _number_or_tensor(y))
    if not first.dtype.is_int() or not second.dtype.is_int():
        raise IncompatibleTypeError(first.dtype, second.dtype)
    kind = promoted_integers(first.dtype, second.dtype)
    return converted(first, kind), converted(second, kind)


def _bitwise(name: str, x: Any, y: Any) -> tensor:
    first, second = _bits(x, y)
    return apply(name, BUILDS[name], [first, second], first.dtype)


def _shifted_left(x: Any, y: Any) -> tensor:
    first, second = _bits(x, y)
    build = _of_one_bit if first.dtype.is_bool() else BUILDS["shl"]
    return apply("shl", build, [first, second], first.dtype)


def _of_one_bit(b: Builder, x: Value, y: Value) -> Value:
    return b.and_(x, b.not_(y))


def _shifted_right(x: Any, y: Any, is_signed: bool) -> tensor:
    """x >> y, arithmetic where the tensor that has the operator is signed."""
    first, second = _bits(x, y)
    kind = first.dtype
    if kind.is_bool():
        return apply("shr", _of_one_bit, [first, second], kind)
    with_sign = get_int_dtype(kind.int_bitwidth, is_signed)
    value = reinterpreted(first, with_sign)
    shifted = apply("shr", BUILDS["shr"], [value, second], with_sign)
    return reinterpreted(shifted, kind)


# ---- comparisons


def compared(name: str, x: Any, y: Any) -> tensor:
    """A comparison. A number has a type of its own here, before both are converted to one."""
    first, second = to_tensor(x), to_tensor(y)
    first, second = operands(first, second)
    require_arithmetic(first.dtype, "comparison")
    return apply(name, BUILDS[name], [first, second], int1)


def logical(name: str, x: Any, y: Any) -> tensor:
    """``and`` and ``or`` of conditions; both are evaluated."""
    first, second = to_tensor(x), to_tensor(y)
    for each in (first, second):
        if not each.dtype.is_bool():
            raise ValueError(
                f"Cannot bitcast data-type of size {each.dtype.primitive_bitwidth} to data-type of "
                "size 1: `and`, `or` and `not` are of conditions; compare the number, as in x != 0"
            )
    return _bitwise(name, first, second)


def negation(x: tensor) -> tensor:
    """``not`` of a condition."""
    if not x.dtype.is_bool():
        raise ValueError(
            f"Cannot bitcast data-type of size {x.dtype.primitive_bitwidth} to data-type of "
            "size 1: `not` is of conditions; compare the number, as in x == 0"
        )
    return inverted(x)


# ---- selection


@builtin
def where(condition: Any, x: Any, y: Any) -> tensor:
    """The elements of ``x`` where the condition holds, else those of ``y``."""
    first, second = operands(_number_or_tensor(x), _number_or_tensor(y), pointers=(True, True))
    if first.dtype != second.dtype:
        raise IncompatibleTypeError(first.dtype, second.dtype)
    given = to_tensor(condition)
    if not given.dtype.is_bool():
        warnings.warn(
            "tl.where with a non-boolean condition is deprecated and will error out in a future "
            f"triton release. Got {given.dtype}",
            stacklevel=2,
        )
    truth, first, second = matched(to_bool(given), first, second)

    def build(b: Builder, c: Value, v: Value, w: Value) -> Value:
        return b.select(c, v, w)

    return apply("select", build, [truth, first, second], first.dtype)


def wide(value: tensor) -> tensor:
    """bfloat16 as float32, in which it is compared."""
    return converted(value, float32) if value.dtype == bfloat16 else value


def _extremum(name: str, x: Any, y: Any, propagate_nan: Any) -> tensor:
    first, second = operands(wide(to_tensor(x)), wide(to_tensor(y)))
    if first.dtype.is_ptr():
        raise TypeError(f"Unexpected dtype {first.dtype}")
    require_arithmetic(first.dtype, name)
    if first.dtype.is_floating() and unwrapped(propagate_nan) is PropagateNan.ALL:
        return apply(f"{name}_nan", _with_nan(BUILDS[name]), [first, second], first.dtype)
    return apply(name, BUILDS[name], [first, second], first.dtype)


def _with_nan(build: Build) -> Build:
    def with_nan(b: Builder, x: Value, y: Value) -> Value:
        plain = build(b, x, y)
        assert isinstance(plain, Value)
        other = b.select(b.binary(arith.Ne, y, y), y, plain)
        return b.select(b.binary(arith.Ne, x, x), x, other)

    return with_nan


@builtin
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The smaller of each two elements."""
    return _extremum("min", x, y, propagate_nan)


@builtin
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The larger of each two elements."""
    return _extremum("max", x, y, propagate_nan)


@builtin
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The elements of ``x``, and the bound where one is passed."""
    lower, upper = operands(wide(to_tensor(min)), wide(to_tensor(max)))
    value, lower = operands(wide(to_tensor(x)), lower)
    value, upper = operands(value, upper)
    value, lower = operands(value, lower)
    if not value.dtype.is_floating():
        raise TypeError(f"Unexpected dtype {value.dtype}. Only floating point clamp is supported")
    require_arithmetic(value.dtype, "clamp")
    keeps = unwrapped(propagate_nan) is PropagateNan.ALL

    def build(b: Builder, v: Value, low: Value, high: Value) -> Value:
        result = b.binary(arith.Min, b.binary(arith.Max, v, low), high)
        return b.select(b.binary(arith.Ne, v, v), v, result) if keeps else result

    value, lower, upper = matched(value, lower, upper)
    name = "clamp_nan" if keeps else "clamp"
    return apply(name, build, [value, lower, upper], value.dtype)


@member
@builtin
def abs(x: Any) -> tensor:
    """The magnitude of the elements."""
    value = to_tensor(x)
    if value.dtype.is_int_unsigned():
        return value
    if value.dtype.is_ptr():
        raise TypeError(f"Unexpected dtype {value.dtype}")
    form = FORMATS.get(value.dtype.name)
    if form is not None:
        name = f"abs.{value.dtype}"
        return apply(name, lambda b, code: magnitude(b, code, form), [value], value.dtype)
    return apply("abs", lambda b, v: b.unary(arith.Abs, v), [value], value.dtype)


# ---- operators


def indexed(x: tensor, index: Any) -> tensor:
    """``x[:, None]``: new axes."""
    items = index if isinstance(index, tuple) else (index,)
    for axis, each in enumerate(items):
        plain = unwrapped(each)
        if plain is None:
            x = expanded(x, axis)
        elif plain != slice(None):
            raise ValueError(
                f"unsupported tensor index: {plain}; elements are taken by tl.gather, or by "
                "loading from other addresses"
            )
    return x


Operator = Callable[[Any, Any], Any]

_OPERATORS: dict[str, Operator] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "truediv": truediv,
    "floordiv": floordiv,
    "mod": mod,
    "and": lambda x, y: _bitwise("and", x, y),
    "or": lambda x, y: _bitwise("or", x, y),
    "xor": lambda x, y: _bitwise("xor", x, y),
    "lshift": _shifted_left,
}
"""Python's operators of tensors, which have reflected forms."""


def _define_operators() -> None:
    for name, function in _OPERATORS.items():
        define(f"__{name}__", lambda x, y, f=function: f(x, y))  # type: ignore[misc]
        define(f"__r{name}__", lambda x, y, f=function: f(y, x))  # type: ignore[misc]
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        define(f"__{name}__", lambda x, y, n=name: compared(n, x, y))  # type: ignore[misc]
    define("__rshift__", lambda x, y: _shifted_right(x, y, x.dtype.is_int_signed()))
    define("__rrshift__", lambda x, y: _shifted_right(y, x, x.dtype.is_int_signed()))
    define("__neg__", negated)
    define("__pos__", lambda x: x)
    define("__invert__", inverted)
    define("__getitem__", indexed)


_define_operators()
