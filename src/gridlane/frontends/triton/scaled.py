"""Products of matrices of 4 and 8 bits with scales for blocks of their lines.

Formats: OCP Microscaling Formats (MX) Specification 1.0. A scale is a power of two, e8m0, for 32
elements along the inner axis, or a float of 8 bits for 16. Factors are scaled in float32, which
holds them exactly, and multiplied in it.
"""

from __future__ import annotations

from typing import Any

from gridlane.core.dtypes import f32, u8, u32
from gridlane.frontends.triton.arithmetic import mul
from gridlane.frontends.triton.casting import converted, reinterpreted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builtin
from gridlane.frontends.triton.elementwise import apply
from gridlane.frontends.triton.narrow import E2M1, decoded
from gridlane.frontends.triton.products import dot
from gridlane.frontends.triton.shapes import broadcast_shape, expanded, join, permute, reshaped
from gridlane.frontends.triton.types import (
    bfloat16,
    dtype,
    float8e4nv,
    float8e5,
    float16,
    float32,
    uint8,
    uint16,
)
from gridlane.frontends.triton.values import tensor
from gridlane.ir.builder import Builder
from gridlane.ir.ops.arith import Shl, Shr
from gridlane.ir.values import Value

_FORMATS: dict[str, tuple[dtype, dtype]] = {
    "e4m3": (float8e4nv, uint8),
    "e5m2": (float8e5, uint8),
    "bf16": (bfloat16, uint16),
    "fp16": (float16, uint16),
}
"""The type of a format, and that of its bits."""


def _swapped(value: tensor) -> tensor:
    """The last two axes exchanged."""
    rank = len(value.shape)
    return permute(value, *range(rank - 2), rank - 1, rank - 2)


def _half_byte(value: tensor, shift: int) -> tensor:
    def build(b: Builder, x: Value) -> Value:
        code = b.value(Shr(x, b.const(shift, u8))) if shift else x
        return decoded(b, b.and_(code, b.const(0xF, u8)), E2M1)

    return apply(f"e2m1.{shift}", build, [value], float32)


def _unpacked(value: tensor) -> tensor:
    """Two elements of each byte, side by side along the last axis: the low bits first."""
    pair = join(_half_byte(value, 0), _half_byte(value, 4))
    return reshaped(pair, (*value.shape[:-1], 2 * value.shape[-1]))


def _numbers(value: tensor, form: str, packs_last: bool) -> tensor:
    """The elements as float32, without scales."""
    if form == "e2m1":
        if value.dtype != uint8:
            raise TypeError(f"e2m1 format must be packed as uint8. Got {value.dtype}")
        return _unpacked(value) if packs_last else _swapped(_unpacked(_swapped(value)))
    if form not in _FORMATS:
        raise ValueError(f"Invalid float format: {form}.")
    kind, bits = _FORMATS[form]
    if value.dtype not in (kind, bits):
        raise TypeError(f"Unexpected dtype for {form}. Got {value.dtype}")
    return converted(reinterpreted(value, kind), float32)


def _power(b: Builder, code: Value) -> Value:
    """The power of two that an e8m0 stands for: 2 to the code less 127, NaN for 255."""
    bits = b.cast(code, u32)
    power = b.bitcast(b.value(Shl(bits, b.const(23, u32))), f32)
    least = b.bitcast(b.const(1 << 22, u32), f32)
    power = b.select(b.eq(bits, b.const(0, u32)), least, power)
    return b.select(b.eq(bits, b.const(255, u32)), b.const(float("nan"), f32), power)


def _scaled(value: tensor, scale: tensor, factor: int) -> tensor:
    """Each ``factor`` elements along the last axis times their scale."""
    if scale.dtype == uint8:
        powers = apply("e8m0", _power, [scale], float32)
    else:
        powers = converted(scale, float32)
    spread = broadcast_shape(expanded(powers, len(scale.shape)), (*scale.shape, factor))
    return mul(value, reshaped(spread, value.shape))


def _factor(scale: Any, inner: int) -> int | None:
    """How many elements a scale is for; None without scales."""
    if not isinstance(scale, tensor) or scale.numel == 1:
        return None
    return inner // scale.shape[-1]


def _check_scale(name: str, value: tensor, scale: Any, factor: int) -> None:
    if isinstance(scale, tensor):
        wanted = [value.shape[-2], value.shape[-1] // factor]
        if [*scale.shape[-2:]] != wanted:
            raise ValueError(
                f"{name} must be a tensor of shape [..., {wanted[0]}, {wanted[1]}]. "
                f"Got {[*scale.shape]}"
            )


def _factor_of(factors: list[int | None]) -> int:
    """The elements of a scale, of both sides."""
    known = [each for each in factors if each is not None]
    if len({*known}) > 1:
        raise ValueError(
            f"Operands must have the same scale factor; (lhs: {known[0]} vs rhs: {known[1]})"
        )
    return known[0] if known else 32


@builtin
def dot_scaled(
    lhs: tensor,
    lhs_scale: Any,
    lhs_format: Any,
    rhs: tensor,
    rhs_scale: Any,
    rhs_format: Any,
    acc: Any = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: Any = float32,
) -> tensor:
    """The product of two matrices of narrow floats with scales, plus ``acc``. ``rhs_scale`` has a
    line for each column of ``rhs``."""
    if unwrapped(out_dtype) != float32:
        raise ValueError("Only float32 is supported for out_dtype at the moment")
    forms, scales = (unwrapped(lhs_format), unwrapped(rhs_format)), (lhs_scale, rhs_scale)
    packs = bool(unwrapped(lhs_k_pack)), bool(unwrapped(rhs_k_pack))
    for form, pack in zip(forms, packs, strict=True):
        if not pack and form != "e2m1":
            raise ValueError("only mxfp4 inputs can be packed along a dimension different than K")
    left = _numbers(lhs, forms[0], packs[0])
    right = _swapped(_numbers(rhs, forms[1], not packs[1]))
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(
            "Reduction dimension should pack the same number of elements; "
            f"(lhs: {[*lhs.shape]} vs rhs: {[*rhs.shape]})"
        )
    inner = left.shape[-1]
    factor = _factor_of([_factor(unwrapped(scale), inner) for scale in scales])
    sides = [left, right]
    for place, name in enumerate(("lhs_scale", "rhs_scale")):
        scale = unwrapped(scales[place])
        _check_scale(name, sides[place], scale, factor)
        if scale is not None:
            sides[place] = _scaled(sides[place], scale, factor)
    return dot(sides[0], _swapped(sides[1]), acc, input_precision="ieee")
