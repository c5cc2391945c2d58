"""The demos find their own results right, and notice when they are wrong."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.devices import DEVICES

from gridlane.demos import checking, pictures
from gridlane.demos.__main__ import main, names

SIZES = {
    "algorithms": 900,
    "arrays": 70,
    "blackscholes": 500,
    "heat": 20,
    "histogram": 4000,
    "kernels": 3,
    "life": 24,
    "mandelbrot": 40,
    "nbody": 20,
    "pi": 3000,
    "spectrum": 800,
    "streams": 3000,
}
DRAWING = "heat", "life", "mandelbrot"


def run(name: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    module: Any = import_module(f"gridlane.demos.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--size", str(SIZES[name]), *options])
    checking.run(module.demo, 1, draws="--out" in options)


def test_all_demos_are_listed(capsys: pytest.CaptureFixture[str]):
    main()
    printed = capsys.readouterr().out
    assert names() == sorted(SIZES)
    for name in SIZES:
        assert f"gridlane.demos.{name} " in printed


@pytest.mark.parametrize("name", SIZES)
def test_a_demo_is_right(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    draws = ["--out", str(tmp_path / "picture.png")] if name in DRAWING else []
    run(name, monkeypatch, "--device", "cpu", *draws)
    assert "right: " in capsys.readouterr().out
    if draws:
        with Image.open(tmp_path / "picture.png") as picture:
            assert picture.height >= SIZES[name]
            assert len(set(picture.convert("L").tobytes())) > 1


@pytest.mark.skipif("vulkan" not in DEVICES, reason="no Vulkan")
@pytest.mark.parametrize("name", ["arrays", "pi"])
def test_a_demo_is_right_on_vulkan(name: str, monkeypatch: pytest.MonkeyPatch):
    run(name, monkeypatch, "--device", "vulkan")


def test_wrong_results_end_the_program():
    checking.check("numbers", [1.0, 2.0], [1.0, 2.0 + 1e-9], 1e-8)
    for got, expected, error in (
        ([1, 2], [1, 3], 0.0),
        ([1.0], [1.1], 0.01),
        ([np.nan], [1.0], 0.01),
        ([1.0], [1.0, 1.0], 0.1),
    ):
        with pytest.raises(SystemExit, match="wrong: numbers"):
            checking.check("numbers", got, expected, error)


def test_pictures_show_their_values(tmp_path: Path):
    values = np.arange(12.0).reshape(3, 4)
    pictures.write(tmp_path / "a.png", values)
    with Image.open(tmp_path / "a.png") as picture:
        grey = np.asarray(picture.convert("L"), np.int64)
    assert grey.shape == values.shape
    assert np.all(np.diff(grey.ravel()) > 0)
    assert pictures.text(values) == "  .:\n#%@@"
    assert pictures.bars([1, 2], ["a", "b"], 4) == f"{'a':>9} ##\n{'b':>9} ####"
