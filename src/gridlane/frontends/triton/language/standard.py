"""``triton.language.standard``: the names of the language that Triton writes in itself."""

from gridlane.frontends.triton.functions import constexpr_function
from gridlane.frontends.triton.language import (
    argmax,
    argmin,
    cdiv,
    cumprod,
    cumsum,
    flip,
    interleave,
    max,
    min,
    ravel,
    sigmoid,
    softmax,
    sort,
    sum,
    swizzle2d,
    topk,
    xor_sum,
    zeros,
    zeros_like,
)

__all__ = [
    "argmax", "argmin", "cdiv", "cumprod", "cumsum", "flip", "interleave", "max", "min", "ravel",
    "sigmoid", "softmax", "sort", "sum", "swizzle2d", "topk", "xor_sum", "zeros", "zeros_like",
]  # fmt: skip


@constexpr_function
def _log2(i: int) -> int:  # pyright: ignore[reportUnusedFunction]  # programs import it
    return i.bit_length() - 1


@constexpr_function
def _is_power_of_two(i: int) -> bool:  # pyright: ignore[reportUnusedFunction]  # programs import it
    return i > 0 and not i & (i - 1)
