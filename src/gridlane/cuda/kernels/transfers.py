"""Copies of arguments that a kernel cannot use in place: to the device before, and back after."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core import enums
from gridlane.core.argtypes import ArgType, ArrayType, VectorType
from gridlane.core.config import config
from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays import allocation
from gridlane.cuda.arrays.devicearray import DeviceNDArray, DeviceRecord, from_interface, to_device
from gridlane.cuda.kernels.argument_types import ALIGNED, is_in_place
from gridlane.cuda.kernels.arguments import InOut
from gridlane.cuda.kernels.hints import Hint
from gridlane.cuda.kernels.overlaps import Writebacks, record_array
from gridlane.cuda.kernels.user_types import UserArgument
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.launch import current, geometry
from gridlane.memory.resource import Buffer

Convert = Callable[[Any, Writebacks], Any]


def converter(value: Any, want: ArgType) -> Convert | None:
    """The conversion of arguments like ``value`` before a launch; None if they need none."""
    if isinstance(value, DeviceNDArray):
        return None
    if isinstance(value, Hint):
        return _hinted(value, want)
    if isinstance(value, tuple):
        users = isinstance(value, UserArgument)
        items = EXTENSIONS.types_of(want) if users else getattr(want, "items", ())
        inner = [converter(item, type_) for item, type_ in zip(value, items)]
        return _each(inner) if any(inner) else None
    if isinstance(value, enum.Enum):
        if enums.is_plain(value):
            return lambda member, back: enums.index_of(member)
        return lambda member, back: int(member) if isinstance(member, int) else member.value
    if isinstance(value, np.ndarray):
        return _shown if is_in_place(value) else _array(value, want)
    if isinstance(value, np.void):
        return None if isinstance(want, VectorType) else _record
    return None


def _shown(value: Any, back: Writebacks) -> Any:
    if value.flags.forc and not geometry.is_aligned(geometry.address_of(value), value.dtype):
        raise ArgumentError(
            "an array of vectors in mapped or managed memory does not begin at a multiple of "
            f"{geometry.alignment_of(value.dtype)} bytes, as the vectors need; pass a copy"
        )
    return from_interface({**value.__gridlane_array__, "owner": value})


def _each(inner: list[Convert | None]) -> Convert:
    def convert(value: tuple[Any, ...], back: Writebacks) -> tuple[Any, ...]:
        return tuple(f(item, back) if f else item for f, item in zip(inner, value))

    return convert


def _hinted(value: Hint, want: ArgType) -> Convert | None:
    hint = type(value)
    inner = converter(value.value, want)
    if not isinstance(value.value, np.ndarray) or issubclass(hint, InOut):
        return lambda item, back: inner(item.value, back) if inner else item.value
    if not hint.copy_out:  # a kernel's writes must stay hidden, so it gets a copy on every device
        return lambda item, back: _upload(item.value, back, True, False)
    if inner is None:
        return lambda item, back: item.value
    return lambda item, back: _shared(item.value, back, False, True)


def _array(value: np.ndarray, want: ArgType) -> Convert | None:
    writes = not (isinstance(want, ArrayType) and want.readonly)
    readonly = not value.flags.writeable
    if readonly and writes:  # the kernel may write its copy
        return lambda array, back: _upload(array, back, True, False)
    if is_direct(value):
        return known_to_checks if config().check else None
    return lambda array, back: _shared(array, back, True, writes)


def known_to_checks(array: np.ndarray, back: Writebacks) -> np.ndarray:
    """Register a host array that kernels use in place with the device, for the array's lifetime."""
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    address, memory = geometry.address_of(array) + low, current.device().memory
    if high > low and memory.find(address, high - low) is None:
        weakref.finalize(array, _forgotten, memory.note(Buffer(address, high - low)))
    return array


def _forgotten(buffer: Buffer) -> None:
    """Drop the last reference to a buffer."""


def is_direct(array: np.ndarray) -> bool:
    """Whether this thread's device uses a host array in place."""
    if current.device().host_visible:
        return bool(array.flags.num & ALIGNED)
    return is_in_place(array)


def _record(value: np.void, back: Writebacks) -> DeviceNDArray:
    copy = back.shared.get(id(value))
    if copy is not None:
        return DeviceRecord(value.dtype, 0, *copy)
    if value.flags.writeable and is_direct(array := record_array(value)):
        memory = allocation.borrowed(geometry.address_of(array), array.nbytes, value)
        back.append(_written_in_place)
        return DeviceRecord(value.dtype, 0, memory, memory.address)
    device = to_device(value)

    def write_back() -> None:
        host = device.copy_to_host()
        for name in value.dtype.names or ():
            value[name] = host[name]

    back.append(write_back if value.flags.writeable else lambda: _check_unwritten(value, device))
    return device


def _written_in_place() -> None:
    """The copy back of a record that the kernel wrote in place: none; the launch is only waited
    for."""


def _check_unwritten(value: np.void, device: DeviceNDArray) -> None:
    host = device.copy_to_host()
    if any(value[name].tobytes() != host[name].tobytes() for name in value.dtype.names or ()):
        raise ArgumentError(
            f"a kernel wrote into a read-only record ({value.dtype}); pass a copy of the record"
        )


def _upload(array: np.ndarray, back: Writebacks, copy_in: bool, copy_out: bool) -> DeviceNDArray:
    """A device array for a host array that shares its copy with no other argument."""
    device, write_back = _copied(array, copy_in)
    if copy_out:
        back.append(write_back)
    return device


def _shared(array: np.ndarray, back: Writebacks, copy_in: bool, copy_out: bool) -> DeviceNDArray:
    """A device array for a host array, or its part of a shared copy."""
    copy = back.shared.get(id(array))
    if copy is None:
        return _upload(array, back, copy_in, copy_out)
    return DeviceNDArray(array.shape, array.strides, array.dtype, 0, *copy)


def _copied(array: np.ndarray, copy_in: bool) -> tuple[DeviceNDArray, Callable[[], object]]:
    """A device array with the strides of a host array, whose copies omit gaps between elements, and
    its copy back."""
    core = geometry.broadcast_core(array)
    if array.flags.aligned and (core.flags.c_contiguous or core.flags.f_contiguous):
        device = to_device(array.view(np.ndarray), copy=copy_in)
        return device, lambda: device.copy_to_host(array)
    if not geometry.is_stepping_aligned(array):
        return _packed(array, core)
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    raw = np.zeros(high - low, np.uint8)
    mirror = np.ndarray(array.shape, array.dtype, raw, -low, array.strides)
    mirror[...] = array
    memory = to_device(raw)
    device = DeviceNDArray(
        array.shape, array.strides, array.dtype, 0, memory.buffer, memory.address - low
    )

    def write_back() -> None:
        memory.copy_to_host(raw)
        array[...] = mirror

    return device, write_back


def _packed(array: np.ndarray, core: np.ndarray) -> tuple[DeviceNDArray, Callable[[], object]]:
    """A copy without gaps, for elements with gaps such that no place of the first aligns all.

    Raises:
        ArgumentError: the elements share bytes.
    """
    if geometry.overlaps_itself(core):
        raise ArgumentError(
            f"the elements of a {array.dtype} array of shape {array.shape} with strides of "
            f"{array.strides} bytes overlap each other and are not aligned; pass a copy, as "
            "array.copy() is"
        )
    memory = to_device(np.ascontiguousarray(core))
    steps = iter(memory.strides)
    strides = tuple(0 if stride == 0 else next(steps) for stride in array.strides)
    device = DeviceNDArray(array.shape, strides, array.dtype, 0, memory.buffer, memory.address)

    def write_back() -> None:
        core[...] = memory.copy_to_host()

    return device, write_back
