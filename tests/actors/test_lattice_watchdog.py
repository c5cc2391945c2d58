"""Steps of lattices that do not end, on the CPU: the watchdog stops them."""

from __future__ import annotations

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tests.actors.lattice_samples import life
from tests.waiting import until

from gridlane import actors, cuda
from gridlane.actors.lattices import stopper
from gridlane.cuda import int32


@actors.lattice(fields={"n": int32}, neighbours=4)
def endless(ctx, n):
    """Does not end where a cell's sum is 4."""
    total = n[0, 1] + n[0, -1] + n[1, 0] + n[-1, 0]
    while total == 4:
        cuda.threadfence()
    return total + 1


@pytest.fixture
def runtime():
    """A runtime whose watchdog does not wait for long."""
    with actors.Runtime("cpu", watchdog=0.3) as made:
        yield made


@pytest.mark.parametrize("shape", [(4, 4), (300, 300)])  # on one thread, and on the pool's
def test_a_step_that_does_not_end_is_stopped(runtime, shape):
    field = runtime.lattice(endless, shape, name="field")
    field.activate()
    assert field.step() == 1  # of zeros, all cells are 1 after that
    with pytest.raises(actors.ActorError, match=r"field has not ended its step 1 within 0\.3 s"):
        field.step(3)
    assert field.state is actors.State.TERMINATED
    assert "the step is stopped" in str(field.failure)
    with pytest.raises(actors.ActorError, match="has not ended its step 1"):
        field.step()


def test_other_launches_of_the_thread_go_on(runtime, monkeypatch):
    field = runtime.lattice(endless, (4, 4), name="field")
    field.activate()
    field.step()
    with pytest.raises(actors.ActorError, match="watchdog"):
        field.step()
    other, clock = runtime.lattice(life, (64, 64)), itertools.count()
    other.activate()
    monkeypatch.setattr(stopper, "time", SimpleNamespace(monotonic=lambda: now))
    end = time.monotonic() + 0.8
    while time.monotonic() < end:  # longer than the limit, in short steps
        now = 0.2 * next(clock)
        other.step()
    assert other.read("alive").sum() == 0


def test_a_thread_that_does_not_step_is_not_stopped(runtime):
    """Two lattices on two threads: the one that ends has its results."""
    field = runtime.lattice(endless, (4, 4))
    runtime._home.supervisor.limit = 60
    other = runtime.lattice(life, (300, 300))
    for each in (field, other):
        each.activate()
    alive = np.zeros((300, 300), np.uint8)
    alive[4, 4:7] = 1
    other.write(alive=alive)
    field.step()
    failures: list[BaseException] = []

    def hang() -> None:
        try:
            field.step()
        except actors.ActorError as error:
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    while thread.is_alive():
        other.step(2)
    thread.join()
    assert len(failures) == 1
    assert other.read("alive").tolist() == alive.tolist()


def watchers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "gridlane lattice"]


def test_the_thread_that_watches_ends_with_its_lattice(runtime):
    until(lambda: not watchers())
    field = runtime.lattice(life, (64, 64))
    field.activate()
    field.step()
    assert len(watchers()) == 1
    field.terminate()
    until(lambda: not watchers())


def test_without_a_watchdog_no_thread_watches():
    until(lambda: not watchers())
    with actors.Runtime("cpu", watchdog=None) as runtime:
        field = runtime.lattice(life, (64, 64))
        field.activate()
        field.step()
        assert not watchers()
