"""``gridlane export --web``: the files of a page, and what is refused in words. tests/browser runs
the pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridlane.cli import web
from gridlane.cli.web.manifest import FORMAT

FILE = """
import numpy as np
from numba import cuda, float64

@cuda.jit("void(float32[:, ::1], int64)")
def fill(a, n):
    tile = cuda.shared.array(5000, np.float32)
    tile[cuda.threadIdx.x] = n
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        a[y, x] = tile[0]

@cuda.jit
def untyped(a, b):
    b[0] = a[0]

@cuda.jit(["void(float32[:])", "void(int32[:])"])
def several(a):
    a[0] = 1

@cuda.jit("void(float64[:])")
def doubles(a):
    a[0] *= 1.5

@cuda.jit("void(float32[:])")
def barrier(a):
    cuda.cg.this_grid().sync()
    a[0] = 1
"""
RECORD = """
import numpy as np
from gridlane import cuda
from gridlane.core import argtypes, numpy_types
kind = numpy_types.from_numpy(np.dtype([("a", np.int32)]))

@cuda.jit(argtypes.none(kind))
def takes(r):
    pass
"""
PAGE = Path(web.__file__).parent / "page"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    return path


def test_what_is_written(file, gridlane, tmp_path):
    options = ["--block", "16,8", "--block", "untyped=32", "--sig", "untyped=f32[:], f32[::1]"]
    done = gridlane(
        "export", "--web", "kernels.py:fill", "kernels.py:untyped", *options, "-o", "to"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("to: fill, untyped\n")
    assert "fill has 20000 bytes of shared memory; a browser on any GPU has 16384" in done.stderr
    names = {path.name for path in (tmp_path / "to").iterdir()}
    own = {path.name for path in PAGE.iterdir()}
    texts = {"fill.wgsl", "fill.compact.wgsl", "untyped.wgsl"}  # whose code is the same for all
    assert names == own | {"manifest.json", *texts}
    made = json.loads((tmp_path / "to" / "manifest.json").read_text())
    assert made["format"] == FORMAT
    fill, untyped = made["kernels"]
    assert fill["block"] == [16, 8, 1] and untyped["block"] == [32, 1, 1]
    array, scalar = (argument["type"] for argument in fill["arguments"])
    assert array == {"kind": "array", "element": "float32", "ndim": 2, "layout": "C"}
    assert scalar == {"kind": "scalar", "dtype": "int64"}
    paths = [slot["path"] for slot in fill["slots"]]
    assert paths == [["data"], ["shape", 0], ["shape", 1], ["strides", 0], ["strides", 1], []]
    assert "@workgroup_size(16, 8, 1)" in (tmp_path / "to" / "fill.wgsl").read_text()


def test_the_runtime_reads_this_format():
    assert f"const FORMAT = {FORMAT};" in (PAGE / "gridlane.js").read_text()


def test_a_page_of_ones_own(file, gridlane, tmp_path):
    (tmp_path / "mine.html").write_text("<p>mine")
    options = ["--page", "mine.html", "-o", "to"]
    done = gridlane("export", "--web", "kernels.py:fill", *options)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "to" / "index.html").read_text() == "<p>mine"


def test_float64_is_computed_as_told(file, gridlane, tmp_path):
    done = gridlane("export", "--web", "kernels.py:doubles", "--fp64", "exact", "-o", "to")
    assert done.returncode == 0, done.stderr
    note = "kernels.py:24:5: float64 is computed by integers"
    made = (tmp_path / "to" / "manifest.json").read_text()
    assert f'"{note}' in made and note in done.stderr


def test_large_blocks_are_noted(file, gridlane):
    done = gridlane("export", "--web", "kernels.py:fill", "--block", "32,32", "-o", "to")
    assert done.returncode == 0, done.stderr
    assert "fill has blocks of 1024 threads; a browser on any GPU has 256" in done.stderr


WRONG = {
    "nowhere.py": "export: there is no file 'nowhere.py'",
    "kernels.py:fil": "kernels.py has no kernel 'fil' (did you mean 'fill'?)",
    "kernels.py:untyped": "export: the file does not say what types the arguments of untyped(a, b)",
    "kernels.py:several": "several has several types; choose with --sig several=...:",
    "kernels.py:fill kernels.py:fill": "two kernels are called fill",
    "kernels.py:fill --sig f32[:]": "fill(a, n) has 2 parameters, and --sig has 1 type",
    "kernels.py:fill --sig f32[:,f32": "--sig: ",
    "kernels.py:fill --sig fil=i32,i32": "no kernel 'fil' is exported (did you mean 'fill'?)",
    "kernels.py:fill kernels.py:doubles --sig f32[:],i32": "--sig is for one kernel; say for which",
    "kernels.py:fill --block 0": "the block (0, 1, 1) has 0 along x",
    "kernels.py:fill --block 64 --block 32": "--block is given twice for all kernels",
    "kernels.py:fill --block other=3": "no kernel 'other' is exported; there are: fill",
    "kernels.py:fill --fp64 exactly": "no way to compute float64 'exactly' (did you mean 'exact'?)",
    "kernels.py:fill --page nowhere.html": "cannot read 'nowhere.html'",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_command_lines(words, file, fails):
    assert WRONG[words] in fails("export", "--web", *words.split(" "), "-o", "to")


def test_the_form_is_asked_for(file, fails):
    assert fails("export", "kernels.py:fill", "-o", "to") == (
        "export: what for? --web, for browsers, is all that there is\n"
    )


def test_nothing_is_written_over_a_file(file, fails):
    assert "cannot write" in fails("export", "--web", "kernels.py:fill", "-o", "kernels.py")


REFUSED = {
    "kernels.py:doubles": ("float64", 'kernels.py", line 24'),
    "kernels.py:barrier": ("no grid_sync", 'kernels.py", line 28'),
}


@pytest.mark.parametrize("place", REFUSED)
def test_what_browsers_cannot_do_is_located(place, file, fails, tmp_path):
    said = fails("export", "--web", place, "-o", "to", status=1)
    what, where = REFUSED[place]
    assert what in said and where in said and "^" in said
    assert not (tmp_path / "to").exists()


def test_a_record_is_no_argument(fails, tmp_path):
    (tmp_path / "record.py").write_text(RECORD)
    said = fails("export", "--web", "record.py", "-o", "to", status=1)
    assert "takes(r): a page cannot hand over an argument of type Record(a" in said
    assert "take an array of one record in its place" in said


def test_a_line_with_formats_is_not_printed(fails, tmp_path):
    kernel = '@cuda.jit("void(complex64[:])")\ndef says(z):\n    print(z[0])\n'
    (tmp_path / "line.py").write_text(f"from gridlane import cuda\n{kernel}")
    said = fails("export", "--web", "line.py", "-o", "to", status=1)
    assert "says(z): a page prints whole lines of numbers as numpy shows them" in said
    assert "a complex number by its real and imag" in said
