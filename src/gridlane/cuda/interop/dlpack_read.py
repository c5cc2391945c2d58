"""Read the memory of other libraries' objects by DLPack; of torch's tensors of the host by their
own method, which is faster."""

from __future__ import annotations

import math
import sys
from typing import Any, NoReturn

import numpy as np

from gridlane.core.dlpack_abi import (
    BFLOAT,
    CPU,
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    READ_ONLY,
    ROCM_HOST,
    TYPES,
    device_name,
)
from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen
from gridlane.cuda.interop import dlpack
from gridlane.launch import current, geometry

_OF_HOST = (CPU, CUDA_HOST, ROCM_HOST)
"""Kinds of memory that the host reads and writes directly."""
_OF_CUDA = (CUDA, CUDA_HOST, CUDA_MANAGED)


@frozen
class Shown:
    """A tensor in numpy's description.

    Attributes:
        strides: in bytes.
        ours: whether gridlane made the capsule.
        owner: the object that keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    readonly: bool
    ours: bool
    owner: Any


def is_tensor(value: Any) -> bool:
    """Whether an object is a DLPack producer."""
    return hasattr(value, "__dlpack_device__") and not isinstance(value, type)


def read(value: Any, consumer: Any = None) -> dict[str, Any] | None:
    """A tensor's memory that this thread's device uses in place, as an array interface with its
    ``dtype`` and ``owner``; None for host memory.

    Args:
        consumer: the stream of its next use; None for the default one.

    Raises:
        ArgumentError: it is memory of another device.
        BufferError: the capsule is not valid DLPack, or has element types that kernels lack.
    """
    device, place = current.device(), place_of(value)
    mine = device.dlpack_device(0)
    if mine is not None and mine[0] == CUDA and place[0] in _OF_CUDA:
        if place[0] == CUDA and place != mine:
            _refuse(value, place, f"cuda.select_device({place[1]}) makes that this thread's device")
        if place[0] == CUDA_HOST:
            return _interface(_taken(value, place))
        stream = 1 if consumer is None else consumer.handle or 1
        return _interface(_taken(value, place, stream=stream))
    if place[0] in _OF_HOST:
        return None
    if place == mine:
        shown = _taken(value, place)
        if shown.ours:  # another library's device numbers mean nothing here
            return _interface(shown)
    _refuse(value, place, "copy it to the host")


def host_array(value: Any) -> np.ndarray:
    """A numpy array over a tensor in host memory, which it keeps alive.

    Raises:
        BufferError: the capsule is not valid DLPack, or has element types that kernels lack.
    """
    shown = _taken(value, place_of(value))
    array = geometry.view_of(shown.address, shown.shape, shown.strides, shown.dtype, shown.owner)
    if shown.readonly:
        array.flags.writeable = False
    return array


def as_numpy(value: Any) -> np.ndarray:
    """Convert an object to a numpy array as numpy does, or wrap a tensor in host memory."""
    if is_tensor(value) and not isinstance(value, (np.ndarray, np.generic)):
        return host_array(value)
    return np.asanyarray(value)


def place_of(value: Any) -> tuple[int, int]:
    """DLPack's (kind, number) of a tensor's memory."""
    shown = value.__dlpack_device__()
    try:
        kind, number = map(int, shown)
    except (TypeError, ValueError):
        raise BufferError(
            f"__dlpack_device__ of {type(value).__name__} gives {shown!r}, and not two integers"
        ) from None
    return kind, number


def _refuse(value: Any, place: tuple[int, int], advice: str) -> NoReturn:
    raise ArgumentError(
        f"the {type(value).__name__} is in memory of {device_name(*place)}, and this thread's "
        f"device is {current.device().name!r}; {advice}"
    )


def _interface(shown: Shown) -> dict[str, Any]:
    return {
        "shape": shown.shape,
        "strides": shown.strides,
        "dtype": shown.dtype,
        "data": (shown.address, shown.readonly),
        "owner": shown.owner,
    }


def _taken(value: Any, place: tuple[int, int], **wanted: Any) -> Shown:
    try:
        capsule = value.__dlpack__(max_version=dlpack.VERSION, **wanted)
    except TypeError:  # of a library from before DLPack 1.0
        capsule = value.__dlpack__(**wanted)
    tensor = dlpack.capsules.Tensor(capsule)
    del capsule
    if (tensor.device_type, tensor.device_id) != place:
        place_name = device_name(tensor.device_type, tensor.device_id)
        raise BufferError(
            f"the DLPack capsule is of memory of {place_name}, and __dlpack_device__ of "
            f"{type(value).__name__} says {device_name(*place)}"
        )
    return _described(tensor, value)


def _described(tensor: Any, value: Any) -> Shown:
    dtype = _dtype(tensor.code, tensor.bits, tensor.lanes)
    shape, strides = tensor.shape, tensor.strides
    if any(extent < 0 for extent in shape):
        raise BufferError(f"the DLPack tensor has a negative extent in its shape {shape}")
    if strides is None:
        strides = geometry.contiguous_strides(shape, dtype.itemsize)
    else:
        strides = tuple(step * dtype.itemsize for step in strides)
    address = tensor.data + tensor.byte_offset
    low, high = geometry.extent_of(shape, strides, dtype.itemsize)
    if low < high:
        if not tensor.data:
            raise BufferError(f"the DLPack tensor of shape {shape} has no memory")
        if address + low < 0 or address + high > 2**64 or math.prod(shape) >= 2**63:
            raise BufferError(
                f"the DLPack tensor of shape {shape} with strides of {strides} bytes does not fit "
                "into memory"
            )
    readonly = bool(tensor.flags & READ_ONLY)
    if not tensor.versioned and tensor.device_type in _OF_HOST:
        readonly = _is_read_only(value, address)
    return Shown(address, shape, strides, dtype, readonly, bool(tensor.ours), (tensor, value))


def _dtype(code: int, bits: int, lanes: int) -> np.dtype:
    dtype = dlpack.DTYPES.get((code, bits))
    if dtype is None or lanes != 1:
        name = TYPES.get(code, f"type {code}")
        known = ", ".join(map(str, dlpack.DTYPES.values()))
        vector = f" in vectors of {lanes}" if lanes != 1 else ""
        raise BufferError(
            f"DLPack elements of {bits} bits of {name}{vector} are not among those of kernels: "
            f"{known}"
        )
    return dtype


def _is_read_only(value: Any, address: int) -> bool:
    """Whether a host tensor is read-only. Capsules of before DLPack 1.0 do not say; an array that
    exposes the same memory to numpy may."""
    try:
        seen = np.asarray(value)
    except Exception:  # its library refuses a numpy array, for whatever reason
        return False
    return geometry.address_of(seen) == address and not seen.flags.writeable


# --- torch's tensors of the host


class _Kinds(dict[type, bool]):
    def __missing__(self, kind: type) -> bool:
        self[kind] = known = kind is getattr(sys.modules.get("torch"), "Tensor", None)
        return known


IS_TENSOR = _Kinds()
"""Whether a class is that of torch's plain tensors."""


def host_view(tensor: Any) -> np.ndarray | None:
    """The memory of a plain tensor of torch's as an array of NumPy's; None where only the slow path
    reads it, or refuses it: of another device, with gradients, computed at its use."""
    try:
        view = tensor.numpy()
    except TypeError:  # NumPy has no bfloat16 of its own
        view = _bfloat16(tensor)
    except Exception:
        return None
    return view if view.__class__ is np.ndarray else None


def _bfloat16(tensor: Any) -> np.ndarray | None:
    torch = sys.modules["torch"]
    is_plain = tensor.dtype is torch.bfloat16 and tensor.device.type == "cpu"
    if not is_plain or tensor.requires_grad or tensor.is_neg():
        return None
    try:
        return tensor.view(torch.int16).numpy().view(dlpack.DTYPES[BFLOAT, 16])
    except Exception:
        return None
