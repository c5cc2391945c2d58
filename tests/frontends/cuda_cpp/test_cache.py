"""The disk cache of PTX: what it keeps, and what makes a source compile again."""

from __future__ import annotations

import pytest

from gridlane.compiler import cpp
from gridlane.compiler.cache import DiskCache
from gridlane.frontends.cuda_cpp import CppSource, choose

KERNEL = '#include "n.h"\n__global__ void k(int *x) { *x = N; }'


@pytest.fixture
def compile_(tmp_path, monkeypatch):
    """Compile through a cache; the result says whether the compiler has run."""
    cache = DiskCache(tmp_path / "cache")
    compiler = choose("clang")
    runs: list[CppSource] = []

    class Counted:
        name = "clang"
        identity = compiler.identity
        searched = compiler.searched

        def compile(self, source):
            runs.append(source)
            return compiler.compile(source)

    counted = Counted()
    monkeypatch.setattr(cpp, "choose", lambda backend="": counted)
    monkeypatch.chdir(tmp_path)

    def run(code=KERNEL, options=("-Ia", "-Ib"), expressions=(), name="kernel.cu"):
        before = len(runs)
        made = cpp.compile_cpp(CppSource(code, options, name, expressions), cache=cache)
        return made, len(runs) > before

    run.counted = counted
    for folder, n in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
    (tmp_path / "b" / "n.h").write_text("#define N 11\n")
    return run


def test_the_second_time(compile_):
    first, ran = compile_()
    again, ran_again = compile_()
    assert ran and not ran_again
    assert first.ptx == again.ptx and first.log == again.log and "11" in first.ptx


def test_names_and_warnings_are_kept(compile_):
    code = "#warning beware\ntemplate <int N> __global__ void t(int *x) { *x = N; }"
    first, _ = compile_(code, expressions=("t<3>", "t<4>"))
    again, ran = compile_(code, expressions=("t<3>", "t<4>"))
    assert not ran and again.names == first.names and len(again.names) == 2
    assert "beware" in again.log


@pytest.mark.parametrize(
    "changed",
    [
        {"code": KERNEL + "\n"},
        {"options": ("-Ia", "-Ib", "-DM")},
        {"options": ("-Ib", "-Ia")},
        {"name": "other.cu"},
        {"expressions": ("k",)},
    ],
)
def test_what_is_another_source(compile_, changed):
    compile_()
    assert compile_(**changed)[1]


def test_a_header_that_changes(compile_, tmp_path):
    header = tmp_path / "b" / "n.h"
    info = header.stat()
    compile_()
    header.write_text("#define N 22\n")
    import os

    os.utime(header, ns=(info.st_atime_ns, info.st_mtime_ns))  # content counts, and not time
    made, ran = compile_()
    assert ran and "22" in made.ptx and "11" not in made.ptx
    header.write_text("#define N 11\n")
    assert not compile_()[1]  # both are kept


def test_a_header_of_a_header(compile_, tmp_path):
    (tmp_path / "b" / "n.h").write_text('#include "more/m.h"\n')
    (tmp_path / "b" / "more").mkdir()
    (tmp_path / "b" / "more" / "m.h").write_text("#define N 33\n")
    compile_()
    (tmp_path / "b" / "more" / "m.h").write_text("#define N 44\n")
    made, ran = compile_()
    assert ran and "44" in made.ptx


def test_a_header_that_goes(compile_, tmp_path):
    compile_()
    (tmp_path / "b" / "n.h").rename(tmp_path / "b" / "gone.h")
    with pytest.raises(Exception, match=r"'n.h' file not found"):
        compile_()


@pytest.mark.parametrize("folder", ["a", "."])
def test_a_header_that_comes_before(compile_, tmp_path, folder):
    compile_()
    (tmp_path / folder / "n.h").write_text("#define N 55\n")
    made, ran = compile_()
    assert ran and "55" in made.ptx


def test_another_version_of_the_compiler(compile_):
    compile_()
    compile_.counted.identity = lambda: "another"
    assert compile_()[1]


def test_a_compiler_that_does_not_tell_its_headers(compile_):
    import dataclasses

    inner = compile_.counted.compile
    compile_.counted.compile = lambda source: dataclasses.replace(inner(source), headers=None)
    compile_()
    assert compile_()[1]


def test_a_header_that_a_test_looks_for(compile_, tmp_path):
    code = '#if __has_include("later.h")\n#include "later.h"\n#else\n#define N 66\n#endif\n'
    code += "__global__ void k(int *x) { *x = N; }"
    first, _ = compile_(code)
    (tmp_path / "later.h").write_text("#define N 77\n")
    made, _ = compile_(code)
    assert "66" in first.ptx and "77" in made.ptx


@pytest.mark.parametrize("name", ["CPATH", "CPLUS_INCLUDE_PATH"])
def test_folders_of_the_environment(compile_, tmp_path, monkeypatch, name):
    (tmp_path / "a" / "n.h").write_text("#define N 88\n")
    made = []
    for folder in ("a", "b"):
        monkeypatch.setenv(name, str(tmp_path / folder))
        made.append(compile_("#include <n.h>\n__global__ void k(int *x) { *x = N; }", ())[0].ptx)
    assert "88" in made[0] and "11" in made[1]


@pytest.mark.parametrize("name", ["a\tb", "a\\b", "a b", "a$b", "a#b"])
def test_a_folder_of_an_odd_name(compile_, tmp_path, name):
    (tmp_path / name).mkdir()
    made = []
    for n in (81, 82):
        (tmp_path / name / "n.h").write_text(f"#define N {n}\n")
        made.append(compile_(options=(f"-I{name}",))[0].ptx)
    assert "81" in made[0] and "82" in made[1]


def test_a_file_of_options(compile_, tmp_path):
    made = []
    for n in (91, 92):
        (tmp_path / "options").write_text(f"-DM={n}\n")
        made.append(compile_("__global__ void k(int *x) { *x = M; }", ("@options",))[0].ptx)
    assert "91" in made[0] and "92" in made[1]


def test_the_time_of_day(compile_):
    code = "__global__ void k(int *x) { *x = __TIME__[7]; }"
    compile_(code)
    assert compile_(code)[1]
