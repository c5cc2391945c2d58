"""The engine in C, without Python, by many threads under ThreadSanitizer and AddressSanitizer. Its
branches for systems that are not here compile."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from tests.effort import NIGHTLY

from gridlane.native import text

HERE = Path(__file__).parent
ENGINE = HERE.parents[2] / "src" / "gridlane" / "actors" / "engine"
THREADS = text.ROOM / "threads.c"
PARTS = [
    *sorted(each for each in ENGINE.glob("*.c") if '"objects.h"' not in each.read_text()),
    THREADS,
]
# ThreadSanitizer does not know fences, and says so; none is needed for an order that it misses.
OPTIONS = {
    "thread": ["-fsanitize=thread", "-Wno-tsan"],
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
}


@pytest.mark.parametrize("sanitizer", list(OPTIONS))
def test_no_races_and_no_wrong_accesses(sanitizer, tmp_path):
    """Each message is handled or dead, and the sanitizer finds nothing."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    program = tmp_path / "stress"
    made = subprocess.run(
        [
            *(compiler, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror"),
            *OPTIONS[sanitizer],
            *(f"-I{ENGINE}", str(HERE / "stress.c")),
            *map(str, PARTS),
            *("-o", str(program), "-lpthread"),
        ],
        capture_output=True,
        text=True,
    )
    if "cannot find" in made.stderr and "san" in made.stderr:
        pytest.skip(f"needs gcc's library of the {sanitizer} sanitizer")
    assert made.returncode == 0, made.stderr
    done = subprocess.run(
        [str(program), "60" if NIGHTLY else "1"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "posted" in done.stdout and "WARNING" not in done.stderr, done.stderr


def test_the_branches_for_macos_compile():
    """With a stand-in for what its headers declare, and without what is for Linux alone."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    made = subprocess.run(
        [
            *(compiler, "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"),
            *("-U__linux__", "-D__APPLE__", "-include", str(HERE / "macos.h")),
            *(f"-I{ENGINE}", f"-I{sysconfig.get_paths()['include']}"),
            *map(str, [*sorted(ENGINE.glob("*.c")), THREADS]),
        ],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
