"""Runs scalar code for each running lane, one after the other, for ops without a vector form."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.llvm.cpu.lanes import Emission, Rep, Uniform
from gridlane.codegen.llvm.text import scalar_name, widen
from gridlane.ir.types import Type

Operand = tuple[Rep, Type]


def for_each_lane(
    state: Emission,
    operands: list[Operand],
    results: list[Type],
    emit: Callable[[list[str], str], list[str]],
    unroll: bool = False,
) -> list[str]:
    """Call ``emit(scalars, lane)`` for every running lane, lowest first.

    ``emit`` takes the operands' scalars and the lane (i32), and returns one scalar per result type.
    Returns the result vectors, whose other lanes are undefined. ``unroll`` copies the code for
    every lane if all run; otherwise it is a loop over the set bits of the mask.
    """
    if unroll and state.mask is None:
        return _unrolled(state, operands, results, emit)
    body = state.body
    arrays = [_spilled(state, rep, type_) for rep, type_ in operands]
    outputs = [body.alloca(widen(scalar_name(type_), state.lanes), align=64) for type_ in results]
    width = f"i{state.lanes}"
    counter = body.alloca(width)
    body.do(f"store {width} {state.bits(state.mask)}, ptr {counter}")
    head, done = body.label("lane"), body.label("lanes")
    body.branch(head)
    body.start(head)
    bits = body.op(f"load {width}, ptr {counter}")
    lane = state.first_lane(bits)
    scalars = [
        _picked(state, array, type_, lane)
        for array, (_, type_) in zip(arrays, operands, strict=True)
    ]
    made = emit(scalars, lane)
    for output, type_, value in zip(outputs, results, made, strict=True):
        name = _array_name(type_)
        where = body.op(f"getelementptr {name}, ptr {output}, i32 {lane}")
        body.do(f"store {name} {_as_byte(state, value, type_)}, ptr {where}")
    rest = body.op(f"sub {width} {bits}, 1")
    left = body.op(f"and {width} {bits}, {rest}")
    body.do(f"store {width} {left}, ptr {counter}")
    more = body.op(f"icmp ne {width} {left}, 0")
    body.branch_if(more, head, done)
    body.start(done)
    return [
        _collected(state, output, type_) for output, type_ in zip(outputs, results, strict=True)
    ]


def _array_name(type_: Type) -> str:
    """The element type of a spilled vector: a bool takes a byte, so that lanes are addressable."""
    name = scalar_name(type_)
    return "i8" if name == "i1" else name


def _as_byte(state: Emission, value: str, type_: Type) -> str:
    if scalar_name(type_) != "i1":
        return value
    return state.body.op(f"zext i1 {value} to i8")


def _collected(state: Emission, output: str, type_: Type) -> str:
    """Reload a spilled vector."""
    vector = widen(_array_name(type_), state.lanes)
    name = state.body.op(f"load {vector}, ptr {output}, align 64")
    if scalar_name(type_) != "i1":
        return name
    return state.body.op(f"trunc {vector} {name} to {state.mask_type}")


def _spilled(state: Emission, rep: Rep, type_: Type) -> str | Uniform:
    """Spill a vector, so that a lane can be read by its number; a uniform stays a scalar."""
    if isinstance(rep, Uniform):
        return rep
    name = state.as_vector(rep, type_)
    vector = widen(scalar_name(type_), state.lanes)
    if scalar_name(type_) == "i1":
        name = state.body.op(f"zext {vector} {name} to {widen('i8', state.lanes)}")
        vector = widen("i8", state.lanes)
    memory = state.body.alloca(vector, align=64)
    state.body.do(f"store {vector} {name}, ptr {memory}, align 64")
    return memory


def _picked(state: Emission, array: str | Uniform, type_: Type, lane: str) -> str:
    if isinstance(array, Uniform):
        return array.name
    name = _array_name(type_)
    where = state.body.op(f"getelementptr {name}, ptr {array}, i32 {lane}")
    value = state.body.op(f"load {name}, ptr {where}")
    return state.body.op(f"trunc i8 {value} to i1") if scalar_name(type_) == "i1" else value


def _unrolled(
    state: Emission,
    operands: list[Operand],
    results: list[Type],
    emit: Callable[[list[str], str], list[str]],
) -> list[str]:
    vectors = [
        rep if isinstance(rep, Uniform) else state.as_vector(rep, type_) for rep, type_ in operands
    ]
    outputs = ["poison"] * len(results)
    for lane in range(state.lanes):
        scalars = [
            v.name if isinstance(v, Uniform) else state.extract(v, scalar_name(t), lane)
            for v, (_, t) in zip(vectors, operands, strict=True)
        ]
        for index, value in enumerate(emit(scalars, str(lane))):
            name = scalar_name(results[index])
            outputs[index] = state.body.op(
                f"insertelement {widen(name, state.lanes)} {outputs[index]}, "
                f"{name} {value}, i64 {lane}"
            )
    return outputs
