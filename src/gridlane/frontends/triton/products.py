"""Products of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.creation import full
from gridlane.frontends.triton.shapes import reshaped
from gridlane.frontends.triton.types import (
    bfloat16,
    block_type,
    dtype,
    dtype_of,
    float16,
    float32,
    float64,
    int8,
    int32,
    uint8,
)
from gridlane.frontends.triton.values import tensor
from gridlane.ir.op import FastMath
from gridlane.ir.ops.tiles import Precision, TileDot

_FACTORS = (int8, uint8, float16, bfloat16, float32, float64)
_PRECISIONS = {each.value: each for each in Precision}


def _precision(input_precision: Any, allow_tf32: Any) -> Precision:
    name, allowed = unwrapped(input_precision), unwrapped(allow_tf32)
    if name is not None and allowed is not None:
        raise ValueError("Only one of input_precision and allow_tf32 can be specified")
    if name is None:
        return Precision.TF32 if allowed in (None, True) else Precision.IEEE
    known = _PRECISIONS.get(str(name).lower())
    if known is None:
        raise ValueError(f"input_precision must be one of {(*_PRECISIONS,)}. Got {name}")
    return known


def _result(element: dtype, out: dtype) -> dtype:
    """The type of the sums."""
    if element.is_int():
        return int32
    if out == bfloat16:
        raise ValueError(
            "out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and cast with "
            "`.to(tl.bfloat16)`"
        )
    if element in (float32, bfloat16):
        return float32
    return float64 if element == float64 else out


def _check(lhs: tensor, rhs: tensor) -> None:
    for name, value in (("lhs", lhs), ("rhs", rhs)):
        if not value.shape:
            raise ValueError(f"Both inputs must be either 2D or 3D; {name} is a scalar")
        if value.dtype not in _FACTORS:
            raise ValueError(f"Unsupported {name} dtype {value.dtype}")
    if lhs.dtype != rhs.dtype:
        raise ValueError(f"Both operands must be same dtype. Got {lhs.dtype} and {rhs.dtype}")
    first, second = list(lhs.shape), list(rhs.shape)
    if len(first) != len(second) or len(first) < 2:
        raise ValueError(f"Both inputs must be either 2D or 3D; (lhs: {first} vs rhs: {second})")
    if first[-1] != second[-2] or first[:-2] != second[:-2]:
        raise ValueError(
            f"First input shape ({first}) and second input shape {second} are not compatible for "
            f"matmul (second index of first shape ({first[-1]}) must be equal to first index of "
            f"second shape ({second[-2]})"
        )


@builtin
def dot(
    input: tensor,
    other: tensor,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = None,
) -> tensor:
    """The product of two matrices, or of two stacks of them, plus ``acc``."""
    precision = _precision(input_precision, allow_tf32)
    limit = unwrapped(max_num_imprecise_acc)
    if limit is not None and input.dtype.is_fp8() and limit > input.shape[-1]:
        raise ValueError(f"max_num_imprecise_acc ({limit}) must be <= K ({input.shape[-1]})")
    loose = input.dtype.is_fp8() and other.dtype.is_fp8() and limit is None
    if input.dtype.is_fp8() and other.dtype.is_fp8():  # whose numbers float16 has, all of them
        input, other = converted(input, float16), converted(other, float16)
    _check(input, other)
    start, wanted = unwrapped(acc), unwrapped(out_dtype)
    if wanted is None:
        wanted = float32 if start is None else start.dtype
    out = dtype_of(wanted)
    kind = block_type(_result(input.dtype, out), (*input.shape[:-1], other.shape[-1]))
    if start is None:
        start = full(kind.shape, 0, kind.element_ty)
    if start.type != kind:
        raise ValueError(f"the accumulator of this product is a {kind}, not {start.type}")
    if input.dtype == float16 and kind.element_ty not in (float16, float32):
        start = converted(start, float32)
    factors = [_stack(value) for value in (input, other, start)]
    fused = bool(builder().fast & FastMath.CONTRACT)
    op = TileDot(*[value.handle for value in factors], precision, fused, loose)  # type: ignore[arg-type]  # three
    result = tensor(builder().value(op), factors[2].type)
    return converted(reshaped(result, kind.shape), kind.element_ty)


def _stack(value: tensor) -> tensor:
    """Matrices of several leading axes as one stack."""
    if len(value.shape) <= 3:
        return value
    return reshaped(value, (prod(value.shape[:-2]), *value.shape[-2:]))
