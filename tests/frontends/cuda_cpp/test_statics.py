"""Static variables of the device, which the host alone writes: by nvcc's names, with its values."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp import choose
from gridlane.frontends.cuda_cpp.compiled import CppSource
from gridlane.frontends.cuda_cpp.statics import marked, may_define, with_plain_names
from gridlane.launch import current
from gridlane.launch.devices import get_device


def has(compiler: str) -> bool:
    try:
        choose(compiler)
    except CompileError:
        return False
    return True


COMPILERS = [each for each in ("clang", "nvcc", "nvrtc") if has(each)]
ORACLES = [each for each in COMPILERS if each != "clang"]
VALUES = """
struct Pair { float a; int b; };
static __constant__ int number;
static __device__ int first = 7;
static __constant__ Pair pair;
static __device__ float many[4];
static __constant__ const float table[4] = {1, 2, 3, 4};
const __constant__ float other[2] = {5, 6};
static __device__ int noted;
extern "C" { static __constant__ int in_c; }
namespace inner { static __constant__ int named; namespace { __device__ int hidden = 2; } }
namespace { __constant__ int nameless[2]; }
#define HIDDEN static __device__
HIDDEN int by_macro;
extern "C" __global__ void reads(float *out, int i) {
    static __shared__ float shared[4];
    shared[threadIdx.x] = threadIdx.x + i;
    __syncthreads();
    if (threadIdx.x) return;
    out[0] = number; out[1] = first; out[2] = pair.a + pair.b; out[3] = many[i];
    out[4] = table[i]; out[5] = other[i]; out[6] = in_c; out[7] = inner::named;
    out[8] = inner::hidden; out[9] = nameless[i]; out[10] = by_macro; out[11] = shared[3 - i];
    noted = i + 40;
}
"""
NAMED = ("&inner::named", "&inner::hidden", "&nameless")
WRITTEN = {
    "number": np.array([3], np.int32),
    "first": np.array([8], np.int32),
    "pair": np.array([(1.5, 2)], [("a", np.float32), ("b", np.int32)]),
    "many": np.array([0, 9, 0, 0], np.float32),
    "in_c": np.array([11], np.int32),
    "by_macro": np.array([12], np.int32),
    "&inner::named": np.array([13], np.int32),
    "&inner::hidden": np.array([14], np.int32),
    "&nameless": np.array([0, 15], np.int32),
}
BEFORE = np.array([0, 7, 0, 0, 2, 6, 0, 0, 2, 0, 0, 3], np.float32)
AFTER = np.array([3, 8, 3.5, 9, 2, 6, 11, 13, 14, 15, 12, 3], np.float32)
_VARIABLE = re.compile(
    r"^(\.visible )?\.(const|global) [^=;]*?([\w$]+)(?:\[\d*\])?(?: =.*)?;", re.M
)


def read(module: cuda.RawModule) -> np.ndarray:
    out = np.full(12, -1, np.float32)
    module.get_function("reads")(1, 4, (out, np.int32(1)))
    return out


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_the_host_writes_static_variables(compiler, device):
    current.choose(get_device(device))
    module = cuda.RawModule(code=VALUES, backend=compiler, name_expressions=NAMED)
    assert (read(module) == BEFORE).all()
    for name, value in WRITTEN.items():
        view = module.get_global(name).view(np.uint8)
        view.copy_to_device(value.view(np.uint8))
    assert (read(module) == AFTER).all()
    assert module.get_global("noted").view(np.int32).copy_to_host() == [41]


def variables(compiler: str, code: str) -> dict[str, tuple[bool, str]]:
    """The variables of a source, that the global namespace has, with what the PTX says of each."""
    ptx = choose(compiler).compile(CppSource(code)).ptx
    rows = _VARIABLE.finditer(ptx)
    return {row[3]: (bool(row[1]), row[2]) for row in rows if not row[3].startswith("_Z")}


@pytest.mark.skipif("clang" not in COMPILERS, reason="there is no clang")
@pytest.mark.parametrize("oracle", ORACLES)
def test_names_are_those_of_nvidia_s_compilers(oracle):
    assert variables("clang", VALUES) == variables(oracle, VALUES)


@pytest.mark.skipif("clang" not in COMPILERS, reason="there is no clang")
def test_what_nobody_can_write_is_folded():
    """Tables of the program's own are no memory that the host writes."""
    code = """
    constexpr int tables[3] = {1, 2, 3};
    static __device__ int helper(int i) { return tables[1] + i; }
    extern "C" __global__ void k(int *out) { out[0] = helper(0); }
    """
    ptx = choose("clang").compile(CppSource(code)).ptx
    assert not _VARIABLE.search(ptx) and "ld.const" not in ptx


@pytest.mark.skipif("clang" not in COMPILERS, reason="there is no clang")
@pytest.mark.parametrize("option", ["-fmad=false", "--use_fast_math", "-lineinfo", "-O1"])
def test_options_reach_the_code_of_static_variables(option):
    """The code is that of the same source with variables that other units see."""
    code = """
    KIND __constant__ float factor;
    extern "C" __global__ void k(float *x, float *y) {
        x[threadIdx.x] = x[threadIdx.x] * factor + y[threadIdx.x] / x[0];
    }
    """
    made = [
        choose("clang").compile(CppSource(code, (option, f"-DKIND={kind}"))).ptx
        for kind in ("static", "")
    ]
    texts = [re.sub(r"//.*|\.visible (?=\.const)", "", each) for each in made]
    assert [each.strip() for each in texts[0].splitlines() if each.strip()] == [
        each.strip() for each in texts[1].splitlines() if each.strip()
    ]


def test_texts_that_may_define_static_variables():
    for code in (
        "static __device__ int a;",
        "namespace { __device__ int a; }",
        "const __constant__ int a = 1;",
        "#define S static\nS __attribute__((device)) int a;",
    ):
        assert may_define([code]), code
    assert not may_define(["__constant__ int a;", "__device__ int b;"])


def test_ir_with_no_such_variables_stays():
    ir = (
        "@_ZZ1kvE1a = internal addrspace(1) global i32 0\n@b = internal addrspace(3) global i32 0\n"
    )
    assert marked(ir) == ir


def test_a_plain_name_that_another_symbol_has():
    ptx = ".const .align 4 .u32 _ZL1a;\n.visible .entry a()\n{ ld.const.u32 %r1, [_ZL1a]; }\n"
    assert with_plain_names(ptx) == ptx
