"""The programs of loop nests find their own results right, and stay short."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest
from tests.devices import DEVICES

import gridlane

FOLDER = Path(__file__).parents[2] / "examples" / "compute"
SMALL: dict[str, tuple[int, ...]] = {
    "attention": (5,), "convolution": (4,), "histogram": (64, 8), "kmeans": (40, 2), "lu": (9,),
    "matmul_epilogue": (10,), "merge_sort": (37,), "prefix_sums": (50,), "smith_waterman": (14,),
    "stencil25": (11, 2), "stencil5": (10, 2),
}  # fmt: skip
"""Arguments for devices in software."""


def module(name: str):
    spec = importlib.util.spec_from_file_location(f"examples_compute_{name}", FOLDER / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_all_are_here():
    assert {each.stem for each in FOLDER.glob("*.py")} == {*SMALL}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_on_the_processor(name):
    with gridlane.device("cpu"):
        module(name).main()


@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each != "cpu")])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_on_devices(name, device):
    if name == "lu" and device != "cuda" and device != "interp":
        pytest.skip("binary64 is emulated here")
    with gridlane.device(device):
        module(name).main(*SMALL[name])


@pytest.mark.parametrize("name", sorted(SMALL))
def test_loops_of_under_twenty_lines(name):
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    nests = [
        each for each in tree.body if isinstance(each, ast.FunctionDef) and each.decorator_list
    ]
    assert nests
    for nest in nests:
        lines = {
            part.lineno for each in nest.body for part in ast.walk(each) if hasattr(part, "lineno")
        }
        assert len(lines) < 20
