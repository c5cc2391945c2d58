"""Types as the user of numba.cuda writes and sees them: arguments, signatures.

``float32[:, ::1]`` is an ArrayType, ``void(float32[:], int32)`` a Signature. The scalars wrap
core.dtypes, which has the widths; complex numbers exist only here, as pairs of floats.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, SupportsComplex, SupportsFloat, SupportsIndex, cast, overload

import numpy as np

from gridlane.core import dtypes, vector_names
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen

Number = SupportsFloat | SupportsIndex | SupportsComplex
"""The argument from which a type makes a number."""


class ArgType:
    """Base of the user's types: indexing makes an array type, calling a signature or a cast.

    Programs derive types of their own from it (``numba.cuda.types.Type``), which are equal if
    they are of one class and have one ``key``.
    """

    __slots__ = ()
    name: str

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def key(self) -> Any:
        """What sets types of one class apart."""
        return self.name

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self.key == cast("ArgType", other).key

    def __hash__(self) -> int:
        return hash((type(self), self.key))

    def __call__(self, *args: Any) -> Any:
        """The signature of a function with this result, from the types of its arguments."""
        return Signature(self, args)

    @overload
    def __getitem__(self, index: int | tuple[int, ...]) -> NestedArrayType: ...
    @overload
    def __getitem__(self, index: slice | tuple[slice, ...]) -> ArrayType: ...
    def __getitem__(self, index: Any) -> ArrayType | NestedArrayType:
        """``t[:]`` any layout, ``t[::1]`` C, ``t[:, ::1]`` 2-D C, ``t[::1, :]`` 2-D Fortran.

        ``t[16]`` and ``t[2, 3]`` are arrays of fixed shape inside a record.
        """
        items = cast("tuple[Any, ...]", index if isinstance(index, tuple) else (index,))
        if all(isinstance(item, int) and not isinstance(item, bool) for item in items) and items:
            return self._of_shape(items)
        if not all(isinstance(item, slice) for item in items) or not items:
            raise TypeError(f"{self}[...] takes slices such as [:] or [:, ::1], or a fixed shape")
        layout = "A"
        if items[-1].step == 1:
            layout = "C"
        elif items[0].step == 1:
            layout = "F"
        return ArrayType(self, len(items), layout)

    def _of_shape(self, shape: tuple[int, ...]) -> NestedArrayType:
        if isinstance(self, NestedArrayType):
            raise TypeError(f"{self}{list(shape)}: give the array one shape, as in float32[2, 3]")
        if min(shape) < 1:
            raise TypeError(f"{self}{list(shape)}: each extent is 1 or more")
        return NestedArrayType(self, shape)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


@frozen
class ScalarType(ArgType):
    """A number type: ``dtype`` is its scalar type; ``name`` the user's spelling, ``int32``."""

    name: str
    dtype: DType

    @overload  # first, as a kernel's arguments, whose types are unknown, are numbers
    def __call__(self, value: Number, /) -> Any: ...
    @overload
    def __call__(self, *args: ArgType) -> Signature: ...
    def __call__(self, *args: Any) -> Any:
        """A signature when called with types, a numpy scalar of this type with one number."""
        if len(args) == 1 and not isinstance(args[0], ArgType):
            return self.numpy.type(args[0])
        return Signature(self, args)

    @property
    def numpy(self) -> np.dtype:
        """The numpy dtype."""
        return self.dtype.numpy

    @property
    def type(self) -> ScalarType:
        """The numpy class that makes a number, as of a numpy dtype: ``array.dtype.type(0)``."""
        return self

    @property
    def itemsize(self) -> int:
        """Bytes of a number in memory."""
        return self.numpy.itemsize

    @property
    def bitwidth(self) -> int:
        """Bits of the value, by numba's name for it."""
        return self.dtype.bits

    @property
    def signed(self) -> bool:
        """True for signed integers, by numba's name for it."""
        return self.dtype.is_signed


@frozen
class ComplexType(ArgType):
    """A complex number of two floats of type ``part``."""

    name: str
    part: DType

    @overload
    def __call__(self, real: Number, imag: Number = ..., /) -> Any: ...
    @overload
    def __call__(self, *args: ArgType) -> Signature: ...
    def __call__(self, *args: Any) -> Any:
        """A signature when called with types, a numpy scalar of this type with numbers."""
        if args and not isinstance(args[0], ArgType):
            return self.numpy.type(complex(*args))
        return Signature(self, args)

    @property
    def underlying_float(self) -> ScalarType:
        """The type of the real and of the imaginary part, by numba's name for it."""
        return scalar_of(self.part)

    @property
    def numpy(self) -> np.dtype:
        """The numpy dtype.

        Raises:
            TypeError: numpy has none of complex32.
        """
        if self.part is dtypes.f16:
            raise TypeError(f"numpy has no {self.name}: it is a type of kernels")
        return np.dtype(f"c{self.part.size * 2}")

    @property
    def type(self) -> ComplexType:
        """The numpy class that makes a number, as of a numpy dtype: ``array.dtype.type(0)``."""
        return self

    @property
    def itemsize(self) -> int:
        """Bytes of a number in memory."""
        return self.numpy.itemsize


@frozen
class TimeType(ArgType):
    """numpy's datetime64, or its timedelta64 where it ``is_span``: a 64-bit count of ``multiple``
    units; "generic" is no unit, which only NaT and plain counts have.

    >>> TimeType.of(np.dtype("M8[25s]"))
    datetime64[25s]
    """

    unit: str
    multiple: int
    is_span: bool

    @staticmethod
    def of(dtype: np.dtype) -> TimeType:
        """The type of a numpy dtype."""
        unit, multiple = np.datetime_data(dtype)
        return TimeType(unit, multiple, dtype.kind == "m")

    def as_span(self, is_span: bool) -> TimeType:
        """A date's or a span's type of the same unit."""
        return TimeType(self.unit, self.multiple, is_span)

    @property
    def is_generic(self) -> bool:
        """Whether it has no unit."""
        return self.unit == "generic"

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return str(self.numpy)

    @property
    def numpy(self) -> np.dtype:
        """The numpy dtype."""
        kind = "m8" if self.is_span else "M8"
        return np.dtype(kind if self.is_generic else f"{kind}[{self.multiple}{self.unit}]")

    @property
    def itemsize(self) -> int:
        """Bytes of a time in memory."""
        return 8

    def __call__(self, *args: ArgType) -> Signature:
        """A signature."""
        return Signature(self, args)


@frozen
class CharsType(ArgType):
    """numpy's fixed-width string of ``count`` code points, or of bytes where it ``is_bytes``; NULs
    follow a shorter text, and end it.

    >>> CharsType.of(np.dtype("U12")), CharsType.of(np.dtype("S5"))
    ([unichr x 12], [char x 5])
    """

    count: int
    is_bytes: bool

    @staticmethod
    def of(dtype: np.dtype) -> CharsType:
        """The type of a numpy dtype.

        Raises:
            TypeError: it has no characters, or the other byte order.
        """
        if not dtype.itemsize:
            raise TypeError(f"kernels cannot hold elements of numpy dtype {dtype}, of width 0")
        if not dtype.isnative:
            raise TypeError(
                f"kernels cannot hold elements of numpy dtype {dtype}, whose bytes are swapped; "
                f"pass array.astype({dtype.newbyteorder('=').str!r})"
            )
        unit = np.dtype(f"{dtype.kind}1").itemsize
        return CharsType(dtype.itemsize // unit, dtype.kind == "S")

    @property
    def unit(self) -> DType:
        """The type of a code point or a byte."""
        return dtypes.u8 if self.is_bytes else dtypes.u32

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return f"[{'char' if self.is_bytes else 'unichr'} x {self.count}]"

    @property
    def numpy(self) -> np.dtype:
        """The numpy dtype."""
        return np.dtype(f"{'S' if self.is_bytes else 'U'}{self.count}")

    @property
    def itemsize(self) -> int:
        """Bytes of a string in memory."""
        return self.unit.size * self.count

    def __call__(self, *args: ArgType) -> Signature:
        """A signature."""
        return Signature(self, args)


@frozen
class RecordType(ArgType):
    """A numpy record: field name, type and byte offset of each, and the size. ``label`` names the
    class that it is of, and sets it apart from others with the same fields; ``number`` is the
    class's own."""

    fields: tuple[tuple[str, ArgType, int], ...]
    size: int
    numpy: np.dtype
    label: str = ""
    number: int = 0

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        if self.label:
            return self.label
        return "Record(" + ", ".join(f"{n}[type={t};offset={o}]" for n, t, o in self.fields) + ")"

    def place_of(self, name: str) -> int | None:
        """Which field has a name or, in numpy, that title; None if none has."""
        for number, (field, _, _) in enumerate(self.fields):
            if field == name:
                return number
        described = cast("Mapping[str, tuple[Any, ...]]", self.numpy.fields or {})
        for number, (field, _, _) in enumerate(self.fields):
            if described.get(field, ())[2:] == (name,):
                return number
        return None


@frozen
class NestedArrayType(ArgType):
    """A fixed-shape array inside a record."""

    element: ArgType
    shape: tuple[int, ...]

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return f"nestedarray({self.element}, {self.shape})"


@frozen
class VectorType(ArgType):
    """A short vector, ``float32x4``: 1 to 4 numbers of one type in one value.

    Called with numbers on the host it makes a numpy record, which a kernel takes as a vector.
    ``numpy.zeros(n, float32x4)`` is an array of vectors. In a kernel one that ``cuda.vector.load``
    reads may have more components, in ``extents`` of several axes.
    """

    element: ScalarType
    count: int
    extents: tuple[int, ...] = ()

    @overload
    def __call__(self, *args: Number) -> Any: ...
    @overload
    def __call__(self, *args: ArgType) -> Signature: ...
    def __call__(self, *args: Any) -> Any:
        """A signature when called with types, a numpy record when called with its components."""
        if args and not any(isinstance(item, ArgType) for item in args):
            if len(args) != self.count:
                raise TypeError(f"{self}() takes {self.count} components, not {len(args)}")
            return np.array([args], self.numpy)[0]
        return Signature(self, args)

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return f"{self.element}x{'x'.join(map(str, self.extents or (self.count,)))}"

    @property
    def fields(self) -> str:
        """The names of the components, a letter each."""
        return "xyzw"[: self.count]

    @property
    def numpy(self) -> np.dtype:
        """The numpy dtype: a field for each component. The first one has the vector's name as its
        title, by which arrays of vectors differ from arrays of records, in files and views too."""
        titles: list[str | None] = [self.name, *[None] * (self.count - 1)]
        formats = [self.element.numpy] * self.count
        parts = {"names": list(self.fields), "formats": formats, "titles": titles, "aligned": True}
        return np.dtype(cast("Any", parts))

    @property
    def dtype(self) -> np.dtype:
        """The numpy dtype, under the name that numpy looks up."""
        return self.numpy

    @property
    def itemsize(self) -> int:
        """Bytes of a vector in memory."""
        return self.element.itemsize * self.count

    @property
    def alignment(self) -> int:
        """CUDA's alignment in bytes: the vector's size, 16 at the most; three components have that
        of one."""
        return self.element.itemsize if self.count == 3 else min(16, self.itemsize)

    @property
    def aliases(self) -> tuple[str, ...]:
        """CUDA's names of the type."""
        return tuple([each for each, name in vector_names.ALIASES.items() if name == self.name])


@frozen
class ArrayType(ArgType):
    """An n-d array. ``layout``: "C" or "F" contiguous, or "A" any strides."""

    element: ArgType
    ndim: int
    layout: str
    readonly: bool = False

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        plain = f"array({self.element}, {self.ndim}d, {self.layout})"
        return f"readonly {plain}" if self.readonly else plain

    @property
    def dtype(self) -> ArgType:
        """The element type, by numba's name for it."""
        return self.element


@frozen
class TupleType(ArgType):
    """A tuple of types; ``fields`` names them for a namedtuple, whose class is ``cls``."""

    items: tuple[ArgType, ...]
    fields: tuple[str, ...] = ()
    cls: type | None = None

    def __iter__(self) -> Iterator[ArgType]:
        return iter(self.items)

    @property
    def types(self) -> tuple[ArgType, ...]:
        """The types of the items, by numba's name for it."""
        return self.items

    @property
    def count(self) -> int:
        """The number of items, by numba's name for it."""
        return len(self.items)

    @property
    def dtype(self) -> ArgType:
        """The type of every item of a tuple whose items have one type, by numba's name for it."""
        if len(set(self.items)) != 1:
            raise AttributeError(f"the items of {self} do not have one type")
        return self.items[0]

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return True  # of the empty tuple too

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return "Tuple(" + ", ".join(map(str, self.items)) + ")"


@frozen
class EnumType(ArgType):
    """A member of an Enum; ``members`` has the name and value of each, on which code depends."""

    cls: type[enum.Enum]
    members: tuple[tuple[str, Any], ...]

    @staticmethod
    def of(members: type[enum.Enum]) -> EnumType:
        """The type of the members of a class."""
        return EnumType(members, tuple((each.name, each.value) for each in members))

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return f"{'Enum' if self.number is None else 'IntEnum'}({self.cls.__name__})"

    @property
    def number(self) -> ScalarType | None:
        """The type of an IntEnum's members as numbers; None for other classes."""
        if not issubclass(self.cls, int):
            return None
        return int64 if all(int(member) < 2**63 for member in self.cls) else uint64


@frozen
class OptionalType(ArgType):
    """A value that may be None. Functions take and return it, not kernels."""

    type: ArgType

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return f"OptionalType({self.type})"


@frozen
class CPointerType(ArgType):
    """The address of a first element in memory; ``element`` is None for ``void*``."""

    element: ArgType | None

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        return f"{self.element or 'void'}*"

    @property
    def dtype(self) -> ArgType | None:
        """The element type, by numba's name for it."""
        return self.element

    def __call__(self, *args: ArgType) -> Signature:
        return Signature(self, args)


@frozen
class NoneType(ArgType):
    """The type of None, and of a function without a result."""

    name: str = "none"


@frozen
class Signature:
    """``return_type(*args)``; without a type where the function decides."""

    return_type: ArgType | None
    args: tuple[ArgType, ...]

    def __str__(self) -> str:
        return f"{self.return_type}({', '.join(map(str, self.args))})"


boolean = ScalarType("bool", dtypes.b1)
int8 = ScalarType("int8", dtypes.i8)
int16 = ScalarType("int16", dtypes.i16)
int32 = ScalarType("int32", dtypes.i32)
int64 = ScalarType("int64", dtypes.i64)
uint8 = ScalarType("uint8", dtypes.u8)
uint16 = ScalarType("uint16", dtypes.u16)
uint32 = ScalarType("uint32", dtypes.u32)
uint64 = ScalarType("uint64", dtypes.u64)
float16 = ScalarType("float16", dtypes.f16)
bfloat16 = ScalarType("bfloat16", dtypes.bf16)
float32 = ScalarType("float32", dtypes.f32)
float64 = ScalarType("float64", dtypes.f64)
complex32 = ComplexType("complex32", dtypes.f16)
complex64 = ComplexType("complex64", dtypes.f32)
complex128 = ComplexType("complex128", dtypes.f64)
none = NoneType()

SCALARS = (
    boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
    float64,
)  # fmt: skip
_SCALAR_OF = {scalar.dtype: scalar for scalar in SCALARS}
VECTORS: dict[str, VectorType] = {
    str(kind): kind
    for element in SCALARS
    if element.name in vector_names.ELEMENTS
    for kind in [VectorType(element, count) for count in vector_names.LENGTHS]
}
"""The types of vectors by their names."""


def complex_of(part: DType) -> ComplexType:
    """The complex type whose parts are floats of a type."""
    return next(kind for kind in (complex32, complex64, complex128) if kind.part is part)


def scalar_of(dtype: DType) -> ScalarType:
    """The user's type of a scalar type."""
    return _SCALAR_OF[dtype]
