"""The kinds of reductions: states, how two of them combine, and the result of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.dtypes import DType, b1, i32, i64
from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression, Writer
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.operations.record import Complex, Operand

State = tuple[Operand, ...]
INDEX = np.dtype(np.int64)


@frozen
class Kind:
    """A kind of reduction.

    Attributes:
        states: the dtypes of a state, for the accumulator's.
        identity: the state that combines with any other to that one.
        element: the state of an element, converted to the accumulator, and its index in its row.
        combine: the state of two, the one of lower indices first.
        result: what is stored, for the state of a row and its number of elements; it is converted
            to the dtype of the results.
        is_counting: whether the result depends on the number of elements.
        advance: a quicker ``combine``, of the state of elements and that of one behind them; the
            index of the first state starts at or before that of any element.
        absent: the state of an element that takes no part, where that is not the identity.
        is_ordered: whether the result for floats depends on the order of combinations.
    """

    states: Callable[[np.dtype[Any]], tuple[np.dtype[Any], ...]]
    identity: Callable[[Writer, np.dtype[Any], DType], State]
    element: Callable[[Writer, Operand, Expression], State]
    combine: Callable[[Writer, State, State], State]
    result: Callable[[Writer, State, Expression], Operand]
    is_counting: bool = False
    advance: Callable[[Writer, State, State], State] | None = None
    absent: Callable[[Writer, np.dtype[Any], DType], State] | None = None
    is_ordered: bool = False


def _own(accumulator: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    return (accumulator,)


def _constant(number: float) -> Callable[[Writer, np.dtype[Any], DType], State]:
    """An identity that is a number."""

    def identity(w: Writer, dtype: np.dtype[Any], part: DType) -> State:
        if dtype.kind != "c":
            return (w.const(number if part.is_float else int(number), part),)
        # 0 for sums and 1 for products: the imaginary part is zero.
        return (Complex(w.const(number, part), w.const(number if number == 0 else 0.0, part)),)

    return identity


def _extreme(is_most: bool) -> Callable[[Writer, np.dtype[Any], DType], State]:
    """The identity of the least, or of the most: the other extreme."""

    def identity(w: Writer, dtype: np.dtype[Any], part: DType) -> State:
        if part.is_float:
            extreme = w.const(float("-inf") if is_most else float("inf"), part)
            return (Complex(extreme, extreme) if dtype.kind == "c" else extreme,)
        return (w.const(part.min if is_most else part.max, part),)

    return identity


def _itself(w: Writer, value: Operand, index: Expression) -> State:
    return (value,)


def _first(w: Writer, state: State, count: Expression) -> Operand:
    return state[0]


def _by(name: str) -> Callable[[Writer, State, State], State]:
    """The combination by an operation of the table."""

    def combine(w: Writer, a: State, b: State) -> State:
        result = OPERATIONS[name].build(w, a[0], b[0])
        assert isinstance(result, Expression | Complex)
        return (result,)

    return combine


def _better(a: Operand, b: Operand, is_most: bool) -> Expression:
    """Whether b is before a in order; NaN is before all numbers. Complex numbers are ordered by
    their real parts first."""
    if isinstance(a, Complex) or isinstance(b, Complex):
        assert isinstance(a, Complex) and isinstance(b, Complex)
        real, imag = (b.real, b.imag), (a.real, a.imag)
        (one, other), (first, second) = (real, imag) if is_most else (imag, real)
        is_before = (one > first) | (one.equals(first) & (other > second))
        return (is_before | _has_nan(b)) & ~_has_nan(a)
    if not a.dtype.is_float:
        return b > a if is_most else b < a
    # LLVM holds the conjunction of two comparisons in vectors of floats, and longer ones in bytes.
    return ~(b <= a if is_most else b >= a) & ~a.is_nan()


def _extremes(is_most: bool) -> Callable[[Writer, State, State], State]:
    def combine(w: Writer, a: State, b: State) -> State:
        one, other = a[0], b[0]
        if isinstance(one, Complex):
            return (_chosen(w, _better(one, other, is_most), other, one),)
        assert isinstance(one, Expression) and isinstance(other, Expression)
        # A NaN is not less, so a NaN before stays, and one behind is taken for it is no number.
        is_before = other > one if is_most else other < one
        if one.dtype.is_float:
            is_before = is_before | other.is_nan()
        return (w.select(is_before, other, one),)

    return combine


def _arguments(is_most: bool) -> Callable[[Writer, State, State], State]:
    def combine(w: Writer, a: State, b: State) -> State:
        (one, first), (other, second) = a, b
        assert isinstance(first, Expression) and isinstance(second, Expression)
        taken, kept = _better(one, other, is_most), _better(other, one, is_most)
        # Of equals, and of two NaN, the first one.
        least = w.select(second < first, second, first)
        index = w.select(taken, second, w.select(kept, first, least))
        return _chosen(w, taken, other, one), index

    return combine


def _has_nan(value: Complex) -> Expression:
    return value.real.is_nan() | value.imag.is_nan()


def _chosen(w: Writer, condition: Expression, a: Operand, b: Operand) -> Operand:
    """``a`` where the condition holds, else ``b``."""
    if isinstance(a, Complex) or isinstance(b, Complex):
        assert isinstance(a, Complex) and isinstance(b, Complex)
        parts = [w.select(condition, x, y) for x, y in zip(a, b, strict=True)]
        return Complex(*parts)
    return w.select(condition, a, b)


def _later_arguments(is_most: bool) -> Callable[[Writer, State, State], State]:
    def advance(w: Writer, a: State, b: State) -> State:
        (one, first), (other, second) = a, b
        assert isinstance(one, Expression) and isinstance(other, Expression)
        assert isinstance(first, Expression) and isinstance(second, Expression)
        taken = _better(one, other, is_most)
        return w.select(taken, other, one), w.select(taken, second, first)

    return advance


def _argument_identity(is_most: bool) -> Callable[[Writer, np.dtype[Any], DType], State]:
    extreme = _extreme(is_most)

    def identity(w: Writer, dtype: np.dtype[Any], part: DType) -> State:
        return *extreme(w, dtype, part), w.const(i64.max, i64)

    return identity


def _with_index(w: Writer, value: Operand, index: Expression) -> State:
    return value, index


def _of_nan(w: Writer, dtype: np.dtype[Any], part: DType) -> State:
    nan = w.const(float("nan"), part)
    return (Complex(nan, nan) if dtype.kind == "c" else nan,)


def _numbers_first(is_most: bool) -> Callable[[Writer, State, State], State]:
    """The extreme of two, where a number wins over NaN."""

    def combine(w: Writer, a: State, b: State) -> State:
        one, other = a[0], b[0]
        if isinstance(one, Complex):
            return _by("fmax" if is_most else "fmin")(w, a, b)
        assert isinstance(one, Expression) and isinstance(other, Expression)
        is_before = other > one if is_most else other < one
        return (w.select(is_before | one.is_nan(), other, one),)

    return combine


def _mean(w: Writer, state: State, count: Expression) -> Operand:
    total = state[0]
    if isinstance(total, Complex):
        divisor = count.cast(total.real.dtype)
        return Complex(total.real / divisor, total.imag / divisor)
    return total / count.cast(total.dtype)


def _square(w: Writer, value: Operand, index: Expression) -> State:
    """The square of an absolute value."""
    if isinstance(value, Complex):
        return (value.real * value.real + value.imag * value.imag,)
    return (value * value,)


def _real(accumulator: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    """The dtype of the parts of complex numbers; that of real ones."""
    if accumulator.kind != "c":
        return (accumulator,)
    return (np.dtype(np.float32 if accumulator.itemsize == 8 else np.float64),)


def _nothing(w: Writer, dtype: np.dtype[Any], part: DType) -> State:
    return (w.const(-0.0 if part.is_float else 0, part),)


def is_true(value: Operand) -> Expression:
    """Whether a number is not zero."""
    if isinstance(value, Complex):
        return value.real.differs(0.0) | value.imag.differs(0.0)
    return value if value.dtype is b1 else value.differs(0.0 if value.dtype.is_float else 0)


def _truth(dtype: DType) -> Callable[[Writer, Operand, Expression], State]:
    """One for a number that is not zero, else zero."""
    return lambda w, value, index: (is_true(value).cast(dtype),)


def _fixed(dtype: type[Any]) -> Callable[[np.dtype[Any]], tuple[np.dtype[Any], ...]]:
    return lambda accumulator: (np.dtype(dtype),)


def _logical(is_any: bool) -> Kind:
    def combine(w: Writer, a: State, b: State) -> State:
        one, other = a[0], b[0]
        assert isinstance(one, Expression) and isinstance(other, Expression)
        return (one | other if is_any else one & other,)

    def identity(w: Writer, dtype: np.dtype[Any], part: DType) -> State:
        return (w.const(0 if is_any else 1, i32),)

    return Kind(_fixed(np.int32), identity, _truth(i32), combine, _first)


def _counted(w: Writer, dtype: np.dtype[Any], part: DType) -> State:
    return (w.const(0, i64),)


def _pairs(is_most: bool) -> Kind:
    return Kind(
        lambda accumulator: (accumulator, INDEX),
        _argument_identity(is_most),
        _with_index,
        _arguments(is_most),
        lambda w, state, count: state[1],
        advance=_later_arguments(is_most),
    )


# -0.0 is the number whose sum with any other, -0.0 too, is that number.
_SUM = (_own, _constant(-0.0), _itself, _by("add"))

KINDS: dict[str, Kind] = {
    # NumPy's sum of no elements is 0.0.
    "sum": Kind(*_SUM, _first, absent=_constant(0.0), is_ordered=True),
    "mean": Kind(*_SUM, _mean, True, is_ordered=True),
    "squares": Kind(_real, _nothing, _square, _by("add"), _first, is_ordered=True),
    "prod": Kind(_own, _constant(1.0), _itself, _by("multiply"), _first, is_ordered=True),
    "min": Kind(_own, _extreme(False), _itself, _extremes(False), _first),
    "max": Kind(_own, _extreme(True), _itself, _extremes(True), _first),
    "nanmin": Kind(_own, _of_nan, _itself, _numbers_first(False), _first),
    "nanmax": Kind(_own, _of_nan, _itself, _numbers_first(True), _first),
    "argmin": _pairs(False),
    "argmax": _pairs(True),
    "any": _logical(True),
    "all": _logical(False),
    "count_nonzero": Kind(_fixed(np.int64), _counted, _truth(i64), _by("add"), _first),
}
"""Every kind by its name."""
