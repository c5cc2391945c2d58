"""Each function of a family that is done is there, or says why it is not."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from gridlane.abi.calls.registry import ROOMS, calls, written
from gridlane.abi.calls.words import PLACES, WORDS
from gridlane.core.cuda_table.functions import functions

DONE = "arrays", "peers", "pointers", "pools", "stream memory", "tensor maps", "textures"


@pytest.mark.parametrize("api", ["driver", "runtime"])
def test_no_function_is_forgotten(api):
    rows = functions(api)
    known = calls(api)
    of_these = [name for name, row in rows.items() if row.family in DONE]
    assert of_these
    assert [name for name in of_these if (name in known) == bool(rows[name].refused)] == []


def test_every_function_is_a_row_or_a_function_of_one_module():
    for api in ("driver", "runtime", "nvrtc"):
        rows = functions(api)
        assert [name for name in calls(api) if rows[name].does and name in written] == []


def test_every_word_is_there_once():
    listed = [each.partition("=")[0] for line in PLACES.values() for each in line.split()]
    assert len(listed) == len(set(listed)) == len(WORDS)


def test_the_rooms_of_a_library_have_its_functions():
    package = import_module("gridlane.abi.calls")
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(each.name)
    for api in ("driver", "runtime", "nvrtc"):
        rooms = {f"gridlane.abi.calls.{room}" for room in ROOMS[api]}
        own = {written[name].__module__ for name in functions(api) if name in written}
        assert sorted(own - rooms) == []
