"""The driver of NVIDIA GPUs and cuda-bindings, with a fake libcuda below.

The tests run in processes of their own; see tests/fake_cuda/apart.py.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from tests.fake_cuda import apart
from tests.fake_cuda.library import Fake
from tests.runtime.cuda.scaling import scale, slow  # noqa: F401  # fixtures

HERE = Path(__file__).parent
_fake: list[Fake] = []

if apart.inside():
    # Before anything asks for a libcuda: this one has its name.
    _fake.append(Fake(os.environ[apart.LIBRARY]))

    def pytest_runtest_logreport(report):
        apart.write_report(report)

else:

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(items):
        apart.put_apart(items, HERE)


@pytest.fixture
def machine(request):
    """The fake driver of a machine with one device; ``reset`` makes it another machine. At the end
    nothing may be left that the test has made."""
    fake = _fake[0]
    forget_devices()
    gc.collect()
    fake.reset()
    yield fake
    request.node.funcargs.clear()
    forget_devices()
    gc.collect()
    fake.late(False)
    assert not fake.leaks() and not fake.unfailed()


@pytest.fixture
def device(machine):
    """Its device, opened."""
    from gridlane.launch.devices import get_device

    return get_device("cuda")


def forget_devices():
    """Drop what lives as long as a process: devices, and what numba's names show of them."""
    from gridlane.cuda.host import device
    from gridlane.launch import current, devices
    from gridlane.runtime.drivers.cuda import api

    devices._opened.clear()
    for cached in (current._first, current._count, device._manager, device._wrapped):
        cached.cache_clear()
    device._context_of.cache_clear()
    api.bindings.cache_clear()
    current.choose(None)
