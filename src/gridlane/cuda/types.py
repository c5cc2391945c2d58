"""Types in the notation of signatures: ``float32[:, ::1]``, ``void(int32, f4[:])``."""

from __future__ import annotations

from typing import Any

from gridlane.core.argtypes import (
    VECTORS,
    ArgType,
    ArrayType,
    ComplexType,
    NestedArrayType,
    NoneType,
    RecordType,
    ScalarType,
    Signature,
    TupleType,
    boolean,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    none,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gridlane.core.argtypes import bfloat16 as bfloat16
from gridlane.core.errors import MissingError, UnsupportedError
from gridlane.core.vector_names import NAMES

void = none
bool_ = b1 = boolean
i1, i2, i4, i8 = int8, int16, int32, int64
u1, u2, u4, u8 = uint8, uint16, uint32, uint64
f2, f4, f8 = float16, float32, float64
c8, c16 = complex64, complex128
float_, double = float32, float64
intp, uintp, size_t, ssize_t = int64, uint64, uint64, int64
intc, uintc, byte, char, uchar = int32, uint32, uint8, int8, uint8
short, ushort, int_, uint = int16, uint16, int64, uint64
long_, ulong, longlong, ulonglong = int64, uint64, int64, uint64

Type = ArgType
Array = ArrayType
Record = RecordType
NestedArray = NestedArrayType
BaseTuple = TupleType
Complex = ComplexType
Number = ScalarType
NoneType = NoneType

integer_domain = frozenset((int8, int16, int32, int64, uint8, uint16, uint32, uint64))
signed_domain = frozenset((int8, int16, int32, int64))
unsigned_domain = frozenset((uint8, uint16, uint32, uint64))
real_domain = frozenset((float32, float64))
complex_domain = frozenset((complex64, complex128))
number_domain = integer_domain | real_domain | complex_domain


class _OfTuples(type):
    """The type of numba's classes of tuple types, which are one class here."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TupleType)


class Tuple(metaclass=_OfTuples):
    """A tuple of types."""

    def __new__(cls, items: Any) -> Any:
        return TupleType(tuple(items))


class UniTuple(metaclass=_OfTuples):
    """A tuple of ``count`` times one type."""

    def __new__(cls, dtype: ArgType, count: int) -> Any:
        return TupleType((dtype,) * count)


def NamedTuple(items: Any, cls: Any) -> TupleType:
    """The type of a namedtuple's instances."""
    return TupleType(tuple(items), cls._fields, cls)


def CPointer(dtype: ArgType) -> ArgType:
    """Refuse plain pointers, which are no arguments here."""
    raise UnsupportedError(
        f"CPointer({dtype}): kernels take arrays, not addresses; cuda.as_cuda_array makes an array "
        "of device memory"
    )


# The scalars' names and types: the names that ``from numba import *`` imports.
SCALAR_NAMES: dict[str, ArgType] = {
    name: value
    for name, value in list(globals().items())
    if isinstance(value, (ScalarType, ComplexType))
}
SIGNATURE_NAMES: dict[str, Any] = {
    **SCALAR_NAMES,
    **{name: VECTORS[vector] for name, vector in NAMES.items()},
    "void": void,
    "none": none,
    "bool": boolean,
    "int": int64,
    "float": float64,
    "complex": complex128,
    "Tuple": Tuple,
    "UniTuple": UniTuple,
    "Array": ArrayType,
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise MissingError(
        f"gridlane has no type {name!r}; it has scalars ({', '.join(SCALAR_NAMES)}), arrays of "
        "these as in float32[:, ::1], Tuple, UniTuple, NamedTuple, Record and void"
    )


__all__ = [
    *SCALAR_NAMES,
    "Array",
    "Record",
    "Signature",
    "Tuple",
    "UniTuple",
    "none",
    "void",
]
