"""The page with a form for each kernel: its guess of the grid, and pictures of arrays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.chromium import Chromium
from tests.browser.served import Site

KERNELS = """\
from numba import cuda

@cuda.jit("void(float32[:, ::1])")
def slope(out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = 3 * x + y

@cuda.jit("void(int32[::1])")
def count(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = i
"""


@pytest.fixture(scope="module")
def page(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    folder = tmp_path_factory.mktemp("forms")
    source = folder / "kernels.py"
    source.write_text(KERNELS)
    words = ["export", "--web", str(source), "--block", "slope=16,8", "--block", "64"]
    command = [sys.executable, "-m", "gridlane", *words, "-o", str(folder / "site")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    site = Site(Path(folder / "site"))
    browser.go(site.url)
    browser.wait_for("document.body.dataset.ready")
    yield browser
    site.close()


def grid_of(page: Chromium, kernel: str) -> str:
    return page.run(f"[...document.querySelectorAll('#{kernel} input')].at(-1).value")


def set_shape(page: Chromium, kernel: str, shape: str) -> None:
    page.run(
        f"(() => {{ const field = document.querySelector('#{kernel} input'); "
        f"field.value = '{shape}'; field.oninput(); }})()"
    )


def test_the_grid_covers_the_largest_array(page: Chromium) -> None:
    assert grid_of(page, "count") == "16"  # of 1024 elements
    assert grid_of(page, "slope") == "2, 4"  # of 32 by 32
    set_shape(page, "slope", "20, 40")
    set_shape(page, "count", "65")
    assert (grid_of(page, "slope"), grid_of(page, "count")) == ("3, 5", "2")


def test_an_array_of_two_axes_is_drawn(page: Chromium) -> None:
    set_shape(page, "slope", "5, 7")
    page.run("document.querySelector('#slope button').click()")
    page.wait_for("document.querySelector('#slope canvas') !== null")
    pixels = page.run(
        "(() => { const canvas = document.querySelector('#slope canvas');"
        "const data = canvas.getContext('2d').getImageData(0, 0, 7, 5).data;"
        "return [canvas.width, canvas.height, ...data.filter((_, n) => n % 4 === 0)]; })()"
    )
    wanted = [round((3 * x + y) * 255 / 22) for y in range(5) for x in range(7)]
    assert list(pixels.values() if isinstance(pixels, dict) else pixels) == [7, 5, *wanted]
    text = page.run("document.querySelector('#slope').textContent")
    assert "out: 0 is black, 22 white" in text and "out = 0, 3, 6, 9" in text
