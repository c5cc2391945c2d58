"""Runs scalar code for each running lane, one after the other, for ops without a vector form."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Rep, Uniform, scalar_size
from gridlane.codegen.llvm.text import memory_name, scalar_name, widen
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
    Returns the result vectors, whose other lanes are undefined. ``unroll`` copies the code for up
    to ``UNROLLED`` lanes if all run; otherwise it is a loop over the set bits of the mask.
    """
    state.work += state.lanes_of_vector
    if unroll and state.mask is None:
        return _unrolled(state, operands, results, emit)
    body = state.body
    arrays = [_held(state, rep, type_) for rep, type_ in operands]
    outputs = [body.alloca(widen(memory_name(type_), state.lanes), align=64) for type_ in results]
    width = f"i{state.lanes}"
    counter = body.alloca(width)
    body.do(f"store {width} {state.bits(state.mask)}, ptr {counter}")
    head, done = body.label("lane"), body.label("lanes")
    body.branch(head)
    body.start(head)
    bits = body.op(f"load {width}, ptr {counter}")
    lane = state.first_lane(bits)
    scalars = [
        array.name if isinstance(array, Uniform) else _picked(state, array, type_, f"i32 {lane}")
        for array, (_, type_) in zip(arrays, operands, strict=True)
    ]
    lane_results = emit(scalars, lane)
    for output, type_, value in zip(outputs, results, lane_results, strict=True):
        name = memory_name(type_)
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


def _as_byte(state: Emission, value: str, type_: Type) -> str:
    if scalar_name(type_) != "i1":
        return value
    return state.body.op(f"zext i1 {value} to i8")


def _collected(state: Emission, output: str, type_: Type) -> str:
    """Reload a spilled vector."""
    vector = widen(memory_name(type_), state.lanes)
    name = state.body.op(f"load {vector}, ptr {output}, align 64")
    if scalar_name(type_) != "i1":
        return name
    return state.body.op(f"trunc {vector} {name} to {state.mask_type}")


def _held(state: Emission, rep: Rep, type_: Type) -> str | Uniform:
    """Memory of a spilled vector; a uniform stays a scalar."""
    if isinstance(rep, Uniform):
        return rep
    memory = state.body.alloca(widen(memory_name(type_), state.lanes), align=64)
    _spilled(state, rep, type_, memory)
    return memory


def _spilled(state: Emission, rep: Rep, type_: Type, memory: str, how: str = "") -> None:
    """Spill a vector, so that a lane can be read by its number."""
    name, held = state.as_vector(rep, type_), widen(memory_name(type_), state.lanes)
    if scalar_name(type_) == "i1":
        name = state.body.op(f"zext {state.mask_type} {name} to {held}")
    state.body.do(f"store {how}{held} {name}, ptr {memory}, align 64")


def _picked(state: Emission, memory: str, type_: Type, lane: str, how: str = "") -> str:
    """Reload a lane, whose number has its type in front."""
    name = memory_name(type_)
    where = state.body.op(f"getelementptr {name}, ptr {memory}, {lane}")
    value = state.body.op(f"load {how}{name}, ptr {where}")
    return state.body.op(f"trunc i8 {value} to i1") if scalar_name(type_) == "i1" else value


UNROLLED = 32
"""Lanes whose code stands one after the other; longer chunks loop over groups of so many."""


def _unrolled(
    state: Emission,
    operands: list[Operand],
    results: list[Type],
    emit: Callable[[list[str], str], list[str]],
) -> list[str]:
    """Scalar code of all lanes, in groups."""
    body = state.body
    picks = [_picks(state, rep, type_, n) for n, (rep, type_) in enumerate(operands)]
    outputs = [_lane_memory(state, len(picks) + n, type_) for n, type_ in enumerate(results)]
    groups, rest = divmod(state.lanes, UNROLLED)
    assert not rest or not groups, "lanes are a power of two"
    counter = body.alloca("i64")
    head = body.label("lane")
    if groups > 1:
        body.do(f"store i64 0, ptr {counter}")
        body.branch(head)
        body.start(head)
    first = body.op(f"load i64, ptr {counter}") if groups > 1 else "0"
    for number in range(min(state.lanes, UNROLLED)):
        lane = body.op(f"add i64 {first}, {number}") if groups > 1 else str(number)
        narrow = body.op(f"trunc i64 {lane} to i32") if groups > 1 else lane
        lane_results = emit([pick(lane) for pick in picks], narrow)
        for output, type_, value in zip(outputs, results, lane_results, strict=True):
            name = memory_name(type_)
            where = body.op(f"getelementptr {name}, ptr {output}, i64 {lane}")
            body.do(f"store {name} {_as_byte(state, value, type_)}, ptr {where}")
    if groups > 1:
        following = body.op(f"add i64 {first}, {UNROLLED}")
        body.do(f"store i64 {following}, ptr {counter}")
        more = body.op(f"icmp ult i64 {following}, {state.lanes}")
        again, done = body.label("again"), body.label("lanes")
        body.branch_if(more, again, done)
        body.start(again)
        state.repeat(head, "disable")
        body.start(done)
    return [
        _collected(state, output, type_) for output, type_ in zip(outputs, results, strict=True)
    ]


def _picks(state: Emission, rep: Rep, type_: Type, number: int) -> Callable[[str], str]:
    """Return a function from a lane to its scalar.

    The lanes of a vector are loaded from memory, one load each: an extraction of an upper lane
    costs two or three instructions. LLVM folds such loads into extractions unless they are
    volatile.
    """
    body, name = state.body, scalar_name(type_)
    if isinstance(rep, Uniform):
        return lambda lane: rep.name
    if isinstance(rep, Linear) and name == "ptr":
        return lambda lane: body.op(
            f"getelementptr i8, ptr {rep.base}, i64 {body.op(f'mul i64 {lane}, {rep.stride}')}"
        )
    memory = _lane_memory(state, number, type_)
    _spilled(state, rep, type_, memory, "volatile ")
    return lambda lane: _picked(state, memory, type_, f"i64 {lane}", "volatile ")


def _lane_memory(state: Emission, number: int, type_: Type) -> str:
    """Memory for the ``number``-th vector that is held at a time, in the arena.

    There it lies close to shared memory. A load whose address ends in the same 12 bits as that of
    a store under way waits for it, which the stack's may do.
    """
    key = number, memory_name(type_)
    if key not in state.lane_memory:
        offset = -(-state.scratch // 64) * 64
        state.lane_memory[key] = offset
        state.scratch = offset + scalar_size(type_) * state.lanes
    arena = state.known["arena"]
    return state.body.op(f"getelementptr i8, ptr {arena}, i64 {state.lane_memory[key]}")
