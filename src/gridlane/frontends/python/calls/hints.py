"""Loads and stores of one number with a cache policy: ``cuda.ldcg(array, index)`` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core import argtypes
from gridlane.core.errors import TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.registry import register
from gridlane.frontends.python.cells import is_unaligned
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.element_addresses import Place, item_of
from gridlane.frontends.python.indexing import place_of
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Operand,
    Pointer,
    Scalar,
    TupleOperand,
)
from gridlane.frontends.python.stores import store
from gridlane.frontends.python.translator import Translator


def _place(t: Translator, name: str, ary: Operand, idx: Operand) -> Place:
    """The place of a whole index; numba's words for what is wrong with one."""
    if not isinstance(ary, ArrayView | Pointer):
        raise t.fail(TypingError, f"{name} takes an array or a pointer, not {ary.type_name}")
    element = ary.type.element
    if not isinstance(element, argtypes.ScalarType) or element == argtypes.boolean:
        raise t.fail(TypingError, f"{name} requires array of integer or float type, not {element}")
    items = idx.items if isinstance(idx, TupleOperand) else (idx,)
    for item in items:
        if not isinstance(item, Scalar) or item.dtype.is_float:
            raise t.fail(TypingError, f"{item.type_name} is not a valid index of {name}")
    wanted = ary.type.ndim if isinstance(ary, ArrayView) else 1
    if len(items) != wanted:
        given_count = len(items) if isinstance(idx, TupleOperand) else "a scalar"
        raise t.fail(TypingError, f"Expected {wanted} indices, got {given_count}")
    return place_of(t, ary, items[0] if isinstance(ary, Pointer) else idx)


def _loader(name: str) -> Callable[..., Operand]:
    policy = name.removeprefix("ld")

    def load(t: Translator, ary: Operand, idx: Operand) -> Operand:
        place = _place(t, name, ary, idx)
        if is_unaligned(place.pointer):
            return item_of(t, place)
        # cv fetches again what another processor may have written.
        return Scalar(t.b.load(place.pointer, volatile=policy == "cv", cache=policy))

    return load


def _storer(name: str) -> Callable[..., Operand]:
    policy = name.removeprefix("st")

    def write(t: Translator, ary: Operand, idx: Operand, val: Operand) -> Operand:
        place = _place(t, name, ary, idx)
        if place.readonly or is_unaligned(place.pointer):
            store(t, place, val)
            return NONE
        number = cast_to(t, val, place.element)
        assert isinstance(number, Scalar)
        t.b.store(place.pointer, number.value, cache=policy)
        return NONE

    return write


def _register() -> None:
    for name, stub in stubs.CACHE_HINTS.items():
        emit: Any = _loader(name) if name.startswith("ld") else _storer(name)
        register((stub,), stub.name, emit, stub.params)


_register()
