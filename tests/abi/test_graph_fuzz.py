"""Random calls of every function of graphs and captures, with handles of every kind and state: each
answers with an error or does what it says; none breaks, and the graph that was made before still
runs."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.abi.conftest import forget
from tests.abi.graphing import (
    device_array,
    good,
    host_array,
    kernel,
    new_graph,
    new_stream,
    scaling,
)
from tests.effort import examples

from gridlane.abi.python import functions
from gridlane.abi.python.values import Handle, class_of
from gridlane.core.cuda_table import ctype
from gridlane.cuda import driver as cu

VALUES = np.arange(32, dtype=np.uint32)
ROWS = [
    (api, name, row)
    for api in ("driver", "runtime")
    for name, row in functions._rows(api).items()
    if row.family in ("graphs", "capture") and "Dot" not in name
]


def arguments(row, draw, handles):
    """Values for the parameters of a function; those of pointers to data are null."""

    def handle():
        return handles[draw(st.integers(0, 40)) % len(handles)]

    for each in row.parameters:
        kind = ctype(each.type)
        if each.name in row.both:
            kind = ctype(kind.to)
        elif each.name in row.outs:
            continue
        if kind.kind == "handle":
            yield handle()
        elif kind.kind in ("int", "enum"):
            yield draw(st.sampled_from([0, 0, 1, 2, 3, 77]))
        else:
            target = ctype(kind.to.replace("const", "").strip() or "void")
            if target.kind == "handle":
                yield draw(st.sampled_from([None, 1, 2, 3])) and [handle() for _ in range(3)]
            elif target.kind == "struct" and draw(st.booleans()):
                yield class_of(target.name)()
            else:
                yield None


@given(data=st.data())
@settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    max_examples=examples(40, 600),
)
def test_random_calls(cpu, data):
    forget()
    good(cu.cuInit(0))
    context = good(cu.cuCtxCreate(None, 0, 0))
    x = device_array(VALUES)
    graph, dead, stream = new_graph(), new_graph(), new_stream()
    node = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(kernel(), x, 2, 0, 32)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    other, captured = new_graph(), new_stream()
    event = good(cu.cuEventCreate(2))
    empty = good(cu.cuGraphAddEmptyNode(other, None, 0))
    second = good(cu.cuGraphInstantiate(other, 0))
    good(cu.cuGraphDestroy(dead))
    good(cu.cuStreamBeginCapture(captured, 2))
    handles = [*map(int, (other, dead, empty, captured, event, second)), 0, 1, 2, 12345]
    for _ in range(data.draw(st.integers(1, 12))):
        api, name, row = data.draw(st.sampled_from(ROWS))
        values = list(arguments(row, data.draw, handles))
        try:
            result = functions.resolve(api, name)(*values)
        except RuntimeError as error:
            assert "numDependencies" not in str(error) and " has " in str(error)
            continue
        assert isinstance(result, tuple) and len(result) == 1 + len(row.outs), row.name
        handles += [int(each) for each in result[1:] if isinstance(each, Handle)]
    for each in (captured, 2):
        cu.cuStreamEndCapture(each)
    good(cu.cuGraphLaunch(made, stream))
    assert (host_array(x, VALUES) == VALUES * 2).all()
    assert cu.cuGraphNodeGetType(node) == (cu.CUresult.CUDA_SUCCESS, 0)
    good(cu.cuCtxDestroy(context))
