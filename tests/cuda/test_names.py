"""The namespaces: what there is, what there is not, and what it says then."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gridlane import cuda
from gridlane.core.errors import MissingError, UnsupportedError
from gridlane.cuda.names import MODULES, SUBMODULES
from gridlane.cuda.numba_compat import driver


@pytest.mark.parametrize("name", [*MODULES, *SUBMODULES])
def test_every_listed_name_is_there(name):
    assert getattr(cuda, name) is not None


def test_kernel_names_come_from_the_frontend():
    from gridlane.frontends.python import stubs

    assert cuda.grid is stubs.grid and cuda.atomic.add is stubs.atomic.add


def test_missing_names_say_so():
    with pytest.raises(MissingError, match=r"does not have cuda.nvvm: cuda.jit compiles with LLVM"):
        cuda.nvvm
    with pytest.raises(MissingError, match=r"does not have cuda.frobnicate"):
        cuda.frobnicate
    assert not hasattr(cuda, "frobnicate")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cuda.compile(print, (), output="ltoir"), "output='ptx'"),
        (lambda: cuda.jit(link=[cuda.Object(b"")])(lambda: None), "cuda.PTXSource"),
    ],
)
def test_refusals_say_what_to_do(call, words):
    with pytest.raises(UnsupportedError, match=words):
        call()


def test_streams_of_all_kinds_are_of_numbas_class():
    mine = cuda.stream()
    for stream in (mine, cuda.external_stream(mine.handle), cuda.default_stream()):
        assert isinstance(stream, driver.Stream), stream


def test_unknown_options_are_errors():
    with pytest.raises(TypeError, match="no option 'fastmth'"):
        cuda.jit(fastmth=True)
    with pytest.raises(ValueError, match="Got 4 launch bounds"):
        cuda.jit(launch_bounds=(1, 2, 3, 4))
    with pytest.raises(ValueError, match="between -1 and 100"):
        cuda.jit(shared_memory_carveout=101)


PROGRAM = """
from gridlane.cuda import install_as_numba
install_as_numba(); install_as_numba()
import sys
import numba, numba.cuda
from numba import boolean, cuda, f4, float32, int32, jit, njit, types, void
from numba import guvectorize, vectorize
from numba.core import errors, types as core_types
from numba.core.errors import NumbaPerformanceWarning, TypingError
from numba.cuda import random
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numba.cuda.random import create_xoroshiro128p_states
from numba.cuda.testing import CUDATestCase, skip_on_cudasim, unittest
from numba.cuda.cudadrv import devicearray
from numba.cuda.misc.special import literal_unroll
from numba.cuda.tests.support import IS_NUMPY_2, MemoryLeakMixin, override_config
from numba.cuda.typing import signature
from numba.misc.special import literal_unroll as other
from numba.np.numpy_support import from_dtype
from numba import carray, extending
from numba.core import cgutils, extending as core_extending
from numba.core.imputils import Registry
from numba.core.typing.templates import AttributeTemplate
from numba.cuda.cudadecl import registry
from numba.cuda.cudaimpl import lower
from numba.cuda.typing import templates
from numba.extending import overload
import gridlane
assert cuda is numba.cuda is gridlane.cuda is sys.modules["gridlane.cuda"]
assert types.float32 is float32 is f4 and core_types is types
@njit
def double(x):
    return 2 * x
assert "llvmlite" not in sys.modules
assert double(4) == 8
assert extending is core_extending is cuda.extending and extending.overload is overload
assert extending.lower_builtin is lower and cgutils is cuda.cgutils
assert cuda.HAS_NUMBA and literal_unroll is other is numba.literal_unroll
assert signature(void, int32, float32[:]) == void(int32, float32[:])
assert devicearray.DeviceNDArray is DeviceNDArray and devicearray.to_device is not None
try:
    devicearray.verify_cuda_ndarray_interface(1)
except TypeError as error:
    assert "int is no device array" in str(error)
for name in ("objmode", "pycc"):
    try:
        getattr(numba, name)
    except AttributeError as error:
        assert f"gridlane does not have numba.{name}" in str(error)
for statement in ("from numba import objmode", "import numba.pycc", "import numba.cuda.nvrtc"):
    try:
        exec(statement)
    except ImportError as error:
        assert "gridlane does not have numba." in str(error), error
    else:
        raise SystemExit(statement)
print("done")
"""


def test_install_as_numba():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


CHILD = """
from numba import cuda
import numpy as np
@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 7
x = np.zeros(2)
fill[1, 2](x)
print(cuda.__name__, x)
"""

PARENT = f"""
import subprocess, sys
from gridlane.cuda import install_as_numba
install_as_numba(children=True)
done = subprocess.run([sys.executable, "-c", {CHILD!r}], capture_output=True, text=True)
print(done.stdout + done.stderr)
"""


def test_child_processes_find_gridlane_and_its_kernels_their_source():
    """A program given with -c has no file; its text is taken from the command line."""
    done = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True)
    assert done.stdout.strip() == "gridlane.cuda [7. 7.]", done.stdout + done.stderr


def test_import_loads_no_compiler_and_no_driver():
    text = (
        "import sys, gridlane.cuda as c; c.jit; c.to_device\n"
        "print([m for m in sys.modules if m.startswith('llvmlite') or 'drivers.' in m"
        " or m.startswith('gridlane.compiler') or m.startswith('gridlane.codegen')])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr
