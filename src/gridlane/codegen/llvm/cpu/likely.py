"""Addresses that are likely linear: a scalar base, and a test at run time of whether they are.

An index that may be negative and then counts from the end, a remainder, one of 32 bits that may
wrap around, one that a condition selects: no analysis says that the lanes of such are adjacent, but
they are. Beside the vector, such a value has the base that it has if so, and the tests for it, on
scalars where that is possible. A load or store of it branches on the tests: a row or one element,
else each lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.analysis.walks import is_sign_bit
from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.cpu.lanes import Emission, Likely, Linear, Uniform, Varying
from gridlane.codegen.llvm.cpu.shapes import SIMPLE
from gridlane.codegen.llvm.text import scalar_name, widen
from gridlane.core.dtypes import DType
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType, Type
from gridlane.ir.values import Value

MOST = 6
"""Tests of a value; with more, it is a vector alone."""


def note(state: Emission, op: Op, result: Value) -> None:
    """Note what else a varying result is."""
    if not isinstance(state.rep(result), Varying):
        return
    rule = _RULES.get(type(op), _same if type(op) in SIMPLE else None)
    likely = rule(state, op, result) if rule else None
    if likely is not None and likely.stride == state.shapes.of(result).likely:
        holds = tuple(dict.fromkeys(likely.holds))
        if len(holds) <= MOST:
            state.likely[result] = Likely(likely.base, likely.stride, holds)


def tested(state: Emission, value: Value, strides: tuple[int, ...]) -> Likely | None:
    """What a varying address is likely, if with one of these strides; with one test."""
    likely = state.likely.get(value)
    if likely is None or likely.stride not in strides or not likely.holds:
        return None
    every = likely.holds[0]
    for each in likely.holds[1:]:
        every = state.body.op(f"and i1 {every}, {each}")
    return Likely(likely.base, likely.stride, (every,))


def choose(
    state: Emission, holds: str, vector: str, fast: Callable[[], str], slow: Callable[[], str]
) -> str:
    """Emit a branch between two versions, by a test; return the vector that results, or "" if none
    does."""
    body = state.body
    linear, other, after = body.label("row"), body.label("lanes"), body.label("met")
    body.branch_if(holds, linear, other)
    ways: list[str] = []
    for label, way in ((linear, fast), (other, slow)):
        body.start(label)
        outcome = way()
        ways.append(f"[ {outcome}, %{body.block} ]")
        body.branch(after)
    body.start(after)
    return body.op(f"phi {vector} {', '.join(ways)}") if vector else ""


def _of(state: Emission, value: Value) -> Likely | None:
    rep = state.rep(value)
    if isinstance(rep, Linear):
        return Likely(rep.base, rep.stride, ())
    if isinstance(rep, Uniform):
        return Likely(rep.name, 0, ())
    return state.likely.get(value)


def _same(state: Emission, op: Op, result: Value) -> Likely | None:
    """An op on the bases: of a sum or a product by a constant, or of operands that are uniform."""
    operands = [_of(state, value) for value in op.operands()]
    known = [each for each in operands if each is not None]
    if len(known) < len(operands):
        return None
    stride = state.shapes.of(result).likely
    assert stride is not None
    name = scalars.emit(state.body, op, 0, [each.base for each in known])
    assert name is not None
    return Likely(name, stride, tuple(hold for each in known for hold in each.holds))


def _shr(state: Emission, op: arith.Shr, result: Value) -> Likely | None:
    value, type_ = _of(state, op.value), op.value.type
    assert isinstance(type_, DType)
    if value is None or not value.stride:
        return _same(state, op, result)
    is_sign = type_.is_signed and constant(op.amount) == type_.bits - 1
    if not is_sign or not _is_short(state, value, type_):
        return None
    return _sign(state, value, type_, f"ashr {scalar_name(type_)} %s, {type_.bits - 1}")


def _and(state: Emission, op: arith.And, result: Value) -> Likely | None:
    value, type_ = _of(state, op.lhs), op.lhs.type
    if value is None or not value.stride or not is_sign_bit(op):
        return _same(state, op, result)
    assert isinstance(type_, DType)
    if not _is_short(state, value, type_):
        return None
    return _sign(state, value, type_, f"and {scalar_name(type_)} %s, {-1 << type_.bits - 1}")


def _is_short(state: Emission, value: Likely, type_: DType) -> bool:
    """Whether the lanes wrap around once at most, so that the last one determines the others."""
    return abs(value.stride) * (state.lanes - 1) < 1 << (type_.bits - 1)


def _sign(state: Emission, value: Likely, type_: DType, text: str) -> Likely:
    """What an instruction makes of the sign, where the first lane has that of the last one."""
    name, body = scalar_name(type_), state.body
    first = body.op(text % value.base)
    end = body.op(f"add {name} {value.base}, {(state.lanes - 1) * value.stride}")
    last = body.op(text % end)
    return Likely(first, 0, (*value.holds, body.op(f"icmp eq {name} {first}, {last}")))


def _rem(state: Emission, op: arith.Rem, result: Value) -> Likely | None:
    """The remainder of the first lane, if no multiple of the divisor is among the lanes; of signed
    numbers, if they are positive."""
    value, divisor, type_ = _of(state, op.lhs), state.rep(op.rhs), op.lhs.type
    assert isinstance(type_, DType)
    if value is None or value.stride <= 0 or not isinstance(divisor, Uniform):
        return None
    if not _is_short(state, value, type_):
        return None
    body, name = state.body, scalar_name(type_)
    base = scalars.emit(body, op, 0, [value.base, divisor.name])
    assert base is not None
    holds = (*value.holds, _keeps_within(state, value, type_))
    sign = "s" if type_.is_signed else "u"
    if type_.is_signed:
        holds = (*holds, body.op(f"icmp sge {name} {value.base}, 0"))
    left = body.op(f"sub {name} {divisor.name}, {base}")
    distance = (state.lanes - 1) * value.stride
    return Likely(base, value.stride, (*holds, body.op(f"icmp {sign}gt {name} {left}, {distance}")))


def _cast(state: Emission, op: arith.Cast, result: Value) -> Likely | None:
    value, source = _of(state, op.value), op.value.type
    if value is None or not isinstance(source, DType) or not source.is_integer:
        return None
    holds = value.holds
    if op.type.bits > source.bits and value.stride:
        if not _is_short(state, value, source):
            return None
        holds = (*holds, _keeps_within(state, value, source))
    name = scalars.emit(state.body, op, 0, [value.base])
    assert name is not None
    return Likely(name, value.stride, holds)


def _keeps_within(state: Emission, value: Likely, type_: DType) -> str:
    """Whether the last lane is as far from the first as it seems."""
    distance, name = (state.lanes - 1) * value.stride, scalar_name(type_)
    word = ("s" if type_.is_signed else "u") + ("add" if distance >= 0 else "sub")
    pair, full = f"{{{name}, i1}}", f"llvm.{word}.with.overflow.{name}"
    difference = state.body.call(pair, full, [(name, value.base), (name, str(abs(distance)))])
    wraps = state.body.op(f"extractvalue {pair} {difference}, 1")
    return state.body.op(f"xor i1 {wraps}, true")


def _select(state: Emission, op: arith.Select, result: Value) -> Likely | None:
    """The first choice, where all running lanes choose it."""
    value, condition = _of(state, op.on_true), state.rep(op.condition)
    if value is None:
        return None
    if isinstance(condition, Uniform):
        return _chosen(state, op, value, condition.name)
    return Likely(
        value.base, value.stride, (*value.holds, _every(state, state.vector(op.condition)))
    )


def _chosen(state: Emission, op: arith.Select, value: Likely, condition: str) -> Likely:
    """What all lanes choose: either side, if both have the same stride, else the first one."""
    other = _of(state, op.on_false)
    if other is None or other.stride != value.stride:
        return Likely(value.base, value.stride, (*value.holds, condition))
    name = scalar_name(op.results[0].type)
    base = state.body.op(f"select i1 {condition}, {name} {value.base}, {name} {other.base}")
    return Likely(base, value.stride, (*value.holds, *other.holds))


def _every(state: Emission, lanes: str) -> str:
    """Whether a mask has all running lanes."""
    if state.mask is not None:
        lanes = state.body.op(f"or {state.mask_type} {lanes}, {state.without(None, state.mask)}")
    return state.every(lanes)


def _read(state: Emission, op: memory.ReadVar, result: Value) -> Likely | None:
    return seen(state, result)


def seen(state: Emission, value: Value) -> Likely | None:
    """A vector's first lane, where the others are as far from it as is likely."""
    rep, stride, type_ = state.rep(value), state.shapes.of(value).likely, value.type
    if not isinstance(rep, Varying) or stride is None or not _is_held(type_):
        return None
    name = scalar_name(type_)
    base = state.extract(rep.name, name, 0)
    wanted = state.as_vector(Linear(base, stride) if stride else Uniform(base), type_)
    same = state.body.op(f"icmp eq {widen(name, state.lanes)} {rep.name}, {wanted}")
    return Likely(base, stride, (_every(state, same),))


def _is_held(type_: Type) -> bool:
    return isinstance(type_, PointerType) or (isinstance(type_, DType) and type_.is_integer)


def _offset(state: Emission, op: memory.Offset, result: Value) -> Likely | None:
    pointer, index, type_ = _of(state, op.pointer), _of(state, op.index), op.index.type
    assert isinstance(op.pointer.type, PointerType) and isinstance(type_, DType)
    if pointer is None or index is None or op.pointer in state.shapes.interleaved:
        return None
    holds, base = (*pointer.holds, *index.holds), index.base
    if type_.bits < 64:
        if index.stride and not _is_short(state, index, type_):
            return None
        if index.stride:
            holds = (*holds, _keeps_within(state, index, type_))
        if base[0] == "%":
            word = "sext" if type_.is_signed else "zext"
            base = state.body.op(f"{word} i{type_.bits} {base} to i64")
    size = op.pointer.type.element.size
    moved = state.body.op(f"getelementptr [{size} x i8], ptr {pointer.base}, i64 {base}")
    return Likely(moved, pointer.stride + index.stride * size, holds)


def _recast(state: Emission, op: memory.Recast, result: Value) -> Likely | None:
    return _of(state, op.pointer)


def _address(state: Emission, op: memory.Address, result: Value) -> Likely | None:
    source = _of(state, op.pointer)
    return source and Likely(
        state.body.op(f"ptrtoint ptr {source.base} to i64"), source.stride, source.holds
    )


def _from_address(state: Emission, op: memory.FromAddress, result: Value) -> Likely | None:
    source = _of(state, op.value)
    return source and Likely(
        state.body.op(f"inttoptr i64 {source.base} to ptr"), source.stride, source.holds
    )


_RULES: dict[type[Op], Callable[[Emission, Any, Value], Likely | None]] = {
    arith.Shr: _shr,
    arith.And: _and,
    arith.Cast: _cast,
    arith.Rem: _rem,
    arith.Select: _select,
    memory.ReadVar: _read,
    memory.Offset: _offset,
    memory.Recast: _recast,
    memory.Address: _address,
    memory.FromAddress: _from_address,
}
