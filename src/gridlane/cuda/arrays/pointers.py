"""Pointers to memory as numba's driver has them: plugins make them, programs pass them on.

A pointer that owns memory has a finalizer, which runs exactly once: at the end of the pointer's
lifetime, by ``free``, or, of an ``AutoFreePointer``, at the release of its last reference. ``own``
and ``view`` make references.
"""

from __future__ import annotations

import ctypes
import types
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, Self

from gridlane.cuda.arrays.transport import PinnedMemory as PinnedMemoryBase
from gridlane.launch import current
from gridlane.memory.resource import Buffer


class DevicePointer(int):
    """An address of device memory."""

    @property
    def value(self) -> int:
        """The address, as ctypes names it."""
        return int(self)


def address_of(pointer: Any) -> int:
    """The address in an integer, a ``ctypes.c_void_p`` or a ``CUdeviceptr``.

    >>> address_of(ctypes.c_void_p(None)), address_of(16)
    (0, 16)
    """
    if isinstance(pointer, ctypes.c_void_p):
        return pointer.value or 0
    return int(pointer)


class MemoryPointer:
    """A pointer to device memory, whose lifetime is that of this object.

    Args:
        context: in which the memory is.
        pointer: the address: an integer, a ``ctypes.c_void_p`` or a ``CUdeviceptr``.
        size: in bytes.
        owner: the pointer that this one is a view of.
        finalizer: frees the memory. None if this pointer does not own it.

    Attributes:
        refct: references: 1 for the object itself, and one for each ``own`` or ``view``.
        is_managed: whether there is a finalizer.
    """

    __cuda_memory__ = True

    def __init__(
        self,
        context: Any,
        pointer: Any,
        size: int,
        owner: Any = None,
        finalizer: Callable[[], object] | None = None,
    ) -> None:
        self.context = context
        self.device_pointer = DevicePointer(address_of(pointer))
        self.handle: int = self.device_pointer
        self.size = self._cuda_memsize_ = size
        self.is_managed = finalizer is not None
        self.refct = 1
        self._owner = owner
        self._finalizer = None if finalizer is None else weakref.finalize(self, finalizer)

    @property
    def owner(self) -> Any:
        """The pointer that owns the memory: this one, or that of which it is a view."""
        return self if self._owner is None else self._owner

    @property
    def device_ctypes_pointer(self) -> ctypes.c_size_t:
        """The address, as a ctypes.c_size_t."""
        return ctypes.c_size_t(self.device_pointer)

    @property
    def device_pointer_value(self) -> int | None:
        """The address; None for the null pointer."""
        return int(self.device_pointer) or None

    def own(self) -> OwnedPointer:
        """A reference to the memory."""
        return OwnedPointer(self)

    def free(self) -> None:
        """Run the finalizer now.

        Raises:
            RuntimeError: it has run already.
        """
        if self._finalizer is None:
            return
        if not self._finalizer.alive:
            raise RuntimeError("the memory of this pointer has been freed already")
        self._finalizer()

    def memset(self, byte: int, count: int | None = None, stream: Any = 0) -> None:
        """Set the first ``count`` bytes, or all of them; with a stream, after its work."""
        count = self.size if count is None else count
        if not 0 <= count <= self.size:
            raise ValueError(f"memset of {count} bytes, and the memory has {self.size}")
        queue = stream.native if stream else current.device()
        queue.fill(int(self.device_pointer), byte & 0xFF, count)

    def view(self, start: int, stop: int | None = None) -> Any:
        """A reference to the bytes from ``start`` to ``stop``.

        Raises:
            RuntimeError: they are not in this memory.
        """
        size = (self.size if stop is None else stop) - start
        if size < 0 or start < 0 or start + size > self.size:
            raise RuntimeError(f"no view from {start} to {stop}: the memory has {self.size} bytes")
        if not self.device_pointer:
            return self
        view = MemoryPointer(self.context, self.device_pointer + start, size, owner=self.owner)
        owner = self.owner
        if isinstance(owner, (MemoryPointer, OwnedPointer)):
            return OwnedPointer(owner, view)
        return view


class AutoFreePointer(MemoryPointer):
    """A pointer whose finalizer runs at the release of the last reference to the memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.refct -= 1


_LIKE = {"__module__": __name__}


@cache
def _with_bytes(cls: type[Any], size: int) -> type[Any]:
    """A class of pointers that are their memory's bytes as well, for Python's buffer protocol,
    which classes written in Python have from 3.12 on only."""
    bases = (cls, ctypes.c_ubyte * size)
    return types.new_class(cls.__name__, bases, exec_body=lambda names: names.update(_LIKE))


class _HostBytes:
    """A pointer to host memory, with the buffer protocol: ``np.ndarray(…, buffer=pointer)``."""

    def __new__(cls, context: Any, pointer: Any, size: int, *_: Any, **__: Any) -> Any:
        """The pointer over the bytes at its address."""
        pointer_class = _with_bytes(cls, size) if not issubclass(cls, ctypes.Array) else cls
        return pointer_class.from_address(address_of(pointer))


class _SharedMemory(_HostBytes, AutoFreePointer):
    """Host memory that kernels use, mapped or managed."""

    def __init__(
        self,
        context: Any,
        pointer: Any,
        size: int,
        owner: Any = None,
        finalizer: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(context, pointer, size, finalizer=finalizer)
        self.owned = owner
        self._bufptr_, self._buflen_ = address_of(pointer), size


class MappedMemory(_SharedMemory):
    """Host memory that kernels use in place."""

    @property
    def host_pointer(self) -> int:
        """Its address on the host."""
        return self._bufptr_

    def own(self) -> Any:
        """A reference to the memory."""
        return MappedOwnedPointer(self)


class ManagedMemory(_SharedMemory):
    """Memory that host and device use at one address."""

    def own(self) -> Any:
        """A reference to the memory."""
        return ManagedOwnedPointer(self)


class PinnedMemory(_HostBytes, PinnedMemoryBase):
    """Pinned host memory, for asynchronous copies on streams."""

    def __init__(
        self,
        context: Any,
        pointer: Any,
        size: int,
        owner: Any = None,
        finalizer: Callable[[], object] | None = None,
    ) -> None:
        self.context, self.owned, self.size = context, owner, size
        self.host_pointer = self.handle = self._bufptr_ = address_of(pointer)
        self._buflen_ = size
        self.is_managed = finalizer is not None
        self._finalizer = None if finalizer is None else weakref.finalize(self, finalizer)

    def own(self) -> Self:
        """The pointer itself."""
        return self


def _release(pointer: Any) -> None:
    """Called at the end of a reference."""
    pointer.refct -= 1
    if pointer.refct == 0 and pointer._finalizer is not None and pointer._finalizer.alive:
        pointer.free()


class OwnedPointer:
    """A reference to a pointer's memory, or to a view of it; it has the pointer's attributes."""

    def __init__(self, memptr: Any, view: Any = None) -> None:
        self._mem = memptr
        self._view = memptr if view is None else view
        memptr.refct += 1
        weakref.finalize(self, _release, memptr)
        self.device_ctypes_pointer = self._view.device_ctypes_pointer

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__cuda_memory__":
            raise AttributeError(name)
        return getattr(self._view, name)


class MappedOwnedPointer(OwnedPointer):
    """A reference to mapped memory, with the buffer protocol."""

    def __new__(cls, memptr: Any, view: Any = None) -> Any:
        """The reference over the bytes."""
        there = memptr if view is None else view
        return _with_bytes(cls, there.size).from_address(int(there.handle))


class ManagedOwnedPointer(MappedOwnedPointer):
    """A reference to managed memory, with the buffer protocol."""


# --- between pointers and buffers ---


def host_address(pointer: Any) -> int:
    """The host's address of mapped, managed or pinned memory."""
    return address_of(getattr(pointer, "host_pointer", pointer.handle))


class _OfBuffer(MemoryPointer):
    """A pointer to the memory of arrays, which it keeps alive. Those of one memory are equal, as
    an array and its views share one in numba."""

    def __init__(self, buffer: Buffer, context: Any = None) -> None:
        super().__init__(context, buffer.address, buffer.size)
        self.buffer = buffer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OfBuffer) and other.buffer is self.buffer

    def __hash__(self) -> int:
        return hash(self.buffer)


def pointer_to(buffer: Buffer, address: int, size: int, context: Any = None) -> Any:
    """A pointer to bytes of a buffer; it keeps the buffer alive."""
    whole = _OfBuffer(buffer, context)
    start = address - buffer.address
    return whole if (start, size) == (0, buffer.size) else whole.view(start, start + size)


def allocated(buffer: Buffer, context: Any) -> OwnedPointer:
    """A reference that frees a buffer's memory at its own end and that of its views."""
    keep = [buffer]
    return AutoFreePointer(context, buffer.address, buffer.size, finalizer=keep.clear).own()


def buffer_of(pointer: Any) -> Buffer:
    """A buffer over a pointer's memory, which keeps the pointer alive.

    Raises:
        TypeError: the object is no pointer to device memory.
    """
    whole = getattr(pointer, "_view", pointer)
    buffer = getattr(getattr(whole, "owner", None), "buffer", None)
    if not isinstance(getattr(pointer, "size", None), int) or not getattr(
        pointer, "__cuda_memory__", False
    ):
        raise TypeError(f"gpu_data is a pointer to device memory, not a {type(pointer).__name__}")
    device = buffer.device if isinstance(buffer, Buffer) else current.device()
    return Buffer(int(pointer.device_pointer), pointer.size, pointer, device)
