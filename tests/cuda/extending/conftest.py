"""Tests of extensions run on every device; what one registers is gone after it."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES
from tests.registrations import restored

from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


@pytest.fixture(autouse=True)
def _registrations():
    with restored():
        yield
