"""Loops that lanes leave at different times by one test, and all at once by another."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.property.random_graphs import Maker, meeting_places, random_shape
from tests.property.test_structurize import check, states_of

import gridlane
from gridlane import compiler, cuda
from gridlane.codegen.llvm.cpu import leaving
from gridlane.compiler import generation
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx.module import parse_ptx
from gridlane.frontends.ptx.source import PtxSource
from gridlane.launch.devices import get_device

SIZE, MOST = 150, 5


def breaks(out: Any, limit: int, most: int) -> None:
    i = cuda.threadIdx.x
    steps = 0
    while True:
        if i >= limit:
            break
        out[i] += 1
        i += cuda.blockDim.x
        steps += 1
        if steps >= most:
            break


def goes_on(out: Any, limit: int, most: int) -> None:
    i = cuda.threadIdx.x
    steps = 0
    while True:
        if i >= limit:
            break
        at = i
        i += cuda.blockDim.x
        steps += 1
        if steps >= most:
            continue
        out[at] += 1


def returns(out: Any, limit: int, most: int) -> None:
    i = cuda.threadIdx.x
    steps = 0
    while True:
        if i >= limit:
            break
        out[i] += 1
        i += cuda.blockDim.x
        steps += 1
        if steps >= most:
            return
    out[cuda.threadIdx.x] += 1000


def within(out: Any, limit: int, most: int) -> None:
    """The loop is emitted for lanes that agree and for those that do not."""
    for again in range(out[cuda.threadIdx.x], 3):
        i = cuda.threadIdx.x
        steps = 0
        while True:
            if i >= limit:
                break
            out[i] += 1
            i += cuda.blockDim.x
            steps += 1
            if steps >= most + again:
                break


def outer(out: Any, limit: int, most: int) -> None:
    for again in range(3):
        i = cuda.threadIdx.x
        while True:
            if i >= limit:
                break
            steps = 0
            while True:
                if i + steps >= limit:
                    break
                out[i] += 1
                steps += 1
                if steps >= most:
                    break
            if again + 2 >= most:
                break
            i += cuda.blockDim.x


def apart(out: Any, limit: int, most: int) -> None:
    """Lanes differ in every loop, and some end early."""
    i = cuda.threadIdx.x
    for a in range(i % 4 + 1):
        for b in range(i % 5 + 2):
            if (a + b) % 3 == i % 3:
                continue
            if b > most:
                break
            out[i] += 1
            if out[i] > limit // 5:
                return
        out[i] += 10
    out[i] += 100


KERNELS = [breaks, goes_on, returns, within, outer, apart]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("threads", [8, 20, 64])
@pytest.mark.parametrize("numbered", [False, True], ids=["masks", "numbers"])
def test_as_the_interpreter(
    kernel: Any, threads: int, numbered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if numbered:
        number_all_ways(monkeypatch)
    compiled: Any = cuda.jit(kernel)
    for limit, most in ((SIZE, MOST), (SIZE, 1), (SIZE, 99), (threads // 2, MOST), (0, 2)):
        made: list[Any] = []
        for device in ("interp", "cpu"):
            out = np.zeros(SIZE, np.int64)
            with gridlane.device(device):
                compiled[1, threads](out, limit, most)
            made.append(out)
        np.testing.assert_array_equal(made[1], made[0])


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 24))
@settings(deadline=None, max_examples=examples(10, 400))
def test_graphs_whose_ways_are_numbered(seed: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        number_all_ways(patch)
        shape = random_shape(random.Random(seed), size)
        if seed % 2:
            shape.meets = meeting_places(shape)
        check("cpu", Maker(shape, "barrier"), states_of(seed))


def number_all_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use numbers in the place of masks, and nothing that was compiled before."""
    monkeypatch.setattr(leaving, "_MOST_HOLDERS", 0)
    monkeypatch.setattr(compiler, "default_cache", lambda: None)


@pytest.mark.parametrize("branches", [3, 40])
def test_branches_forward_are_a_walk(branches: int) -> None:
    steps, text = branching(branches)
    values = np.arange(40, dtype=np.uint32)
    out = cuda.to_device(values)
    with gridlane.device("cpu"):
        cuda.RawKernel(text, "walk")((1,), (values.size,), (out,))
    assert out.copy_to_host().tolist() == [walked(steps, int(value)) for value in values]


def test_code_grows_with_the_branches() -> None:
    lines = []
    for branches in (60, 120):
        source = PtxSource(parse_ptx(branching(branches)[1]), "walk")
        module = source.translate((), KernelOptions())
        text = generation.text(module, get_device("cpu").target((64, 1, 1)), "llvm")
        lines.append(len(text.splitlines()))
    assert lines[1] < 2.2 * lines[0]


def branching(count: int) -> tuple[list[tuple[int, int, int]], str]:
    """A kernel of branches forward to anywhere: for each what it adds, the bit that decides, where
    it goes."""
    chance = random.Random(count)
    steps = [
        (chance.randrange(2**30), chance.randrange(8, 28), chance.randrange(at + 1, count + 1))
        for at in range(count)
    ]
    lines = [
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry walk(.param .u64 x) {",
        ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;",
        "ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;",
        "ld.global.u32 %r2, [%rd2];",
    ]
    for at, (more, bit, target) in enumerate(steps):
        lines.append(f"L{at}: mad.lo.u32 %r2, %r2, 1664525, {more}; shr.u32 %r3, %r2, {bit};")
        lines.append(f"and.b32 %r3, %r3, 1; setp.eq.u32 %p, %r3, 0; @%p bra L{target};")
    lines.append(f"L{count}: st.global.u32 [%rd2], %r2; ret; }}")
    return steps, "\n".join(lines)


def walked(steps: list[tuple[int, int, int]], value: int) -> int:
    """What a thread of it makes of a value."""
    at = 0
    while at < len(steps):
        more, bit, target = steps[at]
        value = (value * 1664525 + more) % 2**32
        at = at + 1 if value >> bit & 1 else target
    return value
