"""`gridlane run` of programs that import cuda.bindings, with it installed and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridlane.abi.library.build import LIBRARIES, build

ROOT = Path(__file__).parents[2]

# In the style of the documentation of cuda-bindings: https://nvidia.github.io/cuda-python
SAXPY = '''
import sys
import numpy as np
{imports}

def checked(result):
    if result[0].value:
        raise RuntimeError(f"CUDA error code={{result[0].value}}({{result[0]}})")
    return None if len(result) == 1 else result[1] if len(result) == 2 else result[1:]

saxpy = """\\
extern "C" __global__
void saxpy(float a, float *x, float *y, float *out, size_t n)
{{
 size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
 if (tid < n) {{
   out[tid] = a * x[tid] + y[tid];
 }}
}}
"""
checked(driver.cuInit(0))
cuDevice = checked(driver.cuDeviceGet(0))
major = checked(driver.cuDeviceGetAttribute(
    driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, cuDevice))
minor = checked(driver.cuDeviceGetAttribute(
    driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, cuDevice))
prog = checked(nvrtc.nvrtcCreateProgram(str.encode(saxpy), b"saxpy.cu", 0, None, None))
arch_arg = bytes(f"--gpu-architecture=compute_{{major}}{{minor}}", "ascii")
checked(nvrtc.nvrtcCompileProgram(prog, 2, [b"--fmad=false", arch_arg]))
ptx_size = checked(nvrtc.nvrtcGetPTXSize(prog))
ptx = b" " * ptx_size
checked(nvrtc.nvrtcGetPTX(prog, ptx))
context = checked(driver.cuDevicePrimaryCtxRetain(cuDevice))
checked(driver.cuCtxSetCurrent(context))
ptx = np.char.array(ptx)
module = checked(driver.cuModuleLoadData(ptx.ctypes.data))
kernel = checked(driver.cuModuleGetFunction(module, b"saxpy"))

NUM_THREADS, NUM_BLOCKS = 512, 4
a, n = np.array([2.0], np.float32), np.array(NUM_THREADS * NUM_BLOCKS, np.uint32)
buffer_size = int(n) * a.itemsize
h_x = np.random.rand(int(n)).astype(np.float32)
h_y = np.random.rand(int(n)).astype(np.float32)
h_out = np.zeros(int(n), np.float32)
d_x, d_y, d_out = (checked(driver.cuMemAlloc(buffer_size)) for _ in range(3))
stream = checked(runtime.cudaStreamCreate())
kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
checked(runtime.cudaMemcpyAsync(int(d_x), h_x.ctypes.data, buffer_size, kind, stream))
checked(driver.cuMemcpyHtoDAsync(d_y, h_y.ctypes.data, buffer_size, stream))
args = [a, *(np.array([int(each)], np.uint64) for each in (d_x, d_y, d_out)), n]
args = np.array([arg.ctypes.data for arg in args], np.uint64)
checked(driver.cuLaunchKernel(
    kernel, NUM_BLOCKS, 1, 1, NUM_THREADS, 1, 1, 0, stream, args.ctypes.data, 0))
checked(driver.cuMemcpyDtoHAsync(h_out.ctypes.data, d_out, buffer_size, stream))
checked(driver.cuStreamSynchronize(stream))
assert np.allclose(h_out, a * h_x + h_y)
checked(runtime.cudaStreamDestroy(stream))
for each in (d_x, d_y, d_out):
    checked(driver.cuMemFree(each))
checked(driver.cuModuleUnload(module))
checked(driver.cuDevicePrimaryCtxRelease(cuDevice))
print("right", driver.__name__, sys.argv[1:])
'''

IMPORTS = {
    "bindings": "from cuda.bindings import driver, nvrtc, runtime",
    "older": "from cuda import cuda as driver, cudart as runtime, nvrtc",
}
FORMS = """
import cuda.bindings.driver as one
import cuda.bindings
two = cuda.bindings.driver
from importlib import import_module
three = import_module("cuda.bindings.driver")
from cuda.bindings.driver import cuInit
print(one is two is three, cuInit is one.cuInit, one.__name__)
"""


@pytest.fixture(scope="module")
def without_bindings(tmp_path_factory):
    """A folder with the packages of this Python's, but NVIDIA's."""
    folder = tmp_path_factory.mktemp("packages")
    for place in (Path(each) for each in sys.path if each.endswith("site-packages")):
        for each in place.iterdir():
            if not each.name.startswith(("cuda", "nvidia", "numba", "_numba")):
                if not (folder / each.name).exists() and each.suffix != ".pth":
                    (folder / each.name).symlink_to(each)
    return folder


@pytest.fixture(params=["with", "without"])
def run(request, tmp_path):
    """Run a program by `gridlane run`, or by Python, in an environment with or without
    cuda-bindings."""
    installed = request.param == "with"
    if installed:
        pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
        python, path = [sys.executable], [ROOT / "src"]
    else:
        packages = request.getfixturevalue("without_bindings")
        python, path = [sys._base_executable, "-S"], [ROOT / "src", packages]

    def start(source, *words, command=("-m", "gridlane", "run"), **environment):
        program = tmp_path / "program.py"
        program.write_text(source)
        return subprocess.run(
            [*python, *command, program, *words],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
        )

    start.installed = installed
    return start


@pytest.mark.parametrize("imports", IMPORTS)
def test_a_documented_program(imports, run):
    done = run(SAXPY.format(imports=IMPORTS[imports]), "-x")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right gridlane.cuda.driver ['-x']\n" and done.stderr == ""


def test_forms_of_imports(run):
    done = run(FORMS)
    assert done.stdout == "True True gridlane.cuda.driver\n", done.stderr


def test_python_alone_finds_what_is_installed(run):
    source = "from cuda.bindings import driver\nprint(driver.__name__)\n"
    done = run(source, command=())
    if run.installed:
        assert done.stdout == "cuda.bindings.driver\n", done.stderr
    else:
        assert done.returncode and "No module named 'cuda'" in done.stderr


def test_what_gridlane_does_not_have(run):
    """It is as without gridlane: NVIDIA's other modules, or an error in words."""
    done = run(
        "import cuda.bindings\nprint(cuda.bindings.__version__)\nimport cuda.bindings.nvvm\n"
    )
    assert done.stdout.startswith("13.")
    if run.installed:
        assert done.returncode == 0, done.stderr
    else:
        assert "No module named 'cuda.bindings.nvvm'" in done.stderr
    done = run("from cuda.bindings import driver\ndriver.cuNonsense\n")
    assert "AttributeError: CUDA's driver interface has no 'cuNonsense'" in done.stderr


CHILDREN = """
import multiprocessing, subprocess, sys

def told(_):
    from cuda.bindings import runtime
    return runtime.__name__

if __name__ == "__main__":
    for kind in ("spawn", "fork", "forkserver"):
        with multiprocessing.get_context(kind).Pool(1) as pool:
            print(*pool.map(told, [0]))
    code = "from cuda.bindings import driver; print(driver.__name__)"
    print(subprocess.check_output([*sys.orig_argv[:1], *FLAGS, "-c", code], text=True).strip())
"""


def test_child_processes(run):
    flags = [] if run.installed else ["-S"]
    done = run(CHILDREN.replace("FLAGS", repr(flags)))
    assert done.stdout.split() == ["gridlane.cuda.runtime"] * 3 + ["gridlane.cuda.driver"], (
        done.stderr
    )


def test_a_package_of_the_program_s_own(run, tmp_path):
    """Its name is that of NVIDIA's."""
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "__init__.py").write_text("WHOSE = 'mine'\n")
    (tmp_path / "cuda" / "nvrtc.py").write_text("X = 4\n")
    done = run("import cuda, cuda.nvrtc\nprint(cuda.WHOSE, cuda.nvrtc.X)\n")
    assert done.stdout == "mine 4\n", done.stderr


CORE = """
from cuda.bindings import driver
import cuda.core
from cuda.core import Device
import cuda.bindings.driver as again
assert again is driver and driver.__name__ == "gridlane.cuda.driver"
device = Device()
device.set_current()
print("core", device.name)
"""


def test_cuda_core_keeps_nvidia_s_own(tmp_path, run):
    """It is linked with these in C, and runs on gridlane's libcuda."""
    if not run.installed:
        return
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    build(LIBRARIES[0], tmp_path / "lib")
    done = run(CORE, LD_LIBRARY_PATH=str(tmp_path / "lib"))
    assert done.returncode == 0 and done.stdout.startswith("core gridlane cpu"), done.stderr


def test_the_device_cuda_keeps_nvidia_s_own(run):
    """gridlane's driver of NVIDIA's GPUs is on cuda-bindings."""
    source = (
        "from cuda.bindings import driver\n"
        "from gridlane.runtime.drivers.cuda.api import bindings\n"
        "try:\n    print(bindings().__name__)\n"
        "except Exception as error:\n    print(error)\n"
        "from cuda.bindings import driver as again\n"
        "print(again is driver, driver.cuInit(0)[0].name)\n"
    )
    done = run(source)
    assert done.stdout.endswith("True CUDA_SUCCESS\n"), done.stderr
    missing = "libcuda, the driver's library" if run.installed else "cuda-bindings does not load"
    assert "cuda.bindings.driver" in done.stdout or missing in done.stdout
