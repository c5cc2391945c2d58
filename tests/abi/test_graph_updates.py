"""Updates of executable graphs, on each device: documented results and errors."""

import threading

import numpy as np
from tests.abi.graphing import (
    BAD,
    KIND,
    calling,
    copying,
    device_array,
    filling,
    good,
    host_array,
    host_function,
    kernel,
    name_of,
    new_graph,
    new_stream,
    scaling,
)

from gridlane.abi.calls.registry import calls
from gridlane.abi.errors import called
from gridlane.core.cuda_table.functions import functions
from gridlane.cuda import driver as cu

N = 100
VALUES = np.arange(N, dtype=np.uint32)
RESULT = cu.CUgraphExecUpdateResult


def update(made, graph):
    """What an update tells: its error, and its result without what all have in front, the node that
    does not fit, and its dependency. Python's caller gets none of these after an error, as from
    NVIDIA's bindings; C's does."""
    row = functions("driver")["cuGraphExecUpdate_v2"]
    number, given = called(row, calls("driver")[row.name], [int(made), int(graph)])
    (told,) = given
    name = RESULT(told.result).name.removeprefix("CU_GRAPH_EXEC_UPDATE_").removeprefix("ERROR_")
    assert number == (0 if name == "SUCCESS" else 910)
    return name, told.errorNode, told.errorFromNode


def test_work_of_nodes_in_an_executable(begun):
    graph, function, stream = new_graph(), kernel(), new_stream()
    x, y, back, seen = device_array(VALUES), device_array(VALUES * 0), VALUES * 0, []
    other = np.full(N, 9, np.uint32)
    notes = [host_function(lambda _, n=n: seen.append(n)) for n in range(2)]
    events = [good(cu.cuEventCreate(2)) for _ in range(2)]
    inner, changed = new_graph(), new_graph()
    good(cu.cuGraphAddKernelNode(inner, None, 0, scaling(function, y, 1, 1, N)))
    good(cu.cuGraphAddKernelNode(changed, None, 0, scaling(function, y, 10, 0, N)))
    steps = [
        (cu.cuGraphAddMemcpyNode, (copying(x, VALUES, 4 * N), begun)),
        (cu.cuGraphAddKernelNode, (scaling(function, x, 2, 0, N),)),
        (cu.cuGraphAddMemcpyNode, (copying(y, x, 4 * N), begun)),
        (cu.cuGraphAddMemsetNode, (filling(y, 7, 10), begun)),
        (cu.cuGraphAddChildGraphNode, (inner,)),
        (cu.cuGraphAddHostNode, (calling(notes[0]),)),
        (cu.cuGraphAddEventRecordNode, (events[0],)),
        (cu.cuGraphAddEventWaitNode, (events[0],)),
        (cu.cuGraphAddMemcpyNode, (copying(back, y, 4 * N), begun)),
    ]
    nodes = []
    for add, args in steps:
        nodes.append(good(add(graph, nodes[-1:], len(nodes[-1:]), *args)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    upload, launch, copy, fill, child, call, record, wait, _ = nodes
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuStreamSynchronize(stream))
    expected = VALUES * 2
    expected[:10] = 7
    assert (back == expected + 1).all()

    good(cu.cuGraphExecMemcpyNodeSetParams(made, upload, copying(x, other, 4 * N), begun))
    good(cu.cuGraphExecKernelNodeSetParams(made, launch, scaling(function, x, 3, 1, N)))
    good(cu.cuGraphExecMemsetNodeSetParams(made, fill, filling(y, 5, 20), begun))
    good(cu.cuGraphExecChildGraphNodeSetParams(made, child, changed))
    good(cu.cuGraphExecHostNodeSetParams(made, call, calling(notes[1])))
    good(cu.cuGraphExecEventRecordNodeSetEvent(made, record, events[1]))
    good(cu.cuGraphExecEventWaitNodeSetEvent(made, wait, events[1]))
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuStreamSynchronize(stream))
    expected = np.full(N, 28, np.uint32)
    expected[:20] = 5
    assert (back == expected * 10).all() and seen == [0, 1]
    good(cu.cuEventSynchronize(events[1]))

    # of other kinds of nodes, of memory of another side, of several rows
    assert cu.cuGraphExecKernelNodeSetParams(made, fill, scaling(function, x, 3, 1, N))[0] == BAD
    assert cu.cuGraphExecMemsetNodeSetParams(made, launch, filling(x, 1, 1), begun)[0] == BAD
    assert cu.cuGraphExecMemcpyNodeSetParams(made, copy, copying(y, other, 4), begun)[0] == BAD
    rows = filling(y, 1, 2)
    rows.height, rows.pitch = 2, 16
    assert cu.cuGraphExecMemsetNodeSetParams(made, fill, rows, begun)[0] == BAD
    assert cu.cuGraphExecChildGraphNodeSetParams(made, child, graph)[0] == BAD
    assert cu.cuGraphExecEventWaitNodeSetEvent(made, record, events[0])[0] == BAD
    foreign = good(cu.cuGraphAddEmptyNode(inner, None, 0))
    assert cu.cuGraphExecHostNodeSetParams(made, foreign, calling(notes[0]))[0] == BAD
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuStreamSynchronize(stream))
    assert (back == expected * 10).all()


def test_work_of_any_type_in_an_executable(begun):
    graph, stream, x = new_graph(), new_stream(), device_array(VALUES)
    fill = good(cu.cuGraphAddMemsetNode(graph, None, 0, filling(x, 7, N), begun))
    empty = good(cu.cuGraphAddEmptyNode(graph, None, 0))
    made = good(cu.cuGraphInstantiate(graph, 0))
    params = cu.CUgraphNodeParams()
    params.type = KIND.CU_GRAPH_NODE_TYPE_MEMSET
    params.memset.dst, params.memset.value, params.memset.elementSize = x, 9, 4
    params.memset.width, params.memset.height = N, 1
    good(cu.cuGraphExecNodeSetParams(made, fill, params))
    assert cu.cuGraphExecNodeSetParams(made, empty, params)[0] == BAD
    good(cu.cuGraphLaunch(made, stream))
    assert (host_array(x, VALUES) == 9).all()


def chain(function, x, factors):
    graph, before = new_graph(), []
    for each in factors:
        params = scaling(function, x, each, 1, N)
        before = [good(cu.cuGraphAddKernelNode(graph, before, len(before), params))]
    return graph


def test_an_update_by_a_graph(begun):
    function, x, stream = kernel(), device_array(VALUES), new_stream()
    made = good(cu.cuGraphInstantiate(chain(function, x, [2, 3]), 0))
    other = chain(function, x, [5, 7])
    told = good(cu.cuGraphExecUpdate(made, other))
    assert told.result == RESULT.CU_GRAPH_EXEC_UPDATE_SUCCESS and not told.errorNode
    good(cu.cuGraphDestroy(other))
    good(cu.cuGraphLaunch(made, stream))
    assert (host_array(x, VALUES) == (VALUES * 5 + 1) * 7 + 1).all()
    longer = chain(function, x, [1, 1, 1])
    failed = cu.cuGraphExecUpdate(made, longer)
    assert name_of(failed) == "GRAPH_EXEC_UPDATE_FAILURE" and failed[1] is None


def test_graphs_of_another_form(begun):
    def graph_of(count, edges):
        graph = new_graph()
        nodes = [good(cu.cuGraphAddEmptyNode(graph, None, 0)) for _ in range(count)]
        for first, then in edges:
            good(cu.cuGraphAddDependencies(graph, [nodes[first]], [nodes[then]], None, 1))
        return graph, [int(each) for each in nodes]

    def made_of(count, edges):
        return good(cu.cuGraphInstantiate(graph_of(count, edges)[0], 0))

    made = made_of(3, [(0, 1), (1, 2)])
    assert update(made, graph_of(2, [(0, 1)])[0]) == ("TOPOLOGY_CHANGED", 0, 0)
    graph, nodes = graph_of(3, [(0, 1)])  # a second sink
    assert update(made, graph) == ("TOPOLOGY_CHANGED", nodes[2], 0)
    graph, nodes = graph_of(3, [(0, 2), (1, 2)])
    assert update(made, graph) == ("TOPOLOGY_CHANGED", nodes[2], 0)
    graph, nodes = graph_of(3, [(0, 1), (1, 2), (2, 0)])
    assert update(made, graph)[0] == "ERROR"
    # The same edges, in another order: a dependency is the pair of another node.
    made = made_of(4, [(0, 2), (1, 2), (0, 3), (1, 3)])
    assert update(made, graph_of(4, [(0, 2), (1, 2), (0, 3), (1, 3)])[0])[0] == "SUCCESS"
    graph, nodes = graph_of(4, [(0, 2), (1, 2), (1, 3), (0, 3)])
    assert update(made, graph) in (
        ("TOPOLOGY_CHANGED", nodes[3], nodes[0]),
        ("TOPOLOGY_CHANGED", nodes[3], nodes[1]),
    )


def test_nodes_that_do_not_fit(begun):
    function, x = kernel(), device_array(VALUES)
    note = host_function(lambda _: None)

    def graph_of(add, *args):
        graph = new_graph()
        return graph, int(good(add(graph, None, 0, *args)))

    memset, memcpy = cu.cuGraphAddMemsetNode, cu.cuGraphAddMemcpyNode
    made = good(cu.cuGraphInstantiate(graph_of(memset, filling(x, 1, 4), begun)[0], 0))
    graph, node = graph_of(cu.cuGraphAddHostNode, calling(note))
    assert update(made, graph) == ("NODE_TYPE_CHANGED", node, 0)
    rows = filling(x, 1, 2)
    rows.height, rows.pitch = 2, 16
    graph, node = graph_of(memset, rows, begun)
    assert update(made, graph) == ("PARAMETERS_CHANGED", node, 0)
    assert update(made, graph_of(memset, filling(x, 5, 8), begun)[0])[0] == "SUCCESS"

    made = good(cu.cuGraphInstantiate(graph_of(memcpy, copying(x, VALUES, 4), begun)[0], 0))
    graph, node = graph_of(memcpy, copying(x, int(x) + 8, 4), begun)
    assert update(made, graph) == ("PARAMETERS_CHANGED", node, 0)

    made = good(cu.cuGraphInstantiate(chain(function, x, [2]), 0))
    second = good(cu.cuCtxCreate(None, 0, 0))
    graph, node = graph_of(cu.cuGraphAddKernelNode, scaling(kernel(), x, 2, 0, N))
    good(cu.cuCtxSetCurrent(begun))
    assert update(made, graph) == ("UNSUPPORTED_FUNCTION_CHANGE", node, 0)
    good(cu.cuCtxDestroy(second))


def test_a_refused_update_changes_nothing(begun):
    function, stream = kernel(), new_stream()
    x, y = device_array(VALUES), device_array(VALUES)
    graph, other = new_graph(), new_graph()
    for target, factor, fits in ((graph, 2, True), (other, 5, False)):
        inner = new_graph()
        good(cu.cuGraphAddKernelNode(inner, None, 0, scaling(function, x, factor, 0, N)))
        last = good(cu.cuGraphAddChildGraphNode(target, None, 0, inner))
        copy = copying(y, x if fits else VALUES, 4 * N)
        good(cu.cuGraphAddMemcpyNode(target, [last], 1, copy, begun))
    made = good(cu.cuGraphInstantiate(graph, 0))
    assert update(made, other)[0] == "PARAMETERS_CHANGED"
    good(cu.cuGraphLaunch(made, stream))
    assert (host_array(y, VALUES) == VALUES * 2).all()


def test_launches_that_run_keep_what_they_had(begun):
    """A call of the host holds a launch up while the executable changes and ends."""
    gate = threading.Event()
    hold = host_function(lambda _: gate.wait(60) and None)
    graph, function, stream = new_graph(), kernel(), new_stream()
    x = device_array(VALUES)
    first = good(cu.cuGraphAddHostNode(graph, None, 0, calling(hold)))
    node = good(cu.cuGraphAddKernelNode(graph, [first], 1, scaling(function, x, 2, 0, N)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuGraphExecKernelNodeSetParams(made, node, scaling(function, x, 50, 0, N)))
    good(cu.cuGraphExecDestroy(made))
    good(cu.cuGraphDestroy(graph))
    gate.set()
    good(cu.cuStreamSynchronize(stream))
    assert (host_array(x, VALUES) == VALUES * 2).all()


def test_copies_of_a_graph_do_not_hold_the_launch_up(begun):
    """Pageable memory is read after the work before it, which the host has yet to allow."""
    gate = threading.Event()
    hold = host_function(lambda _: gate.wait(60) and None)
    source, back, x = VALUES * 0, VALUES * 0, device_array(VALUES)
    graph, stream = new_graph(), new_stream()
    first = good(cu.cuGraphAddHostNode(graph, None, 0, calling(hold)))
    then = good(cu.cuGraphAddMemcpyNode(graph, [first], 1, copying(x, source, 4 * N), begun))
    good(cu.cuGraphAddMemcpyNode(graph, [then], 1, copying(back, x, 4 * N), begun))
    good(cu.cuGraphLaunch(good(cu.cuGraphInstantiate(graph, 0)), stream))
    source[:] = VALUES
    gate.set()
    good(cu.cuStreamSynchronize(stream))
    assert (back == VALUES).all()


def test_launches_of_one_executable_follow_each_other(begun):
    seen, pause = [], threading.Event()
    first = host_function(lambda _: (seen.append(1), pause.wait(0.05)) and None)
    second = host_function(lambda _: seen.append(2))
    graph = new_graph()
    node = good(cu.cuGraphAddHostNode(graph, None, 0, calling(first)))
    good(cu.cuGraphAddHostNode(graph, [node], 1, calling(second)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    for _ in range(4):
        good(cu.cuGraphLaunch(made, new_stream()))
    good(cu.cuCtxSynchronize())
    assert seen == [1, 2] * 4


def test_functions_that_are_refused_say_so(begun):
    function, params = cu.cuGraphAddBatchMemOpNode, cu.CUDA_BATCH_MEM_OP_NODE_PARAMS()
    assert name_of(function(0, 0, 0, params)) == "NOT_SUPPORTED"
    assert "Refused: " in function.__doc__
