"""Atomics of 64 bits by two of 32: each carry between the words arrives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.devices import run_on
from tests.passes.legalizing import copied, ops_of

from gridlane import compiler, cuda
from gridlane.core.argtypes import uint64
from gridlane.core.options import KernelOptions
from gridlane.ir.ops import atomic
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.halve_atomics import halve_atomics

OLD = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**40 + 7, 5], np.uint64)
BY = np.array([1, 2**32, 1, 2**33 + 1, 2**63 + 1, 2**64 - 1, 2**40 + 8, 5], np.uint64)
KINDS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def kernel_of(kind: str) -> Callable[..., None]:
    change = getattr(cuda.atomic, kind)

    def kernel(out, by):
        t = cuda.threadIdx.x
        change(out, t % 8, by[t % 8])

    return kernel


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_numpys(kind: str) -> None:
    """Twice for each element, by two threads."""
    module = compiler.translate(kernel_of(kind), (uint64[::1], uint64[::1]), KernelOptions())
    made = copied(module)
    halve_atomics(made)
    verify(made)
    changed = [op for op in ops_of(made) if isinstance(op, atomic.Atomic)]
    assert [op.value.type.bits for op in changed] == [32, 32]
    got = run_on("interp", made, (1, 1, 1), (16, 1, 1), [OLD.copy(), BY], (8, 8, 8, 8))
    wanted = KINDS[kind](KINDS[kind](OLD, BY), BY)
    np.testing.assert_array_equal(got.arrays[0].view(np.uint64).reshape(-1), wanted)
