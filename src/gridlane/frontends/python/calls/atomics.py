"""``cuda.atomic``: read-modify-write of an array element, which returns the old value."""

from __future__ import annotations

from gridlane.core import argtypes
from gridlane.core.dtypes import b1, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.cells import is_unaligned
from gridlane.frontends.python.conversion import cast_scalar, scalar
from gridlane.frontends.python.element_addresses import Place
from gridlane.frontends.python.indexing import place_of
from gridlane.frontends.python.operands import ArrayView, Operand, Scalar, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import atomic
from gridlane.ir.ops.atomic import AtomicKind
from gridlane.ir.types import pointer
from gridlane.ir.values import Value

_KINDS = {
    "add": AtomicKind.ADD,
    "sub": AtomicKind.SUB,
    "and_": AtomicKind.AND,
    "or_": AtomicKind.OR,
    "xor": AtomicKind.XOR,
    "inc": AtomicKind.INC,
    "dec": AtomicKind.DEC,
    "exch": AtomicKind.EXCHANGE,
    "max": AtomicKind.MAX,
    "min": AtomicKind.MIN,
    "nanmax": AtomicKind.NANMAX,
    "nanmin": AtomicKind.NANMIN,
}


def _place(t: Translator, name: str, ary: Operand, idx: Operand) -> Place:
    """The address of the scalar that an atomic updates."""
    if not isinstance(ary, ArrayView):
        raise t.fail(TypingError, f"cuda.atomic.{name} works on arrays, not on {ary.type_name}")
    place = place_of(t, ary, _integers(t, idx))
    plain = isinstance(place.element, argtypes.ScalarType) and place.element.dtype is not b1
    if place.view is not None or not plain:
        what = f"a view of {place.view.type.ndim} dimensions" if place.view else place.element
        raise t.fail(
            TypingError,
            f"cuda.atomic.{name} works on one number, not on {what}; index every dimension",
        )
    if is_unaligned(place.pointer):
        raise t.fail(
            TypingError,
            f"cuda.atomic.{name}: this field is not aligned; make the dtype with align=True",
        )
    if place.readonly:
        raise t.fail(TypingError, f"cuda.atomic.{name}: this array is read-only")
    return place


def _integers(t: Translator, idx: Operand) -> Operand:
    """The index with floats truncated, which numba allows in the tuple of an atomic: unifying a
    uint64 with an int64 gives a float."""
    if isinstance(idx, TupleOperand):
        return TupleOperand(tuple([_integers(t, item) for item in idx.items]))
    if isinstance(idx, Scalar) and idx.dtype.is_float:
        return cast_scalar(t, idx, i64)
    return idx


def _value(t: Translator, place: Place, val: Operand) -> Value:
    assert isinstance(place.element, argtypes.ScalarType)
    return cast_scalar(t, scalar(t, val, "a number"), place.element.dtype).value


def _register_updates() -> None:
    for name, kind in _KINDS.items():

        def emit(
            t: Translator,
            ary: Operand,
            idx: Operand,
            val: Operand,
            name: str = name,
            kind: AtomicKind = kind,
        ) -> Operand:
            place = _place(t, name, ary, idx)
            return _update(t, name, kind, place, _value(t, place, val))

        register((getattr(stubs.atomic, name),), f"cuda.atomic.{name}", emit, "ary, idx, val")


def _update(t: Translator, name: str, kind: AtomicKind, place: Place, value: Value) -> Scalar:
    assert isinstance(place.element, argtypes.ScalarType)
    dtype, b = place.element.dtype, t.b
    if kind in atomic.INTEGER_ONLY and not dtype.is_integer:
        raise t.fail(
            TypingError, f"cuda.atomic.{name} takes integers, not an array of {place.element}"
        )
    if kind in (AtomicKind.INC, AtomicKind.DEC) and dtype.is_signed:
        # inc and dec compare as unsigned; a signed array is viewed as unsigned of the same width.
        space = place.pointer.type.space  # type: ignore[union-attr]  # a pointer
        address = b.recast(place.pointer, pointer(dtype.unsigned, space))
        op = atomic.Atomic(kind, address, b.bitcast(value, dtype.unsigned))
        return Scalar(b.bitcast(b.value(op), dtype))
    return Scalar(b.value(atomic.Atomic(kind, place.pointer, value)))


_register_updates()


@handles(stubs.atomic.cas)
def _cas(t: Translator, ary: Operand, idx: Operand, old: Operand, val: Operand) -> Operand:
    place = _place(t, "cas", ary, idx)
    expected, desired = _value(t, place, old), _value(t, place, val)
    return Scalar(t.b.value(atomic.AtomicCas(place.pointer, expected, desired)))


@handles(stubs.atomic.compare_and_swap)
def _compare_and_swap(t: Translator, ary: Operand, old: Operand, val: Operand) -> Operand:
    return _cas(t, ary, t.integer(0), old, val)
