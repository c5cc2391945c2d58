"""Which compiler is chosen, its options and errors, and the limit of its time."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.waiting import until

from gridlane import cuda
from gridlane.core.config import config
from gridlane.core.errors import ArgumentError, CompileError
from gridlane.frontends.cuda_cpp import choice, clang, nvcc, process, source_and_ptx
from gridlane.frontends.cuda_cpp.compiled import CppSource
from gridlane.frontends.cuda_cpp.options import for_clang

KERNEL = 'extern "C" __global__ void k(int *x) { x[threadIdx.x] = N; }'


# --- the choice


def test_clang_of_the_package_comes_first():
    assert choice.choose().identity().startswith("ziglang ")


@pytest.mark.parametrize("absent, name", [(("clang",), "nvcc"), (("clang", "nvcc"), "nvrtc")])
def test_the_next_compiler_where_one_is_missing(monkeypatch, absent, name):
    found = dict.fromkeys(choice._FIND, lambda: "here")
    found.update(dict.fromkeys(absent, lambda: None))
    monkeypatch.setattr(choice, "_FIND", found)
    chosen: list[str] = []
    for each in found:
        finds = found[each]
        found[each] = lambda each=each, finds=finds: (finds() and chosen.append(each)) or finds()
    choice.choose()
    assert chosen == [name]


def test_a_missing_compiler_says_what_to_install(monkeypatch):
    monkeypatch.setattr(choice, "_FIND", dict.fromkeys(choice._FIND, lambda: None))
    with pytest.raises(CompileError, match=r"clang is not here; install `pip install ziglang`"):
        choice.choose("clang")
    with pytest.raises(CompileError, match=r"no compiler.*pip install ziglang.*nvidia-cuda-nvrtc"):
        choice.choose()


def test_a_name_that_no_compiler_has():
    with pytest.raises(ArgumentError, match="backend='gcc': one of clang, nvcc, nvrtc"):
        cuda.compile_cpp(KERNEL, backend="gcc")


@pytest.fixture
def system_clang(tmp_path, monkeypatch):
    """A program that is called clang++ and is one, in the only folder of PATH."""
    package = clang._of_ziglang()
    assert package is not None

    def make(version: str) -> None:
        program = tmp_path / "clang++"
        program.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "clang version {version}"; exit; }}\n'
            f'exec {" ".join(package.words)} "$@" -idirafter {package.host[-11]}\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    clang._of_system.cache_clear()
    yield make
    clang._of_system.cache_clear()


def test_clang_of_the_system(system_clang):
    system_clang("19.1.7")
    found = clang._of_system()
    assert found is not None and found.release == 19
    # With the C++ library of the system, which declares its functions elsewhere.
    more = "#include <vector>\n__global__ void m(float *x, double *y)\n"
    more += "{ *x = sin(*x) + std::exp(*x) + abs(*x); *y = sqrt(*y) + std::pow(*y, 2); }\n"
    made = found.compile(CppSource(more + KERNEL, ("-DN=7",)))
    assert ".visible .entry k" in made.ptx and ".version 8.3" in made.ptx
    assert "__nv_sinf" in made.ptx and "__nv_expf" in made.ptx and "sqrt.rn.f64" in made.ptx


def test_clang_of_the_system_is_too_old(system_clang):
    system_clang("14.0.6")
    assert clang._of_system() is None


# --- options


@pytest.mark.parametrize(
    "given, words",
    [
        (["-DN=4"], ("-DN=4",)),
        (["-D", "N=4"], ("-DN=4",)),
        (["--define-macro=N=4"], ("-DN=4",)),
        (["--std=c++20"], ("-std=c++20",)),
        (["-std", "c++20"], ("-std=c++20",)),
        (["-Ihere", "-I", "there", "--include-path=more"], ("-Ihere", "-Ithere", "-Imore")),
        (["--fmad=false"], ("-ffp-contract=off",)),
        (["-lineinfo"], ("-gline-tables-only",)),
        (["-maxrregcount=32"], ()),
        (["-Wall"], ("-Wall",)),
    ],
)
def test_options_of_nvcc_in_the_words_of_clang(given, words):
    assert for_clang(given).words == words


@pytest.mark.parametrize(
    "given", [["-arch=sm_90"], ["-arch", "compute_90"], ["--gpu-architecture=sm_90"]]
)
def test_the_generation(given):
    assert for_clang(given).arch == "90"
    assert ".target sm_90" in cuda.compile_cpp(KERNEL, options=["-DN=1", *given])


@pytest.mark.parametrize(
    "given, told",
    [
        (["-arch=turing"], "-arch=turing: a generation, such as compute_80"),
        (["-D"], "the option -D lacks its value"),
        (["-fmad=maybe"], "-fmad=maybe: true or false"),
    ],
)
def test_options_that_are_none(given, told):
    with pytest.raises(CompileError, match=told):
        for_clang(given)


@pytest.mark.parametrize("backend", ["clang", "nvrtc"])
def test_definitions(backend):
    x = np.zeros(4, np.int32)
    cuda.RawKernel(KERNEL, "k", ("-DN=9",), backend)(1, 4, (x,))
    assert (x == 9).all()


def test_options_are_a_list():
    with pytest.raises(ArgumentError, match="tuples or lists"):
        cuda.compile_cpp(KERNEL, options="-DN=4")


# --- errors


@pytest.mark.parametrize(
    "code, told",
    [
        ("\n__global__ void k(int *x) { *x = y; }", r"mine.cu:2:34: error: use of undeclared"),
        ('#include "absent.h"', r"mine.cu:1:10: fatal error: 'absent.h' file not found"),
        ('__global__ void k() { asm("zap;"); __absent(1); }', r"mine.cu:1:36: error"),
        ("__global__ int k() {}", r"mine.cu:1:12: error: kernel function type"),
        ("}", r"mine.cu:1:1: error: extraneous closing brace"),
    ],
)
def test_the_compiler_speaks_of_the_users_lines(code, told):
    with pytest.raises(CompileError, match=told):
        cuda.compile_cpp(code, name="mine.cu")


@pytest.fixture(params=["clang", "nvcc", "nvrtc"])
def compiler(request):
    """Each compiler; nvcc comes with a toolkit alone, which no package has."""
    if request.param == "nvcc" and nvcc.find_nvcc() is None:
        pytest.skip("there is no nvcc")
    return choice.choose(request.param)


def test_a_name_expression_that_names_nothing(compiler):
    with pytest.raises(CompileError, match="absent"):
        compiler.compile(CppSource(KERNEL, ("-DN=1",), expressions=("absent<int>",)))


SCALES = """
template <typename T, int N> __global__ void scale(T *x) { *x *= N; }
namespace s { __device__ int v; }
"""


def test_mangled_names(compiler):
    names = "scale<float, 2>", "&scale<unsigned short, 3>"
    made = compiler.compile(CppSource(SCALES, expressions=names))
    assert made.names == dict(zip(names, ("_Z5scaleIfLi2EEvPT_", "_Z5scaleItLi3EEvPT_")))
    assert set(re.findall(r"\.entry (\w+)", made.ptx)) == set(made.names.values())
    assert "name_expression" not in made.ptx


def test_the_mangled_name_of_a_variable():
    made = choice.choose("clang").compile(CppSource(SCALES, expressions=("s::v",)))
    assert made.names == {"s::v": "_ZN1s1vE"}


# --- the limit of time


@pytest.fixture
def short_limit(monkeypatch):
    limited = dataclasses.replace(config(), compile_timeout=0.2)
    monkeypatch.setattr(process, "config", lambda: limited)


def test_a_hung_compiler_is_ended_with_its_children(short_limit, tmp_path):
    made, pid = (str(tmp_path / name) for name in ("made", "pid"))
    child = f"import os; open({made!r}, 'w').write(str(os.getpid())); os.rename({made!r}, {pid!r})"
    child += "; import signal; signal.pause()"
    parent = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', {child!r}])"
    with pytest.raises(CompileError, match=r"longer than 0.2 s; GRIDLANE_COMPILE_TIMEOUT sets"):
        process.run_compiler([sys.executable, "-S", "-c", parent])
    if (tmp_path / "pid").exists():  # it may have been ended before it began
        _wait_for_end(int((tmp_path / "pid").read_text()))


def _wait_for_end(pid: int) -> None:
    def has_ended() -> bool:
        try:
            os.kill(pid, 0)
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (ProcessLookupError, FileNotFoundError):
            return True
        return ") Z" in stat  # its parent has not asked for it yet

    until(has_ended)


def test_a_compiler_that_does_not_start():
    with pytest.raises(CompileError, match="does not start"):
        process.run_compiler(["/nowhere/clang"])


def test_nvcc_tells_its_headers(tmp_path):
    (tmp_path / "four.h").write_text("#define N 4\n")
    found = nvcc.find_nvcc()
    if found is None:
        pytest.skip("there is no nvcc")
    made = found.compile(CppSource('#include "four.h"\n' + KERNEL, (f"-I{tmp_path}",)))
    assert str(tmp_path / "four.h") in made.headers


@pytest.mark.parametrize(
    "rule, headers",
    [
        ("made: /a/b.h /a/c.h\n", ["/a/b.h", "/a/c.h"]),
        (
            "made: /a/with\\ blank.h \\\n  /a/x\\#1.h /a/$$y.h",
            ["/a/with blank.h", "/a/x#1.h", "/a/$y.h"],
        ),
        ("made:\n", []),
    ],
)
def test_the_rule_that_a_compiler_writes(rule, headers):
    assert list(source_and_ptx.prerequisites(rule)) == headers


def test_a_folder_with_a_blank(tmp_path):
    folder = tmp_path / "of mine"
    folder.mkdir()
    (folder / "four.h").write_text("#define N 4\n")
    source = CppSource('#include "four.h"\n' + KERNEL, (f"-I{folder}",))
    assert str(folder / "four.h") in choice.choose("clang").compile(source).headers


def test_quoted_includes_are_searched_beside_the_file(tmp_path):
    (tmp_path / "four.h").write_text("#define N 4\n")
    (tmp_path / "mine.cu").write_text('#include "four.h"\n' + KERNEL)
    x = np.zeros(4, np.int32)
    cuda.RawModule(path=tmp_path / "mine.cu", backend="clang").get_function("k")(1, 4, (x,))
    assert (x == 4).all()


# --- odd texts and options


@pytest.mark.parametrize("before", ["\ufeff", "\r\n", "\ufeff\r\n"])
def test_how_files_begin(before):
    code = before + KERNEL.replace("{", "{\r\n")
    assert ".entry k" in cuda.compile_cpp(code, options=("-DN=1",), backend="clang")


@pytest.mark.parametrize("option", ["-E", "-fsyntax-only", "--help", "--version", "-M"])
def test_options_that_leave_no_ptx(option):
    with pytest.raises(CompileError, match="no PTX: an option asks for something else"):
        cuda.compile_cpp(KERNEL, options=("-DN=1", option), backend="clang")


def test_what_is_no_text():
    with pytest.raises(CompileError, match="no text at its line 3"):
        cuda.compile_cpp(KERNEL + "\n// \ud800", options=("-DN=1",), backend="clang")
    with pytest.raises(CompileError, match="without NUL"):
        cuda.compile_cpp(KERNEL, options=("-DN=1\0",), backend="clang")
