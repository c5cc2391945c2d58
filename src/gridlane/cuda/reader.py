"""From arguments to parameter bytes: one generated function for each tuple of argument types.

The function's text holds what is known before the launch: where each scalar lies, how it is
reached from its argument, and which conversion it needs. A device array carries its parameters
ready as bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType, ArrayType, TupleType
from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import DType, Kind, bf16, f16, f32, i64, u64
from gridlane.cuda.devicearray import DeviceNDArray
from gridlane.launch.geometry import address_of

_FORMATS = {
    (Kind.BOOL, 1): "?",
    **{(Kind.SIGNED, size): code for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))},
    **{(Kind.UNSIGNED, size): code for size, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))},
    **{(Kind.FLOAT, size): code for size, code in ((2, "e"), (4, "f"), (8, "d"))},
}


def _bf16_bits(value: Any) -> int:
    return int(np.asarray(value, bf16.numpy).view(np.uint16))


def _narrow(dtype: DType) -> Callable[[Any], Any]:
    """Round to a narrower float; infinity on overflow, where struct would raise."""
    scalar = dtype.numpy.type

    def narrow(value: Any) -> Any:
        with np.errstate(over="ignore"):
            return scalar(value)

    return narrow


def _wrap(dtype: DType) -> Callable[[Any], int]:
    wrap = dtype.wrap
    return lambda value: wrap(int(value))


_HELPERS: dict[str, Any] = {"address_of": address_of, "bf16_bits": _bf16_bits}
_HELPERS |= {f"narrow_{dtype}": _narrow(dtype) for dtype in (f16, f32)}


def _scalar(text: str, value: Any, dtype: DType) -> tuple[str, str]:
    """The struct code of a scalar slot, and the expression that reads ``text`` for it.

    ``value`` is an example of what the expression meets.
    """
    have = value.dtype if isinstance(value, np.generic) else None
    if dtype is bf16:
        return "H", f"bf16_bits({text})"
    code = _FORMATS[dtype.kind, dtype.size]
    if dtype.is_bool:
        return code, f"bool({text})"
    if dtype.is_float:
        exact = have is not None and have.kind == "f" and have.itemsize <= dtype.size
        if dtype in (f16, f32) and not exact:
            return code, f"narrow_{dtype}({text})"
        return code, text
    # Python's int is an i64 or u64, as its type's key says; anything else must say it fits.
    if isinstance(value, bool) or (have is None and not isinstance(value, int)):
        return code, f"wrap_{dtype}({text})"
    if have is None:  # a signature may ask for the other one
        fits = dtype is (i64 if int(value) < 2**63 else u64)
    else:
        fits = np.can_cast(have, dtype.numpy, "safe")
    return code, text if fits else f"wrap_{dtype}({text})"


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


def source(
    types: Sequence[ArgType], values: Sequence[Any], params: Sequence[ParamSlot], size: int
) -> tuple[str, str]:
    """The struct format and the text of the reader of arguments like ``values``."""
    codes, expressions, end = [], [], 0
    by_argument: dict[int, list[ParamSlot]] = {}
    for slot in params:
        by_argument.setdefault(slot.argument, []).append(slot)

    def put(offset: int, code: str, length: int, expression: str) -> None:
        nonlocal end
        if offset > end:
            codes.append(f"{offset - end}x")
        codes.append(code)
        expressions.append(expression)
        end = offset + length

    for n, slots in by_argument.items():
        if _is_descriptor(values[n], types[n], slots):
            length = 8 * len(slots)
            put(slots[0].offset, f"{length}s", length, f"a{n}._packed")
            continue
        for slot in slots:
            code, text = _reach(f"a{n}", values[n], types[n], slot.path, slot.dtype)
            put(slot.offset, code, struct.calcsize(f"<{code}"), text)
    if size > end:
        codes.append(f"{size - end}x")
    names = "".join(f"a{n}, " for n in range(len(values)))
    return "<" + "".join(codes), f"def read({names}):\n    return pack({', '.join(expressions)})\n"


def make_reader(
    types: Sequence[ArgType], values: Sequence[Any], params: Sequence[ParamSlot], size: int
) -> Callable[..., bytes]:
    """The function that turns arguments like ``values`` into the parameter block."""
    layout, text = source(types, values, params, size)
    names: dict[str, Any] = {"pack": struct.Struct(layout).pack, "bool": bool, **_HELPERS}
    for slot in params:
        if slot.dtype is not None and slot.dtype.is_integer:
            names[f"wrap_{slot.dtype}"] = _wrap(slot.dtype)
    exec(compile(text, "<gridlane argument reader>", "exec"), names)
    return names["read"]
