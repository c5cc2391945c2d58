"""Graphs and captures of the runtime's interface, on each device: where its structures and numbers
differ from the driver's."""

import ctypes

import numpy as np
import pytest
from tests.abi.graphing import TYPES, device_array, host_array, host_function, kernel, new_stream

from gridlane.abi.calls import runtime_graphs
from gridlane.core.cuda_table import enums, layout
from gridlane.cuda import runtime as rt

N = 100
VALUES = np.arange(N, dtype=np.uint32)
KIND, COPY = rt.cudaGraphNodeType, rt.cudaMemcpyKind


def good(result):
    """What a call gives back, if it succeeded."""
    assert result[0] == rt.cudaError_t.cudaSuccess, result
    return result[1] if len(result) == 2 else result[1:] or None


def scaling(function, x, factor, more, n):
    made = rt.cudaKernelNodeParams()
    made.func = function
    made.gridDim.x, made.gridDim.y, made.gridDim.z = -(-n // 32), 1, 1
    made.blockDim.x, made.blockDim.y, made.blockDim.z = 32, 1, 1
    made.kernelParams = (x, factor, more, n), TYPES
    return made


def filling(x, value, count):
    made = rt.cudaMemsetParams()
    made.dst, made.value, made.elementSize = x, value, 4
    made.width, made.height = count, 1
    return made


def calling(function):
    made = rt.cudaHostNodeParams()
    made.fn = ctypes.cast(function, ctypes.c_void_p).value
    return made


def rows_to(x, pitch, source, width, height):
    """The description of a copy of rows of an array of the host."""
    made = rt.cudaMemcpy3DParms()
    made.dstPtr.ptr, made.dstPtr.pitch, made.dstPtr.ysize = x, pitch, height
    made.srcPtr.ptr, made.srcPtr.pitch = source.ctypes.data, source.strides[0]
    made.srcPtr.ysize = source.shape[0]
    made.srcPos.x, made.srcPos.y = 3, 1
    made.extent.width, made.extent.height, made.extent.depth = width, height, 1
    made.kind = COPY.cudaMemcpyHostToDevice
    return made


def test_every_kind_of_node(begun):
    graph, function, stream = good(rt.cudaGraphCreate(0)), kernel(), new_stream()
    x, y, back, seen = device_array(VALUES * 0), device_array(VALUES * 0), VALUES * 0, []
    note = host_function(seen.append)
    inner = good(rt.cudaGraphCreate(0))
    good(rt.cudaGraphAddKernelNode(inner, None, 0, scaling(function, y, 3, 1, N)))
    up, down = COPY.cudaMemcpyHostToDevice, COPY.cudaMemcpyDeviceToHost
    steps = [
        (rt.cudaGraphAddMemcpyNode1D, (int(x), VALUES, 4 * N, up)),
        (rt.cudaGraphAddKernelNode, (scaling(function, x, 2, 5, N),)),
        (rt.cudaGraphAddMemcpyNode1D, (int(y), int(x), 4 * N, COPY.cudaMemcpyDefault)),
        (rt.cudaGraphAddMemsetNode, (filling(y, 7, 10),)),
        (rt.cudaGraphAddChildGraphNode, (inner,)),
        (rt.cudaGraphAddEmptyNode, ()),
        (rt.cudaGraphAddMemcpyNode1D, (back, int(y), 4 * N, down)),
        (rt.cudaGraphAddHostNode, (calling(note),)),
    ]
    nodes = []
    for add, args in steps:
        nodes.append(good(add(graph, nodes[-1:], len(nodes[-1:]), *args)))
    assert [good(rt.cudaGraphNodeGetType(each)) for each in nodes] == [
        KIND.cudaGraphNodeTypeMemcpy,
        KIND.cudaGraphNodeTypeKernel,
        KIND.cudaGraphNodeTypeMemcpy,
        KIND.cudaGraphNodeTypeMemset,
        KIND.cudaGraphNodeTypeGraph,
        KIND.cudaGraphNodeTypeEmpty,
        KIND.cudaGraphNodeTypeMemcpy,
        KIND.cudaGraphNodeTypeHost,
    ]
    assert type(nodes[0]) is rt.cudaGraphNode_t and type(graph) is rt.cudaGraph_t
    made = good(rt.cudaGraphInstantiate(graph, 0))
    good(rt.cudaGraphUpload(made, stream))
    good(rt.cudaGraphLaunch(made, stream))
    host_array(y, VALUES)
    expected = VALUES * 2 + 5
    expected[:10] = 7
    assert (back == expected * 3 + 1).all() and len(seen) == 1

    upload, launch, _, fill, child, _, _, call = nodes
    other = np.full(N, 9, np.uint32)
    good(rt.cudaGraphExecMemcpyNodeSetParams1D(made, upload, int(x), other, 4 * N, up))
    good(rt.cudaGraphExecKernelNodeSetParams(made, launch, scaling(function, x, 3, 0, N)))
    good(rt.cudaGraphExecMemsetNodeSetParams(made, fill, filling(y, 5, 20)))
    good(rt.cudaGraphExecHostNodeSetParams(made, call, calling(note)))
    good(rt.cudaGraphExecChildGraphNodeSetParams(made, child, inner))
    good(rt.cudaGraphNodeSetEnabled(made, fill, 0))
    good(rt.cudaGraphLaunch(made, stream))
    host_array(y, VALUES)
    assert (back == 27 * 3 + 1).all()
    told = good(rt.cudaGraphExecUpdate(made, good(rt.cudaGraphClone(graph))))
    assert told.result is rt.cudaGraphExecUpdateResult.cudaGraphExecUpdateSuccess
    good(rt.cudaGraphExecDestroy(made))
    good(rt.cudaGraphDestroy(graph))
    assert rt.cudaGraphDestroy(graph)[0] == rt.cudaError_t.cudaErrorInvalidValue


def test_descriptions_come_back_as_they_were_given(begun):
    graph, function = good(rt.cudaGraphCreate(0)), kernel()
    x = device_array(VALUES)
    source = np.arange(6 * 20, dtype=np.uint8).reshape(6, 20)
    launch = good(rt.cudaGraphAddKernelNode(graph, None, 0, scaling(function, x, 2, 0, N)))
    found = good(rt.cudaGraphKernelNodeGetParams(launch))
    assert int(found.func) == int(function)
    assert (found.gridDim.x, found.gridDim.y, found.blockDim.x) == (4, 1, 32)
    found.gridDim.x = 1
    good(rt.cudaGraphKernelNodeSetParams(launch, found))
    given = rows_to(x, 16, source, 10, 5)
    copy = good(rt.cudaGraphAddMemcpyNode(graph, [launch], 1, given))
    told = good(rt.cudaGraphMemcpyNodeGetParams(copy))
    assert told.kind is COPY.cudaMemcpyHostToDevice
    assert (told.srcPos.x, told.srcPos.y, told.extent.width) == (3, 1, 10)
    assert (told.srcPtr.ptr, told.dstPtr.pitch) == (source.ctypes.data, 16)
    good(rt.cudaGraphMemcpyNodeSetParams(copy, told))
    made = good(rt.cudaGraphInstantiateWithFlags(graph, 0))
    good(rt.cudaGraphLaunch(made, new_stream()))
    expected = VALUES.copy()
    expected[:32] *= 2
    rows = expected.view(np.uint8)[:80].reshape(5, 16)
    rows[:, :10] = source[1:6, 3:13]
    assert (host_array(x, VALUES) == expected).all()
    several = rt.cudaGraphExecMemcpyNodeSetParams(made, copy, told)
    assert several[0] == rt.cudaError_t.cudaErrorInvalidValue


def test_nodes_of_any_type(begun):
    graph, function = good(rt.cudaGraphCreate(0)), kernel()
    x = device_array(VALUES)
    fill, launch, copy = (rt.cudaGraphNodeParams() for _ in range(3))
    fill.type = KIND.cudaGraphNodeTypeMemset
    fill.memset.dst, fill.memset.value, fill.memset.elementSize = int(x), 3, 4
    fill.memset.width, fill.memset.height = N, 1
    launch.type = KIND.cudaGraphNodeTypeKernel
    launch.kernel.func = int(function)
    for shape in (launch.kernel.gridDim, launch.kernel.blockDim):
        shape.x = shape.y = shape.z = 1
    launch.kernel.blockDim.x = 32
    launch.kernel.kernelParams = (x, 5, 1, 32), TYPES
    copy.type = KIND.cudaGraphNodeTypeMemcpy
    box = copy.memcpy.copyParams
    box.srcPtr.ptr, box.dstPtr.ptr, box.kind = int(x), int(x) + 200, COPY.cudaMemcpyDeviceToDevice
    box.extent.width, box.extent.height, box.extent.depth = 128, 1, 1
    nodes = []
    for each in (fill, launch, copy):
        nodes.append(good(rt.cudaGraphAddNode(graph, nodes[-1:], None, len(nodes[-1:]), each)))
    params = rt.cudaGraphInstantiateParams()
    made = good(rt.cudaGraphInstantiateWithParams(graph, params))
    assert params.result_out is rt.cudaGraphInstantiateResult.cudaGraphInstantiateSuccess
    good(rt.cudaGraphLaunch(made, new_stream()))
    expected = np.full(N, 3, np.uint32)
    expected[:32] = expected[50:82] = 16
    assert (host_array(x, VALUES) == expected).all()
    fill.memset.value = 8
    good(rt.cudaGraphExecNodeSetParams(made, nodes[0], fill))
    good(rt.cudaGraphNodeSetParams(nodes[0], fill))
    good(rt.cudaGraphLaunch(made, new_stream()))
    assert (host_array(x, VALUES)[90:] == 8).all()
    good(rt.cudaGraphAddDependencies(graph, [nodes[0]], [nodes[2]], None, 1))
    good(rt.cudaGraphAddDependencies(graph, [nodes[2]], [nodes[0]], None, 1))
    failed = rt.cudaGraphInstantiateWithParams(graph, params)
    assert failed[0] == rt.cudaError_t.cudaErrorInvalidValue
    structure = rt.cudaGraphInstantiateResult.cudaGraphInstantiateInvalidStructure
    assert params.result_out is structure and params.errNode_out in nodes


def test_captures(begun):
    stream, x = new_stream(), device_array(VALUES)
    mode = rt.cudaStreamCaptureMode
    good(rt.cudaStreamBeginCapture(stream, mode.cudaStreamCaptureModeGlobal))
    state, number, graph, nodes, data, count = good(rt.cudaStreamGetCaptureInfo(stream))
    assert state is rt.cudaStreamCaptureStatus.cudaStreamCaptureStatusActive
    assert int(number) and (nodes, data, count) == ([], [], 0)
    node = good(rt.cudaGraphAddMemsetNode(graph, None, 0, filling(x, 4, N)))
    good(rt.cudaStreamUpdateCaptureDependencies(stream, [node], None, 1, 1))
    found = good(rt.cudaStreamGetCaptureInfo(stream))
    assert found[3] == [node] and type(found[3][0]) is rt.cudaGraphNode_t
    assert type(found[4][0]) is rt.cudaGraphEdgeData
    assert good(rt.cudaStreamEndCapture(stream)) == graph
    failed = rt.cudaStreamEndCapture(stream)
    assert failed == (rt.cudaError_t.cudaErrorIllegalState, None)
    good(rt.cudaGraphLaunch(good(rt.cudaGraphInstantiate(graph, 0)), stream))
    assert (host_array(x, VALUES) == 4).all()
    before = good(rt.cudaThreadExchangeStreamCaptureMode(mode.cudaStreamCaptureModeRelaxed))
    assert before is mode.cudaStreamCaptureModeGlobal
    good(rt.cudaThreadExchangeStreamCaptureMode(before))


@pytest.mark.parametrize(
    "runtime, driver",
    [
        ("cudaKernelNodeParams", "CUDA_KERNEL_NODE_PARAMS_v1"),
        ("cudaKernelNodeParamsV2", "CUDA_KERNEL_NODE_PARAMS_v1"),
        ("cudaMemsetParams", "CUDA_MEMSET_NODE_PARAMS"),
        ("cudaHostNodeParams", "CUDA_HOST_NODE_PARAMS"),
        ("cudaGraphInstantiateParams", "CUDA_GRAPH_INSTANTIATE_PARAMS"),
        ("cudaGraphExecUpdateResultInfo", "CUgraphExecUpdateResultInfo"),
        ("cudaGraphEdgeData", "CUgraphEdgeData"),
        ("cudaChildGraphNodeParams", "CUDA_CHILD_GRAPH_NODE_PARAMS"),
    ],
)
def test_structures_that_are_taken_for_the_drivers_have_its_layout(runtime, driver):
    def places(made):
        found = []
        for field in made.fields.values():
            inner = [field.offset + each for each in places(field.inner)] if field.inner else []
            found += inner or [field.offset]
        return found

    assert places(layout(runtime)) == places(layout(driver))
    assert layout(runtime).size == layout(driver).size


def test_numbers_that_are_taken_for_the_drivers_are_its():
    for runtime, driver in (
        ("cudaGraphExecUpdateResult", "CUgraphExecUpdateResult"),
        ("cudaGraphInstantiateResult", "CUgraphInstantiateResult"),
        ("cudaStreamCaptureMode", "CUstreamCaptureMode"),
        ("cudaStreamCaptureStatus", "CUstreamCaptureStatus"),
        ("cudaGraphInstantiateFlags", "CUgraphInstantiate_flags"),
        ("cudaStreamUpdateCaptureDependenciesFlags", "CUstreamUpdateCaptureDependencies_flags"),
        ("cudaUserObjectFlags", "CUuserObject_flags"),
    ):
        there, here = enums()[driver].values.values(), enums()[runtime].values.values()
        assert list(here) == list(there)
    nodes = enums()["cudaGraphNodeType"].values
    assert set(nodes.values()) - {nodes["cudaGraphNodeTypeCount"]} <= set(
        enums()["CUgraphNodeType"].values.values()
    )
    assert runtime_graphs.linear_box(1, 2, 3, 4).WidthInBytes == 3


def allocating(graph):
    """A node that allocates memory, and its description."""
    params = rt.cudaMemAllocNodeParams()
    params.poolProps.allocType = params.poolProps.location.type = 1
    params.bytesize = 64
    return good(rt.cudaGraphAddMemAllocNode(graph, None, 0, params)), params


def test_memory_that_nobody_freed(begun):
    """A second launch is refused until the memory is free, however it becomes that."""
    graph, stream = good(rt.cudaGraphCreate(0)), new_stream()
    _, params = allocating(graph)
    run = good(rt.cudaGraphInstantiate(graph, 0))
    frees = good(rt.cudaGraphCreate(0))
    good(rt.cudaGraphLaunch(run, stream))
    good(rt.cudaGraphAddMemFreeNode(frees, None, 0, params.dptr))
    release = good(rt.cudaGraphInstantiate(frees, 0))
    ways = [
        lambda: rt.cudaFreeAsync(params.dptr, stream),
        lambda: rt.cudaFree(params.dptr),
        lambda: rt.cudaGraphLaunch(release, stream),
    ]
    for free in ways:
        for _ in range(2):
            assert rt.cudaGraphLaunch(run, stream)[0] == rt.cudaError_t.cudaErrorInvalidValue
        good(rt.cudaMemsetAsync(params.dptr, 1, 64, stream))  # the memory is as it was
        good(free())
        good(rt.cudaGraphLaunch(run, stream))
    good(rt.cudaStreamSynchronize(stream))


def test_memory_that_launches_free(begun):
    """With a flag a launch frees what earlier ones left, as does a node of the graph."""
    stream = new_stream()
    automatic = rt.cudaGraphInstantiateFlags.cudaGraphInstantiateFlagAutoFreeOnLaunch
    for flags, has_free in ((automatic, False), (0, True)):
        graph = good(rt.cudaGraphCreate(0))
        node, params = allocating(graph)
        if has_free:
            good(rt.cudaGraphAddMemFreeNode(graph, [node], 1, params.dptr))
        run = good(rt.cudaGraphInstantiate(graph, flags))
        for _ in range(3):
            good(rt.cudaGraphLaunch(run, stream))
        good(rt.cudaStreamSynchronize(stream))
        if not has_free:
            good(rt.cudaFree(params.dptr))
        for free in (rt.cudaFree, lambda address: rt.cudaFreeAsync(address, stream)):
            assert free(params.dptr)[0] == rt.cudaError_t.cudaErrorInvalidValue


def test_memory_that_no_launch_allocated(begun):
    """It cannot be freed, and is as it was for the launch."""
    graph, stream = good(rt.cudaGraphCreate(0)), new_stream()
    _, params = allocating(graph)
    run = good(rt.cudaGraphInstantiate(graph, 0))
    assert rt.cudaFree(params.dptr)[0] == rt.cudaError_t.cudaErrorInvalidValue
    good(rt.cudaGraphLaunch(run, stream))
    good(rt.cudaFreeAsync(params.dptr, stream))
    good(rt.cudaStreamSynchronize(stream))
