"""Links of PTX, and fatbins with parts to link."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.abi.calling import device_array, good, host_array, name
from tests.abi.conftest import forget
from tests.abi.fatbins import MACHINE, NVCC, built, image, needs_nvcc, region
from tests.abi.kernels import HEAD
from tests.abi.test_images import at, wrapper

import gridlane
from gridlane.cuda import driver as cu

K = cu.CUjitInputType
J = cu.CUjit_option
PTX, FATBIN = K.CU_JIT_INPUT_PTX, K.CU_JIT_INPUT_FATBINARY
OK, BAD = "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"

KERNEL = (
    HEAD
    + """
.extern .func (.param .u32 out) other(.param .u32 in);
.visible .entry answer(.param .u64 x) {
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    .param .u32 given; .param .u32 back;
    ld.param.u64 %rd1, [x];
    ld.global.u32 %r1, [%rd1];
    st.param.u32 [given], %r1;
    call (back), other, (given);
    ld.param.u32 %r2, [back];
    st.global.u32 [%rd1], %r2;
    ret;
}
"""
).encode()
OTHER = (
    HEAD
    + """
.visible .func (.param .u32 out) other(.param .u32 in) {
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [in];
    mad.lo.u32 %r2, %r1, 3, 1;
    st.param.u32 [out], %r2;
    ret;
}
"""
).encode()
MAIN = """
extern __device__ unsigned other(unsigned);
extern __device__ unsigned offset;
extern "C" __global__ void answer(unsigned *x) { *x = other(*x) + offset; }
"""
MORE = """
__device__ unsigned offset = 400;
__device__ unsigned other(unsigned x) { return 3 * x; }
"""


def answered(module, start):
    """What the kernel makes of a number."""
    function = good(cu.cuModuleGetFunction(module, b"answer"))
    x = device_array(np.full(1, start, np.uint32))
    good(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, ((x,), (ctypes.c_void_p,)), 0))
    return int(host_array(x, np.zeros(1, np.uint32))[0])


def add(state, kind, data, called=b"unit"):
    return cu.cuLinkAddData(state, kind, data, len(data), called, 0, [], [])


def test_units_of_ptx(primary):
    state = good(cu.cuLinkCreate(0, [], []))
    for unit in (KERNEL, OTHER):
        good(add(state, PTX, unit))
    made, size = good(cu.cuLinkComplete(state))
    assert size > len(OTHER)
    module = good(cu.cuModuleLoadData(made))
    assert name(add(state, PTX, OTHER)) == BAD  # it is complete
    assert good(cu.cuLinkComplete(state)) == (made, size)
    good(cu.cuLinkDestroy(state))
    assert answered(module, 14) == 43
    assert name(cu.cuLinkComplete(state)) == "CUDA_ERROR_INVALID_HANDLE"


def test_units_in_files(primary, tmp_path):
    state = good(cu.cuLinkCreate(0, [], []))
    for n, unit in enumerate((KERNEL, region(image(OTHER)))):
        path = tmp_path / f"unit{n}"
        path.write_bytes(unit)
        kind = FATBIN if n else PTX
        good(cu.cuLinkAddFile(state, kind, str(path).encode(), 0, [], []))
    assert answered(good(cu.cuModuleLoadData(good(cu.cuLinkComplete(state))[0])), 2) == 7
    missing = cu.cuLinkAddFile(state, PTX, b"/no/such/file", 0, [], [])
    assert name(missing) == "CUDA_ERROR_FILE_NOT_FOUND"


@needs_nvcc
def test_units_of_nvcc(primary):
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    options = "-rdc=true", "-arch=sm_80"
    units = [built(source, *options) for source in (MAIN, MORE)]
    state = good(cu.cuLinkCreate(0, [], []))
    for unit in units:
        good(add(state, FATBIN, unit))
    assert answered(good(cu.cuModuleLoadData(good(cu.cuLinkComplete(state))[0])), 7) == 421
    # As a program has them that nvcc has linked: machine code, and the parts it is of.
    linked = region(image(b"\x7fELF", kind=MACHINE))
    parts = np.array([*map(at, units), 0], np.uint64)
    held = wrapper(2, at(linked), parts.ctypes.data)
    assert answered(good(cu.cuModuleLoadData(held)), 7) == 421


def test_parts_that_no_device_needs(primary):
    # nvcc adds its library for kernels that launch kernels, with PTX for a newer GPU alone.
    newer = region(image(HEAD.replace("80", "121", 2).encode(), 121))
    empty, parts = region(), [region(image(KERNEL)), region(image(OTHER)), newer]
    places = np.array([*map(at, parts), 0], np.uint64)
    held = wrapper(2, at(empty), places.ctypes.data)
    assert answered(good(cu.cuModuleLoadData(held)), 14) == 43


def test_what_does_not_go_together_is_in_the_log(primary):
    log = bytearray(600)
    options = [J.CU_JIT_ERROR_LOG_BUFFER, J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    state = good(cu.cuLinkCreate(2, options, [log, 600]))
    for n, unit in enumerate((OTHER, OTHER)):
        good(add(state, PTX, unit, b"unit%d.ptx" % n))
    assert name(cu.cuLinkComplete(state)) == "CUDA_ERROR_INVALID_PTX"
    assert b"other" in log and b"unit1.ptx" in log
    good(cu.cuLinkDestroy(state))
    state = good(cu.cuLinkCreate(2, options, [log, 600]))
    bad = add(state, PTX, HEAD.encode() + b".nonsense\n", b"bad.ptx")
    assert name(bad) == "CUDA_ERROR_INVALID_PTX" and b"bad.ptx" in log and b".nonsense" in log


@pytest.mark.parametrize(
    "kind, data, error",
    [
        (K.CU_JIT_INPUT_CUBIN, b"\x7fELF", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        (K.CU_JIT_INPUT_OBJECT, b"\x7fELF", "CUDA_ERROR_INVALID_IMAGE"),
        (K.CU_JIT_INPUT_LIBRARY, b"!<arch>", "CUDA_ERROR_INVALID_IMAGE"),
        (K.CU_JIT_INPUT_LIBRARY, b"!<arch>\n" + b"x" * 60, "CUDA_ERROR_INVALID_IMAGE"),
        (
            K.CU_JIT_INPUT_LIBRARY,
            b"!<arch>\n" + b"a.o/".ljust(48) + b"9999999999`\n",
            "CUDA_ERROR_INVALID_IMAGE",
        ),
        (K.CU_JIT_INPUT_NVVM, b"BC", "CUDA_ERROR_NOT_SUPPORTED"),
        (6, b"x", BAD),
        (PTX, b"", BAD),
        (PTX, b"\xff\xfe", "CUDA_ERROR_INVALID_IMAGE"),
        (FATBIN, region(image(b"\x7fELF", 90, MACHINE)), "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        (FATBIN, region(image(OTHER))[:-8], "CUDA_ERROR_INVALID_IMAGE"),
    ],
)
def test_units_that_are_refused(cpu, kind, data, error):
    good(cu.cuInit(0))
    good(cu.cuCtxCreate(None, 0, 0))
    state = good(cu.cuLinkCreate(0, [], []))
    assert name(add(state, kind, data)) == error
    assert name(cu.cuLinkComplete(state)) == BAD  # no units


FAR = """
extern __device__ unsigned deeper(unsigned);
__device__ unsigned offset = 400;
__device__ unsigned other(unsigned x) { return deeper(x); }
"""
DEEPER = "__device__ unsigned deeper(unsigned x) { return 3 * x; }"
UNRELATED = "__device__ unsigned unrelated(unsigned x) { return x; }"


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Objects of nvcc, and an archive of those that the first needs, with another."""
    if NVCC is None:
        pytest.skip("nvcc is not installed")
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    folder = tmp_path_factory.mktemp("objects")
    sources = {"main": MAIN, "far": FAR, "a_name_of_more_than_16": DEEPER, "unrelated": UNRELATED}
    for each, source in sources.items():
        (folder / f"{each}.cu").write_text(source)
    words = [NVCC, "-w", "-rdc=true", "-arch=sm_80", "--threads=2"]
    subprocess.run([*words, "-c", "main.cu"], cwd=folder, check=True, timeout=200)
    files = [f"{each}.cu" for each in sources if each != "main"]
    subprocess.run([*words, "-lib", *files, "-o", "lib.a"], cwd=folder, check=True, timeout=200)
    return folder


def linked(*units):
    state = good(cu.cuLinkCreate(0, [], []))
    for kind, path in units:
        good(cu.cuLinkAddFile(state, kind, str(path).encode(), 0, [], []))
    made, _ = good(cu.cuLinkComplete(state))
    return ctypes.string_at(int(made))


@needs_nvcc
def test_objects_and_archives_of_nvcc(objects, primary):
    """Of an archive the link takes what is needed, also by what it takes."""
    main, archive = objects / "main.o", objects / "lib.a"
    text = linked((K.CU_JIT_INPUT_LIBRARY, archive), (K.CU_JIT_INPUT_OBJECT, main))
    assert answered(good(cu.cuModuleLoadData(text)), 7) == 421
    assert b"deeper" in text and b"unrelated" not in text
    data, state = main.read_bytes(), good(cu.cuLinkCreate(0, [], []))
    good(add(state, K.CU_JIT_INPUT_OBJECT, data, b"main.o"))
    good(add(state, K.CU_JIT_INPUT_LIBRARY, archive.read_bytes(), b"lib.a"))
    good(cu.cuLinkComplete(state))
    for end in (100, len(data) // 2):
        assert name(add(good(cu.cuLinkCreate(0, [], [])), K.CU_JIT_INPUT_OBJECT, data[:end])) == (
            "CUDA_ERROR_INVALID_IMAGE"
        )


GROUP = """
extern "C" __global__ void answer(unsigned *x)
{
    __shared__ unsigned seen[32];
    seen[threadIdx.x] = x[0] + threadIdx.x;
    if (cudaCGSynchronize(cudaCGGetIntrinsicHandle(cudaCGScopeGrid), 0)) return;
    if (!threadIdx.x) x[0] = seen[31];
}
"""


@needs_nvcc
@pytest.mark.parametrize("place", ["interp", "cpu"])
def test_cuda_s_own_library_for_the_device(place, tmp_path):
    """numba-cuda adds it for cooperative groups, whose functions gridlane has itself."""
    archive = Path("/usr/local/cuda/lib64/libcudadevrt.a")
    if not archive.is_file():
        pytest.skip(f"{archive} is not installed")
    unit = tmp_path / "unit.fatbin"
    unit.write_bytes(built(GROUP, "-rdc=true", "-arch=sm_80"))
    forget()
    with gridlane.device(place):
        good(cu.cuInit(0))
        context = good(cu.cuCtxCreate(None, 0, 0))
        text = linked((FATBIN, unit), (K.CU_JIT_INPUT_LIBRARY, archive))
        assert len(text) < 10000  # nothing of it is needed
        function = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(text)), b"answer"))
        x = device_array(np.full(1, 5, np.uint32))
        arguments = ((x,), (ctypes.c_void_p,))
        good(cu.cuLaunchCooperativeKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, arguments))
        assert host_array(x, np.zeros(1, np.uint32))[0] == 36
        good(cu.cuCtxDestroy(context))
        forget()
