"""``triton.language.standard``: the names of the language that Triton writes in itself."""

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
