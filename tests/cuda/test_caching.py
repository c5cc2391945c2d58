"""What programs see of the disk cache: ``stats``, ``cache=True``, the directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import gridlane
from gridlane import compiler, cuda
from gridlane.compiler import cache as disk
from gridlane.compiler.cache import DiskCache
from gridlane.core import config
from gridlane.cuda.host.warnings import NumbaWarning
from gridlane.cuda.kernels import dispatcher


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """A cache of this test's own, and a function that sets another."""

    def use(cache):
        monkeypatch.setattr(compiler, "default_cache", lambda: cache)
        monkeypatch.setattr(disk, "default_cache", lambda: cache)
        dispatcher._cache_problem.cache_clear()
        return cache

    yield use
    dispatcher._cache_problem.cache_clear()


def made(**options):
    @cuda.jit(**options)
    def twice(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    return twice


def counts(kernel) -> tuple[int, int]:
    stats = kernel.stats
    return sum(stats.cache_hits.values()), sum(stats.cache_misses.values())


def test_hits_and_misses(kept, tmp_path):
    kept(DiskCache(tmp_path))
    first = made(cache=True)
    assert first.stats == (str(tmp_path), Counter(), Counter())
    for dtype in (np.int64, np.float64, np.float64):
        x = np.ones(4, dtype)
        first[1, 32](x)
        assert x.tolist() == [2] * 4
    assert counts(first) == (0, 2)
    assert dict(first.stats.cache_misses) == dict.fromkeys(first.overloads, 1)
    again = made(cache=True)
    again[1, 32](np.ones(4))
    assert counts(again) == (1, 0)
    assert list(again.stats.cache_hits) == list(again.overloads)
    # A block shape, and a device, for which there is no code yet.
    again[1, 64](np.ones(4))
    with gridlane.device("interp"):
        again[1, 32](np.ones(4))
    assert counts(again) == (1, 2)
    again.recompile()
    again[1, 32](np.ones(4))
    assert counts(again) == (2, 2)
    # The variant for arrays that are only read counts as well.
    signed = cuda.jit("void(float64[::1], float64[::1])")(lambda x, y: None)
    fixed = np.ones(4)
    fixed.flags.writeable = False
    signed[1, 32](np.ones(4), fixed)
    assert counts(signed) == (0, 1)


def test_without_a_cache(kept):
    kept(None)
    kernel = made(cache=True)
    kernel[1, 32](np.ones(4))
    assert kernel.stats.cache_path is None and counts(kernel) == (0, 1)


def test_a_directory_that_cannot_be_used_is_told_of(kept, tmp_path):
    (tmp_path / "file").write_text("")
    kept(DiskCache(tmp_path / "file" / "cache"))
    with pytest.warns(NumbaWarning, match=r"twice: cache=True, .*file is not a directory"):
        kernel = made(cache=True)
    kernel[1, 32](np.ones(4))  # it works all the same
    assert counts(kernel) == (0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made()
        kept(DiskCache(tmp_path / "cache"))
        made(cache=True)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_directory_that_others_write_to_is_told_of(kept, tmp_path):
    tmp_path.chmod(0o777)
    kept(DiskCache(tmp_path))
    with pytest.warns(NumbaWarning, match="may be written to by everyone"):
        made(cache=True)


@pytest.mark.parametrize(
    "variables, wanted",
    [
        ({}, None),
        ({"NUMBA_CACHE_DIR": ""}, None),
        ({"NUMBA_CACHE_DIR": "/n"}, Path("/n/gridlane")),
        ({"NUMBA_CACHE_DIR": "/n", "GRIDLANE_CACHE_DIR": "/g"}, Path("/g")),
        ({"GRIDLANE_CACHE_DIR": "g"}, Path.cwd() / "g"),  # programs change their directory
    ],
)
def test_the_directory(variables, wanted):
    assert config.read(variables).cache_dir == wanted


def test_the_directory_of_numba_is_used(tmp_path):
    """By a program of numba's, twice; others may write to the directory itself."""
    tmp_path.chmod(0o777)
    (tmp_path / "html.py").write_text("raise ImportError('the program has a module html')")
    program = tmp_path / "program.py"
    program.write_text(
        "import json\nimport numpy as np\nfrom numba import config, cuda\n\n"
        "@cuda.jit(cache=True)\ndef f(x):\n    x[0] = 1\n\n"
        "f[1, 1](np.zeros(1))\npath, hits, misses = f.stats\n"
        "print(json.dumps([path, config.CACHE_DIR, sum(hits.values()), sum(misses.values())]))\n"
    )
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    variables.pop("GRIDLANE_CACHE_DIR", None)
    command = [sys.executable, "-W", "error", "-m", "gridlane", "run", str(program)]
    for hits in (0, 1):
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [
            *(str(tmp_path / "gridlane"), str(tmp_path), hits, 1 - hits)
        ]


def test_python_without_asserts_has_code_of_its_own(tmp_path):
    """``python -O`` drops asserts, as in all Python, also where code with asserts is kept."""
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nfrom gridlane import cuda\n\n"
        "@cuda.jit(debug=True, opt=False, cache=True)\n"
        "def f(x):\n    assert x[0] > 5\n    x[0] = 9\n\n"
        "x = np.zeros(1)\n"
        "try:\n    f[1, 1](x)\nexcept AssertionError:\n    print('refused')\nprint(x[0])\n"
    )
    variables = {**os.environ, "GRIDLANE_CACHE_DIR": str(tmp_path / "cache")}
    for option, wanted in (([], "refused\n0.0"), (["-O"], "9.0")):
        command = [sys.executable, *option, str(program)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == wanted, done.stderr
