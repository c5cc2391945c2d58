"""Structs and vectors: their parts, selects and bits."""

from __future__ import annotations

from gridlane.codegen.llvm.cpu.dispatch import elementwise, emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Parts, Rep, Uniform, Varying
from gridlane.codegen.llvm.cpu.memory import fields_of
from gridlane.codegen.llvm.text import scalar_name, splat, widen
from gridlane.core.dtypes import DType
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import Type


@emits(memory.Pack)
def pack(state: Emission, op: memory.Pack) -> None:
    """Hold a struct or vector as its parts, all of one shape."""
    rep = Parts(tuple([state.rep(part) for part in op.parts]))
    state.set(op.results[0], state.shaped(rep, state.shapes.of(op.results[0]), op.type))


@emits(memory.Part)
def part(state: Emission, op: memory.Part) -> None:
    """Extract one part."""
    rep = state.rep(op.whole)
    assert isinstance(rep, Parts)
    state.set(op.results[0], rep.items[op.index])


@emits(arith.Select)
def select(state: Emission, op: arith.Select) -> None:
    """Emit a select, part by part for structs; on the scalars when all operands are uniform."""
    type_, shape = op.results[0].type, state.shapes.of(op.results[0])
    condition = state.rep(op.condition)
    a, b = state.rep(op.on_true), state.rep(op.on_false)
    if isinstance(condition, Uniform):
        rep = _choose(state, condition.name, a, b, type_)
    else:
        rep = state.select(state.vector(op.condition), a, b, type_)
    state.set(op.results[0], state.shaped(rep, shape, type_))


def _choose(state: Emission, condition: str, a: Rep, b: Rep, type_: Type) -> Rep:
    """Select by a uniform condition."""
    if isinstance(a, Parts) and isinstance(b, Parts):
        types = memory.part_types(type_)
        sides = zip(a.items, b.items, types, strict=True)
        return Parts(tuple([_choose(state, condition, x, y, t) for x, y, t in sides]))
    name = scalar_name(type_)
    if isinstance(a, Uniform) and isinstance(b, Uniform):
        return Uniform(state.body.op(f"select i1 {condition}, {name} {a.name}, {name} {b.name}"))
    if isinstance(a, Linear) and isinstance(b, Linear) and a.stride == b.stride:
        base = state.body.op(f"select i1 {condition}, {name} {a.base}, {name} {b.base}")
        return Linear(base, a.stride)
    vector = widen(name, state.lanes)
    x, y = state.as_vector(a, type_), state.as_vector(b, type_)
    return Varying(state.body.op(f"select i1 {condition}, {vector} {x}, {vector} {y}"))


@emits(arith.Bitcast)
def bitcast(state: Emission, op: arith.Bitcast) -> None:
    """Emit a bitcast; a vector is cast by way of one integer of its whole size."""
    source, target = op.value.type, op.type
    if isinstance(source, DType) and isinstance(target, DType):
        elementwise(state, op)
        return
    lanes = 0 if state.shapes.of(op.results[0]).uniform else state.lanes
    whole = _joined_bits(state, state.rep(op.value), source, lanes)
    state.set(op.results[0], _split_bits(state, whole, source.size * 8, target, lanes))


def _joined_bits(state: Emission, rep: Rep, type_: Type, lanes: int) -> str:
    """The bits of a value as one integer of its size, first part lowest."""
    parts = fields_of(type_) or [(0, type_)]
    items = rep.items if isinstance(rep, Parts) else (rep,)
    wide = f"i{type_.size * 8}"
    total = splat("0", wide, lanes)
    for (offset, part), item in zip(parts, items, strict=True):
        assert isinstance(item, Uniform | Varying)
        name = state.as_vector(item, part) if lanes else item.name
        narrow = f"i{part.size * 8}"
        if scalar_name(part) != narrow:
            name = state.body.op(
                f"bitcast {widen(scalar_name(part), lanes)} {name} to {widen(narrow, lanes)}"
            )
        if narrow != wide:
            name = state.body.op(f"zext {widen(narrow, lanes)} {name} to {widen(wide, lanes)}")
        moved = state.body.op(
            f"shl {widen(wide, lanes)} {name}, {splat(str(offset * 8), wide, lanes)}"
        )
        total = state.body.op(f"or {widen(wide, lanes)} {total}, {moved}")
    return total


def _split_bits(state: Emission, whole: str, bits: int, type_: Type, lanes: int) -> Rep:
    """The value with the bits of an integer."""
    wide = f"i{bits}"
    reps: list[Rep] = []
    for offset, part in fields_of(type_) or [(0, type_)]:
        narrow = f"i{part.size * 8}"
        name = state.body.op(
            f"lshr {widen(wide, lanes)} {whole}, {splat(str(offset * 8), wide, lanes)}"
        )
        if narrow != wide:
            name = state.body.op(f"trunc {widen(wide, lanes)} {name} to {widen(narrow, lanes)}")
        if scalar_name(part) != narrow:
            name = state.body.op(
                f"bitcast {widen(narrow, lanes)} {name} to {widen(scalar_name(part), lanes)}"
            )
        reps.append(Varying(name) if lanes else Uniform(name))
    return Parts(tuple(reps)) if fields_of(type_) else reps[0]
