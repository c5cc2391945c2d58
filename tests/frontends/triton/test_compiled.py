"""Programs against the PTX that Triton's own compiler makes of them: two frontends, one meaning."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.triton.compiled.programs import SIZES
from tests.frontends.triton.running import run

from gridlane import interp
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx.module import parse_ptx
from gridlane.frontends.ptx.source import PtxSource

FILES = Path(__file__).parent / "compiled"


def run_ptx(
    name: str, grid: int, x: np.ndarray, y: np.ndarray, out: np.ndarray, count: int
) -> None:
    """Run the PTX of a program, by the parameters that Triton's launcher passes."""
    text = (FILES / f"{name}.ptx").read_text()
    shared = re.search(r"shared: (\d+)", text)
    threads = re.search(r"\.reqntid (\d+)", text)
    assert shared is not None
    assert threads is not None
    module = PtxSource(parse_ptx(text), name).translate((), KernelOptions())
    memory = interp.Memory()
    scratch = memory.allocate(64, "scratch")
    given = [memory.map(x), memory.map(y), memory.map(out), count, scratch, scratch]
    numbers = [given[param.argument] for param in module.kernel.params]
    interp.run(module, grid, int(threads[1]), numbers, memory, int(shared[1]))


@pytest.mark.parametrize("function", SIZES, ids=lambda function: function.fn.__name__)
def test_it_computes_what_tritons_compiler_does(function):
    rng, size = np.random.default_rng(9), SIZES[function]
    x, y = rng.integers(-30000, 30000, (2, 256)).astype("i4")
    y[y == 0] = 1
    ours, theirs = np.zeros((2, 9 * 256), "i4")
    grid, count = (2, 400) if function.fn.__name__ == "add" else (1, 17)
    x, y = np.resize(x, 512), np.resize(y, 512)
    run(function, x.copy(), y.copy(), ours, count, grid=grid, SIZE=size)
    run_ptx(function.fn.__name__, grid, x.copy(), y.copy(), theirs, count)
    np.testing.assert_array_equal(ours, theirs)
    assert ours.any()
