"""Functions of ``njit`` on the host: numba compiles them where it is installed, by its rules."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gridlane.cuda.numba_compat import installed
from gridlane.cuda.numba_compat.host import njit

PROGRAM = """
import types, warnings
import numba as before  # its own modules, which are put aside
import gridlane.cuda
gridlane.cuda.install_as_numba()
import numpy as np
import numba
from numba import cuda, float32, njit, prange

assert before.__name__ == "numba" and numba.__name__.startswith("gridlane")
module = types.ModuleType("module")

@njit
def difference(a):
    return a[0] - a[1]
module.difference = difference

@njit(cache=True)
def total(a):
    s = 0
    for i in prange(a.size):
        s += a[i]
    for i in numba.prange(2):
        s += i
    return s

@njit("int64(int64[:])")
def checked(a):
    if a[0] < 0:
        raise ValueError("negative")
    return a[0]

@njit(numba.float64(numba.float64))
def scaled(x):
    return float32(x) * 2.0

@njit
def by_module(a):
    return module.difference(a)

@cuda.jit
def kernel(a, out):
    out[0] = difference(a)

a = np.array([3, 5], np.uint32)  # numba widens: unsigned 64 bits, where numpy's scalars wrap
assert difference(a) == 2**64 - 2 and by_module(a) == difference(a)
out = np.zeros(1, np.uint64)
kernel[1, 1](a, out)
assert out[0] == difference(a)
assert total(np.arange(10)) == 46 and scaled(3) == 6.0
assert prange is range is not total.dispatcher.py_func.__globals__["prange"]
assert total.dispatcher.stats.cache_path is None
try:
    checked(np.array([-1]))
except ValueError as error:
    assert str(error) == "negative"
else:
    raise SystemExit("no error")

@njit
def opened(name):
    return open(name, "rb").close()

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    opened("/dev/null"), opened("/dev/null")
assert [str(each.message) for each in seen if "opened runs in Python" in str(each.message)], seen
assert len(seen) == 1
from numba.core import types as after
assert after.__name__ == "gridlane.cuda.types"
print("done")
"""


def test_the_host_computes_as_numba_does(tmp_path):
    pytest.importorskip("numba", reason="numba is not installed")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_without_numba_the_host_runs_python(monkeypatch):
    monkeypatch.setattr(installed, "numba", lambda: None)
    a = np.array([3.0, 5.0])

    @njit
    def difference(a):
        return a[0] - a[1], {"a": a}

    assert difference(a) == (-2.0, {"a": a})
