"""Hashes of elements, and noise from them: the same on every device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.dtypes import bf16, f16, f32, f64, u32, u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import math
from gridlane.xp.operations.loops import floating
from gridlane.xp.operations.record import Bound, Loop, Operation
from gridlane.xp.operations.writing import number, quiet_nan, unary

NOISE = "Hashes and noise"

_STEP = 0x9E3779B9
"""2**32 over the golden ratio, which keeps 0 from being its own hash."""


def _mixed(h: Expression) -> Expression:
    """The finalizer of MurmurHash3 of 32 bits, by Austin Appleby, in the public domain."""
    h = (h ^ (h >> 16)) * 0x85EBCA6B
    h = (h ^ (h >> 13)) * 0xC2B2AE35
    return h ^ (h >> 16)


def _words(w: Writer, x: Expression) -> tuple[Expression, ...]:
    """A number as words of 32 bits: equal numbers of a float type have equal ones."""
    if x.dtype.is_float:
        wide = x if x.dtype is f64 else x.cast(f32)
        wide = w.select(wide.is_nan(), quiet_nan(wide), wide)
        wide = w.select(wide.equals(0.0), number(wide, 0.0), wide)
        x = wide.reread(u64 if wide.dtype is f64 else u32)
    if x.dtype.bits < 64:
        return (x.cast(u32),)
    whole = x.cast(u64)
    return (whole & 0xFFFFFFFF).cast(u32), (whole >> 32).cast(u32)


def hashed(w: Writer, *numbers: Expression) -> Expression:
    """The hash of numbers: each word in turn."""
    state = w.const(0, u32)
    for each in numbers:
        for word in _words(w, each):
            state = _mixed((state ^ word) + _STEP)
    return state


def _uniform(w: Writer, state: Expression, like: Expression) -> Expression:
    """A number from 0 to below 1, by the upper bits of one or two hashes."""
    kind = like.dtype
    if kind is f64:
        upper = (state >> 5).cast(u64) << 26
        whole = upper | (_mixed(state + _STEP) >> 6).cast(u64)
        return whole.cast(f64) * 2.0**-53
    bits = {f16: 11, bf16: 8, f32: 24}[kind]
    return ((state >> (32 - bits)).cast(f32) * 2.0**-bits).cast(kind)


def _noise(w: Writer, a: Expression) -> Expression:
    return _uniform(w, hashed(w, a), a)


def _rrelu(w: Writer, a: Expression, b: Expression) -> Expression:
    """The slope is 1/8 and 5/24 of a uniform number more."""
    wide = a if a.dtype is f64 else a.cast(f32)
    share = _uniform(w, hashed(w, a, b), wide)
    slope = share * (5 / 24) + 0.125
    return w.select(wide < 0.0, wide * slope, wide).cast(a.dtype)


def _gumbel(w: Writer, a: Expression, b: Expression) -> Expression:
    wide = a if a.dtype is f64 else a.cast(f32)
    half = 2.0**-54 if wide.dtype is f64 else 2.0**-25
    share = _uniform(w, hashed(w, a, b), wide)
    share = w.select(share.equals(0.0), number(share, half), share)
    return (-unary(math.Log, -unary(math.Log, share))).cast(a.dtype)


def _hash_types(name: str) -> Any:
    def types(operands: tuple[Any, ...]) -> Loop:
        kinds = [each if isinstance(each, np.dtype) else np.dtype(each) for each in operands]
        if any(each.kind == "c" for each in kinds):
            raise TypeError(f"{name} has no loop for complex numbers")
        return Loop(tuple(kinds), (np.dtype(np.uint32),))

    return types


_WORDS = "the words of 32 bits of each number, low ones first, 64-bit numbers have two; h is 0, "
_HASH = (
    _WORDS + "and h = fmix32((h ^ word) + 0x9E3779B9) for each word, with MurmurHash3's fmix32; "
    "narrower numbers are widened, -0 counts as 0, and all NaNs are one"
)
ROWS = (
    Operation(
        "hash", 1, hashed, _hash_types("hash"), "a hash of a, as uint32", NOISE, special=_HASH
    ),
    Operation(
        "hash2",
        2,
        hashed,
        _hash_types("hash2"),
        "a hash of a and b, as uint32",
        NOISE,
        special="as hash, of the words of a and then of b",
    ),
    Operation(
        "noise_white",
        1,
        _noise,
        floating("noise_white"),
        "a number from 0 to below 1 by the upper bits of the hash of a",
        NOISE,
        special="float64: the upper 27 bits of h = hash(a), then the upper 26 of "
        "fmix32(h + 0x9E3779B9); float32: 24 bits, float16: 11, bfloat16: 8",
    ),
    Operation(
        "rrelu",
        2,
        _rrelu,
        floating("rrelu"),
        "a, or a * (1/8 + u * 5/24) below 0, for a number u from 0 to below 1 by hash2(a, b)",
        NOISE,
        special="b is the seed; u has the bits of noise_white, float32's for the narrow types",
        bound=Bound(1, 1, 2, 2),
    ),
    Operation(
        "gumbel_noise",
        2,
        _gumbel,
        floating("gumbel_noise"),
        "-log(-log(u)), for a number u from 0 to below 1 by hash2(a, b)",
        NOISE,
        special="b is the seed; a u of 0 is replaced by half of the least other one",
        bound=Bound(1, 1, 8, 8, least=1),
    ),
)
