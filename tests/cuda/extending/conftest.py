"""Tests of extensions run on every device; what one registers is gone after it."""

from __future__ import annotations

import copy

import pytest
from tests.devices import DEVICES

from gridlane.cuda.extending import lowers
from gridlane.cuda.kernels.user_types import typeof_impl
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


@pytest.fixture(autouse=True)
def _registrations():
    tables = [EXTENSIONS.functions, EXTENSIONS.members, EXTENSIONS.models, EXTENSIONS.known]
    tables += [lowers._FUNCTIONS, lowers._ATTRIBUTES, typeof_impl._functions]
    kept, operators = [copy.copy(each) for each in tables], EXTENSIONS.operators
    lists = [{key: list(value) for key, value in tables[n].items()} for n in (0, 1)]
    yield
    for table, old in zip(tables, kept):
        table.clear()
        table.update(old)
    for number, old in enumerate(lists):
        tables[number].update(old)
    EXTENSIONS.operators = operators
