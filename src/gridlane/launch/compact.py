"""Whether a launch keeps to the bounds of compact ones; see core/compact.py."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from gridlane.core.artifact import ParamSlot
from gridlane.core.compact import LIMIT, MOST_BLOCKS
from gridlane.core.dtypes import i64


def holds(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether an array is small enough.

    Args:
        shape, strides: as numpy's, strides in bytes.

    >>> holds((1 << 28,), (4,), 4), holds((1 << 29,), (4,), 4), holds((1 << 40,), (0,), 4)
    (True, False, False)
    """
    reach = itemsize
    for length, stride in zip(shape, strides):
        if length > LIMIT or not -LIMIT <= stride <= LIMIT:
            return False
        reach += max(0, length - 1) * abs(stride)
    return reach <= LIMIT


def grid_holds(grid: tuple[int, int, int], block: tuple[int, int, int]) -> bool:
    """Whether the grid is small enough along each axis."""
    return all(blocks <= MOST_BLOCKS and blocks * own <= LIMIT for blocks, own in zip(grid, block))


def arguments_seem_small(args: tuple[Any, ...]) -> bool:
    """Whether no integer and no array among the arguments is too large, as far as is cheap to say.
    What arguments are converted to is another matter: see ``parameters_hold``."""
    return all(map(_seems_to_hold, args))


def _seems_to_hold(value: Any) -> bool:
    if isinstance(value, int):
        return -LIMIT <= value <= LIMIT
    return getattr(value, "nbytes", 0) <= LIMIT


def checker(slots: Sequence[ParamSlot]) -> Callable[[bytes], bool]:
    """``parameters_hold`` for parameters that lie so, as one expression, for the hot path."""
    codes, at = ["<"], 0
    tests: list[str] = []
    reach: dict[Hashable, list[str]] = {}
    lengths: list[str] = []
    for n, slot in enumerate(slot for slot in slots if slot.dtype is i64):
        codes.append(f"{slot.offset - at}xq")
        at = slot.offset + 8
        tests.append(f"{-LIMIT} <= v[{n}] <= {LIMIT}")
        kind = slot.path[-2] if len(slot.path) > 1 else ""
        if kind == "shape":
            lengths.append(f"v[{n}]")
        elif kind == "strides":
            # An empty array may have any stride: nothing of it is read.
            term = f"({lengths.pop(0)} - 1) * v[{n}]"
            reach.setdefault((slot.argument, slot.path[:-2]), []).append(term)
    for terms in reach.values():
        if len(terms) == 1:  # two comparisons cost less than a call
            tests.append(f"{-LIMIT} <= {terms[0]} <= {LIMIT}")
        else:
            tests.append(f"{' + '.join(f'abs({term})' for term in terms)} <= {LIMIT}")
    if not tests:
        return lambda params: True
    read = struct.Struct("".join(codes)).unpack_from
    text = f"lambda params: (v := read(params)) and {' and '.join(tests)}"
    return eval(text, {"read": read, "abs": abs, "__builtins__": {}})


def parameters_hold(slots: Sequence[ParamSlot], params: bytes) -> bool:
    """Whether the parameters of a launch are small enough: integers of 64 bits, and arrays."""
    reach: dict[tuple[int, tuple[str | int, ...]], int] = {}
    lengths: list[int] = []
    for slot in slots:
        if slot.dtype is not i64:
            continue
        (value,) = struct.unpack_from("<q", params, slot.offset)
        if not -LIMIT <= value <= LIMIT:
            return False
        kind = slot.path[-2] if len(slot.path) > 1 else ""
        if kind == "shape":
            lengths.append(value)
        elif kind == "strides":
            # The strides of an array follow its shape, in the same order.
            array = slot.argument, slot.path[:-2]
            reach[array] = reach.get(array, 0) + max(0, lengths.pop(0) - 1) * abs(value)
    return all(bytes_ <= LIMIT for bytes_ in reach.values())
