"""Graphs and captures of CUDA's interface above the driver of NVIDIA GPUs: copies, fills, calls and
events, with work that runs at once or as late as the driver may run it."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.abi.conftest import forget
from tests.abi.graphing import (
    GLOBAL,
    calling,
    copying,
    device_array,
    filling,
    good,
    host_array,
    host_function,
    new_graph,
    new_stream,
)

from gridlane.cuda import driver as cu
from gridlane.launch import current

N = 64
VALUES = np.arange(N, dtype=np.uint32)


@pytest.fixture(params=[False, True], ids=["at once", "late"])
def context(machine, device, request):
    before = current.choose(device)
    forget()
    good(cu.cuInit(0))
    made = good(cu.cuCtxCreate(None, 0, 0))
    machine.late(request.param)
    yield made
    machine.late(False)
    cu.cuCtxDestroy(made)
    forget()
    current.choose(before)
    gc.collect()


def finished(made, *graphs):
    good(cu.cuCtxSynchronize())
    good(cu.cuGraphExecDestroy(made))
    for each in graphs:
        good(cu.cuGraphDestroy(each))


def test_pageable_memory_is_read_when_the_graph_runs(context):
    source, back = VALUES.copy(), VALUES * 0
    x, y = device_array(VALUES * 0), device_array(VALUES * 0)

    def double(_):
        source[:] *= 2

    function, event = host_function(double), good(cu.cuEventCreate(0))
    graph = new_graph()
    steps = [
        (cu.cuGraphAddHostNode, (calling(function),)),
        (cu.cuGraphAddMemcpyNode, (copying(x, source, 4 * N), context)),
        (cu.cuGraphAddEventRecordNode, (event,)),
        (cu.cuGraphAddMemcpyNode, (copying(y, x, 4 * N), context)),
        (cu.cuGraphAddMemsetNode, (filling(y, 7, 3), context)),
        (cu.cuGraphAddEventWaitNode, (event,)),
        (cu.cuGraphAddMemcpyNode, (copying(back, y, 4 * N), context)),
    ]
    nodes = []
    for add, args in steps:
        nodes.append(good(add(graph, nodes[-1:], len(nodes[-1:]), *args)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    streams = [new_stream(), new_stream(), 0]
    for n, stream in enumerate(streams, 1):
        good(cu.cuGraphLaunch(made, stream))
        good(cu.cuStreamSynchronize(stream))
        expected = VALUES * 2**n
        expected[:3] = 7
        assert (back == expected).all()
    for stream in streams:  # the launches wait for each other
        good(cu.cuGraphLaunch(made, stream))
    good(cu.cuCtxSynchronize())
    assert (back[3:] == VALUES[3:] * 2**6).all()
    finished(made, graph)


def test_a_capture_of_two_streams(context):
    source, back = VALUES.copy(), VALUES * 0
    x, y = device_array(VALUES * 0), device_array(VALUES * 0)
    first, second = new_stream(), new_stream()
    fork, join = good(cu.cuEventCreate(2)), good(cu.cuEventCreate(2))
    good(cu.cuStreamBeginCapture(first, GLOBAL))
    good(cu.cuMemcpyHtoDAsync(x, source, 4 * N, first))
    good(cu.cuEventRecord(fork, first))
    good(cu.cuStreamWaitEvent(second, fork, 0))
    good(cu.cuMemcpyDtoDAsync(y, x, 4 * N, second))
    good(cu.cuMemsetD32Async(x, 5, 4, first))
    good(cu.cuEventRecord(join, second))
    good(cu.cuStreamWaitEvent(first, join, 0))
    good(cu.cuMemcpyDtoDAsync(int(y) + 4 * 32, x, 16, first))
    good(cu.cuMemcpyDtoHAsync(back, y, 4 * N, first))
    graph = good(cu.cuStreamEndCapture(first))
    assert not host_array(y, VALUES).any()
    made = good(cu.cuGraphInstantiate(graph, 0))
    for _ in range(3):
        source += 1
        good(cu.cuGraphLaunch(made, second))
        good(cu.cuStreamSynchronize(second))
        expected = source.copy()
        expected[32:36] = 5
        assert (back == expected).all()
    finished(made, graph)


def test_an_executable_that_ends_while_the_device_is_lost(context, machine, device):
    """The end gives back what it can: it is no work of the device."""
    graph, x, stream = new_graph(), device_array(VALUES), new_stream()
    good(cu.cuGraphAddMemsetNode(graph, None, 0, filling(x, 7, 3), context))
    made = good(cu.cuGraphInstantiate(graph, 0))
    good(cu.cuGraphLaunch(made, stream))
    ended = []
    destroy = host_function(ended.append)
    item = good(cu.cuUserObjectCreate(5, destroy, 1, 1))
    good(cu.cuGraphRetainUserObject(graph, item, 1, 1))
    other = good(cu.cuGraphInstantiate(graph, 0))
    good(cu.cuGraphLaunch(other, stream))
    good(cu.cuGraphDestroy(graph))
    machine.fail("cuEventQuery", 719)
    good(cu.cuGraphExecDestroy(other))
    assert ended == [5]
    good(cu.cuGraphExecDestroy(made))
    device.reset()
