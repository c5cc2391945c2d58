"""Arguments that a kernel cannot use as they are: copied to the device before, and back after."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane.core import enums
from gridlane.core.argtypes import ArgType, ArrayType
from gridlane.core.errors import ArgumentError
from gridlane.cuda.argument_types import ALIGNED, is_in_place
from gridlane.cuda.arguments import ArgHint, InOut
from gridlane.cuda.devicearray import DeviceNDArray, from_interface, to_device
from gridlane.launch import current, geometry

Writeback = Callable[[], object]
"""Copies back what a kernel wrote; a list of them is of one launch."""
Convert = Callable[[Any, list[Writeback]], Any]


def converter(value: Any, want: ArgType) -> Convert | None:
    """What to do with arguments like ``value`` before a launch; None when nothing."""
    if isinstance(value, DeviceNDArray):
        return None
    if isinstance(value, ArgHint):
        return _hinted(value, want)
    if isinstance(value, tuple):
        items = getattr(want, "items", ())
        inner = [converter(item, type_) for item, type_ in zip(value, items)]
        return _each(inner) if any(inner) else None
    if isinstance(value, enum.Enum):
        if enums.is_plain(value):
            return lambda member, back: enums.index_of(member)
        return lambda member, back: int(member) if isinstance(member, int) else member.value
    if isinstance(value, np.ndarray):
        return _shown if is_in_place(value) else _array(value, want)
    if isinstance(value, np.void):
        return _record
    return None


def _shown(value: Any, back: list[Writeback]) -> Any:
    return from_interface({**value.__gridlane_array__, "owner": value})


def _each(inner: list[Convert | None]) -> Convert:
    def convert(value: tuple[Any, ...], back: list[Writeback]) -> tuple[Any, ...]:
        return tuple(f(item, back) if f else item for f, item in zip(inner, value))

    return convert


def _hinted(value: ArgHint, want: ArgType) -> Convert | None:
    hint = type(value)
    inner = converter(value.value, want)
    if not isinstance(value.value, np.ndarray) or issubclass(hint, InOut):
        return lambda item, back: inner(item.value, back) if inner else item.value
    if not hint.copy_out:  # a kernel's writes must not show, so it gets a copy on every device
        return lambda item, back: _upload(item.value, back, True, False)
    if inner is None:
        return lambda item, back: item.value
    return lambda item, back: _upload(item.value, back, False, True)


def _array(value: np.ndarray, want: ArgType) -> Convert | None:
    writes = not (isinstance(want, ArrayType) and want.readonly)
    readonly = not value.flags.writeable
    direct = current.device().host_visible and value.flags.num & ALIGNED
    if direct and not (readonly and writes):
        return None
    return lambda array, back: _upload(array, back, True, not readonly and writes)


def _record(value: np.void, back: list[Writeback]) -> DeviceNDArray:
    device = to_device(value)

    def write_back() -> None:
        host = device.copy_to_host()
        for name in value.dtype.names or ():
            value[name] = host[name]

    back.append(write_back if value.flags.writeable else lambda: _check_unwritten(value, device))
    return device


def _check_unwritten(value: np.void, device: DeviceNDArray) -> None:
    host = device.copy_to_host()
    if any(value[name].tobytes() != host[name].tobytes() for name in value.dtype.names or ()):
        raise ArgumentError(
            f"a kernel wrote into a read-only record ({value.dtype}); pass a copy of the record"
        )


@dataclass(frozen=True, slots=True)
class _Copied:
    """A host array that has a copy on the device, until that is copied back."""

    array: np.ndarray
    device: DeviceNDArray
    write_back: Writeback

    def __call__(self) -> None:
        self.write_back()


def _upload(
    array: np.ndarray, back: list[Writeback], copy_in: bool, copy_out: bool
) -> DeviceNDArray:
    """A device array for a host array. One that a launch gets twice has one copy, as a kernel that
    works in place expects: of two, the copy that was not written could come back last."""
    if not (copy_in and copy_out):
        device, write_back = _copied(array, copy_in)
        if copy_out:
            back.append(write_back)
        return device
    for other in back:
        if isinstance(other, _Copied) and _is_same(other.array, array):
            return other.device
    device, write_back = _copied(array, True)
    back.append(_Copied(array, device, write_back))
    return device


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have the same elements in the same places."""
    return (a.shape, a.strides, a.dtype, geometry.address_of(a)) == (
        b.shape,
        b.strides,
        b.dtype,
        geometry.address_of(b),
    )


def _copied(array: np.ndarray, copy_in: bool) -> tuple[DeviceNDArray, Writeback]:
    """A device array with the strides of a host array, gaps between elements left out of copies,
    and what copies it back."""
    core = geometry.broadcast_core(array)
    if array.flags.aligned and (core.flags.c_contiguous or core.flags.f_contiguous):
        device = to_device(array.view(np.ndarray), copy=copy_in)
        return device, lambda: device.copy_to_host(array)
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    raw = np.zeros(high - low, np.uint8)
    mirror = np.ndarray(array.shape, array.dtype, raw, -low, array.strides)
    mirror[...] = array
    memory = to_device(raw)
    device = DeviceNDArray(
        array.shape, array.strides, array.dtype, 0, memory.gpu_data, memory.address - low
    )

    def write_back() -> None:
        memory.copy_to_host(raw)
        array[...] = mirror

    return device, write_back
