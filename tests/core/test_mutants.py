"""``make mutants``: the list of defects, and what of the runner needs no run."""

from __future__ import annotations

import ast
import json
import time

import pytest
from scripts.testing import mutants as runner
from scripts.testing.graph import ROOT
from scripts.testing.mutants import Mutant, Outcome, mutants

LISTED = mutants()


def test_the_list_has_sixty_defects_of_all_rooms():
    assert len({each.name for each in LISTED}) == len(LISTED) == 60
    rooms = {each.file.split("/")[2] for each in LISTED}
    assert rooms >= {"frontends", "codegen", "passes", "interp", "runtime", "compiler"}
    assert rooms >= {"core", "launch", "memory", "actors", "abi"}


@pytest.mark.parametrize("mutant", LISTED, ids=lambda each: each.name)
def test_a_defect_applies_to_its_file_of_today(mutant):
    """The old text is there once, the new one is other code that Python reads, and the files of
    tests that are named exist."""
    text = (ROOT / mutant.file).read_text()
    changed = mutant.changed(text)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    assert mutant.what.endswith(".")
    assert all((ROOT / each.partition("::")[0]).is_file() for each in mutant.near)


def test_a_defect_is_in_a_tree_for_a_while(tmp_path):
    mutant = Mutant("a", "a.py", "It adds.", "a - b", "a + b")
    path = tmp_path / "a.py"
    path.write_text("a - b\n")
    with runner.applied(mutant, tmp_path):
        assert path.read_text() == "a + b\n"
    assert path.read_text() == "a - b\n"
    path.write_text("a - b, a - b\n")
    with pytest.raises(ValueError, match="the old text 2 times"), runner.applied(mutant, tmp_path):
        pass


@pytest.mark.parametrize(
    "output, wanted",
    [
        (
            "..F\nFAILED tests/a/test_b.py::test_c[x - y] - assert 1",
            "tests/a/test_b.py::test_c[x - y]",
        ),
        ("FAILED tests/a/test_b.py::test_c - AssertionError: d - e", "tests/a/test_b.py::test_c"),
        ("ERROR tests/a/test_b.py - ImportError: f", "tests/a/test_b.py"),
        ("ERROR: not found\n1 passed", ""),
    ],
)
def test_the_failed_test_is_read_from_the_summary(output, wanted):
    assert runner.failed(output) == wanted


def test_batches_have_all_files_in_order(monkeypatch):
    monkeypatch.setattr("scripts.testing.quick.known", lambda: {"b": 50.0, "c": 1.0, "d": 1.0})
    assert [*runner.batches(["a", "b", "c", "d"], 10.0)] == [["a"], ["b"], ["c", "d"]]


def test_results_are_kept_by_name_and_selection(tmp_path):
    path = tmp_path / "results.json"
    runner.record(path, "b", Outcome("", 60.0), "1234abcd", 60.0, all_night=False)
    runner.record(path, "a", Outcome("tests/x.py::y", 1.04), "1234abcd", 60.0, all_night=False)
    runner.record(path, "b", Outcome("tests/z.py", 2.0), "1234abcd", 90.0, all_night=True)
    rows = json.loads(path.read_text())
    assert [*rows] == ["a", "b"]
    assert (rows["a"]["day"]["test"], rows["a"]["day"]["seconds"]) == ("tests/x.py::y", 1.0)
    assert (rows["b"]["day"]["test"], rows["b"]["night"]["test"]) == (None, "tests/z.py")


@pytest.mark.parametrize("clean", ["", "a test does not end"])
def test_a_hang_counts_where_the_tests_end_without_the_defect(clean, tmp_path, monkeypatch):
    (tmp_path / "f.py").write_text("a")
    answers = iter(["a test does not end", clean, ""])
    monkeypatch.setattr(runner, "_run", lambda *words: next(answers))
    mutant = Mutant("m", "f.py", "", "a", "b", near=("tests/x.py",))
    outcome = runner._tried(mutant, {}, tmp_path, 60.0, False)
    assert outcome.test == ("" if clean else "a test does not end")


def test_a_test_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    """It is no defect found. A file of fixtures that the defect breaks is one."""
    (tmp_path / "f.py").write_text("a")
    mutant = Mutant("m", "f.py", "", "a", "b", near=("tests/no_such.py::test_a",))
    with pytest.raises(ValueError, match=r"m: pytest does not run tests/no_such\.py::test_a"):
        runner._tried(mutant, {}, tmp_path, 60.0, False)
    answers = iter(["pytest ends with 4", ""])
    monkeypatch.setattr(runner, "_run", lambda *words: next(answers))
    assert runner._tried(mutant, {}, tmp_path, 60.0, False).test == "pytest ends with 4"


def test_a_module_that_ends_pytest_is_found(tmp_path):
    (tmp_path / "test_x.py").write_text("import sys\n\nsys.exit(0)\n")
    (tmp_path / "conftest.py").write_text("import sys\n\nsys.exit(0)\n")
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    ended = runner._run(tmp_path, ["test_x.py"], (), time.time() + 60, False)
    assert ended == "pytest ends with 0"
