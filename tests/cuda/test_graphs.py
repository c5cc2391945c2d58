"""``cuda.capture`` on the device of this process."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gridlane import algorithms, cuda
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


@pytest.mark.parametrize("name", ["inclusive_scan", "radix_sort"])
def test_algorithms_have_memory_of_the_graph(name):
    """Their temporary memory is the graph's own: what is allocated afterwards is apart from it."""
    stream, rng = cuda.stream(), np.random.default_rng(7)
    x, out = (cuda.to_device(np.zeros(5000, np.int32)) for _ in range(2))
    with cuda.capture(stream) as graph:
        if name == "inclusive_scan":
            algorithms.inclusive_scan(
                d_in=x, d_out=out, op=algorithms.OpKind.PLUS, init_value=None, num_items=5000,
                stream=stream,
            )  # fmt: skip
        else:
            algorithms.radix_sort(
                d_in_keys=x, d_out_keys=out, d_in_values=None, d_out_values=None, num_items=5000,
                order=algorithms.SortOrder.ASCENDING, stream=stream,
            )  # fmt: skip
    work = graph.instantiate()
    del graph
    gc.collect()
    others = [cuda.to_device(np.full(n, 255, np.uint8)) for n in (1 << 12, 1 << 15, 1 << 18)]
    for _ in range(3):
        values = rng.integers(-9, 9, 5000).astype(np.int32)
        x.copy_to_device(values)
        work.launch(stream)
        stream.synchronize()
        wanted = np.cumsum(values) if name == "inclusive_scan" else np.sort(values)
        assert (out.copy_to_host() == wanted).all()
    assert all((each.copy_to_host() == 255).all() for each in others)
