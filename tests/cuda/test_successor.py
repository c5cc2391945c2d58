"""``numba_cuda_mlir``: its modules by the finder of numba's, and the names that it alone has."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import MissingError, TypingError
from gridlane.cuda.numba_compat.internals import INTERNALS, reaches_into_compiler
from gridlane.cuda.numba_compat.mlir import cuda as mlir_cuda
from gridlane.cuda.numba_compat.mlir import types
from gridlane.cuda.numba_compat.modules import MODULES, SUCCESSOR
from gridlane.cuda.numba_compat.testing import CUDATestCase
from gridlane.launch import current
from gridlane.launch.devices import get_device

PROGRAM = """
import sys
from gridlane.cuda import install_as_numba
install_as_numba()
import numba_cuda_mlir
from numba_cuda_mlir import cuda, types
from numba_cuda_mlir.cuda.cudadrv.devicearray import DeviceNDArray
from numba_cuda_mlir.cuda.kernels.transpose import transpose
from numba_cuda_mlir.extending import overload
from numba_cuda_mlir.numba_cuda import types as numba_types
from numba_cuda_mlir.numba_cuda.core.errors import TypingError
from numba_cuda_mlir.numba_cuda.np.numpy_support import carray
from numba_cuda_mlir.numba_cuda.testing import CUDATestCase
from numba_cuda_mlir.numba_cuda.tests.support import captured_stdout
from numba_cuda_mlir.numba_cuda.typing.templates import AttributeTemplate
from numba_cuda_mlir.testing import NumbaCUDATestCase
from numba import cuda as numbas
import gridlane.cuda, numpy as np
assert numbas is gridlane.cuda and numba_cuda_mlir.numba_cuda is gridlane.cuda
assert numba_cuda_mlir.__version__ >= "0.6" and numba_cuda_mlir.cuda is cuda
assert cuda.HAS_NUMBA is False and numbas.HAS_NUMBA is True
assert cuda.DeviceNDArray is DeviceNDArray and cuda.carray is carray is numba_cuda_mlir.carray
# i8 has 8 bits in the package's own types and in cuda.types, and 8 bytes in numba's.
assert (types.i8, cuda.types.u8, types.f32) == (types.int8, types.uint8, types.float32)
assert (cuda.i8, numba_types.i8, types.ptr_to(types.i16)) == (
    types.int64, types.int64, types.CPointer(types.int16))

@cuda.jit
def reverse(x):
    kept = cuda.shared.array(32, types.i8)
    kept[cuda.threadIdx.x] = cuda.grid(1) + 250
    cuda.syncthreads()
    x[cuda.grid(1)] = kept[31 - cuda.threadIdx.x]

out = np.zeros(32, np.int64)
reverse[1, 32](out)
assert (out == (np.arange(250, 282) & 255).astype(np.int8)[::-1]).all(), out
for statement, words in {
    "import numba_cuda_mlir._mlir.ir": "its bindings of MLIR; gridlane has a compiler of its own",
    "from numba_cuda_mlir import mlir_compiler": "cuda.compile and cuda.compile_ptx",
    "import numba_cuda_mlir.lowering.record": "cuda.extending",
    "from numba_cuda_mlir import nope": "gridlane does not have numba_cuda_mlir.nope",
    "from numba_cuda_mlir.cuda import nope": "gridlane does not have numba_cuda_mlir.cuda.nope",
}.items():
    try:
        exec(statement)
    except ImportError as error:
        assert words in str(error), error
    else:
        raise SystemExit(statement)
try:
    numba_cuda_mlir.descriptor
except AttributeError as error:
    assert "a part of NVIDIA's MLIR compiler" in str(error)
print("done")
"""


def test_its_modules_are_found():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


CHILD = """
from numba_cuda_mlir import cuda
import numpy as np
@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 7
x = np.zeros(2)
fill[1, 2](x)
print(x)
"""
PARENT = f"""
import subprocess, sys
from numba_cuda_mlir import cuda
assert cuda.gpus
done = subprocess.run([sys.executable, "-c", {CHILD!r}], capture_output=True, text=True)
print(done.stdout + done.stderr)
"""


def test_programs_and_their_child_processes_find_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PARENT)
    command = [sys.executable, "-m", "gridlane", "run", "--device", "cpu", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "[7. 7.]", done.stdout + done.stderr


def test_a_module_is_public_or_a_part_of_the_compiler():
    shared = [name for name in SUCCESSOR if reaches_into_compiler(name)]
    assert shared == ["numba_cuda_mlir.ast_transforms"]  # which has the error of consteval
    assert SUCCESSOR.keys() <= MODULES.keys() and all(INTERNALS.values())


def test_every_replacement_can_be_imported():
    for module in {*SUCCESSOR.values()}:
        __import__(module)


def test_tools_collect_the_tests_of_programs_only():
    class Mine(CUDATestCase):
        pass

    assert Mine.__test__ and not CUDATestCase.__test__


def smallest(out, x):
    out[0] = np.nanmin(x)
    out[1] = 1 if x[0] != x[0] else 0
    out[2] = x[1] - x[2]


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_fastmath_keeps_nan_and_infinity(name):
    """As libnvvm, to which the package passes the option."""
    current.choose(get_device(name))
    out = np.zeros(3, np.float32)
    kernel = mlir_cuda.jit(fastmath=True)(smallest)
    kernel[1, 1](out, np.array([np.nan, np.inf, 2], np.float32))
    assert out.tolist() == [2, 1, np.inf]


def test_what_is_not_done_is_refused_by_name():
    for module, name, words in (
        (types, "f8E4M3FN", "no floats of 8 bits .* cuda_fp8.h"),
        (types, "fp8_e5m2", "no floats of 8 bits .* cuda_fp8.h"),
        (mlir_cuda, "tensor_map", "no tensor maps"),
        (mlir_cuda, "inline_ptx", "link CUDA C.. or PTX by cuda.declare_device"),
        (mlir_cuda.experimental, "struct", "a numpy record is a structure"),
        (mlir_cuda, "compile_mlir", "a part of NVIDIA's MLIR compiler"),
        (mlir_cuda, "frobnicate", "does not have numba_cuda_mlir.cuda.frobnicate"),
    ):
        with pytest.raises(MissingError, match=words):
            getattr(module, name)


def test_its_cuda_has_all_names_of_numbas():
    """Names of modules of the compiler are among them, as that of events."""
    assert mlir_cuda.event is cuda.event
    own = {"HAS_NUMBA", "jit"}
    assert not [
        n for n in cuda.__all__ if n not in own and getattr(mlir_cuda, n) is not getattr(cuda, n)
    ]


def test_vectors_of_float16_have_cudas_names():
    assert mlir_cuda.half2 is mlir_cuda.float16x2 is mlir_cuda.vector_types.half2
    assert not hasattr(cuda, "half2")  # numba has none


def test_literal_unroll_takes_a_range():
    @mlir_cuda.jit
    def kernel(x):
        for i in mlir_cuda.misc.special.literal_unroll(range(3)):
            x[i] = i + 1

    out = np.zeros(3, np.int32)
    kernel[1, 1](out)
    assert out.tolist() == [1, 2, 3]


def twice(x):
    raise NotImplementedError


def test_decorators_take_the_registries():
    from gridlane.cuda.numba_compat.mlir import extending

    registry = extending.typing_registry

    @extending.overload(twice, typing_registry=registry, lowering_registry=None)
    def choose(x):
        return lambda x: x + x

    @extending.register_jitable(typing_registry=registry)
    def more(x):
        return twice(x) + 1

    extending.refresh_registries()

    @mlir_cuda.jit
    def kernel(out):
        out[0] = more(out[0])

    out = np.array([20])
    with gridlane.device("cpu"):
        kernel[1, 1](out)
    assert out[0] == 41
    with pytest.raises(TypeError, match="has the registries"):
        extending.overload(twice, typing_registry=3)
    with pytest.raises(MissingError, match="gridlane has a compiler of its own"):
        registry.register_global(twice)


@pytest.mark.parametrize("name", ["cpu", "interp", *[d for d in DEVICES if d == "vulkan"]])
def test_complex32(name):
    @mlir_cuda.jit
    def kernel(out):
        values = mlir_cuda.local.array(2, dtype=types.complex32)
        values[0] = types.complex32(1.5, -2.0)
        values[1] = values[0] * values[0] + values[0]
        out[0] = values[1].real
        out[1] = values.imag[1]

    out = np.zeros(2, np.float16)
    with gridlane.device(name):
        kernel[1, 1](out)
    assert out.tolist() == [-0.25, -8]
    assert types.Complex("complex32", types.float16) is types.complex32
    with pytest.raises(TypeError, match="numpy has no complex32"):
        types.complex32(1.0)
    with pytest.raises(TypeError, match="no complex type complex64 of two float16"):
        types.Complex("complex64", types.float16)


def test_types_of_constants():
    kind = types.IntegerLiteral(10)
    assert (kind.literal_value, kind.literal_type) == (10, types.int64)
    assert types.StringLiteral("a").literal_value == "a"


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_rounding_gives_integers(name):
    def kernel(out, x):
        total = 0
        for i in range(math.ceil(x[0] / 16)):
            total += i
        out[0] = total
        out[1] = x[math.floor(x[1])]
        out[2] = math.trunc(x[2]) // 2 * 10
        out[3] = math.floor(out[3])

    x, out = np.float32([100, 3.5, -5.5, 7]), np.array([0, 0, 0, 9], np.int32)
    with gridlane.device(name):
        mlir_cuda.jit(kernel)[1, 1](out, x)
    assert out.tolist() == [21, 7, -30, 9]
    with pytest.raises(TypingError, match="an integer in range"):
        cuda.jit(kernel)[1, 1](out, x)
