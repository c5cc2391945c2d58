"""``triton.language``: the names that tile programs use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridlane.frontends.triton import mathematics as math
from gridlane.frontends.triton.arithmetic import (
    PropagateNan,
    add,
    clamp,
    maximum,
    minimum,
    mul,
    sub,
    where,
)
from gridlane.frontends.triton.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_poll,
    atomic_store,
    atomic_xchg,
    atomic_xor,
)
from gridlane.frontends.triton.blocks import advance, make_block_ptr
from gridlane.frontends.triton.casting import cast
from gridlane.frontends.triton.constants import const, constexpr, constexpr_type
from gridlane.frontends.triton.creation import full, zeros, zeros_like
from gridlane.frontends.triton.debugging import (
    assume,
    debug_barrier,
    device_assert,
    device_print,
    expect_zero,
    max_constancy,
    max_contiguous,
    multiple_of,
    num_programs,
    program_id,
    static_assert,
    static_print,
)
from gridlane.frontends.triton.descriptors import (
    make_tensor_descriptor,
    tensor_descriptor,
    tensor_descriptor_type,
)
from gridlane.frontends.triton.inline_asm import inline_asm_elementwise
from gridlane.frontends.triton.iterators import condition, range, static_range
from gridlane.frontends.triton.mathematics import (
    abs,
    ceil,
    cos,
    div_rn,
    erf,
    exp,
    exp2,
    fdiv,
    floor,
    fma,
    log,
    log2,
    rsqrt,
    sin,
    sqrt,
    sqrt_rn,
    umulhi,
)
from gridlane.frontends.triton.memory import (
    load,
    load_tensor_descriptor,
    store,
    store_tensor_descriptor,
)
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.products import dot
from gridlane.frontends.triton.random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)
from gridlane.frontends.triton.reductions import (
    argmax,
    argmin,
    associative_scan,
    cumprod,
    cumsum,
    map_elementwise,
    max,
    min,
    reduce,
    reduce_or,
    sum,
    xor_sum,
)
from gridlane.frontends.triton.scaled import dot_scaled
from gridlane.frontends.triton.shapes import (
    arange,
    broadcast,
    broadcast_to,
    cat,
    expand_dims,
    interleave,
    join,
    permute,
    ravel,
    reshape,
    split,
    squeeze,
    trans,
    unsqueeze,
    view,
)
from gridlane.frontends.triton.sorting import bitonic_merge, flip, gather, histogram, sort, topk
from gridlane.frontends.triton.standard import cdiv, sigmoid, softmax, swizzle2d
from gridlane.frontends.triton.types import MOST_ELEMENTS as TRITON_MAX_TENSOR_NUMEL
from gridlane.frontends.triton.types import (
    bfloat16,
    block_type,
    dtype,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    get_int_dtype,
    int1,
    int8,
    int16,
    int32,
    int64,
    pi32_t,
    pointer_type,
    str_to_ty,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from gridlane.frontends.triton.values import tensor

_MODULES = ("core", "extra", "random", "standard", "target_info")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


tuple = tuple
slice = slice

__all__ = [
    "TRITON_MAX_TENSOR_NUMEL", "PropagateNan", "abs", "add", "advance", "arange", "argmax",
    "argmin", "associative_scan", "assume", "atomic_add", "atomic_and", "atomic_cas",
    "atomic_load", "atomic_max", "atomic_min", "atomic_or", "atomic_poll", "atomic_store",
    "atomic_xchg", "atomic_xor", "bfloat16", "bitonic_merge", "block_type", "broadcast",
    "broadcast_to", "cast", "cat", "cdiv", "ceil", "clamp", "condition", "const", "constexpr",
    "constexpr_type", "cos", "cumprod", "cumsum", "debug_barrier", "device_assert", "device_print",
    "div_rn", "dot", "dot_scaled", "dtype", "erf", "exp", "exp2", "expand_dims", "expect_zero",
    "fdiv", "flip", "float8e4b8", "float8e4b15", "float8e4nv", "float8e5", "float8e5b16",
    "float16", "float32", "float64", "floor", "fma", "full", "gather", "get_int_dtype",
    "histogram", "inline_asm_elementwise", "int1", "int8", "int16", "int32", "int64", "interleave",
    "join", "load", "load_tensor_descriptor", "log", "log2", "make_block_ptr",
    "make_tensor_descriptor", "map_elementwise", "math", "max", "max_constancy", "max_contiguous",
    "maximum", "min", "minimum", "mul", "multiple_of", "num_programs", "pair_uniform_to_normal",
    "permute", "philox", "philox_impl", "pi32_t", "pointer_type", "program_id", "rand", "rand4x",
    "randint", "randint4x", "randn", "randn4x", "range", "ravel", "reduce", "reduce_or", "reshape",
    "rsqrt", "sigmoid", "sin", "slice", "softmax", "sort", "split", "sqrt", "sqrt_rn", "squeeze",
    "static_assert", "static_print", "static_range", "store", "store_tensor_descriptor",
    "str_to_ty", "sub", "sum", "swizzle2d", "tensor", "tensor_descriptor",
    "tensor_descriptor_type", "to_tensor", "topk", "trans", "tuple", "uint8", "uint16", "uint32",
    "uint64", "uint_to_uniform_float", "umulhi", "unsqueeze", "view", "void", "where", "xor_sum",
    "zeros", "zeros_like",
]  # fmt: skip
