"""A stream lives as long as somebody holds it, and what is kept for it no longer."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from gridlane import cuda


@cuda.jit
def increment(x):
    x[0] += 1


@pytest.fixture(autouse=True)
def _without_collector():
    """References alone must do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _stream_threads():
    return [each for each in threading.enumerate() if each.name == "gridlane-stream"]


def test_dropped_streams_end_behind_their_work():
    x, before = cuda.to_device(np.zeros(1, np.int32)), set(_stream_threads())
    for _ in range(60):
        increment[1, 1, cuda.stream()](x)
    cuda.synchronize()
    assert x.copy_to_host()[0] == 60
    for thread in set(_stream_threads()) - before:
        thread.join(timeout=60)
    assert not set(_stream_threads()) - before


def test_a_configured_kernel_holds_its_stream():
    x = cuda.to_device(np.zeros(1, np.int32))
    configured = increment[1, 1, cuda.stream()]
    configured(x)
    configured.stream.synchronize()
    assert x.copy_to_host()[0] == 1


def test_launches_on_a_stream_are_kept_with_it():
    stream, other = cuda.stream(), cuda.stream()
    before = len(increment._configured)
    assert increment[1, 1, stream] is increment[1, 1, stream]
    assert increment[1, 1, stream] is not increment[1, 1, other]
    assert increment[1, 1, stream].stream == stream != other
    increment[1, 2, stream], increment[1, 2, stream, 64]
    assert len(increment._configured) == before + 4
    del stream
    assert len(increment._configured) == before + 1


def test_a_stream_does_not_hold_kernels():
    import weakref

    @cuda.jit
    def own(x):
        x[0] = 1

    stream, reference = cuda.stream(), weakref.ref(own)
    own[1, 1, stream]
    del own
    gc.collect()
    assert reference() is None
