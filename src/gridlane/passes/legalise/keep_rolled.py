"""Keeps ptxas from unrolling loops that read and write the same shared array.

NVIDIA's ptxas 13.0 unrolls a loop of unknown trip count by four, with its remainder behind it. For
sm_90 it loses updates in the remainder of a loop such as

    for i in range(first, last):
        counts[digit(keys[i]) * width + t] += 1

from -O2 on: the second of two loops over some keys then found the first one's count too small. The
same PTX is right with -O1, with ``.pragma "nounroll"`` in this loop alone, and on an interpreter.
Each iteration waits for the store of the one before, so such loops gain little by unrolling.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.ir.ops import control, memory
from gridlane.ir.types import Space
from gridlane.ir.values import Module, Region, Value


def keep_rolled(module: Module) -> None:
    """Set ``Loop.unroll`` to never for innermost loops that read and write a shared array, where it
    is unspecified and they have no barrier."""
    for function in module.functions.values():
        for loop in _innermost(function.body):
            if not loop.unroll and _updates_shared_memory(loop.body):
                loop.unroll = 1


def _innermost(region: Region) -> Iterator[control.Loop]:
    for op in region.walk():
        if isinstance(op, control.Loop) and not any(
            isinstance(inner, control.Loop) for inner in op.body.walk()
        ):
            yield op


def _updates_shared_memory(body: Region) -> bool:
    read: set[Value | str] = set()
    written: set[Value | str] = set()
    for op in body.walk():
        if op.barrier:
            return False
        if isinstance(op, memory.Load | memory.Store):
            pointer = op.pointer
            if memory.space_of(pointer) is Space.SHARED:
                (read if isinstance(op, memory.Load) else written).add(_root(pointer))
    return bool(read & written)


def _root(pointer: Value) -> Value | str:
    """What an address is an offset of: the name of a global, or another value."""
    while pointer.op is not None:
        op = pointer.op
        if isinstance(op, memory.GlobalAddress):
            return op.symbol
        if isinstance(op, memory.DynamicShared):
            return "dynamic"
        inner = getattr(op, "pointer", None)
        if not isinstance(inner, Value) or isinstance(op, memory.Load):
            break
        pointer = inner
    return pointer
