"""The pages of measurements are what their script draws from the data."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts/site"))

import performance  # noqa: E402
import plots  # noqa: E402
from benchmarks.results import Figure  # noqa: E402


@pytest.mark.parametrize("path", performance.made(), ids=lambda path: path.name)
def test_files_are_those_of_the_data(path: Path) -> None:
    assert path.read_text() == performance.made()[path], "run scripts/site/performance.py"


def test_the_page_is_short() -> None:
    assert len(performance.page(performance.load()).split()) < 1700


def test_figures_come_from_the_data() -> None:
    data = performance.load()
    first = data["cpu"][0]
    figures = [replace(f, value=77.77) if f.of == "pocl" else f for f in first.figures]
    changed = data | {"cpu": [replace(first, figures=figures), *data["cpu"][1:]]}
    page = performance.page(changed)
    assert page != performance.page(data) and page.count("77.77") == len(performance.KERNELS)
    assert performance.cpu_plot(changed) != performance.cpu_plot(data)
    assert "77.77" in performance.figures_page(changed)


def test_rows_of_single_figures_change_nothing_else() -> None:
    data = performance.load()
    single = Figure("another case", "of another", 1.0, "ms")
    more = {
        name: [*rows, replace(rows[-1], command="python another", figures=[single])]
        for name, rows in data.items()
    }
    before, after = (performance.page(each) for each in (data, more))
    assert after.replace(f" {performance.source(more['cpu'][-1])}", "") == before


def test_a_figure_that_is_not_there() -> None:
    with pytest.raises(KeyError, match="no figure of 'x' by 'y'"):
        performance.one(performance.load()["cpu"], "x", "y")


def test_dots_are_at_their_values() -> None:
    series = [plots.Series("a", (1.0, 10.0, None)), plots.Series("b", (100.0, 1.0, 10.0))]
    root = ElementTree.fromstring(plots.dots("title", "axis", ["x", "y", "z"], series, 10))
    name = "{http://www.w3.org/2000/svg}"
    places = {
        each.find(f"{name}title").text: float(each.get("cx"))
        for each in root.iter(f"{name}circle")
        if ":" in each.find(f"{name}title").text
    }
    assert places.keys() == {"x, a: 1", "y, a: 10"}
    (mark,) = [each for each in root.iter(f"{name}line") if each.get("class") == "mark"]
    assert float(mark.get("x1")) == places["y, a: 10"] > places["x, a: 1"]
