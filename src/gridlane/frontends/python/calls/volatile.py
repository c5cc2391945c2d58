"""Accesses of memory that other blocks see while the kernel runs, and the bits of numbers."""

from __future__ import annotations

from gridlane.core import argtypes
from gridlane.core.errors import TypingError
from gridlane.frontends.python import volatile_stubs as stubs
from gridlane.frontends.python.calls.casts import as_type
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.element_addresses import Place
from gridlane.frontends.python.indexing import place_of
from gridlane.frontends.python.operands import NONE, Operand, Scalar
from gridlane.frontends.python.translator import Translator


def _place(t: Translator, name: str, array: Operand, index: Operand) -> Place:
    place = place_of(t, array, index)
    is_number = isinstance(place.element, argtypes.ScalarType)
    if place.view is not None or not is_number or place.element == argtypes.boolean:
        raise t.fail(TypingError, f"{name}() takes one number of an array, not {place.element}")
    return place


@handles(stubs.load_volatile)
def _load(t: Translator, array: Operand, index: Operand) -> Operand:
    place = _place(t, "load_volatile", array, index)
    return Scalar(t.b.load(place.pointer, volatile=True))


@handles(stubs.store_volatile)
def _store(t: Translator, array: Operand, index: Operand, value: Operand) -> Operand:
    place = _place(t, "store_volatile", array, index)
    if place.readonly:
        raise t.fail(TypingError, "the array of store_volatile() is read-only")
    number = cast_to(t, value, place.element)
    assert isinstance(number, Scalar)
    t.b.store(place.pointer, number.value, volatile=True)
    return NONE


@handles(stubs.bits_of)
def _bits_of(t: Translator, number: Operand) -> Operand:
    if not isinstance(number, Scalar) or number.dtype.is_bool:
        raise t.fail(TypingError, f"bits_of() takes a number, not {number.type_name}")
    return Scalar(t.b.bitcast(number.value, _unsigned(number.dtype.bits).dtype))


def _unsigned(bits: int) -> argtypes.ScalarType:
    kinds = argtypes.uint8, argtypes.uint16, argtypes.uint32, argtypes.uint64
    return next(kind for kind in kinds if kind.dtype.bits == bits)


@handles(stubs.from_bits)
def _from_bits(t: Translator, bits: Operand, dtype: Operand) -> Operand:
    kind = as_type(t, dtype)
    if not isinstance(kind, argtypes.ScalarType) or kind == argtypes.boolean:
        raise t.fail(TypingError, f"from_bits() makes a number, not a {kind}")
    if not isinstance(bits, Scalar) or bits.dtype is not _unsigned(kind.dtype.bits).dtype:
        wanted = _unsigned(kind.dtype.bits)
        raise t.fail(TypingError, f"{kind} has the bits of a {wanted}, not of a {bits.type_name}")
    return Scalar(t.b.bitcast(bits.value, kind.dtype))
