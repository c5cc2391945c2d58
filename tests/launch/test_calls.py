"""The look-up of calls like calls before: what an argument is compared by."""

from __future__ import annotations

import gc
import struct
import sys
import threading
import weakref

import numpy as np
import pytest

from gridlane.launch import launcher, launcher_calls
from gridlane.launch.launcher_calls import (
    DEVICE,
    GPU_TENSOR,
    INTEGER,
    NUMPY,
    REAL,
    TENSOR,
    Calls,
    PythonCalls,
)

pytestmark = pytest.mark.skipif(Calls is PythonCalls, reason="no native launcher")
KEY = object()


class Array:
    """Like an array of a device."""

    def __init__(self, key=KEY, address=4096, length=5):
        self.__gridlane_launch__ = key, struct.pack("<3q", address, length, 4)


class Tensor:
    """Like torch's."""

    dtype, is_cpu, is_cuda, requires_grad = "float32", True, False, False
    shape, steps, address, ordinal, lazy = (4, 3), (3, 1), 4096, 0, ()

    def __init__(self, **facts):
        vars(self).update(facts)

    def is_neg(self):
        return "neg" in self.lazy

    def is_conj(self):
        return "conj" in self.lazy

    def stride(self):
        return self.steps

    def data_ptr(self):
        if self.address is None:
            raise RuntimeError("no memory")
        return self.address

    def get_device(self):
        return self.ordinal


@pytest.fixture
def calls():
    return Calls(np.ndarray, Array)


def work(made, result=True):
    return lambda: made.append(1) or result


A = np.zeros((4, 6), np.float32)
EQUAL = [
    (NUMPY, A, lambda: A[:]),
    (NUMPY, A[1:, ::2], lambda: A[1:, ::2]),
    (NUMPY, A[0, 0, ...], lambda: A[0, 0, ...]),
    (DEVICE, Array(), Array),
    (TENSOR, Tensor(), Tensor),
    (GPU_TENSOR, Tensor(is_cuda=True), lambda: Tensor(is_cuda=True)),
    (INTEGER, 2**40, lambda: 2**40),
    (INTEGER, -3, lambda: -3),
    (REAL, 0.1, lambda: 0.1),
    (REAL, float("nan"), lambda: float("nan")),
]


@pytest.mark.parametrize(("kind", "value", "make"), EQUAL)
def test_equal_ones(calls, kind, value, make):
    made: list = []
    assert calls.keep((value, 7), (kind, INTEGER), work(made), None, None, False) is True
    assert calls(make(), 7) is True and calls(value, 7) is True and len(made) == 2
    assert calls(value) is False and calls(value, 7, 7) is False and calls() is False
    assert calls(value, 8) is False and len(made) == 2


OTHERS = [
    (NUMPY, A, [
        A[1:], A[:, :5], A.T, A[::-1], A.view(np.int32), A.view(">f4"), A.copy(), A.reshape(24),
        A.view(np.recarray), np.ma.array(A, copy=False), A.tolist(), None, A[:1],
    ]),
    (DEVICE, Array(), [
        Array(object()), Array(address=8192), Array(length=4), A, type("Own", (Array,), {})(),
    ]),
    (TENSOR, Tensor(), [
        Tensor(dtype="int32"), Tensor(is_cpu=False), Tensor(requires_grad=True),
        Tensor(lazy=("neg",)), Tensor(lazy=("conj",)), Tensor(shape=(3, 4)), Tensor(shape=(4,)),
        Tensor(steps=(1, 4)), Tensor(address=4100), Tensor(address=None), Tensor(address=-1),
        Tensor(shape=[4, 3]), Tensor(shape=(2**70, 3)), type("Own", (Tensor,), {})(),
    ]),
    (GPU_TENSOR, Tensor(is_cuda=True), [Tensor(is_cuda=True, ordinal=1), Tensor()]),
    (INTEGER, 1, [2, True, 1.0, np.int64(1), 2**64 + 1, -(2**63) - 1, None]),
    (REAL, 0.0, [-0.0, 0, 0.5, np.float64(0), False]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "others"), OTHERS)
def test_other_ones(calls, kind, value, others):
    made: list = []
    assert calls.keep((value, 7), (kind, INTEGER), work(made), None, None, False)
    for other in others:
        assert calls(other, 7) is False, other
    assert not made and calls(value, 7) and made


def test_arrays_that_may_not_be_written(calls):
    array, made = np.zeros(4), []
    assert calls.keep((array,), (NUMPY,), work(made), None, None, False)
    array.flags.writeable = False
    assert calls(array) is False
    array.flags.writeable = True
    assert calls(array) is True


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (NUMPY, [1]),
        (NUMPY, np.zeros((1,) * 9)),
        (DEVICE, A),
        (TENSOR, Tensor(lazy=("conj",))),
        (TENSOR, Tensor(address=None)),
        (TENSOR, Tensor(shape=(1,) * 9)),
        (GPU_TENSOR, Tensor()),
        (INTEGER, True),
        (INTEGER, 2**63),
        (REAL, 1),
        (99, 1),
    ],
)
def test_what_is_not_kept(calls, kind, value):
    assert calls.keep((3, value), (INTEGER, kind), work([]), None, None, False) is False
    assert calls(3, value) is False


def test_several_calls(calls):
    made: list = []
    for number in range(9):
        calls.keep((number,), (INTEGER,), work(made, number), None, None, False)
    assert calls(0) is False  # the oldest of nine
    for number in (1, 5, 8, 8, 1):
        assert calls(number) == number
    for number in range(20, 27):
        calls.keep((number,), (INTEGER,), work(made), None, None, False)
    assert calls(1) == 1 and calls(5) is False
    calls.forget()
    assert calls(1) is False


def test_threads_with_another_device(calls):
    found: list = []
    calls.keep((1,), (INTEGER,), work([]), None, None, False)
    launcher.select(5)
    try:
        assert calls(1) is False
        calls.keep((1,), (INTEGER,), lambda: 5, None, None, False)
        assert calls(1) == 5
    finally:
        launcher.select(-1)
    assert calls(1) is True
    thread = threading.Thread(target=lambda: found.append(calls(1)))
    thread.start()
    thread.join()
    assert found == [True]


def test_errors(calls):
    def failing():
        raise RuntimeError("of the call")

    calls.keep((1,), (INTEGER,), failing, None, None, False)
    with pytest.raises(RuntimeError, match="of the call"):
        calls(1)

    class Ending(Tensor):
        def data_ptr(self):
            if self.address is None:
                raise KeyboardInterrupt
            return self.address

    calls.keep((Ending(),), (TENSOR,), work([]), None, None, False)
    with pytest.raises(KeyboardInterrupt):
        calls(Ending(address=None))
    with pytest.raises(ValueError, match="kinds"):
        calls.keep((1,), (), work([]), None, None, False)
    with pytest.raises(TypeError):
        calls.keep((1,), ("int",), work([]), None, None, False)
    with pytest.raises(TypeError):
        calls.keep([1], (INTEGER,), work([]), None, None, False)
    with pytest.raises(TypeError):
        Calls(3, Array)


class Ready:
    """Like a launch that is ready."""

    def __init__(self, works=True):
        self.works, self.streams = works, []

    def __call__(self, *stream):
        self.streams += stream or [None]
        return self.works


def test_launches(calls):
    launches, rest = (Ready(), Ready()), []
    calls.keep((1, 2), (INTEGER, INTEGER), launches, lambda *a: rest.append(a), None, False)
    assert calls(1, 2) is True and [each.streams for each in launches] == [[None], [None]]
    launches[1].works = False
    assert calls(1, 2) is True and rest == [(1, (1, 2))]
    launches[0].works = False
    assert calls(1, 2) is False and len(rest) == 1 and len(launches[1].streams) == 2


@pytest.mark.parametrize("is_direct", [False, True])
def test_streams(calls, is_direct):
    launch, handles = Ready(), [0]
    calls.keep((1,), (INTEGER,), (launch,), None, lambda: handles[0], is_direct)
    assert calls(1) is True and launch.streams == [None]
    handles[0] = 1 << 40
    assert calls(1) is is_direct and launch.streams == [None, *[1 << 40] * is_direct]
    handles[0] = "none"
    with pytest.raises(TypeError):
        calls(1)


def test_a_call_that_changes_the_table(calls):
    """While it runs, and while its arguments are looked at."""

    def changing():
        calls.forget()
        gc.collect()
        return True

    calls.keep((1,), (INTEGER,), changing, None, None, False)
    del changing
    assert calls(1) is True and calls(1) is False

    class Forgetting(Tensor):
        def data_ptr(self):
            calls.forget()
            return self.address

    made: list = []
    calls.keep((Forgetting(),), (TENSOR,), work(made), None, None, False)
    assert calls(Forgetting()) is False or made


def test_lifetimes():
    calls, array, made = Calls(np.ndarray, Array), Array(), []
    alive = weakref.ref(array)
    function = work(made)
    calls.keep((array, A), (DEVICE, NUMPY), function, None, None, False)
    pair = array.__gridlane_launch__
    before = sys.getrefcount(A), sys.getrefcount(pair), sys.getrefcount(function)
    for _ in range(50):
        calls(array, A)
        calls(array, A[1:])
    assert (sys.getrefcount(A), sys.getrefcount(pair), sys.getrefcount(function)) == before
    del array
    gc.collect()
    assert alive() is None

    class Owner:
        pass

    owner = Owner()
    owner.calls, gone = calls, weakref.ref(owner)
    calls.keep((1,), (INTEGER,), lambda own=owner: own, None, None, False)
    del owner, calls
    gc.collect()
    assert gone() is None


def test_without_the_native_launcher():
    calls = PythonCalls(np.ndarray, Array)
    assert calls.keep((1,), (INTEGER,), work([]), None, None, False) is False
    assert calls(1) is False and calls.forget() is None
    assert launcher_calls.Calls is Calls
