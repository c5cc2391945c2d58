"""Short vectors: constructors, components and swizzles, and operators on each component."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

from gridlane.core import argtypes
from gridlane.core.errors import TypingError
from gridlane.frontends.python.conversion import cast_scalar
from gridlane.frontends.python.operands import (
    ComplexNumber,
    Operand,
    Scalar,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.translator import Translator

LETTERS = ("xyzw", "rgba")
"""The names of the components, in two notations that one swizzle does not mix."""

LONGEST = 4
"""The maximum number of components."""


# ---- constructors


def make_vector(
    t: Translator,
    kind: argtypes.VectorType,
    arguments: list[Operand],
    keywords: dict[str, Operand],
) -> Vector:
    """``float32x4(v2, 1.0, 2.0)``: numbers and vectors, which have as many components together as
    the vector has. Each is converted as a cast converts it.

    Raises:
        TypingError: there are more or fewer, an argument is something else, or has a keyword.
    """
    if keywords:
        raise t.fail(TypingError, f"{kind}() takes no keywords; give x, y, z, w in this order")
    numbers: list[Scalar] = []
    for argument in arguments:
        numbers += _numbers_in(t, kind, argument)
    if len(numbers) != kind.count:
        raise t.fail(TypingError, _wrong_count(kind, arguments, len(numbers)))
    return Vector(tuple([cast_scalar(t, one, kind.element.dtype) for one in numbers]))


def _numbers_in(t: Translator, kind: argtypes.VectorType, argument: Operand) -> tuple[Scalar, ...]:
    if isinstance(argument, Vector):
        return argument.numbers
    if isinstance(argument, Scalar):
        return (argument,)
    if isinstance(argument, ComplexNumber):
        return Scalar(argument.real), Scalar(argument.imag)
    advice = "; unpack it, as in *t" if isinstance(argument, TupleOperand) else ""
    raise t.fail(
        TypingError, f"{kind}() takes numbers and vectors, not {argument.type_name}{advice}"
    )


def _wrong_count(kind: argtypes.VectorType, arguments: list[Operand], count: int) -> str:
    given = ", ".join(item.type_name for item in arguments)
    text = f"{kind}() takes {kind.count} components, but ({given}) has {count}"
    if len(arguments) == 1 and isinstance(arguments[0], Scalar):
        return f"{text}; for one number in all, write {kind}({', '.join(['s'] * kind.count)})"
    if len(arguments) == 1 and count > kind.count:
        return f"{text}; choose some, as in v.{kind.fields}"
    return text


# ---- components


def component(t: Translator, vector: Vector, name: str) -> Operand:
    """``v.y``, or a swizzle such as ``v.zyx``: 2 to 4 letters make a vector.

    Raises:
        TypingError: the vector has no such components.
    """
    numbers = vector.numbers
    for letters in LETTERS:
        own = letters[: len(numbers)]
        if 1 <= len(name) <= LONGEST and all(letter in own for letter in name):
            chosen = tuple([numbers[own.index(letter)] for letter in name])
            return chosen[0] if len(chosen) == 1 else Vector(chosen)
    raise t.fail(TypingError, _unknown(vector, name))


def _unknown(vector: Vector, name: str) -> str:
    own = vector.type.fields
    text = f"{vector.type_name} has no component {name!r}; it has {', '.join(own)}"
    if len(name) > LONGEST and set(name) <= set(own):
        return f"{text}, and a swizzle has {LONGEST} letters at the most"
    text += " and swizzles of them" if len(own) > 1 else ""
    from difflib import get_close_matches  # errors alone need it

    near = get_close_matches(name.lower(), _swizzles(len(own)), 1, 0.5)
    return f"{text}: did you mean .{near[0]}?" if near else text


@cache
def _swizzles(count: int) -> tuple[str, ...]:
    lengths = range(1, LONGEST + 1)
    return tuple(["".join(each) for n in lengths for each in product(LETTERS[0][:count], repeat=n)])


def unchanged(vector: Vector, name: str) -> str:
    """The words of a refused store to a component."""
    kind = vector.type
    parts = ", ".join("value" if letter == name else f"v.{letter}" for letter in kind.fields)
    known = name in kind.fields
    new = f"{kind}({parts})" if known else f"{kind}(...)"
    return (
        f"a vector does not change: make another one, as in v = {new}, or a[i] = {new} where it "
        "is an element of an array"
    )


# ---- operators

Binary = Callable[[Translator, Operand, Operand], Operand]
Unary = Callable[[Translator, Operand], Operand]


def binary(symbol: str, emit: Binary) -> Binary:
    """An operator of numbers that works on each component of vectors too, and on vectors beside
    numbers."""

    def each(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
        if not (isinstance(lhs, Vector) or isinstance(rhs, Vector)):
            return emit(t, lhs, rhs)
        pairs = zip(*_sides(t, symbol, lhs, rhs), strict=True)
        extents = [side.extents for side in (lhs, rhs) if isinstance(side, Vector)]
        if extents[0] != extents[-1]:
            raise t.fail(TypingError, _mismatch(symbol, lhs, rhs))
        return _vector([emit(t, a, b) for a, b in pairs], extents[0])

    return each


def unary(emit: Unary) -> Unary:
    """The same for one operand."""

    def each(t: Translator, operand: Operand) -> Operand:
        if not isinstance(operand, Vector):
            return emit(t, operand)
        return _vector([emit(t, number) for number in operand.numbers], operand.extents)

    return each


def _vector(items: list[Operand], extents: tuple[int, ...]) -> Vector:
    numbers = [item for item in items if isinstance(item, Scalar)]
    assert len(numbers) == len(items)
    return Vector(tuple(numbers), extents)


def _sides(
    t: Translator, symbol: str, lhs: Operand, rhs: Operand
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """The components of both sides; a number is repeated for each component of the other side."""
    count = len(next(side for side in (lhs, rhs) if isinstance(side, Vector)).items)
    sides = [_spread(side, count) for side in (lhs, rhs)]
    if sides[0] is None or sides[1] is None:
        raise t.fail(TypingError, _mismatch(symbol, lhs, rhs))
    return sides[0], sides[1]


def _spread(side: Operand, count: int) -> tuple[Scalar, ...] | None:
    if isinstance(side, Scalar):
        return (side,) * count
    return side.numbers if isinstance(side, Vector) and len(side.items) == count else None


def _mismatch(symbol: str, lhs: Operand, rhs: Operand) -> str:
    text = f"{symbol} between {lhs.type_name} and {rhs.type_name} is not defined"
    if isinstance(lhs, Vector) and isinstance(rhs, Vector):
        count = min(len(lhs.items), len(rhs.items))
        return f"{text}; choose as many components, as in v.{'xyzw'[:count]}"
    return f"{text}; a vector takes another one of as many components, or a number"
