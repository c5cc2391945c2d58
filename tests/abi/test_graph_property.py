"""Random work as a graph, as a capture, and in the order of streams, against numpy on each device.

Work conflicts with other work that uses the same array; a program orders these by edges or events,
so that every order that keeps to them computes what the program's own order does.
"""

import ctypes
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.abi.graphing import (
    GLOBAL,
    TYPES,
    address,
    calling,
    copying,
    filling,
    good,
    host_function,
    kernel,
    new_graph,
    new_stream,
    scaling,
)
from tests.effort import examples

from gridlane.cuda import driver as cu

N, DEVICE, HOST, STREAMS = 16, 3, 2, 3
SETTINGS = settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(20, 300)
)


class Step(NamedTuple):
    """A piece of work.

    Attributes:
        kind: scale, fill, copy, upload, download or call.
        to, source: numbers of arrays; those of the host are behind those of the device.
        value: a factor, or what is filled in.
        stream: that a program of streams has it on.
    """

    kind: str
    to: int
    source: int
    value: int
    stream: int

    @property
    def used(self):
        both = self.kind in ("copy", "upload", "download")
        return {self.to, self.source} if both else {self.to}


@st.composite
def steps(draw):
    kind = draw(st.sampled_from(["scale", "fill", "copy", "upload", "download", "call"]))
    device, host = st.integers(0, DEVICE - 1), st.integers(DEVICE, DEVICE + HOST - 1)
    to = draw(host if kind in ("download", "call") else device)
    source = draw(host if kind == "upload" else device)
    value, stream = draw(st.integers(2, 9)), draw(st.integers(0, STREAMS - 1))
    return Step(kind, to, source, value, stream)


programs = st.lists(steps(), min_size=1, max_size=12)


def start():
    return [np.arange(N, dtype=np.uint32) + 100 * n for n in range(DEVICE + HOST)]


def computed(program, arrays):
    """What a program makes of arrays, by numpy."""
    for kind, to, source, value, _ in program:
        if kind == "scale":
            arrays[to] = arrays[to] * np.uint32(value) + np.uint32(1)
        elif kind == "fill":
            arrays[to][: N // 2] = value
        elif kind == "call":
            arrays[to] = arrays[to] * np.uint32(3) + np.uint32(5)
        else:
            arrays[to] = arrays[source].copy()
    return arrays


class Machine:
    """Arrays of a device and of the host."""

    def __init__(self, context):
        self.context, self.function = context, kernel()
        first = start()
        self.host = first[DEVICE:]
        self.device = [good(cu.cuMemAlloc(4 * N)) for _ in range(DEVICE)]
        self.reset()
        self.calls = [host_function(lambda _, x=each: self.call(x)) for each in self.host]

    @staticmethod
    def call(array):
        array *= np.uint32(3)
        array += np.uint32(5)

    def reset(self):
        """Give the arrays their first values."""
        first = start()
        for to, values in zip(self.device, first):
            good(cu.cuMemcpyHtoD(to, values, 4 * N))
        for to, values in zip(self.host, first[DEVICE:]):
            to[:] = values

    def values(self):
        """What the arrays have when all work is done."""
        good(cu.cuCtxSynchronize())
        found = [np.empty(N, np.uint32) for _ in self.device]
        for values, source in zip(found, self.device):
            good(cu.cuMemcpyDtoH(values, source, 4 * N))
        return [*found, *(each.copy() for each in self.host)]

    def place(self, number):
        return [*self.device, *self.host][number]

    def add(self, graph, step):
        """Make a node of a step."""
        to = self.place(step.to)
        if step.kind == "scale":
            params = scaling(self.function, to, step.value, 1, N)
            return good(cu.cuGraphAddKernelNode(graph, None, 0, params))
        if step.kind == "fill":
            params = filling(to, step.value, N // 2)
            return good(cu.cuGraphAddMemsetNode(graph, None, 0, params, self.context))
        if step.kind == "call":
            params = calling(self.calls[step.to - DEVICE])
            return good(cu.cuGraphAddHostNode(graph, None, 0, params))
        box = copying(to, self.place(step.source), 4 * N)
        return good(cu.cuGraphAddMemcpyNode(graph, None, 0, box, self.context))

    def append(self, stream, step):
        """Append a step to a stream."""
        to, source = self.place(step.to), self.place(step.source)
        if step.kind == "scale":
            values = (to, step.value, 1, N), TYPES
            good(cu.cuLaunchKernel(self.function, 1, 1, 1, 32, 1, 1, 0, stream, values, 0))
        elif step.kind == "fill":
            good(cu.cuMemsetD32Async(to, step.value, N // 2, stream))
        elif step.kind == "call":
            call = ctypes.cast(self.calls[step.to - DEVICE], ctypes.c_void_p).value
            good(cu.cuLaunchHostFunc(stream, call, 0))
        else:
            good(cu.cuMemcpyAsync(address(to), address(source), 4 * N, stream))


@pytest.fixture
def machine(begun):
    return Machine(begun)


def conflicts(program):
    """The pairs of steps that use the same array."""
    for n, step in enumerate(program):
        for m in range(n):
            if step.used & program[m].used:
                yield m, n


def graph_of(machine, program, order, more):
    """A graph of a program whose nodes are made in some order, with further edges."""
    graph = new_graph()
    nodes = {n: machine.add(graph, program[n]) for n in order}
    edges = sorted({*conflicts(program), *more})
    if edges:
        first, then = zip(*((nodes[a], nodes[b]) for a, b in edges))
        good(cu.cuGraphAddDependencies(graph, first, then, None, len(edges)))
    return graph


def equal(found, expected):
    return all((a == b).all() for a, b in zip(found, expected, strict=True))


@given(data=st.data())
@SETTINGS
def test_random_graphs(machine, data):
    program = data.draw(programs)
    count = len(program)
    order = data.draw(st.permutations(range(count)))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    more = [each for each in data.draw(st.lists(pairs, max_size=4)) if each[0] < each[1]]
    machine.reset()
    graph = graph_of(machine, program, order, more)
    if data.draw(st.booleans()):
        graph = good(cu.cuGraphClone(graph))
    if data.draw(st.booleans()):
        outer = new_graph()
        good(cu.cuGraphAddChildGraphNode(outer, None, 0, graph))
        graph = outer
    made, stream = good(cu.cuGraphInstantiate(graph, 0)), new_stream()
    launches = data.draw(st.integers(1, 3))
    for _ in range(launches):
        good(cu.cuGraphLaunch(made, stream))
    good(cu.cuGraphDestroy(graph))
    expected = start()
    for _ in range(launches):
        expected = computed(program, expected)
    assert equal(machine.values(), expected)

    # An update by a graph of the same form, with other values.
    other = [each._replace(value=each.value + 1) for each in program]
    changed = graph_of(machine, other, order, more)
    if launches == 2:
        inner, changed = changed, new_graph()
        good(cu.cuGraphAddChildGraphNode(changed, None, 0, inner))
    result = cu.cuGraphExecUpdate(made, changed)
    fits = result[0] == 0
    good(cu.cuGraphLaunch(made, stream))
    expected = computed(other if fits else program, expected)
    assert equal(machine.values(), expected)
    for each in (cu.cuGraphDestroy(changed), cu.cuGraphExecDestroy(made)):
        good(each)


def follow(stream, other):
    """Let a stream wait for the work of another."""
    event = good(cu.cuEventCreate(2))
    good(cu.cuEventRecord(event, other))
    good(cu.cuStreamWaitEvent(stream, event, 0))
    good(cu.cuEventDestroy(event))


def play(machine, program, streams):
    """Append a program to streams, with events between conflicting steps of two streams."""
    for other in streams[1:]:
        follow(other, streams[0])
    between = {n: set() for n in range(len(program))}
    for m, n in conflicts(program):
        if program[m].stream != program[n].stream:
            between[n].add(program[m].stream)
    for n, step in enumerate(program):
        for other in sorted(between[n]):
            follow(streams[step.stream], streams[other])
        machine.append(streams[step.stream], step)
    for other in streams[1:]:
        follow(streams[0], other)


@given(program=programs)
@SETTINGS
def test_random_captures(machine, program):
    streams = [new_stream() for _ in range(STREAMS)]
    expected = computed(program, start())
    machine.reset()
    play(machine, program, streams)
    assert equal(machine.values(), expected)

    machine.reset()
    good(cu.cuStreamBeginCapture(streams[0], GLOBAL))
    play(machine, program, streams)
    graph = good(cu.cuStreamEndCapture(streams[0]))
    assert good(cu.cuGraphGetNodes(graph))[1] == len(program)
    assert equal(machine.values(), start())
    made = good(cu.cuGraphInstantiate(graph, 0))
    good(cu.cuGraphLaunch(made, streams[1]))
    assert equal(machine.values(), expected)
    good(cu.cuGraphLaunch(made, streams[2]))
    assert equal(machine.values(), computed(program, expected))
    for each in streams:
        good(cu.cuStreamDestroy(each))
