# ruff: noqa: F821  # extents are names that annotations define
"""Signals and threads while isl computes: the next call is right, and limits are as before."""

from __future__ import annotations

import signal
import threading

import islpy as isl
import numpy as np
import pytest

import gridlane
from gridlane.compute import Tensor, bands, compute, f64, schedules
from gridlane.compute.alone import LOCK

SIZE = 8


def swept(a: Tensor[f64, "N", "N"], b: Tensor[f64, "N", "N"]):
    for t in range(2):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                b[i, j] = a[i, j] + a[i - 1, j] + a[i + 1, j]
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                a[i, j] = b[i, j] + b[i, j - 1] + t


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(64.0).reshape(SIZE, SIZE), np.zeros((SIZE, SIZE))


def wanted() -> np.ndarray:
    a, b = arrays()
    for t in range(2):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1]
        a[1:-1, 1:-1] = b[1:-1, 1:-1] + b[1:-1, :-2] + t
    return a


def require_right(nest) -> None:
    a, b = arrays()
    with gridlane.device("cpu"):
        nest(a, b)
    assert (a == wanted()).all()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setattr("gridlane.compute.kept.default_cache", lambda: None)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_error_in_a_function_that_isl_calls_is_raised(error, monkeypatch, capfd) -> None:
    visits = []

    def change(node):
        visits.append(node)
        if len(visits) == 2:
            raise error("while isl changes a band")
        return node

    nest = compute(swept)
    with monkeypatch.context() as patched:
        patched.setattr(schedules, "CHANGES", dict.fromkeys(bands.CHANGES, change))
        with pytest.raises(error, match="while isl changes a band"):
            nest(*arrays())
    assert "islpy" not in capfd.readouterr().err
    require_right(nest)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("milliseconds", [1, 30, 150])
def test_a_signal_during_the_first_call(milliseconds, monkeypatch) -> None:
    def interrupt(*_):
        raise KeyboardInterrupt

    nest = compute(swept)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, milliseconds / 1000)
        nest(*arrays())
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    require_right(nest)


def test_first_calls_of_several_threads() -> None:
    results, nests = [], [compute(swept) for _ in range(3)] * 2

    def run(nest) -> None:
        a, b = arrays()
        with gridlane.device("cpu"):
            nest(a, b)
        results.append(a)

    threads = [threading.Thread(target=run, args=(nest,)) for nest in nests]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(results) == 6 and all((each == wanted()).all() for each in results)


def test_another_threads_limit_does_not_count() -> None:
    """A thread has few operations of isl left while another one computes: a lock is between."""
    started, failed = threading.Event(), []

    def run() -> None:
        started.wait()
        try:
            require_right(compute(swept))
        except BaseException as error:
            failed.append(error)

    other = threading.Thread(target=run)
    other.start()
    with LOCK, schedules.bounded(most=10):
        started.set()
        other.join(0.3)
        assert other.is_alive()
    other.join()
    assert not failed
