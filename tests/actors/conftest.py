"""Runtimes on the devices here."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES

from gridlane import actors

NAMES = ["interp", *DEVICES]


@pytest.fixture(params=NAMES)
def runtime(request):
    """An open runtime on each device."""
    with actors.Runtime(device=request.param, watchdog=2) as made:
        yield made


@pytest.fixture
def on_cpu():
    """An open runtime on the CPU, whose watchdog is quick."""
    with actors.Runtime(device="cpu", watchdog=0.3) as made:
        yield made
