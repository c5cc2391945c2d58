"""A store that fails at any of its calls: no array but the one that is used notices."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.effort import NIGHTLY
from tests.memory.tiers.doubles import Device, MemoryStore, StoreFailure

from gridlane.memory.tiers import SpillError, Tiers, tiered

BLOCK = 256
COUNT = 4


def program(tiers, device, twins, ahead):
    """Steps that use three arrays in turn: (the number of the array that it writes, the step)."""
    arrays = [tiered(COUNT * BLOCK // 4, np.int32, tiers, BLOCK) for _ in twins]

    def fill(number):
        arrays[number][...] = 1000 * (number + 1) + np.arange(arrays[number].size)

    def add(number):
        for block in arrays[number].blocks(prefetch=ahead):
            with block.on_host(write=True) as elements:
                elements += 7

    def on_device(number):
        for block in arrays[number].blocks(prefetch=0):
            with block.on(device) as address:
                device.memory[address].view(np.int32)[:] -= 3

    def read(number):
        arrays[number].copy_to_host(np.empty(arrays[number].shape, np.int32))

    def flush(number):
        arrays[number].flush()

    steps = [(number, step) for step in (fill, add, on_device, read, flush) for number in range(3)]
    return arrays, steps


def after(step, number, twin):
    """The twin after a step."""
    changes = {"fill": lambda: 1000 * (number + 1) + np.arange(twin.size), "add": lambda: twin + 7}
    changes["on_device"] = lambda: twin - 3
    return changes.get(step.__name__, lambda: twin)().astype(np.int32)


def run(fails, ahead):
    """Run the steps; the number of failures. After each failure all arrays are compared."""
    store, device = MemoryStore(fails), Device(limit=2 * BLOCK)
    tiers = Tiers(2 * BLOCK, 2 * BLOCK, store, ahead=ahead)
    twins = [np.zeros(COUNT * BLOCK // 4, np.int32) for _ in range(3)]
    arrays, steps = program(tiers, device, twins, ahead)
    failures = 0
    for number, step in steps:
        new = after(step, number, twins[number])
        try:
            step(number)
            twins[number] = new
        except (StoreFailure, SpillError):
            failures += 1
            # Each element is as it was or as the step makes it, and each block as a whole.
            found, more = settled(tiers, arrays[number])
            failures += more
            for begin in range(0, new.size, BLOCK // 4):
                part = slice(begin, begin + BLOCK // 4)
                old_or_new = twins[number][part], new[part]
                assert any((found[part] == each).all() for each in old_or_new)
            twins[number] = found
        for array, twin in zip(arrays, twins, strict=True):
            found, more = settled(tiers, array)
            failures += more
            assert (found == twin).all()
    facts = tiers.statistics()
    assert facts.pinned == 0 and facts.host_peak <= 2 * BLOCK and device.peak <= 2 * BLOCK
    del arrays[:], steps[:], array, step
    gc.collect()
    tiers.wait()
    failures += tiers.statistics().undeleted
    store.fails = lambda number: False
    tiers.close()
    assert not store.blocks and not device.memory and tiers.statistics().host_used == 0
    return failures, len(store.calls)


def settled(tiers, array):
    """The elements, and how many reads failed before."""
    tiers.wait()
    for failures in range(1000):
        try:
            return array.copy_to_host(np.empty(array.shape, np.int32)), failures
        except (StoreFailure, SpillError):
            continue
    raise AssertionError("the reads go on failing")


def test_a_failure_at_each_call():
    failures, calls = run(lambda number: False, ahead=0)
    assert failures == 0 and calls > 100
    for n in range(0, calls, 1 if NIGHTLY else 3):
        failures, _ = run(lambda number, n=n: number == n, ahead=0)
        assert failures == 1, n


@pytest.mark.parametrize("period", [3, 7])
def test_a_failure_now_and_then_with_the_background(period):
    run(lambda number: number % period == 0, ahead=2)
