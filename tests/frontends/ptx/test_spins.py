"""Threads that wait for other threads of their warp, block and grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES, run_on

from gridlane import cuda
from gridlane.compiler import generate
from gridlane.core.config import Config
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.ir.printer import print_module
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.passes.structure import end_spins, release_first

SOURCE = Path(__file__).parent / "spins.cu"
FENCED = "webgpu", "metal"
"""Devices without a fence beyond the block."""
WANTED = {
    "lock_of_threads": [128, 0, 0, 0],
    "lock_by_flag": [128, 0, 0, 0],
    "tickets": [128, 0, 0, 0],
    "two_locks": [384, 54, None, 1],
    "a_lock_for_each": [22, 22, 20, 64],
    "retries": [128, 0, 0, 0],
}


@pytest.fixture(scope="module")
def module() -> cuda.RawModule:
    return cuda.RawModule(path=SOURCE)


def run(module: cuda.RawModule, name: str, grid: int, block: int) -> np.ndarray:
    words, x = np.zeros(64, np.int32), np.zeros(64, np.int32)
    module.get_function(name)(grid, block, (words, x))
    return x


ALL = [device for device in ("interp", *DEVICES) if device not in FENCED]


@pytest.mark.parametrize("device", ALL)
@pytest.mark.parametrize("name", WANTED)
def test_locks(module, device, name):
    current.choose(get_device(device))
    grid, block = (1, 128) if name == "retries" else (2, 64)
    x = run(module, name, grid, block)
    assert all(want in (None, got) for got, want in zip(x, WANTED[name], strict=False)), x[:4]


@pytest.mark.parametrize("device", ALL)
def test_a_lane_that_waits_for_another(module, device):
    current.choose(get_device(device))
    assert list(run(module, "waits_for_another_lane", 1, 32)[:32]) == [5] + [1] * 31


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_blocks_that_wait_for_earlier_ones(module, device):
    current.choose(get_device(device))
    x = run(module, "blocks_in_order", 32, 32)
    assert list(x[:32]) == list(np.cumsum(np.arange(32)))


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_wait_without_end(device, monkeypatch):
    monkeypatch.setattr(Config, "spin_nanoseconds", 200_000_000)
    monkeypatch.setattr("gridlane.compiler.default_cache", lambda: None)
    current.choose(get_device(device))
    with pytest.raises(RuntimeError, match=r"has waited in this loop for 0.2 s .*_SPIN_LIMIT"):
        run(cuda.RawModule(path=SOURCE), "blocks_in_reverse", 32, 32)


WAITS = """.version 8.0 .target sm_80 .address_size 64
.entry waits(.param .u64 p) {
    .reg .u64 %q; .reg .u32 %r; .reg .pred %p1;
    ld.param.u64 %q, [p];
AGAIN: ld.volatile.global.u32 %r, [%q]; setp.eq.u32 %p1, %r, 0; @%p1 bra AGAIN;
    st.global.u32 [%q+4], %r; ret;
}"""


@pytest.mark.parametrize("first, raises", [(0, True), (5, False)])
def test_a_wait_is_counted_where_there_is_no_clock(monkeypatch, first, raises):
    monkeypatch.setattr(Config, "spin_nanoseconds", 30_000)
    made = PtxSource(parse_ptx(WAITS), "waits").translate((), KernelOptions())
    end_spins.count_spins(made)
    words = np.array([first, 0], np.uint32)
    outcome = run_on("interp", made, (1, 1, 1), (1, 1, 1), [words])
    assert outcome.raised == raises
    assert raises or list(outcome.arrays[0].view(np.uint32)[:2]) == [5, 5]


@pytest.mark.parametrize("target", ["vulkan", "webgpu", "opengl", "metal"])
def test_shaders_count(target):
    """Those whose drivers do not end all loops early."""
    made = PtxSource(parse_ptx(WAITS), "waits").translate((), KernelOptions())
    text = [site.message for site in generate(made, Target(target, (32, 1, 1))).errors]
    assert any("has waited in this loop for 10 s" in each for each in text), text


def test_what_is_no_spin_loop(module):
    source = parse_ptx(cuda.compile_cpp(SOURCE.read_text()))
    made = PtxSource(source, "retries").translate((), KernelOptions())
    before = print_module(made)
    end_spins.end_spins(made)
    release_first.release_first(made)
    assert print_module(made) == before and "atomic_cas" in before


def test_a_lock_in_python():
    current.choose(get_device("cpu"))

    @cuda.jit
    def kernel(mutex, x):
        while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        x[0] = x[0] + 1
        cuda.threadfence()
        cuda.atomic.exch(mutex, 0, 0)

    mutex, x = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel[4, 64](mutex, x)
    assert x[0] == 256
