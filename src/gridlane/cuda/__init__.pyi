"""The types of gridlane.cuda; made by scripts/cuda_stub.py, not by hand."""

# pyright: reportOverlappingOverload=false
# A dtype of unknown type may be that of numbers or of records.

from collections.abc import Iterator
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeVar, overload

import numpy as np

from gridlane.core.argtypes import ComplexType, ScalarType
from gridlane.cuda import arrays as arrays
from gridlane.cuda import bf16 as bf16
from gridlane.cuda import cg as cg
from gridlane.cuda import driver as driver
from gridlane.cuda import extending as extending
from gridlane.cuda import host as host
from gridlane.cuda import interop as interop
from gridlane.cuda import kernels as kernels
from gridlane.cuda import libdevice as libdevice
from gridlane.cuda import names as names
from gridlane.cuda import numba_compat as numba_compat
from gridlane.cuda import random as random
from gridlane.cuda import texture as texture
from gridlane.cuda import types as types
from gridlane.cuda import ufuncs as ufuncs
from gridlane.cuda import vectors as vectors
from gridlane.cuda.arrays.creation import as_cuda_array as as_cuda_array
from gridlane.cuda.arrays.creation import device_array as device_array
from gridlane.cuda.arrays.creation import device_array_like as device_array_like
from gridlane.cuda.arrays.creation import from_cuda_array_interface as from_cuda_array_interface
from gridlane.cuda.arrays.creation import is_cuda_array as is_cuda_array
from gridlane.cuda.arrays.creation import managed_array as managed_array
from gridlane.cuda.arrays.creation import mapped as mapped
from gridlane.cuda.arrays.creation import mapped_array as mapped_array
from gridlane.cuda.arrays.creation import mapped_array_like as mapped_array_like
from gridlane.cuda.arrays.creation import open_ipc_array as open_ipc_array
from gridlane.cuda.arrays.creation import pinned as pinned
from gridlane.cuda.arrays.creation import pinned_array as pinned_array
from gridlane.cuda.arrays.creation import pinned_array_like as pinned_array_like
from gridlane.cuda.arrays.creation import to_device as to_device
from gridlane.cuda.arrays.dlpack_arrays import from_dlpack as from_dlpack
from gridlane.cuda.arrays.ipc import IpcHandle as IpcHandle
from gridlane.cuda.arrays.managers import BaseCUDAMemoryManager as BaseCUDAMemoryManager
from gridlane.cuda.arrays.managers import GetIpcHandleMixin as GetIpcHandleMixin
from gridlane.cuda.arrays.managers import HostOnlyCUDAMemoryManager as HostOnlyCUDAMemoryManager
from gridlane.cuda.arrays.managers import MemoryInfo as MemoryInfo
from gridlane.cuda.arrays.pointers import MappedMemory as MappedMemory
from gridlane.cuda.arrays.pointers import MemoryPointer as MemoryPointer
from gridlane.cuda.arrays.pointers import PinnedMemory as PinnedMemory
from gridlane.cuda.extending import cgutils as cgutils
from gridlane.cuda.extending import imputils as _cudaimpl
from gridlane.cuda.extending import models as _datamodel
from gridlane.cuda.extending import models as models
from gridlane.cuda.extending import templates as _cudadecl
from gridlane.cuda.host import errors as errors
from gridlane.cuda.host import settings as _config
from gridlane.cuda.host.compilation import compile as compile
from gridlane.cuda.host.compilation import compile_all as compile_all
from gridlane.cuda.host.compilation import compile_for_current_device as compile_for_current_device
from gridlane.cuda.host.compilation import compile_ptx as compile_ptx
from gridlane.cuda.host.compilation import (
    compile_ptx_for_current_device as compile_ptx_for_current_device,
)
from gridlane.cuda.host.device import close as close
from gridlane.cuda.host.device import cuda_error as cuda_error
from gridlane.cuda.host.device import current_context as current_context
from gridlane.cuda.host.device import defer_cleanup as defer_cleanup
from gridlane.cuda.host.device import detect as detect
from gridlane.cuda.host.device import get_current_device as get_current_device
from gridlane.cuda.host.device import gpus as gpus
from gridlane.cuda.host.device import is_available as is_available
from gridlane.cuda.host.device import is_bfloat16_supported as is_bfloat16_supported
from gridlane.cuda.host.device import is_float16_supported as is_float16_supported
from gridlane.cuda.host.device import is_fp8_supported as is_fp8_supported
from gridlane.cuda.host.device import is_supported_version as is_supported_version
from gridlane.cuda.host.device import list_devices as list_devices
from gridlane.cuda.host.device import require_context as require_context
from gridlane.cuda.host.device import select_device as select_device
from gridlane.cuda.host.device import set_memory_manager as set_memory_manager
from gridlane.cuda.host.errors import KernelRuntimeError as KernelRuntimeError
from gridlane.cuda.host.graphs import capture as capture
from gridlane.cuda.host.profiling import profile_start as profile_start
from gridlane.cuda.host.profiling import profile_stop as profile_stop
from gridlane.cuda.host.profiling import profiling as profiling
from gridlane.cuda.host.streams import default_stream as default_stream
from gridlane.cuda.host.streams import event as event
from gridlane.cuda.host.streams import event_elapsed_time as event_elapsed_time
from gridlane.cuda.host.streams import external_stream as external_stream
from gridlane.cuda.host.streams import legacy_default_stream as legacy_default_stream
from gridlane.cuda.host.streams import per_thread_default_stream as per_thread_default_stream
from gridlane.cuda.host.streams import stream as stream
from gridlane.cuda.host.streams import synchronize as synchronize
from gridlane.cuda.kernels import arguments as _args
from gridlane.cuda.kernels import decorators as decorators
from gridlane.cuda.kernels import dispatcher as dispatcher
from gridlane.cuda.kernels import launch as _launchconfig
from gridlane.cuda.kernels.argument_types import typeof as typeof
from gridlane.cuda.kernels.arguments import In as In
from gridlane.cuda.kernels.arguments import InOut as InOut
from gridlane.cuda.kernels.arguments import Out as Out
from gridlane.cuda.kernels.decorators import jit as jit
from gridlane.cuda.kernels.dispatcher import Dispatcher as Dispatcher
from gridlane.cuda.kernels.linkable import LTOIR as LTOIR
from gridlane.cuda.kernels.linkable import Archive as Archive
from gridlane.cuda.kernels.linkable import Cubin as Cubin
from gridlane.cuda.kernels.linkable import CUSource as CUSource
from gridlane.cuda.kernels.linkable import Fatbin as Fatbin
from gridlane.cuda.kernels.linkable import LinkableCode as LinkableCode
from gridlane.cuda.kernels.linkable import Object as Object
from gridlane.cuda.kernels.linkable import PTXSource as PTXSource
from gridlane.cuda.kernels.linkable import declare_device as declare_device
from gridlane.cuda.kernels.tuning import tune as tune
from gridlane.cuda.numba_compat import HAS_NUMBA as HAS_NUMBA
from gridlane.cuda.numba_compat import api as _devices
from gridlane.cuda.numba_compat import api as api
from gridlane.cuda.numba_compat import core as core
from gridlane.cuda.numba_compat import cudadrv as cudadrv
from gridlane.cuda.numba_compat import devicearray as devicearray
from gridlane.cuda.numba_compat import install_as_numba as install_as_numba
from gridlane.cuda.numba_compat import testing as testing
from gridlane.cuda.numba_compat import typing as typing
from gridlane.cuda.raw.code import compile_cpp as compile_cpp
from gridlane.cuda.raw.module import RawKernel as RawKernel
from gridlane.cuda.raw.module import RawModule as RawModule
from gridlane.cuda.types import b1 as b1
from gridlane.cuda.types import bfloat16 as bfloat16
from gridlane.cuda.types import bool_ as bool_
from gridlane.cuda.types import boolean as boolean
from gridlane.cuda.types import byte as byte
from gridlane.cuda.types import c8 as c8
from gridlane.cuda.types import c16 as c16
from gridlane.cuda.types import char as char
from gridlane.cuda.types import complex64 as complex64
from gridlane.cuda.types import complex128 as complex128
from gridlane.cuda.types import double as double
from gridlane.cuda.types import f2 as f2
from gridlane.cuda.types import f4 as f4
from gridlane.cuda.types import f8 as f8
from gridlane.cuda.types import float16 as float16
from gridlane.cuda.types import float32 as float32
from gridlane.cuda.types import float64 as float64
from gridlane.cuda.types import float_ as float_
from gridlane.cuda.types import i1 as i1
from gridlane.cuda.types import i2 as i2
from gridlane.cuda.types import i4 as i4
from gridlane.cuda.types import i8 as i8
from gridlane.cuda.types import int8 as int8
from gridlane.cuda.types import int16 as int16
from gridlane.cuda.types import int32 as int32
from gridlane.cuda.types import int64 as int64
from gridlane.cuda.types import int_ as int_
from gridlane.cuda.types import intc as intc
from gridlane.cuda.types import intp as intp
from gridlane.cuda.types import long_ as long_
from gridlane.cuda.types import longlong as longlong
from gridlane.cuda.types import none as none
from gridlane.cuda.types import short as short
from gridlane.cuda.types import size_t as size_t
from gridlane.cuda.types import ssize_t as ssize_t
from gridlane.cuda.types import u1 as u1
from gridlane.cuda.types import u2 as u2
from gridlane.cuda.types import u4 as u4
from gridlane.cuda.types import u8 as u8
from gridlane.cuda.types import uchar as uchar
from gridlane.cuda.types import uint as uint
from gridlane.cuda.types import uint8 as uint8
from gridlane.cuda.types import uint16 as uint16
from gridlane.cuda.types import uint32 as uint32
from gridlane.cuda.types import uint64 as uint64
from gridlane.cuda.types import uintc as uintc
from gridlane.cuda.types import uintp as uintp
from gridlane.cuda.types import ulong as ulong
from gridlane.cuda.types import ulonglong as ulonglong
from gridlane.cuda.types import ushort as ushort
from gridlane.cuda.types import void as void
from gridlane.cuda.ufuncs.gufunc import guvectorize as guvectorize
from gridlane.cuda.ufuncs.reduction import Reduce as Reduce
from gridlane.cuda.ufuncs.reduction import reduce as reduce
from gridlane.cuda.ufuncs.vectorization import vectorize as vectorize
from gridlane.cuda.vectors import char1 as char1
from gridlane.cuda.vectors import char2 as char2
from gridlane.cuda.vectors import char3 as char3
from gridlane.cuda.vectors import char4 as char4
from gridlane.cuda.vectors import double1 as double1
from gridlane.cuda.vectors import double2 as double2
from gridlane.cuda.vectors import double3 as double3
from gridlane.cuda.vectors import double4 as double4
from gridlane.cuda.vectors import float1 as float1
from gridlane.cuda.vectors import float2 as float2
from gridlane.cuda.vectors import float3 as float3
from gridlane.cuda.vectors import float4 as float4
from gridlane.cuda.vectors import float16x1 as float16x1
from gridlane.cuda.vectors import float16x2 as float16x2
from gridlane.cuda.vectors import float16x3 as float16x3
from gridlane.cuda.vectors import float16x4 as float16x4
from gridlane.cuda.vectors import float32x1 as float32x1
from gridlane.cuda.vectors import float32x2 as float32x2
from gridlane.cuda.vectors import float32x3 as float32x3
from gridlane.cuda.vectors import float32x4 as float32x4
from gridlane.cuda.vectors import float64x1 as float64x1
from gridlane.cuda.vectors import float64x2 as float64x2
from gridlane.cuda.vectors import float64x3 as float64x3
from gridlane.cuda.vectors import float64x4 as float64x4
from gridlane.cuda.vectors import int1 as int1
from gridlane.cuda.vectors import int2 as int2
from gridlane.cuda.vectors import int3 as int3
from gridlane.cuda.vectors import int4 as int4
from gridlane.cuda.vectors import int8x1 as int8x1
from gridlane.cuda.vectors import int8x2 as int8x2
from gridlane.cuda.vectors import int8x3 as int8x3
from gridlane.cuda.vectors import int8x4 as int8x4
from gridlane.cuda.vectors import int16x1 as int16x1
from gridlane.cuda.vectors import int16x2 as int16x2
from gridlane.cuda.vectors import int16x3 as int16x3
from gridlane.cuda.vectors import int16x4 as int16x4
from gridlane.cuda.vectors import int32x1 as int32x1
from gridlane.cuda.vectors import int32x2 as int32x2
from gridlane.cuda.vectors import int32x3 as int32x3
from gridlane.cuda.vectors import int32x4 as int32x4
from gridlane.cuda.vectors import int64x1 as int64x1
from gridlane.cuda.vectors import int64x2 as int64x2
from gridlane.cuda.vectors import int64x3 as int64x3
from gridlane.cuda.vectors import int64x4 as int64x4
from gridlane.cuda.vectors import long1 as long1
from gridlane.cuda.vectors import long2 as long2
from gridlane.cuda.vectors import long3 as long3
from gridlane.cuda.vectors import long4 as long4
from gridlane.cuda.vectors import longlong1 as longlong1
from gridlane.cuda.vectors import longlong2 as longlong2
from gridlane.cuda.vectors import longlong3 as longlong3
from gridlane.cuda.vectors import longlong4 as longlong4
from gridlane.cuda.vectors import make_char1 as make_char1
from gridlane.cuda.vectors import make_char2 as make_char2
from gridlane.cuda.vectors import make_char3 as make_char3
from gridlane.cuda.vectors import make_char4 as make_char4
from gridlane.cuda.vectors import make_double1 as make_double1
from gridlane.cuda.vectors import make_double2 as make_double2
from gridlane.cuda.vectors import make_double3 as make_double3
from gridlane.cuda.vectors import make_double4 as make_double4
from gridlane.cuda.vectors import make_float1 as make_float1
from gridlane.cuda.vectors import make_float2 as make_float2
from gridlane.cuda.vectors import make_float3 as make_float3
from gridlane.cuda.vectors import make_float4 as make_float4
from gridlane.cuda.vectors import make_int1 as make_int1
from gridlane.cuda.vectors import make_int2 as make_int2
from gridlane.cuda.vectors import make_int3 as make_int3
from gridlane.cuda.vectors import make_int4 as make_int4
from gridlane.cuda.vectors import make_long1 as make_long1
from gridlane.cuda.vectors import make_long2 as make_long2
from gridlane.cuda.vectors import make_long3 as make_long3
from gridlane.cuda.vectors import make_long4 as make_long4
from gridlane.cuda.vectors import make_longlong1 as make_longlong1
from gridlane.cuda.vectors import make_longlong2 as make_longlong2
from gridlane.cuda.vectors import make_longlong3 as make_longlong3
from gridlane.cuda.vectors import make_longlong4 as make_longlong4
from gridlane.cuda.vectors import make_short1 as make_short1
from gridlane.cuda.vectors import make_short2 as make_short2
from gridlane.cuda.vectors import make_short3 as make_short3
from gridlane.cuda.vectors import make_short4 as make_short4
from gridlane.cuda.vectors import make_uchar1 as make_uchar1
from gridlane.cuda.vectors import make_uchar2 as make_uchar2
from gridlane.cuda.vectors import make_uchar3 as make_uchar3
from gridlane.cuda.vectors import make_uchar4 as make_uchar4
from gridlane.cuda.vectors import make_uint1 as make_uint1
from gridlane.cuda.vectors import make_uint2 as make_uint2
from gridlane.cuda.vectors import make_uint3 as make_uint3
from gridlane.cuda.vectors import make_uint4 as make_uint4
from gridlane.cuda.vectors import make_ulong1 as make_ulong1
from gridlane.cuda.vectors import make_ulong2 as make_ulong2
from gridlane.cuda.vectors import make_ulong3 as make_ulong3
from gridlane.cuda.vectors import make_ulong4 as make_ulong4
from gridlane.cuda.vectors import make_ulonglong1 as make_ulonglong1
from gridlane.cuda.vectors import make_ulonglong2 as make_ulonglong2
from gridlane.cuda.vectors import make_ulonglong3 as make_ulonglong3
from gridlane.cuda.vectors import make_ulonglong4 as make_ulonglong4
from gridlane.cuda.vectors import make_ushort1 as make_ushort1
from gridlane.cuda.vectors import make_ushort2 as make_ushort2
from gridlane.cuda.vectors import make_ushort3 as make_ushort3
from gridlane.cuda.vectors import make_ushort4 as make_ushort4
from gridlane.cuda.vectors import short1 as short1
from gridlane.cuda.vectors import short2 as short2
from gridlane.cuda.vectors import short3 as short3
from gridlane.cuda.vectors import short4 as short4
from gridlane.cuda.vectors import uchar1 as uchar1
from gridlane.cuda.vectors import uchar2 as uchar2
from gridlane.cuda.vectors import uchar3 as uchar3
from gridlane.cuda.vectors import uchar4 as uchar4
from gridlane.cuda.vectors import uint1 as uint1
from gridlane.cuda.vectors import uint2 as uint2
from gridlane.cuda.vectors import uint3 as uint3
from gridlane.cuda.vectors import uint4 as uint4
from gridlane.cuda.vectors import uint8x1 as uint8x1
from gridlane.cuda.vectors import uint8x2 as uint8x2
from gridlane.cuda.vectors import uint8x3 as uint8x3
from gridlane.cuda.vectors import uint8x4 as uint8x4
from gridlane.cuda.vectors import uint16x1 as uint16x1
from gridlane.cuda.vectors import uint16x2 as uint16x2
from gridlane.cuda.vectors import uint16x3 as uint16x3
from gridlane.cuda.vectors import uint16x4 as uint16x4
from gridlane.cuda.vectors import uint32x1 as uint32x1
from gridlane.cuda.vectors import uint32x2 as uint32x2
from gridlane.cuda.vectors import uint32x3 as uint32x3
from gridlane.cuda.vectors import uint32x4 as uint32x4
from gridlane.cuda.vectors import uint64x1 as uint64x1
from gridlane.cuda.vectors import uint64x2 as uint64x2
from gridlane.cuda.vectors import uint64x3 as uint64x3
from gridlane.cuda.vectors import uint64x4 as uint64x4
from gridlane.cuda.vectors import ulong1 as ulong1
from gridlane.cuda.vectors import ulong2 as ulong2
from gridlane.cuda.vectors import ulong3 as ulong3
from gridlane.cuda.vectors import ulong4 as ulong4
from gridlane.cuda.vectors import ulonglong1 as ulonglong1
from gridlane.cuda.vectors import ulonglong2 as ulonglong2
from gridlane.cuda.vectors import ulonglong3 as ulonglong3
from gridlane.cuda.vectors import ulonglong4 as ulonglong4
from gridlane.cuda.vectors import ushort1 as ushort1
from gridlane.cuda.vectors import ushort2 as ushort2
from gridlane.cuda.vectors import ushort3 as ushort3
from gridlane.cuda.vectors import ushort4 as ushort4

_T = TypeVar("_T")
_Real = SupportsFloat | SupportsIndex
_Index = SupportsIndex | tuple[SupportsIndex, ...]
_Shape = int | tuple[int, ...]
_Number = ScalarType | ComplexType | type[np.generic] | type[complex]

class _Dim3:
    """Three values along the axes."""

    @property
    def x(self) -> int: ...
    @property
    def y(self) -> int: ...
    @property
    def z(self) -> int: ...

class _KernelArray:
    """An array that a kernel makes, by what kernels can do with it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ndim: int
    size: int
    itemsize: int
    nbytes: int
    ctypes: Any
    dtype: Any
    ctypes: Any
    @property
    def T(self) -> _KernelArray: ...
    @property
    def real(self) -> _KernelArray: ...
    @property
    def imag(self) -> _KernelArray: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def view(self, dtype: Any) -> _KernelArray: ...
    def reshape(self, *shape: Any) -> _KernelArray: ...
    def ravel(self) -> _KernelArray: ...
    def transpose(self) -> _KernelArray: ...
    def copy(self) -> _KernelArray: ...
    def item(self) -> Any: ...
    def fill(self, value: Any) -> None: ...
    def sum(self) -> Any: ...
    def prod(self) -> Any: ...
    def min(self) -> Any: ...
    def max(self) -> Any: ...
    def mean(self) -> Any: ...
    def var(self) -> Any: ...
    def std(self) -> Any: ...
    def all(self) -> bool: ...
    def any(self) -> bool: ...
    def argmin(self) -> int: ...
    def argmax(self) -> int: ...

class _RecordArray(_KernelArray):
    """The same of records, whose fields are attributes."""

    def __getattr__(self, name: str) -> Any: ...

class _Fragment:
    """A matrix that the lanes of a warp hold together."""

class _Shared:
    """Memory that a block shares."""
    @overload
    def array(self, shape: _Shape, dtype: _Number, alignment: int | None = ...) -> _KernelArray:
        """A shared array; shape 0 is sized at launch."""
    @overload
    def array(self, shape: _Shape, dtype: Any, alignment: int | None = ...) -> _RecordArray:
        """A shared array; shape 0 is sized at launch."""

class _Local:
    """Memory of one thread."""
    @overload
    def array(self, shape: _Shape, dtype: _Number, alignment: int | None = ...) -> _KernelArray:
        """A local array of undefined contents."""
    @overload
    def array(self, shape: _Shape, dtype: Any, alignment: int | None = ...) -> _RecordArray:
        """A local array of undefined contents."""

class _Const:
    """Constant memory."""
    def array_like(self, ndarray: Any) -> _RecordArray:
        """A global numpy array as constant memory."""

class _Atomic:
    """Atomic updates; each gives the old value."""
    def add(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] += val."""
    def sub(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] -= val."""
    def and_(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] &= val."""
    def or_(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] |= val."""
    def xor(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] ^= val."""
    def inc(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] = 0 if ary[idx] >= val else ary[idx] + 1."""
    def dec(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] = val if ary[idx] == 0 or ary[idx] > val else ary[idx] - 1."""
    def exch(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] = val."""
    def max(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] = max(ary[idx], val); a NaN stays."""
    def min(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] = min(ary[idx], val); a NaN stays."""
    def nanmax(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] = max(ary[idx], val); a NaN is taken as missing."""
    def nanmin(self, ary: Any, idx: _Index, val: Any) -> Any:
        """ary[idx] = min(ary[idx], val); a NaN is taken as missing."""
    def compare_and_swap(self, ary: Any, old: Any, val: Any) -> Any:
        """ary[0] = val where ary[0] == old."""
    def cas(self, ary: Any, idx: _Index, old: Any, val: Any) -> Any:
        """ary[idx] = val where ary[idx] == old."""

class _Fp16:
    """Arithmetic of float16."""
    def habs(self, a: _Real) -> Any:
        """habs of a float16."""
    def hneg(self, a: _Real) -> Any:
        """hneg of a float16."""
    def hsin(self, a: _Real) -> Any:
        """hsin of a float16."""
    def hcos(self, a: _Real) -> Any:
        """hcos of a float16."""
    def hexp(self, a: _Real) -> Any:
        """hexp of a float16."""
    def hexp2(self, a: _Real) -> Any:
        """hexp2 of a float16."""
    def hexp10(self, a: _Real) -> Any:
        """hexp10 of a float16."""
    def hlog(self, a: _Real) -> Any:
        """hlog of a float16."""
    def hlog2(self, a: _Real) -> Any:
        """hlog2 of a float16."""
    def hlog10(self, a: _Real) -> Any:
        """hlog10 of a float16."""
    def hsqrt(self, a: _Real) -> Any:
        """hsqrt of a float16."""
    def hrsqrt(self, a: _Real) -> Any:
        """hrsqrt of a float16."""
    def hrcp(self, a: _Real) -> Any:
        """hrcp of a float16."""
    def hceil(self, a: _Real) -> Any:
        """hceil of a float16."""
    def hfloor(self, a: _Real) -> Any:
        """hfloor of a float16."""
    def hrint(self, a: _Real) -> Any:
        """hrint of a float16."""
    def htrunc(self, a: _Real) -> Any:
        """htrunc of a float16."""
    def hadd(self, a: _Real, b: _Real) -> Any:
        """hadd of two float16."""
    def hsub(self, a: _Real, b: _Real) -> Any:
        """hsub of two float16."""
    def hmul(self, a: _Real, b: _Real) -> Any:
        """hmul of two float16."""
    def hdiv(self, a: _Real, b: _Real) -> Any:
        """hdiv of two float16."""
    def hmax(self, a: _Real, b: _Real) -> Any:
        """hmax of two float16."""
    def hmin(self, a: _Real, b: _Real) -> Any:
        """hmin of two float16."""
    def heq(self, a: _Real, b: _Real) -> Any:
        """heq of two float16."""
    def hne(self, a: _Real, b: _Real) -> Any:
        """hne of two float16."""
    def hlt(self, a: _Real, b: _Real) -> Any:
        """hlt of two float16."""
    def hle(self, a: _Real, b: _Real) -> Any:
        """hle of two float16."""
    def hgt(self, a: _Real, b: _Real) -> Any:
        """hgt of two float16."""
    def hge(self, a: _Real, b: _Real) -> Any:
        """hge of two float16."""
    def hfma(self, a: _Real, b: _Real, c: _Real) -> Any:
        """a * b + c of float16, rounded once."""

class _Wmma:
    """Matrices that the 32 lanes of a warp hold together and tensor cores multiply. Shapes are
    constants, multiples of 16; the inner extent of a product is one of 16 for 16-bit
    floats, 8 for float32 as tf32, 32 for 8-bit integers. All lanes of a warp call these
    together.
    """
    def fill(self, shape: tuple[int, int], dtype: Any, value: _Real) -> _Fragment:
        """An accumulator with one value everywhere."""
    def load_a(
        self,
        array: Any,
        position: _Index,
        shape: tuple[int, int],
        layout: Literal["row", "col"] = ...,
        precision: Any = ...,
    ) -> _Fragment:
        """A left factor from a 2-d array in global or shared memory, the first element at
        array[position]. A C array has the layout "row", an F array "col"; array.T turns one
        into the other. Rows, or columns, start at multiples of 16 bytes.
        """
    def load_b(
        self,
        array: Any,
        position: _Index,
        shape: tuple[int, int],
        layout: Literal["row", "col"] = ...,
        precision: Any = ...,
    ) -> _Fragment:
        """A right factor from a 2-d array in global or shared memory, the first element at
        array[position]. A C array has the layout "row", an F array "col"; array.T turns one
        into the other. Rows, or columns, start at multiples of 16 bytes.
        """
    def load_c(
        self,
        array: Any,
        position: _Index,
        shape: tuple[int, int],
        layout: Literal["row", "col"] = ...,
    ) -> _Fragment:
        """An accumulator from a 2-d array in global or shared memory, the first element at
        array[position]. A C array has the layout "row", an F array "col"; array.T turns one
        into the other. Rows, or columns, start at multiples of 16 bytes.
        """
    def mma(self, a: _Fragment, b: _Fragment, c: _Fragment) -> _Fragment:
        """The accumulator a @ b + c."""
    def store(
        self, array: Any, position: _Index, fragment: _Fragment, layout: Literal["row", "col"] = ...
    ) -> None:
        """Write an accumulator, as load_c reads."""
    def scale(self, fragment: _Fragment, factor: _Real) -> _Fragment:
        """An accumulator with every element times a number."""
    def convert(self, fragment: _Fragment, dtype: Any) -> _Fragment:
        """An accumulator with every element converted."""

threadIdx: _Dim3
"""The thread's index in its block, int32."""
blockIdx: _Dim3
"""The block's index in the grid, int32."""
blockDim: _Dim3
"""Threads in a block, int32."""
gridDim: _Dim3
"""Blocks in the grid, int32."""
laneid: int
"""The thread's lane in its warp, 0 to 31, int32."""
warpsize: int
"""Threads in a warp: 32."""

@overload
def grid(ndim: Literal[1]) -> int:
    """The thread's place in the grid: int64, or a tuple for ndim > 1."""

@overload
def grid(ndim: Literal[2]) -> tuple[int, int]:
    """The thread's place in the grid: int64, or a tuple for ndim > 1."""

@overload
def grid(ndim: Literal[3]) -> tuple[int, int, int]:
    """The thread's place in the grid: int64, or a tuple for ndim > 1."""

@overload
def gridsize(ndim: Literal[1]) -> int:
    """Threads in the grid: int64, or a tuple for ndim > 1."""

@overload
def gridsize(ndim: Literal[2]) -> tuple[int, int]:
    """Threads in the grid: int64, or a tuple for ndim > 1."""

@overload
def gridsize(ndim: Literal[3]) -> tuple[int, int, int]:
    """Threads in the grid: int64, or a tuple for ndim > 1."""

shared: _Shared
"""Memory that a block shares."""
local: _Local
"""Memory of one thread."""
const: _Const
"""Constant memory."""
atomic: _Atomic
"""Atomic updates; each gives the old value."""
fp16: _Fp16
"""Arithmetic of float16."""
wmma: _Wmma
"""Matrices that the 32 lanes of a warp hold together and tensor cores multiply. Shapes are
constants, multiples of 16; the inner extent of a product is one of 16 for 16-bit
floats, 8 for float32 as tf32, 32 for 8-bit integers. All lanes of a warp call these
together.
"""

def async_copy(
    target: Any, target_index: _Index, source: Any, source_index: _Index, count: int
) -> None:
    """Start to copy ``count`` elements, a constant, from an array in global memory to one in
    shared memory. They follow each other along the last axis, are 4, 8 or 16 bytes
    together, and start at multiples of as many bytes. The data may arrive at any time up to
    the async_wait that covers the copy: reading it earlier is a race. Other threads see it
    behind a barrier that follows the wait.
    """

def async_commit() -> None:
    """Make a group of the thread's copies since the last commit."""

def async_wait(pending: int) -> None:
    """Wait until at most the ``pending`` latest groups of the thread, a constant, are under
    way.
    """

def syncthreads() -> None:
    """Wait for every thread of the block."""

def syncthreads_count(predicate: Any) -> int:
    """A barrier; the number of threads with a true predicate."""

def syncthreads_and(predicate: Any) -> int:
    """A barrier; 1 where every predicate is true, else 0."""

def syncthreads_or(predicate: Any) -> int:
    """A barrier; 1 where any predicate is true, else 0."""

def syncwarp(mask: SupportsIndex = ...) -> None:
    """Wait for the lanes of the warp in the mask."""

def nanosleep(ns: SupportsIndex) -> None:
    """Sleep about so many nanoseconds; may return at once."""

def activemask() -> int:
    """The lanes that run together."""

def threadfence() -> None:
    """Order memory accesses as seen by the device."""

def threadfence_block() -> None:
    """Order memory accesses within the block."""

def threadfence_system() -> None:
    """Order memory accesses system-wide."""

def shfl_sync(mask: SupportsIndex, value: _T, src_lane: SupportsIndex) -> _T:
    """The value of a lane. The mask names the lanes that take part."""

def shfl_up_sync(mask: SupportsIndex, value: _T, delta: SupportsIndex) -> _T:
    """The value of the lane delta below. The mask names the lanes that take part."""

def shfl_down_sync(mask: SupportsIndex, value: _T, delta: SupportsIndex) -> _T:
    """The value of the lane delta above. The mask names the lanes that take part."""

def shfl_xor_sync(mask: SupportsIndex, value: _T, lane_mask: SupportsIndex) -> _T:
    """The value of lane id ^ lane_mask. The mask names the lanes that take part."""

def all_sync(mask: SupportsIndex, predicate: Any) -> bool:
    """Whether all predicates hold. The mask names the lanes that take part."""

def any_sync(mask: SupportsIndex, predicate: Any) -> bool:
    """Whether any predicate holds. The mask names the lanes that take part."""

def eq_sync(mask: SupportsIndex, predicate: Any) -> bool:
    """Whether all predicates agree. The mask names the lanes that take part."""

def ballot_sync(mask: SupportsIndex, predicate: Any) -> int:
    """A bit for each lane whose predicate holds. The mask names the lanes that take part."""

def vote_sync_intrinsic(
    mask: SupportsIndex, mode: SupportsIndex, predicate: Any
) -> tuple[int, bool]:
    """mode 0 all, 1 any, 2 eq, 3 ballot."""

def shfl_sync_intrinsic(
    mask: SupportsIndex,
    mode: SupportsIndex,
    value: Any,
    mode_offset: SupportsIndex,
    clamp: SupportsIndex,
) -> tuple[Any, bool]:
    """(value, in range); mode 0 idx, 1 up, 2 down, 3 xor; clamp as in PTX."""

def match_any_sync(mask: SupportsIndex, value: Any) -> int:
    """The lanes with an equal value. The mask names the lanes that take part."""

def match_all_sync(mask: SupportsIndex, value: Any) -> tuple[int, bool]:
    """(lanes, whether all values are equal). The mask names the lanes that take part."""

def lanemask_lt() -> int:
    """The lanes below the own one."""

def popc(x: SupportsIndex) -> int:
    """The number of one bits."""

def brev(x: SupportsIndex) -> int:
    """The bits in reverse order."""

def clz(x: SupportsIndex) -> int:
    """The number of leading zero bits."""

def ffs(x: SupportsIndex) -> int:
    """The position of the lowest one bit, from 1; 0 for 0."""

def fma(a: _Real, b: _Real, c: _Real) -> float:
    """a * b + c, rounded once."""

def cbrt(x: _Real) -> float:
    """The cube root."""

def selp(condition: Any, a: _T, b: _T) -> _T:
    """a where the condition holds, else b."""

def ldca(ary: Any, idx: _Index) -> Any:
    """A load or store with a cache hint, which may be ignored."""

def ldcg(ary: Any, idx: _Index) -> Any:
    """A load or store with a cache hint, which may be ignored."""

def ldcs(ary: Any, idx: _Index) -> Any:
    """A load or store with a cache hint, which may be ignored."""

def ldlu(ary: Any, idx: _Index) -> Any:
    """A load or store with a cache hint, which may be ignored."""

def ldcv(ary: Any, idx: _Index) -> Any:
    """A load or store with a cache hint, which may be ignored."""

def stcg(ary: Any, idx: _Index, val: Any) -> None:
    """A load or store with a cache hint, which may be ignored."""

def stcs(ary: Any, idx: _Index, val: Any) -> None:
    """A load or store with a cache hint, which may be ignored."""

def stwb(ary: Any, idx: _Index, val: Any) -> None:
    """A load or store with a cache hint, which may be ignored."""

def stwt(ary: Any, idx: _Index, val: Any) -> None:
    """A load or store with a cache hint, which may be ignored."""

args = _args
config = _config
launchconfig = _launchconfig
cudadecl = _cudadecl
cudaimpl = _cudaimpl
datamodel = _datamodel
devices = _devices
__all__ = [
    "Archive",
    "BaseCUDAMemoryManager",
    "CUSource",
    "Cubin",
    "Dispatcher",
    "Fatbin",
    "GetIpcHandleMixin",
    "HAS_NUMBA",
    "HostOnlyCUDAMemoryManager",
    "In",
    "InOut",
    "IpcHandle",
    "KernelRuntimeError",
    "LTOIR",
    "LinkableCode",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "Object",
    "Out",
    "PTXSource",
    "PinnedMemory",
    "RawKernel",
    "RawModule",
    "Reduce",
    "activemask",
    "all_sync",
    "any_sync",
    "as_cuda_array",
    "async_commit",
    "async_copy",
    "async_wait",
    "atomic",
    "b1",
    "ballot_sync",
    "bfloat16",
    "blockDim",
    "blockIdx",
    "bool_",
    "boolean",
    "brev",
    "byte",
    "c16",
    "c8",
    "capture",
    "cbrt",
    "char",
    "char1",
    "char2",
    "char3",
    "char4",
    "close",
    "clz",
    "compile",
    "compile_all",
    "compile_cpp",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
    "complex128",
    "complex64",
    "const",
    "cuda_error",
    "current_context",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "double",
    "double1",
    "double2",
    "double3",
    "double4",
    "eq_sync",
    "event",
    "event_elapsed_time",
    "external_stream",
    "f2",
    "f4",
    "f8",
    "ffs",
    "float1",
    "float16",
    "float16x1",
    "float16x2",
    "float16x3",
    "float16x4",
    "float2",
    "float3",
    "float32",
    "float32x1",
    "float32x2",
    "float32x3",
    "float32x4",
    "float4",
    "float64",
    "float64x1",
    "float64x2",
    "float64x3",
    "float64x4",
    "float_",
    "fma",
    "fp16",
    "from_cuda_array_interface",
    "from_dlpack",
    "get_current_device",
    "gpus",
    "grid",
    "gridDim",
    "gridsize",
    "guvectorize",
    "i1",
    "i2",
    "i4",
    "i8",
    "install_as_numba",
    "int1",
    "int16",
    "int16x1",
    "int16x2",
    "int16x3",
    "int16x4",
    "int2",
    "int3",
    "int32",
    "int32x1",
    "int32x2",
    "int32x3",
    "int32x4",
    "int4",
    "int64",
    "int64x1",
    "int64x2",
    "int64x3",
    "int64x4",
    "int8",
    "int8x1",
    "int8x2",
    "int8x3",
    "int8x4",
    "int_",
    "intc",
    "intp",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_fp8_supported",
    "is_supported_version",
    "jit",
    "laneid",
    "lanemask_lt",
    "ldca",
    "ldcg",
    "ldcs",
    "ldcv",
    "ldlu",
    "legacy_default_stream",
    "list_devices",
    "local",
    "long1",
    "long2",
    "long3",
    "long4",
    "long_",
    "longlong",
    "longlong1",
    "longlong2",
    "longlong3",
    "longlong4",
    "make_char1",
    "make_char2",
    "make_char3",
    "make_char4",
    "make_double1",
    "make_double2",
    "make_double3",
    "make_double4",
    "make_float1",
    "make_float2",
    "make_float3",
    "make_float4",
    "make_int1",
    "make_int2",
    "make_int3",
    "make_int4",
    "make_long1",
    "make_long2",
    "make_long3",
    "make_long4",
    "make_longlong1",
    "make_longlong2",
    "make_longlong3",
    "make_longlong4",
    "make_short1",
    "make_short2",
    "make_short3",
    "make_short4",
    "make_uchar1",
    "make_uchar2",
    "make_uchar3",
    "make_uchar4",
    "make_uint1",
    "make_uint2",
    "make_uint3",
    "make_uint4",
    "make_ulong1",
    "make_ulong2",
    "make_ulong3",
    "make_ulong4",
    "make_ulonglong1",
    "make_ulonglong2",
    "make_ulonglong3",
    "make_ulonglong4",
    "make_ushort1",
    "make_ushort2",
    "make_ushort3",
    "make_ushort4",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "match_all_sync",
    "match_any_sync",
    "nanosleep",
    "none",
    "open_ipc_array",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "popc",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "require_context",
    "select_device",
    "selp",
    "set_memory_manager",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_sync_intrinsic",
    "shfl_up_sync",
    "shfl_xor_sync",
    "short",
    "short1",
    "short2",
    "short3",
    "short4",
    "size_t",
    "ssize_t",
    "stcg",
    "stcs",
    "stream",
    "stwb",
    "stwt",
    "synchronize",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "to_device",
    "tune",
    "typeof",
    "u1",
    "u2",
    "u4",
    "u8",
    "uchar",
    "uchar1",
    "uchar2",
    "uchar3",
    "uchar4",
    "uint",
    "uint1",
    "uint16",
    "uint16x1",
    "uint16x2",
    "uint16x3",
    "uint16x4",
    "uint2",
    "uint3",
    "uint32",
    "uint32x1",
    "uint32x2",
    "uint32x3",
    "uint32x4",
    "uint4",
    "uint64",
    "uint64x1",
    "uint64x2",
    "uint64x3",
    "uint64x4",
    "uint8",
    "uint8x1",
    "uint8x2",
    "uint8x3",
    "uint8x4",
    "uintc",
    "uintp",
    "ulong",
    "ulong1",
    "ulong2",
    "ulong3",
    "ulong4",
    "ulonglong",
    "ulonglong1",
    "ulonglong2",
    "ulonglong3",
    "ulonglong4",
    "ushort",
    "ushort1",
    "ushort2",
    "ushort3",
    "ushort4",
    "vectorize",
    "void",
    "vote_sync_intrinsic",
    "warpsize",
    "wmma",
]
