"""Types in the notation of signatures: ``float32[:, ::1]``, ``void(int32, f4[:])``."""

from __future__ import annotations

import typing

from gridlane.core.argtypes import (
    VECTORS,
    ArgType,
    ArrayType,
    ComplexType,
    CPointerType,
    NestedArrayType,
    NoneType,
    OptionalType,
    RecordType,
    ScalarType,
    Signature,
    boolean,
    complex32,
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
from gridlane.core.errors import MissingError
from gridlane.core.type_kinds import (
    AnyKind,
    BaseTuple,
    Boolean,
    BooleanLiteral,
    CharSeq,
    Complex,
    Dispatcher,
    DType,
    Dummy,
    EnumMember,
    Float,
    Function,
    Integer,
    IntegerLiteral,
    Literal,
    NamedTuple,
    NPDatetime,
    NPTimedelta,
    Number,
    NumberClass,
    Object,
    Opaque,
    SliceType,
    StringLiteral,
    Tuple,
    TypeRef,
    UnicodeCharSeq,
    UnicodeType,
    UniTuple,
    literal,
    unicode_type,
    unliteral,
)
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
Any = AnyKind
Callable = Function

integer_domain = frozenset((int8, int16, int32, int64, uint8, uint16, uint32, uint64))
signed_domain = frozenset((int8, int16, int32, int64))
unsigned_domain = frozenset((uint8, uint16, uint32, uint64))
real_domain = frozenset((float32, float64))
complex_domain = frozenset((complex64, complex128))
number_domain = integer_domain | real_domain | complex_domain


def CPointer(dtype: ArgType) -> ArgType:
    """The address of numbers in memory, which an integer is at a launch.

    >>> CPointer(float32), void(CPointer(int32), int32)
    (float32*, Signature(return_type=none, args=(int32*, int32)))
    """
    return CPointerType(dtype)


voidptr = CPointerType(None)
Optional = optional = OptionalType


# The scalars' names and types: the names that ``from numba import *`` imports.
SCALAR_NAMES: dict[str, ArgType] = {
    name: value
    for name, value in list(globals().items())
    if isinstance(value, (ScalarType, ComplexType))
}
SIGNATURE_NAMES: dict[str, typing.Any] = {
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
    "CPointer": CPointer,
    "voidptr": voidptr,
    "Optional": OptionalType,
    "optional": OptionalType,
}


def __getattr__(name: str) -> typing.Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise MissingError(
        f"gridlane has no type {name!r}; it has scalars ({', '.join(SCALAR_NAMES)}), arrays of "
        "these as in float32[:, ::1], Tuple, UniTuple, NamedTuple, Record and void"
    )


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *SCALAR_NAMES,
    "Array",
    "BaseTuple",
    "Boolean",
    "BooleanLiteral",
    "CharSeq",
    "Complex",
    "DType",
    "Dispatcher",
    "Dummy",
    "EnumMember",
    "NPDatetime",
    "NPTimedelta",
    "Float",
    "Function",
    "Integer",
    "IntegerLiteral",
    "Literal",
    "NamedTuple",
    "NoneType",
    "Number",
    "NumberClass",
    "Object",
    "Opaque",
    "Optional",
    "Record",
    "Signature",
    "SliceType",
    "StringLiteral",
    "Tuple",
    "TypeRef",
    "UniTuple",
    "UnicodeCharSeq",
    "UnicodeType",
    "literal",
    "none",
    "unicode_type",
    "unliteral",
    "void",
    "complex32",
]
