"""Host arrays with gaps between their elements, and outputs that a function reads, on every device.

numpy, plain Python and CuPy's conventions have the right values.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.launch import current
from gridlane.launch.devices import get_device

F = np.float32

MOVE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry move(.param .u64 source, .param .u64 target) {
    .reg .b32 %r<4>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [source];
    ld.param.u64 %rd2, [target];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r2, [%rd4];
    st.global.u32 [%rd5], %r2;
    mov.u32 %r3, 7;
    st.global.u32 [%rd4], %r3;
    ret;
}"""
"""Copies a word a thread, and writes 7 in its place."""


@pytest.fixture(params=["interp", *DEVICES], autouse=True)
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


# --- raw kernels: the address of the first element ---


def moved(source):
    out = np.zeros(3, np.int32)
    cuda.RawModule(code=MOVE).get_function("move")((1,), (3,), (source, out))
    return out.tolist()


@pytest.mark.parametrize("hint", [lambda a: a, cuda.InOut])
def test_raw_kernels_see_the_memory_between_elements(hint):
    whole = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert moved(hint(whole[:, 1])) == [1, 2, 3]
    assert whole.ravel().tolist() == [0, 7, 7, 7, *range(4, 12)]
    assert moved(hint(whole[1:, :2])) == [4, 5, 6]
    assert whole.ravel().tolist() == [0, 7, 7, 7, 7, 7, 7, *range(7, 12)]


def test_raw_kernels_leave_inputs_and_the_rest_of_outputs():
    whole = np.arange(12, dtype=np.int32)
    assert moved(cuda.In(whole[::2])) == [0, 1, 2] and whole.tolist() == list(range(12))
    source, out = np.arange(3, dtype=np.int32), np.arange(12, dtype=np.int32)
    cuda.RawModule(code=MOVE).get_function("move")((1,), (3,), (source, cuda.Out(out[1::5])))
    assert out.tolist() == [0, 0, 1, 2, *range(4, 12)]


def test_raw_kernels_see_the_other_fields_of_records():
    records = np.zeros(3, [("a", "i4"), ("b", "i4"), ("c", "i2")])
    records["a"], records["b"] = [1, 2, 3], 9
    assert moved(records["a"])[:2] == [1, 9]
    assert records["a"][0] == 7 and records["b"].tolist() == [7, 9, 9]


@pytest.mark.parametrize("hint", [lambda a: a, cuda.In, cuda.Out])
@pytest.mark.parametrize("view", [lambda a: a[::-1], lambda a: np.broadcast_to(a[0], (4, 4))])
def test_raw_kernels_refuse_steps_that_go_nowhere(hint, view):
    whole = np.arange(16, dtype=np.int32).reshape(4, 4)
    with pytest.raises(ArgumentError, match="address of the first element alone"):
        moved(hint(view(whole)))


# --- copies to views of host arrays ---

VIEWS = {
    "block": np.s_[1:3, 1:4],
    "steps": np.s_[::2, ::3],
    "column": np.s_[:, 2],
    "reversed": np.s_[::-2, ::-1],
    "row": np.s_[1:2, 1:3],
    "all": np.s_[:, :],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("on", ["default", "stream", "pinned"])
def test_copies_to_views_write_the_elements_alone(view, on):
    view, stream = VIEWS[view], 0 if on == "default" else cuda.stream()
    source, target = np.arange(24, dtype=np.int32).reshape(4, 6), np.full((4, 6), -1, np.int32)
    if on == "pinned":
        target = cuda.pinned_array((4, 6), np.int32)
        target[:] = -1
    want = np.full((4, 6), -1, np.int32)
    want[view] = source[view]
    cuda.to_device(source)[view].copy_to_host(target[view], stream=stream)
    cuda.synchronize()
    assert target.tolist() == want.tolist()


def test_copies_to_fields_write_the_fields_alone():
    records = np.zeros(3, [("a", "i4"), ("b", "i4"), ("c", "i4")])
    records["b"] = 9
    cuda.to_device(np.arange(9, dtype=np.int32))[::3].copy_to_host(records["a"])
    assert records["a"].tolist() == [0, 3, 6] and records["b"].tolist() == [9, 9, 9]
    some = np.zeros(3, records.dtype)[["a", "c"]]
    there = cuda.to_device(some)
    there.copy_to_host(records[["a", "c"]])
    assert records["a"].tolist() == [0, 0, 0] and records["b"].tolist() == [9, 9, 9]


# --- generalised ufuncs: outputs that the function reads ---


def summed():
    @cuda.guvectorize(["(f4[:], f4[:])"], "()->()", target="cuda")
    def add(x, out):
        out[0] += x[0]

    return add


def test_outputs_are_read():
    add, ones = summed(), np.ones(10, F)
    out = np.full(10, 2, F)
    assert add(ones, out=out) is out and out.tolist() == [3] * 10
    assert add(ones, out).tolist() == [4] * 10
    assert add(out, out=out).tolist() == [8] * 10
    there = cuda.to_device(out)
    assert add(ones, out=there) is there and there.copy_to_host().tolist() == [9] * 10


def test_views_as_outputs():
    add, ones = summed(), np.ones(4, F)
    out = np.full((4, 3), 2, F)
    add(ones, out=out[:, 1])
    assert out.tolist() == [[2, 3, 2]] * 4
    there = cuda.to_device(out)
    add(ones, out=there[::-1, 1])
    assert there.copy_to_host().tolist() == [[2, 4, 2]] * 4
    turned = np.asfortranarray(out)
    add(np.ones((4, 3), F), out=turned)
    assert turned.tolist() == [[3, 4, 3]] * 4


def test_several_outputs_are_read():
    @cuda.guvectorize(["(f4[:], f4[:], f4[:])"], "(n)->(),(n)", target="cuda")
    def running(x, total, out):
        for i in range(x.shape[0]):
            total[0] += x[i]
            out[i] += total[0]

    total, out = np.full(2, 10, F), np.full((2, 3), 100, F)
    running(np.ones((2, 3), F), out=(total, out))
    assert total.tolist() == [13, 13] and out.tolist() == [[111, 112, 113]] * 2


@pytest.mark.parametrize("where", [np.asarray, cuda.to_device])
def test_outputs_of_other_dtypes(where):
    @cuda.guvectorize(["(i4[:], i4[:])"], "()->()", target="cuda")
    def add(x, out):
        out[0] += x[0]

    ones = np.ones(4, np.int32)
    out = where(np.full(4, 2, np.int64))
    assert np.asarray(add(ones, out=out)).tolist() == [3] * 4
    with pytest.raises(TypeError, match=r"from int32 to uint8 .*'same_kind'"):
        add(ones, out=where(np.full(4, 2, np.uint8)))


# --- mapped and pinned ---


def test_mapped_yields_the_array(device):
    @cuda.jit
    def plus(x, n):
        x[cuda.grid(1)] += n

    one, other = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    with cuda.pinned(one, other) as nothing:
        assert nothing is None
    if device.name not in ("cpu", "cuda"):
        return  # refused by name: test_pointers.py
    with cuda.mapped(one) as there:
        plus[1, 16](there, 7)
        cuda.synchronize()
    with cuda.mapped(one, other) as both:
        for each in both:
            plus[1, 16](each, 1)
        cuda.synchronize()
    assert one.tolist() == list(range(8, 24)) and other.tolist() == [1] * 16
