"""Whole CUDA programs by ``gridlane cc``: no toolkit takes part.

What they print is what nvcc's print in test_nvcc_programs.py.
"""

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.abi import installed
from tests.abi.test_nvcc_programs import OF_THE_HOST
from tests.abi.test_nvcc_programs import PROGRAMS as OF_NVCC
from tests.devices import DEVICES

from gridlane.abi.fatbin import images, ptx
from gridlane.abi.toolchain.building import build
from gridlane.abi.toolchain.options import parse
from gridlane.core.errors import ArgumentError, CompileError
from gridlane.frontends.cuda_cpp import process

HERE = Path(__file__).parent / "programs"
PROGRAMS = {
    name: words
    for name, words in OF_NVCC.items()
    if name not in ("plain", "quick", "static", "no_pie")
}
"""Those of nvcc, once each."""
SINGLE = sorted(each.stem for each in (HERE / "single").glob("*.cu"))
QUICK = "variables", "units", "managed", "half_axpy"
"""Those that are not left to the night."""


def mostly_nightly(names):
    return [
        each if each in QUICK else pytest.param(each, marks=pytest.mark.nightly) for each in names
    ]


pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("g++"), reason="g++ is not installed"
)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where the libraries are."""
    pytest.importorskip("ziglang", reason="ziglang, which compiles CUDA C++, is not installed")
    return installed.prefix(tmp_path_factory)


@pytest.fixture
def cc(prefix, tmp_path, monkeypatch):
    """Call the compiler in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: build(parse([str(word) for word in words]), prefix)


def run(program, device="cpu", **settings):
    kept = {k: v for k, v in os.environ.items() if k.startswith(("GRIDLANE_CACHE", "VK_", "XDG_"))}
    return subprocess.run(
        [str(program)],
        env={"GRIDLANE_DEVICE": device, **kept, **settings},
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.parametrize("name", mostly_nightly(PROGRAMS))
def test_the_programs_of_nvcc(cc, name):
    words = [HERE / each if each.endswith(".cu") else each for each in PROGRAMS[name]]
    cc("-w", "-arch=sm_80", *words, "-o", "program")
    for device in ("cpu", "vulkan"):
        if device in DEVICES:
            found = run("./program", device)
            if name in OF_THE_HOST and device == "vulkan":
                assert found.returncode == 1 and "memory of its own" in found.stderr
                continue
            assert (found.returncode, found.stdout[-5:]) == (0, "well\n"), (device, found)
            if name == "printing":
                lines = ("thread 0 of 3: text 0.75", "thread 1 of 3: text 0.75", "well\n")
                assert found.stdout == "\n".join(lines)


def test_descriptions_of_tensors(cc):
    cc("-arch=sm_90a", HERE / "tensor_maps.cu", "-o", "program", "-lcuda")
    found = run("./program", "cpu")
    assert (found.returncode, found.stdout) == (0, "well\n"), found


def test_clusters(cc):
    cc("-arch=sm_90", HERE / "clusters.cu", "-o", "program")
    found = run("./program", "cpu")
    wanted = """some clusters: 1
launch: 0
403 400 401 402 407 404 405 406
0 1 10 11 20 21 30 31
100 101 102 103 104 105 106 107
201 200 203 202 205 204 207 206
wrong: 0
some clusters: 1
7 blocks: cudaErrorInvalidClusterSize
16 in a cluster: cudaErrorInvalidClusterSize
most: 0 8
"""
    assert (found.returncode, found.stdout.replace(" \n", "\n")) == (0, wanted), found
    if "vulkan" in DEVICES:
        found = run("./program", "vulkan")
        assert "launch: 801" in found.stdout and "7 blocks: cudaErrorNotSupported" in found.stdout


def test_kernels_that_wait_for_the_host(cc):
    cc(HERE / "waits_for_host.cu", "-o", "program")
    for _ in range(2):  # at first Python does launches that C does the second time
        found = run("./program", GRIDLANE_SPIN_LIMIT="1")
        assert (found.returncode, found.stdout) == (0, "well\n"), found


@pytest.mark.parametrize("settings", [{}, {"GRIDLANE_NATIVE": "0"}])
def test_streams_in_no_order_with_the_default_one(cc, settings):
    cc(HERE / "apart.cu", "-o", "program")
    found = run("./program", **settings)
    assert (found.returncode, found.stdout) == (0, "well\n"), found


@pytest.mark.parametrize("words", [(), ("--default-stream", "per-thread")])
@pytest.mark.parametrize("settings", [{}, {"GRIDLANE_NATIVE": "0"}])
def test_default_streams_of_threads(cc, words, settings):
    """They are in order with the legacy stream alone."""
    cc(HERE / "apart_threads.cu", *words, "-o", "program")
    found = run("./program", **settings)
    assert (found.returncode, found.stdout) == (0, "well\n"), found


@pytest.mark.parametrize("name", mostly_nightly(SINGLE))
def test_single_files(cc, name):
    """Programs in the style of public samples, which compare with the host."""
    cc(HERE / "single" / f"{name}.cu", "-O3", "-o", "program")
    found = run("./program")
    assert (found.returncode, found.stdout.splitlines()[-1:]) == (0, ["PASS"]), found


@pytest.mark.nightly
@pytest.mark.parametrize("name", SINGLE)
def test_nvcc_agrees(prefix, tmp_path, name):
    """The same source by nvcc, on gridlane's runtime."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    made, source = tmp_path / "program", HERE / "single" / f"{name}.cu"
    words = ["-w", "-arch=sm_80", "--extended-lambda", "-cudart", "shared"]
    command = ["nvcc", *words, str(source), "-o", str(made)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "curand_kernel.h: No such file" in told.stderr:
        pytest.skip("cuRAND's headers are not installed beside nvcc")
    assert told.returncode == 0, told.stderr
    found = run(made, LD_LIBRARY_PATH=str(prefix / "lib"))
    assert (found.returncode, found.stdout.splitlines()[-1:]) == (0, ["PASS"]), found


@pytest.mark.nightly
def test_without_a_compiler_of_the_system(cc):
    """clang and the C++ library of ziglang alone; the first link builds the library."""
    cc(HERE / "single" / "reduction.cu", "--host", "zig", "-o", "program")
    assert run("./program").stdout == "PASS\n"


def test_a_first_link_of_ziglang_takes_longer(cc, monkeypatch):
    """The limit of a compiler is for one; this link builds a C++ library."""
    seen = []

    def note(words, text="", patience=1):
        seen.append((words[1], patience))
        return 0, ""

    monkeypatch.setattr("gridlane.abi.toolchain.building.run_compiler", note)
    Path("main.o").touch()
    cc("--host", "zig", "main.o", "-o", "program")
    assert seen == [("c++", 10)]


@pytest.mark.nightly
def test_objects_of_ziglang(cc):
    cc(HERE / "single" / "reduction.cu", "--host", "zig", "-c")
    told = subprocess.run(["nm", "-C", "reduction.o"], capture_output=True, text=True).stdout
    assert "std::__1::" in told and "U cudaLaunchKernel" in told


PARTS = {
    "kernel.cu": '#include <iostream>\n#include "part.h"\n'
    "__global__ void k(int *x) { *x = VALUE; }\n"
    'extern "C" int work() { int *d, h = 0; cudaMalloc(&d, 4); k<<<1, 1>>>(d);\n'
    "  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); std::cout << h << std::endl; return h; }\n",
    "part.h": "#ifndef VALUE\n#define VALUE 42\n#endif\n",
    "main.c": "int work(void); int main(void) { return work(); }\n",
    "api.cpp": "#include <cuda_runtime.h>\n#include <vector>\n"
    'extern "C" int work() { float4 *d; dim3 grid(2); std::vector<float4> h(2);\n'
    "  if (cudaMalloc(&d, 32) || cudaMemset(d, 0, 32)) return 1;\n"
    "  cudaError_t code = cudaMemcpy(h.data(), d, 32, cudaMemcpyDeviceToHost);\n"
    "  return code ? 1 : 7 + h[1].w + grid.y - 1; }\n",
}


@pytest.fixture
def parts(cc, tmp_path):
    for name, text in PARTS.items():
        (tmp_path / name).write_text(text)
    return cc


def test_an_object_that_another_links(parts, prefix):
    parts("-c", "kernel.cu", "-o", "kernel.o", "-MD")
    rule = Path("kernel.d").read_text()
    assert rule.startswith("kernel.o: kernel.cu") and "part.h" in rule
    command = ["g++", "kernel.o", "-x", "c", "main.c", "-o", "program", f"-L{prefix / 'lib'}"]
    subprocess.run([*command, "-lcudart_gridlane", "-ldl", "-lpthread"], check=True, timeout=300)
    found = run("./program")
    assert (found.returncode, found.stdout) == (42, "42\n")
    Path("kernel.o").unlink()
    parts("-cuda", "kernel.cu")
    subprocess.run(["g++", "-c", "kernel.cu.cpp.ii", "-o", "kernel.o"], check=True, timeout=300)
    subprocess.run([*command, "-lcudart_gridlane", "-ldl", "-lpthread"], check=True, timeout=300)
    found = run("./program")
    assert (found.returncode, found.stdout) == (42, "42\n")


def test_files_of_several_languages(parts):
    parts("api.cpp", "main.c", "-o", "program")
    assert run("./program").returncode == 7
    parts("-shared", "-Xcompiler", "-fPIC", "kernel.cu", "-DVALUE=9", "-o", "libkernel.so")
    parts("main.c", "-L.", "-lkernel", "-Xlinker", "-rpath=.", "-o", "shared")
    assert run("./shared").returncode == 9


def test_relocatable_code_in_a_static_library(parts, tmp_path):
    (tmp_path / "other.cu").write_text("__device__ int twice(int n) { return 2 * n; }\n")
    (tmp_path / "main.cu").write_text(
        "extern __device__ int twice(int);\nstatic __device__ int kept = 4;\n"
        "static __global__ void k(int *x) { *x = twice(21) + kept; }\n"
        "int main() { int *d, h = 0, k2 = 5; cudaMalloc(&d, 4); cudaMemcpyToSymbol(kept, &k2, 4);\n"
        "  k<<<1, 1>>>(d); cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); return h; }\n"
    )
    parts("-dc", "other.cu")
    parts("-rdc=true", "-c", "main.cu")
    subprocess.run(["ar", "rcs", "libother.a", "other.o"], check=True, timeout=300)
    parts("-rdc=true", "main.o", "libother.a", "-o", "program")
    assert run("./program").returncode == 47
    parts("-rdc=true", "main.o", "-L.", "-lother", "-o", "named")
    assert run("./named").returncode == 47


def test_managed_variables_of_a_header(parts, tmp_path):
    (tmp_path / "kept.h").write_text("struct P { int a[3]; };\n__managed__ P kept = {{1, 2, 3}};\n")
    (tmp_path / "main.cu").write_text(
        '#include "kept.h"\n#ifdef __HIPCC__\n#error\n#endif\n'
        "template <class T> __global__ void k(T by) { kept.a[threadIdx.x] *= by; }\n"
        "int main() { int *one = &kept.a[1]; kept.a[2] += 4; k<<<1, 3>>>(2);\n"
        "  if (cudaDeviceSynchronize()) return 1; return 10 * *one + kept.a[2]; }\n"
    )
    parts("main.cu", "-o", "program")
    assert run("./program").returncode == 54


def test_what_else_is_made(parts, capsys):
    parts("-ptx", "kernel.cu", "-DVALUE=17", "-arch=compute_86")
    text = Path("kernel.ptx").read_text()
    assert ".target sm_86" in text and "17" in text
    archs = ["-gencode=arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90]"]
    parts("-fatbin", "kernel.cu", *archs)
    found = images(Path("kernel.fatbin").read_bytes())
    assert [str(each) for each in found] == ["compute_80", "compute_90"]
    assert ".target sm_90" in ptx(found[1])
    parts("-E", "main.c", "-Dwork=renamed")
    assert "int renamed(void);" in capsys.readouterr().out
    parts("-M", "kernel.cu")
    assert capsys.readouterr().out.startswith("kernel.o: kernel.cu")
    parts("-dryrun", "kernel.cu", "main.c")
    assert "-lcudart_gridlane" in capsys.readouterr().err and not Path("a.out").exists()


HABITS = """
#include <cstdio>
#include <cstring>
__global__ void k(long *times)
{
    times[0] = clock() >> 32;
    times[1] = clock64() >> 32;
    printf("%d %d ", (int)sizeof(clock()), (int)(times[1] - times[0]));
    int pages = 0;
    while (malloc(1 << 16) && pages < 1000) pages++;
    printf("%s %s\\n", pages < 1000 ? "end" : "none", malloc(1ull << 40) ? "much" : "less");
}
int main()
{
    long *d, h[2];
    cudaMalloc(&d, sizeof h);
    const char *text = "k<<<{1}, {1}>>>";
    k<<<{1}, { 1, 1 }, 0>>>(d);
    if (strlen(text) != 15) return 1;
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    return twice(h[1] - h[0]) - TWICE;
}
"""


def test_habits_of_programs(parts, tmp_path):
    """clock() has 64 bits; the heap ends; shapes stand in braces; a header of -include may use
    CUDA's words; -odir has what is made."""
    (tmp_path / "habits.cu").write_text(HABITS)
    (tmp_path / "twice.h").write_text("__host__ __device__ long twice(long n) { return 2 * n; }\n")
    (tmp_path / "made").mkdir()
    given = [
        "-include",
        "twice.h",
        "-I.",
        "-DTWICE=0",
        "-ccbin",
        str(Path(shutil.which("g++")).parent),
    ]
    parts(*given, "-MMD", "-odir", "made", "-c", "habits.cu")
    assert Path("made/habits.d").read_text().startswith("made/habits.o: ")
    parts("made/habits.o", "-o", "program")
    found = run("./program")
    assert (found.returncode, found.stdout) == (0, "8 0 end less\n")


def test_errors_are_the_compiler_s(parts, tmp_path):
    wrong = tmp_path / "wrong.cu"
    wrong.write_text("int main() { return 0; }\n__global__ void k(int *x) { *x = absent; }\n")
    with pytest.raises(CompileError, match=r"wrong\.cu:2:34: error: .*'absent'"):
        parts("wrong.cu")
    wrong.write_text("__global__ void k() {}\n__global__ void up() { k<<<1, 1>>>(); }\n")
    with pytest.raises(CompileError, match=r"dynamic parallelism.*want -rdc=true"):
        parts("-c", "wrong.cu")  # as nvcc says
    wrong.write_text(
        "__global__ __cluster_dims__(2, 1, 1) void k() {}\nint main() { k<<<2, 1>>>(); }"
    )
    with pytest.raises(CompileError, match="__cluster_dims__ is for -arch=sm_90 and later"):
        parts("-c", "-arch=sm_80", "wrong.cu")
    wrong.write_text("#ifndef __CUDA_ARCH__\n\n int f() { return nowhere; }\n#endif\n")
    with pytest.raises(CompileError, match=r"wrong\.cu:3:19: error: .*'nowhere'"):
        parts("-c", "wrong.cu")
    wrong.write_text("__managed__ int x;\nint main() { return x; }\n")
    with pytest.raises(CompileError, match=r"wrong\.cu:2:21: error: .*__managed__ variables are"):
        parts("-rdc=true", "wrong.cu")
    with pytest.raises(CompileError, match="nothere"):
        parts("main.c", "-lnothere")
    with pytest.raises(CompileError, match=r"and no cuBLAS.*: nccl is of one"):
        parts("main.c", "-lnccl")
    with pytest.raises(ArgumentError, match=r"absent\.cu: No such file"):
        parts("absent.cu")
    with pytest.raises(ArgumentError, match=r"absent\.o: No such file"):
        parts("absent.o")


ABSENT = """
#include <cub/cub.cuh>
#include <cublasLt.h>
#include <cufft.h>
#include <curand.h>
#include <curand_kernel.h>
#include <cusolverSp.h>
#include <cusparse.h>
#include <thrust/complex.h>
int on_the_host();
__global__ void k(float *x) { thrust::complex<float> z(*x, 1); *x = (z * z).real(); }
int main()
{
    float *x, *y;
    cub::CachingDeviceAllocator pool;
    cudaMallocManaged(&x, 4);
    *x = 3;
    k<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    printf("%g %d", *x, pool.DeviceAllocate((void **)&y, 8) + pool.DeviceFree(y));
    unsigned low = cub::Traits<float>::TwiddleIn(0xBF800000u);
    unsigned high = cub::Traits<float>::TwiddleIn(1);
    printf(" %d %u", low < high, (unsigned)cub::Traits<short>::TwiddleIn(0x8000u));
    cufftHandle plan;
    curandGenerator_t random;
    printf(" %d %d %d\\n", on_the_host(), cufftPlan1d(&plan, 8, CUFFT_C2C, 1),
           curandCreateGenerator(&random, CURAND_RNG_PSEUDO_DEFAULT));
}
"""
OF_HOST = """
#include <cublas_v2.h>
#include <cuComplex.h>
#include <cusparse.h>
#include <omp.h>
int on_the_host()
{
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+: threads)
    threads++;
    cublasHandle_t handle;
    return 100 * threads + cublasCreate(&handle) + (int)cuCmul(cuDoubleComplex{0, 1}, {0, 1}).x;
}
"""


def test_libraries_that_are_absent(cc, tmp_path):
    """A call of the host is refused when it is reached, by its name; what kernels use of them is
    here. Files of the host are compiled with OpenMP."""
    (tmp_path / "absent.cu").write_text(ABSENT)
    (tmp_path / "host.cpp").write_text(OF_HOST)
    libraries = ["-lcublas", "-lcublasLt", "-lcufft", "-lcurand"]
    cc("-Xcompiler", "-fopenmp", "absent.cu", "host.cpp", *libraries, "-o", "program")
    found = run("./program")
    assert (found.returncode, found.stdout) == (0, "8 0 1 0 214 16 203\n"), found
    told = [line.split()[1] for line in found.stderr.splitlines()]
    assert sorted(told) == ["cublasCreate", "cufftPlan1d", "curandCreateGenerator"]


def test_a_compiler_that_hangs(parts, monkeypatch):
    limited = dataclasses.replace(process.config(), compile_timeout=0.05)
    monkeypatch.setattr(process, "config", lambda: limited)
    with pytest.raises(CompileError, match="GRIDLANE_COMPILE_TIMEOUT"):
        parts("kernel.cu")


def test_without_ziglang(parts, monkeypatch):
    from gridlane.abi.toolchain import hosts

    monkeypatch.setattr(hosts, "find_clang", lambda: None)
    with pytest.raises(CompileError, match=r"gridlane\[cpp\]"):
        parts("kernel.cu")


def test_the_command(prefix, tmp_path):
    def gridlane(*words):
        command = [sys.executable, "-m", "gridlane", "cc", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)

    told = gridlane("--help")
    assert told.returncode == 0 and "-rdc=true" in told.stdout
    told = gridlane("--version")
    assert told.returncode == 0 and "release 13.0" in told.stdout
    told = gridlane("-Wmystery", "x.cu")
    assert told.returncode == 1 and "does not know the option -Wmystery" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.nightly
def test_objects_of_nvcc(cc):
    """They link with gridlane cc, and with its objects: relocatable ones too."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    main, other = HERE / "units_main.cu", HERE / "units_other.cu"
    for source in (main, other):
        command = ["nvcc", "-w", "-arch=sm_80", "-dc", str(source), "-o", f"{source.stem}.o"]
        subprocess.run(command, check=True, timeout=300)
    cc("units_main.o", "units_other.o", "-o", "program")
    assert run("./program").stdout == "well\n"
    cc("-w", "-rdc=true", "units_main.o", other, "-o", "mixed")
    assert run("./mixed").stdout == "well\n"


def test_the_driver_and_the_compiler_at_run_time(cc):
    """Libraries of gridlane's that are shared: the program finds them by itself."""
    cc(HERE / "compiling.c", "-lcuda", "-lnvrtc", "-o", "program")
    assert run("./program").stdout == "well\n"


HALVES = """
#include <cuda_bf16.h>
#include <cstdio>
int main()
{
    for (double x; fread(&x, 8, 1, stdin) == 1;) {
        unsigned short made[] = {__bfloat16_as_ushort(__double2bfloat16(x)),
                                 __bfloat16_as_ushort(__float2bfloat16((float)x))};
        fwrite(made, 2, 2, stdout);
    }
}
"""


@pytest.mark.nightly
def test_the_host_rounds_to_brain_floats(cc, tmp_path):
    """As ml_dtypes does; numbers beside ties, which a float between would round twice."""
    (tmp_path / "halves.cu").write_text(HALVES)
    cc("halves.cu", "-o", "program")
    random = np.random.default_rng(1)
    bits = random.integers(0, 0x7F7F, 4000).astype(np.uint32) << 16
    ties = (bits | 0x8000).view(np.float32).astype(np.float64)
    beside = ties * (1 + random.choice([-1e-15, 0, 1e-15], 4000))
    numbers = np.concatenate([beside, -beside, random.standard_normal(4000), [np.inf, 0.0]])
    told = subprocess.run(["./program"], input=numbers.tobytes(), capture_output=True, check=True)
    made = np.frombuffer(told.stdout, np.uint16).reshape(-1, 2)
    floats = numbers.astype(np.float32).astype(ml_dtypes.bfloat16)
    assert (made[:, 1] == floats.view(np.uint16)).all()
    low, high = bits >> 16, (bits >> 16) + 1
    nearest = np.where(beside < ties, low, np.where(beside > ties, high, low + (low & 1)))
    assert (made[:4000, 0] == nearest).all()
    assert (made[4000:8000, 0] == nearest | 0x8000).all()
