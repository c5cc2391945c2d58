"""``triton.language.standard``: the names of the language that Triton writes in itself."""

from typing import Any

from gridlane.frontends.triton import language
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


def __getattr__(name: str) -> Any:
    """Other names, which Triton's module has from its imports."""
    return getattr(language, name)
