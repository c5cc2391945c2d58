"""Rows of measurements: what scripts write, what is kept, and whether recorded ratios hold."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import hold  # noqa: E402
import results  # noqa: E402
from results import Figure, Hardware, Row  # noqa: E402

HELPERS = (
    *("first_compile", "fit_fused", "fit_math", "object_code", "peer_process"),
    *("npbench", "ptx_by_numba", "simulator_programs", "tiles_interpreted", "tile_launches"),
)
"""Scripts without figures of their own: others start them, or they write code or a verdict."""

SCRIPTS = sorted(
    path
    for path in (ROOT / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text() and path.stem not in HELPERS
)
FILES = sorted(results.FOLDER.glob("*.json"))
HOST = Hardware("a processor", "kind", 2, None)


def row(command: str, *figures: Figure, hardware: Hardware = HOST) -> Row:
    return Row(command, "2026-11-29", hardware, None, {}, None, None, list(figures))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_records_its_figures(script: Path) -> None:
    text = script.read_text()
    assert "results.option(parser)" in text and "results.write(" in text


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_files_are_as_they_are_written(file: Path) -> None:
    rows = results.read(file)
    assert results.dumped(rows) == file.read_text()
    for each in rows:
        words = shlex.split(each.command)
        scripts = [word for word in words if word.endswith(".py")]
        assert all((ROOT / script).exists() for script in scripts), each.command
        assert each.figures and all(figure.unit for figure in each.figures)


def test_a_row_of_the_same_command_and_hardware_is_replaced(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(results, "_figures", [])
    monkeypatch.setattr(results, "processor", lambda: ("a processor", "kind", 2))
    monkeypatch.setattr(
        sys, "argv", [str(ROOT / "benchmarks/cpu.py"), "--record", "x", "--few", "1"]
    )
    results.add("vecadd", "ours", 1.23456789, "ms")
    other = row("python benchmarks/cpu.py --few 1", hardware=replace(HOST, cores=16))
    older = row("python benchmarks/cpu.py --few 1", Figure("vecadd", "ours", 9.0, "ms"))
    (tmp_path / "cpu.json").write_text(results.dumped([older, other]))
    results.write("cpu", tmp_path)
    kept, new = results.read(tmp_path / "cpu.json")
    assert kept == other
    assert new.command == older.command and new.hardware == HOST
    assert new.figures == [Figure("vecadd", "ours", 1.2346, "ms")]
    results.write("cpu", None)
    assert len(results.read(tmp_path / "cpu.json")) == 2


def test_fields_are_checked(tmp_path) -> None:
    file = tmp_path / "cpu.json"
    file.write_text(results.dumped([row("python benchmarks/cpu.py")]))
    raw = json.loads(file.read_text())
    del raw[0]["driver"]
    file.write_text(json.dumps(raw))
    with pytest.raises(ValueError, match="the fields of a row"):
        results.read(file)


@pytest.mark.parametrize(
    ("other", "like"),
    [
        (HOST, True),
        (replace(HOST, architecture=None), True),
        (replace(HOST, architecture="another"), False),
        (replace(HOST, cores=16), False),
        (replace(HOST, gpu="a GPU"), False),
    ],
)
def test_hardware_that_may_be_compared(other: Hardware, like: bool) -> None:
    assert HOST.like(other) is like


def test_verdicts() -> None:
    ratios = [Figure(name, "ours/gcc", 1.0, "ratio") for name in ("same", "slower", "gone")]
    old = row("python x", *ratios, Figure("same", "ours", 3.0, "ms"))
    new = row(
        "python x",
        Figure("same", "ours/gcc", 1.1, "ratio"),
        Figure("slower", "ours/gcc", 1.3, "ratio"),
    )
    found = {each.case: each.held(1.15) for each in hold.compared("x", old, new)}
    assert found == {"same": True, "slower": False, "gone": None}


def test_a_recorded_benchmark_is_run_again(tmp_path, capsys) -> None:
    script = "benchmarks/grid_sync.py"
    options = ["--sizes", "8", "--turns", "1", "--record", str(tmp_path)]
    subprocess.run([sys.executable, script, *options], cwd=ROOT, check=True)
    (first,) = results.read(tmp_path / "grid_sync_cpu.json")
    assert first.command == f"python {script} --sizes 8 --turns 1"
    assert hold.hold([], 1e6, 120, tmp_path) == 0
    assert "1 held, 0 not held, 0 not measured" in capsys.readouterr().out
    assert hold.hold([], 0.0, 120, tmp_path) == 1
    assert "NOT HELD" in capsys.readouterr().out
    assert hold.hold(["another"], 1.0, 120, tmp_path) == 1
    assert "there are no rows of another in " in capsys.readouterr().out


@pytest.mark.parametrize(
    "command, reason",
    [
        ("python benchmarks/no_such.py", "did not run: status 2"),
        ("/no/such/chrt python benchmarks/cpu.py", "did not run: [Errno 2]"),
        ("pypy benchmarks/cpu.py", "is no command of python"),
    ],
)
def test_a_benchmark_that_does_not_run_did_not_hold(
    command: str, reason: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(hold, "machines", lambda: [HOST])
    ratios = [Figure(case, "ours/gcc", 1.0, "ratio") for case in "ab"]
    (tmp_path / "cpu.json").write_text(results.dumped([row(command, *ratios)]))
    assert hold.hold([], 1.15, 60, tmp_path) == 1
    printed = capsys.readouterr().out
    assert reason in printed and "0 held, 0 not held, 2 not measured" in printed


GOOD = '{"case": "a", "of": "b", "value": 1.5, "unit": "ms"}'
BROKEN = {
    "[": "Expecting value",
    "{}": "rows are a list",
    "[3]": "the fields of a row are command",
    GOOD.replace("1.5", "NaN"): "a, b: nan is no number",
    GOOD.replace("1.5", "-Infinity"): "a, b: -inf is no number",
    GOOD.replace("1.5", '"1.5"'): "a, b: '1.5' is no number",
    GOOD.replace("1.5", "null"): "a, b: None is no number",
    GOOD.replace("1.5", "true"): "a, b: True is no number",
    GOOD.replace("1.5", "0").replace("ms", "ratio"): "a, b: a ratio of 0",
    GOOD.replace(', "unit": "ms"', ""): "the fields of a figure are case, of",
    f"{GOOD}, {GOOD}": "python x: a figure comes twice: a, b, ms",
}


@pytest.mark.parametrize("text", BROKEN)
def test_files_that_are_broken_are_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "cpu.json"
    whole = results.dumped([row("python x", Figure("a", "b", 1.5, "ms"))])
    assert GOOD in whole
    file.write_text(whole.replace(GOOD, text) if "case" in text else text)
    with pytest.raises(ValueError, match=f"^cpu.json: .*{re.escape(BROKEN[text])}"):
        results.read(file)


def test_figures_that_are_no_numbers_are_not_noted(monkeypatch) -> None:
    monkeypatch.setattr(results, "_figures", [])
    with pytest.raises(ValueError, match="a, b: inf is no number"):
        results.add("a", "b", float("inf"), "ms")
    assert not results._figures
