"""``cuda.compile`` of device functions: their calling conventions and results."""

from __future__ import annotations

import math
import re
import subprocess

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.compiler.cuda import find_ptxas
from gridlane.core.errors import TargetError, TypingError
from gridlane.cuda import types
from gridlane.cuda.types import (
    CPointer,
    boolean,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from gridlane.frontends.cuda_cpp.clang import find_clang
from gridlane.launch import current
from gridlane.launch.devices import get_device


@pytest.fixture(autouse=True)
def of_host():
    current.choose(get_device("cpu"))


def head(text: str) -> tuple[str, list[str]]:
    """A function's result and parameters in PTX, without their names."""
    found = re.search(r"\.visible \.func\s*(\(([^)]*)\))?\s*\w+\(([^)]*)\)", text)
    assert found is not None, text
    plain = [re.sub(r"\s*\w+?_(param_\d+|\w*retval0)", "", each) for each in found[3].split(",")]
    result = re.sub(r"\s*func_retval0", "", found[2] or "")
    return result, [re.sub(r"^\s*\.param\s*", "", each).strip() for each in plain if each.strip()]


def assembled(text: str) -> None:
    """Have NVIDIA's assembler check a text, where it is here."""
    if find_ptxas() is None:
        return
    command = [find_ptxas(), "-arch=sm_80", "-c", "-o", "/dev/null", "/dev/stdin"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert not done.returncode, done.stderr


def add(x, y):
    return x + y


def same(x):
    return x


def pair(x, y):
    return x, y


def nothing(x):
    pass


B32, B64 = ".b32", ".b64"
# As numba-cuda 0.30.4 declares them; but for results of type none, which have no result in C.
HEADS = [
    (add, (float32, float32), float32, ".param .b32", [B32, B32]),
    (add, (int64, int32), int64, ".param .b64", [B64, B32]),
    (add, (int8, int8), int64, ".param .b64", [B32, B32]),
    (same, (boolean,), boolean, ".param .b32", [B32]),
    (same, (float16,), float16, ".param .b32", [B32]),
    (same, (complex64,), complex64, ".param .align 4 .b8[8]", [B32, B32]),
    (pair, (float32, boolean), None, ".param .align 4 .b8[8]", [B32, B32]),
    (pair, (int8, float64), None, ".param .align 8 .b8[16]", [B32, B64]),
    (nothing, (float32[:],), types.none, "", [B64] * 7),
    (nothing, (float32[:, ::1],), types.none, "", [B64] * 9),
    (nothing, (CPointer(float32),), types.none, "", [B64]),
    (nothing, (types.Tuple((int8, types.UniTuple(int64, 2))),), types.none, "", [B32, B64, B64]),
]


@pytest.mark.parametrize(("function", "kinds", "result", "returned", "taken"), HEADS)
def test_heads(function, kinds, result, returned, taken):
    text, found = cuda.compile(function, kinds)
    assert head(text) == (returned, taken)
    assert result in (None, found)
    assembled(text)
    text, again = cuda.compile(function, kinds, abi="numba")
    assert head(text) == (".param .b32", [B64, *taken]) and again == found
    assembled(text)


def test_names():
    assert " add(" in cuda.compile(add, (int32, int32))[0]
    named = cuda.compile(lambda x: x, (int32,), abi_info={"abi_name": "_Z4funci"})[0]
    assert " _Z4funci(" in named
    both = [cuda.compile_ptx(same, (kind,), device=True)[0] for kind in (int32, float32)]
    assert "same__int32" in both[0] and "same__float32" in both[1]


def test_declared_results():
    for wanted in (int16, float64, complex64):
        assert cuda.compile(add, wanted(int32, int32))[1] == wanted
    assert cuda.compile(add, "uint32(uint32, uint32)")[1] == types.uint32
    assert head(cuda.compile(add, "void(int32, int32)")[0]) == ("", [B32, B32])


def test_refusals():
    with pytest.raises(NotImplementedError, match=r"ltoir.*NVIDIA's own format"):
        cuda.compile(add, (int32, int32), output="ltoir")
    with pytest.raises(NotImplementedError, match="Unsupported output type: cubin"):
        cuda.compile_all(add, (int32, int32), output="cubin")
    with pytest.raises(NotImplementedError, match="The C ABI is not supported for kernels"):
        cuda.compile(add, (int32, int32), device=False, abi="c")
    with pytest.raises(NotImplementedError, match="Unsupported ABI: fastcall"):
        cuda.compile(add, (int32, int32), abi="fastcall")
    with pytest.raises(TypeError, match="takes a Python function, not <built-in function print>"):
        cuda.compile(print, ())
    with pytest.raises(ValueError, match="Can only designate forced inlining in LTO-IR"):
        cuda.compile(add, (int32, int32), forceinline=True)
    with pytest.raises(TypeError, match="must have void return type"):
        cuda.compile_ptx(add, (int32, int32))
    with pytest.raises(TypingError, match="cannot return a value of type array"):
        cuda.compile(same, (float32[:],))
    with pytest.raises(TargetError, match="print in the kernel"):
        cuda.compile(lambda x: print(x), (int32,), abi_info={"abi_name": "f"})


def test_options():
    def root(x, y, z, d):
        return math.sqrt((x * y + z) / d)

    plain = cuda.compile(root, (float32,) * 4)[0]
    fast = cuda.compile(root, (float32,) * 4, fastmath=True)[0]
    for text, words in (
        (plain, ("fma.rn.f32", "div.rn.f32", "sqrt.rn.f32")),
        (
            fast,
            ("fma.rn.ftz.f32", "div.approx.ftz.f32", "sqrt.approx.ftz.f32"),
        ),
    ):
        assert all(word in text for word in words)
        assembled(text)
    lines = cuda.compile(root, (float32,) * 4, lineinfo=True)[0]
    assert re.search(r'\.file.*test_compiled_functions.py"', lines)
    debug = cuda.compile(root, (float32,) * 4, debug=True)[0]
    assert re.search(r"\.section\s+\.debug_info", debug)
    for text in lines, debug:
        assembled(text)
    assert ".target sm_90a" in cuda.compile_ptx(lambda: None, (), cc=(9, 0, "a"))[0]
    assert ".target sm_80" in cuda.compile_for_current_device(add, (int32, int32))[0]


def test_exceptions():
    """numba's convention tells the caller of them; C's has none, so they end the launch."""

    def guarded(x, n):
        assert n < 4
        return x[n]

    kinds = float32[::1], int32
    assert "trap;" in cuda.compile(guarded, kinds, debug=True)[0]
    assert "gridlane" not in cuda.compile(guarded, kinds, debug=True)[0]
    assert "trap;" not in cuda.compile(guarded, kinds, debug=True, abi="numba")[0]


def test_inspection():
    @cuda.jit(device=True)
    def scaled(x, y):
        return x * y + x

    made = scaled.compile_device((float32, float32))
    name = made.fndesc.mangled_name
    assert "scaled" in name and made.return_type == float32
    assert name in scaled.inspect_asm((float32, float32)) and "fma.rn.f32" in made.inspect_asm()
    assert name in scaled.inspect_llvm((float32, float32))
    assert list(scaled.inspect_asm()) == [(float32, float32)]
    with pytest.raises(RuntimeError, match="Cannot inspect SASS of a device function"):
        scaled.inspect_sass((float32, float32))
    with pytest.raises(RuntimeError, match="Cannot compile a device function as a kernel"):
        scaled[1, 1]
    declared = cuda.jit("float64(int32)", device=True)(same)
    (text,) = declared.inspect_asm().values()
    assert "cvt.rn.f64.s32" in text


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_ptx_on_every_device(device):
    current.choose(get_device(device))

    @cuda.jit(device=True)
    def half(x):
        return x / 2

    @cuda.jit("void(float32[::1])")
    def kernel(x):
        x[0] = half(x[0])

    (text,) = kernel.inspect_ptx().values()
    assert ".visible .entry kernel(" in text
    assert ".visible .func" in half.inspect_asm((float32,))
    assert half.inspect_ptx((float32,)) == half.inspect_asm((float32,))


# ---- what is compiled is called: by kernels in Python, and by C++


def test_back_through_the_frontend_of_ptx():
    def mixed(x, z, flag, n):
        return (z * x, x - n) if flag else (z, x)

    kinds = float32, complex64, boolean, uint8
    results = {}
    for abi in ("c", "numba"):
        text, kind = cuda.compile(mixed, kinds, abi=abi)
        name = re.search(r"\.visible \.func\s*(?:\([^)]*\))?\s*(\w+)\(", text)
        assert name is not None
        signature = types.Signature(kind, kinds)
        call = cuda.declare_device(name[1], signature, cuda.PTXSource(text), abi=abi)
        results[abi] = _filled(call)
    x = np.arange(8, dtype=np.float32) / 3
    z = x + 2j
    n = np.arange(8)
    odd = n % 2 == 1
    wanted = np.stack(
        [
            np.where(odd, (z * x).real, z.real),
            np.where(odd, (z * x).imag, z.imag),
            np.where(odd, x - (n + 250) % 256, x),
        ],
        axis=1,
    )
    assert np.allclose(results["c"], wanted, rtol=1e-6)
    assert np.array_equal(results["c"], results["numba"])


def _filled(call) -> np.ndarray:
    @cuda.jit
    def kernel(r, x):
        i = cuda.grid(1)
        z, y = call(x[i], x[i] + 2j, i % 2 == 1, (i + 250) % 256)
        r[i, 0] = z.real
        r[i, 1] = z.imag
        r[i, 2] = y

    made = np.zeros((8, 3))
    kernel[1, 8](made, np.arange(8, dtype=np.float32) / 3)
    return made


@pytest.mark.skipif(find_clang() is None, reason="needs clang, as of ziglang")
def test_called_by_cpp():
    def weighted(x, n, w):
        total = float32(0)
        for k in range(n):
            total += x[k] * w
        return total

    text, kind = cuda.compile(weighted, (CPointer(float32), int32, float16))
    assert kind == float32
    source = """
        extern "C" __device__ float weighted(const float *, int, unsigned short);
        extern "C" __global__ void run(float *r, const float *x) {
            r[threadIdx.x] = weighted(x, threadIdx.x + 1, 0x4000);  // 2.0
        }
    """
    x, made = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    cuda.RawModule(code=[source, text]).get_function("run")((1,), (8,), (made, x))
    assert np.array_equal(made, 2 * x.cumsum())
