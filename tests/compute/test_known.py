# ruff: noqa: F821  # extents are names that annotations define
"""Calls whose launches are kept: equal ones launch them again, and others do not."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.compute import Tensor, compute, f64, grid
from gridlane.compute.known import Known, LibraryCall, Step, Steps, key_of, on_host
from gridlane.core.errors import ArgumentError
from gridlane.launch import current, launcher


def nest():
    @compute
    def scaled(x: Tensor[f64, "N"], out: Tensor[f64, "N"], by: float, last: int):
        for i in range(N):
            out[i] = by * x[i]
        for i in range(last):
            out[i] += 1.0

    return scaled


def expected(x, by, last):
    return np.array([by * v + 1.0 if i < last else by * v for i, v in enumerate(x)])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_calls_that_differ(device):
    scaled = nest()
    with gridlane.device(device):
        for n in (3, 8):
            for by in (2.0, -0.0, 0.0):
                for last in (0, 2, n):
                    x, out = np.arange(float(n)), np.zeros(n)
                    for _ in range(3):
                        scaled(x, out, by, last)
                        assert out.tobytes() == expected(x, by, last).tobytes()
                        x += 1.0


def test_an_equal_call_is_checked_once(monkeypatch):
    scaled = nest()
    x, out = np.arange(5.0), np.zeros(5)
    with gridlane.device("cpu"):
        scaled(x, out, 2.0, 3)
        monkeypatch.setattr(type(scaled), "_run", lambda *_, **__: pytest.fail("it is known"))
        scaled(x, out, 3.0, 3)
        assert (out == expected(x, 3.0, 3)).all()
        with pytest.raises(pytest.fail.Exception):
            scaled(x, out, 3.0, 4)
        with pytest.raises(pytest.fail.Exception):
            scaled(x[:4], out[:4], 3.0, 3)


def test_arrays_at_the_same_place_that_share_memory():
    scaled = nest()
    memory = np.arange(8.0)
    with gridlane.device("cpu"):
        scaled(memory[:4], memory[4:], 2.0, 0)
        with pytest.raises(ArgumentError, match="share memory"):
            scaled(memory[:4], memory[3:7], 2.0, 0)
        with pytest.raises(ArgumentError, match="reach index"):
            scaled(memory[:4], memory[4:], 2.0, 5)
        assert memory.tolist() == [0.0, 1.0, 2.0, 3.0, 0.0, 2.0, 4.0, 6.0]


def test_arrays_are_not_kept_alive():
    scaled = nest()
    out = np.zeros(4)
    with gridlane.device("cpu"):
        x = np.arange(4.0)
        alive = weakref.ref(x)
        scaled(x, out, 2.0, 1)
        del x
        gc.collect()
        assert alive() is None


def test_keys():
    with gridlane.device("interp"):
        other_device = current.device()
    with gridlane.device("cpu"):
        device = current.device()
    a = np.zeros((4, 4))
    key = key_of(device, (a, 1, 2.0))
    assert key == key_of(device, (a, 1, 3.0))
    others = [(a[:, :3], 1, 2.0), (a.T[:3], 1, 2.0), (a, 2, 2.0), (a, 1, 2), (a.view("i8"), 1, 2.0)]
    for other in others:
        assert key_of(device, other) != key
    assert key_of(other_device, (a, 1, 2.0)) != key
    for other in [(a, True), (a, np.int64(1)), (a.view(np.matrix),), ([1.0],)]:
        assert key_of(device, other) is None


def test_keys_of_tensors():
    torch = pytest.importorskip("torch")
    with gridlane.device("cpu"):
        device = current.device()
    a = torch.zeros(4, 4, dtype=torch.complex64)
    key = key_of(device, on_host((a,)))
    assert key is not None and key == key_of(device, on_host((a.view(4, 4),)))
    for other in (a[:, :3], a[1:], a.T, a.clone(), a.real, a.view(2, 8)):
        assert key_of(device, on_host((other,))) not in (key, None)
    for other in (a.conj(), a.conj().imag, torch.zeros(3, requires_grad=True)):
        assert key_of(device, on_host((other,))) is None


def test_equal_calls_with_tensors(monkeypatch):
    torch = pytest.importorskip("torch")
    scaled = nest()
    with gridlane.device("cpu"):
        x, out = torch.arange(5.0, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
        scaled(x, out, 2.0, 3)
        monkeypatch.setattr(type(scaled), "_run", lambda *_, **__: pytest.fail("it is known"))
        scaled(x, out, 3.0, 3)
        assert (out.numpy() == expected(np.arange(5.0), 3.0, 3)).all()


def test_equal_calls_of_a_library_are_checked_once(monkeypatch):
    @compute
    def product(a: Tensor[f64, "N", "N"], b: Tensor[f64, "N", "N"], out: Tensor[f64, "N", "N"]):
        for i, j in grid(N, N):
            s = 0.0
            for k in range(N):
                s += a[i, k] * b[k, j]
            out[i, j] = s

    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 9, (2, 64, 64)).astype(np.float64)
    with gridlane.device("cpu"):
        given = [cuda.to_device(each) for each in (a, b, np.zeros_like(a))]
        assert "tiles.kernels" in product.explain(*given)
        product(*given)
        monkeypatch.setattr(type(product), "_values", lambda *_: pytest.fail("it is known"))
        given[0].copy_to_device(b)
        product(*given)
        assert (given[2].copy_to_host() == b @ b).all()


def test_what_is_kept_is_bounded():
    known = Known()
    for number in range(40):
        steps = Steps(["a"])
        for _ in range(1000):
            steps.add(None, ("a", "c0"), (None, number))
        known.keep((number,), steps, (None,))
    assert sum(map(len, known._steps.values())) <= 16_384
    assert known.get((39,)) is not None and known.get((0,)) is None
    for _ in range(4097):
        steps.add(None, ("a", "c0"), (None, 0))
    assert not steps.is_whole and not steps.steps


WITH_DOUBLES = ["interp", *(each for each in DEVICES if each not in ("webgpu", "opengl"))]
"""Others keep no float64 in memory."""


@pytest.mark.parametrize("device", WITH_DOUBLES)
def test_equal_calls_with_arrays_of_a_device(device, monkeypatch):
    scaled = nest()
    with gridlane.device(device):
        x, out = cuda.to_device(np.arange(8.0)), cuda.to_device(np.zeros(8))
        scaled(x, out, 2.0, 3)
        with monkeypatch.context() as patch:
            patch.setattr(type(scaled), "_run", lambda *_, **__: pytest.fail("it is known"))
            x.copy_to_device(np.arange(1.0, 9.0))
            scaled(x, out, 3.0, 3)
            assert (out.copy_to_host() == expected(np.arange(1.0, 9.0), 3.0, 3)).all()
            with pytest.raises(pytest.fail.Exception):
                scaled(x[::-1], out, 3.0, 3)
            with pytest.raises(pytest.fail.Exception):
                scaled(x[:4], out[:4], 3.0, 3)
        scaled(x[::-1], out, 1.0, 0)
        assert out.copy_to_host().tolist() == [*range(8, 0, -1)]
        with pytest.raises(ArgumentError, match="share memory"):
            scaled(x[:6], x[2:], 1.0, 0)
        with pytest.raises(ArgumentError, match="N is 8 in x and 4 in out"):
            scaled(x, out[:4], 1.0, 0)


@pytest.mark.parametrize("device", WITH_DOUBLES)
def test_arrays_of_a_device_beside_those_of_numpy(device):
    """These are copied at each call where the device has memory of its own."""
    scaled = nest()
    with gridlane.device(device):
        x, out = cuda.to_device(np.arange(4.0)), np.zeros(4)
        for by in (1.0, 2.0):
            scaled(x, out, by, 1)
            assert (out == expected(np.arange(4.0), by, 1)).all()


class Ready:
    """Stands for a native launch."""

    def __init__(self, addresses):
        self.addresses, self.works, self.count = addresses, True, 0

    def __call__(self):
        self.count += self.works
        return self.works


class Noting:
    """Stands for a native launcher: what a call notes, and how often it was made."""

    def __init__(self, monkeypatch):
        self.notes, self.calls, self._list = [], [], None
        monkeypatch.setattr(launcher, "note_in", self._note_in)

    def _note_in(self, launches):
        before, self._list = self._list, launches
        return before

    def __call__(self, *args):
        self.calls.append(args)
        if self._list is not None:
            self._list += self.notes


@pytest.fixture
def noting(monkeypatch):
    return Noting(monkeypatch)


def library_call(noting):
    return LibraryCall(lambda args: noting(*args))


def test_a_call_is_made_again_once_it_was_native(noting):
    array = np.zeros(4)
    for make, args in (
        (library_call, (3,)),
        (lambda each: Step(each, (0, 1), (None,) * 2), (array, 3)),
    ):
        call, ready = make(noting), Ready([])
        noting.calls.clear()
        noting.notes = [None]  # the first one compiles
        call.run(args)
        noting.notes = [ready]
        for _ in range(4):
            call.run(args)
        assert (len(noting.calls), ready.count) == (2, 3)
        ready.works = False  # as an observer begins
        call.run(args)
        assert len(noting.calls) == 3
        call.run(args)
        assert len(noting.calls) == 4 and ready.count == 3


@pytest.mark.parametrize("notes", [[], [None], [None, Ready([])], [Ready([]), Ready([])]])
def test_what_is_no_single_native_launch_is_called_each_time(noting, notes):
    call, noting.notes = library_call(noting), notes
    for _ in range(9):
        call.run((3,))
    assert len(noting.calls) == 9 and not any(each.count for each in notes if each)
    late = Ready([])
    noting.notes = [late]  # it is looked at now and then
    for _ in range(50):
        call.run((3,))
    assert 0 < late.count < 48


def test_launches_with_memory_of_each_call_are_not_made_again(noting):
    with gridlane.device("interp"):
        array = cuda.to_device(np.zeros((4, 4), np.float32))
    inside, end = array.address + 60, array.address + 64
    flat = array.reshape(16)
    for addresses, again in (([], 1), ([0, inside], 1), ([end], 0), ([array.address, 64], 0)):
        for args in ((array, 3), (flat, 3), (3, array)):
            call, ready = library_call(noting), Ready(addresses)
            noting.notes = [ready]
            for _ in range(5):
                call.run(args)
            assert bool(ready.count) is bool(again)


def test_values_of_floats_are_those_of_the_launch(noting):
    call, ready = library_call(noting), Ready([])
    noting.notes = [ready]
    for value in (0.5, 0.5, 0.25, 0.5, float("nan"), 0.5):
        call.run((value, 3))
    assert [each[0] for each in noting.calls[:2]] == [0.5, 0.25] and ready.count == 3
    zero = library_call(noting)
    for value in (0.0, 0.0, -0.0):
        zero.run((value,))
    assert [str(each[0]) for each in noting.calls[-3:]] == ["0.0", "0.0", "-0.0"]
    step, ready = Step(noting, (0,), (None,)), Ready([])
    noting.notes = [ready]
    for value in (0.5, 0.25, 0.5):
        step.run((value,))
    assert ready.count == 1 and [each[0] for each in noting.calls[-2:]] == [0.5, 0.25]


def test_notes_of_others_are_put_back(noting):
    outer: list = []
    launcher.note_in(outer)
    call = LibraryCall(lambda args: pytest.fail("as it is"))
    with pytest.raises(pytest.fail.Exception):
        call.run((3,))
    assert launcher.note_in(None) is outer and not outer
