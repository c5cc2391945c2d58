"""``pytest --gridlane``: tests of a numba.cuda program find gridlane, and others notice nothing."""

from __future__ import annotations

import pytest

CONFTEST = """
from numba import cuda

@cuda.jit
def double(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2
"""
TESTS = """
import os, subprocess, sys
import numpy as np
import numba.cuda
from conftest import double

def test_kernel():
    values = np.arange(10, dtype=np.float32)
    double[1, 32](values)
    assert values.sum() == 90
    assert numba.cuda.__name__ == "gridlane.cuda"

def test_child():
    child = "from numba import cuda; print(cuda.__name__)"
    assert subprocess.check_output([sys.executable, "-c", child]) == b"gridlane.cuda\\n"

def test_modules_as_installed():
    import gridlane.cuda
    assert "Rewriting" not in type(gridlane.cuda.__loader__).__name__
"""
UNTOUCHED = """
import sys

def test_nothing_is_loaded():
    ours = [name for name in sys.modules if name.startswith("gridlane.")]
    assert "gridlane.cli.pytest_plugin" in ours and len(ours) < 12, ours
    assert not {"llvmlite", "numpy", "gridlane.cuda"} & sys.modules.keys()
    assert "NumbaFinder" not in [type(finder).__name__ for finder in sys.meta_path]
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_double.py").write_text(TESTS)


def summary(done):
    return done.stdout.splitlines()[-1:] or done.stderr


def test_without_the_option_nothing_happens(python, tmp_path):
    (tmp_path / "test_untouched.py").write_text(UNTOUCHED)
    done = python("-m", "pytest", "-p", "no:hypothesispytest", "-p", "no:zarr")
    assert "1 passed" in str(summary(done)), done.stdout
    assert "numba.cuda" not in done.stdout


def test_option(python, suite):
    done = python("-m", "pytest", "--gridlane", "-Werror")
    assert "3 passed" in str(summary(done)), done.stdout
    assert "numba.cuda on the device cpu" in done.stdout


def test_configuration_file_and_workers(python, suite, tmp_path):
    settings = "[pytest]\ngridlane = true\ngridlane_device = interp\n"
    (tmp_path / "pytest.ini").write_text(settings)
    (tmp_path / "test_double.py").write_text(
        TESTS + "\n\ndef test_device():\n    assert os.environ['GRIDLANE_DEVICE'] == 'interp'\n"
    )
    done = python("-m", "pytest", "-n", "1")
    assert "4 passed" in str(summary(done)), done.stdout
    assert "numba.cuda on the device interp" in done.stdout


def test_by_name_where_no_plugin_is_loaded_by_itself(python, suite):
    words = "-m", "pytest", "-p", "gridlane", "--gridlane-device=cpu"
    done = python(*words, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "3 passed" in str(summary(done)), done.stdout


def test_under_gridlane_run(gridlane, suite):
    done = gridlane("run", "-m", "pytest", "-Werror")
    assert "3 passed" in str(summary(done)), done.stdout


def test_devices_that_are_not_there_are_refused(python, suite):
    done = python("-m", "pytest", "--gridlane-device", "cuda", CUDA_VISIBLE_DEVICES="-1")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--gridlane: device cuda is not available: " in done.stderr
    done = python("-m", "pytest", "--gridlane-device", "cudo")
    assert done.returncode == 2 and "did you mean 'cuda'?" in done.stderr
