"""Functions of numpy on whole arrays, and their operators.

The result is an expression: an element of it is computed where that is read, so it takes no memory.
What is read at once is so by construction. Else nothing may change the operands, which
``unchanged`` proves of the whole module; an expression of which it cannot has memory of the thread.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.dtypes import DType, b1, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import promotion
from gridlane.frontends.python.broadcasting import applied, require_broadcast, stop_where
from gridlane.frontends.python.conversion import cast_scalar, strides_of
from gridlane.frontends.python.operands import (
    ArrayExpression,
    ArrayView,
    Chars,
    ComplexNumber,
    Elements,
    Operand,
    Scalar,
    Time,
)
from gridlane.frontends.python.stores import (
    broadcast_store,
    fill_view,
    new_array,
)
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unchanged import settle
from gridlane.frontends.python.unit import Made, MemoryNeeded
from gridlane.ir.builder import constant
from gridlane.ir.types import Space
from gridlane.ir.values import Region, Value


def true_divide(x1: Any, x2: Any) -> Any:
    """``np.true_divide`` of the elements of arrays, which has numpy's types: of two numbers it has
    those of numba, float32 for small integers."""
    return np.true_divide(x1, x2)


OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.Pow: np.power,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Invert: np.invert,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
"""The function of numpy's that an operator means between arrays."""

_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
_EXTENT = 1 << 48
_NUMBERS = argtypes.ScalarType | argtypes.ComplexType | argtypes.TimeType


def of_arrays(t: Translator, kind: type[ast.AST], *operands: Operand) -> Operand | None:
    """An operator with an array as operand, element by element; None for any other."""
    function = OPERATORS.get(kind)
    if function is None or not are_arrays(operands):
        return None
    return apply(t, function, operands)


def are_arrays(operands: Sequence[Operand]) -> bool:
    """Whether operands are numbers and arrays of numbers, and one is an array."""
    return any(isinstance(each, Elements) for each in operands) and all(
        isinstance(each.type.element, _NUMBERS)
        if isinstance(each, Elements)
        else isinstance(each, Scalar | ComplexNumber | Time)
        for each in operands
    )


def apply(t: Translator, function: Any, operands: Sequence[Operand]) -> Operand:
    """A function of numpy's on arrays that broadcast; a number where all have no axes."""
    function = true_divide if function is np.true_divide else function
    for each in operands:
        if isinstance(each, ArrayExpression):
            settle(t, each)
    operands = _with_floats(t, function, operands)
    shape = _common_shape(t, [each for each in operands if isinstance(each, Elements)])
    if not shape:
        return applied(t, function, operands, (), [])
    element = _result(t, function, operands, shape)
    extents = tuple([_extent(each) for each in shape])
    return _made(t, ArrayExpression(function, element, t.b.loc, tuple(operands), extents))


def _with_floats(t: Translator, function: Any, operands: Sequence[Operand]) -> list[Operand]:
    """The operands, with integers next to arrays of floats alone converted to their type, as in
    numba, and for Python's integers in numpy. Comparisons do not convert them."""
    arrays = [each.type.element for each in operands if isinstance(each, Elements)]
    floats = [_float_of(element) for element in arrays]
    known = [dtype for dtype in floats if dtype is not None]
    if function in _COMPARISONS or not known or len(known) < len(floats):
        return list(operands)
    widest = reduce(promotion.unify, known)
    return [
        cast_scalar(t, each, widest)
        if isinstance(each, Scalar) and each.dtype.is_integer and not each.dtype.is_bool
        else each
        for each in operands
    ]


def _float_of(element: argtypes.ArgType) -> DType | None:
    """The floats that numbers are made of; None for others."""
    if isinstance(element, argtypes.ComplexType):
        return element.part
    is_float = isinstance(element, argtypes.ScalarType) and element.dtype.is_float
    return element.dtype if is_float else None  # type: ignore[union-attr]  # a scalar type


def _made(t: Translator, expression: ArrayExpression) -> Operand:
    """An expression, or an array of its values where these have memory."""
    if expression.place in t.unit.stored:
        return _stored(t, expression)
    region = t.b.region
    t.unit.expressions[expression] = Made(t.b.function, region, len(region.ops))
    return expression


def _stored(t: Translator, expression: ArrayExpression) -> ArrayView:
    array = new_array(t, expression.element, expression.shape)
    broadcast_store(t, array, expression)
    return array


def _extent(value: Value) -> Scalar:
    known = constant(value)
    return Scalar(value, known, known) if type(known) is int else Scalar(value, 0, _EXTENT)


def _common_shape(t: Translator, arrays: list[Elements]) -> tuple[Value, ...]:
    """The shape to which arrays broadcast. The thread ends where there is none.

    Raises:
        TypingError: there is none, as is known now.
    """
    b, wrong = t.b, t.b.const(False, b1)
    shape: list[Value] = [b.const(1, i64)] * max(each.type.ndim for each in arrays)
    for each in arrays:
        missing = len(shape) - each.type.ndim
        for axis, extent in enumerate(each.shape, missing):
            have = shape[axis]
            known, own = constant(have), constant(extent)
            if own == 1 or have is extent or (own is not None and known == own):
                continue
            if known == 1:
                shape[axis] = extent
                continue
            if known is not None and own is not None:
                raise t.fail(TypingError, f"axes of {known} and {own} elements do not broadcast")
            one = b.const(1, i64)
            is_one, own_is_one = b.eq(have, one), b.eq(extent, one)
            fits = b.or_(b.eq(have, extent), b.or_(is_one, own_is_one))
            wrong = b.not_(fits) if constant(wrong) is False else b.or_(wrong, b.not_(fits))
            shape[axis] = have if known is not None else b.select(is_one, extent, have)
            if own is not None:
                shape[axis] = extent
    stop_where(t, wrong, "arrays do not broadcast to one shape")
    return tuple(shape)


def _result(
    t: Translator, function: Any, operands: Sequence[Operand], shape: tuple[Value, ...]
) -> argtypes.ArgType:
    """The type of the results, found by translating one, which is discarded."""
    dead, causes, variables = t.dead, len(t.causes or ()), len(t.b.function.variables)
    with t.b.inside(Region()):
        first = [t.b.const(0, i64) for _ in shape]
        first_result = applied(t, function, operands, shape, first)
    t.dead = dead
    if t.causes is not None:
        del t.causes[causes:]
    del t.b.function.variables[variables:]
    if isinstance(first_result, Scalar):
        return argtypes.scalar_of(first_result.dtype)
    if isinstance(first_result, ComplexNumber):
        return argtypes.complex_of(first_result.part)
    if isinstance(first_result, Time | Chars):
        return first_result.type
    raise t.fail(
        TypingError, f"np.{function.__name__} gives {first_result.type_name}, which no array holds"
    )


# ---- memory


def memory_needed(t: Translator, expression: ArrayExpression, use: str) -> MemoryNeeded:
    """The error of an expression that is used as only an array in memory can be. It is one when the
    kernel is translated again."""
    message = f"{use} needs memory for the result of np.{expression.function.__name__}"
    return MemoryNeeded(message, t.b.loc, expression.place)


# ---- other expressions of it


def viewed(
    t: Translator, expression: ArrayExpression, view: Callable[[ArrayView], ArrayView]
) -> Operand:
    """The expression of a view of each array, all of them broadcast before."""
    expression_of_views = _through(t, expression, expression.shape, view)
    assert isinstance(expression_of_views, ArrayExpression)
    return _made(t, expression_of_views)


def _through(
    t: Translator,
    value: Operand,
    shape: tuple[Value, ...],
    view: Callable[[ArrayView], ArrayView],
) -> Operand:
    if isinstance(value, ArrayView):
        return view(_broadcast_view(t, value, shape))
    if not isinstance(value, ArrayExpression):
        return value
    operands = tuple([_through(t, each, shape, view) for each in value.operands])
    extents = next(each.shape for each in operands if isinstance(each, Elements))
    new_shape = tuple([_extent(each) for each in extents])
    return ArrayExpression(value.function, value.element, value.place, operands, new_shape)


def _broadcast_view(t: Translator, array: ArrayView, shape: tuple[Value, ...]) -> ArrayView:
    """An array as one of a shape to which it broadcasts: with strides of 0 where it repeats."""
    missing, b = len(shape) - array.type.ndim, t.b
    pairs = [*zip(array.shape, shape[missing:], strict=True)]
    known = [(constant(own), constant(whole)) for own, whole in pairs]
    same = [
        own is whole or (a is not None and a == z)
        for (own, whole), (a, z) in zip(pairs, known, strict=True)
    ]
    if not missing and all(same):
        return array
    zero, strides = b.const(0, i64), list[Value]()
    for own, stride, equal in zip(array.shape, strides_of(t, array), same, strict=True):
        strides.append(stride if equal else b.select(b.eq(own, b.const(1, i64)), zero, stride))
    kind = argtypes.ArrayType(array.type.element, len(shape), "A", array.type.readonly)
    return ArrayView(kind, array.pointer, shape, (*[zero] * missing, *strides))


# ---- in place


def in_place(t: Translator, kind: type[ast.operator], target: Operand, value: Operand) -> bool:
    """``target += value`` on all elements of an array in memory; False where it is none, or the
    operator has no such meaning.

    Raises:
        TypingError: the result is of a type that numpy does not store to the array's.
    """
    function = OPERATORS.get(kind)
    operands: list[Operand] = [target, value]
    if function is None or not isinstance(target, ArrayView) or not are_arrays(operands):
        return False
    if target.type.readonly or target.space is Space.CONSTANT:
        raise t.fail(TypingError, "this array is read-only; write a = a + b for another one")
    if isinstance(value, ArrayExpression):
        settle(t, value)
    operands = _with_floats(t, function, operands)
    with t.b.inside(Region()):
        require_broadcast(t, value, target.shape)
    result = _result(t, function, operands, target.shape)
    _require_kind(t, kind, result, target.type.element)
    fill_view(t, target, operands, lambda values: applied(t, function, values, (), []))
    return True


def _require_kind(
    t: Translator, kind: type[ast.operator], result: argtypes.ArgType, own: argtypes.ArgType
) -> None:
    """Refuse to store results in place that are of another kind, as floats to integers.

    Raises:
        TypingError: they are.
    """
    ranks = [_rank(each) for each in (result, own)]
    if ranks[0] > ranks[1]:
        raise t.fail(
            TypingError,
            f"{kind.__name__} in place makes {result} of an array of {own}, which numpy does not "
            "convert back; write a[:] = ... for a conversion",
        )


def _rank(kind: argtypes.ArgType) -> int:
    """The place of a type among numpy's kinds: bools, unsigned and signed integers, floats, complex
    numbers."""
    if not isinstance(kind, argtypes.ScalarType):
        return 5
    dtype = kind.dtype
    return 0 if dtype.is_bool else 3 if dtype.is_float else 2 if dtype.is_signed else 1


BinaryEmit = Callable[[Translator, Operand, Operand], Operand]


def binary(kind: type[ast.AST], emit: BinaryEmit) -> BinaryEmit:
    """An operator that ``emit`` translates for numbers, of arrays too."""
    return lambda t, lhs, rhs: of_arrays(t, kind, lhs, rhs) or emit(t, lhs, rhs)


def unary(
    kind: type[ast.AST], emit: Callable[[Translator, Operand], Operand]
) -> Callable[[Translator, Operand], Operand]:
    """The same, of one operand."""
    return lambda t, operand: of_arrays(t, kind, operand) or emit(t, operand)
