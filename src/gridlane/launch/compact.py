"""Decide whether a launch is within the bounds of compact ones; see core/compact.py.

An array is compact if its lengths, strides and reach are within the bounds. The reach is the
distance in bytes between its first and last element. ``_external_arrays.h`` measures arrays of
other libraries in the same way.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from gridlane.core.artifact import ParamSlot
from gridlane.core.compact import LIMIT, MOST_BLOCKS
from gridlane.core.dtypes import i64
from gridlane.launch.parameters import Parameters, array_layout, code_of, struct_of
from gridlane.runtime.protocol import Device

Holds = Callable[[bytes], bool]


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The bytes between an array's first and last element. An axis without elements counts for
    one step.

    >>> reach((3, 2), (-8, 4)), reach((0,), (4,))
    (20, 4)
    """
    return sum([abs((length - 1) * stride) for length, stride in zip(shape, strides)])


def grid_holds(grid: tuple[int, int, int], block: tuple[int, int, int]) -> bool:
    """Whether the grid is small enough along each axis."""
    return all(blocks <= MOST_BLOCKS and blocks * own <= LIMIT for blocks, own in zip(grid, block))


def arguments_seem_small(args: tuple[Any, ...]) -> bool:
    """Whether no integer and no array among the arguments is too large, by a cheap test of the
    unconverted arguments; ``checker`` tests the converted ones."""
    return all(map(_seems_to_hold, args))


def _seems_to_hold(value: Any) -> bool:
    if isinstance(value, int):
        return -LIMIT <= value <= LIMIT
    return getattr(value, "nbytes", 0) - getattr(value, "itemsize", 0) <= LIMIT


class Pointers(NamedTuple):
    """The buffers of a launch's pointers, where a device's memory may be several.

    Attributes:
        device: the device.
        buffers_of: reads ``Variant.buffers`` from a parameter block.
        wanted: those that the code is for.
    """

    device: Device
    buffers_of: Callable[[bytes], tuple[int, ...]]
    wanted: tuple[int, ...]


def checker(parameters: Parameters | None, pointers: Pointers | None = None) -> Holds:
    """An expression that tests whether a parameter block is that of a compact launch: 64-bit
    integers, arrays, lengths and strides are within the bounds. Hot.

    Args:
        parameters: the layout; None for code without bounds.
        pointers: for code that is for pointers in certain buffers.

    >>> vector = array_layout(1)
    >>> [checker(vector)(vector.pack(4096, n, 4)) for n in (1 << 28, 1 << 29)]
    [True, False]
    """
    numbers, tests = _bounds(parameters) if parameters else ([], [])
    if numbers:
        tests.insert(0, "(v := read(params))")
    if pointers is not None:
        within = "buffers_of(params) == wanted"
        tests.append(within if pointers.wanted else f"(not device.several_buffers or {within})")
    known: dict[str, Any] = {"abs": abs, "__builtins__": {}}
    if numbers:
        known["read"] = _reader(numbers)
    if pointers is not None:
        known |= pointers._asdict()
    return eval(f"lambda params: {' and '.join(tests) or 'True'}", known)


def _bounds(parameters: Parameters) -> tuple[list[ParamSlot], list[str]]:
    """The numbers of a block that have bounds, and the tests of them, as items of ``v``."""
    numbers = [slot for slot in parameters.slots if slot.dtype is i64]
    names = {slot: f"v[{n}]" for n, slot in enumerate(numbers)}
    tests = [f"{-LIMIT} <= {name} <= {LIMIT}" for name in names.values()]
    for piece in parameters.pieces:
        own = {piece.tail(slot): names[slot] for slot in piece.slots if slot in names}
        steps = [(path[1], name) for path, name in own.items() if path[:1] == ("strides",)]
        terms = [f"({own['shape', axis]} - 1) * {stride}" for axis, stride in steps]
        if len(terms) == 1:  # two comparisons cost less than a call
            tests.append(f"{-LIMIT} <= {terms[0]} <= {LIMIT}")
        elif terms:
            tests.append(f"{' + '.join([f'abs({term})' for term in terms])} <= {LIMIT}")
    return numbers, tests


def _reader(slots: Sequence[ParamSlot]) -> Callable[[bytes], tuple[int, ...]]:
    """Reads some parameters from the block."""
    codes_by_offset = [(slot.offset, code_of(slot.dtype)) for slot in slots]
    return struct.Struct(struct_of(codes_by_offset, slots[-1].end)).unpack_from


@cache
def array_checker(ndim: int) -> Holds:
    """A test whether an array is small enough, on the result of ``array_layout(ndim).pack``."""
    return checker(array_layout(ndim))
