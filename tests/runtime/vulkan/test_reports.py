"""What kernels raise and print."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.vulkan.shaders import kernel

from gridlane.core import dtypes
from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import KernelErrorSite, PrintSite
from gridlane.core.errors import DeviceError
from gridlane.runtime.errors import KernelStop

ERRORS = (KernelErrorSite("ValueError", "odd"), KernelErrorSite("IndexError", "too far"))
RAISE = f"""
    if (at(values, i) != 0 && atomicExchange(at(REPORT, {abi.CLAIMED_OFFSET // 4}), 1) == 0) {{
        for (uint k = 0; k < 3; k++) {{
            at(REPORT, {abi.THREAD_OFFSET // 4} + k) = gl_LocalInvocationID[k];
            at(REPORT, {abi.BLOCK_OFFSET // 4} + k) = block[k];
        }}
        memoryBarrier();
        at(REPORT, {abi.ERROR_OFFSET // 4}) = at(values, i);
    }}
"""
PRINT = f"""
    uint head = atomicAdd(at(REPORT, {abi.PRINT_HEAD_OFFSET // 4}), 16);
    if (head + 16 <= at(REPORT, {abi.PRINT_CAPACITY_OFFSET // 4})) {{
        uint record = ({abi.RECORDS_OFFSET} + head) / 4;
        at(REPORT, record + 2) = i + n;
        memoryBarrier();
        at(REPORT, record) = 1;
    }}
"""


@pytest.fixture
def raising(device):
    """A kernel that raises error ``values[i] - 1``."""
    artifact = kernel("values: uint64_t", RAISE, errors=ERRORS)
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
    artifact = kernel("n: uint32_t", PRINT, prints=(site,))
    bound = device.load(artifact).bind((4, 1, 1))
    for n in (0, 100):
        bound.launch(params(artifact, n), 1, 1, 1, 0)
        device.synchronize()
        lines = capfd.readouterr().out.splitlines()
        assert sorted(lines) == [f"thread {n + i}" for i in range(4)]


def test_more_lines_than_are_kept(device, capfd):
    site = PrintSite((None,), (dtypes.u32,))
    artifact = kernel("n: uint32_t", PRINT, prints=(site,))
    device.load(artifact).bind((256, 1, 1)).launch(params(artifact, 0), 300, 1, 1, 0)
    device.synchronize()
    said = capfd.readouterr()
    assert len(said.out.splitlines()) == (1 << 20) // 16
    assert "are lost" in said.err


def test_lines_of_a_kernel_that_is_dropped(device, capfd):
    site = PrintSite(("here",), ())
    body = PRINT.replace("16", "8").replace("at(REPORT, record + 2) = i + n;", "")
    artifact = kernel("n: uint32_t", body, prints=(site,))
    device.load(artifact).bind((1, 1, 1)).launch(params(artifact, 0), 2, 1, 1, 0)
    device.synchronize()
    assert capfd.readouterr().out == "here\nhere\n"
    assert not device.unread


def test_a_lost_device(device, living, monkeypatch):
    artifact = kernel("values: uint64_t", "at(values, i) += 1;")
    bound = device.load(artifact).bind((4, 1, 1))
    data, stream = device.allocate(16), device.new_stream()
    stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
    submit = device.context.vk.vkQueueSubmit
    monkeypatch.setattr(device.context.vk, "vkQueueSubmit", lambda *args: -4)
    with pytest.raises(DeviceError, match=r"\(719\).*VK_ERROR_DEVICE_LOST.*in main") as caught:
        stream.synchronize()
    assert "interp" in str(caught.value)
    for work in (
        device.synchronize,
        lambda: device.allocate(8),
        lambda: stream.fill(data.address, 0, 4),
        lambda: bound.launch(params(artifact, data), 1, 1, 1, 0),
        lambda: device.new_event().record(stream),
        lambda: device.load(artifact),
    ):
        with pytest.raises(DeviceError, match="719") as again:
            work()
        assert again.value is not caught.value
    device.context.vk.vkQueueSubmit = submit
    lost = device.context
    living.clear()  # what the lost device has made is left alone
    device.reset()
    assert device.context is not lost
    fresh = to_device(device, np.zeros(4, np.uint32))
    bound.launch(params(artifact, fresh), 1, 1, 1, 0)  # the kernel is loaded again
    assert (words(device, fresh) == 1).all()
    with pytest.raises(DeviceError, match="719"):
        stream.synchronize()
