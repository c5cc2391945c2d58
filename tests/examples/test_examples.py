"""Every example runs as users run it, and finds its own result right."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests import programs
from tests.devices import DEVICES

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
HELPERS = {"png", "measure", "raytracer_scene"}

# The interpreter takes microseconds an operation and lane, so it gets a grid of a few blocks.
# On the CPU: odd sizes, so that the last block is a partial one.
ARGUMENTS: dict[str, dict[str, str]] = {
    "actors_life": {
        "cpu": "--strips 3 --height 7 --generations 9",
        "interp": "--strips 2 --height 2 --generations 2",
    },
    "actors_orderbook": {"cpu": "--orders 700", "interp": "--orders 40"},
    "actors_pagerank": {"cpu": "--parts 3 --rounds 5", "interp": "--parts 2 --rounds 1"},
    "bitonic_sort": {"cpu": "--size 3000", "interp": "--size 100"},
    "blackscholes": {"cpu": "--options 10001", "interp": "--options 300"},
    "game_of_life": {
        "cpu": "--width 101 --height 67 --generations 5",
        "interp": "--width 18 --height 17 --generations 1",
    },
    "histogram": {"cpu": "--size 100003", "interp": "--size 3000"},
    "laplace2d": {"cpu": "--size 67 --sweeps 20", "interp": "--size 20 --sweeps 2"},
    "mandelbrot": {
        "cpu": "--width 131 --height 77 --iterations 60",
        "interp": "--width 20 --height 17 --iterations 10",
    },
    "matmul": {
        "cpu": "--rows 70 --inner 45 --columns 81",
        "interp": "--rows 17 --inner 18 --columns 15",
    },
    "montecarlo_pi": {"cpu": "--threads 500 --points 200", "interp": "--threads 65 --points 20"},
    "nbody": {"cpu": "--bodies 700 --steps 3", "interp": "--bodies 40 --steps 1"},
    "nqueens": {"cpu": "--queens 7", "interp": "--queens 4"},
    "raytracer": {
        "cpu": "--width 121 --height 75 --samples 2",
        "interp": "--width 12 --height 9 --samples 1 --bounces 2",
    },
    "reduction": {"cpu": "--size 100003", "interp": "--size 5000"},
    "tensor_matmul": {"cpu": "--tiles 5", "interp": "--tiles 2"},
    "tile_transformer": {
        "cpu": "--width 32 --length 33 --batch 3 --steps 4",
        "interp": "--width 8 --length 5 --batch 1 --steps 2",
    },
    "wave3d": {"cpu": "--size 10 --steps 18 --moves 3", "interp": "--size 6 --steps 8 --moves 2"},
    "warp_scan": {"cpu": "--size 70001", "interp": "--size 300"},
}
DRAWING = ("actors_life", "game_of_life", "laplace2d", "mandelbrot", "nbody", "raytracer", "wave3d")


def run_example(name: str, device: str, *more: str) -> str:
    """Run one through the command line; return what it printed."""
    done = process(name, device, *more)
    assert done.returncode == 0, f"{name} on {device}:\n{done.stdout}{done.stderr}"
    return done.stdout


def process(name: str, device: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run one through the command line to whatever end."""
    arguments = ARGUMENTS[name]["interp" if device == "interp" else "cpu"].split()
    words = ["-m", "gridlane", "run", str(EXAMPLES / f"{name}.py"), *arguments, *more]
    return programs.run(words, ROOT, {**os.environ, "GRIDLANE_DEVICE": device})


def test_every_example_is_listed() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} - HELPERS == set(ARGUMENTS)


@pytest.mark.parametrize("device", [*DEVICES, "interp"])
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_example(name: str, device: str) -> None:
    output = run_example(name, device)
    assert output.startswith(f"{name}: ")
    assert output.rstrip().endswith(("ms", "ms a step"))


@pytest.mark.parametrize("name", DRAWING)
def test_example_draws(name: str, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs pillow")
    target = tmp_path / "picture.png"
    run_example(name, "cpu", "--out", str(target))
    with image.open(target) as picture:
        assert len(picture.convert("L").getcolors(1 << 16)) > 1, "the picture has one colour"
