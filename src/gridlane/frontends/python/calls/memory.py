"""Shared, local and constant arrays; loads and stores with cache hints."""

from __future__ import annotations

from functools import reduce
from math import lcm, prod

import numpy as np

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python import pointer_stubs, stubs
from gridlane.frontends.python.calls.casts import as_type, constant_integer, constant_shape
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.constants import constant_array
from gridlane.frontends.python.constants import constant_shape as shape_values
from gridlane.frontends.python.conversion import integer
from gridlane.frontends.python.layout import memory_type
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Operand,
    Pointer,
    Scalar,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unit import MemoryNeeded
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Value


def _element(t: Translator, dtype: Operand) -> argtypes.ArgType:
    kind = as_type(t, dtype)
    try:
        memory_type(kind)
    except TypeError as error:
        why = f": {error.message}" if isinstance(error, TypingError) else ""
        raise t.fail(TypingError, f"{kind} cannot be the element of an array{why}") from None
    return kind


_LEAST_ALIGNMENT = 8
"""That of a pointer, which numba requires as well."""

MOST_SHARED_ALIGNMENT = 1024
"""Where shared memory begins on NVIDIA GPUs: the driver keeps 1024 bytes in front of it, and places
arrays at no larger multiple, whatever PTX asks for (measured on an H200)."""


def _alignment(t: Translator, alignment: Operand | None) -> int:
    """The alignment in bytes that an array is given; 0 where it is not."""
    if alignment is None or alignment is NONE:
        return 0
    value = constant_integer(t, alignment, "alignment")
    if value < _LEAST_ALIGNMENT or value & (value - 1):
        message = f"a power of two of at least {_LEAST_ALIGNMENT}, the size of a pointer"
        raise t.fail(ConstantError, f"Alignment must be {message}, not {value}")
    return value


def _view(t: Translator, kind: argtypes.ArgType, shape: tuple[int, ...], start: Value) -> ArrayView:
    array = argtypes.ArrayType(kind, len(shape), "C")
    return ArrayView(array, start, shape_values(t, shape))


def _checked_shape(t: Translator, shape: Operand, zero: bool) -> tuple[int, ...]:
    extents = constant_shape(t, shape)
    for extent in extents:
        if extent < 0 or (extent == 0 and not zero):
            raise t.fail(ConstantError, f"the extents of an array are at least 1, not {extent}")
    return extents


@handles(stubs.shared.array)
def _shared_array(
    t: Translator, shape: Operand, dtype: Operand, alignment: Operand | None
) -> Operand:
    """One static array per place in the source and compiled instance of the function; of a shape
    that is known at run time only, a part of the dynamic shared memory."""
    parted = t.unit.options.runtime_shared and t.b.function.is_kernel
    if parted and not _is_constant(shape):
        return _part_of_dynamic(t, shape, _element(t, dtype), _alignment(t, alignment))
    extents, kind = _checked_shape(t, shape, zero=True), _element(t, dtype)
    element, align = memory_type(kind), _alignment(t, alignment)
    if align > MOST_SHARED_ALIGNMENT:
        message = (
            f"Alignment must be at most {MOST_SHARED_ALIGNMENT} for shared memory, not {align}"
        )
        raise t.fail(ConstantError, f"{message}: NVIDIA GPUs align it no further")
    if extents == (0,):
        return _dynamic(t, kind, align)
    if 0 in extents:
        raise t.fail(ConstantError, "shared memory sized at launch has one dimension: shape 0")
    align = max(align, element.align, 16)
    key = (t.b.function.name, t.b.loc, element, prod(extents), align)
    symbol = t.unit.shared.get(key)
    if symbol is None:
        symbol = t.unit.shared[key] = t.unit.add_global(
            "shared", element, prod(extents), Space.SHARED, align, None
        )
    start = t.b.value(memory.GlobalAddress(symbol, pointer(element, Space.SHARED)))
    return _view(t, kind, extents, start)


_RUNTIME_SHAPE = "the kernel makes a shared array whose shape is known when it runs"


def _is_constant(shape: Operand) -> bool:
    items = shape.items if isinstance(shape, TupleOperand) else (shape,)
    integers = [item for item in items if isinstance(item, Scalar) and item.dtype.is_integer]
    return len(integers) < len(items) or all(constant(item.value) is not None for item in integers)


def _dynamic(t: Translator, kind: argtypes.ArgType, align: int) -> ArrayView:
    """The dynamic shared memory behind the arrays that are parts of it; its length in elements is a
    parameter that the device fills."""
    if t.unit.counts_shared and t.shared_used is None:
        raise t.fail(
            UnsupportedError,
            f"{_RUNTIME_SHAPE}, so functions that it calls have no shared memory sized at launch; "
            "pass the array",
        )
    b, element = t.b, memory_type(kind)
    start = b.value(memory.DynamicShared(pointer(element, Space.SHARED), max(align, 16)))
    size = b.div(b.cast(b.value(grid.DynamicSharedSize()), i64), b.const(element.size, i64))
    if t.shared_used is not None:
        used = _first_behind(t, element.size, align)
        start, size = b.offset(start, used), b.sub(size, used)
    return ArrayView(argtypes.ArrayType(kind, 1, "C"), start, (size,))


def _part_of_dynamic(
    t: Translator, shape: Operand, kind: argtypes.ArgType, align: int
) -> ArrayView:
    """The next part of the dynamic shared memory. The thread ends with an error if that is too
    small.

    Raises:
        MemoryNeeded: the kernel does not count the bytes of its arrays yet.
    """
    place = t.b.function.loc
    if t.shared_used is None:
        raise MemoryNeeded(_RUNTIME_SHAPE, t.b.loc, place)
    b, element = t.b, memory_type(kind)
    items = shape.items if isinstance(shape, TupleOperand) else (shape,)
    zero, extents = b.const(0, i64), list[Value]()
    for item in items:
        extent = b.cast(integer(t, item, "an extent").value, i64)
        extents.append(b.binary(arith.Max, extent, zero))
    count = reduce(b.mul, extents)
    first = _first_behind(t, element.size, align)
    end = b.mul(b.add(first, count), b.const(element.size, i64))
    size = b.cast(b.value(grid.DynamicSharedSize()), i64)
    message = "the shared arrays need more dynamic shared memory than the launch gives"
    guard(t, b.lt(size, end), "ValueError", message)
    b.write(t.shared_used, end)  # type: ignore[arg-type]  # a variable, as above
    start = b.value(memory.DynamicShared(pointer(element, Space.SHARED), max(align, 16)))
    array = argtypes.ArrayType(kind, len(extents), "C")
    return ArrayView(array, b.offset(start, first), tuple(extents))


def _first_behind(t: Translator, size: int, align: int) -> Value:
    """The number of the first element of some size behind the parts in use, where one begins that
    is aligned."""
    assert t.shared_used is not None
    b, step = t.b, lcm(size, max(align, 16))
    parts = b.div(b.add(b.read(t.shared_used), b.const(step - 1, i64)), b.const(step, i64))
    return b.mul(parts, b.const(step // size, i64))


@handles(stubs.local.array)
def _local_array(
    t: Translator, shape: Operand, dtype: Operand, alignment: Operand | None
) -> Operand:
    extents, kind = _checked_shape(t, shape, zero=False), _element(t, dtype)
    align = _alignment(t, alignment)
    start = t.b.value(memory.LocalArray(memory_type(kind), prod(extents), align))
    return _view(t, kind, extents, start)


@handles(stubs.const.array_like)
def _array_like(t: Translator, ndarray: Operand) -> Operand:
    """A global array is constant memory already."""
    if isinstance(ndarray, ArrayView) and ndarray.space is Space.CONSTANT:
        return ndarray
    if isinstance(ndarray, Static) and isinstance(ndarray.object, np.ndarray):
        return constant_array(t, ndarray.object)
    raise t.fail(
        ConstantError,
        f"cuda.const.array_like takes a global numpy array, not {ndarray.type_name}",
    )


@handles(pointer_stubs.carray)
def _carray(t: Translator, ptr: Operand, shape: Operand, dtype: Operand | None) -> Operand:
    return _array_at(t, ptr, shape, dtype, "C")


@handles(pointer_stubs.farray)
def _farray(t: Translator, ptr: Operand, shape: Operand, dtype: Operand | None) -> Operand:
    return _array_at(t, ptr, shape, dtype, "F")


def _array_at(
    t: Translator, ptr: Operand, shape: Operand, dtype: Operand | None, layout: str
) -> Operand:
    """An array over memory at an address, whose extents may be known at run time alone."""
    name = "carray" if layout == "C" else "farray"
    if not isinstance(ptr, Pointer):
        raise t.fail(TypingError, f"{name} takes a pointer, not {ptr.type_name}")
    given = None if dtype is None or dtype is NONE else _element(t, dtype)
    kind = ptr.type.element if given is None else given
    if kind is None or (ptr.type.element is not None and kind != ptr.type.element):
        message = f"a {ptr.type} has elements of that type; give dtype={kind} for void* alone"
        raise t.fail(TypingError, f"{name}: {message if kind else 'give the dtype of a void*'}")
    items = shape.items if isinstance(shape, TupleOperand) else (shape,)
    numbers = [integer(t, each, "an extent") for each in items]
    extents = tuple([t.b.cast(each.value, i64) for each in numbers])
    array = argtypes.ArrayType(kind, len(extents), "C" if len(extents) == 1 else layout)
    start = t.b.recast(ptr.pointer, pointer(memory_type(kind), ptr.space))
    return ArrayView(array, start, extents)


def from_buffer(t: Translator, array: Operand) -> Operand:
    """The address of an array's first element: ``ffi.from_buffer`` of cffi."""
    if isinstance(array, ArrayView):
        kind = array.type
        if kind.layout == "C" or (kind.layout == "F" and kind.ndim == 1):
            return Pointer(argtypes.CPointerType(kind.element), array.pointer)
    raise t.fail(
        TypingError, f"from_buffer takes an array of contiguous memory, not {array.type_name}"
    )
