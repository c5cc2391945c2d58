"""Check the size of a thread's local arrays, the same for all targets."""

from __future__ import annotations

import linecache
import re

from gridlane.core.errors import ConstantError
from gridlane.core.source import Loc
from gridlane.ir.ops.control import Call
from gridlane.ir.ops.memory import LocalArray
from gridlane.ir.values import Module

MOST_BYTES = 512 << 10
"""CUDA's limit of local memory per thread, on every generation of devices."""


def check_local_memory(module: Module) -> None:
    """Refuse a kernel whose local arrays, with those of the functions that it calls, are too
    large.

    Raises:
        ConstantError: at the largest of them; the others are related places.
    """
    arrays = _deepest(module, module.kernel.name, {})
    total = sum(_bytes(array) for array in arrays)
    if total <= MOST_BYTES:
        return
    largest, *others = sorted(arrays, key=_bytes, reverse=True)
    text = f"{_called(largest.loc)} takes {_bytes(largest)} bytes"
    if others:
        text += f", and all local arrays together {total},"
    raise ConstantError(
        f"{text} of a thread's local memory; a thread has {MOST_BYTES}, as CUDA has it: use an "
        "array in global memory with a part for each thread",
        largest.loc,
        tuple((f"{_called(o.loc)} takes {_bytes(o)} bytes", o.loc) for o in others[:3]),
    )


def _deepest(module: Module, name: str, known: dict[str, list[LocalArray]]) -> list[LocalArray]:
    """The largest set of arrays that are live at once while a function runs."""
    if name not in known:
        known[name] = []  # a function that calls itself is refused elsewhere
        own = [op for op in module.functions[name].body.walk() if isinstance(op, LocalArray)]
        called = {op.callee for op in module.functions[name].body.walk() if isinstance(op, Call)}
        none: list[LocalArray] = []
        below = [none, *[_deepest(module, callee, known) for callee in sorted(called)]]
        known[name] = own + max(below, key=lambda each: sum(map(_bytes, each)))
    return known[name]


def _bytes(array: LocalArray) -> int:
    """What an array takes, with what aligns it: a stack is a multiple of 16."""
    return array.size + max(0, array.align - 16)


def _called(loc: Loc) -> str:
    """The array, by its name in the source."""
    declaration = re.match(r"\s*(\w+)\s*(:[^=]*)?=[^=]", linecache.getline(loc.file, loc.line))
    return f"the local array {declaration[1]!r}" if declaration else "a local array"
