"""Arguments of raw kernels as the bytes of their parameters."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from gridlane.core.argtypes import int64
from gridlane.core.artifact import ParamSlot
from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen
from gridlane.core.numpy_types import from_numpy
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.kernels.argument_types import is_in_place
from gridlane.cuda.kernels.arguments import InOut
from gridlane.cuda.kernels.external_arrays import check_device, resolved
from gridlane.cuda.kernels.hints import Hint
from gridlane.cuda.kernels.overlaps import Writebacks, share
from gridlane.cuda.kernels.transfers import converter, is_direct
from gridlane.cuda.texture.objects import DeviceObject
from gridlane.launch.geometry import address_of, extent_view
from gridlane.runtime.protocol import Device

_UNKNOWN = int64
"""What a raw kernel does with an array is not known: it may write."""
_NUMBERS = frozenset(np.dtype(code).type for code in "?bhilqBHILQefd")
_AS_THEY_ARE = frozenset({DeviceNDArray, bool, int, float}) | _NUMBERS
"""Types of arguments that nothing on the host is copied for."""


def on_device(args: tuple[Any, ...], back: Writebacks) -> tuple[Any, ...]:
    """The arguments with device arrays for host arrays and for those of other libraries.

    Args:
        back: receives the copies back to host arrays.

    Raises:
        DeviceError: an array is in memory that the current device does not reach.
        TypeError: an array has elements that kernels cannot hold. A device that uses it in place
            would write over Python's objects.
        ArgumentError: a step of a host array is negative or 0: what follows its first element is
            not its memory.

    The kernel gets the address of an array's first element. A host array with gaps between its
    elements is there on every device up to its last element, gaps included.
    """
    for value in args:
        if type(value) is DeviceNDArray:
            check_device(value)
    if all(type(value) in _AS_THEY_ARE for value in args):
        return args
    arguments = tuple(_with_gaps(resolved(value)) for value in args)
    share(arguments, back, is_direct)
    results: list[Any] = []
    for value in arguments:
        convert = converter(value, _UNKNOWN) if _is_array(value) else None
        results.append(convert(value, back) if convert else value)
    return tuple(results)


def _with_gaps(value: Any) -> Any:
    """An argument, in whose place all its memory is passed if that has gaps."""
    if isinstance(value, Hint):
        inner = _with_gaps(value.value)
        if inner is value.value:
            return value
        # What the kernel leaves between the elements of its output is copied back too.
        return type(value)(inner) if value.copy_in else InOut(inner)
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    from_numpy(value.dtype)
    if not value.size:
        return value
    if any(n > 1 and stride <= 0 for n, stride in zip(value.shape, value.strides)):
        raise ArgumentError(
            f"an array with strides {value.strides}: a raw kernel gets the address of the first "
            "element alone; pass a copy"
        )
    if value.flags.forc or is_in_place(value):
        return value
    return extent_view(value)


def structs_as_bytes(args: tuple[Any, ...], sizes: Mapping[int, int]) -> tuple[Any, ...]:
    """The arguments with the bytes of those host arrays that are structs by value.

    Args:
        sizes: of the parameters that are arrays of bytes. One of 8 bytes may hold an address, for
            which an array may be passed.
    """
    if not sizes:
        return args
    arguments = list(args)
    for number, size in sizes.items():
        value = args[number] if number < len(args) else None
        if isinstance(value, np.ndarray) and value.ndim and value.nbytes == size != 8:
            arguments[number] = value.tobytes()
    return tuple(arguments)


def refuse_textures(name: str, args: tuple[Any, ...]) -> None:
    """Raise ArgumentError if an argument is an object that kernels of the IR alone can read."""
    for value in args:
        if isinstance(value, DeviceObject):
            raise ArgumentError(
                f"{name}: a {type(value).__name__} is gridlane's own, and the kernel is compiled "
                'by the driver: make it with via="ir", or pass the handle of an object of CUDA'
            )


def _is_array(value: Any) -> bool:
    return hasattr(value, "copy_out") or (isinstance(value, np.ndarray) and value.ndim > 0)


def layout(slots: tuple[ParamSlot, ...], size: int, args: tuple[Any, ...]) -> Layout | None:
    """How a parameter block is made of arguments of the same types as these, where each is a device
    array or a numpy scalar of its parameter's size; None for others, which ``packed`` takes."""
    order: list[int] = []
    text, end = "<", 0
    for slot in sorted(slots, key=lambda slot: slot.offset):
        value = args[slot.argument]
        is_array = type(value) is DeviceNDArray
        fits = slot.size == (8 if is_array else getattr(value, "nbytes", 0))
        if slot.path or not fits or not (is_array or type(value) in _NUMBERS):
            return None
        text += f"{slot.offset - end}x" + ("Q" if is_array else f"{slot.size}s")
        order.append(slot.argument)
        end = slot.end
    arrays = (place for place, value in enumerate(args) if type(value) is DeviceNDArray)
    return Layout(struct.Struct(f"{text}{size - end}x"), tuple(order), tuple(arrays))


@frozen
class Layout:
    """The parameter block of arguments whose types are known.

    Attributes:
        text: the block.
        places: the arguments in the order of their bytes.
        arrays: the arguments that are device arrays, whether or not code needs them.
    """

    text: struct.Struct
    places: tuple[int, ...]
    arrays: tuple[int, ...]

    def are_on(self, device: Device, args: tuple[Any, ...]) -> bool:
        """Whether all arrays are in a device's own memory. Hot: it runs in each launch."""
        for place in self.arrays:  # noqa: SIM110  # a generator takes longer
            if args[place].buffer.device is not device:
                return False
        return True

    def packed(self, args: tuple[Any, ...]) -> bytes:
        """The block. Hot: it runs in each launch."""
        values = [args[place] for place in self.places]
        return self.text.pack(
            *(v.address if type(v) is DeviceNDArray else v.tobytes() for v in values)
        )


def packed(
    name: str,
    types: tuple[str, ...],
    slots: tuple[ParamSlot, ...],
    size: int,
    args: tuple[Any, ...],
) -> bytes:
    """The parameter block.

    Args:
        name: of the kernel, for errors.
        types: of its parameters in PTX: ``u32``, ``f32``, ``b64``, ...
        slots: its flat parameters; those of a parameter that is bytes have their offset as path.
        size: bytes of the block.

    Raises:
        ArgumentError: an argument is not what its parameter takes.
    """
    block = bytearray(size)
    whole: dict[int, int] = {}
    for slot in slots:
        offset = slot.path[0] if slot.path else 0
        assert isinstance(offset, int)
        whole[slot.argument] = max(whole.get(slot.argument, 0), offset + slot.size)
    for slot in slots:
        value = args[slot.argument]
        if slot.path:
            offset = slot.path[0]
            assert isinstance(offset, int)
            data = _bytes(name, slot, value, whole[slot.argument])[offset : offset + slot.size]
        else:
            data = _scalar(name, slot, value, types[slot.argument][0] in "fb")
        block[slot.offset : slot.end] = data
    return bytes(block)


def _scalar(name: str, slot: ParamSlot, value: Any, takes_floats: bool) -> bytes:
    size = slot.size
    is_array = isinstance(value, DeviceNDArray) or (isinstance(value, np.ndarray) and value.ndim)
    if is_array and size != 8:
        _refuse(name, slot, f"an array, and the parameter has {size} bytes")
    if isinstance(value, DeviceNDArray):
        return struct.pack("<Q", value.address)
    if isinstance(value, DeviceObject):
        if size != 8:
            _refuse(name, slot, f"a {type(value).__name__}, and the parameter has {size} bytes")
        return struct.pack("<Q", value.ptr)
    if isinstance(value, np.ndarray):
        if value.ndim:  # the device uses it in place
            return struct.pack("<Q", address_of(value))
        value = value[()]
    if isinstance(value, np.generic):
        return _exactly(name, slot, value.tobytes(), size)
    if isinstance(value, bool | int):
        low, high = -(1 << 8 * size - 1), (1 << 8 * size) - 1
        if slot.dtype is not None and slot.dtype.is_float:
            return np.array(value, slot.dtype.numpy).tobytes()
        if not low <= value <= high:
            _refuse(name, slot, f"{value}, which has more than {size} bytes")
        return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    if isinstance(value, float):
        if size not in (4, 8) or slot.dtype is None or not takes_floats:
            _refuse(name, slot, "a float, and the parameter is a pointer or an integer")
        return struct.pack("<f" if size == 4 else "<d", value)
    return _exactly(name, slot, _buffer(name, slot, value), size)


def _bytes(name: str, slot: ParamSlot, value: Any, size: int) -> bytes:
    """The bytes of a parameter that is a struct."""
    if isinstance(value, np.generic):
        return _exactly(name, slot, value.tobytes(), size)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return _exactly(name, slot, value.tobytes(), size)
    return _exactly(name, slot, _buffer(name, slot, value), size)


def _buffer(name: str, slot: ParamSlot, value: Any) -> bytes:
    try:
        return bytes(memoryview(value))
    except TypeError:
        _refuse(name, slot, f"an object of type {type(value).__name__}")


def _exactly(name: str, slot: ParamSlot, data: bytes, size: int) -> bytes:
    if len(data) != size:
        _refuse(name, slot, f"{len(data)} bytes, and the parameter has {size}")
    return data


def _refuse(name: str, slot: ParamSlot, what: str) -> NoReturn:
    raise ArgumentError(
        f"{name}: argument {slot.argument} ({slot.name}) is {what}; pass an array, an integer, or "
        "a numpy scalar of the parameter's size"
    )
