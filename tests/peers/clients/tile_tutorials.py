"""Each of Triton's tutorials as a test, unmodified: ``xp_suites`` runs it; ``TRITON`` names the
checkout.

A tutorial's own comparisons are the test. 07 refuses devices of other backends than CUDA's and
ROCm's, so it runs as with GRIDLANE_TRITON_BACKEND=cuda. ``torch.cpu`` has streams, which do
nothing, and gets the function that sets one. Of its benchmarks one call of the smallest size of
each line runs: reference results of the largest sizes take PyTorch minutes on a processor.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

from gridlane import tiles
from gridlane.core.config import config
from gridlane.tiles import driver

FOLDER = Path(os.environ["TRITON"]) / "python/tutorials"
BACKENDS = {"07-extern-functions": "cuda"}


def _set_stream(stream: Any) -> None:
    """What ``torch.cuda.set_stream`` is, for the CPU."""


if not hasattr(torch.cpu, "set_stream"):
    torch.cpu.set_stream = _set_stream


@pytest.fixture(autouse=True)
def _one_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Benchmarks of one size and one call, whose plots go to a folder of their own."""
    benchmark = tiles.testing.Benchmark.__init__

    @functools.wraps(benchmark)
    def smallest(self: Any, x_names: Any, x_vals: Any, *args: Any, **keywords: Any) -> None:
        benchmark(self, x_names, [*x_vals][:1], *args, **keywords)

    def once(
        fn: Callable[[], Any],
        warmup: int = 25,
        rep: int = 100,
        grad_to_none: Any = None,
        quantiles: Any = None,
        return_mode: str = "mean",
        *,
        measure_time_with_hooks: bool = False,
    ) -> Any:
        fn()
        return 1.0 if quantiles is None else (1.0,) * len(quantiles)

    monkeypatch.setattr(tiles.testing.Benchmark, "__init__", smallest)
    monkeypatch.setattr(tiles.testing, "do_bench", once)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    yield


@pytest.mark.parametrize("name", [each.stem for each in sorted(FOLDER.glob("*.py"))])
def test_tutorial(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        driver, "config", lambda: replace(config(), triton_backend=BACKENDS.get(name, ""))
    )
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
