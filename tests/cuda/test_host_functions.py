"""What numba's host side has: ufuncs without signatures, inspection of jitted functions."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.cuda.numba_compat.host import njit
from gridlane.cuda.types import float32, float64, int32, int64, none
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(params=[name for name in DEVICES if name in ("cpu", "vulkan")])
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)


def total(x, y):
    return x + y


def test_a_ufunc_without_signatures_compiles_for_what_it_meets(device):
    add = cuda.vectorize(total)
    x = np.arange(6, dtype=np.float32)
    assert add(x, x).dtype == np.float32 and (add(x, x) == 2 * x).all()
    assert add(x.reshape(2, 3), np.arange(3)).dtype == np.float64
    assert add(2, 3) == 5 and isinstance(add(2, 3), np.int64)
    assert add.types == ["ff->f", "fl->d", "ll->l"] and (add.nin, add.nout, add.ntypes) == (2, 1, 3)
    out = np.zeros(6)
    assert add(x, 2.5, out=out) is out and (out == x + 2.5).all()
    assert add.reduce(np.arange(6).reshape(2, 3), axis=1).tolist() == [3, 12]
    assert add.py_func is total


def test_a_ufunc_of_the_host_converts_to_its_signatures(device):
    half = cuda.vectorize(["float64(float64)"], target="cpu")(lambda x: x / 2)
    found = half(np.arange(3, dtype=np.float32))
    assert found.dtype == np.float64 and found.tolist() == [0, 0.5, 1]
    with pytest.raises(TypeError, match=r"no loop for \(complex128\).* it has d->d"):
        half(np.zeros(2, complex))
    with pytest.raises(TypeError, match="takes 1 arguments, got 2"):
        half(1, 2)
    with pytest.raises(ValueError, match="Unsupported target: fpga"):
        cuda.vectorize(["float64(float64)"], target="fpga")


def test_for_the_device_a_ufunc_has_signatures():
    with pytest.raises(UnsupportedError, match="vectorize without signatures"):
        cuda.vectorize(target="cuda")


def test_a_ufunc_returns_one_scalar():
    pair = cuda.vectorize(lambda x: (x, x))
    with pytest.raises(UnsupportedError, match="returns i64, i64; one scalar is required"):
        pair(1)
    with pytest.raises(TypeError, match=r"takes 1 arguments, and .* has 2"):
        pair.add("float64(float64, float64)")


def test_a_jitted_function_shows_what_kernels_call():
    add = njit(total)
    assert add.signatures == [] and add.overloads == {}
    assert add(1, 2.0) == 3.0 and add(1, y=2) == 3
    assert add("a", "b") == "ab"  # a kernel has no text: the host alone
    add(np.float32(1), np.float32(2))
    assert (int64, float64) in add.signatures and (float32, float32) in add.signatures
    results = {found.args: found.return_type for found in add.nopython_signatures}
    assert results[int64, float64] is float64 and results[float32, float32] is float32
    shown = io.StringIO()
    add.inspect_types(shown)
    assert "total float32(float32, float32)" in shown.getvalue()
    assert "fadd" in add.inspect_llvm((float32, float32))
    assert set(add.inspect_asm()) == set(results)
    assert add.py_func is total and add.targetoptions == {}


def test_signatures_that_are_given_are_there_at_once():
    @njit(["int32(int32)", "float64(float64)"], fastmath=True)
    def same(x):
        return x

    assert same.signatures == [(int32,), (float64,)] and same.targetoptions == {"fastmath": True}

    @njit
    def nothing(x):
        pass

    assert nothing.compile("(int32,)").signature.return_type is none
    with pytest.raises(TypingError, match="has no attribute foo"):
        njit(lambda x: x.foo()).compile("(int32,)")


STAR = """
from gridlane.cuda import install_as_numba
install_as_numba()
import numpy as np
from numba import *
import numba
assert np.__name__ == "numpy" and "cuda" not in globals() and "config" not in globals()
assert float32 is numba.float32 and TypingError is numba.core.errors.TypingError
from numba.cuda import *
assert np.__name__ == "numpy"
jit, grid, atomic, to_device, shared
print("done")
"""


def test_everything_that_is_imported_by_a_star():
    done = subprocess.run([sys.executable, "-c", STAR], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_dir_has_what_kernels_use():
    names = {"grid", "threadIdx", "atomic", "shared", "local", "syncthreads", "popc", "jit"}
    assert names <= set(dir(cuda)) and names <= set(cuda.__all__)
    assert all(hasattr(cuda, name) for name in cuda.__all__)
