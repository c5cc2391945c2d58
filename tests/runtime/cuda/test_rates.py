"""The rates of ``triton.testing``, against NVIDIA's data sheets of the A100 and the V100."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gridlane import tiles
from gridlane.core.errors import UnsupportedBackend
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.tiles import testing

tl = tiles.language

A100 = {
    "COMPUTE_CAPABILITY_MAJOR": 8,
    "MULTIPROCESSOR_COUNT": 108,
    "CLOCK_RATE": 1_410_000,
    "MEMORY_CLOCK_RATE": 1_215_000,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120,
}


class TorchDtype(SimpleNamespace):
    """A dtype with torch's text."""

    def __str__(self):
        return f"torch.{self.name}"


@pytest.fixture
def a100(machine):
    machine.reset(**A100)
    current.choose(get_device("cuda"))
    return machine


@pytest.mark.parametrize(
    "dtype, wanted",
    [(tl.float32, 156), (tl.float16, 312), (tl.bfloat16, 312), (tl.int8, 624)],
)
def test_tensor_cores_of_an_a100(a100, dtype, wanted):
    assert round(testing.get_max_tensorcore_tflops(dtype, 1_410_000)) == wanted
    same = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}.get(str(dtype), str(dtype))
    name = TorchDtype(name=same)
    assert round(testing.get_max_tensorcore_tflops(name, 1_410_000, 0)) == wanted


def test_memory_and_lanes_of_an_a100(a100):
    assert round(testing.get_dram_gbps()) == round(testing.get_dram_gbps(0)) == 1555
    assert round(testing.get_max_simd_tflops(tl.float32, 1_410_000), 1) == 19.5
    assert round(testing.get_max_simd_tflops(tl.bfloat16, 1_410_000), 1) == 39.0
    facts = tiles.runtime.driver.active.utils.get_device_properties(0)
    assert facts["mem_clock_rate"] == 1_215_000 and facts["mem_bus_width"] == 5120
    assert facts["sm_clock_rate"] == 1_410_000


def test_rates_of_a_v100(machine):
    machine.reset(COMPUTE_CAPABILITY_MAJOR=7, MULTIPROCESSOR_COUNT=80)
    current.choose(get_device("cuda"))
    assert round(testing.get_max_tensorcore_tflops(tl.float16, 1_530_000)) == 125
    assert round(testing.get_max_simd_tflops(tl.float32, 1_530_000), 1) == 15.7
    for dtype in (tl.bfloat16, tl.float32):
        with pytest.raises(
            RuntimeError, match=rf"{dtype} on compute capability 7\.0; .* of float16"
        ):
            testing.get_max_tensorcore_tflops(dtype, 1_530_000)


def test_rates_that_nothing_is_known_of(a100):
    with pytest.raises(RuntimeError, match=r"get_max_simd_tflops: int8 on compute capability 8\.0"):
        testing.get_max_simd_tflops(tl.int8, 1_410_000)
    with pytest.raises(RuntimeError, match=r"get_max_tensorcore_tflops: .*float64"):
        testing.get_max_tensorcore_tflops(np.dtype(np.float64), 1_410_000)


def test_memory_without_a_clock(machine):
    current.choose(get_device("cuda"))
    with pytest.raises(UnsupportedBackend, match="a clock of 0 kHz and a bus of 0 bits"):
        testing.get_dram_gbps()
