"""Loops whose lanes agree where they start, or do not: a copy with scalars, else the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridlane
from gridlane import compiler, cuda
from gridlane.compiler import generation
from gridlane.core.argtypes import int64
from gridlane.core.options import KernelOptions
from gridlane.launch.devices import get_device


@cuda.jit
def counted(counts, values, out):
    """A trip count of each thread, from memory."""
    i = cuda.grid(1)
    left = counts[i]
    place, total = i, 0
    while left > 0:
        total += values[place % values.size]
        place += 3
        left -= 1
    out[i] = total * 1000 + place


@cuda.jit
def guarded(counts, values, out):
    """Some threads have no loop, and what runs in it differs."""
    i = cuda.grid(1)
    left, total, place = counts[i], 0, 0
    if left != 3:
        while left > 0:
            left -= 1
            place = 2 * left
            if values[(place + i) % values.size] & 1:
                if left & 4:
                    place += i
                total += place
    out[i] = total * 1000 + place


@cuda.jit
def ended(counts, values, out):
    """Another exit diverges."""
    i = cuda.grid(1)
    left = counts[i]
    while left > 0:
        left -= 1
        if values[(left + i) % values.size] == 7:
            break
        if values[i % values.size] & 1:
            continue
        left -= 1
    out[i] = left


@cuda.jit
def twice(counts, values, out):
    """Two loops carry the same variables, and locals of the first one are read by neither."""
    i = cuda.grid(1)
    left, place = counts[i], i
    while left > 2:
        step = values[left % values.size] & 3
        place += step
        left -= 1
    while left > 0:
        place += left
        left -= 1
    out[i] = place


@cuda.jit
def counting(counts, values, out):
    """Atomics, on places of each thread and on one of all, and a loop that one of them ends."""
    i = cuda.grid(1)
    left = counts[i]
    while left > 0:
        if values[(left + i) % values.size] & 1:
            cuda.atomic.add(out, (left * i) % out.size, left)
        cuda.atomic.add(out, 0, left)
        left -= 1
    left = counts[i]
    while left > 0:
        left -= cuda.atomic.add(counts, i, 3) & 1
        left -= 1


COUNTS = {
    "all": lambda n: np.full(n, 9),
    "none": lambda n: np.zeros(n),
    "three": lambda n: np.full(n, 3),
    "one differs": lambda n: np.where(np.arange(n) % 37 == 5, 2, 6),
    "a slope": lambda n: np.arange(n) % 11,
    "by chunk": lambda n: np.arange(n) // 16,
}


@pytest.mark.parametrize(
    "kernel", [counted, guarded, ended, twice, counting], ids=lambda k: k.__name__
)
@pytest.mark.parametrize("counts", COUNTS)
def test_lanes_that_agree_or_not(kernel: Any, counts: str) -> None:
    values = np.random.default_rng(2).integers(0, 30, 51).astype(np.int64)
    for blocks, threads in ((2, 64), (1, 33), (3, 20)):
        made = {}
        for device in ("interp", "cpu"):
            with gridlane.device(device):
                out = np.full(blocks * threads, -1, np.int64)
                given = COUNTS[counts](blocks * threads).astype(np.int64)
                kernel[blocks, threads](given, values, out)
                made[device] = out
        np.testing.assert_array_equal(made["cpu"], made["interp"])


def loops(kernel: Any) -> list[str]:
    """The blocks of optimised code in which lanes that agree run."""
    target = get_device("cpu").target((64, 1, 1))
    module = compiler.translate(kernel.py_func, (int64[::1],) * 3, KernelOptions())
    text = generation.text(module, target, "llvm")
    return [line for line in text.splitlines() if line.startswith("same")]


def test_a_loop_is_copied_where_its_exit_becomes_uniform() -> None:
    assert loops(counted) and loops(guarded) and loops(counting)
    assert not loops(ended)
