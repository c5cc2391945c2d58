"""Array expressions and stores of whole views on arguments that overlap: as numpy, or an error."""

from __future__ import annotations

import random
import types

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import TargetError

SIZE = 18


def _copied(out, a, b):
    out[:] = a


def _turned(out, a, b):
    out[:] = a[::-1]


def _summed(out, a, b):
    out[:] = a + b * 2


def _broadcast(out, a, b):
    out[:] = b[1:2] + a


def _in_place(out, a, b):
    out += a


def _filled(out, a, b):
    np.subtract(a, b, out)


@cuda.jit(device=True)
def stored(target, source):
    target[:] = source[::-1]


def _by_a_function(out, a, b):
    stored(out, a)


def _kept(out, a, b):
    x = a - b
    for i in range(out.shape[0]):
        out[i] = x[x.shape[0] - 1 - i]


def _kept_for_a_store(out, a, b):
    x = a - b
    out[:] = x * 2 + a


def _kept_for_two_stores(out, a, b):
    x = a - b
    out[:] = x * 2
    b[:] = x


def _kept_in_a_loop(out, a, b):
    for i in range(2):
        x = a + b
        out[:] = x - i


def _kept_around_a_loop(out, a, b):
    x = a + b
    for i in range(2):
        out[:] = x + i


def _kept_from_before(out, a, b):
    x = a + b
    for i in range(3):
        if i % 2 == 0:
            x = a + b
        out[i % 2] = x[1]


def _kept_beside_a_store(out, a, b):
    out[0] = 7
    x = a * 2
    y = x + b
    out[1] = y[0] + x[1]


def _kept_from_an_iteration(out, a, b):
    for i in range(3):
        if i != 1:
            x = a + b
        out[i % 2] = x[1]


NEVER_REFUSED = (
    *(_kept_beside_a_store, _kept_for_two_stores),
    *(_kept_from_before, _kept_from_an_iteration),
)
"""Those that read no other array than they have written, or have memory for what they read."""
WITH_A_STACK = (_kept_for_two_stores, _kept_from_before, _kept_from_an_iteration)
"""Those that have memory for what they read, of a size that is known when they run."""
KERNELS = [
    *(_kept_for_a_store, _kept_for_two_stores, _kept_in_a_loop, _kept_around_a_loop),
    *(_kept_from_before, _kept_beside_a_store, _kept_from_an_iteration),
    *[_copied, _turned, _summed, _broadcast, _in_place, _filled, _by_a_function, _kept],
]


def _views(rng: random.Random, memory):
    """Three views of one length, of which any two may overlap."""
    count = rng.choice((2, 3, 5))
    views = []
    for _ in range(3):
        step = rng.choice((1, 1, 2, 3, -1, -2))
        reach = (count - 1) * abs(step) + 1
        low = rng.randrange(SIZE - reach + 1) if rng.random() < 0.8 else 0
        views.append(memory[low : low + reach][::step])
    if rng.random() < 0.3:
        views[0] = views[rng.choice((1, 2))]
    return views


def _memory():
    return np.random.default_rng(3).integers(-50, 50, SIZE).astype(np.float32)


def _plain(function, views):
    """The function in numpy, where an expression has its values at once."""
    names = {**function.__globals__, "stored": stored.py_func}
    types.FunctionType(function.__code__, names)(*views)


SIGNATURE = "void(float32[:], float32[:], float32[:])"


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("function", KERNELS, ids=lambda each: each.__name__.strip("_"))
def test_as_numpy_or_refused(device, function):
    if device == "webgpu" and function in WITH_A_STACK:
        with gridlane.device(device), pytest.raises(TargetError, match="a size that is known when"):
            cuda.jit(SIGNATURE)(function)[1, 1](*_views(random.Random(1), _memory()))
        return
    rng, results = random.Random(function.__name__), {True: 0, False: 0}
    with gridlane.device(device):
        kernel = cuda.jit(SIGNATURE)(function)
        for _ in range(40):
            state, host = rng.getstate(), _memory()
            wanted = _views(rng, host)
            rng.setstate(state)
            memory = cuda.to_device(_memory())
            given = _views(rng, memory)
            _plain(function, wanted)
            try:
                kernel[1, 1](*given)
                found = memory.copy_to_host()
            except ValueError as error:
                assert "overlap" in str(error)
                shared = [np.shares_memory(wanted[0], each) for each in wanted[1:]]
                steps = {abs(each.strides[0]) for each in wanted}
                assert any(shared) or len(steps) > 1, "arrays that share nothing are refused"
                results[False] += 1
                continue
            np.testing.assert_array_equal(found, host)
            results[True] += 1
    assert results[True] > 3 and (results[False] > 3 or function in NEVER_REFUSED), results


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_arrays_without_gaps(device):
    """The same array twice, next to each other, moved, and none at all."""
    with gridlane.device(device):
        kernel = cuda.jit("void(float32[:, ::1], float32[:, ::1])")(_doubled)
        for low, fails in ((0, False), (4, True), (8, False)):
            flat = cuda.to_device(np.arange(16, dtype=np.float32))
            out, a = flat[low : low + 8].reshape(2, 4), flat[:8].reshape(2, 4)
            wanted = np.arange(16, dtype=np.float32)
            wanted[low : low + 8] = wanted[:8] * 2
            if fails:
                with pytest.raises(ValueError, match=r"stored to array\(float32, 2d, C\) comes"):
                    kernel[1, 1](out, a)
            else:
                kernel[1, 1](out, a)
                np.testing.assert_array_equal(flat.copy_to_host(), wanted)
        flat = cuda.to_device(np.ones(4, np.float32))
        kernel[1, 1](flat[2:2].reshape(0, 4), flat.reshape(1, 4))
        assert flat.copy_to_host().tolist() == [1] * 4


def _doubled(out, a):
    out[:] = a * 2


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_columns_of_one_matrix(device):
    """Columns lie between each other and do not overlap."""
    with gridlane.device(device):
        kernel = cuda.jit("void(float32[:, :], float32[:, :])")(_doubled)
        matrix = cuda.to_device(np.arange(12, dtype=np.float32).reshape(2, 6))
        kernel[1, 1](matrix[:, 3:], matrix[:, :3])
        assert matrix.copy_to_host().tolist() == [[0, 1, 2, 0, 2, 4], [6, 7, 8, 12, 14, 16]]
        with pytest.raises(ValueError, match="overlaps it in memory"):
            kernel[1, 1](matrix[:, 2:5], matrix[:, :3])


@pytest.mark.parametrize("function", [_kept_for_a_store, _kept_in_a_loop, _kept_beside_a_store])
def test_arrays_that_are_changed_in_place(function):
    """What is read before it is written, element by element, is no reason to refuse."""
    kernel = cuda.jit(SIGNATURE)(function)
    host = _memory()
    wanted, given = host.copy(), cuda.to_device(host)
    _plain(function, (wanted, wanted, wanted))
    kernel[1, 1](given, given, given)
    np.testing.assert_array_equal(given.copy_to_host(), wanted)
