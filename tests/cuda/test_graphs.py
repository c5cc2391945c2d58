"""``cuda.capture`` on the device of this process."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import DeviceError


@cuda.jit
def scale_and_add(x, factor, amount):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * factor + amount


def test_a_graph_does_its_work_at_each_launch():
    stream, x = cuda.stream(), cuda.to_device(np.ones(40))
    with cuda.capture(stream) as graph:
        scale_and_add[2, 32, stream](x, 2.0, 0.0)
        scale_and_add[2, 32, stream](x, 1.0, 1.0)
    assert x.copy_to_host()[0] == 1 and len(graph) == 2
    work = graph.instantiate()
    work.launch(stream)
    work.replay(stream)
    stream.synchronize()
    assert x.copy_to_host().tolist() == [7.0] * 40
    work.launch()
    cuda.synchronize()
    assert x.copy_to_host().tolist() == [15.0] * 40


def test_begin_and_end():
    stream, x = cuda.stream(), cuda.to_device(np.ones(4))
    stream.begin_capture()
    scale_and_add[1, 32, stream](x, 3.0, 0.0)
    stream.end_capture().instantiate().launch(stream)
    stream.synchronize()
    assert x.copy_to_host().tolist() == [3.0] * 4


def test_host_arrays_are_refused():
    stream = cuda.stream()
    with pytest.raises(DeviceError, match=r"\(900\)"):
        with cuda.capture(stream):
            scale_and_add[1, 32, stream](np.ones(4), 2.0, 0.0)
    x = np.ones(4)
    scale_and_add[1, 32, stream](x, 2.0, 0.0)  # the stream is as before
    assert x.tolist() == [2.0] * 4


def test_an_error_in_the_block_is_the_user_s():
    stream = cuda.stream()
    with pytest.raises(ZeroDivisionError):
        with cuda.capture(stream) as graph:
            1 / 0
    with pytest.raises(DeviceError, match="capture has not ended"):
        graph.instantiate()
    stream.synchronize()


def test_the_default_stream_is_refused():
    with pytest.raises(DeviceError, match=r"\(900\).*default stream"):
        with cuda.capture(0):
            pass
