"""The trace of calls: against what a program in C prints of them, and for words of every kind."""

import ctypes
import os
import re
import subprocess
import sys

import pytest
from tests.abi.test_library import compiled, library  # noqa: F401  # the fixture

from gridlane.abi import tracing
from gridlane.core import trace
from gridlane.core.cuda_table.functions import functions


@pytest.fixture(scope="module")
def traced(library, tmp_path_factory):  # noqa: F811
    """The lines of the trace, and what the program printed."""
    folder = tmp_path_factory.mktemp("traced")
    made = compiled("traced", library, folder, str(library / "libcudart.so.13"))
    found = subprocess.run(
        [str(made)],
        env={"LD_LIBRARY_PATH": str(library), "GRIDLANE_TRACE": "1", "HOME": "/none"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found
    told = dict(line.split(" ", 1) for line in found.stdout.splitlines())
    return found.stderr.splitlines(), told


LINES = [
    'cuDeviceGetName(name=P -> "{device}", len=64, dev=0) = 0 CUDA_SUCCESS',
    "cudaMalloc(devPtr={place} -> {made}, size=4096) = 0 cudaSuccess",
    "cudaMemcpy(dst=P, src={made}, count=4, kind=cudaMemcpyDeviceToHost) = 0 cudaSuccess",
    "cudaDeviceGetAttribute(value=P -> 32, attr=cudaDevAttrWarpSize, device=0) = 0 cudaSuccess",
    "cudaPointerGetAttributes(attributes=P -> {{type=cudaMemoryTypeDevice, device=0, "
    "devicePointer={made}, hostPointer=P}}, ptr={made}) = 0 cudaSuccess",
    "cudaMallocPitch(devPtr=P -> P, pitch=P -> {pitch}, width=100, height=2) = 0 cudaSuccess",
    'cuGetProcAddress_v2(symbol="cuInit", pfn=P -> {entry}, cudaVersion=12000, flags=0, '
    "symbolStatus=P -> CU_GET_PROC_ADDRESS_SUCCESS) = 0 CUDA_SUCCESS",
    "cudaRuntimeGetVersion(runtimeVersion=P -> 13000) = 0 cudaSuccess",
    'cudaGetErrorString(error=cudaErrorInvalidValue) = "{error}"',
    "cudaCreateChannelDesc(x=8, y=16, z=0, w=0, f=cudaChannelFormatKindUnsigned) = "
    "{{x=8, y=16, z=0, w=0, f=cudaChannelFormatKindUnsigned}}",
    "cuMemPrefetchAsync_v2(devPtr={made}, count=64, "
    "location={{type=CU_MEM_LOCATION_TYPE_DEVICE, id=0}}, flags=0, hStream=NULL) = ",
    "cuCtxSetCurrent(ctx=0x99) = 201 CUDA_ERROR_INVALID_CONTEXT",
    "cudaMalloc(devPtr=NULL, size=1) = 1 cudaErrorInvalidValue",
    "cudaStreamSynchronize(stream=0x2) = 0 cudaSuccess",
    r'cuDeviceGetByPCIBusId(dev=P, pciBusId="a \"quoted\"\n name") = ',
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.partition("(")[0])
def test_a_line_says_what_the_program_saw(line, traced):
    """P is any pointer."""
    lines, told = traced
    text = line.format(**told)
    pattern = re.escape(text).replace("=P", "=(0x[0-9a-f]+|NULL)").replace(r"\ P", " 0x[0-9a-f]+")
    assert any(re.match(pattern, each) for each in lines), "\n".join(lines)


def test_each_line_has_its_time_and_failures_their_reason(traced):
    lines, _ = traced
    calls = [each for each in lines if not each.startswith(("gridlane: ", " "))]
    assert len(calls) == 17, calls
    for each in calls:
        assert re.fullmatch(r"\w+\(.*\) = .+ <\d+ ns>", each), each
    assert "gridlane: cudaMalloc: 1: devPtr is a null pointer" in lines


def test_a_program_without_a_trace_prints_nothing(library, tmp_path):  # noqa: F811
    made = compiled("traced", library, tmp_path, str(library / "libcudart.so.13"))
    settings_ = {"LD_LIBRARY_PATH": str(library), "GRIDLANE_TRACE": "0", "HOME": "/none"}
    found = subprocess.run([str(made)], env=settings_, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0 and found.stderr == ""


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full"])
def test_a_trace_that_cannot_be_printed(stream, library, tmp_path):  # noqa: F811
    """The calls' answers are those without a trace."""
    made = compiled("traced", library, tmp_path)
    settings_ = {"LD_LIBRARY_PATH": str(library), "HOME": "/none"}
    told = [
        subprocess.run(
            ["/bin/sh", "-c", f"exec {made} {stream}"],
            env=settings_ | {"GRIDLANE_TRACE": shown},
            capture_output=True,
            text=True,
            timeout=300,
        )
        for shown in ("0", "1")
    ]
    plain, traced = (re.sub("0x[0-9a-f]+", "P", each.stdout) for each in told)
    assert plain == traced and "error a value" in plain
    assert [each.returncode for each in told] == [0, 0]


def test_each_runtime_has_its_version(library):  # noqa: F811
    for major, version in ((12, 12090), (13, 13000)):
        found = ctypes.c_int()
        runtime = ctypes.CDLL(str(library / f"libcudart.so.{major}"))
        assert runtime.cudaRuntimeGetVersion(ctypes.byref(found)) == 0
        assert found.value == version


ROWS = [row for api in ("driver", "runtime", "nvrtc") for row in functions(api).values()]
WORDS = [0, 1, 8, 1 << 12, 1 << 47, (1 << 63) - 1, (1 << 64) - 1]


@pytest.mark.parametrize("word", WORDS, ids=hex)
def test_words_of_any_kind_have_a_line(word, monkeypatch):
    """Pointers to nothing among them, for each function of the table."""
    lines = []
    monkeypatch.setattr(trace, "write", lines.append)
    for row in ROWS:
        words = (word,) * (len(row.parameters) + bool(row.result))
        for code in (0, 1, 999):
            tracing.tell(row.name, row, words, tracing.arguments(row, words), code, 5)
    assert len(lines) == 3 * len(ROWS)
    for each in lines:
        assert re.fullmatch(r"\w+\(.*\) = .+ <5 ns>", each), each


def test_in_python():
    code = (
        "from gridlane.cuda import driver, runtime\n"
        "driver.cuInit(0)\n"
        "driver.cuDeviceGetAttribute(attrib=driver.CUdevice_attribute"
        ".CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev=0)\n"
        "error, made = runtime.cudaMalloc(64)\n"
        "runtime.cudaFree(made)\n"
        "runtime.cudaSetDevice(77)\n"
        "print(hex(made))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"GRIDLANE_TRACE": "1", "GRIDLANE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = [re.sub(r"<\d+ ns>", "<T ns>", each) for each in found.stderr.splitlines()]
    made = int(found.stdout, 16)
    assert "cuInit(Flags=0) = 0 CUDA_SUCCESS <T ns>" in lines, found
    assert f"cudaMalloc(size=64) = 0 cudaSuccess -> {made} <T ns>" in lines, lines
    assert f"cudaFree(devPtr={made}) = 0 cudaSuccess <T ns>" in lines, lines
    assert any(each.startswith("cudaSetDevice(device=77) = 101 cudaError") for each in lines)
    warp = next(each for each in lines if each.startswith("cuDeviceGetAttribute("))
    assert "CU_DEVICE_ATTRIBUTE_WARP_SIZE" in warp and "-> 32 <" in warp
