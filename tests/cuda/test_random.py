"""Random states on the host are those of the generator, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane.cuda.random import _states, create_xoroshiro128p_states, xoroshiro128p_dtype

MASK = (1 << 64) - 1


def rotl(x, k):
    return (x << k | x >> (64 - k)) & MASK


def step(s0, s1):
    s1 ^= s0
    return rotl(s0, 55) ^ s1 ^ (s1 << 14 & MASK), rotl(s1, 36)


def jump(s0, s1):
    t0 = t1 = 0
    for word in (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922):
        for bit in range(64):
            if word >> bit & 1:
                t0, t1 = t0 ^ s0, t1 ^ s1
            s0, s1 = step(s0, s1)
    return t0, t1


def reference(count, seed, start):
    z = (seed + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    z ^= z >> 31
    states = [(z, z)]
    for _ in range(start):
        states[0] = jump(*states[0])
    while len(states) < count:
        states.append(jump(*states[-1]))
    return states


@pytest.mark.parametrize(
    ("count", "seed", "start"), [(1, 1, 0), (5, 42, 0), (33, 2**63 + 9, 3), (8, -1, 1)]
)
def test_states(count, seed, start):
    assert [tuple(map(int, s)) for s in _states(count, seed, start)] == reference(
        count, seed, start
    )


def test_negative_subsequence(fake):
    with pytest.raises(ValueError, match="subsequence_start is -1; it must be 0 or more"):
        create_xoroshiro128p_states(2, seed=1, subsequence_start=-1)


def test_states_on_the_device(fake):
    states = create_xoroshiro128p_states(10, seed=7, subsequence_start=2)
    assert states.dtype == xoroshiro128p_dtype and states.shape == (10,)
    host = states.copy_to_host()
    expected = np.array(reference(10, 7, 2), np.uint64)
    assert (host["s0"] == expected[:, 0]).all() and (host["s1"] == expected[:, 1]).all()
