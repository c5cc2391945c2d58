"""Kernels that are nested deeper than Python's stack compile, or are refused in words."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import numpy as np
import pytest

from gridlane import compiler, cuda
from gridlane.compiler import depth
from gridlane.core.argtypes import int64
from gridlane.core.errors import UnsupportedError
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions, Target
from gridlane.cuda.kernels.sources import with_source
from gridlane.frontends.python.kernel_source import PythonSource


def _made(name, lines) -> Any:
    """What a text defines as ``name``; its lines can be read as a file's."""
    text, file = "\n".join(lines) + "\n", f"<{name} {len(lines)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    found = {"cuda": cuda}
    exec(compile(text, file, "exec"), found)
    return found[name]


def _calls(count):
    """A chain of device functions, each of which adds one."""
    lines = ["@cuda.jit(device=True)", "def f0(v): return v + 1"]
    for n in range(1, count):
        lines += ["@cuda.jit(device=True)", f"def f{n}(v): return f{n - 1}(v) + 1"]
    return _made("k", [*lines, "@cuda.jit", f"def k(x): x[0] = f{count - 1}(x[0])"])


def _sum(count):
    return _made("k", ["@cuda.jit", f"def k(x): x[0] = x[0]{' + 1' * count}"])


def _alternatives(count):
    lines = ["@cuda.jit", "def k(x):", "    if x[0] == -1:", "        x[0] = -2"]
    for n in range(1, count):
        lines += [f"    elif x[0] == {n}:", f"        x[0] = -{n}"]
    return _made("k", [*lines, "    else:", f"        x[0] = {count}"])


def _loops(count):
    lines = [f"{'  ' * (n + 1)}for i{n} in range(x[1]):" for n in range(count)]
    return _made("k", ["@cuda.jit", "def k(x):", *lines, "  " * (count + 1) + f"x[0] += {count}"])


def _source(kernel):
    return PythonSource(with_source(kernel.py_func))


MAKERS = {"calls": (_calls, 120), "sum": (_sum, 400), "alternatives": (_alternatives, 150)}


@pytest.mark.parametrize("maker", [*MAKERS, "loops"])
def test_deep_kernels_run(maker):
    make, count = MAKERS.get(maker, (_loops, 15))
    x, limit = np.array([0, 1]), sys.getrecursionlimit()
    make(count)[1, 1](x)
    assert x[0] == count and sys.getrecursionlimit() == limit


def test_what_is_too_deep_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(depth, "FRAMES", 200)
    with pytest.raises(UnsupportedError, match="k is nested too deeply to compile"):
        compiler.translate(_source(_sum(900)), (int64[::1],), KernelOptions())


def test_very_long_chains_of_calls_are_refused():
    with pytest.raises(UnsupportedError, match=r"nest more than 200 deep, from k\(\) to f\d+\(\)"):
        _calls(300)[1, 1](np.zeros(1, np.int64))


@pytest.mark.parametrize("target", ["vulkan", "opengl", "webgpu"])
@pytest.mark.parametrize("count", [40, 70])
def test_branches_beyond_llvmpipe_s_stack_are_refused(target, count):
    kernel = _alternatives(count)
    module = compiler.translate(_source(kernel), (int64[::1],), KernelOptions())
    device = Target(target, block=(32, 1, 1), features=frozenset((Feature.SHORT_LOOPS,)))
    if count < 64:
        compiler.generate(module, device)
        return
    with pytest.raises(UnsupportedError, match=r"branches 7. deep in each other") as caught:
        compiler.generate(module, device)
    assert "x[0] == 69" in str(caught.value)
    compiler.generate(module, Target(target, block=(32, 1, 1)))
