"""From arguments to parameter bytes: one generated function for each tuple of argument types.

The function's text holds what is known before the launch: where each scalar lies, how it is
reached from its argument, and which conversion it needs. A device array carries its parameters
ready as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType, ArrayType, TupleType
from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import DType, bf16, i64, u64
from gridlane.cuda.devicearray import DeviceNDArray
from gridlane.launch import packing
from gridlane.launch.geometry import address_of


def _scalar(text: str, value: Any, dtype: DType) -> tuple[str, str]:
    """The struct code of a scalar slot, and the expression that reads ``text`` for it.

    ``value`` is an example of what the expression meets.
    """
    have = value.dtype if isinstance(value, np.generic) else None
    code, fits = packing.format_of(dtype), False
    if dtype.is_float:
        fits = have is not None and have.kind == "f" and have.itemsize <= dtype.size
    elif have is not None:
        fits = np.can_cast(have, dtype.numpy, "safe")
    elif isinstance(value, int) and not isinstance(value, bool):
        # Python's int is an i64 or u64, as its type's key says; a signature may ask for the other.
        fits = dtype is (i64 if int(value) < 2**63 else u64)
    plain = fits and dtype is not bf16 and not dtype.is_bool
    return code, text if plain else packing.converted(text, dtype)


def _reach(
    text: str, value: Any, type_: ArgType, path: Sequence[str | int], dtype: DType | None
) -> tuple[str, str]:
    """The struct code and expression of one slot."""
    if isinstance(type_, TupleType):
        index = int(path[0])
        return _reach(f"{text}[{index}]", value[index], type_.items[index], path[1:], dtype)
    if isinstance(type_, ArrayType) or path == ("record",):
        if path[0] == "shape" or path[0] == "strides":
            return "q", f"{text}.{path[0]}[{path[1]}]"
        device = isinstance(value, DeviceNDArray)
        return "Q", f"{text}.address" if device else f"address_of({text})"
    assert dtype is not None
    if path:
        text, value = f"{text}.{path[0]}", getattr(value, str(path[0]))
    return _scalar(text, value, dtype)


def _is_descriptor(value: Any, type_: ArgType, slots: Sequence[ParamSlot]) -> bool:
    """Whether the slots of an argument are exactly what a device array has packed."""
    if not isinstance(value, DeviceNDArray) or not isinstance(type_, ArrayType):
        return False
    axes = range(type_.ndim)
    paths = [("data",), *(("shape", d) for d in axes), *(("strides", d) for d in axes)]
    start = slots[0].offset if slots else 0
    return [(slot.path, slot.offset) for slot in slots] == [
        (path, start + 8 * n) for n, path in enumerate(paths)
    ]


def _fields(
    types: Sequence[ArgType], values: Sequence[Any], params: Sequence[ParamSlot]
) -> Iterator[packing.Field]:
    by_argument: dict[int, list[ParamSlot]] = {}
    for slot in params:
        by_argument.setdefault(slot.argument, []).append(slot)
    for n, slots in by_argument.items():
        if _is_descriptor(values[n], types[n], slots):
            yield packing.Field(slots[0].offset, f"{8 * len(slots)}s", f"a{n}._packed")
            continue
        for slot in slots:
            code, text = _reach(f"a{n}", values[n], types[n], slot.path, slot.dtype)
            yield packing.Field(slot.offset, code, text)


def source(
    types: Sequence[ArgType], values: Sequence[Any], params: Sequence[ParamSlot], size: int
) -> tuple[str, str]:
    """The struct format and the text of the reader of arguments like ``values``."""
    return packing.source(_names(values), list(_fields(types, values, params)), size)


def make_reader(
    types: Sequence[ArgType], values: Sequence[Any], params: Sequence[ParamSlot], size: int
) -> packing.Packer:
    """The function that turns arguments like ``values`` into the parameter block."""
    fields = list(_fields(types, values, params))
    return packing.make_packer(_names(values), fields, size, {"address_of": address_of})


def _names(values: Sequence[Any]) -> list[str]:
    return [f"a{n}" for n in range(len(values))]
