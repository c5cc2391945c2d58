"""Lanes of a warp that exchange data through shared memory without a sync run in lockstep, as on
NVIDIA's GPUs, whatever lanes a vector of the processor has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.property.lockstep import WARP, WARPS, expected, inputs, program, text_of

import gridlane
from gridlane import cuda

SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
THREADS = WARP * WARPS


def kernel_of(language: str, text: str) -> Any:
    if language != "python":
        return cuda.RawModule(code=text, **({"backend": "clang"} if language == "cpp" else {}))
    space: dict[str, Any] = {"cuda": cuda, "int64": cuda.int64}
    exec(compile(text, "<lockstep>", "exec"), space)
    space["exchanged"] = cuda.jit(device=True, source=text)(space["exchanged"])
    return cuda.jit(source=text)(space["kernel"])


def check(device: str, language: str, seed: int) -> None:
    steps, width = program(seed, apart=language != "cpp")
    tables, values = inputs(seed, width)
    text = text_of(language, steps, width)
    kind = np.int64 if language == "python" else np.uint32
    out = np.zeros(THREADS, kind)
    arrays = values.astype(kind), tables.ravel().astype(kind), out
    with gridlane.device(device):
        kernel = kernel_of(language, text)
        if language == "python":
            kernel[1, THREADS](*arrays)
        else:
            kernel.get_function("kernel")((1,), (THREADS,), arrays)
    wanted = expected(steps, width, tables, values)
    np.testing.assert_array_equal(out.astype(np.uint32), wanted, err_msg=text)


@pytest.mark.parametrize("language", ["python", "ptx"])
@pytest.mark.parametrize("device", ["cpu", "interp"])
@given(seed=st.integers(0, 2**40))
@settings(SETTINGS, max_examples=examples(12, 500))
def test_exchanges(device: str, language: str, seed: int) -> None:
    check(device, language, seed)


@given(seed=st.integers(0, 2**40))
@settings(SETTINGS, max_examples=examples(3, 100))
def test_exchanges_in_cpp(seed: int) -> None:
    check("cpu", "cpp", seed)
