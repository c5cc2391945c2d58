"""Where lanes wait that left a loop or a scope early.

In a kernel whose ops are left by few ways, each construct has a holder: a mask in memory, in which
a lane that leaves is cleared. The lanes that go on behind an op are those in the holders of all
ways out of it. With many ways, as in flow graphs of arbitrary branches, that is quadratic: there
one vector has, for each lane, the number of the way that it took, until it arrives. LLVM promotes
both to registers.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridlane.analysis.uniformity import WayOut
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.codegen.llvm.text import widen

_MOST_HOLDERS = 4
"""The most ways out of an op for which masks are used."""

_RUNS = "zeroinitializer"
"""The number of a lane that waits nowhere."""


def takes_many(ways: Iterable[set[WayOut]]) -> bool:
    """Whether lanes leave the ops of a kernel by so many ways that these are numbered."""
    return any(len(each) > _MOST_HOLDERS for each in ways)


def begin(state: Emission) -> None:
    """Begin code that no lane has left any construct of yet."""
    state.holders.clear()
    state.waiting = None
    if takes_many(state.shapes.kills.values()):
        state.waiting = state.body.alloca(_vector(state))
        state.body.do(f"store {_vector(state)} {_RUNS}, ptr {state.waiting}")


def enter(state: Emission, way: WayOut, mask: str | None) -> None:
    """Begin a construct that lanes may leave early by a way.

    Args:
        mask: the lanes that enter; all if None.
    """
    if state.waiting is None:
        state.holders[way] = pointer = state.body.alloca(state.mask_type)
        value = mask if mask is not None else "splat (i1 true)"
        state.body.do(f"store {state.mask_type} {value}, ptr {pointer}")
        return
    state.ways += 1
    state.holders[way] = f"splat (i32 {state.ways})"


def enter_again(state: Emission, way: WayOut) -> None:
    """Begin another iteration of a loop, after all lanes that continue have run the step."""
    if state.waiting is None:
        state.body.do(f"store {state.mask_type} splat (i1 true), ptr {state.holders[way]}")


def leave(state: Emission, way: WayOut) -> bool:
    """Have the running lanes wait at the end of a way; false if nothing is noted of the lanes that
    take it."""
    holder = state.holders.get(way)
    if holder is None:
        return False
    running = state.all_lanes()
    if state.waiting is None:
        left = state.body.op(f"load {state.mask_type}, ptr {holder}")
        kept = state.without(left, running)
        state.body.do(f"store {state.mask_type} {kept}, ptr {holder}")
        return True
    vector = _vector(state)
    old = state.body.op(f"load {vector}, ptr {state.waiting}")
    new = state.body.op(f"select {state.mask_type} {running}, {vector} {holder}, {vector} {old}")
    state.body.do(f"store {vector} {new}, ptr {state.waiting}")
    return True


def arrive(state: Emission, way: WayOut) -> None:
    """Resume the lanes that wait at the end of an exit, which is here."""
    holder = state.holders.get(way)
    if state.waiting is None or holder is None:
        return
    vector = _vector(state)
    old = state.body.op(f"load {vector}, ptr {state.waiting}")
    here = state.body.op(f"icmp eq {vector} {old}, {holder}")
    new = state.body.op(f"select {state.mask_type} {here}, {vector} {_RUNS}, {vector} {old}")
    state.body.do(f"store {vector} {new}, ptr {state.waiting}")


def remaining(state: Emission, before: str | None, ways: set[WayOut]) -> str | None:
    """The lanes of ``before`` that have not left by one of these ways, all that they may have left
    by since."""
    if state.waiting is not None:
        return state.both(before, _compared(state, "eq", _RUNS)) if ways else before
    mask = before
    for way in sorted(ways, key=lambda item: state.holders[item]):
        left = state.body.op(f"load {state.mask_type}, ptr {state.holders[way]}")
        mask = state.both(mask, left)
    return mask


def running(state: Emission, before: str | None, ways: set[WayOut]) -> str | None:
    """The lanes that run an iteration of a loop.

    Args:
        before: the lanes that entered it; its exits record them too, if they are masks.
    """
    return remaining(state, None if state.waiting is None else before, ways)


def kept(state: Emission, way: WayOut, before: str | None) -> str:
    """The lanes that have not left a construct by a way, of those that entered it."""
    if state.waiting is None:
        return state.body.op(f"load {state.mask_type}, ptr {state.holders[way]}")
    mask = state.both(before, _compared(state, "ne", state.holders[way]))
    assert mask is not None
    return mask


def _compared(state: Emission, how: str, number: str) -> str:
    vector = _vector(state)
    old = state.body.op(f"load {vector}, ptr {state.waiting}")
    return state.body.op(f"icmp {how} {vector} {old}, {number}")


def _vector(state: Emission) -> str:
    return widen("i32", state.lanes)
