"""The types of a tile program: scalars, pointers, blocks, by Triton's names."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import prod
from typing import Any, Self, cast

from gridlane.core import dtypes
from gridlane.core.dtypes import DType
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.narrow import FORMATS
from gridlane.ir.types import PointerType, TileType, Type, pointer, tile

MOST_ELEMENTS = 1048576
"""The most elements of a block."""


class Kind(Enum):
    """Kinds of scalars, in the order of promotion."""

    BOOLEAN = 0
    INTEGRAL = 1
    FLOATING = 2


class Signedness(Enum):
    """Whether an integer has a sign."""

    SIGNED = 0
    UNSIGNED = 1


_MANTISSAS = {"fp8e5": 2, "fp8e5b16": 2, "fp16": 10, "bf16": 7, "fp32": 23, "fp64": 52}
_BIASES = {
    "fp8e4b15": 15, "fp8e4nv": 7, "fp8e4b8": 8, "fp8e5": 15, "fp8e5b16": 16, "fp16": 15,
    "bf16": 127, "fp32": 127, "fp64": 1023,
}  # fmt: skip
_IR: dict[str, DType] = {
    "int1": dtypes.b1,
    "fp16": dtypes.f16,
    "bf16": dtypes.bf16,
    "fp32": dtypes.f32,
    "fp64": dtypes.f64,
    **{f"int{bits}": dtypes.by_name(f"i{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": dtypes.by_name(f"u{bits}") for bits in (8, 16, 32, 64)},
}
_FP8 = ("fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16")


def _bits(name: str) -> int:
    if name in _FP8:
        return 8
    return 0 if name == "void" else _IR[name].bits


_KNOWN: dict[str, dtype] = {}
"""The scalar types by their names."""


class dtype:
    """A scalar type, by Triton's name for it: ``fp32`` is ``float32``."""

    SIGNEDNESS = Signedness
    KIND = Kind
    SINT_TYPES = [f"int{bits}" for bits in (8, 16, 32, 64)]
    UINT_TYPES = ["int1", *[f"uint{bits}" for bits in (8, 16, 32, 64)]]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    FP_TYPES = [*_FP8, *STANDARD_FP_TYPES]

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        """A type of its name there is once, as programs compare types by ``is``."""
        known = _KNOWN.get(unwrapped(args[0])) if cls is dtype and args else None
        return cast(Self, known) if known is not None else super().__new__(cls)

    def __reduce_ex__(self, protocol: Any) -> Any:
        own = type(self) is dtype
        return (dtype, (self.name,)) if own else super().__reduce_ex__(protocol)

    def __init__(self, name: str) -> None:
        self.name: str = unwrapped(name)
        if self.name not in (*_IR, *_FP8, "void"):
            raise ValueError(f"{name} is no type")
        self.primitive_bitwidth = _bits(self.name)
        self.itemsize = max(1, self.primitive_bitwidth // 8)
        if self.is_int():
            self.int_bitwidth = self.primitive_bitwidth
            self.int_signedness = (
                Signedness.UNSIGNED if self.is_int_unsigned() else Signedness.SIGNED
            )
        if self.is_floating():
            self.fp_mantissa_width = _MANTISSAS.get(self.name, 3)
            self.exponent_bias = _BIASES[self.name]

        if type(self) is dtype:
            _KNOWN.setdefault(self.name, self)

    @property
    def scalar(self) -> dtype:
        """The type of the elements."""
        return self

    def is_fp8(self) -> bool:
        """Whether it is one of the floats of 8 bits."""
        return self.name in _FP8

    def is_floating(self) -> bool:
        """Whether it is a float."""
        return self.name.startswith(("fp", "bf"))

    def is_standard_floating(self) -> bool:
        """Whether it is a float of 16 bits or more."""
        return self.is_floating() and not self.is_fp8()

    def is_int_signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.name.startswith("int") and self.name != "int1"

    def is_int_unsigned(self) -> bool:
        """Whether it is an unsigned integer; ``int1`` is one."""
        return self.name.startswith("uint") or self.name == "int1"

    def is_int(self) -> bool:
        """Whether it is an integer."""
        return self.is_int_signed() or self.is_int_unsigned()

    def is_bool(self) -> bool:
        """Whether it is ``int1``."""
        return self.name == "int1"

    def is_block(self) -> bool:
        """Whether it is the type of a tile."""
        return False

    def is_ptr(self) -> bool:
        """Whether it is a pointer."""
        return False

    def is_const(self) -> bool:
        """Whether it is a pointer to constant memory."""
        return False

    def kind(self) -> Kind:
        """Its place among the kinds."""
        if self.is_bool():
            return Kind.BOOLEAN
        return Kind.INTEGRAL if self.is_int() else Kind.FLOATING

    def get_int_max_value(self) -> int:
        """The largest value of an integer."""
        return 1 if self.is_bool() else _IR[self.name].max

    def get_int_min_value(self) -> int:
        """The smallest value of an integer."""
        return 0 if self.is_bool() else _IR[self.name].min

    def with_element_ty(self, element: dtype) -> dtype:
        """The type of the same shape with other elements."""
        return element

    def codegen_name(self) -> str:
        """The name in ``triton.language``."""
        if self.name.startswith("fp"):
            return "float" + self.name[2:]
        return "bfloat16" if self.name == "bf16" else self.name

    def __eq__(self, other: object) -> bool:
        other = unwrapped(other)
        return isinstance(other, dtype) and type(other) is type(self) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"triton.language.{self.codegen_name()}"


def _add_tests() -> None:
    for name in (*_IR, *_FP8):
        setattr(dtype, f"is_{name}", lambda self, name=name: self.name == name)  # type: ignore[misc]


_add_tests()


class pointer_type(dtype):
    """The address of an element, or of a block (``make_block_ptr``)."""

    def __init__(self, element_ty: dtype, address_space: int = 1, const: bool = False) -> None:
        element = unwrapped(element_ty)
        if not isinstance(element, dtype):
            kind = type(element).__name__
            raise TypeError(f"element_ty has type `{kind}`; expected `dtype`.")
        self.element_ty = element
        self.address_space = address_space
        self.const = const
        self.name = f"{'const_' if const else ''}pointer<{element}>"
        self.primitive_bitwidth = 64
        self.itemsize = 8

    def is_floating(self) -> bool:
        return False

    def is_int_signed(self) -> bool:
        return False

    def is_int_unsigned(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def __repr__(self) -> str:
        return self.name


class block_type(dtype):
    """A tile of elements."""

    def __init__(self, element_ty: dtype, shape: Sequence[int]) -> None:
        self.element_ty = element_ty
        self.shape = checked_shape(shape)
        if not self.shape:
            raise TypeError("0d block_type is forbidden")
        self.numel = prod(self.shape)
        self.name = f"<{list(self.shape)}, {element_ty}>"
        self.primitive_bitwidth = element_ty.primitive_bitwidth
        self.itemsize = element_ty.itemsize

    @property
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel * self.element_ty.itemsize

    def is_block(self) -> bool:
        return True

    def is_floating(self) -> bool:
        return False

    def is_int_signed(self) -> bool:
        return False

    def is_int_unsigned(self) -> bool:
        return False

    def get_block_shapes(self) -> tuple[int, ...]:
        """The shape."""
        return self.shape

    def with_element_ty(self, element: dtype) -> dtype:
        return block_type(element, self.shape)

    def __repr__(self) -> str:
        return self.name


def checked_shape(shape: Any) -> tuple[int, ...]:
    """A shape of constants, each a power of two.

    Raises:
        TypeError: an extent is known at run time only.
        ValueError: an extent is no power of two, or the block is too large.
    """
    plain = unwrapped(shape)
    items = cast("tuple[Any, ...]", tuple(plain) if isinstance(plain, (tuple, list)) else (plain,))
    for number, extent in enumerate(items):
        extent = unwrapped(extent)
        if type(extent) is not int:
            kind = type(extent).__name__
            raise TypeError(
                f"Shape element {number} must have type `constexpr[int]`, got `{kind}`; a shape is "
                "known at compile time: annotate the parameter with tl.constexpr"
            )
        if extent < 1 or extent & (extent - 1):
            raise ValueError(f"Shape element {number} must be a power of 2")
    result = tuple([unwrapped(extent) for extent in items])
    if prod(result) > MOST_ELEMENTS:
        raise ValueError(
            f"numel ({prod(result)}) exceeds triton maximum tensor numel ({MOST_ELEMENTS})"
        )
    return result


void = dtype("void")
int1, int8, int16, int32, int64 = map(dtype, ("int1", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(dtype, ("uint8", "uint16", "uint32", "uint64"))
float8e5, float8e5b16, float8e4nv = map(dtype, ("fp8e5", "fp8e5b16", "fp8e4nv"))
float8e4b8, float8e4b15 = map(dtype, ("fp8e4b8", "fp8e4b15"))
float16, bfloat16, float32, float64 = map(dtype, ("fp16", "bf16", "fp32", "fp64"))
pi32_t = pointer_type(int32)

_OF_IR = {value: dtype(name) for name, value in _IR.items()}


def of_ir(type_: Type) -> dtype:
    """The language's type of a scalar or pointer of the IR."""
    if isinstance(type_, PointerType):
        return pointer_type(of_ir(type_.element))
    assert isinstance(type_, DType)
    return _OF_IR[type_]


def to_ir(kind: dtype) -> DType | PointerType | TileType:
    """The IR's type of one of the language.

    Raises:
        TypeError: the IR has none.
    """
    if isinstance(kind, block_type):
        return tile(kind.shape, scalar_ir(kind.element_ty))
    return scalar_ir(kind)


def scalar_ir(kind: dtype) -> DType | PointerType:
    """The IR's type of a scalar or pointer."""
    if isinstance(kind, pointer_type):
        return pointer(scalar_ir(kind.element_ty))
    if kind.name in FORMATS:
        return dtypes.u8
    known = _IR.get(kind.name)
    if known is None:
        raise TypeError(
            f"type {kind} not supported. Pass the bits as uint8 and convert them, or use another "
            "float"
        )
    return known


def require_arithmetic(kind: dtype, what: str) -> None:
    """Refuse floats of 8 bits where they would be computed with.

    Raises:
        TypeError: it is one.
    """
    if kind.is_fp8():
        raise TypeError(
            f"{what} of {kind} is not supported: convert it first, as in x.to(tl.float16)"
        )


def dtype_of(value: Any) -> dtype:
    """A constant that is a type.

    Raises:
        TypeError: it is none.
    """
    plain = unwrapped(value)
    if not isinstance(plain, dtype):
        raise TypeError(f"a type such as tl.float32 is required here, not {plain!r}")
    return plain


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer of a width."""
    if bitwidth == 1:
        return int1
    return dtype(f"{'' if signed else 'u'}int{bitwidth}")


def str_to_ty(name: str, c: Any = None) -> dtype:
    """The type that a text names, as signatures have them: ``fp32``, ``*i8``, ``*kbf16``.

    >>> str_to_ty("*fp16")
    pointer<fp16>
    """
    if name.startswith("*"):
        is_const = name.startswith("*k")
        return pointer_type(str_to_ty(name[1 + is_const :]), const=is_const)
    if name[0] in "iu" and name[1:].isdigit():
        return dtype(f"{'u' if name[0] == 'u' and name != 'u1' else ''}int{name[1:]}")
    return dtype(name)
