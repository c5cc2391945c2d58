"""Random numbers in kernels: xoroshiro128+, with the streams of numba.cuda.random.

The generator is Blackman and Vigna's of 2016 with the constants 55, 14, 36; one step of SplitMix64
seeds a state, and each next state is 2**64 steps further.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridlane.core.numpy_types import from_numpy
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.types import float32, float64, int64, uint32, uint64

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = from_numpy(xoroshiro128p_dtype)

TWO_PI_FLOAT32 = np.float32(2 * math.pi)
TWO_PI_FLOAT64 = np.float64(2 * math.pi)


# --- in kernels ---


@jit(device=True)
def rotl(x, k):
    """``x`` rotated to the left by ``k`` bits."""
    x = uint64(x)
    k = uint32(k)
    return (x << k) | (x >> uint32(uint32(64) - k))


@jit(device=True)
def init_xoroshiro128p_state(states, index, seed):
    """Set ``states[index]`` from a 64-bit seed by SplitMix64."""
    index = int64(index)
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint32(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint32(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint32(31))
    states[index]["s0"] = z
    states[index]["s1"] = z


@jit(device=True)
def xoroshiro128p_next(states, index):
    """The next uint64 of ``states[index]``."""
    index = int64(index)
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    result = s0 + s1
    s1 ^= s0
    states[index]["s0"] = rotl(s0, uint32(55)) ^ s1 ^ (s1 << uint32(14))
    states[index]["s1"] = rotl(s1, uint32(36))
    return result


@jit(device=True)
def xoroshiro128p_jump(states, index):
    """Advance ``states[index]`` by 2**64 steps."""
    index = int64(index)
    s0 = uint64(0)
    s1 = uint64(0)
    for half in range(2):
        jump = uint64(0xBEAC0467EBA5FACB) if half == 0 else uint64(0xD86B048B86AA9922)
        for bit in range(64):
            if jump & (uint64(1) << uint32(bit)):
                s0 ^= states[index]["s0"]
                s1 ^= states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


@jit(device=True)
def uint64_to_unit_float64(x):
    """A uint64 as a float64 in [0, 1)."""
    return (uint64(x) >> uint32(11)) * (float64(1) / (uint64(1) << uint32(53)))


@jit(device=True)
def uint64_to_unit_float32(x):
    """A uint64 as a float32 in [0, 1], rounded from the float64."""
    return float32(uint64_to_unit_float64(x))


@jit(device=True)
def xoroshiro128p_uniform_float32(states, index):
    """A uniform float32 from ``states[index]``."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, int64(index)))


@jit(device=True)
def xoroshiro128p_uniform_float64(states, index):
    """A uniform float64 from ``states[index]``."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, int64(index)))


@jit(device=True)
def xoroshiro128p_normal_float32(states, index):
    """A normal float32 from ``states[index]``, mean 0 and sigma 1, by Box and Muller; two steps."""
    index = int64(index)
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-float32(2.0) * math.log(u1)) * math.cos(TWO_PI_FLOAT32 * u2)


@jit(device=True)
def xoroshiro128p_normal_float64(states, index):
    """A normal float64 from ``states[index]``, from two float32, as in numba."""
    index = int64(index)
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-float64(2.0) * math.log(u1)) * math.cos(TWO_PI_FLOAT64 * u2)


# --- on the host: many states at once ---
#
# A step, and so 2**64 of them, is linear over GF(2): the jump is a 128 x 128 matrix of bits.
# A map is held as its 128 columns, an array of 128 states, and applied by tables of bytes.

_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)


def _rotl(x: np.ndarray, k: int) -> np.ndarray:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


def _jumped_basis() -> np.ndarray:
    """The columns of the jump, (128, 2): its result for each state of one bit."""
    basis = np.zeros((128, 2), np.uint64)
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    basis[:64, 0] = basis[64:, 1] = bits
    s0, s1 = basis.T.copy()
    result = np.zeros_like(basis)
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                result[:, 0] ^= s0
                result[:, 1] ^= s1
            s1 ^= s0
            s0 = _rotl(s0, 55) ^ s1 ^ (s1 << np.uint64(14))
            s1 = _rotl(s1, 36)
    return result


def _applied(columns: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Apply a linear map to states, (n, 2): one table of 256 states for each of their 16 bytes."""
    result = np.zeros_like(states)
    as_bytes = np.ascontiguousarray(states).astype("<u8").view(np.uint8)
    for position in range(16):
        table = np.zeros((1, 2), np.uint64)
        for column in columns[8 * position : 8 * position + 8]:
            table = np.concatenate((table, table ^ column))
        result ^= table[as_bytes[:, position]]
    return result


def _states(count: int, seed: int, subsequence_start: int) -> np.ndarray:
    """``count`` states, each 2**64 steps after its predecessor."""
    if subsequence_start < 0:
        raise ValueError(f"subsequence_start is {subsequence_start}; it must be 0 or more")
    mask = (1 << 64) - 1
    z = (int(seed) + 0x9E3779B97F4A7C15) & mask
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    z ^= z >> 31
    states = np.full((1, 2), z, np.uint64)

    power, start = _jumped_basis(), int(subsequence_start)
    while start:  # by binary powers of the jump
        if start & 1:
            states = _applied(power, states)
        power, start = _applied(power, power), start >> 1

    power = _jumped_basis()
    while len(states) < count:  # jumping the states so far by their number gives the next ones
        states = np.concatenate((states, _applied(power, states)))
        power = _applied(power, power)
    return states[:count]


def init_xoroshiro128p_states(
    states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> None:
    """Set the states of a 1-D array: number i is 2**64 * (i + subsequence_start) steps on.

    Args:
        states: a device array of xoroshiro128p_dtype.
        seed: 64 bits.
        stream: the copy is ordered after its work.

    Raises:
        ValueError: subsequence_start is negative.
    """
    host = np.empty(states.shape, xoroshiro128p_dtype)
    host["s0"], host["s1"] = _states(states.size, seed, subsequence_start).T
    states.copy_to_device(host, stream=stream)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> Any:
    """A device array of ``n`` states; see ``init_xoroshiro128p_states``."""
    states = device_array(n, dtype=xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states
