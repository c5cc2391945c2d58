"""Kernels and device functions go to other processes by their names; those without a name, as
tests/distributed/test_kernels.py has them, as source."""

from __future__ import annotations

import copy
import copyreg
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from gridlane import cuda
from gridlane.cuda.host.graphs import Graph


@cuda.jit(device=True)
def twice(value):
    return value * 2


@cuda.jit
def kernel(x):
    x[0] = twice(x[0]) + 1


@cuda.jit("void(int64[::1])", fastmath=True)
def with_a_signature(x):
    x[0] = 7


@cuda.reduce
def total(a, b):
    return a + b


@cuda.vectorize(["float32(float32)"])
def halved(x):
    return x / 2


@cuda.vectorize
def tripled(x):
    return x * 3


@cuda.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
def moved(x, y):
    for i in range(x.size):
        y[i] = x[i]


class Owner:
    @cuda.jit
    def method(x: Any):  # type: ignore[misc]  # a kernel, not a method
        x[0] = 5


MADE = [total, halved, tripled, moved]


def _run(kernel):
    x = np.full(1, 3)
    kernel[1, 1](x)
    return x[0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("one", [kernel, twice, with_a_signature, Owner.method, *MADE])
def test_by_name(one, protocol):
    assert pickle.loads(pickle.dumps(one, protocol)) is one


@pytest.mark.parametrize("one", MADE)
def test_copies_of_what_decorators_make(one):
    assert copy.copy(one) is one and copy.deepcopy([one])[0] is one


@pytest.mark.parametrize("make", [cuda.reduce, cuda.vectorize])
def test_what_has_no_name_is_made_again(make):
    def inner(a, b):
        return a + b

    again = pickle.loads(pickle.dumps(make(inner)))
    x = np.arange(4.0)
    result, expected = (again(x), 6.0) if make is cuda.reduce else (again(x, x), x + x)
    assert np.array_equal(result, expected)


def test_a_specialised_kernel():
    special = kernel.specialize(np.zeros(1, np.int64))
    again = pickle.loads(pickle.dumps(special))
    assert again.specialized and _run(again) == 7


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_copies(make):
    def inner(x):
        x[0] = 9

    closure = cuda.jit(inner)
    assert _run(make(kernel)) == 7 and _run(make(closure)) == 9
    assert make({"kernel": kernel})["kernel"] is kernel


PROGRAM = """
import multiprocessing
import numpy as np
from gridlane import cuda

@cuda.jit
def kernel(x):
    x[0] = x[0] * 2 + 1

def run(one):
    x = np.full(1, 3)
    one[1, 1](x)
    return int(x[0])

if __name__ == "__main__":
    for method in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.map(run, [kernel]))
"""


def test_in_other_processes(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, path],
        env={**os.environ, "GRIDLANE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "[7]\n" * 3, done.stderr


@pytest.mark.parametrize(
    "way", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]
)
def test_configured_kernels(way):
    again, x = way(kernel[(2, 1), (4, 2, 1), 0, 16]), np.full(1, 3)
    shape = again.griddim, again.blockdim, again.sharedmem, again.dispatcher
    assert shape == ((2, 1, 1), (4, 2, 1), 16, kernel)
    way(kernel[1, 1])(x)
    assert x[0] == 7
    with pytest.raises(TypeError, match=r"make one with cuda.stream\(\)"):
        pickle.dumps(kernel[1, 1, cuda.stream()])


RECORD = np.dtype([("x", np.int32), ("y", np.float64)])

BOUND = {
    "context": (cuda.current_context, r"pass its id, and take cuda.gpus\[id\]"),
    "device": (cuda.get_current_device, r"pass its id, and take cuda.gpus\[id\]"),
    "compiled": (
        lambda: next(iter(with_a_signature.overloads.values())),
        "pass the decorated kernel",
    ),
    "stream": (cuda.stream, r"make one with cuda.stream\(\)"),
    "event": (cuda.event, r"make one with cuda.event\(\)"),
    "graph": (Graph, "record the work"),
    "memory": (lambda: cuda.device_array(3).buffer, "copy the bytes"),
}


@pytest.mark.parametrize("name", BOUND)
@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_what_belongs_to_the_process_is_refused(name, way):
    make, advice = BOUND[name]
    with pytest.raises(TypeError, match=f"cannot be pickled or copied.*{advice}"):
        way([make()] if way is copy.deepcopy else make())


@pytest.mark.parametrize(
    "way", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]
)
def test_what_is_the_same_everywhere(way):
    assert way(cuda.default_stream()) is cuda.default_stream()
    assert way(cuda.gpus[0]).id == 0 and way(cuda.gpus[0]).name == cuda.gpus[0].name


@pytest.mark.parametrize("host", [np.arange(6).reshape(2, 3), np.zeros(1, RECORD)[0]], ids=str)
def test_device_arrays(host, monkeypatch):
    """One that was pickled would show memory of another process, but for gridlane.distributed."""
    array = cuda.to_device(host)
    monkeypatch.delitem(copyreg.dispatch_table, type(array), raising=False)
    with pytest.raises(TypeError, match=r"cannot be pickled.*copy_to_host\(\)"):
        pickle.dumps(array)
    view, apart = copy.copy(array), copy.deepcopy({"of": array})["of"]
    assert type(view) is type(apart) is type(array)
    assert view.address == array.address != apart.address
    assert apart.copy_to_host().tobytes() == array.copy_to_host().tobytes() == host.tobytes()


@cuda.jit(debug=True, opt=False)
def beyond(x):
    x[5] = 1


def test_the_exception_of_a_kernel_is_pickled():
    with pytest.raises(IndexError) as caught:
        beyond[1, 1](np.zeros(4))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(caught.value, protocol))
        assert type(again) is type(caught.value) and isinstance(again, IndexError)
        assert str(again) == str(caught.value) and again.thread == caught.value.thread
