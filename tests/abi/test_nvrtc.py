"""Programs that are compiled at run time, in the style of cuda-python; its NVRTC is the oracle."""

import ctypes
import shutil

import numpy as np
import pytest
from tests.abi.calling import cu, device_array, good, host_array, in_python, name, nvrtc

from gridlane.abi.library.elf import Elf
from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp import choose


def compiler():
    try:
        return choose()
    except CompileError:
        return None


pytestmark = pytest.mark.skipif(compiler() is None, reason="no compiler of CUDA C++ is installed")

SAXPY = """\
extern "C" __global__
void saxpy(float a, float *x, float *y, float *out, size_t n)
{
 size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
 if (tid < n) {
   out[tid] = a * x[tid] + y[tid];
 }
}
"""
NAMES = b"""
template <typename T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
namespace inner { __global__ void plain(int *x) { *x = 1; } }
__constant__ int settled;
"""
OLD = b"--gpu-architecture=compute_80"


def made(source=SAXPY.encode(), called=b"program.cu", headers=(), names=(), library=nvrtc):
    return good(
        library.nvrtcCreateProgram(source, called, len(headers), list(headers), list(names))
    )


def text(program, what, library=nvrtc):
    size = good(getattr(library, f"nvrtcGet{what}Size")(program))
    data = b" " * max(size, 2)  # of one byte there is one object in the process
    good(getattr(library, f"nvrtcGet{what}")(program, data))
    return data[:size]


def log(program):
    return text(program, "ProgramLog").rstrip(b"\0").decode()


def test_an_empty_log_changes_no_other_text(primary):
    """``b" " * 1`` is the process's own ``b" "``, which a final zero must not go into."""
    program = made()
    assert good(nvrtc.nvrtcGetProgramLogSize(program)) == 1
    good(nvrtc.nvrtcGetProgramLog(program, b" " * 1))
    assert bytes([32]) == "a b".encode()[1:2] == b" " and " ".encode()[0] == 32


def test_saxpy_as_in_the_documentation(primary):
    program = good(nvrtc.nvrtcCreateProgram(str.encode(SAXPY), b"saxpy.cu", 0, [], []))
    major, minor = good(cu.cuDeviceComputeCapability(0))
    arch = bytes(f"--gpu-architecture=compute_{major}{minor}", "ascii")
    assert nvrtc.nvrtcCompileProgram(program, 2, [b"--fmad=false", arch]) == (0,), log(program)
    ptx = np.char.array(text(program, "PTX"))
    module = good(cu.cuModuleLoadData(ptx.ctypes.data))
    kernel = good(cu.cuModuleGetFunction(module, b"saxpy"))
    n, threads, blocks = 4096, 512, 8
    a = np.array([2.0], dtype=np.float32)
    x, y = np.random.default_rng(1).random((2, n), np.float32)
    out = np.zeros(n, np.float32)
    buffers = [np.array([int(device_array(each))], np.uint64) for each in (x, y, out)]
    stream = good(cu.cuStreamCreate(0))
    values = [a, *buffers, np.array(n, dtype=np.uint32).astype(np.uint64)]
    args = np.array([each.ctypes.data for each in values], dtype=np.uint64)
    good(cu.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, args.ctypes.data, 0))
    good(cu.cuMemcpyDtoHAsync(out.ctypes.data, int(buffers[2][0]), out.nbytes, stream))
    good(cu.cuStreamSynchronize(stream))
    assert (out == a * x + y).all()
    good(nvrtc.nvrtcDestroyProgram(program))
    assert name(nvrtc.nvrtcGetPTXSize(program)) == "NVRTC_ERROR_INVALID_PROGRAM"


def test_names_of_templates(primary):
    program = made(NAMES)
    expressions = b"scale<float>", b"&inner::plain", b"&settled"
    for each in expressions:
        good(nvrtc.nvrtcAddNameExpression(program, each))
    early = nvrtc.nvrtcGetLoweredName(program, expressions[0])
    assert name(early) == "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION"
    good(nvrtc.nvrtcCompileProgram(program, 1, [OLD]))
    found = [good(nvrtc.nvrtcGetLoweredName(program, each)) for each in expressions]
    assert found == [b"_Z5scaleIfEvPT_S0_", b"_ZN5inner5plainEPi", b"settled"]
    wrong = nvrtc.nvrtcGetLoweredName(program, b"other")
    assert name(wrong) == "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID"
    late = nvrtc.nvrtcAddNameExpression(program, b"scale<int>")
    assert name(late) == "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION"
    module = good(cu.cuModuleLoadData(text(program, "PTX")))
    scale = good(cu.cuModuleGetFunction(module, found[0]))
    values = np.arange(32, dtype=np.float32)
    x = device_array(values)
    types = ctypes.c_void_p, ctypes.c_float
    good(cu.cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, 0, ((x, 2.5), types), 0))
    assert (host_array(x, values) == values * np.float32(2.5)).all()


def test_a_static_variable_that_the_host_alone_writes(primary):
    source = b"""
    static __constant__ int factor;
    extern "C" __global__ void k(int *x) { x[threadIdx.x] *= factor; }
    """
    program = made(source)
    good(nvrtc.nvrtcCompileProgram(program, 1, [OLD]))
    module = good(cu.cuModuleLoadData(text(program, "PTX")))
    address, size = good(cu.cuModuleGetGlobal(module, b"factor"))
    assert size == 4
    good(cu.cuMemcpyHtoD(address, np.array([3], np.int32).ctypes.data, 4))
    values = np.arange(8, dtype=np.int32)
    x = device_array(values)
    kernel = good(cu.cuModuleGetFunction(module, b"k"))
    good(cu.cuLaunchKernel(kernel, 1, 1, 1, 8, 1, 1, 0, 0, ((x,), (ctypes.c_void_p,)), 0))
    assert (host_array(x, values) == 3 * values).all()


def test_headers_of_a_program():
    source = b"""
    #include "deep/first.h"
    #include <second.h>
    #include "../third.h"
    __global__ void k(int *x) { *x = FIRST + SECOND + THIRD; }
    """
    headers = b"#define FIRST 400\n", b"#define SECOND 20\n", b"#define THIRD 1\n"
    names = b"deep/first.h", b"second.h", b"../third.h"
    program = made(source, headers=headers, names=names)
    assert nvrtc.nvrtcCompileProgram(program, 0, []) == (0,), log(program)
    assert b"421" in text(program, "PTX")
    good(nvrtc.nvrtcDestroyProgram(program))
    for wrong in (b"/etc/gridlane.h", b"../" * 12 + b"x.h"):
        result = nvrtc.nvrtcCreateProgram(b"", b"", 1, [b""], [wrong])
        assert name(result) == "NVRTC_ERROR_INVALID_INPUT"


def test_messages_of_the_compiler():
    program = made(b"__global__ void k(int *x) { *x = nowhere; }\n", b"here.cu")
    assert name(nvrtc.nvrtcCompileProgram(program, 0, [])) == "NVRTC_ERROR_COMPILATION"
    assert "nowhere" in log(program) and "here.cu" in log(program)
    assert text(program, "PTX") == b"\0"
    wrong = made(NAMES)
    good(nvrtc.nvrtcAddNameExpression(wrong, b"missing<int>"))
    assert name(nvrtc.nvrtcCompileProgram(wrong, 0, [])) == "NVRTC_ERROR_COMPILATION"
    assert "missing" in log(wrong)


# What the two say of the same program. None is for PTX, which is not the same text.
OPTIONS = [
    [],
    [b"--gpu-architecture=compute_80"],
    [b"-arch=compute_90"],
    [b"-arch", b"compute_75"],
    [b"--gpu-architecture=compute_1"],
    [b"--gpu-architecture=nonsense"],
    [b"--nonsense"],
    [b"-O3"],
    [b"plain"],
    [b""],
    [b"--std=c++17"],
    [b"-std=c++20"],
    [b"--std=c++99"],
    [b"--fmad=false"],
    [b"--fmad=maybe"],
    [b"--use_fast_math"],
    [b"--ftz=true", b"--prec-div=false", b"--prec-sqrt=false"],
    [b"--maxrregcount=32"],
    [b"--maxrregcount=many"],
    [b"-DFOO=1", b"-I/tmp", b"-UFOO"],
    [b"-D", b"FOO=1"],
    [b"--define-macro=FOO"],
    [b"-G"],
    [b"-lineinfo"],
    [b"-rdc=true"],
    [b"--relocatable-device-code=false"],
    [b"-w"],
    [b"--restrict"],
    [b"--dopt=on"],
    [b"--extra-device-vectorization"],
]


@in_python
@pytest.mark.parametrize("options", OPTIONS, ids=lambda each: b" ".join(each).decode() or "none")
def test_options_are_those_of_nvrtc(options):
    bindings = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    try:
        bindings.nvrtcVersion()
    except RuntimeError:
        pytest.skip("NVRTC is not installed")
    ours, theirs = made(), made(library=bindings)
    results = (
        nvrtc.nvrtcCompileProgram(ours, len(options), options),
        bindings.nvrtcCompileProgram(theirs, len(options), options),
    )
    assert name(results[0]) == name(results[1]), log(ours)
    sizes = nvrtc.nvrtcGetPTXSize(ours), bindings.nvrtcGetPTXSize(theirs)
    assert (good(sizes[0]) == 1) == (good(sizes[1]) == 1)
    assert nvrtc.nvrtcGetCUBINSize(ours) == bindings.nvrtcGetCUBINSize(theirs)
    if results[0][0]:
        assert log(ours)


@pytest.mark.parametrize("option", [b"-dlto", b"--optix-ir", b"-default-device", b"--time=x"])
def test_options_that_are_refused(option):
    program = made()
    assert name(nvrtc.nvrtcCompileProgram(program, 1, [option])) == "NVRTC_ERROR_INVALID_OPTION"
    assert "gridlane" in log(program) or "__device__" in log(program)


def test_before_a_program_is_compiled():
    program = made()
    for what, size in ("PTX", 1), ("ProgramLog", 1), ("CUBIN", 0), ("LTOIR", 0), ("OptiXIR", 0):
        assert good(getattr(nvrtc, f"nvrtcGet{what}Size")(program)) == size
    assert name(nvrtc.nvrtcGetPCHCreateStatus(program)) == "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED"
    assert good(nvrtc.nvrtcGetPCHHeapSize()) == 256 << 20


def runs_saxpy(image):
    """Load an image and launch its kernel."""
    module = good(cu.cuModuleLoadData(image))
    kernel = good(cu.cuModuleGetFunction(module, b"saxpy"))
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    out = device_array(np.zeros(8, np.float32))
    values = 2.0, int(device_array(x)), int(device_array(y)), int(out), 8
    types = ctypes.c_float, *[ctypes.c_void_p] * 3, ctypes.c_size_t
    good(cu.cuLaunchKernel(kernel, 1, 1, 1, 8, 1, 1, 0, 0, (values, types), 0))
    return (host_array(out, np.zeros(8, np.float32)) == 2 * x + 1).all()


@pytest.mark.parametrize("assembler", ["ptxas", None])
def test_code_for_one_gpu(primary, monkeypatch, tmp_path, assembler):
    """Every device runs it: the file has the PTX as well, which NVIDIA's tools pass over."""
    if assembler and shutil.which(assembler) is None:
        pytest.skip("ptxas is not installed")
    from gridlane.compiler import cuda

    if assembler is None:
        monkeypatch.setattr(cuda, "find_ptxas", lambda: None)
    program = made()
    good(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_80"]))
    assert b".entry saxpy" in text(program, "PTX")
    cubin = text(program, "CUBIN")
    kept = tmp_path / "a.cubin"
    kept.write_bytes(cubin)
    sections = [each.name for each in Elf(kept).sections]
    assert (".text.saxpy" in sections) == (assembler is not None)
    assert sections[-1] == ".gridlane.ptx"
    assert runs_saxpy(cubin)
    other = made(SAXPY.replace("a * x[tid]", "a * x[tid] * rsqrtf(1 + 0 * x[tid])").encode())
    good(nvrtc.nvrtcCompileProgram(other, 1, [b"--gpu-architecture=sm_80"]))
    assert runs_saxpy(text(other, "CUBIN"))
    stripped = cubin.replace(b".gridlane.ptx", b".somebody.ptx")
    assert name(cu.cuModuleLoadData(stripped)) == "CUDA_ERROR_NO_BINARY_FOR_GPU"


def test_every_architecture_that_is_named_compiles():
    archs = good(nvrtc.nvrtcGetSupportedArchs())
    assert archs == sorted(archs) and len(archs) == good(nvrtc.nvrtcGetNumSupportedArchs())
    for arch in archs:
        program = made()
        options = [f"-arch=compute_{arch}".encode()]
        assert nvrtc.nvrtcCompileProgram(program, 1, options) == (0,), log(program)
        assert f".target sm_{arch}".encode() in text(program, "PTX")


def test_a_function_of_the_program_cancels():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    seen = []

    @kind
    def flow(data, _):
        seen.append(data)
        return len(seen) > 2

    program = made()
    good(nvrtc.nvrtcSetFlowCallback(program, ctypes.cast(flow, ctypes.c_void_p).value, 77))
    good(nvrtc.nvrtcCompileProgram(program, 0, []))
    assert seen == [77, 77]
    assert name(nvrtc.nvrtcCompileProgram(program, 0, [])) == "NVRTC_ERROR_CANCELLED"
    assert text(program, "PTX") == b"\0"


def test_versions_and_names_of_errors():
    assert good(nvrtc.nvrtcVersion()) == (13, 0)
    text = nvrtc.nvrtcGetErrorString
    assert good(text(nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION)) == b"NVRTC_ERROR_COMPILATION"
    assert good(text(0)) == b"NVRTC_SUCCESS"
    assert good(text(99)) == b"NVRTC_ERROR unknown"


def test_what_no_program_is():
    wrong = nvrtc.nvrtcProgram()
    for result in (
        nvrtc.nvrtcCompileProgram(wrong, 0, []),
        nvrtc.nvrtcGetPTXSize(wrong),
        nvrtc.nvrtcAddNameExpression(wrong, b"x"),
        nvrtc.nvrtcGetLoweredName(wrong, b"x"),
        nvrtc.nvrtcDestroyProgram(wrong),
    ):
        assert name(result) == "NVRTC_ERROR_INVALID_PROGRAM"


@in_python
def test_what_no_source_is():
    for values in ((b"", b"", -1, [], []), (None, b"", 0, [], []), (b"", b"", 1, [], [])):
        assert name(nvrtc.nvrtcCreateProgram(*values)) == "NVRTC_ERROR_INVALID_INPUT"


def test_bundled_headers_need_no_folder(tmp_path):
    info, told = good(nvrtc.nvrtcGetBundledHeadersInfo())
    assert not info.available and told is None
    kept = tmp_path / "kept"
    kept.write_text("mine")
    result = nvrtc.nvrtcRemoveBundledHeaders(str(tmp_path).encode())
    assert name(result) == "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" and kept.read_text() == "mine"
    result = nvrtc.nvrtcInstallBundledHeaders(str(tmp_path).encode(), 0)
    assert name(result) == "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"
