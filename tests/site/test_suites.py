"""The page of public CUDA suites is that of its results, and its figures are theirs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

import suites  # noqa: E402


def results(*programs):
    made = [{"suite": "s", "name": f"p{number}", **given} for number, given in enumerate(programs)]
    return json.dumps({"facts": ["a fact"], "suites": {"s": "where it is"}, "programs": made})


def test_the_page_is_that_of_the_results():
    command = [sys.executable, str(ROOT / "scripts/suites.py"), "--check"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_shares_are_of_programs_that_are_judged():
    text = results(
        {"exec": ["right"], "cc": ["compile", "a | b"]},
        {"exec": ["wrong", "7 for 8"], "cc": ["ran"]},
        {"exec": ["absent", "cuBLAS"], "cc": ["long", "no end"]},
        {"exec": ["rules", "old"]},
    )
    made = suites.page(suites.read(text))
    assert "| s | 1 |  |  |  | 1 |  |  | 1 | 1 |  | 2 of 2 | 1 of 2 |" in made
    assert "| s |  | 1 |  | 1 |  |  | 1 |  |  | 1 | 2 of 3 | 1 of 3 |" in made
    assert "| p0 | right | compile: a \\| b |" in made
    assert "| p3 | rules: old | untried |" in made


@pytest.mark.parametrize(
    "program, told",
    [
        ({"exec": ["well"]}, "no kind of result: well"),
        ({"exec": ["wrong"]}, "wrong needs a reason"),
        ({"suite": "other"}, "is of no suite of the file: other"),
    ],
)
def test_results_that_are_refused(program, told):
    with pytest.raises(ValueError, match=told):
        suites.read(results(program))


def test_a_program_that_is_there_twice():
    with pytest.raises(ValueError, match="twice"):
        suites.read(results({}, {"name": "p0"}))
