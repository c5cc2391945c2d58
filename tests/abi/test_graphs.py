"""Graphs of the driver's interface, on each device: documented results and errors."""

import ctypes
import re
import threading

import numpy as np
import pytest
from tests.abi.graphing import (
    BAD,
    KIND,
    OK,
    calling,
    copying,
    device_array,
    edges_of,
    filling,
    good,
    host_array,
    host_function,
    kernel,
    name_of,
    new_graph,
    new_stream,
    nodes_of,
    run,
    scaling,
)

from gridlane.cuda import driver as cu

N = 100
VALUES = np.arange(N, dtype=np.uint32)


def empties(graph, count):
    """Empty nodes, each behind the one before."""
    made = []
    for _ in range(count):
        made.append(good(cu.cuGraphAddEmptyNode(graph, made[-1:], len(made[-1:]))))
    return made


def test_every_kind_of_node_does_its_work(begun):
    graph, function = new_graph(), kernel()
    x, y, back = device_array(VALUES * 0), device_array(VALUES * 0), VALUES * 0
    seen = []
    note = host_function(seen.append)
    event = good(cu.cuEventCreate(0))
    child = new_graph()
    good(cu.cuGraphAddKernelNode(child, None, 0, scaling(function, y, 3, 1, N)))

    steps = [
        (cu.cuGraphAddMemcpyNode, (copying(x, VALUES, 4 * N), begun)),
        (cu.cuGraphAddKernelNode, (scaling(function, x, 2, 5, N),)),
        (cu.cuGraphAddMemcpyNode, (copying(y, x, 4 * N), begun)),
        (cu.cuGraphAddMemsetNode, (filling(y, 7, 10), begun)),
        (cu.cuGraphAddEventRecordNode, (event,)),
        (cu.cuGraphAddChildGraphNode, (child,)),
        (cu.cuGraphAddEventWaitNode, (event,)),
        (cu.cuGraphAddEmptyNode, ()),
        (cu.cuGraphAddMemcpyNode, (copying(back, y, 4 * N), begun)),
        (cu.cuGraphAddHostNode, (calling(note, 42),)),
    ]
    made = []
    for add, args in steps:
        made.append(good(add(graph, made[-1:], len(made[-1:]), *args)))
    assert [good(cu.cuGraphNodeGetType(each)) for each in made] == [
        KIND.CU_GRAPH_NODE_TYPE_MEMCPY,
        KIND.CU_GRAPH_NODE_TYPE_KERNEL,
        KIND.CU_GRAPH_NODE_TYPE_MEMCPY,
        KIND.CU_GRAPH_NODE_TYPE_MEMSET,
        KIND.CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        KIND.CU_GRAPH_NODE_TYPE_GRAPH,
        KIND.CU_GRAPH_NODE_TYPE_WAIT_EVENT,
        KIND.CU_GRAPH_NODE_TYPE_EMPTY,
        KIND.CU_GRAPH_NODE_TYPE_MEMCPY,
        KIND.CU_GRAPH_NODE_TYPE_HOST,
    ]
    run(graph)
    expected = VALUES * 2 + 5
    expected[:10] = 7
    assert (back == expected * 3 + 1).all()
    assert seen == [42]
    assert cu.cuEventQuery(event) == (OK,)


def test_host_memory_is_read_when_the_graph_runs(begun):
    """A call of the host changes what a later copy reads."""
    source, back = VALUES.copy(), VALUES * 0
    x = device_array(VALUES * 0)

    def double(_):
        source[:] *= 2

    function = host_function(double)
    graph = new_graph()
    first = good(cu.cuGraphAddHostNode(graph, None, 0, calling(function)))
    then = good(cu.cuGraphAddMemcpyNode(graph, [first], 1, copying(x, source, 4 * N), begun))
    good(cu.cuGraphAddMemcpyNode(graph, [then], 1, copying(back, x, 4 * N), begun))
    made = run(graph)
    assert (back == VALUES * 2).all()
    source[:] = 3
    stream = new_stream()
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuStreamSynchronize(stream))
    assert (back == 6).all()


def test_a_thousand_launches(begun):
    graph, function = new_graph(), kernel()
    x = device_array(VALUES * 0)
    good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 1, 1, N)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    streams = [new_stream(), new_stream()]
    for n in range(1000):  # each waits for the one before, also on another stream
        good(cu.cuGraphLaunch(made, streams[n % 2]))
    assert (host_array(x, VALUES) == 1000).all()


@pytest.mark.parametrize(
    "given",
    [lambda f: f, lambda f: cu.CUhostFn(_ptr=ctypes.addressof(f)), lambda f: calling(f).fn],
    ids=["function", "pointer to it", "address"],
)
def test_functions_of_the_host_in_python(begun, given):
    seen, graph, params = [], new_graph(), cu.CUDA_HOST_NODE_PARAMS()
    function = host_function(seen.append)
    params.fn = given(function)
    params.userData = 7
    good(cu.cuGraphAddHostNode(graph, None, 0, params))
    stream = new_stream()
    run(graph, stream)
    good(cu.cuLaunchHostFunc(stream, params.fn, 8))
    good(cu.cuStreamSynchronize(stream))
    assert seen == [7, 8]


@pytest.mark.parametrize("stream", [0, 1, 2], ids=["null", "legacy", "of the thread"])
def test_launches_on_default_streams(begun, stream):
    graph, function = new_graph(), kernel()
    x, back = device_array(VALUES), VALUES * 0
    node = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 1, N)))
    good(cu.cuGraphAddMemcpyNode(graph, [node], 1, copying(back, x, 4 * N), begun))
    made = run(graph, cu.CUstream(stream))
    assert (back == VALUES * 2 + 1).all()
    good(cu.cuGraphLaunch(made, new_stream()))
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuCtxSynchronize())
    assert (back == ((VALUES * 2 + 1) * 2 + 1) * 2 + 1).all()


TRAP = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry stop() { trap; }
\0"""


@pytest.mark.parametrize("own", [False, True], ids=["default", "own"])
def test_a_kernel_that_fails_ends_its_context(trapping, begun, own):
    graph, seen = new_graph(), []
    stop = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(TRAP)), b"stop"))
    params = scaling(stop, 0, 0, 0, 1)
    params.kernelParams = 0
    node = good(cu.cuGraphAddKernelNode(graph, None, 0, params))
    note = host_function(seen.append)
    good(cu.cuGraphAddHostNode(graph, [node], 1, calling(note)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    cu.cuGraphLaunch(made, new_stream() if own else 0)
    assert name_of(cu.cuCtxSynchronize()) == "LAUNCH_FAILED"
    assert name_of(cu.cuGraphLaunch(made, 0)) == "LAUNCH_FAILED"
    assert name_of(cu.cuMemAlloc(64)) == "LAUNCH_FAILED"
    good(cu.cuGraphExecDestroy(made))
    assert cu.cuGraphLaunch(made, 0)[0] != OK


def test_threads_launch_one_executable(begun):
    graph, function, wrong = new_graph(), kernel(), []
    x = device_array(VALUES * 0)
    node = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 1, 1, N)))
    good(cu.cuGraphAddKernelNode(graph, [node], 1, scaling(function, x, 1, 2, N)))
    made = good(cu.cuGraphInstantiate(graph, 0))

    def body():
        try:
            good(cu.cuCtxSetCurrent(begun))
            stream = new_stream()
            for _ in range(25):
                good(cu.cuGraphLaunch(made, stream))
            good(cu.cuStreamSynchronize(stream))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=body) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    assert not wrong
    assert (host_array(x, VALUES) == 300).all()


def test_nodes_and_edges(begun):
    graph = new_graph()
    a, b, c = empties(graph, 3)
    d = good(cu.cuGraphAddEmptyNode(graph, [a], 1))
    assert nodes_of(graph) == [a, b, c, d]
    assert edges_of(graph) == {(a, b), (b, c), (a, d)}
    assert good(cu.cuGraphGetRootNodes(graph, 1)) == ([a], 1)
    assert good(cu.cuGraphNodeGetDependencies(c, 1))[0] == [b]
    assert good(cu.cuGraphNodeGetDependentNodes(a, 2))[0] == [b, d]
    good(cu.cuGraphAddDependencies(graph, [d, d], [c, b], None, 2))
    assert edges_of(graph) == {(a, b), (b, c), (a, d), (d, c), (d, b)}
    assert cu.cuGraphAddDependencies(graph, [d], [c], None, 1)[0] == BAD  # it is there
    assert cu.cuGraphAddDependencies(graph, [d], [d], None, 1)[0] == BAD
    good(cu.cuGraphRemoveDependencies(graph, [b], [c], None, 1))
    assert cu.cuGraphRemoveDependencies(graph, [b], [c], None, 1)[0] == BAD  # it is not there
    good(cu.cuGraphDestroyNode(d))
    assert edges_of(graph) == {(a, b)}
    assert cu.cuGraphDestroyNode(d)[0] == BAD
    assert cu.cuGraphNodeGetType(d)[0] == BAD


def test_lists_with_more_and_less_room(begun):
    graph = new_graph()
    a, b = empties(graph, 2)
    null = cu.CUgraphNode(0)
    assert good(cu.cuGraphGetNodes(graph)) == ([], 2)
    assert good(cu.cuGraphGetNodes(graph, 1)) == ([a], 1)
    assert good(cu.cuGraphGetNodes(graph, numNodes=4)) == ([a, b, null, null], 2)
    first, then, data, count = good(cu.cuGraphGetEdges(graph, 2))
    assert (first, then, count) == ([a, null], [b, null], 1)
    assert [each.type for each in data] == [0, 0]


@pytest.mark.parametrize("room", [(1 << 64) - 1, 1 << 61, 1 << 40])
def test_lists_with_room_beyond_belief(begun, room):
    """A program may not have set the count."""
    graph = new_graph()
    node = good(cu.cuGraphAddEmptyNode(graph, None, 0))
    for call, owner in (
        (cu.cuGraphGetNodes, graph),
        (cu.cuGraphGetRootNodes, graph),
        (cu.cuGraphGetEdges, graph),
        (cu.cuGraphNodeGetDependencies, node),
        (cu.cuGraphNodeGetDependentNodes, node),
    ):
        assert call(owner, room)[0] == BAD


def test_edges_that_order_less_than_all_work_are_refused(begun):
    graph = new_graph()
    a, b = empties(graph, 2)
    data = cu.CUgraphEdgeData()
    data.type = cu.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
    params = cu.CUgraphNodeParams()
    params.type = KIND.CU_GRAPH_NODE_TYPE_EMPTY
    assert name_of(cu.cuGraphAddNode(graph, [b], [data], 1, params)) == "NOT_SUPPORTED"
    good(cu.cuGraphAddNode(graph, [b], [cu.CUgraphEdgeData()], 1, params))
    good(cu.cuGraphRemoveDependencies(graph, [a], [b], [cu.CUgraphEdgeData()], 1))


def test_a_cycle_cannot_be_instantiated(begun):
    graph = new_graph()
    a, b, c = empties(graph, 3)
    good(cu.cuGraphAddDependencies(graph, [c], [b], None, 1))
    assert cu.cuGraphInstantiate(graph, 0)[0] == BAD
    params = cu.CUDA_GRAPH_INSTANTIATE_PARAMS()
    assert cu.cuGraphInstantiateWithParams(graph, params)[0] == BAD
    results = cu.CUgraphInstantiateResult
    assert params.result_out == results.CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
    assert params.hErrNode_out in (b, c)
    good(cu.cuGraphRemoveDependencies(graph, [c], [b], None, 1))
    good(cu.cuGraphInstantiateWithParams(graph, params))
    assert params.result_out == results.CUDA_GRAPH_INSTANTIATE_SUCCESS
    assert not params.hErrNode_out
    assert a


def test_flags_of_an_instantiation(begun):
    graph, flags = new_graph(), cu.CUgraphInstantiate_flags
    made = good(cu.cuGraphInstantiate(graph, flags.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
    assert int(good(cu.cuGraphExecGetFlags(made))) == 1
    on_device = flags.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
    assert name_of(cu.cuGraphInstantiate(graph, on_device)) == "NOT_SUPPORTED"
    assert cu.cuGraphInstantiate(graph, 1 << 20)[0] == BAD


def test_an_executable_outlives_its_graph(begun):
    graph, function, stream = new_graph(), kernel(), new_stream()
    x = device_array(VALUES)
    node = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 0, N)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuGraphDestroy(graph))
    good(cu.cuGraphLaunch(made, stream))
    assert (host_array(x, VALUES) == VALUES * 4).all()
    other = scaling(function, x, 3, 0, N)
    assert cu.cuGraphExecKernelNodeSetParams(made, node, other)[0] == BAD  # the node is gone
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuGraphExecDestroy(made))
    assert (host_array(x, VALUES) == VALUES * 8).all()
    assert cu.cuGraphLaunch(made, stream)[0] == BAD
    assert cu.cuGraphExecDestroy(made)[0] == BAD


def test_a_graph_may_change_after_its_instantiation(begun):
    graph, function, stream = new_graph(), kernel(), new_stream()
    x = device_array(VALUES)
    node = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 0, N)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    good(cu.cuGraphKernelNodeSetParams(node, scaling(function, x, 5, 0, N)))
    good(cu.cuGraphLaunch(made, stream))
    assert (host_array(x, VALUES) == VALUES * 2).all()
    run(graph)
    assert (host_array(x, VALUES) == VALUES * 10).all()


def test_descriptions_come_back_as_they_were_given(begun):
    graph, function = new_graph(), kernel()
    x = device_array(VALUES)
    node = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 9, N)))
    found = good(cu.cuGraphKernelNodeGetParams(node))
    assert found.func == function and found.gridDimX == 4 and found.blockDimX == 32
    places = (ctypes.c_uint64 * 4).from_address(int(found.kernelParams))
    assert ctypes.c_uint64.from_address(places[0]).value == int(x)
    assert [ctypes.c_uint32.from_address(each).value for each in places[1:]] == [2, 9, N]
    found.gridDimX = 1  # a description that was asked for describes another node
    good(cu.cuGraphKernelNodeSetParams(node, found))
    run(graph)
    expected = VALUES.copy()
    expected[:32] = VALUES[:32] * 2 + 9
    assert (host_array(x, VALUES) == expected).all()

    copy = good(cu.cuGraphAddMemcpyNode(graph, None, 0, copying(x, VALUES, 40), begun))
    assert bytes(good(cu.cuGraphMemcpyNodeGetParams(copy))) == bytes(copying(x, VALUES, 40))
    fill = good(cu.cuGraphAddMemsetNode(graph, None, 0, filling(x, 300, 5, 2), begun))
    told = good(cu.cuGraphMemsetNodeGetParams(fill))
    assert (told.dst, told.value, told.elementSize, told.width) == (x, 300, 2, 5)
    note = host_function(lambda _: None)
    call = good(cu.cuGraphAddHostNode(graph, None, 0, calling(note, 3)))
    assert good(cu.cuGraphHostNodeGetParams(call)).userData == 3
    event, other = good(cu.cuEventCreate(0)), good(cu.cuEventCreate(0))
    record = good(cu.cuGraphAddEventRecordNode(graph, None, 0, event))
    good(cu.cuGraphEventRecordNodeSetEvent(record, other))
    assert good(cu.cuGraphEventRecordNodeGetEvent(record)) == other
    wait = good(cu.cuGraphAddEventWaitNode(graph, None, 0, event))
    good(cu.cuGraphEventWaitNodeSetEvent(wait, other))
    assert good(cu.cuGraphEventWaitNodeGetEvent(wait)) == other
    for ask in (cu.cuGraphMemcpyNodeGetParams, cu.cuGraphMemsetNodeGetParams):
        assert ask(node)[0] == BAD
    assert cu.cuGraphKernelNodeGetParams(copy)[0] == BAD


def generic(kind, **members):
    """A description of a node of any type."""
    made = cu.CUgraphNodeParams()
    made.type = getattr(KIND, f"CU_GRAPH_NODE_TYPE_{kind}")
    for name, value in members.items():
        setattr(made, name, value)
    return made


def test_descriptions_of_any_type(begun):
    graph, function = new_graph(), kernel()
    x = device_array(VALUES)
    note = host_function(lambda _: None)
    launch = generic("KERNEL")
    launch.kernel.func = function
    for each in "XYZ":
        setattr(launch.kernel, f"gridDim{each}", 1)
        setattr(launch.kernel, f"blockDim{each}", 1)
    launch.kernel.blockDimX = 32
    types = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32
    launch.kernel.kernelParams = (x, 4, 0, 32), types
    fill = generic("MEMSET")
    fill.memset.dst, fill.memset.elementSize, fill.memset.value = x, 1, 1
    fill.memset.width, fill.memset.height = 4 * N, 1
    copy = generic("MEMCPY")
    copy.memcpy.copyParams = copying(int(x) + 200, x, 128)
    call = generic("HOST")
    call.host.fn = calling(note).fn
    made = []
    for each in (fill, launch, copy, call, generic("EMPTY")):
        made.append(good(cu.cuGraphAddNode(graph, made[-1:], None, len(made[-1:]), each)))
    run(graph)
    expected = np.full(N, 0x01010101, np.uint32)
    expected[:32] *= 4
    expected[50:82] = expected[:32]
    assert (host_array(x, VALUES) == expected).all()

    fill.memset.value = 2
    good(cu.cuGraphNodeSetParams(made[0], fill))
    assert good(cu.cuGraphMemsetNodeGetParams(made[0])).value == 2
    assert cu.cuGraphNodeSetParams(made[1], fill)[0] == BAD  # another type
    for name, expected in (("CONDITIONAL", BAD), ("MEM_ALLOC", BAD), ("MEM_FREE", BAD)):
        assert cu.cuGraphAddNode(graph, None, None, 0, generic(name))[0] == expected
    refused = cu.cuGraphAddNode(graph, None, None, 0, generic("BATCH_MEM_OP"))
    assert name_of(refused) == "NOT_SUPPORTED"


def test_copies_of_planes(begun):
    source = np.arange(3 * 6 * 20, dtype=np.uint8).reshape(3, 6, 20)
    back = np.zeros((3, 5, 10), np.uint8)
    x = device_array(np.zeros(3 * 6 * 32, np.uint8))
    there, here = cu.CUDA_MEMCPY3D(), cu.CUDA_MEMCPY3D()
    there.srcMemoryType, there.dstMemoryType = 1, 2
    there.srcHost, there.srcPitch, there.srcHeight = source.ctypes.data, 20, 6
    there.srcXInBytes, there.srcY = 3, 1
    there.dstDevice, there.dstPitch, there.dstHeight = x, 32, 6
    here.srcMemoryType, here.dstMemoryType = 2, 1
    here.srcDevice, here.srcPitch, here.srcHeight = x, 32, 6
    here.dstHost, here.dstPitch, here.dstHeight = back.ctypes.data, 10, 5
    for each in (there, here):
        each.WidthInBytes, each.Height, each.Depth = 10, 5, 3
    graph = new_graph()
    first = good(cu.cuGraphAddMemcpyNode(graph, None, 0, there, begun))
    good(cu.cuGraphAddMemcpyNode(graph, [first], 1, here, begun))
    made = run(graph)
    assert (back == source[:, 1:6, 3:13]).all()
    assert cu.cuGraphExecMemcpyNodeSetParams(made, first, there, begun)[0] == BAD  # several rows


def test_clones(begun):
    graph, function = new_graph(), kernel()
    x = device_array(VALUES)
    inner = new_graph()
    deep = good(cu.cuGraphAddKernelNode(inner, None, 0, scaling(function, x, 1, 1, N)))
    a = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 0, N)))
    b = good(cu.cuGraphAddChildGraphNode(graph, [a], 1, inner))
    within = nodes_of(good(cu.cuGraphChildGraphNodeGetGraph(b)))[0]
    assert within != deep  # the node has a clone
    clone = good(cu.cuGraphClone(graph))
    copies = [good(cu.cuGraphNodeFindInClone(each, clone)) for each in (a, b)]
    assert nodes_of(clone) == copies and edges_of(clone) == {tuple(copies)}
    assert good(cu.cuGraphNodeFindInClone(within, clone)) not in (within, *copies)
    assert cu.cuGraphNodeFindInClone(deep, clone)[0] == BAD
    good(cu.cuGraphKernelNodeSetParams(copies[0], scaling(function, x, 3, 0, N)))
    run(graph)
    assert (host_array(x, VALUES) == VALUES * 2 + 1).all()
    run(clone)
    assert (host_array(x, VALUES) == (VALUES * 2 + 1) * 3 + 1).all()
    good(cu.cuGraphDestroyNode(copies[1]))
    assert cu.cuGraphNodeFindInClone(b, clone)[0] == BAD
    good(cu.cuGraphDestroy(graph))
    run(clone)


def test_the_graph_of_a_node(begun):
    graph, inner, function = new_graph(), new_graph(), kernel()
    x = device_array(VALUES)
    node = good(cu.cuGraphAddChildGraphNode(graph, None, 0, inner))
    within = good(cu.cuGraphChildGraphNodeGetGraph(node))
    good(cu.cuGraphAddKernelNode(within, None, 0, scaling(function, x, 2, 0, N)))
    assert cu.cuGraphDestroy(within)[0] == BAD
    assert cu.cuGraphAddChildGraphNode(graph, None, 0, graph)[0] == BAD
    run(graph)
    assert (host_array(x, VALUES) == VALUES * 2).all()
    good(cu.cuGraphDestroyNode(node))
    assert cu.cuGraphGetNodes(within)[0] == BAD


def test_disabled_nodes(begun):
    graph, function, stream = new_graph(), kernel(), new_stream()
    x = device_array(VALUES)
    a = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 0, N)))
    b = good(cu.cuGraphAddEmptyNode(graph, [a], 1))
    made = good(cu.cuGraphInstantiate(graph, 0))
    assert good(cu.cuGraphNodeGetEnabled(made, a)) == 1
    good(cu.cuGraphNodeSetEnabled(made, a, 0))
    good(cu.cuGraphLaunch(made, stream))
    assert good(cu.cuGraphNodeGetEnabled(made, a)) == 0
    assert (host_array(x, VALUES) == VALUES).all()
    good(cu.cuGraphNodeSetEnabled(made, a, 1))
    good(cu.cuGraphLaunch(made, stream))
    assert (host_array(x, VALUES) == VALUES * 2).all()
    assert cu.cuGraphNodeSetEnabled(made, b, 0)[0] == BAD


def test_attributes_of_kernels(begun):
    graph, function = new_graph(), kernel(b"nothing")
    params = scaling(function, 0, 0, 0, 1)
    params.kernelParams = 0
    a, b = (good(cu.cuGraphAddKernelNode(graph, None, 0, params)) for _ in range(2))
    ids = cu.CUlaunchAttributeID
    priority = ids.CU_LAUNCH_ATTRIBUTE_PRIORITY
    assert good(cu.cuGraphKernelNodeGetAttribute(a, priority)).priority == 0
    value = cu.CUlaunchAttributeValue()
    value.priority = -3
    good(cu.cuGraphKernelNodeSetAttribute(a, priority, value))
    good(cu.cuGraphKernelNodeCopyAttributes(b, a))
    assert good(cu.cuGraphKernelNodeGetAttribute(b, priority)).priority == -3
    good(cu.cuGraphKernelNodeSetParams(b, params))
    assert good(cu.cuGraphKernelNodeGetAttribute(b, priority)).priority == -3
    value.cooperative = 1
    cooperative = ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    assert name_of(cu.cuGraphKernelNodeSetAttribute(a, cooperative, value)) == "NOT_SUPPORTED"
    event = ids.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT
    assert name_of(cu.cuGraphKernelNodeSetAttribute(a, event, value)) == "NOT_SUPPORTED"
    assert cu.cuGraphKernelNodeGetAttribute(a, 999)[0] == BAD
    run(graph)


@pytest.mark.parametrize("flags", [0, 1, 4, 8 | 16 | 32 | 64 | 1024])
def test_a_graph_as_text(begun, tmp_path, flags):
    graph, function = new_graph(), kernel()
    x = device_array(VALUES)
    note = host_function(lambda _: None)
    a = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 0, N)))
    b = good(cu.cuGraphAddMemsetNode(graph, [a], 1, filling(x, 7, 10), begun))
    good(cu.cuGraphAddMemcpyNode(graph, [b], 1, copying(x, VALUES, 40), begun))
    good(cu.cuGraphAddHostNode(graph, [b], 1, calling(note)))
    good(cu.cuGraphAddEventRecordNode(graph, None, 0, good(cu.cuEventCreate(0))))
    good(cu.cuGraphAddChildGraphNode(graph, [a], 1, graph_of_one()))
    path = tmp_path / "graph.dot"
    good(cu.cuGraphDebugDotPrint(graph, str(path).encode(), flags))
    text = path.read_text()
    assert text.startswith("digraph") and text.count("{") == text.count("}")
    assert text.count("->") == 4 and text.count("[label=") == 7
    assert ("scale" in text) == bool(flags & 5)
    assert (f"{int(a):#x}" in text) == bool(flags & 1025)
    nowhere = str(tmp_path / "absent" / "graph.dot").encode()
    assert name_of(cu.cuGraphDebugDotPrint(graph, nowhere, 0)) == "FILE_NOT_FOUND"
    assert cu.cuGraphDebugDotPrint(graph, str(path).encode(), 1 << 30)[0] == BAD


def drawn(graph, path):
    """The names of a graph's text: of the graph, and of its nodes in their order."""
    good(cu.cuGraphDebugDotPrint(graph, str(path).encode(), 0))
    text = path.read_text()
    return re.findall(r"digraph (\w+)", text)[0], re.findall(r"(\w+) \[label", text)


def test_numbers_of_graphs_are_those_of_their_text(begun, tmp_path):
    graph, path = new_graph(), tmp_path / "graph.dot"
    first, middle, last = empties(graph, 3)
    node = good(cu.cuGraphAddChildGraphNode(graph, [last], 1, graph_of_one()))
    child = good(cu.cuGraphChildGraphNodeGetGraph(node))
    inner = nodes_of(child)[0]
    good(cu.cuGraphDestroyNode(middle))
    late = empties(graph, 1)[0]
    assert good(cu.cuGraphNodeGetContainingGraph(first)) == graph
    assert good(cu.cuGraphNodeGetContainingGraph(node)) == graph
    assert good(cu.cuGraphNodeGetContainingGraph(inner)) == child
    numbers = [good(cu.cuGraphNodeGetLocalId(each)) for each in (first, last, node, late)]
    assert len(set(numbers)) == 4
    assert good(cu.cuGraphNodeGetLocalId(inner)) == 0
    mine, inside = good(cu.cuGraphGetId(graph)), good(cu.cuGraphGetId(child))
    name, names = drawn(graph, path)
    assert name == f"graph_{mine}"
    place = [f"graph_{mine}_node_{each}" for each in numbers]
    assert names == [*place[:3], f"graph_{inside}_node_0", place[3]]

    copy, run_of_it = good(cu.cuGraphClone(graph)), good(cu.cuGraphInstantiate(graph, 0))
    again, other = good(cu.cuGraphInstantiate(graph, 0)), new_graph()
    executables = [good(cu.cuGraphExecGetId(each)) for each in (run_of_it, again)]
    graphs = [good(cu.cuGraphGetId(each)) for each in (graph, child, copy, other)]
    assert len({*graphs, *executables}) == 6
    tools = [good(cu.cuGraphNodeGetToolsId(each)) for each in (*nodes_of(graph), inner)]
    tools += [good(cu.cuGraphNodeGetToolsId(each)) for each in nodes_of(copy)]
    assert len(set(tools)) == 9
    good(cu.cuGraphDestroy(other))
    assert good(cu.cuGraphGetId(new_graph())) not in (*graphs, *executables)


def test_numbers_of_what_is_no_graph(begun):
    graph = new_graph()
    node = empties(graph, 1)[0]
    for call in (cu.cuGraphNodeGetContainingGraph, cu.cuGraphNodeGetLocalId):
        assert call(graph)[0] == BAD and call(0)[0] == BAD
    assert cu.cuGraphNodeGetToolsId(graph)[0] == BAD
    assert cu.cuGraphGetId(node)[0] == BAD and cu.cuGraphExecGetId(graph)[0] == BAD
    good(cu.cuGraphDestroy(graph))
    assert cu.cuGraphGetId(graph)[0] == BAD and cu.cuGraphNodeGetLocalId(node)[0] == BAD


def graph_of_one():
    made = new_graph()
    empties(made, 1)
    return made


def test_user_objects_end_with_their_last_reference(begun):
    ended = []
    destroy = host_function(ended.append)
    place = ctypes.cast(destroy, ctypes.c_void_p).value
    flag = cu.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC

    def made(number):
        return good(cu.cuUserObjectCreate(number, place, 1, flag))

    first = made(1)
    good(cu.cuUserObjectRetain(first, 2))
    assert cu.cuUserObjectRelease(first, 4)[0] == BAD
    good(cu.cuUserObjectRelease(first, 2))
    assert ended == []
    good(cu.cuUserObjectRelease(first, 1))
    assert ended == [1]
    assert cu.cuUserObjectRelease(first, 1)[0] == BAD

    graph, second = new_graph(), made(2)
    move = cu.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE
    good(cu.cuGraphRetainUserObject(graph, second, 1, move))
    clone = good(cu.cuGraphClone(graph))
    running = run(graph)
    assert cu.cuGraphReleaseUserObject(graph, second, 2)[0] == BAD
    good(cu.cuGraphReleaseUserObject(graph, second, 1))
    good(cu.cuGraphDestroy(clone))
    good(cu.cuGraphDestroy(graph))
    assert ended == [1]
    good(cu.cuGraphExecDestroy(running))
    good(cu.cuCtxSynchronize())
    assert ended == [1, 2]
    assert cu.cuUserObjectCreate(3, place, 0, flag)[0] == BAD
    assert cu.cuUserObjectCreate(3, place, 1, 0)[0] == BAD
    assert cu.cuUserObjectCreate(3, 0, 1, flag)[0] == BAD


def test_hostile_handles(begun):
    graph, stream = new_graph(), new_stream()
    (node,) = empties(graph, 1)
    made = good(cu.cuGraphInstantiate(graph, 0))
    wrong = [0, int(stream), int(begun), 12345]
    for each in (*wrong, int(node), int(made)):
        assert cu.cuGraphDestroy(each)[0] == BAD
        assert cu.cuGraphClone(each)[0] == BAD
        assert cu.cuGraphInstantiate(each, 0)[0] == BAD
        assert cu.cuGraphGetNodes(each)[0] == BAD
        assert cu.cuGraphAddEmptyNode(each, None, 0)[0] == BAD
        assert cu.cuGraphAddChildGraphNode(graph, None, 0, each)[0] == BAD
    for each in (*wrong, int(graph), int(made)):
        assert cu.cuGraphDestroyNode(each)[0] == BAD
        assert cu.cuGraphNodeGetType(each)[0] == BAD
        assert cu.cuGraphAddEmptyNode(graph, [cu.CUgraphNode(each)], 1)[0] == BAD
    for each in (*wrong, int(graph), int(node)):
        assert cu.cuGraphLaunch(each, stream)[0] == BAD
        assert cu.cuGraphExecDestroy(each)[0] == BAD
        assert cu.cuGraphExecUpdate(each, graph)[0] == BAD
        assert cu.cuGraphNodeSetEnabled(each, node, 1)[0] == BAD
    assert name_of(cu.cuGraphLaunch(made, int(graph))) == "INVALID_HANDLE"
    assert cu.cuGraphAddEmptyNode(graph, [node, node], 2)[0] == BAD
    assert cu.cuGraphAddKernelNode(graph, None, 0, None)[0] == BAD
    other = new_graph()
    assert cu.cuGraphAddEmptyNode(other, [node], 1)[0] == BAD  # of another graph
    with pytest.raises(RuntimeError, match="dependencies has 1 of 2"):
        cu.cuGraphAddEmptyNode(graph, [node], 2)
    assert nodes_of(graph) == [node] and nodes_of(other) == []
    good(cu.cuGraphDestroy(other))
    assert cu.cuGraphDestroy(other)[0] == BAD


def test_descriptions_that_are_refused_make_no_node(begun):
    graph, function = new_graph(), kernel()
    x = device_array(VALUES)
    bad = scaling(function, x, 2, 0, N)
    bad.blockDimX = 0
    assert cu.cuGraphAddKernelNode(graph, None, 0, bad)[0] == BAD
    bad = scaling(function, x, 2, 0, N)
    bad.gridDimY = 70000
    assert cu.cuGraphAddKernelNode(graph, None, 0, bad)[0] == BAD
    bad = scaling(function, x, 2, 0, N)
    bad.sharedMemBytes = 1 << 30
    assert cu.cuGraphAddKernelNode(graph, None, 0, bad)[0] == BAD
    bad = scaling(function, x, 2, 0, N)
    bad.func = 77
    assert name_of(cu.cuGraphAddKernelNode(graph, None, 0, bad)) == "INVALID_HANDLE"
    assert cu.cuGraphAddMemcpyNode(graph, None, 0, copying(x, VALUES, 0), begun)[0] == BAD
    over = copying(x, VALUES, 4 * N + 4)
    assert cu.cuGraphAddMemcpyNode(graph, None, 0, over, begun)[0] == BAD
    assert cu.cuGraphAddMemsetNode(graph, None, 0, filling(x, 1, 4, 3), begun)[0] == BAD
    assert cu.cuGraphAddMemsetNode(graph, None, 0, filling(x, 1, 0), begun)[0] == BAD
    assert cu.cuGraphAddHostNode(graph, None, 0, cu.CUDA_HOST_NODE_PARAMS())[0] == BAD
    assert name_of(cu.cuGraphAddEventWaitNode(graph, None, 0, 5)) == "INVALID_HANDLE"
    assert nodes_of(graph) == []
