"""``cuda.async_copy``, its commit and its wait."""

from __future__ import annotations

from gridlane.core import argtypes
from gridlane.core.dtypes import u64
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.casts import constant_integer
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.conversion import integer
from gridlane.frontends.python.element_addresses import Place
from gridlane.frontends.python.indexing import place_of
from gridlane.frontends.python.layout import memory_type
from gridlane.frontends.python.operands import NONE, ArrayView, Operand, Scalar, TupleOperand
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith, copies, memory
from gridlane.ir.types import Space
from gridlane.ir.values import Value


@handles(stubs.async_copy)
def _async_copy(
    t: Translator,
    target: Operand,
    target_index: Operand,
    source: Operand,
    source_index: Operand,
    count: Operand,
) -> Operand:
    number = constant_integer(t, count, "the count of cuda.async_copy")
    into = _place(t, "target", target, target_index, number, Space.SHARED)
    from_ = _place(t, "source", source, source_index, number, Space.GLOBAL)
    if into.readonly:
        raise t.fail(TypingError, "the target of cuda.async_copy is read-only")
    if into.element != from_.element:
        raise t.fail(
            TypingError,
            f"cuda.async_copy copies bytes as they are: from {from_.element} to {into.element} it "
            "cannot convert",
        )
    bytes_ = number * memory_type(into.element).size
    if bytes_ not in copies.SIZES:
        raise t.fail(
            ConstantError,
            f"cuda.async_copy copies 4, 8 or 16 bytes a call; {number} elements of {into.element} "
            f"are {bytes_}",
        )
    if t.unit.options.debug:
        for name, place in (("target", into), ("source", from_)):
            _require_aligned(t, name, place.pointer, bytes_)
    t.b.emit(copies.AsyncCopy(into.pointer, from_.pointer, bytes_))
    return NONE


def _place(
    t: Translator, name: str, array: Operand, index: Operand, count: int, space: Space
) -> Place:
    """The address of the first of the elements."""
    what = f"the {name} of cuda.async_copy"
    word = space.name.lower()
    if not isinstance(array, ArrayView):
        raise t.fail(TypingError, f"{what} is an array in {word} memory, not {array.type_name}")
    if array.space is not space:
        where = array.space.name.lower()
        raise t.fail(TypingError, f"{what} is an array in {word} memory; this is in {where} memory")
    if array.type.layout != "C" or isinstance(array.type.element, argtypes.NestedArrayType):
        raise t.fail(
            TypingError,
            f"{what} has its elements one behind the other along the last axis (layout C); this is "
            f"{array.type}",
        )
    place = place_of(t, array, index)
    if place.view is not None:
        raise t.fail(TypingError, f"{what} needs an index for each of {array.type.ndim} axes")
    if t.unit.options.bounds:
        place_of(t, array, _moved(t, index, count - 1))
    return place


def _moved(t: Translator, index: Operand, by: int) -> Operand:
    """An index moved along the last axis. A possibly negative one still counts from the end."""
    if isinstance(index, TupleOperand):
        return TupleOperand((*index.items[:-1], _moved(t, index.items[-1], by)))
    number = integer(t, index, "an integer index")
    low = number.lo + by if number.lo >= 0 else number.lo
    return Scalar(t.b.add(number.value, t.b.const(by, number.dtype)), low, number.hi + by)


def _require_aligned(t: Translator, name: str, address: Value, bytes_: int) -> None:
    """In debug mode, raise for an address that is not a multiple of the bytes."""
    b = t.b
    low = b.and_(b.value(memory.Address(address)), b.const(bytes_ - 1, u64))
    crooked = b.binary(arith.Ne, low, b.const(0, u64))
    guard(t, crooked, "ValueError", f"async_copy: the {name} is not a multiple of {bytes_} bytes")


@handles(stubs.async_commit)
def _async_commit(t: Translator) -> Operand:
    t.b.emit(copies.AsyncCommit())
    return NONE


@handles(stubs.async_wait)
def _async_wait(t: Translator, pending: Operand) -> Operand:
    number = constant_integer(t, pending, "the groups that cuda.async_wait leaves pending")
    if number < 0:
        raise t.fail(ConstantError, f"cuda.async_wait cannot leave {number} groups pending")
    t.b.emit(copies.AsyncWait(number))
    return NONE
