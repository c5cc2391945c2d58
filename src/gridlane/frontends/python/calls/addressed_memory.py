"""Memory by its address, for kernels that exchange messages with the host while they run."""

from __future__ import annotations

from gridlane.core.dtypes import u32, u64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.casts import constant_integer
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.operands import NONE, Operand, Scalar, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import grid, memory
from gridlane.ir.types import Space, VectorType, pointer
from gridlane.ir.values import Value

_WORDS = VectorType(u32, 4)


def _number(t: Translator, operand: Operand, what: str) -> Scalar:
    if not isinstance(operand, Scalar) or not operand.dtype.is_integer:
        raise t.fail(TypingError, f"{what} is an integer, not {operand.type_name}")
    return operand


def _place(t: Translator, address: Operand, space: Space) -> Value:
    number = t.b.cast(_number(t, address, "an address").value, u64)
    return t.b.value(memory.FromAddress(number, pointer(_WORDS, space)))


def _load(t: Translator, address: Operand, space: Space) -> Operand:
    whole = t.b.load(_place(t, address, space), volatile=True)
    return TupleOperand(tuple([Scalar(t.b.value(memory.Part(whole, n))) for n in range(4)]))


def _store(t: Translator, address: Operand, words: tuple[Operand, ...], space: Space) -> Operand:
    parts = tuple([t.b.cast(_number(t, each, "a word").value, u32) for each in words])
    whole = t.b.value(memory.Pack(parts, _WORDS))
    t.b.store(_place(t, address, space), whole, volatile=True)
    return NONE


@handles(stubs.load_words)
def _load_words(t: Translator, address: Operand) -> Operand:
    return _load(t, address, Space.GLOBAL)


@handles(stubs.load_words_anywhere)
def _load_words_anywhere(t: Translator, address: Operand) -> Operand:
    return _load(t, address, Space.GENERIC)


@handles(stubs.store_words)
def _store_words(
    t: Translator, address: Operand, a: Operand, b: Operand, c: Operand, d: Operand
) -> Operand:
    return _store(t, address, (a, b, c, d), Space.GLOBAL)


@handles(stubs.store_words_anywhere)
def _store_words_anywhere(
    t: Translator, address: Operand, a: Operand, b: Operand, c: Operand, d: Operand
) -> Operand:
    return _store(t, address, (a, b, c, d), Space.GENERIC)


@handles(stubs.rest)
def _rest(t: Translator, ns: Operand) -> Operand:
    t.b.emit(grid.RunOthers(constant_integer(t, ns, "the time of rest()")))
    return NONE


@handles(stubs.nanoseconds)
def _nanoseconds(t: Translator) -> Operand:
    return Scalar(t.b.value(grid.Machine(grid.Reading.NANOSECONDS)))
