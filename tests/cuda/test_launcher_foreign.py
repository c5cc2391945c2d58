"""Arrays of other libraries on the native launch path: it and its twin in Python see the same."""

from __future__ import annotations

import ctypes
import gc
import itertools
import random
import sys

import numpy as np
import pytest
from tests.cuda.test_launcher import CLASSES, Driver, _native, made

from gridlane.core.compact import LIMIT
from gridlane.launch.launcher import FOREIGN, PythonLauncher
from gridlane.launch.launcher_external_arrays import BY_INTERFACE, BY_TENSOR, LAYOUTS, Wanted
from gridlane.launch.parameters import array_layout

MAPPED = range(4096, 1 << 40)
"""Addresses that kernels can use."""


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_ulonglong)
def attribute(value, number, pointer):
    assert number == 3
    if pointer not in MAPPED:
        return 1
    ctypes.c_uint64.from_address(value).value = pointer
    return 0


ATTRIBUTE = ctypes.cast(attribute, ctypes.c_void_p).value


def wanted(way=BY_INTERFACE, expected="<f4", ndim=2, layout="C", readonly=0, limit=LIMIT, stream=0):
    places = array_layout(ndim).places
    at = LAYOUTS.index(layout)
    return Wanted(way, expected, ndim, at, 4, readonly, limit, ATTRIBUTE, stream, places)


class Theirs:
    def __init__(self, interface=None, **changes):
        self.__cuda_array_interface__ = interface or (
            dict(shape=(2, 3), typestr="<f4", strides=None, data=(8192, False), version=3) | changes
        )


def launched(cls, want, *values):
    """The parameter blocks of launches with these, one at a time; None for the slow way."""
    driver, blocks = Driver(), []
    launch = made(cls, driver, ((FOREIGN, type(values[0]), want, 0, 8 + 16 * want[2]),), 136)
    for value in values:
        launch(value)
        blocks.append(driver.calls.pop()[-1][: 8 + 16 * want[2]] if driver.calls else None)
        assert (blocks[-1] is None) == bool(launch.slow)
        launch.slow.clear()
    return blocks


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


class Index(int):
    pass


REFUSED = [
    dict(typestr="<f8"), dict(typestr=None), dict(typestr=4), dict(shape=(6,)), dict(shape=None),
    dict(shape=[2, 3]), dict(shape=(2.0, 3)), dict(shape=(2, -3)), dict(shape=(2, 2**63)),
    dict(shape=(True, 3)), dict(shape=(Index(2), 3)), dict(strides=(4, 8)), dict(strides=(12,)),
    dict(strides=(12, 4, 4)), dict(strides=(12, 2**64)), dict(strides=(-(2**63), 4)),
    dict(strides="no"), dict(shape=(2**40, 2**40)), dict(shape=(2**62, 1), strides=(4, 4)),
    dict(data=None), dict(data=8192), dict(data=(8192,)), dict(data=(8192, False, 1)),
    dict(data=(8192, True)), dict(data=(8192, 0)), dict(data=(-8192, False)),
    dict(data=(2**64, False)), dict(data=(8192.0, False)), dict(data=[8192, False]),
    dict(data=(0, False)), dict(data=(16, False)), dict(mask=3), dict(stream=2),
    dict(stream="1"), dict(stream=True),
    dict(stream=-1), dict(stream=2**64),
]  # fmt: skip


@pytest.mark.parametrize("changes", REFUSED, ids=str)
def test_what_does_not_fit_goes_the_slow_way(cls, changes):
    good = Theirs()
    assert launched(cls, wanted(), good, Theirs(**changes), good)[1] is None


@pytest.mark.parametrize("interface", [None, 3, {}, "x", [("shape", (2, 3))], {1: 2}])
def test_what_is_no_interface_goes_the_slow_way(cls, interface):
    odd = Theirs()
    odd.__cuda_array_interface__ = interface
    assert launched(cls, wanted(), odd) == [None]


def test_what_fits(cls):
    good = np.array([8192, 2, 3, 12, 4]).tobytes()
    for changes in (
        {}, dict(strides=(12, 4)), dict(mask=None), dict(stream=None), dict(stream=1),
        dict(stream=7), dict(version=2), dict(descr=[("", "<f4")]),
    ):  # fmt: skip
        (block,) = launched(cls, wanted(stream=7), Theirs(**changes))
        assert block == good
    assert launched(cls, wanted(readonly=1), Theirs(data=(8192, True)))[0] == good


def test_limits(cls):
    """Code for small arrays gets none that is larger than it counts on, and code for large ones
    none that has code of its own."""
    most = LIMIT // 4
    fits = [(most + 1,), (4,)], [(1, 1), (LIMIT, LIMIT)], [(2, 2), (LIMIT - 4, 4)]
    large = [(most + 2,), (4,)], [(1, 1), (LIMIT + 1, 4)], [(2, 2), (LIMIT - 3, 4)]
    for (shape, strides), good in [*((f, True) for f in fits), *((b, False) for b in large)]:
        layout = "C" if all(n == 1 for n in shape) or len(shape) == 1 else "A"
        value = Theirs(shape=shape, strides=strides)
        want = {"ndim": len(shape), "layout": layout}
        assert (launched(cls, wanted(**want), value)[0] is not None) is good
        assert (launched(cls, wanted(limit=-LIMIT, **want), value)[0] is None) is good


@pytest.mark.skipif(_native is None, reason="the extension was not built")
def test_the_two_see_the_same():
    choose, seen = random.Random(7), set()
    extents, steps = (0, 1, 1, 2, 3, 2**20), (-12, -4, 0, 1, 4, 4, 8, 12, 2**33)
    for _ in range(1500):
        ndim = choose.randrange(4)
        shape = tuple(choose.choices(extents, k=ndim))
        strides = choose.choice((None, tuple(choose.choices(steps, k=ndim))))
        if choose.random() < 0.4:
            order = choose.choice("CF")
            strides = np.ndarray(tuple(max(1, min(n, 3)) for n in shape), "f4", order=order).strides
        value = Theirs(shape=shape, strides=strides, data=(choose.choice((8192, 4096, 8)), False))
        want = wanted(
            ndim=ndim, layout=choose.choice("CFA"), limit=choose.choice((-LIMIT, LIMIT, LIMIT))
        )
        one, two = (launched(each, want, value)[0] for each in (PythonLauncher, _native.Launcher))
        assert one == two, (shape, strides, want)
        seen.add((one is None, want[3]))
    assert seen == set(itertools.product((True, False), range(3)))


class Tensor:
    """As torch.Tensor is read."""

    def __init__(self, dtype, **changes):
        self.dtype, self.is_cuda, self.requires_grad = dtype, True, False
        self.shape, self.steps, self.address = (2, 3), (3, 1), 8192
        self.neg = self.conj = False
        vars(self).update(changes)

    def stride(self):
        return self.steps

    def data_ptr(self):
        return self.address

    def is_neg(self):
        return self.neg

    def is_conj(self):
        return self.conj


def test_tensors(cls):
    dtype = object()
    want = wanted(BY_TENSOR, dtype)
    good = np.array([8192, 2, 3, 12, 4]).tobytes()
    assert launched(cls, want, Tensor(dtype))[0] == good
    for changes in (
        dict(dtype=object()), dict(is_cuda=False), dict(requires_grad=True), dict(neg=True),
        dict(conj=True), dict(shape=(2, 3, 1)), dict(steps=(1, 2)), dict(steps=(2**62, 1)),
        dict(address=16), dict(address=None), dict(shape=None), dict(is_cuda=1),
    ):  # fmt: skip
        assert launched(cls, want, Tensor(dtype), Tensor(**{"dtype": dtype} | changes))[1] is None


def test_an_object_that_raises_goes_the_slow_way_and_an_interrupt_does_not(cls):
    class Raises(Theirs):
        def __init__(self, error):
            self.error = error

        @property
        def __cuda_array_interface__(self):
            raise self.error

    assert launched(cls, wanted(), Raises(ValueError("x")), Raises(AttributeError())) == [None] * 2
    with pytest.raises(KeyboardInterrupt):
        launched(cls, wanted(), Raises(KeyboardInterrupt()))


def test_an_object_that_changes_the_profiles(cls):
    class Sly(Theirs):
        @property
        def __cuda_array_interface__(self):
            launch._forget()
            gc.collect()
            return dict(shape=(2, 3), typestr="".join(["<", "f4"]), data=(8192, False))

        @__cuda_array_interface__.setter
        def __cuda_array_interface__(self, value):
            pass

    driver = Driver()
    launch = made(cls, driver, ((FOREIGN, Sly, wanted(expected="".join("<f4")), 0, 40),), 40)
    launch(Sly())
    assert len(driver.calls) == 1


def test_calls_leave_no_references(cls):
    driver, value, dtype = Driver(), Theirs(stream=1), object()
    tensor, want = Tensor(dtype), wanted(BY_TENSOR, dtype)
    matchers = ((FOREIGN, Theirs, wanted(), 0, 40), (FOREIGN, Tensor, want, 40, 40))
    launch = made(cls, driver, matchers, 80)
    odd = Theirs(shape=(3,))
    launch(value, tensor)
    shown = value.__cuda_array_interface__
    watched = (value, tensor, dtype, want, shown, shown["shape"], tensor.shape, tensor.steps, odd)
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(1000):
        launch(value, tensor)
        launch(odd, tensor)
    driver.calls.clear()
    launch.slow.clear()
    assert [sys.getrefcount(each) for each in watched] == before


@pytest.mark.skipif(_native is None, reason="the extension was not built")
@pytest.mark.parametrize(
    "want",
    [None, (), 3, wanted(ndim=9), wanted()._replace(ndim=-1), wanted(way=2)]
    + [wanted(ndim=1), wanted(limit=0), wanted(limit=-(2**63)), wanted()._replace(itemsize=0)]
    + [wanted()._replace(attribute=0), wanted()[:-1], wanted()._replace(places=(0, 8))]
    + [wanted()._replace(places=bad) for bad in ((33, 0, 0), (0, 25, 8), (0, 8, 25), (-1, 8, 24))],
)
def test_the_native_class_checks_what_is_wanted(want):
    with pytest.raises(ValueError, match="not a matcher"):
        made(_native.Launcher, Driver(), ((FOREIGN, Theirs, want, 0, 40),), 40)
