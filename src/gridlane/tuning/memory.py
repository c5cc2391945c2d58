"""Arrays among a launch's arguments: their values before it, and after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, cast

import ml_dtypes
import numpy as np

from gridlane.core.array_interface import ArrayMemory, read
from gridlane.launch.geometry import contiguous_strides, extent_of, is_contiguous
from gridlane.runtime.protocol import Device
from gridlane.tuning.errors import TuningError

Bits = np.ndarray[Any, np.dtype[Any]]
_INTERFACE = "__cuda_array_interface__"
_OF_ARRAYS = "__dlpack__", "__array_interface__", _INTERFACE, "data_ptr"
_RELATIVE = {2: 2e-2, 4: 1e-4, 8: 1e-9}
"""Of the largest value, by the bytes of a float: what sums in another order may differ by."""


def arrays_in(args: Sequence[Any]) -> list[Any]:
    """The arrays among arguments, and in tuples of them; each once.

    Raises:
        TuningError: one is of a kind whose values cannot be saved.
    """
    found: list[Any] = []
    for value in _leaves(args):
        if is_array(value):
            if not any(value is other for other in found):
                found.append(value)
        elif not isinstance(value, np.generic) and any(hasattr(value, n) for n in _OF_ARRAYS):
            raise TuningError(
                f"tune: an argument of type {type(value).__name__}: its values cannot be saved and "
                "restored"
            )
    return found


def _leaves(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _leaves(cast("Sequence[Any]", value))
        else:
            yield value


def is_array(value: Any) -> bool:
    """Whether a value is an array whose elements can be saved and restored."""
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, np.generic):
        return False
    device = hasattr(value, "copy_to_host") and hasattr(value, "copy_to_device")
    return device or (hasattr(value, "clone") and hasattr(value, "copy_"))


def apart(arrays: Sequence[Any]) -> set[int]:
    """The numbers of arrays whose memory is that of no other one, as far as that is known."""
    spans = [_span(each) for each in arrays]
    found: set[int] = set()
    for number, span in enumerate(spans):
        others = [*spans[:number], *spans[number + 1 :]]
        if span is not None and all(
            each is not None and (each[1] <= span[0] or span[1] <= each[0]) for each in others
        ):
            found.add(number)
    return found


def _span(array: Any) -> tuple[int, int] | None:
    """The addresses of an array's first byte and of the end."""
    if isinstance(array, np.ndarray):
        address, strides = int(array.__array_interface__["data"][0]), array.strides
        dtype: np.dtype[Any] = array.dtype
        shape = array.shape
    else:
        there = _memory_of(array)
        if there is None:
            return None
        address, shape, dtype = there.address, there.shape, there.dtype
        strides = there.strides or contiguous_strides(shape, dtype.itemsize)
    low, high = extent_of(shape, strides, dtype.itemsize)
    return address + low, address + high


def _memory_of(array: Any) -> ArrayMemory | None:
    """The memory of an array of another library or of a device; None where it does not say."""
    if all(hasattr(array, name) for name in ("data_ptr", "element_size", "stride")):
        size = int(array.element_size())
        strides = tuple([size * int(each) for each in array.stride()])
        return ArrayMemory(
            tuple(array.shape), strides, np.dtype(f"V{size}"), array.data_ptr(), False
        )
    for name in ("__gridlane_array__", _INTERFACE):
        interface = getattr(array, name, None)
        if interface:
            return read(interface)
    return None


def copy_of(array: Any) -> Any:
    """The values of an array, which ``assign`` accepts."""
    if hasattr(array, "clone"):
        return array.clone()
    return array.copy_to_host() if hasattr(array, "copy_to_host") else array.copy()


def assign(array: Any, value: Any) -> None:
    """Write a number, or the values of an array, into an array of any library."""
    if hasattr(array, "copy_"):
        array.zero_() if isinstance(value, int) else array.copy_(value)
    elif hasattr(array, "copy_to_device"):
        plain = np.zeros(array.shape, array.dtype) if isinstance(value, int) else value
        array.copy_to_device(plain)
    else:
        array[...] = value


def on_host(array: Any) -> Bits:
    """The values of an array in NumPy."""
    if isinstance(array, np.ndarray):
        return np.array(array)
    if not hasattr(array, "detach"):
        return array.copy_to_host()
    tensor = array.detach().cpu().contiguous()
    narrow = getattr(ml_dtypes, str(tensor.dtype).removeprefix("torch."), None)
    if narrow is None:
        return np.array(tensor.numpy())
    integer = getattr(import_module("torch"), f"int{8 * tensor.element_size()}")
    return np.array(tensor.view(integer).numpy().view(narrow))


class Saved:
    """The values of arrays, to which they return.

    Args:
        device: where arrays of its memory are copied, without the host.
    """

    def __init__(self, arrays: Sequence[Any], device: Device) -> None:
        self.arrays = [*arrays]
        self._restore = [_restorer(each, device) for each in self.arrays]
        self.written: set[int] | None = None
        """The numbers of the arrays that launches write; None before one is known."""

    def restore(self, whole: bool = False) -> None:
        """Write the values back: of all arrays, or of those that are known to be written."""
        for number, write in enumerate(self._restore):
            if whole or self.written is None or number in self.written:
                write()

    def invert(self, number: int) -> None:
        """Invert the bits of an array that launches write and do not read, so that what they leave
        out shows."""
        array = self.arrays[number]
        values = np.ascontiguousarray(on_host(array))
        inverted = np.invert(values.view(np.uint8).reshape(-1)).view(values.dtype)
        inverted = inverted.reshape(values.shape)
        if not hasattr(array, "copy_"):
            assign(array, inverted)
        elif array.dim() and array.is_contiguous():
            bits = array.view(import_module("torch").uint8)
            bits.bitwise_not_()

    def contents(self) -> list[Bits]:
        """The arrays' values now."""
        return [on_host(each) for each in self.arrays]


def _restorer(array: Any, device: Device) -> Callable[[], None]:
    """The call that gives an array its present values again."""
    is_elsewhere = isinstance(array, np.ndarray) or getattr(array, "is_cuda", True) is False
    there = None if is_elsewhere else _memory_of(array)
    if there is not None and _is_dense(there):
        size = math.prod(there.shape) * there.dtype.itemsize
        if not size:
            return lambda: None
        kept, stream, address = device.allocate(size), device.default_stream, there.address
        stream.copy(kept.address, address, size)
        return lambda: stream.copy(address, kept.address, size, kept)
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        return lambda: None  # no kernel writes it
    values = copy_of(array)
    return lambda: assign(array, values)


def _is_dense(array: ArrayMemory) -> bool:
    """Whether the elements are next to each other, the last axis innermost."""
    size = array.dtype.itemsize
    return array.strides is None or is_contiguous(array.shape, array.strides, size, "C")


def differs(wanted: Bits, got: Bits, tolerance: float | None) -> str:
    """What is wrong about an array's values; "" if nothing is.

    Args:
        tolerance: of floats, relative to the largest one; None where all bits are to agree.
    """
    if tolerance is None or not _is_float(wanted):
        same = _bits(wanted) == _bits(got)
        if same.all():
            return ""
        return f"{np.count_nonzero(~same)} of {same.size} bytes differ"
    one, two = (_floats(each) for each in (wanted, got))
    if not (np.isfinite(one) == np.isfinite(two)).all():
        return "NaN or infinity in other places"
    finite = np.isfinite(one)
    if not finite.any():
        return ""
    scale = np.abs(one[finite]).max()
    off = np.abs(one[finite] - two[finite]).max()
    allowed = tolerance * (scale or 1.0)
    return "" if off <= allowed else f"values differ by {off:.3g}, and {allowed:.3g} is allowed"


def _bits(values: Bits) -> Bits:
    return np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)


def _floats(values: Bits) -> Bits:
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def tolerance_of(arrays: Sequence[Bits]) -> float:
    """What results under ``fastmath`` may differ by, relative to the largest: that of the narrowest
    floats among arrays."""
    sizes = [
        each.dtype.itemsize // (2 if each.dtype.kind == "c" else 1)
        for each in arrays
        if _is_float(each)
    ]
    return _RELATIVE.get(min(sizes, default=4), 0.1)


def _is_float(values: Bits) -> bool:
    """Whether elements are floats or complex; ml_dtypes' have the kind of bytes."""
    return values.dtype.kind in "fc" or (values.dtype.kind == "V" and values.dtype.names is None)
