"""The example page draws what the CPU draws, in a browser."""

from __future__ import annotations

import base64
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.browser.chromium import Chromium
from tests.browser.served import Site

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples" / "web" / "kernels.py"
LIMIT, BODIES, STEPS = 60, 700, 4
COMMAND = re.compile(r"^    gridlane (export --web .*?) -o build/web$", re.M | re.S)


def gridlane(*words: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "GRIDLANE_DEVICE": "cpu"}
    command = [sys.executable, "-m", "gridlane", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wanted(tmp_path_factory) -> dict[str, np.ndarray]:
    """The pictures as the CPU draws them, as (height, width, 4) bytes."""
    file = tmp_path_factory.mktemp("wanted") / "pictures.npz"
    sizes = ("--iterations", str(LIMIT), "--bodies", str(BODIES), "--steps", str(STEPS))
    gridlane("run", str(KERNELS), *sizes, "--save", str(file))
    return {
        name: pixels.view(np.uint8).reshape(400, 640, 4) for name, pixels in np.load(file).items()
    }


@pytest.fixture(scope="module")
def page(browser: Chromium, tmp_path_factory) -> Iterator[Chromium]:
    """The page that the example's command builds, when it is done with some steps."""
    folder = tmp_path_factory.mktemp("site")
    found = COMMAND.search(KERNELS.read_text())
    assert found
    gridlane(*shlex.split(found[1].replace("\\\n", " ")), "-o", str(folder))
    site = Site(folder)
    browser.go(f"{site.url}?limit={LIMIT}&bodies={BODIES}&steps={STEPS}")
    browser.wait_for("document.body.dataset.done")
    yield browser
    site.close()


def drawn(page: Chromium, name: str) -> np.ndarray:
    """A canvas, as (height, width, 4) bytes."""
    text = page.run(f'document.getElementById("{name}").toDataURL("image/png")')
    picture = Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2])))
    return np.asarray(picture.convert("RGBA"))


@pytest.mark.parametrize("name", ["mandelbrot", "galaxies"])
def test_pictures_are_the_same(page: Chromium, wanted, name: str) -> None:
    """But for pixels where one rounding decides: a body is in this one or the next."""
    got, expected = drawn(page, name).astype(int), wanted[name].astype(int)
    assert (expected[..., :3].max(-1) > 8).mean() > 0.04, "there is little to compare"
    different = np.abs(got - expected).max(-1) > 3
    assert different.mean() < 0.002


def test_the_page_says_what_it_draws(page: Chromium) -> None:
    assert page.run('document.getElementById("status").textContent') == "on google swiftshader"
    speed = page.run('document.getElementById("speed").textContent')
    assert re.fullmatch(rf"Two galaxies: {BODIES} bodies, [\d.]+ steps a second", speed)


def test_a_click_zooms_in(page: Chromium) -> None:
    """At what was clicked: the whole picture has what was round there."""
    canvas = 'document.getElementById("mandelbrot")'
    before = drawn(page, "mandelbrot")
    width = page.run(f"{canvas}.clientWidth")
    page.run(
        f"""(() => {{
            const {{ left, top }} = {canvas}.getBoundingClientRect();
            const place = {{ clientX: left + {width / 4}, clientY: top + {width * 400 / 640 / 2} }};
            {canvas}.dispatchEvent(new MouseEvent("click", place));
        }})()"""
    )
    page.wait_for(f"{canvas}.dataset.drawn === '2'")
    after = drawn(page, "mandelbrot").astype(int)
    part = before[100:300, 0:320].astype(int)
    assert (np.abs(after[::2, ::2] - part).max(-1) < 40).mean() > 0.9
    assert (np.abs(after - before).max(-1) > 40).mean() > 0.1
