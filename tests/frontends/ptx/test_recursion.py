"""Recursion in PTX: on interp, cpu and cuda; on shaders as far as the stack holds numbers."""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.backends import backend
from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.launch import current
from gridlane.launch.devices import get_device

WITH_STACK = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
# OpenGL runs it as well, but its driver on CPUs compiles this one for ten seconds.
SHADERS = [each for each in DEVICES if backend(each).stack and each != "opengl"]
WITHOUT = [each for each in DEVICES if backend(each).stack == 0]
EVERY = pytest.mark.parametrize("device", WITH_STACK)
T = np.arange(32)


@pytest.fixture(scope="module")
def text() -> str:
    code = (Path(__file__).parent / "recursion.cu").read_text()
    return cuda.compile_cpp(code, options=("-O1", "-lineinfo"))


def run(text: str, device: str, name: str, *args: object, threads: int = 32) -> None:
    current.choose(get_device(device))
    cuda.RawModule(code=text, via="ir").get_function(name)(1, threads, args)


@cache
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


@EVERY
def test_a_function_that_calls_itself_twice(text, device):
    x = np.zeros(32, np.int32)
    run(text, device, "numbers", x)
    assert list(x) == [fibonacci(t % 11) * 1000 + ackermann(t % 3, t % 4) for t in T]


@EVERY
def test_functions_that_call_each_other_in_a_branch(text, device):
    x = np.zeros(32, np.int32)
    run(text, device, "mutual", x)
    want = (T % 2 == 0) + 2 * (T // 2 % 2)
    assert list(x) == list(np.where(T & 3, want, -1))


@EVERY
def test_calls_that_return_nothing(text, device):
    x = np.random.default_rng(3).permutation(320).astype(np.float32).reshape(32, 10)
    want = np.sort(x, axis=1)
    run(text, device, "sorted", x, 10)
    assert (x == want).all()


def weigh(depth: int, above: list[int] | None, which: int) -> int:
    own = [depth * 10 + i + (above[i] if above else 0) for i in range(4)]
    if above:
        above[which & 3] += depth
    below = sum(weigh(depth - 1, own, which + i) for i in range(2)) if depth > 0 else 0
    return below + own[0] + 3 * own[which & 3]


@EVERY
def test_each_call_has_arrays_of_its_own(text, device):
    x = np.zeros(32, np.int32)
    run(text, device, "arrays", x)
    assert list(x) == [weigh(t % 5, None, t // 5) for t in T]


@EVERY
def test_virtual_functions_that_reach_themselves(text, device):
    x = np.zeros(32, np.float64)
    run(text, device, "trees", x)
    outer = (T * 3 + 2.5 * 4) + T * 3
    assert list(x) == list(np.where(T % 3, outer, T * 2 + 2.5 * 3))


@EVERY
def test_floats_across_calls(text, device):
    x = np.arange(1, 33, dtype=np.float32)
    want = np.ones(32, np.float32)
    for t in T:
        for _ in range(t % 7):
            want[t] = np.float32(0.5) * (want[t] + x[t] / want[t])
    run(text, device, "roots", x)
    assert np.allclose(x, want, rtol=1e-6, atol=0)


@EVERY
@pytest.mark.parametrize(
    "name, told",
    [
        ("too_deep", r"the stack of a thread is full, with 256 bytes: .*endless.*itself too deep"),
        ("too_many_arrays", r"endless_array.*, which calls itself, have no room in 256 bytes"),
    ],
)
def test_deeper_than_the_stack(text, device, name, told, monkeypatch):
    small = dataclasses.replace(config(), stack=256, cache=False)
    for module in ("source", "translate"):
        monkeypatch.setattr(f"gridlane.frontends.ptx.{module}.config", lambda: small)
    with pytest.raises(RecursionError, match=told) as caught:
        run(text, device, name, np.ones(1, np.int32), threads=1)
    assert re.search(r"kernel\.cu\", line \d\d", str(caught.value))


@pytest.mark.parametrize("device", WITHOUT)
def test_devices_without_a_stack_refuse_it(text, device):
    with pytest.raises(TargetError, match=r"calls itself, by .*: .* have no stack for each thread"):
        run(text, device, "mutual", np.zeros(32, np.int32))


@pytest.mark.parametrize("device", SHADERS)
def test_shaders_run_it_with_numbers(text, device):
    out = np.zeros(32, np.int32)
    run(text, device, "mutual", out)
    want = (T % 2 == 0) + 2 * (T // 2 % 2)
    assert list(out) == list(np.where(T & 3, want, -1))
