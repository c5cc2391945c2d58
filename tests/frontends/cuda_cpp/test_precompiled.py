"""Clang behind a precompiled header says and makes what it does with the header as text."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp import precompiled
from gridlane.frontends.cuda_cpp.clang import find_clang
from gridlane.frontends.cuda_cpp.compiled import Compiled, CppSource
from gridlane.frontends.cuda_cpp.precompiled import HEADER, Headers

CODE = """
#pragma message("told")
static_assert(__LINE__ == 3 && __COUNTER__ == 0);
__device__ int file_length = sizeof(__FILE__);
extern "C" __global__ void scaled(float *x, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = std::sqrt(x[i]) * N;
}
"""


@pytest.fixture
def headers(monkeypatch: pytest.MonkeyPatch) -> Headers:
    made = Headers()
    monkeypatch.setattr(precompiled, "HEADERS", made)
    return made


def compiled(options: tuple[str, ...] = ("-DN=2",), code: str = CODE) -> Compiled:
    clang = find_clang()
    assert clang is not None
    return clang.compile(CppSource(code, options, "kernel.cu"))


def files(headers: Headers) -> list[Path]:
    return [each for each in headers._made.values() if each is not None]


class Absent(Headers):
    """Those of a machine that makes none."""

    def of(self, key: tuple[str, ...]) -> Path | None:
        return None


@pytest.mark.parametrize("options", [("-DN=2",), ("-DN=3", "-std=c++20", "-rdc=true")], ids=str)
def test_the_same_comes_out(options, headers, monkeypatch):
    behind = compiled(options), compiled(options)
    assert len(files(headers)) == 1
    monkeypatch.setattr(precompiled, "HEADERS", Absent())
    plain = compiled(options)
    assert [each.ptx for each in behind] == [plain.ptx] * 2
    assert behind[0].log == plain.log and "told" in plain.log


def test_names_of_statics_are_those_that_the_host_s_part_has(headers):
    """By the mark among the options, not by one of the source."""
    code = (
        "static __device__ int kept;void host(int n) {{ cudaMemcpyToSymbol(kept, &n, 4); }} // {}"
    )

    def name(mark: str, comment: str) -> str:
        made = compiled(("-rdc=true", f"-cuid={mark}"), code.format(comment)).ptx
        return re.findall(r"kept__static__\w+", made)[0]

    assert name("1", "") == name("1", "other") != name("2", "")
    assert len(files(headers)) == 1


def test_messages_of_failures_are_those_without_it(headers, monkeypatch):
    wrong = CODE.replace("blockIdx.x", "blockIdx.q")
    with pytest.raises(CompileError) as behind:
        compiled(code=wrong)
    monkeypatch.setattr(precompiled, "HEADERS", Absent())
    with pytest.raises(CompileError) as plain:
        compiled(code=wrong)
    assert str(behind.value) == str(plain.value)


@pytest.mark.parametrize("word", ["-I", "-include", "-isystem", "-Wp,-I,"])
def test_folders_of_the_user_stand_in_front_of_it(word, headers, tmp_path):
    """They may hold any header that ours includes."""
    (tmp_path / "cmath").write_text("#include_next <cmath>\n#define N 7\n")
    given = str(tmp_path / "cmath") if word == "-include" else str(tmp_path)
    made = compiled((word + given,) if word.endswith(("I", ",")) else (word, given))
    assert "0f40E00000" in made.ptx and not headers._made


@pytest.mark.parametrize("harm", ["removed", "cut", "folder removed", "another's"])
def test_files_that_are_harmed(harm, headers):
    made = compiled()
    (file,) = files(headers)
    if harm == "removed":
        file.unlink()
    elif harm == "folder removed":
        file.unlink()
        file.parent.rmdir()
    elif harm == "cut":
        os.truncate(file, 1000)
    else:
        compiled(("-DN=3",))
        other = next(each for each in files(headers) if each != file)
        file.write_bytes(other.read_bytes())
    assert compiled().ptx == made.ptx


def test_few_are_kept(headers, monkeypatch):
    monkeypatch.setattr(precompiled, "_MOST", 2)
    for number in range(4):
        compiled((f"-DN={number}",))
    kept = files(headers)
    assert len(kept) == 2
    assert sorted(kept[0].parent.iterdir()) == sorted(kept)


def test_none_where_nothing_can_be_written(headers, monkeypatch):
    def refuse(**_: object) -> str:
        raise OSError

    monkeypatch.setattr(precompiled.tempfile, "mkdtemp", refuse)
    key = (HEADER,)
    assert headers.of(key) is None and headers.of(key) is None


def _in_a_child(headers: Headers) -> None:
    (file,) = files(headers)
    compiled()
    compiled(("-DN=3",))
    os._exit(0 if files(headers) == [file] else 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_makes_none(headers):
    """Children of a fork end without removing files."""
    compiled()
    (file,) = files(headers)
    child = multiprocessing.get_context("fork").Process(target=_in_a_child, args=(headers,))
    child.start()
    child.join()
    assert child.exitcode == 0 and file.is_file()


def test_nothing_is_left_behind(tmp_path):
    program = (
        "from gridlane import cuda\n"
        "cuda.compile_cpp('__global__ void k() {}')\n"
        "import os, tempfile\n"
        "room = tempfile.gettempdir()\n"
        "counts = [len(os.listdir(os.path.join(room, each))) for each in os.listdir(room)]\n"
        "from gridlane.core.cuda_table.forwards import forwards\n"
        "from gridlane.core.cuda_table.headers import NAMES\n"
        "tops = {name.split('/')[0] for name in (*NAMES, *forwards())}\n"
        "assert sorted(counts) == [1, len(tops)], counts\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TMPDIR": str(tmp_path), "GRIDLANE_CACHE": "0"},
        check=True,
    )
    assert not list(tmp_path.iterdir())
