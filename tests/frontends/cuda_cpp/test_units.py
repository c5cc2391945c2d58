"""Programs of several units in CUDA C++, on each device."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.linking import NVLINK, refused_by_ptxas

from gridlane import cuda
from gridlane.core.cuda_table.forwards import forwards
from gridlane.core.errors import ArgumentError, CompileError, PtxError
from gridlane.frontends.cuda_cpp import choose, clang
from gridlane.frontends.cuda_cpp.source_and_ptx import with_statics
from gridlane.launch import current
from gridlane.launch.devices import get_device

HERE = Path(__file__).parent / "units"
UNITS = [HERE / f"{name}.cu" for name in ("main", "shapes", "tables")]
ALL = ["interp", *DEVICES]
NAMES = ("times<float>", "plus<int>", "&own")
FACTORS = np.array([2, 3, 5, 7])


def has(compiler: str) -> bool:
    try:
        choose(compiler)
    except CompileError:
        return False
    return True


COMPILERS = [each for each in ("clang", "nvcc", "nvrtc") if has(each)]


def made(compiler: str, units=UNITS, **more) -> cuda.RawModule:
    return cuda.RawModule(path=list(units), backend=compiler, **more)


def ran(module: cuda.RawModule, name: str, count: int = 32) -> np.ndarray:
    out = np.full(count, -1, np.int32)
    module.get_function(name)(1, count, (out,))
    return out


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("device", ALL)
def test_a_program(compiler, device):
    current.choose(get_device(device))
    module, i = made(compiler), np.arange(32)
    scaled = 2 * i + FACTORS[i % 4]
    assert (ran(module, "plain") == i + 1 + 10 * 2 * i + 1000 * scaled + 2 * i).all()
    assert (ran(module, "variables") == FACTORS[i % 4] + 132 * (i == 0)).all()
    assert module.get_global("counter").view(np.int32).copy_to_host() == [132]
    want = np.choose(i % 3, [scaled, 2 * i, i * i])
    assert (ran(module, "by_address") == want).all()
    if device in ("webgpu", "opengl"):
        return  # an address in memory may be of another buffer there
    want = np.where(i % 2, 10 * i * i + 4, 10 * (3 * i // 2) + 3)
    assert (ran(module, "shapes") == want).all()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_recursion(compiler, device):
    current.choose(get_device(device))
    assert (ran(made(compiler), "recursive") == 1 + np.arange(32) % 2).all()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("device", [each for each in ALL if each not in ("webgpu", "opengl")])
def test_what_units_of_a_language_share(compiler, device):
    """Classes, structs by value, arguments of each size, inline functions, namespaces."""
    current.choose(get_device(device))
    units = [HERE / "language" / f"{each}.cu" for each in ("kernels", "functions", "more")]
    for order in (units, units[::-1]):
        module, i = made(compiler, order), np.arange(8)
        out = np.zeros((8, 8), np.int32)
        module.get_function("integers")(1, 8, (out,), shared_mem=64)
        columns = [8, i + 100, 42, i + 17, i + 7, 2 * (1.5 + i), 8, i * i + i + 10 + 10 * (i % 2)]
        want = np.stack([np.broadcast_to(each, 8) for each in columns], 1)
        assert (out == want).all()
        results = np.zeros(8, np.float32)
        module.get_function("floats")(1, 8, (results,))
        assert (results == np.array([1, 2, 4])[i % 3] + np.where(i % 2, i - 2, i + 2)).all()
        assert list(ran(module, "other", 2)[:2]) == [241, 17]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_orders(compiler):
    current.choose(get_device("interp"))
    i = np.arange(32)
    for units in itertools.permutations(UNITS):
        module = made(compiler, units)
        assert (ran(module, "by_address") == np.choose(
            i % 3, [2 * i + FACTORS[i % 4], 2 * i, i * i]
        )).all()  # fmt: skip


@pytest.mark.parametrize("compiler", COMPILERS)
def test_names_of_any_unit(compiler):
    current.choose(get_device("interp"))
    module = made(compiler, name_expressions=NAMES)
    x = np.arange(4, dtype=np.float32)
    module.get_function("times<float>")(1, 4, (x, np.float32(3)))
    assert list(x) == [0, 3, 6, 9]
    y = np.arange(4, dtype=np.int32)
    module.get_function("plus<int>")(1, 4, (y, np.int32(3)))
    assert list(y) == [3, 4, 5, 6]
    own = module.get_global("&own").view(np.int32)  # of the first unit that has one
    assert own.copy_to_host() == [1]
    own.copy_to_device(np.array([5], np.int32))
    assert ran(module, "plain", 1)[0] == 5 + 2000
    with pytest.raises(CompileError, match="no unit defines what the name expression 'quux'"):
        made(compiler, name_expressions=("plus<int>", "quux"))


# NVRTC does not tell which headers it reads: it compiles in each process.
@pytest.mark.parametrize("compiler", [each for each in COMPILERS if each != "nvrtc"])
def test_the_cache_has_each_unit(compiler, monkeypatch):
    made(compiler, name_expressions=NAMES)
    monkeypatch.setattr(
        type(choose(compiler)), "compile", lambda self, source: pytest.fail("it compiles again")
    )
    made(compiler, name_expressions=NAMES)


@pytest.mark.skipif(not NVLINK, reason="ptxas or nvlink of CUDA is not installed")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_ptxas_accepts_the_linked_text(compiler, tmp_path):
    for units in (UNITS, UNITS[::-1]):
        text = made(compiler, units)._code.module.text.text
        assert refused_by_ptxas(text, tmp_path) == ""


@pytest.mark.skipif("nvcc" not in COMPILERS or not NVLINK, reason="nvcc is not installed")
def test_nvcc_links_the_program(tmp_path):
    words = ["nvcc", "-arch=sm_80", "-rdc=true", "-c"]
    objects = [str(tmp_path / f"{unit.stem}.o") for unit in UNITS]
    for unit, name in zip(UNITS, objects, strict=True):
        subprocess.run([*words, str(unit), "-o", name], check=True, timeout=300)
    linking = ["nvcc", "-arch=sm_80", "-dlink", *objects, "-o", str(tmp_path / "linked.o")]
    subprocess.run(linking, check=True, timeout=300)


@pytest.mark.skipif(len(COMPILERS) < 3, reason="nvcc or NVRTC is not installed")
@pytest.mark.parametrize("compilers", [*itertools.permutations(COMPILERS)], ids="-".join)
def test_units_of_several_compilers(compilers, tmp_path):
    """PTX of one compiler beside PTX of another and CUDA C++."""
    current.choose(get_device("interp"))
    units: list[str] = []
    for unit, compiler in zip(UNITS[:2], compilers[:2], strict=True):
        options = ("-rdc=true", f"-I{HERE}")
        units.append(cuda.compile_cpp(unit.read_text(), options=options, backend=compiler))
    units.append(UNITS[2].read_text())
    module = cuda.RawModule(code=units, backend=compilers[2], options=(f"-I{HERE}",))
    i = np.arange(32)
    assert (ran(module, "variables") == FACTORS[i % 4] + 132 * (i == 0)).all()
    assert (ran(module, "shapes")[::2] == 10 * (3 * i[::2] // 2) + 3).all()
    if NVLINK:
        assert refused_by_ptxas(module._code.module.text.text, tmp_path) == ""


@pytest.mark.parametrize("compilers", [*itertools.permutations(COMPILERS, 2)], ids="-".join)
def test_what_units_of_several_compilers_call(compilers, capsys):
    """The formats and the functions of the language; each unit has texts of its own."""
    current.choose(get_device("cpu"))
    unit = """
    #ifndef __CUDACC_RTC__
    #include <cassert>
    #include <cstdio>
    #endif
    extern "C" __global__ void kN(int *x) {
        assert(x[0] > -N);
        int *p = (int *)malloc(4);
        *p = N;
        printf("unit N: %d %s\\n", *p + x[0], "text N");
        free(p);
    }"""
    units = [
        cuda.compile_cpp(unit.replace("N", str(n)), backend=compiler, options=("-dc",))
        for n, compiler in enumerate(compilers, 1)
    ]
    module = cuda.RawModule(code=units)
    for n in (1, 2):
        module.get_function(f"k{n}")(1, 1, (np.array([10], np.int32),))
        assert capsys.readouterr().out == f"unit {n}: {10 + n} text {n}\n"
        with pytest.raises(AssertionError, match=rf"x\[0\] > -{n}"):
            module.get_function(f"k{n}")(1, 1, (np.array([-10], np.int32),))


# --- refusals

FUNCTION = 'extern __device__ int f(int); extern "C" __global__ void k(int *x) { *x = f(1); }'


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_nothing_defines(compiler):
    current.choose(get_device("interp"))
    module = cuda.RawModule(code=[FUNCTION, "__device__ int g;"], backend=compiler)
    with pytest.raises(PtxError, match="_Z1fi is extern, and nothing defines it") as caught:
        ran(module, "k", 1)
    assert "<unit1.cu: ptx " in str(caught.value) or "<unit 1: ptx " in str(caught.value)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_names_that_units_declare(compiler):
    """A kernel, a template and a variable that the first unit declares, and the second defines."""
    current.choose(get_device("interp"))
    header = """template <class T> __global__ void k(T *x);
    __global__ void plain(float *x);
    extern __device__ int y;
    """
    more = """template <class T> __global__ void k(T *x) { *x = 2 + y; }
    __global__ void plain(float *x) { *x = 3; }
    __device__ int y = 5;
    """
    first = "__device__ int *where() { return &y; }"
    names = ("k<float>", "plain", "&y")
    units = [header + first, header + more]
    module = cuda.RawModule(code=units, backend=compiler, name_expressions=names)
    x = np.zeros(1, np.float32)
    module.get_function("k<float>")(1, 1, (x,))
    assert x == [7]
    module.get_function("plain")(1, 1, (x,))
    assert x == [3]
    assert module.get_global("&y").view(np.int32).copy_to_host() == [5]
    with pytest.raises(
        CompileError, match="no unit defines what the name expression 'plain' names"
    ):
        cuda.RawModule(code=units[:1] * 2, backend=compiler, name_expressions=("plain",))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_definitions(compiler):
    with pytest.raises(PtxError, match="_Z1fi is defined a second time; first at <unit 2: ptx "):
        cuda.RawModule(
            code=[FUNCTION, *["__device__ int f(int x) { return x; }"] * 2], backend=compiler
        )


def test_constants_that_clang_places_elsewhere():
    """Clang's own rule for ``const`` is of definitions alone."""
    units = [
        'extern __device__ const int x; extern "C" __global__ void k(int *y) { *y = x; }',
        "extern __device__ const int x; __device__ const int x = 3;",
    ]
    with pytest.raises(
        PtxError, match=r"one is in \.global .* in \.const; clang keeps .* say __co"
    ):
        cuda.RawModule(code=units, backend="clang")


def test_an_error_of_a_unit_names_its_file(tmp_path):
    (tmp_path / "b.cu").write_text("__device__ int f(int x) {\n return y; }")
    (tmp_path / "a.cu").write_text(FUNCTION)
    with pytest.raises(CompileError, match=r"b\.cu:2:9: error"):
        cuda.RawModule(path=[tmp_path / "a.cu", tmp_path / "b.cu"], backend="clang")
    with pytest.raises(CompileError, match=r"unit2\.cu:2:9: error"):
        cuda.RawModule(code=[FUNCTION, (tmp_path / "b.cu").read_bytes()], backend="clang")


def test_lists_that_are_none(tmp_path):
    with pytest.raises(ArgumentError, match="takes the text"):
        cuda.RawModule(code=[])
    with pytest.raises(ArgumentError, match="takes the text"):
        cuda.RawModule(code=[FUNCTION], path=UNITS)
    with pytest.raises(ArgumentError, match="unit 2 is text, not an object of type int"):
        cuda.RawModule(code=[FUNCTION, 3])
    with pytest.raises(ArgumentError, match="unit 2 is no text"):
        cuda.RawModule(code=[FUNCTION, FUNCTION.encode("utf-16")])
    (tmp_path / "wide.ptx").write_text(".version 8.0", encoding="utf-16")
    with pytest.raises(ArgumentError, match=r"wide\.ptx is no text"):
        cuda.RawModule(path=[UNITS[0], tmp_path / "wide.ptx"])
    with pytest.raises(FileNotFoundError):
        cuda.RawModule(path=[UNITS[0], tmp_path / "absent.ptx"])
    with pytest.raises(PtxError, match=r"begins with \.version"):
        cuda.RawModule(code=[FUNCTION, "int x;"], backend="clang")
    with pytest.raises(ArgumentError, match="of CUDA C\\+\\+, and the code is PTX"):
        text = ".version 8.0\n.target sm_80\n"
        cuda.RawModule(code=[text, text], name_expressions=("k",))


def test_statics_that_the_host_uses():
    """Clang gives them a name of their own, which code in front of the use has to know."""
    current.choose(get_device("interp"))
    unit = """
    static __device__ int own = VALUE;
    static __global__ void set(int *x) { *x = own; }
    __device__ int *where_VALUE = &own;
    void host(int *x) { cudaMemcpyToSymbol(own, x, 4); set<<<1, 1>>>(x); }
    """
    units = [unit.replace("VALUE", str(each)) for each in (1, 2)]
    reader = """extern __device__ int *where_1, *where_2;
    extern "C" __global__ void k(int *x) { x[0] = *where_1; x[1] = *where_2; }"""
    module = cuda.RawModule(code=[*units, reader], backend="clang", name_expressions=("own", "set"))
    assert list(ran(module, "k", 2)) == [1, 2]
    assert list(ran(module, "set", 1)) == [1]
    assert module.get_global("own").view(np.int32).copy_to_host() == [1]


def test_headers_define_nothing_that_units_share():
    folder = Path(clang.INCLUDE)
    files = [each for each in folder.rglob("*") if each.is_file()]
    # Those of gridlane's own are parts of others.
    paths = [each.relative_to(folder) for each in files if not each.name.startswith("gridlane_")]
    own = (str(each) for each in paths if each.parts[0] not in ("gridlane", "bits"))
    names = sorted({*own, *forwards()})
    assert len(names) > 250
    unit = "".join(f"#include <{each}>\n" for each in names)
    unit += 'extern "C" __global__ void NAME(float *x) { *x = sinf(*x); assert(*x); printf("a"); }'
    module = cuda.RawModule(code=[unit.replace("NAME", each) for each in "ab"], backend="clang")
    items = module._code.module.items
    assert [each.name for each in items if each.linking == "visible"] == ["a", "b"]


@pytest.mark.parametrize("option", ["-rdc=true", "-dc", "--device-c", "--relocatable-device-code"])
def test_options_for_units(option):
    options = (option, "true") if option == "--relocatable-device-code" else (option,)
    text = cuda.compile_cpp("extern __device__ int x; __device__ int *y = &x;", options=options)
    assert ".extern .global .align 4 .u32 x;" in text


@pytest.mark.parametrize("end", ["__static__8b83c32c2413f00", "__intern__ddffc40b83ac3279"])
def test_the_number_of_a_source_in_names_may_be_short(end):
    """Clang writes it without zeros in front."""
    ptx = f".extern .global .u32 kept;\n.global .u32 kept{end} = 4;\nld.global.b32 %r2, [kept];\n"
    assert with_statics(ptx) == ptx.replace("kept;", f"kept{end};").replace("kept]", f"kept{end}]")
