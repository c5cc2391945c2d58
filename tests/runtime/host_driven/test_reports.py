"""What kernels raise and print."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device
from tests.runtime.host_driven.programs import PRINT, PRINT_WORDS, RAISE, family_of, kernel

from gridlane.core import dtypes
from gridlane.core.artifact import KernelErrorSite, PrintSite
from gridlane.core.device_errors import KernelStop

ERRORS = (KernelErrorSite("ValueError", "odd"), KernelErrorSite("IndexError", "too far"))


@pytest.fixture
def raising(device):
    """A kernel that raises error ``values[i] - 1``."""
    artifact = kernel(device, RAISE, (4, 1, 1), errors=ERRORS)
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
    wrong = np.ones(8, np.uint32)
    if family_of(device) == "single_buffer":
        wrong[np.arange(8) != 1] = 0  # one thread at most raises there
    data, stream = to_device(device, wrong), device.new_stream()
    stream.launch(bound, params(artifact, data), 2, 1, 1, 0)
    with pytest.raises(ValueError, match="odd"):
        stream.synchronize()
    stream.launch(bound, params(artifact, data), 2, 1, 1, 0)
    bound.explain = lambda stop: RuntimeError(f"explained {stop.text}")
    with pytest.raises(RuntimeError, match="explained odd"):
        device.synchronize()
    stream.launch(bound, params(artifact, data), 2, 1, 1, 0)
    stream.drain()
    with pytest.raises(RuntimeError, match="explained odd"):
        stream.synchronize()
    stream.launch(bound, params(artifact, data), 2, 1, 1, 0)
    device.reset()
    device.synchronize()


# --- prints, which heap/test_reports.py has for the others ---


def test_a_kernel_that_prints(suballocated, capfd):
    site = PrintSite(("thread ", None), (dtypes.u32,))
    artifact = kernel(suballocated, PRINT, prints=(site,))
    bound = suballocated.load(artifact).bind((4, 1, 1))
    for n in (0, 100):
        bound.launch(params(artifact, n), 1, 1, 1, 0)
        suballocated.synchronize()
        lines = capfd.readouterr().out.splitlines()
        assert sorted(lines) == [f"thread {n + i}" for i in range(4)]


def test_more_lines_than_are_kept(suballocated, capfd):
    site = PrintSite((None,), (dtypes.u32,))
    artifact = kernel(suballocated, PRINT, prints=(site,))
    suballocated.load(artifact).bind((256, 1, 1)).launch(params(artifact, 0), 300, 1, 1, 0)
    suballocated.synchronize()
    said = capfd.readouterr()
    assert len(said.out.splitlines()) == (1 << 20) // 16
    assert "are lost" in said.err


def test_lines_of_a_kernel_that_is_dropped(suballocated, capfd):
    site = PrintSite(("here",), ())
    artifact = kernel(suballocated, PRINT_WORDS, prints=(site,))
    suballocated.load(artifact).bind((1, 1, 1)).launch(params(artifact, 0), 2, 1, 1, 0)
    suballocated.synchronize()
    assert capfd.readouterr().out == "here\nhere\n"
    assert not suballocated.unread
