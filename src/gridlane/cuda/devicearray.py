"""Arrays and records in device memory."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.argtypes import ArrayType
from gridlane.core.errors import UnsupportedError
from gridlane.cuda import active, geometry, settings
from gridlane.cuda.geometry import Shape
from gridlane.cuda.streams import as_stream, external_stream
from gridlane.runtime.protocol import Buffer

NOT_CONTIGUOUS = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. "
    "Please ensure contiguous buffer with numpy.ascontiguousarray()"
)


class ArrayKey:
    """The type of a device array as a launch looks it up: one object for each type."""

    __slots__ = ("argtype",)

    def __init__(self, argtype: ArrayType) -> None:
        self.argtype = argtype


@cache
def _array_key(dtype: np.dtype, ndim: int, layout: str) -> ArrayKey:
    return ArrayKey(ArrayType(argtypes.from_numpy(dtype), ndim, layout))


@cache
def _descriptor(ndim: int) -> struct.Struct:
    return struct.Struct(f"<{1 + 2 * ndim}q")


class DeviceNDArray:
    """An n-d array in device memory. Views share the memory and keep it alive.

    Attributes:
        shape, strides (bytes), dtype, ndim, size: as numpy's.
        stream: the stream that copies use when they are given none; 0 the default one.
        gpu_data: the memory; ``address`` that of the first element.
    """

    __cuda_memory__ = True
    __cuda_ndarray__ = True

    def __init__(
        self,
        shape: Any,
        strides: Any,
        dtype: Any,
        stream: Any = 0,
        gpu_data: Buffer | None = None,
        address: int | None = None,
    ) -> None:
        self.dtype = dtype = np.dtype(dtype)
        self.shape = shape = geometry.as_shape(shape)
        itemsize = dtype.itemsize
        if strides is None:
            strides = geometry.contiguous_strides(shape, itemsize)
        self.strides = strides = (strides,) if isinstance(strides, int) else tuple(strides)
        if len(strides) != len(shape):
            raise ValueError(f"shape {shape} and strides {strides} have different lengths")
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.stream = stream
        low, high = geometry.extent_of(shape, strides, itemsize)
        self.alloc_size = high - low
        if gpu_data is None:
            gpu_data = active.allocate(high - low)
            address = gpu_data.address - low if gpu_data.address else 0
        self.gpu_data = gpu_data
        self.address = gpu_data.address if address is None else address
        self._layout = geometry.layout_of(shape, strides, itemsize)
        # What a launch reads: the type, and the parameters that the kernel gets.
        self._key = _array_key(dtype, self.ndim, self._layout)
        self._packed = _descriptor(self.ndim).pack(self.address, *shape, *strides)

    # --- what it is ---

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def flags(self) -> dict[str, bool]:
        """C_CONTIGUOUS and F_CONTIGUOUS."""
        return {"C_CONTIGUOUS": self._is("C"), "F_CONTIGUOUS": self._is("F")}

    def _is(self, order: str) -> bool:
        return geometry.is_contiguous(self.shape, self.strides, self.dtype.itemsize, order)

    def is_c_contiguous(self) -> bool:
        """Whether the elements follow each other in C order."""
        return self._is("C")

    def is_f_contiguous(self) -> bool:
        """Whether the elements follow each other in Fortran order."""
        return self._is("F")

    @property
    def device_pointer(self) -> int:
        """The address of the first element."""
        return self.address

    @property
    def device_ctypes_pointer(self) -> Any:
        """The address as a ctypes.c_void_p."""
        from ctypes import c_void_p  # only programs that call other libraries need it

        return c_void_p(self.address)

    @property
    def _numba_type_(self) -> ArrayType:
        return self._key.argtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        stream = as_stream(self.stream).handle if self.stream else None
        plain = self._is("C")
        return {
            "shape": self.shape,
            "strides": None if plain else self.strides,
            "data": (self.address if self.size else 0, False),
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": stream,
            "version": 3,
        }

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} shape={self.shape} dtype={self.dtype} "
            f"on {active.device().name!r}>"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    # --- copies ---

    def _stream(self, stream: Any) -> Any:
        return as_stream(stream or self.stream)

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """Copy to ``ary``, or to a new array; return it.

        With a stream the copy comes after the stream's work. It is finished on return unless
        ``ary`` is pinned memory.

        Raises:
            TypeError, ValueError: ``ary`` has another dtype, shape or strides.
        """
        stream = self._stream(stream)
        low = geometry.extent_of(self.shape, self.strides, self.dtype.itemsize)[0]
        if ary is None:
            raw = np.empty(self.alloc_size, np.uint8)
            ary = np.ndarray(self.shape, self.dtype, raw, -low, self.strides)
            target = memoryview(raw)
        else:
            check_compatible(self, ary)
            if not ary.flags.writeable:
                raise ValueError("copy_to_host: the host array is read-only")
            target = _extent_bytes(ary)
        if not self.size:
            return ary
        if is_pinned(ary) and not stream.inline:
            stream.submit(partial(_download, target, self.address + low, self))
            return ary
        stream.drain()
        _download(target, self.address + low)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy a host or device array of the same shape and dtype into this one."""
        stream = self._stream(stream)
        if not self.size:
            return
        if self._layout == "A":
            core = geometry.broadcast_core(self)
            if core._layout == "A":
                raise ValueError(NOT_CONTIGUOUS)
        ary = as_device(ary)
        mine, other = geometry.broadcast_core(self), geometry.broadcast_core(ary)
        if isinstance(ary, DeviceNDArray):
            check_compatible(mine, other)
            stream.submit(partial(_copy, self, ary, mine.alloc_size))
            return
        order = "C" if mine.is_c_contiguous() else "F"
        other = np.array(other, order=order, copy=None if _NUMPY2 else False, subok=True)
        check_compatible(mine, other)
        # Host memory may change after return, as pageable memory may under CUDA: copy now.
        stream.drain()
        _upload(self.address, geometry.bytes_of(other))

    # --- views ---

    def _view(self, shape: Any, strides: Any, dtype: Any = None, offset: int = 0) -> DeviceNDArray:
        return type(self)(
            shape, strides, dtype or self.dtype, self.stream, self.gpu_data, self.address + offset
        )

    def bind(self, stream: Any = 0) -> DeviceNDArray:
        """The same array with a stream of its own for copies."""
        clone = self._view(self.shape, self.strides)
        clone.stream = stream
        return clone

    def view(self, dtype: Any) -> DeviceNDArray:
        """The same bytes as elements of another dtype."""
        dtype = geometry.as_dtype(dtype)
        old, new = self.dtype.itemsize, dtype.itemsize
        if old == new:
            return self._view(self.shape, self.strides, dtype)
        if not self.is_c_contiguous() or not self.ndim:
            raise ValueError(
                "To change to a dtype of a different size, the array must be C-contiguous"
            )
        last, rest = divmod(self.shape[-1] * old, new)
        if rest:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in "
                "bytes of the last axis of the array."
            )
        shape = (*self.shape[:-1], last)
        return self._view(shape, geometry.contiguous_strides(shape, new), dtype)

    def reshape(self, *newshape: Any, order: str = "C") -> DeviceNDArray:
        """A view with another shape; ``order`` must be the order that the memory has."""
        wanted = newshape[0] if len(newshape) == 1 else newshape
        if isinstance(wanted, (int, np.integer)):
            wanted = (wanted,)
        shape = geometry.reshaped(self.shape, self.size, tuple(int(n) for n in wanted))
        if order not in ("C", "F"):
            raise TypeError(f"order is 'C' or 'F', got {order!r}")
        if shape == self.shape:
            return self._view(self.shape, self.strides)
        if not self._is(order):
            raise NotImplementedError("reshape would require copy")
        return self._view(shape, geometry.contiguous_strides(shape, self.dtype.itemsize, order))

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        """A 1-D view of a contiguous array."""
        if not self._is(order):
            raise NotImplementedError("operation requires copying")
        return self._view((self.size,), (self.dtype.itemsize,))

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceNDArray:
        """A view without axes of one element."""
        dummy = _dummy(self).squeeze(axis)
        return self._view(dummy.shape, dummy.strides)

    @property
    def T(self) -> DeviceNDArray:
        """The transposed array, a copy."""
        return self.transpose()

    def transpose(self, axes: Any = None) -> DeviceNDArray:
        """A copy of a 2-D array with rows and columns exchanged."""
        if axes and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes is not None and set(axes) != {0, 1}:
            raise ValueError(f"invalid axes list {axes!r}")
        return to_device(np.ascontiguousarray(self.copy_to_host().T), self.stream)

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceNDArray]:
        """1-D views of ``section`` elements each; the last may be shorter."""
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        if self.strides[0] != self.dtype.itemsize:
            raise ValueError("only support unit stride")
        for begin in range(0, self.size, section):
            part = self[begin : begin + section]
            part.stream = stream or self.stream
            yield part

    def get_ipc_handle(self) -> Any:
        """Sharing device memory between processes is not here."""
        raise UnsupportedError(
            "get_ipc_handle: device memory is not shared between processes; use "
            "multiprocessing.shared_memory and pass its numpy array to the kernel"
        )

    # --- elements ---

    def __getitem__(self, item: Any) -> Any:
        return self.getitem(item)

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """A view, or an element copied to the host."""
        picked, offset = _pick(self, item)
        view = self._view(picked.shape, picked.strides, picked.dtype, offset)
        if picked.shape or _has_ellipsis(item):
            view.stream = stream or self.stream
            return view
        if self.dtype.names is not None and view.dtype.names is not None:
            return DeviceRecord(view.dtype, stream or self.stream, self.gpu_data, view.address)
        return view.copy_to_host(stream=stream)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.setitem(key, value)

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """Assign a scalar, a host array or a device array, broadcast as numpy does."""
        picked, offset = _pick(self, key)
        target = self._view(picked.shape, picked.strides, picked.dtype, offset)
        value = as_device(value)
        if isinstance(value, DeviceNDArray):
            value = value.copy_to_host(stream=stream)
        value = np.asanyarray(value)
        if value.ndim > target.ndim:
            raise ValueError(f"Can't assign {value.ndim}-D array to {target.ndim}-D self")
        offset = target.ndim - value.ndim
        for axis, (mine, other) in enumerate(zip(target.shape[offset:], value.shape), offset):
            if other not in (1, mine):
                raise ValueError(
                    f"Can't copy sequence with size {other} to array axis {axis} "
                    f"with dimension {mine}"
                )
        if not target.size:
            return
        host = target.copy_to_host(stream=stream)
        host[...] = value
        low = geometry.extent_of(host.shape, host.strides, host.dtype.itemsize)[0]
        _upload(target.address + low, _extent_bytes(host))


_NUMPY2 = int(np.__version__.split(".")[0]) >= 2


class DeviceRecord(DeviceNDArray):
    """A record in device memory; fields are read with ``r["name"]`` and written likewise."""

    def __init__(
        self, dtype: Any, stream: Any = 0, gpu_data: Any = None, address: int | None = None
    ) -> None:
        super().__init__((), (), dtype, stream, gpu_data, address)
        self._key = _record_key(self.dtype)

    def _view(self, shape: Any, strides: Any, dtype: Any = None, offset: int = 0) -> DeviceNDArray:
        dtype = dtype or self.dtype
        return DeviceNDArray(
            shape, strides, dtype, self.stream, self.gpu_data, self.address + offset
        )

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """The value of a field."""
        view = self._view((), (), *self._field(item))
        if view.dtype.names is not None:
            return DeviceRecord(view.dtype, stream, self.gpu_data, view.address)
        return view.copy_to_host(stream=stream)[()]

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """Set a field."""
        self._view((), (), *self._field(key)).setitem((), value, stream)

    def _field(self, name: Any) -> tuple[np.dtype, int]:
        fields = self.dtype.fields or {}
        if name not in fields:
            raise KeyError(f"the record has no field {name!r}; it has {', '.join(fields)}")
        return fields[name][0], fields[name][1]


class RecordKey:
    """The type of a record as a launch looks it up."""

    __slots__ = ("argtype",)

    def __init__(self, argtype: argtypes.ArgType) -> None:
        self.argtype = argtype


@cache
def _record_key(dtype: np.dtype) -> RecordKey:
    return RecordKey(argtypes.from_numpy(dtype))


class PinnedMemory:
    """Host memory that copies on streams use without waiting; the base of pinned arrays."""

    def __init__(self, size: int) -> None:
        self._bytes = np.empty(size + 64, np.uint8)
        start = -geometry.address_of(self._bytes) % 64
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (geometry.address_of(self._bytes) + start, False),
            "version": 3,
        }


def is_pinned(array: Any) -> bool:
    """Whether an array is a view of pinned memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, PinnedMemory)


# --- module functions ---


def _dummy(array: DeviceNDArray) -> np.ndarray:
    """A numpy array of the same shape that indexes alike; its elements must not be read."""
    return np.lib.stride_tricks.as_strided(
        np.empty(1, array.dtype), array.shape, array.strides, subok=False
    )


def _has_ellipsis(item: Any) -> bool:
    return item is Ellipsis or isinstance(item, tuple) and any(i is Ellipsis for i in item)


def _pick(array: DeviceNDArray, item: Any) -> tuple[np.ndarray, int]:
    """The dummy of what ``item`` picks, and its offset in bytes."""
    items = item if isinstance(item, tuple) else (item,)
    for part in items:
        plain = part is Ellipsis or part is None or isinstance(part, (int, np.integer, slice))
        if not plain and not (isinstance(part, str) and array.dtype.names):
            raise NotImplementedError(
                f"device arrays are indexed by integers and slices, got {part!r}; "
                "use .copy_to_host() for other indices"
            )
    dummy = _dummy(array)
    # The ellipsis makes a view of an element as well, so that no memory is read.
    if not _has_ellipsis(item) and not any(isinstance(part, str) for part in items):
        items = (*items, Ellipsis)
    picked = dummy[items if len(items) > 1 else items[0]]
    return picked, geometry.address_of(picked) - geometry.address_of(dummy) if picked.size else 0


def _extent_bytes(array: np.ndarray) -> memoryview:
    """The bytes from an array's first to its last element, gaps included, not copied."""
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    first = np.lib.stride_tricks.as_strided(array, (1,) * array.ndim).view(np.ndarray)
    address = geometry.address_of(first)
    return memoryview(geometry.view_of(address + low, (high - low,), (1,), np.dtype("u1"), array))


def _download(target: memoryview, source: int, owner: Any = None) -> None:
    """Device to host; ``owner`` lives until the copy is done."""
    active.device().download(target, source)


def _copy(target: DeviceNDArray, source: DeviceNDArray, size: int) -> None:
    active.device().copy(target.address, source.address, size)


def _upload(target: int, source: memoryview) -> None:
    active.device().upload(target, source)


def check_compatible(first: Any, second: Any) -> None:
    """Raise when a copy between the arrays would not keep elements in their places."""
    if first.dtype != second.dtype:
        raise TypeError(f"incompatible dtype: {first.dtype} vs. {second.dtype}")
    one, two = first.squeeze(), second.squeeze()
    if one.shape != two.shape:
        raise ValueError(f"incompatible shape: {first.shape} vs. {second.shape}")
    if first.size and one.strides != two.strides:
        raise ValueError(f"incompatible strides: {first.strides} vs. {second.strides}")


def as_device(value: Any, sync: bool = True) -> Any:
    """A device array when ``value`` shows its memory as one, else ``value``.

    ``sync`` waits for the stream that the value names.
    """
    if isinstance(value, (DeviceNDArray, np.ndarray)):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    return value if interface is None else from_interface(interface, value, sync)


def from_interface(interface: dict[str, Any], owner: Any = None, sync: bool = True) -> Any:
    """A device array over memory that ``__cuda_array_interface__`` describes.

    Raises:
        NotImplementedError: a masked array.
        DeviceError: INVALID_VALUE, the memory is not this device's.
    """
    if interface.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    shape = tuple(interface["shape"])
    dtype = np.dtype(interface["typestr"])
    if dtype.kind == "V" and interface.get("descr"):
        dtype = np.dtype(interface["descr"])
    strides = interface.get("strides")
    if strides is None:
        strides = geometry.contiguous_strides(shape, dtype.itemsize)
    stream = interface.get("stream")
    if stream is not None:
        stream = external_stream(stream)
        if sync and settings.CUDA_ARRAY_INTERFACE_SYNC:
            stream.synchronize()
    address = interface["data"][0]
    low, high = geometry.extent_of(shape, strides, dtype.itemsize)
    buffer = active.buffer_at(address + low, high - low)
    array = DeviceNDArray(shape, strides, dtype, stream or 0, buffer, address)
    array._owner = owner  # type: ignore[attr-defined]
    return array


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Copy a host array, or anything numpy makes one of, to the device.

    A device array is returned as it is. With ``to``, the copy goes there. ``copy=False`` only
    allocates.

    Raises:
        ValueError: the array's elements do not follow each other.
    """
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream=stream)
        return to
    obj = as_device(obj)
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, np.void) and obj.dtype.names:
        array: DeviceNDArray = DeviceRecord(obj.dtype, stream)
        host = np.asarray(obj)
    else:
        host = np.asanyarray(obj)
        core = geometry.broadcast_core(host)
        if not (core.flags.c_contiguous or core.flags.f_contiguous):
            raise ValueError(NOT_CONTIGUOUS)
        array = DeviceNDArray(host.shape, host.strides, host.dtype, stream)
    if copy and host.size:
        # A new array, so no work on any stream can be waiting for its memory.
        _upload(array.address, geometry.bytes_of(np.asarray(geometry.broadcast_core(host))))
    return array
