"""Launches from kernels (dynamic parallelism), by clang and, where it is installed, by nvcc."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from tests import on_vulkan

from gridlane import cuda
from gridlane.core.errors import KernelError, PtxError, TargetError
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.modules import launches

SOURCE = Path(__file__).with_name("launches.cu")
INT = np.int32


@pytest.fixture(scope="module", params=["clang", "nvcc"])
def text(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "clang":
        return cuda.compile_cpp(SOURCE.read_text(), options=("-rdc=true",))
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    made = tmp_path_factory.mktemp("nvcc") / "launches.ptx"
    words = ["nvcc", "-rdc=true", "-arch=sm_80", "-ptx", str(SOURCE), "-o", str(made)]
    subprocess.run(words, check=True, timeout=300)
    return made.read_text()


@pytest.fixture(params=["cpu", "interp"])
def module(request: pytest.FixtureRequest, text: str) -> cuda.RawModule:
    current.choose(get_device(request.param))
    return cuda.RawModule(code=text)


def run(module: cuda.RawModule, name: str, *args: object, threads: int = 1) -> None:
    module.get_function(name)(1, threads, args)
    cuda.synchronize()


def test_every_thread_launches_and_tails_come_last(module: cuda.RawModule) -> None:
    x = np.zeros(2, INT)
    run(module, "every", x, threads=3)
    total = 3 * (6 * (4 * 7 + 6) + 4 * 9 + 6)
    assert list(x) == [total, total]


def test_a_launch_ends_with_its_own_launches_before_the_next(module: cuda.RawModule) -> None:
    log, count = np.zeros(8, INT), np.zeros(1, INT)
    run(module, "nested", log, count)
    assert list(log) == [10, 11, 12, 13, 20, 21, 22, 23]


def test_launches_of_launches(module: cuda.RawModule) -> None:
    x = np.full(60, -1, INT)
    run(module, "deep", x, 59)
    assert list(x) == list(range(60))


def test_a_long_chain_of_tail_launches(module: cuda.RawModule) -> None:
    x = np.zeros(1, INT)
    run(module, "chain", x, 1200)
    assert x[0] == 1200 * 1201 // 2


def test_a_sort_that_halves(module: cuda.RawModule) -> None:
    x = np.random.default_rng(1).permutation(40).astype(INT)
    run(module, "sort", x, 0, 39)
    assert list(x) == list(range(40))


def test_more_launches_than_there_is_room_for(
    module: cuda.RawModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launches, "_BYTES", 1024)
    monkeypatch.setattr(launches, "_key", lambda stride: f"few launches of {stride} bytes")
    x, errors = np.zeros(1, INT), np.zeros(3, INT)
    run(module, "many", x, errors, 100)
    assert 0 < x[0] < 100 and list(errors) == [69, 69, 0]  # LaunchPendingCountExceeded
    run(module, "many", x, errors, 2)
    assert list(errors) == [0, 0, 0]


@pytest.mark.parametrize(("threads", "blocks"), [(0, 1), (2048, 1), (1, 0)])
def test_launches_of_no_shape(module: cuda.RawModule, threads: int, blocks: int) -> None:
    x, errors = np.zeros(1, INT), np.zeros(1, INT)
    run(module, "wrong", x, errors, threads, blocks)
    assert (x[0], errors[0]) == (0, 9)  # cudaErrorInvalidConfiguration


def test_copies_and_fills_are_in_order(module: cuda.RawModule) -> None:
    x, y = np.zeros(2, INT), np.zeros(2, INT)
    run(module, "moves", x, y)
    assert list(x) == [0x05050507, 0x05050505] and list(y) == [0x05050506, 0x05050505]


def test_memory_of_the_runtime_in_kernels(module: cuda.RawModule) -> None:
    x = np.ones(2, INT)
    run(module, "owned", x)
    assert list(x) == [0, 41]


def test_parameters_of_every_size(module: cuda.RawModule) -> None:
    out = np.zeros(1)
    run(module, "parameters", out)
    assert out[0] == 1 + 0.5 + 0.25 + 3 - 7


def test_an_error_of_a_launched_kernel(module: cuda.RawModule) -> None:
    x = np.zeros(1, INT)
    with pytest.raises(KernelError, match=r"x\[0\] == 1"):
        run(module, "child_stops", x)
    run(module, "child_stops", np.ones(1, INT))


def test_a_barrier_of_the_grid_beside_launches(module: cuda.RawModule) -> None:
    if current.device().name == "interp":
        pytest.skip("the interpreter runs a whole grid at once, and needs no parts")
    with pytest.raises(TargetError, match="launches kernels and has a barrier of the whole grid"):
        run(module, "meets", np.zeros(1, INT))


def test_threads_with_streams_of_their_own(text: str) -> None:
    current.choose(get_device("cpu"))
    kernel = cuda.RawModule(code=text).get_function("nested")
    found: list[list[int]] = []

    def work() -> None:
        current.choose(get_device("cpu"))
        stream = cuda.stream()
        log, count = cuda.to_device(np.zeros(8, INT)), cuda.to_device(np.zeros(1, INT))
        for _ in range(20):
            log.copy_to_device(np.zeros(8, INT), stream=stream)
            count.copy_to_device(np.zeros(1, INT), stream=stream)
            kernel(1, 1, (log, count), stream=stream)
            found.append(list(log.copy_to_host(stream=stream)))
            stream.synchronize()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 80
    assert all(each == [10, 11, 12, 13, 20, 21, 22, 23] for each in found)


def test_other_devices_refuse(text: str) -> None:
    if not on_vulkan.found():
        pytest.skip("no device of Vulkan")
    current.choose(get_device("vulkan"))
    with pytest.raises(TargetError, match=r"launches kernels .dynamic parallelism.*use the device"):
        cuda.RawModule(code=text).get_function("every")(1, 1, (np.zeros(2, INT),))


def test_waiting_for_launches_is_refused() -> None:
    text = """.version 8.0
    .target sm_80
    .address_size 64
    .extern .func (.param .b32 r) cudaDeviceSynchronize();
    .entry k() { .reg .b32 %r<2>; { .param .b32 r; call.uni (r), cudaDeviceSynchronize, ();
    ld.param.b32 %r1, [r]; } ret; }"""
    current.choose(get_device("cpu"))
    with pytest.raises(PtxError, match="a kernel does not wait for kernels that it launches"):
        cuda.RawModule(code=text).get_function("k")(1, 1, ())
