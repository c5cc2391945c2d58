"""Calls that C looks up: an equal call needs no Python, and any other is noticed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.compute import Tensor, compute, f64, fused, grid
from gridlane.compute import known as programs
from gridlane.core.errors import ArgumentError, DeviceError
from gridlane.launch.launcher_calls import Calls, PythonCalls

pytestmark = pytest.mark.skipif(Calls is PythonCalls, reason="no native launcher")
N = 6


def nest():
    @compute
    def scaled(x: Tensor[f64, "N"], out: Tensor[f64, "N"], by: float, last: int):
        for i in grid(N):
            out[i] = by * x[i]
        for i in range(last):
            out[i] += 1.0

    return scaled


def expected(x, by=2.0, last=3):
    product = by * np.asarray(x)
    return np.where(np.arange(len(x)) < last, product + 1.0, product)


@pytest.fixture(autouse=True)
def _cpu():
    with gridlane.device("cpu"):
        yield


@pytest.fixture
def looked_at(monkeypatch):
    """The calls that Python sees."""
    seen, own = [], []

    def watch(scaled):
        own.append(type(scaled).run_fastest)
        monkeypatch.setattr(
            type(scaled), "run_fastest", lambda self, args: seen.append(args) or own[0](self, args)
        )
        return seen

    return watch


def known(given, count=5):
    """A function that has been called with arguments."""
    scaled = nest()
    for _ in range(count):
        scaled(*given)
    return scaled


MAKE = [np.asarray, cuda.to_device]


@pytest.mark.parametrize("make", MAKE)
def test_equal_calls_need_no_python(looked_at, make):
    with gridlane.device("cpu"):
        x, out = make(np.arange(6.0)), make(np.zeros(N))
    scaled = known((x, out, 2.0, 3))
    seen = looked_at(scaled)
    for values in (np.arange(1.0, 7.0), -np.arange(6.0)):
        x[:] = values
        scaled(x, out, 2.0, 3)
        assert (np.asarray(out) == expected(values)).all() and not seen
    scaled(x=x, out=out, by=2.0, last=3)
    assert len(seen) == 1


def test_equal_calls_with_tensors_need_no_python(looked_at):
    torch = pytest.importorskip("torch")
    x, out = torch.arange(6.0, dtype=torch.float64), torch.zeros(N, dtype=torch.float64)
    scaled = known((x, out, 2.0, 3))
    seen = looked_at(scaled)
    x += 1
    scaled(x, out, 2.0, 3)
    assert (out.numpy() == expected(np.arange(1.0, 7.0))).all() and not seen
    for other in (x.flip(0), x.clone(), x.view(N)[:]):
        scaled(other, out, 2.0, 3)
        assert (out.numpy() == expected(other.numpy())).all()
    assert len(seen) == 2
    with pytest.raises(ArgumentError):
        scaled(x.float(), out, 2.0, 3)


@pytest.mark.parametrize("make", MAKE)
def test_other_calls_are_noticed(make):
    with gridlane.device("cpu"):
        memory = make(np.arange(24.0))
    x, out = memory[:N], memory[12 : 12 + N]
    given = x, out, 2.0, 3
    scaled = known(given)
    ways = [
        (x, out, 2.5, 3), (x, out, -0.0, 3), (x, out, 2.0, 4), (x, out, 2.0, 0), (x, out, 2, 3),
        (x[:4], out[:4], 2.0, 3), (memory[1 : 1 + N], out, 2.0, 3),
        (memory[: 2 * N : 2], out, 2.0, 3), (x[::-1], out, 2.0, 3), (x, out[::-1], 2.0, 3),
    ]  # fmt: skip
    for way in [each for way in ways for each in (way, given)] * 2:
        start = np.arange(24.0)
        memory[:] = start
        values = np.array(way[0])
        scaled(*way)
        assert np.asarray(way[1]).tobytes() == expected(values, *way[2:]).tobytes(), way[2:]
    for wrong, text in [
        ((x, memory[3:9], 2.0, 3), "share memory"),
        ((x, out[:5], 2.0, 3), "N is 6"),
        ((x, out, 2.0, 7), "reach index"),
        ((x, out, 2.0), "arguments"),
    ]:
        for _ in range(3):
            with pytest.raises(ArgumentError, match=text):
                scaled(*wrong)
    with pytest.raises(ArgumentError):
        scaled(np.asarray(x).astype(np.float32), out, 2.0, 3)
    with pytest.raises(ArgumentError):
        scaled(x, out, 2.0, 3.5)


def test_floats_that_change(looked_at):
    """Each is its own, and a steady one is looked up again."""
    x, out = np.arange(6.0), np.zeros(N)
    scaled = known((x, out, 2.0, 3))
    for by in np.linspace(0.5, 9.5, 40).tolist():
        scaled(x, out, by, 3)
        assert (out == expected(x, by)).all()
    for _ in range(40):
        scaled(x, out, 9.25, 3)
    seen = looked_at(scaled)
    scaled(x, out, 9.25, 3)
    assert not seen and (out == expected(x, 9.25)).all()


def test_other_devices():
    x, out = np.arange(6.0), np.zeros(N)
    scaled = known((x, out, 2.0, 3))
    with gridlane.device("interp") as device:
        with cuda.profiling(show=False) as profile:
            for _ in range(4):
                out[:] = 0
                scaled(x, out, 2.0, 3)
                assert (out == expected(x)).all()
        assert device.name == "interp" and sum(row.calls for row in profile.kernels) >= 4


def test_captures_and_blocks():
    x, out = (cuda.to_device(each) for each in (np.arange(6.0), np.zeros(N)))
    scaled, stream = known((x, out, 2.0, 3)), cuda.stream()
    for _ in range(3):
        with pytest.raises(DeviceError, match=r"scaled\.on\(stream\)"):
            with cuda.capture(stream):
                scaled(x, out, 2.0, 3)
        out[:] = 0
        with fused() as fusion:
            scaled(x, out, 2.0, 3)
            assert fusion.launches
        assert (out.copy_to_host() == expected(np.arange(6.0))).all()
        scaled(x, out, 2.0, 3)


def test_observers():
    x, out = np.arange(6.0), np.zeros(N)
    scaled = known((x, out, 2.0, 3))
    with cuda.profiling(show=False) as profile:
        scaled(x, out, 2.0, 3)
        scaled(x, out, 2.0, 3)
    assert {row.calls for row in profile.kernels} == {2}


def test_work_of_streams_in_front():
    """Another stream's work is done before a call that is looked up."""
    x, out, stream = np.arange(6.0), np.zeros(N), cuda.stream()
    scaled = known((x, out, 2.0, 3))

    def slowly():
        for value in range(1, 2000):
            x[0] = value

    for _ in range(3):
        stream.submit(slowly)
        scaled(x, out, 2.0, 3)
        assert out[0] == 2 * 1999 + 1


def test_after_tuning(looked_at):
    x, out = np.arange(6.0), np.zeros(N)
    scaled = known((x, out, 2.0, 3))
    scaled.tune(x, out, 2.0, 3, seconds=5)
    seen = looked_at(scaled)
    scaled(x, out, 2.0, 3)
    assert len(seen) == 1 and (out == expected(x)).all()


@pytest.mark.parametrize("count", [1, 3, 5, 40])
def test_arrays_that_become_read_only(count):
    x, out = np.arange(6.0), np.zeros(N)
    scaled = known((x, out, 2.0, 3), count)
    out[:], out.flags.writeable = 0, False
    with pytest.raises(ArgumentError, match="read-only"):
        scaled(x, out, 2.0, 3)
    assert not out.any()
    x.flags.writeable, out.flags.writeable = False, True
    for _ in range(count):
        scaled(x, out, 2.0, 3)
        assert (out == expected(x)).all()


def test_other_floats_in_the_middle(monkeypatch):
    """Another thread's call, while the launches of one become one call of C."""
    x, out = np.arange(6.0), np.zeros(N)
    scaled, own, threads = known((x, out, 2.0, 3), 2), programs.repetition, []

    def interrupted(launches):
        if not threads:
            threads.append(threading.Thread(target=scaled, args=(x, out, 7.0, 3)))
            threads[0].start()
            threads[0].join()
        return own(launches)

    monkeypatch.setattr(programs, "repetition", interrupted)
    scaled(x, out, 2.0, 3)
    assert threads
    for by in (7.0, 2.0, 7.0, 7.0, 7.0, 2.0):
        scaled(x, out, by, 3)
        assert (out == expected(x, by)).all()
