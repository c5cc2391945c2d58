"""What kernels print, several that raise, and devices that are lost."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.host_driven.programs import RAISE
from tests.runtime.single_buffer.texts import ADD_ONE, kernel

from gridlane.core import dtypes, error_history
from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import KernelErrorSite, PrintSite
from gridlane.core.errors import DeviceError

ERRORS = (KernelErrorSite("ValueError", "odd"), KernelErrorSite("IndexError", "too far"))
# Thread 0 prints for all.
PRINT = f"""
    VAR report = launch[6] >> 2u;
    if (i == 0u) {{
        for (VAR k = 0u; k < lines; k++) {{
            VAR head = heap[report + {abi.PRINT_HEAD_OFFSET // 4}u];
            heap[report + {abi.PRINT_HEAD_OFFSET // 4}u] = head + 16u;
            if (head + 16u <= heap[report + {abi.PRINT_CAPACITY_OFFSET // 4}u]) {{
                VAR record = report + {abi.RECORDS_OFFSET // 4}u + head / 4u;
                heap[record + 2u] = k + n;
                heap[record] = 1u;
            }}
        }}
    }}
"""
SITE = PrintSite(("line ", None), (dtypes.u32,))


@pytest.fixture
def raising(device):
    """A kernel that raises error ``values[i] - 1``."""
    artifact = kernel(device, *RAISE["single_buffer"], (4, 1, 1), errors=ERRORS)
    return artifact, device.load(artifact).bind((4, 1, 1))


def printing(device):
    """A kernel that prints ``lines`` numbers from ``n`` on."""
    artifact = kernel(device, "n: u32, lines: u32", PRINT, (4, 1, 1), prints=(SITE,))
    return artifact, device.load(artifact).bind((4, 1, 1))


def test_two_kernels_that_raise(device, raising):
    artifact, first = raising
    second = device.load(artifact).bind((4, 1, 1))
    data, stream = to_device(device, np.array([1, 0, 0, 0], np.uint32)), device.new_stream()
    for bound in (first, second):
        stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
    for _ in range(2):
        with pytest.raises(ValueError, match="odd"):
            stream.synchronize()
    stream.synchronize()


def test_a_kernel_that_prints(device, capfd):
    artifact, bound = printing(device)
    for n in (0, 100):
        bound.launch(params(artifact, n, 4), 1, 1, 1, 0)
        bound.launch(params(artifact, n + 10, 1), 1, 1, 1, 0)
        device.synchronize()
        lines = capfd.readouterr().out.splitlines()
        assert lines == [f"line {n + k}" for k in (0, 1, 2, 3, 10)]


def test_lines_are_printed_before_results_are_seen(device, capfd):
    artifact, bound = printing(device)
    data, stream = to_device(device, np.zeros(4, np.uint32)), device.new_stream()
    stream.launch(bound, params(artifact, 5, 1), 1, 1, 1, 0)
    stream.read(memoryview(bytearray(16)), data.address)
    assert capfd.readouterr().out == "line 5\n"


def test_more_lines_than_are_kept(device, capfd):
    artifact, bound = printing(device)
    kept = (1 << 20) // 16
    for n, lines in enumerate((30_000, 30_000, kept + 10 - 60_000)):
        bound.launch(params(artifact, 30_000 * n, lines), 1, 1, 1, 0)
    device.synchronize()
    said = capfd.readouterr()
    assert said.out.splitlines() == [f"line {n}" for n in range(kept)]
    assert "160 bytes more than" in said.err and "are lost" in said.err
    bound.launch(params(artifact, 7, 1), 1, 1, 1, 0)
    device.synchronize()
    assert capfd.readouterr().out == "line 7\n"


def test_lines_of_a_kernel_that_is_dropped(device, capfd):
    artifact, bound = printing(device)
    bound.launch(params(artifact, 3, 1), 1, 1, 1, 0)
    del bound
    gc.collect()
    device.synchronize()
    assert capfd.readouterr().out == "line 3\n" and not device.unread


def test_a_lost_device(device, monkeypatch):
    artifact = kernel(device, *ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    data, stream = device.allocate(256), device.new_stream()
    stream.launch(bound, params(artifact, data, 64), 1, 1, 1, 0)

    def refuse(commands, arena):
        raise RuntimeError("gone with the wind")

    error_history.clear()

    monkeypatch.setattr(device.engine, "submit", refuse)
    with pytest.raises(DeviceError, match=r"\(719\).*is lost.*gone with the wind") as caught:
        stream.synchronize()
    assert "run it on the device cpu with GRIDLANE_CHECK=1" in str(caught.value)
    for work in (
        device.synchronize,
        lambda: device.allocate(8),
        lambda: stream.fill(data.address, 0, 4),
        lambda: bound.launch(params(artifact, data, 64), 1, 1, 1, 0),
        lambda: device.new_event().record(stream),
        lambda: device.load(artifact),
    ):
        with pytest.raises(DeviceError, match="719") as again:
            work()
        assert again.value is not caught.value
    del work
    (entry,) = error_history.entries()
    assert (entry.category, entry.device) == ("lost", device.name)
    assert artifact.name in entry.kernel
    lost = device.context
    device.reset()
    assert device.context is not lost
    fresh = to_device(device, np.zeros(64, np.uint32))
    bound.launch(params(artifact, fresh, 64), 1, 1, 1, 0)  # the kernel is loaded again
    assert (words(device, fresh) == 1).all()
    with pytest.raises(DeviceError, match="719"):
        stream.synchronize()


def test_a_driver_that_breaks_while_it_is_waited_for(device, monkeypatch):
    data = device.allocate(256)
    device.default_stream.fill(data.address, 0, 256)

    def refuse(fence, ns):
        raise RuntimeError("no answer")

    monkeypatch.setattr(device.engine, "poll", refuse)
    with pytest.raises(DeviceError, match=r"719.*no answer"):
        device.synchronize()
    device.reset()
    device.synchronize()
