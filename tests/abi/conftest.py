"""The device of a test, with CUDA's interface as a program finds it: nothing initialised."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES

from gridlane.abi.state import captures, contexts, devices
from gridlane.cuda import driver
from gridlane.launch import current
from gridlane.launch.devices import get_device


def forget() -> None:
    """End all contexts, the initialisation, and this thread's mode of captures."""
    captures.exchange(captures.GLOBAL)
    contexts.stack().clear()
    for context in list(contexts.handles._objects.values()):
        context.end()
    contexts._primaries.clear()
    devices._driver.process = 0


@pytest.fixture(params=DEVICES)
def device(request):
    """Each device here in turn, as the current one."""
    found = get_device(request.param)
    before = current.choose(found)
    forget()
    yield found
    forget()
    current.choose(before)


@pytest.fixture
def cpu():
    """The CPU as the current device."""
    before = current.choose(get_device("cpu"))
    forget()
    yield current.device()
    forget()
    current.choose(before)


@pytest.fixture
def begun(device):
    """The device, with a current context."""
    assert driver.cuInit(0)[0] == 0
    made = driver.cuCtxCreate(None, 0, 0)[1]
    yield made
    driver.cuCtxDestroy(made)
