"""Runtimes on the devices here."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from tests.devices import DEVICES

from gridlane import actors

NAMES = ["interp", *DEVICES]


@pytest.fixture(params=NAMES)
def runtime(request):
    """An open runtime on each device."""
    with actors.Runtime(device=request.param, watchdog=60) as made:
        yield made


@pytest.fixture
def on_cpu():
    """An open runtime on the CPU. Its watchdog stops no step of a busy machine; see ``quick``."""
    with actors.Runtime(device="cpu", watchdog=60) as made:
        yield made


@contextmanager
def quick(runtime, seconds=0.3):
    """Let the watchdog of a runtime not wait for long."""
    supervisor = runtime._home.supervisor
    before, supervisor.limit, supervisor._next = supervisor.limit, seconds, 0.0
    yield
    supervisor.limit = before
