"""DLPack: device arrays to and from other libraries without a copy.

``export`` implements ``__dlpack__`` of a device array; dlpack_read.py reads other libraries'
capsules. https://dmlc.github.io/dlpack/latest/python_spec.html
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from gridlane.core.config import config
from gridlane.core.dlpack_abi import (
    BFLOAT,
    BOOL,
    COMPLEX,
    COPIED,
    CPU,
    CUDA,
    FLOAT,
    READ_ONLY,
    SIGNED,
    UNSIGNED,
    device_name,
)
from gridlane.cuda.host.streams import as_stream
from gridlane.cuda.interop import dlpack_arguments
from gridlane.launch import current

_KINDS = {"i": SIGNED, "u": UNSIGNED, "f": FLOAT, "c": COMPLEX, "b": BOOL}
_NAMES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
DTYPES: dict[tuple[int, int], np.dtype] = {
    (_KINDS[dtype.kind], 8 * dtype.itemsize): dtype for dtype in map(np.dtype, ("?", *_NAMES))
} | {(BFLOAT, 16): np.dtype(ml_dtypes.bfloat16)}
"""The element types of kernels, by DLPack's (code, bits)."""
_ELEMENTS = {dtype: element for element, dtype in DTYPES.items()}
VERSION = (1, 0)
"""The version of exported capsules, and the newest that is read."""


def _chosen() -> Any:
    """The native module if it was built and GRIDLANE_NATIVE does not disable it."""
    if config().native:
        try:
            from gridlane.cuda.interop import _dlpack
        except ImportError:
            pass
        else:
            return _dlpack
    from gridlane.cuda.interop import dlpack_python

    return dlpack_python


capsules: Any = _chosen()
"""``export`` and ``Tensor``, as dlpack_python.py describes them."""


# --- export ---


def device_of(array: Any) -> tuple[int, int]:
    """DLPack's (kind, number) of a device array's memory.

    Raises:
        BufferError: DLPack has no kind for the memory of this device.
    """
    owner = array.buffer.device or current.device()
    device_pair = owner.dlpack_device(array.address if array.size else 0)
    if device_pair is None:
        raise BufferError(
            f"DLPack has no kind of device for the memory of {owner.name!r}; copy the array to the "
            "host with copy_to_host, or give __dlpack__ dl_device=(1, 0)"
        )
    return device_pair


def export(
    array: Any, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    """Export a device array's memory, or a copy of it, as a capsule, which keeps it alive.

    Args:
        stream: the consumer's, whose later work is ordered after the array's work so far. -1 leaves
            the order to the caller.
        max_version: DLPack's version that the consumer reads; without one, the capsule is of the
            kind before 1.0.
        dl_device: (kind, number) to export to: the array's own, or the host's.
        copy: True for a copy, False for none, None for one if ``dl_device`` needs it.

    Raises:
        BufferError: DLPack cannot describe the array, or not in this way.
        TypeError, ValueError: an argument violates the array API standard, or the device has no
            such stream.
    """
    wanted = dlpack_arguments.pair("dl_device", dl_device)
    version = dlpack_arguments.pair("max_version", max_version)
    stream, copy = dlpack_arguments.stream(stream), dlpack_arguments.copying(copy)
    versioned = version is not None and version[0] >= VERSION[0]
    if wanted == (CPU, 0) and not (array.buffer.device or current.device()).host_visible:
        if copy is False:
            raise BufferError(f"{array!r} is not in the host's memory, and copy=False")
        return _capsule(array.copy_to_host(), (CPU, 0), COPIED, versioned)
    device = device_of(array)
    if wanted not in (None, device):
        raise BufferError(
            f"{array!r} is in memory of {device_name(*device)} and is not exported to "
            f"{device_name(*wanted)}; it goes to its own device and to kDLCPU 0"
        )
    if copy:
        array = array._duplicate()
        device = device_of(array)
    _order(array, stream, device[0])
    flags = COPIED if copy else READ_ONLY if array.readonly else 0
    return _capsule(array, device, flags, versioned)


def _capsule(array: Any, device: tuple[int, int], flags: int, versioned: bool) -> Any:
    """A capsule over a device array or a numpy array."""
    dtype = array.dtype
    element, strides = _ELEMENTS.get(dtype), array.strides
    if element is None:
        raise BufferError(f"DLPack has no element type for {dtype}")
    if any(stride % dtype.itemsize for stride in strides):
        raise BufferError(
            f"DLPack counts strides in elements, and strides {strides} are not multiples of "
            f"{dtype.itemsize} bytes"
        )
    if flags & READ_ONLY and not versioned:
        raise BufferError(
            "the array is read-only, which DLPack says from version 1.0 on: give __dlpack__ "
            "max_version=(1, 0)"
        )
    address = array.ctypes.data if isinstance(array, np.ndarray) else array.address
    steps = tuple(stride // dtype.itemsize for stride in strides)
    bits = flags if versioned else None
    return capsules.export(array, address, device, element, tuple(array.shape), steps, bits)


def _order(array: Any, stream: Any, kind: int) -> None:
    """Order the consumer's work after the array's work so far."""
    if stream == -1:
        return
    owner = array.buffer.device or current.device()
    own = as_stream(array.stream).native if array.stream else owner.default_stream
    if kind == CUDA:
        if stream == 0:
            raise ValueError("DLPack has no stream 0: 1 is the default stream, 2 a thread's own")
        consumer = owner.stream_at(int(stream or 1))
        for source in {id(each): each for each in (owner.default_stream, own)}.values():
            if source.handle != consumer.handle:
                event = owner.new_event(timing=False)
                event.record(source)
                event.wait(consumer)
        return
    if stream is not None and kind == CPU:
        raise ValueError(f"memory of kDLCPU has no streams, so stream is None; got {stream!r}")
    if stream is not None and int(stream) > 2:
        owner.stream_at(int(stream))  # refuses an unknown stream
    # The consumer may be the host, or a library whose work no stream of ours can wait for.
    own.synchronize()
    owner.default_stream.synchronize()
