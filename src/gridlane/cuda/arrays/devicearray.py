"""Arrays and records in device memory."""

# pyright: reportPrivateUsage=false
# What arrays hide is hidden from users, not from gridlane.cuda.

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import getattr_static
from typing import Any, TypeVar, overload

import numpy as np

from gridlane.core import array_interface
from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.core.process_bound import ProcessBound
from gridlane.cuda.arrays import allocation, ipc, managers
from gridlane.cuda.arrays.description import ArrayDescription, record_key
from gridlane.cuda.arrays.indexing import dummy_of, has_ellipsis, pick
from gridlane.cuda.arrays.transport import (
    check_compatible,
    extent_bytes,
    is_pinned,
    upload,
)
from gridlane.cuda.host import settings
from gridlane.cuda.host.streams import as_stream, comes_after, external_stream
from gridlane.cuda.interop import dlpack, dlpack_read
from gridlane.launch import current, geometry
from gridlane.launch.devices import kind_of
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device

NOT_CONTIGUOUS = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. "
    "Please ensure contiguous buffer with numpy.ascontiguousarray()"
)


_METHODS = "gridlane.cuda.ufuncs.array_methods"
_REDUCTIONS = ("max", "min", "prod", "any", "all", "mean", "std", "var", "argmax", "argmin")
_HOST_COPIES = ("cpu", "numpy", "to_numpy", "asnumpy", "tolist", "item", "tobytes")


class _Absent:
    """A name that numpy's arrays have and these lack; its error names what to write instead. It is
    no ``__getattr__`` of the class, with which each attribute would take longer to read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, array: object, owner: type) -> Any:
        name = self.name
        text = f"{owner.__name__!r} object has no attribute {name!r}"
        if name in _HOST_COPIES:
            text += ": a.copy_to_host() copies it to a numpy array"
        elif name in _REDUCTIONS:
            text += f": a.copy_to_host().{name}(); or on the device a kernel, as by cuda.reduce; a "
            text += "device array has sum()"
        else:
            text += f", as a numpy array has: a.copy_to_host().{name}, or write a kernel"
        raise AttributeError(text, name=name, obj=array)


class _NoTransposedError(NotImplementedError, AttributeError):
    """numba's error of an array without a transposed one. ``hasattr(array, "T")`` is False."""


class DeviceNDArray(ProcessBound, ArrayDescription):
    """An n-d array in device memory. Views share the memory and keep it alive.

    ``shape``, ``strides`` (bytes), ``dtype``, ``ndim``, ``size`` and ``nbytes`` are as numpy's.
    """

    _cannot = "pickled"
    _instead = (
        "pass its copy_to_host(), and give that to cuda.to_device there; or import "
        "gridlane.distributed, with which its elements are pickled"
    )

    def __copy__(self) -> DeviceNDArray:
        return self._view(self.shape, self.strides)

    def __deepcopy__(self, memo: Any) -> DeviceNDArray:
        return self._duplicate()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's (kind, number) of the memory; BufferError if it has no kind for that."""
        return dlpack.device_of(self)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        """Export the memory as a DLPack capsule; see ``dlpack.export``."""
        current.submit_delayed()
        return dlpack.export(self, stream, max_version, dl_device, copy)

    def _duplicate(self) -> DeviceNDArray:
        """A copy on the device, with the same strides."""
        self._stream(0).synchronize()
        owner = self._owner_device()
        low = geometry.extent_of(self.shape, self.strides, self.dtype.itemsize)[0]
        memory = allocation.allocate(self.alloc_size, owner)
        clone = self._like(memory, memory.address - low if memory.size else 0)
        if self.size:
            owner.copy(memory.address, self.address + low, self.alloc_size)
        return clone

    def _owner_device(self) -> Device:
        """The device that owns the memory."""
        return self.buffer.device or current.device()

    def _like(self, memory: Buffer, address: int) -> DeviceNDArray:
        """An array like this one in other memory, by the address of its first element."""
        return type(self)(self.shape, self.strides, self.dtype, 0, memory, address)

    def _check_writable(self) -> None:
        if self.readonly:
            raise ValueError("the device array is read-only: its owner lets nobody write to it")

    # --- copies ---

    def _stream(self, stream: Any) -> Any:
        chosen, owner = stream or self.stream, self.buffer.device
        if not chosen and owner is not None:  # not the current device, if there are several
            return owner.default_stream
        native = as_stream(chosen).native
        if owner is not None and kind_of(native.device) != kind_of(owner):
            fail(
                INVALID_HANDLE,
                f"the stream is of the device {native.device.name!r}, and the array is on "
                f"{owner.name!r}",
            )
        return native

    def _returns_early(self, host: Any, stream: Any, queue: Any) -> bool:
        """Whether a copy from or to ``host`` may go on after the call, as with CUDA: the caller
        names a stream, or the array has one, and the host memory is pinned."""
        return bool(stream or self.stream) and not queue.inline and is_pinned(host)

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """Copy to ``ary``, or to a new array; return it.

        With a stream, the copy is ordered after the stream's work. It is finished on return, unless
        there is a stream and ``ary`` is pinned memory without gaps. Of a view the elements alone
        are written.

        Raises:
            TypeError, ValueError: ``ary`` has another dtype, shape or strides.
        """
        queue = self._stream(stream)
        low = geometry.extent_of(self.shape, self.strides, self.dtype.itemsize)[0]
        if ary is None:
            raw = np.empty(self.alloc_size, np.uint8)
            ary = np.ndarray(self.shape, self.dtype, raw, -low, self.strides)
            target = raw.data
        else:
            check_compatible(self, ary)
            if not ary.flags.writeable:
                raise ValueError("copy_to_host: the host array is read-only")
            if geometry.has_gaps(ary):
                raw = np.empty(self.alloc_size, np.uint8)
                queue.read(raw.data, self.address + low)
                ary[...] = np.ndarray(ary.shape, ary.dtype, raw, -low, ary.strides)
                return ary
            target = extent_bytes(ary)
        if not self.size:
            return ary
        if self._returns_early(ary, stream, queue):
            queue.download(target, self.address + low, (self, ary))
        else:
            queue.read(target, self.address + low)
        return ary

    def get(self, stream: Any = 0, order: str = "C", out: np.ndarray | None = None) -> np.ndarray:
        """``copy_to_host``, by CuPy's name and with its arguments."""
        host = self.copy_to_host(out, stream)
        if out is not None or order not in "CF":
            return host
        return np.asfortranarray(host) if order == "F" else np.asarray(host, order="C")

    def fill(self, value: Any, stream: Any = 0) -> None:
        """Assign a scalar to all elements, or a tuple where they are records.

        Raises:
            OverflowError: a Python integer is out of the dtype's range.
        """
        item = np.zeros((), self.dtype)
        item[()] = value
        pattern = item.tobytes()
        self._check_writable()
        if self.size and pattern == pattern[:1] * len(pattern) and self._layout != "A":
            self._stream(stream).fill(self.address, pattern[0], self.nbytes, self)
        else:
            self.setitem(Ellipsis, item, stream)

    def astype(self, dtype: Any, copy: bool = True) -> DeviceNDArray:
        """A new array on the device with another dtype; integers and floats as numpy converts them.
        ``copy=False`` returns the array itself if it has the dtype.

        Raises:
            UnsupportedError: a dtype that is neither of integers, floats nor booleans.
        """
        return import_module(_METHODS).astype(self, dtype, copy)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **others: Any) -> Any:
        """The sum of all elements, added on the device, as a numpy scalar of numpy's dtype for it;
        with another argument of numpy's ``sum`` that of a copy on the host.

        Raises:
            UnsupportedError: a dtype that ``astype`` does not convert.
        """
        return import_module(_METHODS).sum(self, axis, dtype, out, **others)

    def __dir__(self) -> list[str]:
        names = set(super().__dir__())
        return sorted(n for n in names if not isinstance(getattr_static(self, n, None), _Absent))

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy a host or device array of the same shape and dtype into this one."""
        self._check_writable()
        queue = self._stream(stream)
        if not self.size:
            return
        if self._layout == "A":
            core = geometry.broadcast_core(self)
            if core._layout == "A":
                raise ValueError(NOT_CONTIGUOUS)
        ary = as_device(ary)
        if not isinstance(ary, DeviceNDArray):
            ary = dlpack_read.as_numpy(ary)
        mine, other = geometry.broadcast_core(self), geometry.broadcast_core(ary)
        if isinstance(ary, DeviceNDArray):
            check_compatible(mine, other)
            here, there = self.buffer.device, ary.buffer.device
            ends = self.address, ary.address, mine.alloc_size, (self, ary)
            if here is None or there is None or here is there:
                queue.copy(*ends)
            elif kind_of(here) != kind_of(there):
                host = ary.copy_to_host()
                queue.write(self.address, extent_bytes(geometry.broadcast_core(host)))
            else:
                # The other device's pending writes there come first.
                there.default_stream.synchronize()
                queue.copy_from(there, *ends)
            return
        order = "C" if mine.is_c_contiguous() else "F"
        other = np.array(other, order=order, copy=None if _NUMPY2 else False, subok=True)
        check_compatible(mine, other)
        if self._returns_early(other, stream, queue):
            queue.upload(self.address, geometry.bytes_of(other), (self, other))
        else:
            queue.write(self.address, geometry.bytes_of(other))

    # --- views ---

    def _view(self, shape: Any, strides: Any, dtype: Any = None, offset: int = 0) -> DeviceNDArray:
        dtype, address = dtype or self.dtype, self.address + offset
        return type(self)(shape, strides, dtype, self.stream, self.buffer, address, self.readonly)

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
        """A view with another shape; ``order`` must be the memory's order."""
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
        """A 1-D view of a contiguous array; its order is ``order``, or with "A" that of memory."""
        if order == "A":
            order = "C" if self._is("C") else "F"
        if not self._is(order):
            raise NotImplementedError("operation requires copying")
        return self._view((self.size,), (self.dtype.itemsize,))

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceNDArray:
        """A view without axes of one element."""
        dummy = dummy_of(self).squeeze(axis)
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
            raise _NoTransposedError("transposing a non-2D DeviceNDArray isn't supported")
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

    def get_ipc_handle(self) -> ipc.IpcArrayHandle:
        """A handle by which another process opens this array; it can be pickled, and keeps the
        array's memory alive here.

        Raises:
            DeviceError: NOT_SUPPORTED, the device or system shares no memory; INVALID_VALUE, this
                memory cannot be shared, or has no bytes.
        """
        owner, memory = self._owner_device(), self.gpu_data
        plugin = managers.plugin_of(owner)
        handle = plugin.get_ipc_handle(memory) if plugin else ipc.handle_of(memory, owner)
        form = {"shape": self.shape, "strides": self.strides, "dtype": self.dtype}
        return ipc.IpcArrayHandle(handle, form)

    # --- elements ---

    def __getitem__(self, item: Any) -> Any:
        return self.getitem(item)

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """A view, or an element copied to the host."""
        picked, offset = pick(self, item)
        view = self._view(picked.shape, picked.strides, picked.dtype, offset)
        if picked.shape or has_ellipsis(item):
            view.stream = stream or self.stream
            return view
        if self.dtype.names is not None and view.dtype.names is not None:
            return DeviceRecord(
                view.dtype, stream or self.stream, self.buffer, view.address, self.readonly
            )
        return view.copy_to_host(stream=stream)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.setitem(key, value)

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """Assign a scalar, a host array or a device array, broadcast as numpy does."""
        self._check_writable()
        picked, offset = pick(self, key)
        target = self._view(picked.shape, picked.strides, picked.dtype, offset)
        value = as_device(value)
        if isinstance(value, DeviceNDArray):
            value = value.copy_to_host(stream=stream)
        value = dlpack_read.as_numpy(value)
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
        self._owner_device().upload(target.address + low, extent_bytes(host))


for _name in {*_HOST_COPIES, *_REDUCTIONS, *dir(np.ndarray)}:
    if _name[0] != "_" and not hasattr(DeviceNDArray, _name):
        setattr(DeviceNDArray, _name, _Absent(_name))

_NUMPY2 = int(np.__version__.split(".")[0]) >= 2


class DeviceRecord(DeviceNDArray):
    """A record in device memory; fields are read with ``r["name"]`` and written likewise."""

    def __init__(
        self,
        dtype: Any,
        stream: Any = 0,
        gpu_data: Any = None,
        address: int | None = None,
        readonly: bool = False,
    ) -> None:
        super().__init__((), (), dtype, stream, gpu_data, address, readonly)
        device = self.buffer.device
        self._key = record_key(self.dtype, None if device is None else device.name)
        self.__gridlane_launch__ = self._key, self.__gridlane_packed__

    def _like(self, memory: Buffer, address: int) -> DeviceNDArray:
        return DeviceRecord(self.dtype, 0, memory, address)

    def __copy__(self) -> DeviceNDArray:
        return DeviceRecord(self.dtype, self.stream, self.buffer, self.address, self.readonly)

    def _view(self, shape: Any, strides: Any, dtype: Any = None, offset: int = 0) -> DeviceNDArray:
        dtype, address = dtype or self.dtype, self.address + offset
        return DeviceNDArray(
            shape, strides, dtype, self.stream, self.buffer, address, self.readonly
        )

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """The value of a field; a record or an array in a field stays on the device."""
        view = self._field(item)
        if view.shape:
            return view
        if view.dtype.names is not None:
            return DeviceRecord(view.dtype, stream, self.buffer, view.address, self.readonly)
        return view.copy_to_host(stream=stream)[()]

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """Set a field."""
        field = self._field(key)
        field.setitem(... if field.shape else (), value, stream)

    def _field(self, name: Any) -> DeviceNDArray:
        fields = self.dtype.fields or {}
        if name not in fields:
            raise KeyError(f"the record has no field {name!r}; it has {', '.join(fields)}")
        dtype, offset = fields[name][:2]
        strides = geometry.contiguous_strides(dtype.shape, dtype.base.itemsize, "C")
        return self._view(dtype.shape, strides, dtype.base, offset)


ipc.array_class = DeviceNDArray

# --- module functions ---


def _is_elsewhere(array: DeviceNDArray) -> bool:
    """Whether an array is in memory of another kind of device than this thread's."""
    there = array.buffer.device
    return there is not None and kind_of(there) != current.kind()


def as_device(value: Any, sync: bool = True, consumer: Any = None) -> Any:
    """Wrap ``value`` as a device array if it exposes device memory, else return it.

    ``sync`` waits for the stream that the value names, unless the work of ``consumer``, the stream
    of its next use, is ordered after it anyway.
    """
    if isinstance(value, (DeviceNDArray, np.ndarray)):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    typestr = interface.get("typestr") if isinstance(interface, dict) else None
    # Interfaces without bfloat16 present it as two bytes without a meaning.
    if interface is None or typestr in ("<V2", "|V2"):
        if not dlpack_read.is_tensor(value):
            return value
        interface = dlpack_read.read(value, consumer)
    return value if interface is None else from_interface(interface, value, sync, consumer)


def from_interface(
    interface: dict[str, Any], owner: Any = None, sync: bool = True, consumer: Any = None
) -> DeviceNDArray:
    """Wrap the memory that a ``__cuda_array_interface__`` describes as a device array.

    Raises:
        ArgumentError: the interface is malformed.
        NotImplementedError: a masked array.
        DeviceError: INVALID_VALUE, the memory is not this device's.
    """
    shown = array_interface.read(interface)
    if "owner" not in interface:  # a DLPack view has an owner, and so have our mapped arrays
        allocation.check_reads_interface()
    shape, strides, dtype = shown.shape, shown.strides, shown.dtype
    if strides is None:
        strides = geometry.contiguous_strides(shape, dtype.itemsize)
    stream = interface.get("stream")
    if stream is not None:
        stream = external_stream(stream)
        ordered = consumer is not None and comes_after(consumer, stream)
        if sync and not ordered and settings.CUDA_ARRAY_INTERFACE_SYNC:
            stream.synchronize()
    low, high = geometry.extent_of(shape, strides, dtype.itemsize)
    buffer = allocation.buffer_at(shown.address + low, high - low)
    array = DeviceNDArray(shape, strides, dtype, stream or 0, buffer, shown.address, shown.readonly)
    array._owner = interface.get("owner", owner)  # type: ignore[attr-defined]
    return array


_Target = TypeVar("_Target")


@overload
def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: None = None) -> DeviceNDArray: ...
@overload
def to_device(obj: Any, stream: Any = 0, copy: bool = True, *, to: _Target) -> _Target: ...
@overload
def to_device(obj: Any, stream: Any, copy: bool, to: _Target) -> _Target: ...
def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Copy a host array, or any object that numpy converts to one, to the device.

    A device array is returned unchanged, except one on a device of another kind, which is copied
    through the host. ``to`` is the target of the copy. ``copy=False`` only allocates.

    Raises:
        ValueError: the array is not contiguous, or it is masked.
    """
    if geometry.is_masked(type(obj)):
        raise ValueError("a copy would lose the mask of a masked array; copy its filled() or data")
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream=stream)
        return to
    if isinstance(obj, DeviceNDArray):
        if not _is_elsewhere(obj):
            return obj
        obj = obj.copy_to_host()
    obj = as_device(obj)
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, np.void) and obj.dtype.names:
        array: DeviceNDArray = DeviceRecord(obj.dtype, stream)
        host = np.asarray(obj)
    else:
        host = dlpack_read.as_numpy(obj)
        core = geometry.broadcast_core(host)
        if not (core.flags.c_contiguous or core.flags.f_contiguous):
            raise ValueError(NOT_CONTIGUOUS)
        array = DeviceNDArray(host.shape, host.strides, host.dtype, stream)
    if copy and host.size:
        octets = geometry.bytes_of(np.asarray(geometry.broadcast_core(host)))
        queue = array._stream(stream)
        if array._returns_early(host, stream, queue):
            queue.upload(array.address, octets, (array, host))
        else:
            # A new array, so no work on any stream can be waiting for its memory.
            upload(array.address, octets)
    return array


def from_array_like(ary: Any, stream: Any = 0, gpu_data: Any = None) -> DeviceNDArray:
    """Create a device array with the shape, strides and dtype of ``ary``."""
    return DeviceNDArray(ary.shape, ary.strides, ary.dtype, stream, gpu_data)


def from_record_like(rec: Any, stream: Any = 0, gpu_data: Any = None) -> DeviceRecord:
    """Create a device record with the dtype of ``rec``."""
    return DeviceRecord(rec.dtype, stream, gpu_data)


def auto_device(
    obj: Any, stream: Any = 0, copy: bool = True, user_explicit: bool = False
) -> tuple[DeviceNDArray, bool]:
    """(device array, whether it is new) for an array of the device or the host; see
    ``to_device``."""
    there = as_device(obj)
    if isinstance(there, DeviceNDArray) and not _is_elsewhere(there):
        return there, False
    return to_device(obj, stream, copy), True
