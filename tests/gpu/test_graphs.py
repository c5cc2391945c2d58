"""Graphs on a real GPU."""

from __future__ import annotations

import textwrap

import pytest
from tests.gpu import programs

HEAD = """
import gc
import numpy as np
from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.launch.devices import get_device

@cuda.jit
def step(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * factor + 1

device = get_device("cuda")
x = cuda.to_device(np.zeros(1 << 16))
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs a program on the GPU, in a process whose device it is."""
    return lambda body: programs.run(tmp_path, HEAD + textwrap.dedent(body))


@pytest.mark.parametrize("warm", [False, True], ids=["first launch", "prepared"])
@pytest.mark.parametrize("apart", [False, True], ids=["blocking", "apart"])
def test_a_graph_does_its_work_at_each_launch(run, warm, apart):
    run(f"""
        native = device.new_stream({apart})
        stream = cuda.external_stream(native.handle)
        if {warm}:
            step[256, 256, stream](x, 0.0)
            step[256, 256, stream](x, 0.0)
            stream.synchronize()
            x.copy_to_device(np.zeros(1 << 16))
        with cuda.capture(stream) as graph:
            for _ in range(10):
                step[256, 256, stream](x, 1.0)
        stream.synchronize()
        assert len(graph) == 10 and not x.copy_to_host().any()
        work = graph.instantiate()
        del graph
        for _ in range(5):
            work.launch(stream)
        stream.synchronize()
        assert (x.copy_to_host() == 50).all()
        work.launch()
        cuda.synchronize()
        assert (x.copy_to_host() == 60).all()
    """)


def test_copies_fills_and_host_functions(run):
    run("""
        stream, calls = cuda.stream(), []
        source, target = cuda.pinned_array(1 << 16), cuda.pinned_array(1 << 16)
        source[:] = 3
        with cuda.capture(stream) as graph:
            x.copy_to_device(source, stream=stream)
            step[256, 256, stream](x, 2.0)
            x.copy_to_host(target, stream=stream)
            stream.submit(lambda: calls.append(float(target[0])))
        work = graph.instantiate()
        for value in (3, 4):
            source[:] = value
            work.launch(stream)
            stream.synchronize()
            assert (target == 2 * value + 1).all()
        assert calls == [7.0, 9.0]
    """)


def test_streams_join_by_events(run):
    run("""
        one, two = cuda.stream(), cuda.stream()
        y = cuda.to_device(np.zeros(1 << 16))
        fork, join = cuda.event(timing=False), cuda.event(timing=False)
        with cuda.capture(one) as graph:
            fork.record(one)
            fork.wait(two)
            step[256, 256, two](y, 1.0)
            step[256, 256, one](x, 1.0)
            join.record(two)
            join.wait(one)
        work = graph.instantiate()
        work.launch(one)
        work.launch(one)
        one.synchronize()
        assert (x.copy_to_host() == 2).all() and (y.copy_to_host() == 2).all()
    """)


def test_garbage_and_refusals_do_not_break_a_capture(run):
    run("""
        stream = cuda.stream()
        waste = [cuda.device_array(1000), cuda.event(), cuda.pinned_array(1000)]
        refused = 0
        with cuda.capture(stream) as graph:
            step[256, 256, stream](x, 1.0)
            waste.clear()
            gc.collect()
            for work in (stream.synchronize, cuda.synchronize, lambda: cuda.to_device([8]),
                         x.copy_to_host, lambda: step[1, 1](x, 1.0), stream.query):
                try:
                    work()
                except DeviceError as error:
                    assert error.number in (900, 906), error
                    refused += 1
            step[256, 256, stream](x, 1.0)
        assert refused == 6
        graph.instantiate().launch(stream)
        gc.collect()
        stream.synchronize()
        assert (x.copy_to_host() == 2).all()
    """)


@pytest.mark.parametrize("apart", [False, True], ids=["blocking", "apart"])
def test_memory_of_a_capture(run, apart):
    run(f"""
        from gridlane import algorithms

        native = device.new_stream({apart})
        stream, rng = cuda.external_stream(native.handle), np.random.default_rng(5)
        x, out = (cuda.to_device(np.zeros(1 << 16, np.int32)) for _ in range(2))
        with cuda.capture(stream) as graph:
            between = cuda.device_array(1 << 16, np.int32)
            algorithms.inclusive_scan(
                d_in=x, d_out=between, op=algorithms.OpKind.PLUS, num_items=1 << 16, stream=stream
            )
            algorithms.radix_sort(
                d_in_keys=between, d_out_keys=out, num_items=1 << 16,
                order=algorithms.SortOrder.ASCENDING, stream=stream,
            )
        work = graph.instantiate()
        del graph, between
        gc.collect()
        waste = [cuda.to_device(np.full(n, 255, np.uint8)) for n in (1 << 16, 1 << 20, 1 << 24)]
        for _ in range(3):
            values = rng.integers(-99, 99, 1 << 16).astype(np.int32)
            x.copy_to_device(values)
            work.launch(stream)
            stream.synchronize()
            assert (out.copy_to_host() == np.sort(np.cumsum(values))).all()
        used = device.memory.statistics().used
        del work
        gc.collect()
        assert device.memory.statistics().used < used
        assert all((each.copy_to_host() == 255).all() for each in waste)
    """)
