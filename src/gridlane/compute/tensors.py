"""Types of the arguments of loop nests: ``Tensor[f32, "M", 512]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.dtypes import DType, from_numpy
from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen


@frozen
class Dim:
    """An extent that is known at the call, and its bounds.

    Attributes:
        name: a Python name, which the loops may use.
        low, high: the least and the largest value; no upper bound by default.
    """

    name: str
    low: int = 1
    high: int | None = None

    def __str__(self) -> str:
        return self.name


@frozen
class TensorType:
    """An array of a dtype whose extents are numbers or names.

    Attributes:
        device: the name of the device that its memory is of; any where it is empty.
    """

    dtype: DType
    extents: tuple[int | Dim, ...]
    device: str = ""

    def __str__(self) -> str:
        where = f", on {self.device}" if self.device else ""
        return f"Tensor[{', '.join(map(str, (self.dtype, *self.extents)))}]{where}"

    def on(self, device: str) -> TensorType:
        """The same in a device's memory."""
        return TensorType(self.dtype, self.extents, device)


class Tensor:
    """``Tensor[dtype, *extents]`` is the type of an argument: an extent is a number, a name, or a
    ``Dim`` with bounds.

    >>> from gridlane.core.dtypes import f32
    >>> str(Tensor[f32, "M", 512])
    'Tensor[f32, M, 512]'
    """

    def __class_getitem__(cls, parts: Any) -> TensorType:
        kind, *extents = parts if isinstance(parts, tuple) else (parts,)
        if not isinstance(kind, DType):
            raise ArgumentError(f"the dtype of a Tensor is one of gridlane's, not {kind!r}")
        return TensorType(kind, tuple([_extent(each) for each in extents]))


def _extent(value: Any) -> int | Dim:
    if isinstance(value, Dim):
        extent = value
    elif isinstance(value, str):
        extent = Dim(value)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        if value < 1:
            raise ArgumentError(f"an extent is at least 1, not {value}")
        return int(value)
    else:
        raise ArgumentError(f"an extent is a number, a name or a Dim, not {value!r}")
    if not extent.name.isidentifier():
        raise ArgumentError(f"{extent.name!r}, of an extent, is no name of Python's")
    if extent.low < 1 or (extent.high is not None and extent.high < extent.low):
        raise ArgumentError(f"the bounds of {extent.name} are {extent.low} and {extent.high}")
    return extent


def bind(
    types: dict[str, TensorType], arrays: dict[str, Any], scalars: dict[str, int]
) -> dict[str, int]:
    """The value of each extent's name, by the shapes of arrays.

    Args:
        scalars: integer arguments, which extents of the same name must equal.

    Raises:
        ArgumentError: an array has another rank, dtype or extent; the message has both places.
    """
    known: dict[str, tuple[int, str]] = {name: (n, "the argument") for name, n in scalars.items()}
    for name, type_ in types.items():
        array = arrays[name]
        if not hasattr(array, "shape") or not hasattr(array, "dtype"):
            raise ArgumentError(
                f"{name} is {type_}, and a {type(array).__name__} is given: pass an array, as "
                "np.asarray(x) or cuda.from_dlpack(x)"
            )
        shape, dtype = tuple(array.shape), _dtype(array)
        if len(shape) != len(type_.extents):
            raise ArgumentError(f"{name} is {type_}, and the array has the shape {shape}")
        if dtype != str(type_.dtype):
            raise ArgumentError(f"{name} is {type_}, and the array has elements {dtype}")
        for axis, (extent, value) in enumerate(zip(type_.extents, shape, strict=True)):
            if isinstance(extent, int):
                if value != extent:
                    raise ArgumentError(
                        f"{name} is {type_}, and the array has {value} along axis {axis}"
                    )
                continue
            before, where = known.setdefault(extent.name, (value, name))
            if before != value:
                raise ArgumentError(f"{extent.name} is {before} in {where} and {value} in {name}")
            high = extent.high
            if value < extent.low or (high is not None and value > high):
                limits = f"at least {extent.low}" + ("" if high is None else f", at most {high}")
                raise ArgumentError(f"{extent.name} is {value} in {name}; it must be {limits}")
    return {name: value for name, (value, _) in known.items()}


def _dtype(array: Any) -> str:
    """The name of an array's dtype in gridlane's terms."""
    kind = getattr(array, "dtype", None)
    if isinstance(kind, np.dtype):
        found = from_numpy(kind)
        return str(found) if found is not None else str(kind)
    name = str(kind).removeprefix("torch.")  # of torch's tensors
    return _NAMES.get(name, name)


_NAMES = {
    "bool": "b1", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    **{f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}  # fmt: skip
