"""The notebooks of examples/ run, and print what they show."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def shown(notebook: nbformat.NotebookNode) -> list[tuple[str, ...]]:
    """What the cells print and return, without pictures, whose bytes are the library's."""
    return [
        (output.output_type, output.get("text", ""), output.get("data", {}).get("text/plain", ""))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
    notebook = nbformat.read(path, as_version=4)
    committed = shown(notebook)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert committed and shown(notebook) == committed
    has_picture = any(
        "image/png" in output.get("data", {})
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    assert has_picture == (path.stem == "mandelbrot")


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first_kernel", "mandelbrot"]


def test_a_notebook_of_numba_s_after_load_ext(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
    notebook = nbformat.v4.new_notebook()
    for text in ("%load_ext gridlane", "from numba import cuda\ncuda.grid.__module__"):
        notebook.cells.append(nbformat.v4.new_code_cell(text))
    NotebookClient(notebook, timeout=120).execute()
    assert "gridlane" in notebook.cells[1].outputs[0].data["text/plain"]
