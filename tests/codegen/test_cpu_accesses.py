"""Gathers and scatters of kernels that have many are calls, where LLVM splits them into lanes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gridlane import cuda
from gridlane.codegen.llvm.cpu.accesses import (
    MOST_IN_LINE,
    MOST_OF_SOME_LANES,
    outline_accesses,
)
from gridlane.codegen.llvm.machine import machine_for
from gridlane.core.options import Target
from gridlane.launch import current
from gridlane.launch.devices import get_device

GATHER = (
    "  %v{0} = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %p{0}, "
    "<8 x i1> {1}, <8 x i32> zeroinitializer)"
)
SCATTER = (
    "  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> {1}, <8 x ptr> align 4 %p{0}, "
    "<8 x i1> splat (i1 true))"
)
ALL = "splat (i1 true)"


def outlined(lines: list[str], processor: str = "haswell") -> tuple[list[str], list[str]]:
    return outline_accesses(lines, machine_for(Target("cpu", processor=processor)))


@pytest.mark.parametrize("processor", ["x86-64", "haswell"])
def test_many_are_calls(processor: str) -> None:
    numbers = range(MOST_IN_LINE)
    lines = [GATHER.format(n, ALL) for n in numbers]
    lines += [SCATTER.format(n, f"%v{n}") for n in numbers]
    made, functions = outlined(lines, processor)
    names = [re.findall(r'@"([^"]+)"', line) for line in made]
    assert all(len(each) == 1 for each in names)
    assert len({each[0] for each in names}) == len(functions) == 2
    name = "gridlane.gather <8 x ptr> align 4 <8 x i32>"
    assert made[3] == f'  %v3 = call fastcc <8 x i32> @"{name}"(<8 x ptr> %p3)'
    last = MOST_IN_LINE - 1
    assert made[-1].endswith(f"(<8 x float> %v{last}, <8 x ptr> %p{last})")
    assert functions[0].splitlines()[1] == GATHER.format(0, ALL).replace("%v0", "%got").replace(
        "%p0", "%x0"
    )
    assert functions[1].splitlines()[1] == SCATTER.format(0, "%x0").replace("%p0", "%x1")


def test_few_stay() -> None:
    lines = [GATHER.format(n, ALL) for n in range(MOST_IN_LINE)]
    assert outlined(lines) == (lines, [])


def test_those_of_some_lanes_pass_the_lanes() -> None:
    lines = [GATHER.format(n, f"%mask{n}") for n in range(MOST_OF_SOME_LANES + 1)]
    made, (function,) = outlined(lines)
    name = "gridlane.gather <8 x ptr> align 4 <8 x i1> <8 x i32>"
    call = f'  %v3 = call fastcc <8 x i32> @"{name}"(<8 x ptr> %p3, <8 x i1> %mask3)'
    assert made[3] == call
    inside = GATHER.format(3, "%x1").replace("%v3", "%got").replace("%p3", "%x0")
    assert function.splitlines()[1] == inside


def test_each_kind_is_counted_alone() -> None:
    some = [GATHER.format(n, "%mask") for n in range(MOST_OF_SOME_LANES)]
    whole = [GATHER.format(n, ALL) for n in range(MOST_IN_LINE)]
    assert outlined(some + whole) == (some + whole, [])
    made, _ = outlined([*some, *whole, GATHER.format(0, "%mask")])
    assert made[len(some) : -1] == whole
    assert all("call fastcc" in line for line in [*made[: len(some)], made[-1]])


def test_constants_stay() -> None:
    lines = [SCATTER.format(n, "zeroinitializer") for n in range(2 * MOST_IN_LINE)]
    assert outlined(lines) == (lines, [])


@cuda.jit
def turned(numbers, singles, order):
    """Turns the rows of odd threads round."""
    i = cuda.grid(1)
    if i < order.size and i % 2:
        at = 4 * order[i]
        numbers[at], numbers[at + 3] = numbers[at + 3], numbers[at]
        numbers[at + 1], numbers[at + 2] = numbers[at + 2], numbers[at + 1]
        singles[at], singles[at + 3] = singles[at + 3], singles[at]
        singles[at + 1], singles[at + 2] = singles[at + 2], singles[at + 1]


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_some_lanes_are_read_and_written(device: str) -> None:
    current.choose(get_device(device))
    order = np.random.default_rng(3).permutation(50)
    numbers = np.arange(200).reshape(50, 4)
    singles = numbers.astype(np.float32)
    wanted = numbers.copy()
    wanted[order[1::2]] = wanted[order[1::2], ::-1]
    turned[2, 32](numbers.reshape(-1), singles.reshape(-1), order)
    assert (numbers == wanted).all() and (singles == wanted).all()


@pytest.mark.parametrize("processor", ["x86-64-v4", "cortex-a72"])
def test_machines_that_need_none(processor: str) -> None:
    lines = [GATHER.format(n, ALL) for n in range(2 * MOST_IN_LINE)]
    assert outlined(lines, processor) == (lines, [])
