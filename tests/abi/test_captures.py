"""Captures of streams, on each device: documented results and errors."""

import ctypes
import itertools
import threading

import numpy as np
import pytest
from tests.abi.graphing import (
    BAD,
    GLOBAL,
    KIND,
    LOCAL,
    OK,
    RELAXED,
    TYPES,
    address,
    device_array,
    edges_of,
    good,
    host_array,
    host_function,
    kernel,
    launch,
    name_of,
    new_graph,
    new_stream,
    nodes_of,
    run,
)

from gridlane.abi.library.entry import resolve
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

N = 100
VALUES = np.arange(N, dtype=np.uint32)
STATUS = cu.CUstreamCaptureStatus


def status(stream):
    return good(cu.cuStreamIsCapturing(stream)).name.removeprefix("CU_STREAM_CAPTURE_STATUS_")


def info(stream):
    return good(cu.cuStreamGetCaptureInfo(stream))


@pytest.fixture
def stream(begun):
    return new_stream()


def new_event():
    return good(cu.cuEventCreate(2))


def test_work_becomes_nodes_and_executes_later(stream):
    function, x, y = kernel(), device_array(VALUES * 0), device_array(VALUES * 0)
    source, back, seen = VALUES.copy(), VALUES * 0, []
    note = host_function(seen.append)
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuMemcpyHtoDAsync(x, source, 4 * N, stream))
    good(launch(function, stream, x, 2, 1, N))
    good(cu.cuMemcpyDtoDAsync(y, x, 4 * N, stream))
    good(cu.cuMemsetD32Async(y, 5, 10, stream))
    good(cu.cuMemcpyDtoHAsync(back, y, 4 * N, stream))
    good(cu.cuLaunchHostFunc(stream, ctypes.cast(note, ctypes.c_void_p).value, 9))
    graph = good(cu.cuStreamEndCapture(stream))
    nodes = nodes_of(graph)
    assert [good(cu.cuGraphNodeGetType(each)) for each in nodes] == [
        KIND.CU_GRAPH_NODE_TYPE_MEMCPY,
        KIND.CU_GRAPH_NODE_TYPE_KERNEL,
        KIND.CU_GRAPH_NODE_TYPE_MEMCPY,
        KIND.CU_GRAPH_NODE_TYPE_MEMSET,
        KIND.CU_GRAPH_NODE_TYPE_MEMCPY,
        KIND.CU_GRAPH_NODE_TYPE_HOST,
    ]
    assert edges_of(graph) == set(itertools.pairwise(nodes))
    copy = good(cu.cuGraphMemcpyNodeGetParams(nodes[0]))
    assert copy.srcHost == source.ctypes.data and copy.dstDevice == x
    assert copy.WidthInBytes == 4 * N
    good(cu.cuStreamSynchronize(stream))
    assert not back.any() and not seen and not host_array(x, VALUES).any()
    source[:] += 1  # it is read when the graph runs
    run(graph)
    expected = source * 2 + 1
    expected[:10] = 5
    assert (back == expected).all() and seen == [9]


def test_forks_and_joins(stream, begun):
    function, x, y = kernel(), device_array(VALUES), device_array(VALUES)
    other, fork, join = new_stream(), new_event(), new_event()
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(launch(function, stream, x, 2, 0, N))
    good(cu.cuEventRecord(fork, stream))
    assert status(other) == "NONE"
    good(cu.cuStreamWaitEvent(other, fork, 0))
    assert status(other) == "ACTIVE"
    assert info(other)[1] == info(stream)[1] and info(other)[2] == info(stream)[2]
    good(launch(function, other, y, 3, 0, N))
    good(launch(function, stream, x, 1, 7, N))
    good(cu.cuEventRecord(join, other))
    good(cu.cuStreamWaitEvent(stream, join, 0))
    good(cu.cuMemcpyDtoDAsync(y, x, 40, stream))
    graph = good(cu.cuStreamEndCapture(stream))
    assert status(other) == "NONE"
    a, b, c, d = nodes_of(graph)
    assert edges_of(graph) == {(a, b), (a, c), (b, d), (c, d)}
    run(graph)
    expected = VALUES * 3
    expected[:10] = (VALUES * 2 + 7)[:10]
    assert (host_array(y, VALUES) == expected).all()
    good(launch(function, other, y, 0, 1, N))  # it executes again
    assert (host_array(y, VALUES) == 1).all()


@pytest.mark.parametrize("name", ["cuStreamEndCapture", "cudaStreamEndCapture"])
def test_the_graph_of_an_invalid_capture_is_null(stream, name):
    """By CUDA's documentation; a capture that cannot end here leaves the caller's variable."""
    api = "driver" if name.startswith("cuS") else "runtime"
    enter = resolve(f"{api}:{name}")
    function, x = kernel(), device_array(VALUES)
    other, fork, before = new_stream(), new_event(), 0x1234
    made = ctypes.c_uint64(before)
    place = ctypes.addressof(made)
    assert enter(int(stream), place) != 0 and made.value == before
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    assert name_of(cu.cuStreamSynchronize(stream)) == "STREAM_CAPTURE_UNSUPPORTED"
    assert enter(int(stream), place) == 901 and made.value == 0
    made.value = before
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuEventRecord(fork, stream))
    good(cu.cuStreamWaitEvent(other, fork, 0))
    good(launch(function, other, x, 1, 0, N))
    assert enter(int(stream), place) == 904 and made.value == 0
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    assert enter(int(stream), place) == 0 and made.value not in (0, before)


def test_a_fork_without_a_join(stream):
    function, x = kernel(), device_array(VALUES)
    other, fork = new_stream(), new_event()
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuEventRecord(fork, stream))
    good(cu.cuStreamWaitEvent(other, fork, 0))
    assert name_of(cu.cuStreamEndCapture(other)) == "STREAM_CAPTURE_UNMATCHED"
    assert name_of(cu.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"
    assert status(other) == status(stream) == "NONE"

    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuEventRecord(fork, stream))
    good(cu.cuStreamWaitEvent(other, fork, 0))
    good(launch(function, other, x, 2, 0, N))
    graph = info(stream)[2]
    assert name_of(cu.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_UNJOINED"
    assert status(other) == status(stream) == "NONE"
    assert cu.cuGraphGetNodes(graph)[0] == BAD
    good(launch(function, other, x, 2, 0, N))
    assert (host_array(x, VALUES) == VALUES * 2).all()


def test_the_state_of_a_capture(stream):
    function, x = kernel(), device_array(VALUES)
    state, number, graph, nodes, data, count = info(stream)
    assert state == STATUS.CU_STREAM_CAPTURE_STATUS_NONE
    assert (int(number), int(graph), nodes, data, count) == (0, 0, [], [], 0)
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(launch(function, stream, x, 2, 0, N))
    state, number, graph, nodes, data, count = info(stream)
    assert state == STATUS.CU_STREAM_CAPTURE_STATUS_ACTIVE
    assert int(number) and nodes == nodes_of(graph) and count == len(data) == 1
    assert cu.cuGraphDestroy(graph)[0] == BAD
    assert cu.cuGraphDestroyNode(nodes[0])[0] == BAD
    assert cu.cuGraphInstantiate(graph, 0)[0] == BAD
    assert good(cu.cuStreamEndCapture(stream)) == graph
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    assert info(stream)[1] != number
    assert nodes_of(good(cu.cuStreamEndCapture(stream))) == []


def test_dependencies_of_a_capture_can_be_changed(stream):
    function, x = kernel(), device_array(VALUES)
    flags = cu.CUstreamUpdateCaptureDependencies_flags
    update = cu.cuStreamUpdateCaptureDependencies
    assert name_of(update(stream, None, None, 0, 0)) == "ILLEGAL_STATE"
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(launch(function, stream, x, 2, 0, N))
    _, _, graph, (a,), _, _ = info(stream)
    b = good(cu.cuGraphAddEmptyNode(graph, [a], 1))
    c = good(cu.cuGraphAddEmptyNode(graph, [a], 1))
    good(update(stream, [b], None, 1, flags.CU_STREAM_SET_CAPTURE_DEPENDENCIES))
    good(update(stream, [c], None, 1, flags.CU_STREAM_ADD_CAPTURE_DEPENDENCIES))
    assert info(stream)[3] == [b, c]
    good(launch(function, stream, x, 1, 1, N))
    (d,) = info(stream)[3]
    assert update(stream, [d], None, 1, 7)[0] == BAD
    foreign = good(cu.cuGraphAddEmptyNode(new_graph(), None, 0))
    assert update(stream, [foreign], None, 1, 0)[0] == BAD
    good(update(stream, None, None, 0, flags.CU_STREAM_SET_CAPTURE_DEPENDENCIES))
    good(cu.cuStreamEndCapture(stream))  # what it does not follow is not unjoined
    assert edges_of(graph) == {(a, b), (a, c), (b, d), (c, d)}


def test_capture_into_a_graph(stream):
    function, x = kernel(), device_array(VALUES)
    graph = new_graph()
    first = good(cu.cuGraphAddEmptyNode(graph, None, 0))
    begin = cu.cuStreamBeginCaptureToGraph
    assert begin(stream, 5, None, None, 0, GLOBAL)[0] == BAD
    good(begin(stream, graph, [first], None, 1, GLOBAL))
    good(launch(function, stream, x, 2, 0, N))
    assert good(cu.cuStreamEndCapture(stream)) == graph
    a, b = nodes_of(graph)
    assert a == first and edges_of(graph) == {(a, b)}
    good(begin(stream, graph, [b], [cu.CUgraphEdgeData()], 1, GLOBAL))
    good(launch(function, stream, x, 1, 3, N))
    good(cu.cuStreamEndCapture(stream))
    run(graph)
    assert (host_array(x, VALUES) == VALUES * 2 + 3).all()
    good(begin(stream, graph, None, None, 0, GLOBAL))
    assert name_of(cu.cuStreamSynchronize(stream)) == "STREAM_CAPTURE_UNSUPPORTED"
    assert name_of(cu.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"
    assert len(nodes_of(graph)) == 3  # the graph is the program's


def test_graphs_that_are_launched_become_nodes(stream):
    function, x = kernel(), device_array(VALUES)
    inner = new_graph()
    good(cu.cuStreamBeginCaptureToGraph(stream, inner, None, None, 0, GLOBAL))
    good(launch(function, stream, x, 2, 0, N))
    good(launch(function, stream, x, 1, 1, N))
    good(cu.cuStreamEndCapture(stream))
    made = good(cu.cuGraphInstantiate(inner, 0))
    good(cu.cuGraphNodeSetEnabled(made, nodes_of(inner)[1], 0))
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuGraphLaunch(made, stream))
    graph = good(cu.cuStreamEndCapture(stream))
    (node,) = nodes_of(graph)
    assert good(cu.cuGraphNodeGetType(node)) == KIND.CU_GRAPH_NODE_TYPE_GRAPH
    good(cu.cuGraphExecDestroy(made))
    run(graph)
    assert (host_array(x, VALUES) == VALUES * 2).all()


def test_captured_parameters_are_those_of_the_call(stream):
    function, x = kernel(), device_array(VALUES)
    factor = np.array([2], np.uint32)
    cells = np.array([int(x)], np.uint64), factor, np.array([0, N], np.uint32)
    more, count = cells[2].ctypes.data, cells[2].ctypes.data + 4
    pointers = np.array([address(cells[0]), address(factor), more, count], np.uint64)
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    place = pointers.ctypes.data
    good(cu.cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, stream, place, 0))
    factor[:] = 50
    run(good(cu.cuStreamEndCapture(stream)))
    assert (host_array(x, VALUES) == VALUES * 2).all()


# --- errors ---


def test_what_cannot_be_captured_invalidates_the_capture(stream):
    function, x = kernel(), device_array(VALUES)
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    never = callback(lambda *_: None)
    place = ctypes.cast(never, ctypes.c_void_p).value
    calls = [
        lambda: cu.cuStreamSynchronize(stream),
        lambda: cu.cuStreamQuery(stream),
        lambda: cu.cuCtxSynchronize(),
        lambda: cu.cuStreamAddCallback(stream, place, 0, 0),
        lambda: cu.cuStreamAttachMemAsync(stream, x, 4, 1),
        lambda: cu.cuMemAlloc(64),
    ]
    for call in calls:
        good(cu.cuStreamBeginCapture(stream, GLOBAL))
        assert name_of(call()) == "STREAM_CAPTURE_UNSUPPORTED"
        assert status(stream) == "INVALIDATED"
        assert name_of(launch(function, stream, x, 2, 0, N)) == "STREAM_CAPTURE_INVALIDATED"
        assert cu.cuStreamEndCapture(stream) == (
            cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
            None,
        )
        assert status(stream) == "NONE"
    good(launch(function, stream, x, 2, 0, N))
    assert (host_array(x, VALUES) == VALUES * 2).all()


def test_wrong_arguments_leave_the_capture_valid(stream):
    function, x = kernel(), device_array(VALUES)
    good(cu.cuStreamBeginCapture(stream, RELAXED))
    assert cu.cuMemsetD32Async(1 << 59, 1, 4, stream)[0] == BAD
    values = (x, 1, 1, N), TYPES
    for grid in ((0, 1, 1), (1, 70000, 1)):
        assert cu.cuLaunchKernel(function, *grid, 1, 1, 1, 0, stream, values, 0)[0] == BAD
    assert cu.cuMemcpyHtoDAsync(x, VALUES, 4 * N + 4, stream)[0] == BAD
    good(cu.cuMemsetD32Async(x, 3, 0, stream))  # no bytes, no node
    assert nodes_of(good(cu.cuStreamEndCapture(stream))) == []


def test_beginnings_and_ends_that_do_not_fit(stream):
    assert name_of(cu.cuStreamEndCapture(stream)) == "ILLEGAL_STATE"
    assert cu.cuStreamBeginCapture(stream, 9)[0] == BAD
    for legacy in (0, 1):
        begin = cu.cuStreamBeginCapture(legacy, GLOBAL)
        assert name_of(begin) == "STREAM_CAPTURE_UNSUPPORTED"
        assert name_of(cu.cuStreamEndCapture(legacy)) == "ILLEGAL_STATE"
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    assert name_of(cu.cuStreamBeginCapture(stream, GLOBAL)) == "ILLEGAL_STATE"
    assert status(stream) == "ACTIVE"
    good(cu.cuStreamEndCapture(stream))
    assert name_of(cu.cuStreamBeginCapture(77, GLOBAL)) == "INVALID_HANDLE"


def test_the_stream_of_a_thread_can_be_captured(begun):
    own, x = cu.CUstream(2), device_array(VALUES)
    good(cu.cuStreamBeginCapture(own, RELAXED))
    good(cu.cuMemsetD32Async(x, 3, N, own))
    graph = good(cu.cuStreamEndCapture(own))
    assert (host_array(x, VALUES) == VALUES).all()
    run(graph, own)
    assert (host_array(x, VALUES) == 3).all()


@pytest.mark.parametrize("flags", [0, 1], ids=["blocking", "non-blocking"])
def test_the_legacy_default_stream_during_a_capture(begun, flags):
    stream, x = good(cu.cuStreamCreate(flags)), device_array(VALUES)
    good(cu.cuStreamBeginCapture(stream, RELAXED))
    if flags:
        good(cu.cuMemcpyHtoD(x, VALUES * 2, 4 * N))
        assert status(0) == "NONE"
        good(cu.cuStreamEndCapture(stream))
        assert (host_array(x, VALUES) == VALUES * 2).all()
        return
    for ask in (cu.cuStreamIsCapturing, cu.cuStreamGetCaptureInfo):
        assert name_of(ask(0)) == "STREAM_CAPTURE_IMPLICIT"
    assert status(stream) == "ACTIVE"
    assert name_of(cu.cuMemcpyHtoD(x, VALUES * 2, 4 * N)) == "STREAM_CAPTURE_IMPLICIT"
    assert status(stream) == "INVALIDATED"
    assert name_of(cu.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"
    assert (host_array(x, VALUES) == VALUES).all()


def test_events_of_captures(stream):
    event, before, other = new_event(), new_event(), new_stream()
    good(cu.cuEventRecord(before, other))
    for call in (cu.cuEventQuery, cu.cuEventSynchronize):
        good(cu.cuStreamBeginCapture(stream, RELAXED))
        good(cu.cuEventRecord(event, stream))
        assert name_of(call(event)) == "CAPTURED_EVENT"
        assert name_of(cu.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"
        assert name_of(call(event)) == "CAPTURED_EVENT"
        assert name_of(cu.cuStreamWaitEvent(other, event, 0)) == "CAPTURED_EVENT"
    good(cu.cuEventRecord(event, stream))
    good(cu.cuEventSynchronize(event))

    good(cu.cuStreamBeginCapture(stream, RELAXED))
    good(cu.cuStreamWaitEvent(stream, new_event(), 0))  # which was never recorded
    waited = cu.cuStreamWaitEvent(stream, before, 0)
    assert name_of(waited) == "STREAM_CAPTURE_ISOLATION"
    assert name_of(cu.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"


def test_external_events_become_nodes(stream):
    event, other = new_event(), new_stream()
    good(cu.cuEventRecord(event, other))
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    external = cu.CUevent_wait_flags.CU_EVENT_WAIT_EXTERNAL
    good(cu.cuStreamWaitEvent(stream, event, external))
    good(cu.cuEventRecordWithFlags(event, stream, 1))
    graph = good(cu.cuStreamEndCapture(stream))
    wait, record = nodes_of(graph)
    assert good(cu.cuGraphEventWaitNodeGetEvent(wait)) == event
    assert good(cu.cuGraphEventRecordNodeGetEvent(record)) == event
    run(graph)
    good(cu.cuEventSynchronize(event))


def test_two_captures_cannot_merge(stream):
    other, event = new_stream(), new_event()
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuStreamBeginCapture(other, GLOBAL))
    good(cu.cuEventRecord(event, stream))
    assert name_of(cu.cuStreamWaitEvent(other, event, 0)) == "STREAM_CAPTURE_MERGE"
    for each in (stream, other):
        assert name_of(cu.cuStreamEndCapture(each)) == "STREAM_CAPTURE_INVALIDATED"


def elsewhere(context, call):
    """What a call gives on another thread."""
    found = []

    def body():
        good(cu.cuCtxSetCurrent(context))
        found.append(call())

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(60)
    return found[0]


@pytest.mark.parametrize("mode", [GLOBAL, LOCAL, RELAXED], ids=["global", "local", "relaxed"])
def test_captures_and_other_threads(stream, begun, mode):
    good(cu.cuStreamBeginCapture(stream, mode))
    result = elsewhere(begun, lambda: cu.cuMemAlloc(64))
    if mode is GLOBAL:
        assert name_of(result) == "STREAM_CAPTURE_UNSUPPORTED"
    else:
        good(result)
    result = elsewhere(begun, lambda: cu.cuStreamEndCapture(stream))
    if mode is RELAXED:
        good(result)
        assert status(stream) == "NONE"
    else:
        assert name_of(result) == "STREAM_CAPTURE_WRONG_THREAD"
        ended = cu.cuStreamEndCapture(stream)
        assert ended[0] == (cu.CUresult(901) if mode is GLOBAL else OK)


def test_the_runtime_s_calls_that_are_not_captured(stream):
    place = good(rt.cudaMalloc(64))
    for call in (lambda: rt.cudaMalloc(64), lambda: rt.cudaFree(place)):
        good(rt.cudaStreamBeginCapture(stream, GLOBAL))
        assert call()[0] == rt.cudaError_t.cudaErrorStreamCaptureUnsupported
        ended = rt.cudaStreamEndCapture(stream)
        assert ended[0] == rt.cudaError_t.cudaErrorStreamCaptureInvalidated
    good(rt.cudaFree(place))


def test_the_mode_of_a_thread(stream):
    swap = cu.cuThreadExchangeStreamCaptureMode
    assert good(swap(RELAXED)) == GLOBAL
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuMemFree(good(cu.cuMemAlloc(64))))
    assert good(swap(LOCAL)) == RELAXED
    assert name_of(cu.cuMemAlloc(64)) == "STREAM_CAPTURE_UNSUPPORTED"
    assert good(swap(GLOBAL)) == LOCAL
    assert name_of(cu.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"
    good(cu.cuStreamBeginCapture(stream, RELAXED))
    good(cu.cuMemAlloc(64))
    good(cu.cuStreamEndCapture(stream))
    assert swap(5)[0] == BAD


def test_streams_that_end_during_a_capture(stream):
    other, event = new_stream(), new_event()
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    good(cu.cuEventRecord(event, stream))
    good(cu.cuStreamWaitEvent(other, event, 0))
    good(cu.cuStreamDestroy(other))
    good(cu.cuGraphDestroy(good(cu.cuStreamEndCapture(stream))))
    # With work that the first stream waits for, and without.
    function, x = kernel(), device_array(VALUES)
    for joined in (True, False):
        other = new_stream()
        good(cu.cuStreamBeginCapture(stream, GLOBAL))
        good(cu.cuEventRecord(event, stream))
        good(cu.cuStreamWaitEvent(other, event, 0))
        good(launch(function, other, x, 3, 1, N))
        good(cu.cuEventRecord(event, other))
        if joined:
            good(cu.cuStreamWaitEvent(stream, event, 0))
        good(cu.cuStreamDestroy(other))
        ended = cu.cuStreamEndCapture(stream)
        if joined:
            run(good(ended))
            assert (host_array(x, VALUES) == VALUES * 3 + 1).all()
        else:
            assert name_of(ended) == "STREAM_CAPTURE_UNJOINED"
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    graph = info(stream)[2]
    good(cu.cuStreamDestroy(stream))
    assert cu.cuGraphGetNodes(graph)[0] == BAD
    good(cu.cuCtxSynchronize())


def test_a_context_that_ends_during_a_capture(device):
    good(cu.cuInit(0))
    context = good(cu.cuCtxCreate(None, 0, 0))
    stream = new_stream()
    good(cu.cuStreamBeginCapture(stream, GLOBAL))
    graph = info(stream)[2]
    good(cu.cuCtxDestroy(context))
    assert cu.cuGraphGetNodes(graph)[0] == BAD
    context = good(cu.cuCtxCreate(None, 0, 0))
    good(cu.cuMemAlloc(64))
    good(cu.cuCtxDestroy(context))


def test_threads_capture_graphs_of_their_own(begun):
    function, wrong = kernel(), []
    arrays = [device_array(VALUES) for _ in range(6)]

    def body(n):
        good(cu.cuCtxSetCurrent(begun))
        stream = new_stream()
        good(cu.cuStreamBeginCapture(stream, LOCAL))
        for _ in range(5):
            good(launch(function, stream, arrays[n], 2, n, N))
        made = good(cu.cuGraphInstantiate(good(cu.cuStreamEndCapture(stream)), 0))
        for _ in range(3):
            good(cu.cuGraphLaunch(made, stream))
        good(cu.cuStreamSynchronize(stream))
        good(cu.cuGraphExecDestroy(made))

    def guarded(n):
        try:
            body(n)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    assert not wrong
    for n, x in enumerate(arrays):
        expected = VALUES.copy()
        for _ in range(15):
            expected = expected * 2 + np.uint32(n)
        assert (host_array(x, VALUES) == expected).all()


@pytest.mark.parametrize(
    ("refused", "number"),
    [
        (lambda: cu.cuMemAlloc(4), 900),
        (cu.cuCtxSynchronize, 900),
        (lambda: cu.cuStreamQuery(0), 906),
    ],
)
def test_what_captures_cannot_see_invalidates_all_of_them(begun, refused, number):
    """So that no order of the captures decides which one."""
    streams = [good(cu.cuStreamCreate(0)) for _ in range(4)]
    for each in streams:
        good(cu.cuStreamBeginCapture(each, GLOBAL))
    assert int(refused()[0]) == number
    for each in streams:
        assert status(each) == "INVALIDATED"
        assert int(cu.cuStreamEndCapture(each)[0]) == 901
