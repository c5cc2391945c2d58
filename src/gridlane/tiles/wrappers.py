"""Arrays whose memory a program reads as another type (``triton.reinterpret``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane.frontends.triton.types import dtype as Dtype
from gridlane.frontends.triton.types import float8e4b8, float8e4nv, float8e5, float8e5b16

NARROW = {
    "float8_e4m3fn": float8e4nv,
    "float8_e5m2": float8e5,
    "float8_e4m3fnuz": float8e4b8,
    "float8_e5m2fnuz": float8e5b16,
}
"""Floats of 8 bits by their names in torch and ml_dtypes."""


def element_of(kind: Any) -> Dtype:
    """The language's type of a dtype of the language, torch or NumPy.

    Raises:
        ValueError: it has none.
    """
    if isinstance(kind, Dtype):
        return kind
    name = str(kind).removeprefix("torch.")
    name = {"bool": "int1", "bfloat16": "bf16"}.get(name, name)
    return NARROW.get(name) or Dtype(name.replace("float", "fp"))


class TensorWrapper:
    """An array with another type of elements than its own: the language's or torch's."""

    def __init__(self, base: Any, dtype: Dtype) -> None:
        self.base, self.dtype = base, dtype
        self._data: Any = None

    @property
    def shape(self) -> Any:
        """The array's own shape."""
        return self.base.shape

    @property
    def data(self) -> Any:
        """The array's data, or what replaced it; programs read the array."""
        return self.base.data if self._data is None else self._data

    @data.setter
    def data(self, data: Any) -> None:
        self._data = data

    @property
    def device(self) -> Any:
        """The array's own device."""
        return self.base.device

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.base.data_ptr()

    def stride(self, *axes: int) -> Any:
        """The array's own strides."""
        return self.base.stride(*axes)

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.base.element_size()

    def new_empty(self, sizes: Any) -> TensorWrapper:
        """A tensor of the same type and device, of any elements."""
        return self.over(self.base.new_empty(sizes))

    def new_zeros(self, sizes: Any) -> TensorWrapper:
        """A tensor of zeros of the same type and device."""
        return self.over(self.base.new_zeros(sizes))

    def over(self, base: Any) -> TensorWrapper:
        """The same over other memory."""
        return TensorWrapper(base, self.dtype)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


class Part:
    """The memory of an array of one axis from an element on: that of an argument whose strides do
    not cover what a program reaches, as an expanded tensor's do."""

    def __init__(self, base: Any, start: int) -> None:
        self.base, self.start = base, start


def memory_behind(value: Any) -> Part | None:
    """The whole memory of an object that has a place in torch's: a tensor with strides of 0, or an
    object of a program's own with the address of a tensor's elements; None for others."""
    if not hasattr(value, "untyped_storage") or not hasattr(value, "data_ptr"):
        return None
    strides = value.stride()
    gapless = all(step > 0 or n < 2 for n, step in zip(value.shape, strides, strict=True))
    if gapless and hasattr(value, "__dlpack__"):
        return None
    import torch  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    storage, size = value.untyped_storage(), value.dtype.itemsize
    start, rest = divmod(value.data_ptr() - storage.data_ptr(), size)
    count = storage.nbytes() // size
    if rest or storage.device.type != "cpu" or not 0 <= start <= count:
        return None
    whole: Any = torch.empty(0, dtype=value.dtype)
    return Part(whole.set_(storage, 0, (count,)), start)


class MockTensor:
    """The type of a tensor, in its place for ``warmup``."""

    def __init__(self, dtype: Any, shape: Sequence[int] | None = None) -> None:
        self.dtype, self.shape = dtype, [*(shape or (1,))]

    @staticmethod
    def wrap_dtype(value: Any) -> Any:
        """The tensor of a dtype of torch, numpy or the language; other values as they are."""
        is_torchs = type(value).__name__ == "dtype" and type(value).__module__ == "torch"
        is_dtype = is_torchs or isinstance(value, Dtype | np.dtype)
        return MockTensor(value) if is_dtype else value

    @property
    def element(self) -> Dtype:
        """The language's type of its elements.

        Raises:
            ValueError: it has none.
        """
        return element_of(self.dtype)

    @staticmethod
    def data_ptr() -> int:
        """An aligned address."""
        return 0


def reinterpret(tensor: Any, dtype: Dtype) -> Any:
    """A tensor's memory with elements of another type, or the tensor that was wrapped where the
    type is its own."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr") or hasattr(tensor, "__array_interface__"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"Cannot reinterpret a {type(tensor)}.")
