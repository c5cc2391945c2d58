"""The description of an array in device memory: shape, strides, dtype, address; no copies or
views."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from gridlane.core import numpy_types
from gridlane.core.argtypes import ArgType, ArrayType
from gridlane.core.array_interface import ArrayMemory
from gridlane.cuda.arrays import allocation, pointers
from gridlane.cuda.arrays.showing import html_of, text_of
from gridlane.cuda.host.streams import as_stream
from gridlane.launch import compact, current, geometry
from gridlane.launch.parameters import Packed, array_layout
from gridlane.memory.resource import Buffer


class TypeKey:
    """The key of a device array's or record's type in a launch: one object for each type.

    Attributes:
        misaligned: whether elements begin between words, or between their halves.
    """

    __slots__ = ("argtype", "misaligned")

    def __init__(self, argtype: ArgType, misaligned: bool = False) -> None:
        self.argtype, self.misaligned = argtype, misaligned


@cache
def _array_key(
    dtype: np.dtype, ndim: int, layout: str, readonly: bool, device: str | None, misaligned: bool
) -> TypeKey:
    """The key of arrays of a type in the memory of one device, by its name: a launch on another
    device finds no plan by it and takes the slow path."""
    return TypeKey(ArrayType(numpy_types.from_numpy(dtype), ndim, layout, readonly), misaligned)


@cache
def _large(key: TypeKey) -> TypeKey:
    """The native path's key of an array that exceeds the bounds of compact launches."""
    return TypeKey(key.argtype, key.misaligned)


@cache
def record_key(dtype: np.dtype, device: str | None) -> TypeKey:
    """The key of a record type in the memory of a device."""
    return TypeKey(numpy_types.from_numpy(dtype))


class ArrayDescription(Packed):
    """An n-d array in device memory, which it keeps alive.

    Attributes:
        shape, strides (bytes), dtype, ndim, size: as numpy's.
        stream: the stream that copies use when they are given none; 0 the default one.
        buffer: the memory; ``address``: that of the first element.
        readonly: whether writes to it are forbidden.
    """

    __cuda_memory__ = True
    __cuda_ndarray__ = True

    def __init__(
        self,
        shape: Any,
        strides: Any,
        dtype: Any,
        stream: Any = 0,
        gpu_data: Any = None,
        address: int | None = None,
        readonly: bool = False,
    ) -> None:
        self.readonly = readonly
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
        buffer: Buffer
        if gpu_data is None:
            buffer = allocation.allocate(high - low)
            address = buffer.address - low if buffer.address else 0
        elif isinstance(gpu_data, Buffer):
            buffer = gpu_data
        else:
            buffer = pointers.buffer_of(gpu_data)
            if high - low > buffer.size:
                raise ValueError(f"{high - low} bytes do not fit into the pointer's {buffer.size}")
            address = buffer.address - low if address is None else address
        self.buffer = buffer
        self.address = buffer.address if address is None else address
        self._layout = geometry.layout_of(shape, strides, itemsize)
        # Read by a launch: the type, and the kernel's parameters; see Packed.
        device = buffer.device
        place = None if device is None else device.name
        layout = self._layout if geometry.is_aligned(self.address, dtype) else "A"
        misaligned = geometry.is_misaligned(self.address, shape, strides, dtype)
        self._key = _array_key(dtype, self.ndim, layout, readonly, place, misaligned)
        self.__gridlane_packed__ = packed = array_layout(self.ndim).pack(
            self.address, *shape, *strides
        )
        small = compact.array_checker(self.ndim)(packed)
        self.__gridlane_launch__ = self._key if small else _large(self._key), packed

    # --- properties ---

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
        """Whether the elements are contiguous in C order."""
        return self._is("C")

    def is_f_contiguous(self) -> bool:
        """Whether the elements are contiguous in Fortran order."""
        return self._is("F")

    @property
    def gpu_data(self) -> Any:
        """A pointer to the bytes from the first to the last element, which keeps them alive."""
        low = geometry.extent_of(self.shape, self.strides, self.dtype.itemsize)[0]
        return pointers.pointer_to(self.buffer, self.address + low, self.alloc_size)

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
    def _numba_type_(self) -> ArgType:
        return self._key.argtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface. AttributeError if CUDA libraries could not use the memory."""
        allocation.check_cuda_memory(self.buffer.device)
        current.submit_delayed()
        stream = as_stream(self.stream).handle if self.stream else None
        return self.__gridlane_array__ | {"stream": stream}

    @property
    def __gridlane_array__(self) -> dict[str, Any]:
        """The array interface, on any device: for kernels that capture the array."""
        plain = self._is("C")
        return {
            "shape": self.shape,
            "strides": None if plain else self.strides,
            "data": (self.address if self.size else 0, self.readonly),
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": None,
            "version": 3,
        }

    @property
    def memory(self) -> ArrayMemory:
        """The array's memory, as core's ArrayMemory."""
        strides = None if self._is("C") else self.strides
        address = self.address if self.size else 0
        return ArrayMemory(self.shape, strides, self.dtype, address, self.readonly)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return text_of(self, (self.buffer.device or current.device()).name)

    def _repr_html_(self) -> str:
        return html_of(self, (self.buffer.device or current.device()).name)
