"""``gridlane tune``: a program's tunings as a table, a picture and a file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from tests.waiting import until

PROGRAM = """\
import sys
import numpy as np
from numba import cuda
from gridlane.cuda.kernels.tuning import tune

@cuda.jit
def double(values, out, ITEMS):
    first = cuda.grid(1) * ITEMS
    if ITEMS == 3:
        return
    for i in range(first, min(first + ITEMS, values.size)):
        out[i] = values[i] * 2

values, out = np.arange(640, dtype=np.float32), np.zeros(640, np.float32)
tuned = tune(double, (values, out), {"ITEMS": [1, 2, 3]}, block=64, seconds=20,
             grid=lambda values, ITEMS: -(-values.size // (64 * ITEMS)))
tuned(values, out)
print(out.sum(), sys.argv[1:])
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "p.py"
    file.write_text(PROGRAM)
    return file


def test_a_table_a_picture_and_a_file(gridlane, program, tmp_path):
    cache = {"GRIDLANE_CACHE_DIR": str(tmp_path / "cache"), "GRIDLANE_CACHE": "1"}
    files = "--export", "t.json", "--plot", "t.svg"
    done = gridlane("tune", "--seconds", "15", *files, "p.py", "word", "--plot", **cache)
    assert (done.returncode, done.stdout) == (0, "408960.0 ['word', '--plot']\n")
    assert "double(array(float32, 1d, C)[1024/128], array(float32, 1d, C)" in done.stderr
    assert "3 candidates" in done.stderr and "best: ITEMS=" in done.stderr
    assert "wrong: results are not those of the plain schedule" in " ".join(done.stderr.split())
    data = json.loads((tmp_path / "t.json").read_text())
    (tuning,) = data["tunings"]
    assert tuning["kernel"] == "double" and data["device"]["kind"] == "cpu"
    assert [each["state"] for each in tuning["trials"]].count("measured") == 2
    picture = ElementTree.parse(tmp_path / "t.svg")
    texts = [each.text for each in picture.iter() if each.tag.endswith("text")]
    assert "ITEMS=1" in texts and "ITEMS=2" in texts and len(texts) == 1 + 5 + 1
    again = gridlane("tune", "p.py", **cache)
    assert "known from before" in again.stderr
    more = gridlane("tune", "--again", "p.py", **cache)
    assert "known from before" not in more.stderr
    other = {**cache, "GRIDLANE_CACHE_DIR": str(tmp_path / "other")}
    used = gridlane("tune", "--use", "t.json", "p.py", **other)
    assert "known from before" in used.stderr and used.returncode == 0


def test_wrong_uses(gridlane, program, tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "none.py").write_text("print(1)")
    for words, message in (
        (("--seconds", "0", "p.py"), "--seconds needs a number of seconds above 0, not '0'"),
        (("--seconds", "x", "p.py"), "--seconds needs a number of seconds above 0, not 'x'"),
        (("--use", "bad.json", "p.py"), "bad.json is no table of tunings of the format 1"),
        (("--use", "no.json", "p.py"), "no.json"),
        (("--export", "no/t.json", "p.py"), "there is no folder 'no'"),
    ):
        done = gridlane("tune", *words)
        assert done.returncode == 2 and message in done.stderr and not done.stdout
    done = gridlane("tune", "none.py")
    assert (done.returncode, done.stdout) == (0, "1\n") and "nothing was tuned" in done.stderr


SLOW = PROGRAM.replace('"ITEMS": [1, 2, 3]', '"ITEMS": range(1, 400)').replace(
    "seconds=20", "seconds=60, most=400"
)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_an_interrupted_program_keeps_what_it_has(tmp_path, monkeypatch):
    (tmp_path / "p.py").write_text(SLOW)
    monkeypatch.setenv("GRIDLANE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GRIDLANE_CACHE", "1")
    words = [sys.executable, "-m", "gridlane", "tune", "p.py"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    kept = tmp_path / "cache" / "tuned"
    until(lambda: any(kept.glob("[!.]*")) or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130 and "interrupted; a later run goes on" in errors
    assert any(kept.glob("[!.]*"))


def test_programs_of_triton(gridlane, tmp_path):
    (tmp_path / "p.py").write_text(
        """\
import numpy as np
import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"],
                 warmup=1, rep=1)
@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 0 + 2, mask=i < n)

x = np.zeros(128, np.float32)
double[lambda meta: (triton.cdiv(128, meta["BLOCK"]),)](x, 128)
print(x.sum())
"""
    )
    done = gridlane("tune", "p.py", GRIDLANE_CACHE="0")
    assert (done.returncode, done.stdout) == (0, "256.0\n")
    assert "BLOCK=64, num_warps=4" in done.stderr and "best: BLOCK=" in done.stderr


STUCK = """\
import time
import numpy as np
from gridlane import cuda
from gridlane.tuning import search

search.can_stop, search._STUCK_S, search._LEAST_S = (lambda device: False), 1.0, 0.1

@cuda.jit
def kinds(x, MODE):
    while MODE == 2 and x[0] != -1:
        x[1] += 1
    x[cuda.grid(1)] += 1

x = np.zeros(64)
print("begins", flush=True)
tuned = cuda.tune(kinds, (x,), {"MODE": [0, 2, 3]}, grid=1, block=64, seconds=30)
print("ends", tuned.best["MODE"] in (0, 3), x[0])
"""


def test_a_candidate_that_cannot_be_stopped(gridlane, tmp_path):
    """The program starts again, in a process whose device is free, without it."""
    (tmp_path / "p.py").write_text(STUCK)
    cache = {"GRIDLANE_CACHE_DIR": str(tmp_path / "cache"), "GRIDLANE_CACHE": "1"}
    done = gridlane("tune", "--supervised", "--export", "t.json", "p.py", **cache)
    assert (done.returncode, done.stdout) == (0, "begins\nbegins\nends True 0.0\n")
    assert "kinds with MODE=2 has not ended within 1 s, and cpu cannot stop it" in done.stderr
    assert "starting the program again, without that candidate" in done.stderr
    (tuning,) = json.loads((tmp_path / "t.json").read_text())["tunings"]
    states = {each["values"]["MODE"]: each["state"] for each in tuning["trials"]}
    assert states == {0: "measured", 2: "stopped", 3: "measured"}
