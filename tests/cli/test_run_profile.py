"""``gridlane run --profile``: the program as it is, and the tables and files after it."""

from __future__ import annotations

import json

import pytest

PROGRAM = """\
import sys
import numpy as np
from numba import cuda

@cuda.jit
def double(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2

values = cuda.to_device(np.arange(64, dtype=np.float32))
for _ in range(3):
    double[2, 32](values)
print(values.copy_to_host().sum(), sys.argv[1:])
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache that keeps what was measured of the devices."""
    return str(tmp_path_factory.mktemp("cache"))


def parts(text):
    """The tables of a profile in stderr, and the text before them."""
    before, title, tables = text.partition("gridlane profile, ")
    return before, title + tables


def test_the_tables_follow_the_program(gridlane, cache, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    done = gridlane("run", "--profile", "p.py", "--profile", GRIDLANE_CACHE_DIR=cache)
    assert (done.returncode, done.stdout) == (0, "16128.0 ['--profile']\n")
    before, tables = parts(done.stderr)
    assert before == ""
    (row,) = [line for line in tables.splitlines() if line.lstrip().startswith("double[32] cpu")]
    assert row.split()[2] == "3" and "512 B" in row  # read and written
    assert "to device, cpu" in tables and "cpu: times by the host's clock" in tables


def test_files_of_a_module(gridlane, cache, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    options = ("--device=interp", "--trace-file", "t.json", "--html=t.html")
    done = gridlane("run", *options, "-m", "p", "word", GRIDLANE_CACHE_DIR=cache)
    assert (done.returncode, done.stdout) == (0, "16128.0 ['word']\n")
    assert "double[32] interp" in done.stderr
    told = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [e["name"] for e in told if e.get("cat") == "launch"] == ["double"] * 3
    assert "double" in (tmp_path / "t.html").read_text()


@pytest.mark.parametrize(("end", "status"), [("1 / 0", 1), ("sys.exit(7)", 7)])
def test_the_end_of_the_program_is_its_own(gridlane, cache, tmp_path, end, status):
    (tmp_path / "p.py").write_text(f"{PROGRAM}\n{end}\n")
    words = ("p.py",), ("--profile", "p.py")
    plain, profiled = (gridlane("run", *each, GRIDLANE_CACHE_DIR=cache) for each in words)
    assert plain.returncode == profiled.returncode == status
    assert profiled.stdout == plain.stdout
    tables = parts(profiled.stderr)[1]
    assert "double[32] cpu" in tables
    assert profiled.stderr.replace(tables.removesuffix(plain.stderr), "") == plain.stderr


def test_a_program_that_launches_nothing(gridlane, cache, tmp_path):
    (tmp_path / "p.py").write_text("print(1)")
    done = gridlane("run", "--profile", "p.py", GRIDLANE_CACHE_DIR=cache)
    assert (done.stdout, done.stderr) == ("1\n", "gridlane profile: no kernel was launched\n")


def test_hints_end_the_profile(gridlane, cache, tmp_path):
    strided = PROGRAM.replace("values[i] *= 2", "values[i * 8 % 64] *= 1\n        values[i] *= 2")
    (tmp_path / "p.py").write_text(strided.replace("i * 8 % 64", "values.size - 1 - i * 8"))
    done = gridlane("run", "--profile", "p.py", GRIDLANE_CACHE_DIR=cache)
    assert "double: p.py:9: load: threads next to each other along x are 32 bytes" in done.stderr
    assert done.stderr.endswith("gridlane explain FILE.py:KERNEL shows what became of each line\n")
