"""Loads and stores with a cache policy: the same numbers everywhere, and the policy in PTX."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import TypingError

LOADS = {"ca": cuda.ldca, "cg": cuda.ldcg, "cs": cuda.ldcs, "lu": cuda.ldlu, "cv": cuda.ldcv}
STORES = {"wb": cuda.stwb, "cg": cuda.stcg, "cs": cuda.stcs, "wt": cuda.stwt}


def every_hint(out, words):
    i = cuda.threadIdx.x
    cuda.stwb(out, (0, i), cuda.ldca(words, i) + cuda.ldcg(words, 7 - i))
    cuda.stcg(out, (1, i), cuda.ldcs(words, i) * 2)
    cuda.stcs(out, (2, i), cuda.ldlu(words, i) * 3)
    cuda.stwt(out, (3, i), cuda.ldcv(words, i) * 5)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
def test_values(device, dtype):
    kernel = cuda.jit(every_hint)
    with gridlane.device(device):
        words, out = np.arange(8).astype(dtype), np.zeros((4, 8), dtype)
        kernel[1, 8](out, words)
    assert (out[0] == 7).all()
    assert (out[1:] == words * np.array([[2], [3], [5]], dtype)).all()


@pytest.mark.parametrize(
    ("kind", "bits"),
    [(cuda.boolean, 0), (cuda.uint8, 8), (cuda.float16, 16), (cuda.float32, 32), (cuda.int64, 64)],
    ids=str,
)
def test_policies_in_ptx(kind, bits):
    def kernel(out, words):
        for i in range(words.size):
            write(out, i, read(words, i))

    for policy, read in LOADS.items():
        for other, write in STORES.items():
            if policy == "ca" or other == "wb":
                types = (kind[::1], kind[::1])
                if not bits:
                    with pytest.raises(TypingError, match="requires array of integer or float"):
                        cuda.compile_ptx(kernel, types)
                    return
                text, _ = cuda.compile_ptx(kernel, types)
                assert f"ld.global.{policy}.b{bits}" in text
                assert f"st.global.{other}.b{bits}" in text


@pytest.mark.parametrize(
    ("axes", "index", "message"),
    [
        (1, 1.0, "float64 is not a valid index"),
        (1, (1, 2), "Expected 1 indices, got 2"),
        (2, 1, "Expected 2 indices, got a scalar"),
        (2, (1,), "Expected 2 indices, got 1"),
    ],
)
def test_index_errors(axes, index, message):
    def kernel(words):
        cuda.ldcs(words, index)

    with pytest.raises(TypingError, match=message):
        cuda.compile_ptx(kernel, (cuda.float32[(slice(None),) * axes],))
