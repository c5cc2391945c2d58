"""``gridlane doctor --errors``: the errors of other processes."""

from __future__ import annotations

import pytest

from gridlane.core.error_report import parse

PROGRAM = """
import numpy as np
from gridlane import cuda
@cuda.jit(debug=True, opt=False)
def beyond(x):
    x[99] = 1
for fail in (lambda: beyond[1, 1](np.ones(8)), lambda: cuda.device_array(1 << 50)):
    try:
        fail()
        cuda.synchronize()
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.fixture
def doctor(python):
    return lambda *words, **environment: python("-m", "gridlane", "doctor", *words, **environment)


def test_the_errors_of_programs(python, doctor, tmp_path):
    path, program = tmp_path / "errors.jsonl", tmp_path / "program.py"
    program.write_text(PROGRAM)
    for _ in range(2):
        done = python(program, GRIDLANE_ERRORS="errors.jsonl")
        assert done.stdout == "IndexError\nDeviceError\n", done.stderr
    with path.open("a") as file:
        file.write("not gridlane's\n")
    shown = doctor("--errors", GRIDLANE_ERRORS="errors.jsonl")
    assert shown.returncode == 0, shown.stderr
    assert "by category: fault 2, memory 2" in shown.stdout
    assert f"device cpu, kernel beyond, {program}:6" in shown.stdout
    assert "lines of the file that are torn or others': 1" in shown.stdout
    done = doctor("--errors", "--json", GRIDLANE_ERRORS=str(path))
    report = parse(done.stdout)
    assert report.counts.total == 4 and report.skipped == 1
    assert len({entry.process for entry in report.entries}) == 2
    names = [entry.name for entry in report.entries[:2]]
    assert names == ["IndexError", "CUDA_ERROR_OUT_OF_MEMORY"]


@pytest.mark.parametrize(
    ("words", "environment", "status", "said"),
    [
        (["--errors"], {}, 2, "set GRIDLANE_ERRORS=FILE"),
        (["--errors"], {"GRIDLANE_ERRORS": "none"}, 1, "no program has written"),
        (["--errors"], {"GRIDLANE_ERRORS": "."}, 1, "Is a directory"),
        (["--json"], {}, 2, "--json is for --errors"),
        (["--errors", "program"], {"GRIDLANE_ERRORS": "x"}, 2, "not about PROGRAM"),
    ],
)
def test_what_is_refused(doctor, words, environment, status, said):
    done = doctor(*words, **environment)
    assert done.returncode == status and said in done.stderr, done.stderr
