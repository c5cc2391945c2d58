"""Values that no case of the ops has: reductions that a 0 would change, atomics at their bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.devices import DEVICES, assert_same, run_on

from gridlane import compiler, cuda
from gridlane.conformance.suite import cases
from gridlane.core.argtypes import uint32
from gridlane.core.options import KernelOptions

# What all numbers are near, so that 0 would be the largest, the smallest, or lack a bit.
NUMBERS: dict[str, tuple[int, Callable[..., np.generic]]] = {
    "warp_reduce-max-i32": (-9, np.max),
    "warp_reduce-max-i8": (-9, np.max),
    "warp_reduce-min-i32": (5, np.min),
    "warp_reduce-min-u32": (5, np.min),
    "warp_reduce-and-u32": (8, np.bitwise_and.reduce),
}
CASES = {str(case): case for case in cases() if str(case) in NUMBERS}


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_one_sign(name: str, device: str) -> None:
    """Of five lanes in turn, the first two take part."""
    case = CASES[name]
    near, reduce = NUMBERS[name]
    given = (np.arange(case.arrays[0].size) % 3 + near).astype(case.arrays[0].dtype)
    arrays = [given, np.zeros_like(case.arrays[1])]
    got = run_on(device, case.module, case.grid, case.block, arrays)
    lanes = np.arange(32) % 5 < 2
    assert np.array_equal(
        got.arrays[1][:32][lanes], np.full(lanes.sum(), reduce(given[:32][lanes]))
    )
    assert_same(got.arrays[:1], [given], ["given"])


def counted(out):
    cuda.atomic.inc(out, 0, 7)
    cuda.atomic.dec(out, 1, 7)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_atomics_that_wrap_at_their_bound(device: str) -> None:
    """20 steps around 8 numbers, upwards and downwards."""
    module = compiler.translate(counted, (uint32[::1],), KernelOptions())
    got = run_on(device, module, (1, 1, 1), (20, 1, 1), [np.zeros(2, np.uint32)], (2, 4))
    assert got.arrays[0].tolist() == [20 % 8, -20 % 8]
