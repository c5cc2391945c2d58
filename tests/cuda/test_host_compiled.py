"""Functions of ``njit``, ``vectorize`` and ``guvectorize`` on the host, and containers: they are
numba's where it is installed, by its rules."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gridlane.cuda.host.warnings import NumbaWarning
from gridlane.cuda.numba_compat import installed, toplevel
from gridlane.cuda.numba_compat.host import njit
from gridlane.cuda.numba_compat.host_ufuncs import guvectorize, vectorize
from gridlane.cuda.ufuncs.gufunc import GUFunc
from gridlane.cuda.ufuncs.host_ufunc import HostUFunc

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


UFUNCS = """
import gridlane.cuda
gridlane.cuda.install_as_numba()
import numpy as np
import numba
from numba import cuda, float64, guvectorize, int64, njit, types, vectorize
from numba.core.errors import TypingError

@njit
def twice(x):
    return 2 * x

@vectorize
def shifted(a, b):
    return twice(a) + b
assert shifted(np.arange(3), 1.5).tolist() == [1.5, 3.5, 5.5] and shifted.types == ["ld->d"]
assert isinstance(shifted, type(numba.vectorize(lambda x: x))) and shifted.nin == 2

@vectorize([int64(int64), "float64(float64)"], cache=True)
def negated(x):
    return -x
assert negated.types == ["l->l", "d->d"] and negated(np.float32(3)) == -3.0

@vectorize([float64(float64, float64)], target="parallel", nopython=True)
def product(a, b):
    return a * b
assert isinstance(product, np.ufunc) and product(np.arange(3.0), 2).tolist() == [0, 2, 4]

@guvectorize(["void(float64[:,:], float64[:])"], "(m,n)->(n)", cache=True)
def sums(rows, out):
    out[:] = rows.sum(axis=0)  # an axis, which kernels do not have
assert sums(np.arange(12.0).reshape(2, 2, 3)).tolist() == [[3, 5, 7], [15, 17, 19]]

@guvectorize("(n),()->(n)")
def difference(a, b, out):
    for n in range(a.size):
        out[n] = a[n] - b
out = np.zeros(3)
difference(np.arange(3.0), 1.0, out)
assert out.tolist() == [-1, 0, 1]

@vectorize(["float32(float32)"], target="cuda")
def on_device(x):
    return x + 1
assert type(on_device).__module__.startswith("gridlane")
assert on_device(cuda.to_device(np.ones(2, np.float32))).copy_to_host().tolist() == [2, 2]

try:
    vectorize([float64(float64)])(lambda x: x.nothing)
except TypingError as error:
    assert "nothing" in str(error), error
else:
    raise SystemExit("no error")

from numba.typed import Dict, List
import numba.typed.typedlist
assert numba.typed.List is List is numba.typed.typedlist.List

@njit
def squares(n):
    made = List()
    for x in range(n):
        made.append(x * x)
    return made
@njit
def total(items):
    sum = 0
    for item in items:
        sum += item
    return sum
assert list(squares(4)) == [0, 1, 4, 9] and type(squares(4)) is List and total(squares(4)) == 14
words = Dict.empty(types.unicode_type, float64[:])
words["a"] = np.ones(2)
assert words["a"].tolist() == [1, 1]
assert List.empty_list(types.UniTuple(int64, 2))._list_type.dtype.count == 2
print("done")
"""


@pytest.mark.parametrize("text", [PROGRAM, UFUNCS], ids=["functions", "ufuncs"])
def test_the_host_computes_as_numba_does(tmp_path, text):
    pytest.importorskip("numba", reason="numba is not installed")
    script = tmp_path / "program.py"
    script.write_text(text)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_without_numba_the_host_runs_python(monkeypatch):
    monkeypatch.setattr(installed, "numba", lambda: None)
    a = np.array([3.0, 5.0])

    @njit
    def difference(a):
        return a[0] - a[1], {"a": a}

    assert difference(a) == (-2.0, {"a": a})


def test_without_numba_ufuncs_are_gridlane_s(monkeypatch):
    monkeypatch.setattr(installed, "numba", lambda: None)
    double = vectorize(lambda x: 2 * x)
    assert isinstance(double, HostUFunc) and double(np.arange(3.0)).tolist() == [0, 2, 4]
    copied = guvectorize(["(int64[:], int64[:])"], "(n)->(n)")(_copy)
    assert isinstance(copied, GUFunc) and copied(np.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(ModuleNotFoundError, match=r"numba\.typed .*pip install numba"):
        installed.typed()
    assert not hasattr(toplevel, "typed")


def test_a_numba_that_does_not_load_is_told(monkeypatch):
    def fails():
        raise installed.NotCompiledError("numba does not load: numpy is too new")

    monkeypatch.setattr(installed, "numba", fails)
    with pytest.warns(NumbaWarning, match="compiled by gridlane: numba does not load: numpy"):
        assert isinstance(vectorize(lambda x: x), HostUFunc)
    with pytest.raises(ImportError, match="numpy is too new"):
        installed.typed()


def _copy(a, out):
    for n in range(a.size):
        out[n] = a[n]


def test_types_of_locals():
    pytest.importorskip("numba", reason="numba, which compiles for the host, is not installed")

    @njit(
        toplevel.uint16[:](toplevel.uint16),
        locals={"table": toplevel.uint16[:], "last": toplevel.uint8},
    )
    def padded(size):
        table = np.empty(size + 1, dtype=np.uint16)
        for i in range(size):
            table[i] = i
        last = size
        table[size] = last
        return table

    assert padded(300).tolist() == [*range(300), 300 % 256]
    assert padded(300).dtype == np.uint16
