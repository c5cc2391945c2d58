"""The array of the caller's that a bad access was made by: its name, the index and the shape."""

from __future__ import annotations

import numpy as np

from gridlane.interp.state import Frame
from gridlane.interp.values import Array
from gridlane.ir.families import TILES
from gridlane.ir.op import Op
from gridlane.ir.ops.memory import FieldPointer, Offset, Recast
from gridlane.ir.ops.tiles import element_type
from gridlane.ir.types import PointerType
from gridlane.ir.values import Param, Value


def array_of(frame: Frame, op: Op, mask: Array, position: int) -> str:
    """The array in words; "" if the pointer is not one of an argument's by arithmetic alone.

    Args:
        position: of the lane among those that run.
    """
    pointer = getattr(op, "pointer", None)
    if pointer is None:
        return ""
    lane = int(np.flatnonzero(mask)[position])
    return array_at(frame, pointer, _lane(frame, pointer, lane), lane)


def array_at(frame: Frame, pointer: Value, address: int, lane: int = 0) -> str:
    """The array that an address is of, by the arithmetic that made the pointer, as ``array_of``
    has it. ``lane`` is one that knows the kernel's parameters."""
    params = frame.block.launch.module.kernel.params
    root = _root(pointer)
    param = next((each for each in params if each.value is root), None)
    if param is None or not param.value.name or param.path[-1:] != ("data",):
        return ""
    shape = _numbers(frame, params, param, "shape", lane)
    strides = _numbers(frame, params, param, "strides", lane)
    if not shape:
        return f"; the array is {param.value.name}"
    text = f"; the array is {param.value.name}, of shape {tuple(shape)}"
    if len(shape) != 1 or not strides or not strides[0]:
        return text
    distance = address - _lane(frame, param.value, lane)
    if distance % strides[0]:
        return text
    return f"{text}, and the index {distance // strides[0]}"


def _root(pointer: Value) -> Value | None:
    """The value that a pointer, or the pointers of a tile, were made of by arithmetic."""
    root: Value | None = pointer
    while root is not None and root.op is not None:
        made = isinstance(root.op, Offset | FieldPointer | Recast) or root.op.name in TILES
        root = next(filter(_has_address, root.op.operands()), None) if made else None
    return root


def _has_address(value: Value) -> bool:
    return isinstance(element_type(value.type), PointerType)


def _numbers(frame: Frame, params: list[Param], param: Param, what: str, lane: int) -> list[int]:
    """The lengths or strides of an argument's axes."""
    start = (*param.path[:-1], what)
    own = [each for each in params if each.argument == param.argument]
    values = [each.value for each in own if each.path[:-1] == start and each.value in frame.values]
    return [_lane(frame, value, lane) for value in values]


def _lane(frame: Frame, value: Value, lane: int) -> int:
    lanes = frame.values[value]
    assert isinstance(lanes, np.ndarray)
    return int(lanes[lane])
