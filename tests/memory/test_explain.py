"""Who holds the memory of devices: the explanation against what a test allocates."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.memory.device_memory import DeviceMemory


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


@pytest.fixture
def traced():
    before = cuda.memory.trace(True)
    yield
    cuda.memory.trace(before)


def held(name, kind="device", largest=10):
    gc.collect()
    (found,) = [
        each
        for each in cuda.memory.explain(largest).holdings
        if (each.device, each.kind) == (name, kind)
    ]
    return found


def line():
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def test_an_explanation_has_what_the_statistics_have(device):
    before = held(device.name)
    large = cuda.device_array((300, 1000), np.float32)
    view, small = large[1:], cuda.to_device(np.arange(10, dtype=np.int32))
    now, told = held(device.name), device.memory.statistics()
    assert now.used == told.used == before.used + 1_200_000 + 40
    assert (now.peak, now.limit, now.kept) == (told.peak, None, told.reserved - told.used)
    assert now.count == before.count + 2
    first = now.largest[0]
    assert (first.size, first.address) == (1_200_000, large.buffer.address)
    assert first.what == "DeviceNDArray (300, 1000) float32 and 1 more"
    assert [each.size for each in now.largest] == sorted(
        (each.size for each in now.largest), reverse=True
    )
    sizes = [each.size for each in held(device.name, largest=10**6).largest]
    assert sum(sizes) == now.used and len(sizes) == now.count
    del large, view, small
    assert held(device.name).used == before.used


def test_sites_are_the_lines_of_the_program(device, traced):
    first, one = cuda.device_array(1000, np.uint8), line()
    both, two = [cuda.to_device(np.zeros(700, np.uint8)) for _ in range(2)], line()
    sites = {each.site: (each.count, each.size) for each in held(device.name).sites}
    name = "test_sites_are_the_lines_of_the_program"
    assert sites[f"{__file__}:{one} in {name}"] == (1, 1000)
    (comprehension,) = [each for each in sites if each.startswith(f"{__file__}:{two} in")]
    assert sites[comprehension] == (2, 1400)
    (holder,) = [
        each
        for each in held(device.name, largest=10**6).largest
        if each.address == first.buffer.address
    ]
    assert holder.site == f"{__file__}:{one} in {name}"
    del first, both
    left = [each.site for each in held(device.name).sites]
    assert not [each for each in left if each.startswith(f"{__file__}:{one} in")]
    assert comprehension not in left


def test_what_was_allocated_without_a_trace_is_a_site_without_a_name(device):
    before = held(device.name)
    assert before.sites == ()
    old = cuda.device_array(500, np.uint8)
    was = cuda.memory.trace(True)
    try:
        new = cuda.device_array(600, np.uint8)
        sites = {each.site: (each.count, each.size) for each in held(device.name).sites}
        assert sites[""] == (before.count + 1, before.used + 500)
        assert sum(size for _, size in sites.values()) == before.used + 1100
    finally:
        assert cuda.memory.trace(was) is True
    assert "not traced" in str(cuda.memory.explain())
    assert old is not new


@given(st.lists(st.tuples(st.sampled_from((1, 100, 4096, 70_000)), st.booleans()), max_size=12))
def test_sites_are_those_of_a_model(steps):
    before, live, sites = cuda.memory.trace(True), [], Counter()

    def at_one(size):
        return cuda.device_array(size, np.uint8)

    def at_another(size):
        return cuda.device_array(size, np.uint8)

    try:
        for size, which in steps:
            live.append((which, (at_one if which else at_another)(size)))
        live = live[::2]
        for which, array in live:
            sites[at_one.__name__ if which else at_another.__name__] += array.nbytes
        found = {
            each.site.rpartition(" in ")[2]: each.size
            for each in held("cpu").sites
            if each.site.endswith((" in at_one", " in at_another"))
        }
        assert found == sites
        if live:
            del array
        live.clear()
    finally:
        cuda.memory.trace(before)


def test_an_allocation_without_a_trace_or_limit_takes_no_other_path(monkeypatch):
    """So that it costs what it did."""
    memory = get_device("cpu").memory
    monkeypatch.setattr(DeviceMemory, "_allocate_noted", lambda *_: pytest.fail("the other path"))
    assert memory.allocate(10).size == 10
    before = cuda.memory.trace(True)
    try:
        with pytest.raises(pytest.fail.Exception, match="the other path"):
            memory.allocate(10)
    finally:
        cuda.memory.trace(before)
    memory.limit = memory.accounting.used + 100
    try:
        with pytest.raises(pytest.fail.Exception, match="the other path"):
            memory.allocate(10)
    finally:
        memory.limit = None
    assert memory.allocate(10).size == 10


def test_a_limit_holds_with_a_trace(traced):
    current.choose(get_device("cpu"))
    before = cuda.memory.statistics()
    cuda.memory.set_limit(before.used + 1000)
    try:
        with pytest.raises(DeviceError, match="pool's limit"):
            cuda.device_array(1001, np.uint8)
        assert held("cpu").limit == before.used + 1000
        assert "a limit of" in str(cuda.memory.explain())
    finally:
        cuda.memory.set_limit(None)
    assert cuda.memory.statistics().used == before.used


def test_pinned_memory_is_of_a_kind_of_its_own():
    current.choose(get_device("cpu"))
    array = cuda.pinned_array(5000, np.uint8)
    pinned = held("cpu", "pinned")
    assert pinned.used >= 5000 and pinned.largest[0].what == "pinned memory"
    del array


def test_the_peak_begins_anew(device):
    array = cuda.device_array(100_000, np.uint8)
    del array
    gc.collect()
    before = cuda.memory.statistics()
    assert before.peak >= before.used + 100_000
    cuda.memory.reset_peak()
    assert cuda.memory.statistics().peak == before.used
    array = cuda.device_array(5000, np.uint8)
    assert cuda.memory.statistics().peak == before.used + 5000
    cuda.memory.trim()
    assert array.copy_to_host().size == 5000


def test_json_and_text_have_the_same_facts(traced):
    current.choose(get_device("cpu"))
    array = cuda.device_array(3 << 20, np.uint8)
    told = cuda.memory.explain()
    assert json.loads(told.json()) == told.dict() == json.loads(told.json(indent=1))
    (own,) = [
        each
        for each in told.dict()["holdings"]
        if (each["device"], each["kind"]) == ("cpu", "device")
    ]
    assert own["largest"][0]["size"] == 3 << 20 == array.nbytes
    text = str(told)
    assert "3.0 MiB  DeviceNDArray (3145728,) uint8" in text and "by allocation site:" in text


@pytest.mark.parametrize("wrong", [1, None, "yes"])
def test_a_trace_is_on_or_off(wrong):
    with pytest.raises(TypeError, match="True or False"):
        cuda.memory.trace(wrong)


def test_a_negative_number_of_allocations_is_refused():
    with pytest.raises(ValueError, match="-1"):
        cuda.memory.explain(-1)


PROGRAM = """
from gridlane import cuda
assert str(cuda.memory.explain()) == "no device is open"
x = cuda.device_array(1000)
print(cuda.memory.explain())
"""


@pytest.mark.parametrize("variable", ["0", "1"])
def test_the_environment_traces_from_the_beginning(tmp_path, monkeypatch, variable):
    monkeypatch.setenv("GRIDLANE_MEMORY_TRACE", variable)
    monkeypatch.setenv("GRIDLANE_DEVICE", "cpu")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    told = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout
    assert (f"{file}:4 in <module>" in told) == (variable == "1")
    assert "cpu: device: 7.8 KiB used" in told
