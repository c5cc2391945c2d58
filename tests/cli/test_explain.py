"""``gridlane compile --explain``: what became float64 in a kernel, and why."""

from __future__ import annotations

import re

import pytest

FILE = """\
import math
from numba import cuda, float32

@cuda.jit(device=True)
def half(v):
    return v * 0.5

@cuda.jit
def image(img, i):
    x = float32(i) / img.shape[1]
    y = half(x) + 1.0
    img[0, i] = math.sqrt(y)
    img[1, i] = y

@cuda.jit("void(float32[:], float64)")
def scaled(a, s):
    a[0] *= s

@cuda.jit(["void(float32[:])", "void(float64[:])"])
def doubled(a):
    a[0] *= 2.5

@cuda.jit("void(float32[:], int32)", floats="float32")
def fine(a, n):
    a[0] *= 2.5 / n

@cuda.jit
def wrong(a):
    a.foo = 3
"""
IMAGE = """\
image(array(float32, 2d, A), int32): 3 causes of float64
  File "PATH", line 6, in half
    6 |     return v * 0.5
      |                ^^^
    the literal 0.5 is float64; write float32(0.5), or use floats="float32"
  File "PATH", line 10, in image
   10 |     x = float32(i) / img.shape[1]
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^
    float32 with int64 gives float64; write float32(...) around the int64, or use floats="float32"
  File "PATH", line 11, in image
   11 |     y = half(x) + 1.0
      |                   ^^^
    the literal 1.0 is float64; write float32(1.0), or use floats="float32"
  so these compute in float64, too: lines 12 and 13 of image
"""
SCALED = """\
scaled(array(float32, 1d, A), float64): 1 cause of float64
  File "PATH", line 16, in scaled
   16 | def scaled(a, s):
      |               ^
    the argument s is float64; pass float32, as np.float32(s)
  so these compute in float64, too: line 17 of scaled
"""
DOUBLED = """\
doubled(array(float32, 1d, A)): 1 cause of float64
  File "PATH", line 21, in doubled
   21 |     a[0] *= 2.5
      |             ^^^
    the literal 2.5 is float64; write float32(2.5), or use floats="float32"

doubled(array(float64, 1d, A)): 1 cause of float64
  File "PATH", line 20, in doubled
   20 | def doubled(a):
      |             ^
    the argument a is array(float64, 1d, A); pass an array of float32, as a.astype(np.float32)
  so these compute in float64, too: line 21 of doubled
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("kernel", "signature", "wanted"),
    [
        ("image", "f32[:,:], i32", IMAGE),
        ("scaled", None, SCALED),
        ("doubled", None, DOUBLED),
        ("fine", None, "fine(array(float32, 1d, A), int32): nothing became float64\n"),
    ],
)
def test_what_became_float64(file, gridlane, kernel, signature, wanted):
    words = () if signature is None else ("--sig", signature)
    done = gridlane("compile", "--explain", f"kernels.py:{kernel}", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(place_of(done.stdout), "PATH") == wanted


def place_of(text):
    """The path that places of a text name."""
    found = re.search(r'File "(.*?)"', text)
    return found[1] if found else "PATH"


def test_all_kernels_of_a_file_are_told_of(file, gridlane):
    file.write_text(FILE.replace("@cuda.jit\n", "@cuda.jit(device=True)\n"))
    done = gridlane("compile", "--explain", "kernels.py")
    assert done.returncode == 0
    text = done.stdout.replace(place_of(done.stdout), "PATH")
    fine = "fine(array(float32, 1d, A), int32): nothing became float64\n"
    assert text == f"{SCALED}\n{DOUBLED}\n{fine}"


def test_what_floats_are_by_the_environment(file, gridlane):
    words = "compile", "--explain", "kernels.py:image", "--sig", "f32[:,:], i32"
    assert gridlane(*words, GRIDLANE_FLOATS="float32").stdout == (
        "image(array(float32, 2d, A), int32): nothing became float64\n"
    )


@pytest.mark.parametrize(
    "option",
    ["--target ptx", "--arch sm_90", "--block 64", "--variant compact", "--output some.txt"],
)
def test_it_takes_no_target(file, fails, option):
    name = option.split()[0]
    assert fails("compile", "kernels.py:fine", "--explain", *option.split()) == (
        f"compile: --explain tells of the kernel's types; {name} has no part in them\n"
    )


def test_kernels_that_do_not_compile(file, fails):
    words = "compile", "--explain", "kernels.py:wrong", "--sig"
    assert "a.foo = 3" in fails(*words, "f32[:]", status=1)
    assert fails(*words, "f32, i32") == (
        "compile: wrong(a) has 1 parameter, and --sig has 2 types\n"
    )
    assert "the file does not say what types" in fails(*words[:-1])


def test_explain_shows_what_became_of_each_line(file, gridlane):
    file.write_text(
        "from numba import cuda\n\nprint('loaded')\n\n"
        '@cuda.jit("void(float32[:, ::1], float32[::1])")\n'
        "def rows(a, out):\n    i = cuda.grid(1)\n    out[i] = a[i, 0] * 0.5\n"
    )
    done = gridlane("explain", "kernels.py:rows", "--block", "64")
    assert (done.returncode, done.stderr) == (0, "loaded\n")
    first, place, *ways = done.stdout.splitlines()
    assert first.endswith(" on cpu, blocks of 64x1x1:")
    assert place == "kernels.py:8: out[i] = a[i, 0] * 0.5"
    load, store, double = ways
    assert load.startswith("    load: gathered") and "a row apart" in load
    assert store.startswith("    store: a vector") and "write float32(0.5)" in double
    shader = gridlane("explain", "--device", "metal", "kernels.py:rows")  # it need not be here
    assert " on metal, " in shader.stdout and "a row apart" in shader.stdout


def test_explain_refuses_other_languages(file, fails, tmp_path):
    (tmp_path / "k.ptx").write_text("")
    assert "k.ptx is no Python file" in fails("explain", "k.ptx")
    assert fails("explain", "kernels.py:nothing").startswith("explain: kernels.py has no kernel")
    assert "there is no device 'gpu'" in fails("explain", "--device", "gpu", "kernels.py")
