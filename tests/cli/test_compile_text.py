"""``gridlane compile`` of PTX, CUDA C++ and IR, its ``--list``, and stages that are fed back in."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridlane.cli.compiling import Request, compile_file
from gridlane.cli.inputs import CppOptions

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
PTX = (
    HEAD
    + """
.global .align 4 .u32 never[4];
.func (.param .b32 d) twice(.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [a]; add.u32 %r2, %r1, %r1; st.param.b32 [d], %r2;
    ret;
}
.visible .entry store(.param .u64 store_param_0, .param .align 4 .b8 s[12])
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[64];
    ld.param.u64 %rd1, [store_param_0];
    ld.param.u32 %r1, [s+4];
    {
        .param .b32 to; .param .b32 from;
        st.param.b32 [to], %r1;
        call.uni (from), twice, (to);
        ld.param.b32 %r2, [from];
    }
    st.shared.u32 [tile], %r2;
    ld.shared.u32 %r3, [tile];
    st.global.u32 [%rd1], %r3;
    ret;
}
.visible .entry wide() .reqntid 64, 2 { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; ret; }
.visible .entry odd() { frob.u32 1; ret; }
"""
)
CPP = """
#include "factor.h"
extern __shared__ float tile[];
template <typename T> __global__ void scale(T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = 0;
    if (i < n) x[i] = x[i] * FACTOR * BY;
}
extern "C" __global__ void plain(float *x) { x[0] = tile[1]; }
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.ptx").write_text(PTX)
    return tmp_path


@pytest.fixture
def cpp(here):
    Path("k.cu").write_text(CPP)
    Path("headers").mkdir()
    Path("headers/factor.h").write_text("#define FACTOR 3.0f\n")
    return CppOptions(("headers",), ("BY=2.0f",), "c++17")


@pytest.fixture
def made(capsys):
    """Compile, and return what was printed."""

    def run(place, **options):
        compile_file(Request(place, **options))
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(capsys):
    """Compile, which must fail with a status; returns what was said."""

    def run(place, status=2, **options):
        with pytest.raises(SystemExit) as left:
            compile_file(Request(place, **options))
        assert left.value.code == status
        said = capsys.readouterr().err
        assert said.startswith("gridlane: ")
        return said.removeprefix("gridlane: ")

    return run


STAGES = {
    "ir": "kernel @store(",
    "llvm": "define ",
    "asm": ".text",
    "ptx": ".visible .entry store(",
    "wgsl": "@compute",
    "glsl": "#version",
    "msl": "kernel void",
}


@pytest.mark.parametrize("stage", STAGES)
def test_ptx_to_each_stage(here, made, stage):
    assert STAGES[stage] in made("k.ptx:store", stage=stage)


def test_ptx_to_spirv(here, made):
    made("k.ptx", entry="store", stage="spirv", output="k.spv")
    assert Path("k.spv").read_bytes()[:4] == b"\x03\x02\x23\x07"


def test_all_kernels_of_ptx(here, made):
    Path("k.ptx").write_text(PTX.replace("frob.u32 1;", ""))
    printed = made("k.ptx")
    assert [line for line in printed.splitlines() if line.startswith("//")] == [
        "// store(param_0: u64, s: b8[12])",
        "// wide()",
        "// odd()",
    ]
    made("k.ptx", output="out/")
    assert sorted(file.name for file in Path("out").iterdir()) == ["odd.ir", "store.ir", "wide.ir"]


def test_the_block_shape_of_the_ptx(here, made, refused):
    assert "@workgroup_size(64, 2, 1)" in made("k.ptx:wide", stage="wgsl")
    assert "@workgroup_size(32, 1, 1)" in made("k.ptx:wide", stage="wgsl", block="32")


def test_a_long_name_is_cut_in_files(here, made):
    names = [f"_Z{letter * 400}v" for letter in "ab"]
    entries = "".join(f".visible .entry {name}() {{ ret; }}\n" for name in names)
    Path("long.ptx").write_text(HEAD + entries)
    made("long.ptx", output="out/")
    assert len({file.name for file in Path("out").iterdir()}) == 2


WRONG = {
    "none.ptx": (2, "compile: there is no file 'none.ptx'\n"),
    "k.ptx:stor": (2, "has no kernel 'stor' (did you mean 'store'?). It has: store, wide, odd\n"),
    "k.ptx:twice": (2, "k.ptx has no kernel 'twice'"),
    "k.ptx:odd": (1, "frob is not translated\n"),
    "binary.ptx": (1, "compile: binary.ptx is no text: 'utf-8' codec"),
    "short.ptx": (
        1,
        'second directive is .target, as in `.target sm_80`\n  File "short.ptx", line',
    ),
    "empty.ptx": (2, "compile: empty.ptx has no kernel: there is no .entry in it\n"),
    "short.ir": (1, "compile: short.ir: line 1, column 11: "),
    "two.ir": (1, "compile: two.ir: a module has one kernel, not 2"),
    "one.ir:b": (2, "compile: one.ir has the kernel a, and no 'b'\n"),
    "short.ll": (1, "short.ll: LLVM refuses"),
}


@pytest.mark.parametrize("place", WRONG)
def test_wrong_files(here, refused, place):
    Path("binary.ptx").write_bytes(b"\x7fELF\xff\xfe")
    Path("short.ptx").write_text(".version 8.0")
    Path("empty.ptx").write_text(HEAD)
    Path("short.ir").write_text("kernel @k(")
    Path("two.ir").write_text("kernel @a() {\n}\nkernel @b() {\n}\n")
    Path("one.ir").write_text("kernel @a() {\n}\n")
    Path("short.ll").write_text("define")
    status, told = WRONG[place]
    stage = "asm" if place.endswith(".ll") else "ir"
    assert told in refused(place, status=status, stage=stage)


WRONG_OPTIONS = {
    "--sig is for Python": {"signature": "f32[:]"},
    "--explain is for Python": {"explain": True},
    "-I is for CUDA C++, and k.ptx is none": {"cpp": CppOptions(("x",))},
    "-D is for CUDA C++, and k.ptx is none": {"cpp": CppOptions(defines=("x",))},
    "--std is for CUDA C++, and k.ptx is none": {"cpp": CppOptions(standard="c++17")},
    "--list shows kernels and writes nothing": {"lists": True, "output": "x"},
    "the kernel is named twice, as 'store' and by --entry 'odd'": {"entry": "odd"},
    "-o 'k.ptx' is the file that is compiled": {"output": "k.ptx"},
}


@pytest.mark.parametrize("told", WRONG_OPTIONS)
def test_options_that_do_not_fit(here, refused, told):
    assert told in refused("k.ptx:store", **WRONG_OPTIONS[told])


def test_a_list_of_llvm_ir(here, refused):
    assert "LLVM IR does not say which these are" in refused("k.ll", lists=True)


# --- stages that are fed back in


def test_ir_that_is_fed_back(here, made):
    made("k.ptx:store", output="k.ir")
    assert made("k.ir") == Path("k.ir").read_text()
    assert made("k.ir:store", stage="wgsl") == made("k.ptx:store", stage="wgsl")


def test_a_graph_that_is_fed_back(here, made):
    from gridlane.frontends.ptx import parse_ptx
    from gridlane.frontends.ptx.translate import translate
    from gridlane.ir.printer import print_module

    graph = print_module(translate(parse_ptx(PTX), "store"))
    assert "graph" in graph
    Path("graph.ir").write_text(graph)
    assert made("graph.ir") == made("k.ptx:store")


def test_llvm_ir_that_is_fed_back(here, made, refused):
    made("k.ptx:store", stage="llvm", output="k.ll")
    assert ".text" in made("k.ll", stage="asm")
    made("k.ptx:store", stage="llvm", arch="sm_90", output="gpu.ll")
    made("gpu.ll", stage="ptx", arch="sm_90", output="gpu.ptx")
    assert ".entry store(" in Path("gpu.ptx").read_text()
    assert "is LLVM IR for a GPU: --target ptx" in refused("gpu.ll", stage="asm")
    assert "is LLVM IR for the CPU: --target asm" in refused("k.ll:store", stage="asm")


def test_ptx_of_gridlane_is_fed_back(here, made):
    made("k.ptx:store", stage="ptx", output="ours.ptx")
    assert "kernel @store(" in made("ours.ptx")


def test_the_stages_in_between(here, made):
    Path("out").mkdir()
    made("k.ptx:store", stage="asm", output="out/k.s", saves=True)
    assert sorted(file.name for file in Path("out").iterdir()) == ["k.s", "store.ir", "store.ll"]


def test_without_optimisation(here, made):
    assert made("k.ptx:store", stage="asm", level=0) != made("k.ptx:store", stage="asm")
    assert made("k.ptx:store", stage="asm", level=3) == made("k.ptx:store", stage="asm")


# --- lists


def test_a_list(here, made):
    first, second, third = made("k.ptx", lists=True).split("\n\n")
    assert first.splitlines() == [
        "store(param_0: u64, s: b8[12])",
        "  shared   64 bytes",
        "  calls    twice",
        "  devices  cpu, interp, cuda, vulkan, metal, webgpu, opengl",
    ]
    assert second.splitlines()[:3] == ["wide()", "  block    64, 2, 1", "  shared   0 bytes"]
    assert third.splitlines() == ["odd()", "  refused  frob is not translated (k.ptx:30:25)"]


def test_a_list_names_the_devices_that_refuse(here, made):
    Path("half.py").write_text(
        "import numpy as np\n"
        "from numba import cuda\n"
        "@cuda.jit('void(int64[:])')\n"
        "def count(x):\n"
        "    cuda.cg.this_grid().sync()\n"
        "    cuda.atomic.max(x, 0, 1)\n"
    )
    printed = made("half.py", lists=True)
    assert "  devices  cpu, interp, cuda, vulkan\n" in printed  # in parts, but for cuda
    assert "  webgpu   refuses: " in printed and "half.py:6:" in printed


# --- CUDA C++


def test_cpp(cpp, made):
    assert "kernel @plain(" in made("k.cu:plain", cpp=cpp)
    printed = made("k.cu", entry="scale<double>", cpp=cpp, lists=True)
    assert printed.startswith("_Z5scaleIdEvPT_i(param_0: u64, param_1: u32)\n")
    assert "  shared   0 bytes, and what the launch asks for\n" in printed


def test_the_ptx_of_cpp_is_kept(cpp, made):
    made("k.cu:plain", cpp=cpp, stage="asm", output="k.s", saves=True)
    assert ".visible .entry plain(" in Path("k.cu.ptx").read_text()
    assert made("k.cu.ptx:plain") == made("k.cu:plain", cpp=cpp)


def test_wrong_cpp(cpp, refused):
    said = refused("k.cu", status=1, cpp=CppOptions(defines=cpp.defines))
    assert "factor.h" in said and "k.cu" in said


def test_the_words_of_the_command_line(cpp, gridlane):
    words = "compile k.cu:plain -Iheaders -DBY=1.5f -std=c++17 -O0 --target ir".split()
    done = gridlane(*words)
    assert done.returncode == 0, done.stderr
    assert "kernel @plain(" in done.stdout


# --- several units


@pytest.fixture
def units(here):
    Path("a.ptx").write_text(
        HEAD
        + """.extern .func (.param .b32 r) f();
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<2>; .reg .b64 %d<2>;
    ld.param.u64 %d1, [p];
    { .param .b32 r; call (r), f; ld.param.b32 %r1, [r]; }
    st.global.u32 [%d1], %r1;
    ret;
}"""
    )
    Path("b.cu").write_text(
        """extern "C" __device__ int f() { return SEVEN; }
template <class T> __global__ void fill(T *x) { *x = f(); }
"""
    )
    return CppOptions(defines=("SEVEN=7",))


def test_units_to_a_stage(units, made):
    assert "@compute" in made("a.ptx:k", more=("b.cu",), stage="wgsl", cpp=units)
    assert "kernel @k(" in made("b.cu", more=("a.ptx",), cpp=units)
    printed = made("b.cu", more=("a.ptx",), entry="fill<float>", cpp=units)
    assert "kernel @_Z4fillIfEvPT_(" in printed and "kernel @k(" not in printed
    printed = made("a.ptx", more=("b.cu:fill<int>",), lists=True, cpp=units)
    assert printed.startswith("_Z4fillIiEvPT_(param_0: u64)\n")
    printed = made("a.ptx:k", more=("b.cu",), lists=True, cpp=units)
    assert printed.startswith("k(p: u64)\n") and "  calls    f\n" in printed


def test_the_linked_text_is_kept(units, made):
    made("a.ptx", more=("b.cu",), output="out/", saves=True, cpp=units)
    names = sorted(file.name for file in Path("out").iterdir())
    assert "a.linked.ptx" in names and "k.ir" in names
    assert "kernel @k(" in made("out/a.linked.ptx")


def test_units_that_are_refused(units, refused):
    assert "a.ptx, k.ptx has no kernel 'q'" in refused("a.ptx", more=("k.ptx",), entry="q")
    assert "several kernels are named, k, q" in refused("a.ptx:k", more=("b.cu",), entry="q")
    assert "k.py is no unit of a program" in refused("a.ptx", more=("k.py",))
    assert "there is no file 'c.ptx'" in refused("a.ptx", more=("c.ptx",))
    assert "-D is for CUDA C++" in refused("a.ptx", more=("k.ptx",), cpp=units)
    assert "'b.cu' is the file" in refused("a.ptx", more=("b.cu",), output="b.cu", cpp=units)
    assert "k is defined a second time" in refused("a.ptx", 1, more=("a.ptx",))
    assert "SEVEN" in refused("a.ptx", 1, more=("b.cu",))


def test_the_command_takes_several_files(units, gridlane):
    done = gridlane("compile", "--list", "a.ptx", "b.cu", "-D", "SEVEN=7")
    assert done.returncode == 0 and done.stdout.startswith("k(p: u64)\n")
