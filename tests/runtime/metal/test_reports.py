"""What kernels raise and print."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.metal.kernels import kernel

from gridlane.core import dtypes
from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import KernelErrorSite, PrintSite
from gridlane.core.errors import DeviceError
from gridlane.runtime.errors import KernelStop

ERRORS = (KernelErrorSite("ValueError", "odd"), KernelErrorSite("IndexError", "too far"))
RAISE = f"""
    device atomic_uint* CLAIMED = (device atomic_uint*)(REPORT + {abi.CLAIMED_OFFSET});
    if (at(values, i) != 0 && atomic_exchange_explicit(CLAIMED, 1u, memory_order_relaxed) == 0) {{
        at(REPORT, {abi.THREAD_OFFSET // 4}) = thread_index.x;
        at(REPORT, {abi.BLOCK_OFFSET // 4}) = block[0];
        at(REPORT, {abi.ERROR_OFFSET // 4}) = at(values, i);
    }}
"""
PRINT = f"""
    device atomic_uint* taken = (device atomic_uint*)(REPORT + {abi.PRINT_HEAD_OFFSET});
    uint head = atomic_fetch_add_explicit(taken, 16u, memory_order_relaxed);
    if (head + 16 <= at(REPORT, {abi.PRINT_CAPACITY_OFFSET // 4})) {{
        uint record = ({abi.RECORDS_OFFSET} + head) / 4;
        at(REPORT, record + 2) = i + n;
        at(REPORT, record) = 1;
    }}
"""


@pytest.fixture
def raising(device):
    """A kernel that raises error ``values[i] - 1``."""
    artifact = kernel("values: ulong", RAISE, errors=ERRORS)
    return artifact, device.load(artifact).bind((4, 1, 1))


def test_a_kernel_that_raises(device, raising):
    artifact, bound = raising
    data = to_device(device, np.array([0] * 5 + [2, 0, 0], np.uint32))
    with pytest.raises(IndexError, match="too far") as caught:
        bound.launch(params(artifact, data), 2, 1, 1, 0)
    stop = caught.value
    assert isinstance(stop, KernelStop)
    assert (stop.thread, stop.block) == ((1, 0, 0), (1, 0, 0))
    good = to_device(device, np.zeros(8, np.uint32))
    bound.launch(params(artifact, good), 2, 1, 1, 0)  # it is told once


def test_errors_of_streams_surface_where_they_are_waited_for(device, raising):
    artifact, bound = raising
    data = to_device(device, np.ones(8, np.uint32))
    stream = device.new_stream()
    stream.launch(bound, params(artifact, data), 2, 1, 1, 0)
    with pytest.raises(ValueError, match="odd"):
        stream.synchronize()
    stream.launch(bound, params(artifact, data), 2, 1, 1, 0)
    bound.explain = lambda stop: RuntimeError(f"explained {stop.text}")
    with pytest.raises(RuntimeError, match="explained odd"):
        device.synchronize()
    stream.launch(bound, params(artifact, data), 2, 1, 1, 0)
    device.reset()
    device.synchronize()


def test_a_kernel_that_prints(device, capfd):
    site = PrintSite(("thread ", None), (dtypes.u32,))
    artifact = kernel("n: uint", PRINT, prints=(site,))
    bound = device.load(artifact).bind((4, 1, 1))
    for n in (0, 100):
        bound.launch(params(artifact, n), 1, 1, 1, 0)
        device.synchronize()
        lines = capfd.readouterr().out.splitlines()
        assert sorted(lines) == [f"thread {n + i}" for i in range(4)]


def test_more_lines_than_are_kept(device, capfd):
    site = PrintSite((None,), (dtypes.u32,))
    artifact = kernel("n: uint", PRINT, prints=(site,))
    device.load(artifact).bind((256, 1, 1)).launch(params(artifact, 0), 300, 1, 1, 0)
    device.synchronize()
    said = capfd.readouterr()
    assert len(said.out.splitlines()) == (1 << 20) // 16
    assert "are lost" in said.err


def test_lines_of_a_kernel_that_is_dropped(device, capfd):
    site = PrintSite(("here",), ())
    body = (
        PRINT.replace("16u", "8u")
        .replace("head + 16", "head + 8")
        .replace("at(REPORT, record + 2) = i + n;", "")
    )
    artifact = kernel("n: uint", body, prints=(site,))
    device.load(artifact).bind((1, 1, 1)).launch(params(artifact, 0), 2, 1, 1, 0)
    device.synchronize()
    assert capfd.readouterr().out == "here\nhere\n"
    assert not device.unread


# --- failures of command buffers


def failing(device, gpu, code):
    """A kernel on a stream, whose command buffer ends with an error of Metal."""
    artifact = kernel("values: ulong", "at(values, i) += 1;")
    bound = device.load(artifact).bind((4, 1, 1))
    data, stream = to_device(device, np.zeros(4, np.uint32)), device.new_stream()
    gpu.fails = code, "as told"
    stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
    return artifact, bound, data, stream


@pytest.mark.parametrize(
    "code, number, told",
    [
        (1, 719, "internal error"),
        (2, 702, "longer than the system allows"),
        (3, 700, "page fault"),
        (8, 2, "out of memory"),
        (11, 46, "removed"),
        (12, 719, "stack"),
        (99, 719, "does not know"),
    ],
)
def test_errors_of_command_buffers(device, gpu, code, number, told):
    *_, stream = failing(device, gpu, code)
    with pytest.raises(DeviceError, match=rf"{told}.*in k_main \(MTL.* {code}: as told") as caught:
        stream.synchronize()
    assert caught.value.number == number
    device.reset()


def test_a_fault_stays_until_the_device_is_reset(device, gpu):
    artifact, bound, data, stream = failing(device, gpu, 3)
    bound.launch(params(artifact, data), 1, 1, 1, 0)  # behind it, in the same command buffer
    with pytest.raises(DeviceError, match="700") as caught:
        stream.synchronize()
    for work in (
        device.synchronize,
        lambda: device.allocate(8),
        lambda: stream.fill(data.address, 0, 4),
        lambda: bound.launch(params(artifact, data), 1, 1, 1, 0),
        lambda: device.new_event().record(stream),
        lambda: device.load(artifact),
    ):
        with pytest.raises(DeviceError, match="700") as again:
            work()
        assert again.value is not caught.value
    device.reset()
    assert not words(device, data).any()
    bound.launch(params(artifact, data), 1, 1, 1, 0)
    stream.synchronize()
    assert (words(device, data) == 1).all()


def test_an_address_of_nobody(device):
    artifact = kernel("values: ulong", "at(values, i) += 1;")
    bound = device.load(artifact).bind((4, 1, 1))
    bound.launch(params(artifact, 64), 1, 1, 1, 0)
    with pytest.raises(DeviceError, match=r"700.*page fault at 0x4"):
        device.synchronize()
    device.reset()


def test_the_hosts_address_is_not_the_devices(device):
    data, pinned = device.allocate(16), device.allocate_host(16, "pinned")
    assert data.owner.pointer != data.address
    assert pinned.address == pinned.owner.pointer != pinned.owner.address


def test_work_after_a_failure_that_nobody_has_seen(device, gpu):
    artifact, bound, data, stream = failing(device, gpu, 2)
    device.recorder.flush()
    with pytest.raises(DeviceError, match="702"):
        for _ in range(1000):  # several command buffers
            stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
        stream.synchronize()
    device.reset()
