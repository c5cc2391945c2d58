"""Random numbers: Philox.

Source: J. K. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11, section 3.2. The
numbers are those of Triton, bitwise.
"""

from __future__ import annotations

import math
from typing import Any

from gridlane.frontends.triton.arithmetic import (
    add,
    compared,
    maximum,
    mul,
    negated,
    sub,
    where,
)
from gridlane.frontends.triton.casting import converted, reinterpreted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builtin
from gridlane.frontends.triton.creation import full
from gridlane.frontends.triton.mathematics import cos, log, sin, sqrt, umulhi
from gridlane.frontends.triton.numbers import constant, to_tensor
from gridlane.frontends.triton.types import dtype, int32, int64, uint32, uint64
from gridlane.frontends.triton.values import tensor

ROUNDS = 10

_KEYS = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}
_FACTORS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}

Four = tuple[tensor, tensor, tensor, tensor]


def _xor(x: tensor, y: tensor) -> Any:
    return x ^ y  # type: ignore[operator]  # arithmetic.py defines the operators


@builtin
def philox_impl(
    c0: tensor, c1: tensor, c2: tensor, c3: tensor, k0: tensor, k1: tensor, n_rounds: Any = ROUNDS
) -> Four:
    """Rounds of Philox on a counter of four words and a key of two."""
    kind = c0.dtype
    if kind not in (uint32, uint64):
        raise TypeError("dtype not supported in philox_impl")
    first, second = [constant(each, kind) for each in _FACTORS[kind.int_bitwidth]]
    raises = [constant(each, kind) for each in _KEYS[kind.int_bitwidth]]
    for _ in range(unwrapped(n_rounds)):
        high0, high2 = umulhi(first, c0), umulhi(second, c2)
        low0, low2 = mul(first, c0), mul(second, c2)
        c0, c1, c2, c3 = _xor(_xor(high2, c1), k0), low2, _xor(_xor(high0, c3), k1), low0
        k0, k1 = add(k0, raises[0]), add(k1, raises[1])
    return c0, c1, c2, c3


@builtin
def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = ROUNDS) -> Four:
    """Philox on a counter, with a key of 64 bits."""
    key = to_tensor(seed)
    if not key.dtype.is_int():
        raise TypeError(f"a seed is an integer, not {key.dtype}")
    key = converted(key, uint64)
    counters = [to_tensor(each) for each in (c0, c1, c2, c3)]
    bits = counters[0].dtype.primitive_bitwidth
    if bits not in (32, 64):
        raise TypeError("bitwidth not supported in philox")
    kind = uint32 if bits == 32 else uint64
    if bits == 32:
        high: tensor = converted(key >> 32, uint32)  # type: ignore[operator]  # as above
        low = converted(key, uint32)
    else:
        low, high = key, full((1,), 0, uint64)
    words = [reinterpreted(each, kind) for each in counters]
    return philox_impl(words[0], words[1], words[2], words[3], low, high, n_rounds)


@builtin
def randint4x(seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Four:
    """Four tensors of random 32-bit integers, which follow from a seed and offsets."""
    place = to_tensor(offset)
    low = converted(place, uint32)
    zero = mul(low, 0)
    high = zero
    if place.dtype.primitive_bitwidth > 32:
        high = converted(place >> 32, uint32)  # type: ignore[operator]  # as above
    return philox(seed, low, high, zero, zero, n_rounds)


@builtin
def randint(seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> tensor:
    """Random 32-bit integers."""
    return randint4x(seed, offset, n_rounds)[0]


@builtin
def uint_to_uniform_float(x: tensor) -> tensor:
    """An integer of any bits as a float from 0 to 1, without 1."""
    kind, scale = _scales(x.dtype)
    signed = reinterpreted(x, kind)
    folded = where(compared("lt", signed, 0), sub(negated(signed), 1), signed)
    return mul(folded, scale)


def _scales(kind: dtype) -> tuple[dtype, float]:
    if kind in (uint32, int32):
        return int32, 4.6566127342e-10
    if kind in (uint64, int64):
        return int64, 1.0842020432385337e-19
    raise TypeError(f"random bits are integers of 32 or 64 bits, not {kind}")


@builtin
def rand(seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> tensor:
    """Random float32 from 0 to 1."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@builtin
def rand4x(seed: Any, offsets: Any, n_rounds: Any = ROUNDS) -> Four:
    """Four tensors of random float32 from 0 to 1."""
    first, second, third, fourth = randint4x(seed, offsets, n_rounds)
    return (
        uint_to_uniform_float(first),
        uint_to_uniform_float(second),
        uint_to_uniform_float(third),
        uint_to_uniform_float(fourth),
    )


@builtin
def pair_uniform_to_normal(u1: tensor, u2: tensor) -> tuple[tensor, tensor]:
    """Two normal numbers from two uniform ones (G. E. P. Box, M. E. Muller, 1958)."""
    angle = mul(2 * math.pi, u2)
    radius = sqrt(mul(-2.0, log(maximum(1.0e-7, u1))))
    return mul(radius, cos(angle)), mul(radius, sin(angle))


@builtin
def randn(seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> tensor:
    """Random float32 of the normal distribution."""
    first, second, _, _ = randint4x(seed, offset, n_rounds)
    uniform = uint_to_uniform_float(first), uint_to_uniform_float(second)
    return pair_uniform_to_normal(*uniform)[0]


@builtin
def randn4x(seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Four:
    """Four tensors of random float32 of the normal distribution."""
    first, second, third, fourth = rand4x(seed, offset, n_rounds)
    return (
        *pair_uniform_to_normal(first, second),
        *pair_uniform_to_normal(third, fourth),
    )
