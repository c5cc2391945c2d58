"""The device of a test, with CUDA's interface as a program finds it: nothing initialised."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES

from gridlane.abi.state import captures, contexts, devices, pools, threads
from gridlane.core import epochs
from gridlane.cuda import driver as cu
from gridlane.launch import current
from gridlane.launch.devices import get_device


def forget() -> None:
    """End all contexts, the initialisation, and what is known of this thread."""
    captures.exchange(captures.GLOBAL)
    threads.start_again()
    contexts.stack().clear()
    for context in list(contexts.handles._objects.values()):
        context.end()
    contexts._primaries.clear()
    pools._defaults.clear()
    pools._chosen.clear()
    devices._driver.process = 0
    epochs.state.changed()


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
def trapping(device):
    """A device that a process may use again after a trap."""
    if device.name == "cuda":
        pytest.skip("a trap ends what this process can do with a GPU")
    return device


@pytest.fixture
def cpu():
    """The CPU as the current device."""
    before = current.choose(get_device("cpu"))
    forget()
    yield current.device()
    forget()
    current.choose(before)


@pytest.fixture
def primary(device):
    """The primary context of the device, as this thread's current one."""
    assert cu.cuInit(0) == (0,)
    error, made = cu.cuDevicePrimaryCtxRetain(0)
    assert not error and cu.cuCtxSetCurrent(made) == (0,)
    yield made
    cu.cuDevicePrimaryCtxRelease(0)


@pytest.fixture
def context(device):
    """A context of each device, current."""
    assert not cu.cuInit(0)[0]
    error, made = cu.cuCtxCreate(None, 0, 0)
    assert not error
    yield made
    cu.cuCtxDestroy(made)


@pytest.fixture
def begun(device):
    """The device, with a current context."""
    assert cu.cuInit(0)[0] == 0
    made = cu.cuCtxCreate(None, 0, 0)[1]
    yield made
    cu.cuCtxDestroy(made)
