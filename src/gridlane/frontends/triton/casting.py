"""Conversions between types."""

from __future__ import annotations

from typing import Any

from gridlane.core.dtypes import DType, b1, u64
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builtin
from gridlane.frontends.triton.elementwise import apply
from gridlane.frontends.triton.narrow import FORMATS, decoded, encoded
from gridlane.frontends.triton.numbers import constant, to_tensor
from gridlane.frontends.triton.types import (
    dtype,
    dtype_of,
    float32,
    float64,
    pointer_type,
    scalar_ir,
)
from gridlane.frontends.triton.values import define, member, tensor
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

ROUNDINGS = ("rtne", "rtz")


def converted(value: tensor, kind: dtype, rounding: str | None = None) -> tensor:
    """The elements converted to another type: integers wrap, floats round to nearest even or by
    ``rounding``, floats become integers towards zero."""
    target = kind.scalar
    source = value.dtype
    if rounding is not None and rounding not in ROUNDINGS:
        raise ValueError(
            f"Invalid rounding mode: {rounding}. Supported rounding modes are 'rtne' and 'rtz'."
        )
    if source == target:
        return value
    narrows = (
        source.is_floating()
        and target.is_floating()
        and target.primitive_bitwidth < source.primitive_bitwidth
    )
    if rounding is not None and not narrows:
        raise ValueError(
            "fp_downcast_rounding should be set only for truncating fp conversions. "
            f"Source scalar type is {source} and destination type is {target}"
        )
    type_ = scalar_ir(target)
    scalar_ir(source)
    if source.is_ptr() or target.is_ptr():
        return _pointer(value, target, type_)
    if source.is_fp8() or target.is_fp8():
        return _narrow(value, target, rounding)
    assert isinstance(type_, DType)
    if rounding == "rtz":
        return apply(f"cast_rtz.{type_}", lambda b, x: _towards_zero(b, x, type_), [value], target)
    return apply(f"cast.{type_}", lambda b, x: b.cast(x, type_), [value], target)


def _narrow(value: tensor, target: dtype, rounding: str | None) -> tensor:
    """Casts from and to floats of 8 bits: of float64 as it is, of others by float32."""
    source = FORMATS.get(value.dtype.name)
    if source is not None:
        wide = apply(f"decode.{value.dtype}", lambda b, x: decoded(b, x, source), [value], float32)
        return converted(wide, target)
    form, cuts = FORMATS[target.name], rounding == "rtz"
    name = f"encode{'_rtz' if cuts else ''}.{target}"
    wide = value if value.dtype == float64 else converted(value, float32)
    return apply(name, lambda b, x: encoded(b, x, form, cuts), [wide], target)


def _towards_zero(b: Builder, x: Value, type_: DType) -> Value:
    """A float narrowed towards zero: the nearest one, or the one below where that is larger."""
    near = b.cast(x, type_)
    assert isinstance(x.type, DType)
    back = b.unary(arith.Abs, b.cast(near, x.type))
    bits = b.bitcast(near, type_.unsigned)
    size = bits.type
    below = b.bitcast(b.sub(bits, b.const(1, size)), type_)
    return b.select(b.binary(arith.Gt, back, b.unary(arith.Abs, x)), below, near)


def _pointer(value: tensor, target: dtype, type_: DType | PointerType) -> tensor:
    """Casts from and to pointers."""
    source = value.dtype
    if source.is_ptr() and isinstance(type_, PointerType):
        return apply("recast", lambda b, x: b.recast(x, type_), [value], target, type_)
    if isinstance(type_, PointerType):
        if not source.is_int():
            raise TypeError(f"cannot cast {source} to {target}")

        def to_pointer(b: Builder, x: Value) -> Value:
            return b.value(memory.FromAddress(b.cast(x, u64), type_))

        return apply("to_pointer", to_pointer, [value], target, type_)
    if not target.is_int() or target.int_bitwidth not in (1, 64):
        raise TypeError(f"cannot cast {source} to {target}")
    number: DType = type_

    def to_number(b: Builder, x: Value) -> Value:
        return b.cast(b.value(memory.Address(x)), number)

    return apply(f"address.{type_}", to_number, [value], target)


def reinterpreted(value: tensor, kind: dtype) -> tensor:
    """The bits of the elements as another type of the same width."""
    source, target = value.dtype, kind.scalar
    if source == target:
        return value
    if source.is_ptr() or target.is_ptr():
        return converted(value, target)
    if source.primitive_bitwidth != target.primitive_bitwidth:
        raise ValueError(
            f"Cannot bitcast data-type of size {source.primitive_bitwidth} to "
            f"data-type of size {target.primitive_bitwidth}"
        )
    type_ = scalar_ir(target)
    if scalar_ir(source) == type_:
        return tensor(value.handle, value.type.with_element_ty(target))
    return apply(f"bitcast.{type_}", lambda b, x: b.bitcast(x, type_), [value], target)


def to_bool(value: tensor) -> tensor:
    """Whether the elements are not 0."""
    return converted(value, dtype("int1"))


def is_true(value: tensor) -> Value:
    """A scalar of a program as a condition."""
    handle = to_bool(value).handle
    assert handle.type is b1
    return handle


@member
@builtin
def cast(
    input: Any, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """The elements converted to another type; with ``bitcast`` their bits."""
    kind, plain = dtype_of(dtype), unwrapped(input)
    if unwrapped(bitcast):
        return reinterpreted(to_tensor(plain), kind)
    if isinstance(plain, (bool, int, float)) and not isinstance(kind, pointer_type):
        plain = constant(plain, kind) if type(plain) is int and kind.is_int() else plain
    return converted(to_tensor(plain), kind, unwrapped(fp_downcast_rounding))


def _to(
    self: tensor, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """The elements converted to another type."""
    return cast(self, dtype, fp_downcast_rounding, bitcast)


define("to", _to)
