"""Launches that fail are noted on stderr, once each, in programs that ask for no errors."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.abi import installed
from tests.abi.calling import cu, good

from gridlane.abi.failure import (
    ASSERT,
    COOPERATIVE_LAUNCH_TOO_LARGE,
    ILLEGAL_ADDRESS,
    INVALID_VALUE,
    LAUNCH_FAILED,
    NOT_READY,
    OUT_OF_MEMORY,
    STICKY,
    Failure,
)
from gridlane.abi.state import notices
from gridlane.abi.toolchain.building import build
from gridlane.abi.toolchain.options import parse
from gridlane.core import config
from gridlane.core.kernel_names import readable
from gridlane.frontends.cuda_cpp.source_and_ptx import with_users_lines

SOURCE = Path(__file__).parent / "programs" / "failing.cu"
FAULTING = SOURCE.with_name("faulting.cu")
UNREAD = "of this program failed, and it asked for no error since (cudaGetLastError)"
needs_compilers = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("g++"), reason="g++ is not installed"
)


def built(factory, source):
    pytest.importorskip("ziglang", reason="ziglang, which compiles CUDA C++, is not installed")
    prefix = installed.prefix(factory)

    def make(part):
        build(parse([str(source), "-o", str(part)]), prefix)

    return installed.once(factory, source.stem, make)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built(tmp_path_factory, SOURCE)


@pytest.fixture(scope="module")
def faulting(tmp_path_factory):
    return built(tmp_path_factory, FAULTING)


def run(program, mode, code=0, **settings):
    kept = {k: v for k, v in os.environ.items() if k.startswith(("GRIDLANE_CACHE", "XDG_"))}
    found = subprocess.run(
        [str(program), mode], env={**kept, **settings}, capture_output=True, text=True, timeout=200
    )
    assert found.returncode == code, found
    return found


def of_line(number):
    return f"{SOURCE}:{number}:"


@needs_compilers
def test_refused_launches(program):
    """The first one, and at the end how many the program did not ask for."""
    first, last = run(program, "shape").stderr.splitlines()
    assert first.startswith("gridlane: the kernel fill was not launched: a grid of (1, 1, 1)")
    assert "4096" in first and last == f"gridlane: 3 launches {UNREAD}"


@needs_compilers
def test_a_program_that_asks_for_errors(program):
    (line,) = run(program, "read").stderr.splitlines()
    assert "the kernel fill was not launched" in line


@needs_compilers
def test_quiet(program):
    assert run(program, "shape", GRIDLANE_QUIET="1").stderr == ""


@needs_compilers
def test_an_assertion(program):
    """The second launch, which C does alone; and again in a process that begins without Python."""
    for _ in range(2):
        found = run(program, "assert")
        (line,) = found.stderr.splitlines()
        assert line.startswith("gridlane: the kernel check failed: ")
        assert "`i < n`" in line and "thread (9, 0, 0) of block (0, 0, 0)" in line
        assert of_line(10) in line and found.stdout == "cudaErrorAssert\n"


@needs_compilers
def test_an_assertion_where_functions_are_not_inlined(program):
    line, *_ = run(program, "assert", GRIDLANE_DEVICE="interp").stderr.splitlines()
    assert "failing.cu:10" in line and "include/gridlane" not in line


@needs_compilers
def test_a_trap_in_a_function_of_our_headers(program):
    line, end = run(program, "trap").stderr.splitlines()
    assert line.startswith("gridlane: the kernel mine::stop failed: ")
    assert of_line(17) in line and end == f"gridlane: 1 launch {UNREAD}"


@needs_compilers
def test_a_kernel_that_is_not_translated(program):
    """The line is that of the source, not of the PTX."""
    line, _ = run(program, "unknown").stderr.splitlines()
    assert line.startswith("gridlane: the kernel unknown was not launched: ")
    assert "cp.mystery" in line and of_line(23) in line


@needs_compilers
def test_faults_of_kernels(faulting):
    """Sticky until the device is reset; the second time without Python up to the fault."""
    for _ in range(2):
        found = run(faulting, "kernel")
        bad, good = "cudaErrorIllegalAddress", "cudaSuccess"
        assert found.stdout.split() == [good, bad, bad, good, good]
        (line,) = found.stderr.splitlines()
        assert line.startswith("gridlane: the kernel away failed: it used the address 0x")
        assert f"{FAULTING}:9:" in line and "GRIDLANE_CHECK=1" in line


@needs_compilers
@pytest.mark.parametrize("native", ("1", "0"))
def test_endless_kernels(faulting, native):
    """Without Python up to the endless one, the second time."""
    for _ in range(2):
        found = run(faulting, "endless", GRIDLANE_TIMEOUT="0.5", GRIDLANE_NATIVE=native)
        assert found.stdout.split() == ["cudaErrorLaunchTimeout", "cudaSuccess"]
        (line,) = found.stderr.splitlines()
        assert line.startswith("gridlane: the kernel endless failed: it ran longer than 0.5 s (")
        assert f"{FAULTING}:14:" in line or f"{FAULTING}:15:" in line


@needs_compilers
def test_faults_of_the_host(faulting):
    """They go to the program's own handler, or end it."""
    found = run(faulting, "own", 3)
    assert found.stdout.endswith("own handler: 11 at 0x10\n")
    assert run(faulting, "none", -11).stdout == found.stdout.rpartition("own")[0]


@needs_compilers
@pytest.mark.parametrize(
    "mode, text",
    (
        ("behind", "gridlane: memory of {0} bytes was written behind its end, at byte {0}:"),
        ("before", "gridlane: memory of {0} bytes was written in front of its start, at byte -1:"),
    ),
)
def test_writes_next_to_memory(faulting, mode, text):
    """Also without Python, the second time."""
    for _ in range(2):
        lines = run(faulting, mode).stderr.splitlines()
        sizes = [each.partition(":")[2].split()[2] for each in lines]
        assert sorted(sizes, key=int) == ["100", "4096", "1048576"]
        assert all(text.format(size) in "\n".join(lines) for size in sizes)
        assert run(faulting, mode, GRIDLANE_QUIET="1").stderr == ""


@needs_compilers
@pytest.mark.parametrize("native", ("1", "0"))
def test_no_notice_of_memory_that_is_whole(faulting, native):
    assert run(faulting, "many", GRIDLANE_NATIVE=native).stderr == ""


TRAP = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry stop() { trap; }\n"


@pytest.mark.parametrize("is_quiet", (False, True))
def test_in_python(primary, trapping, capsys, monkeypatch, is_quiet):
    monkeypatch.setattr(notices, "_process", notices._Process())
    monkeypatch.setenv("GRIDLANE_QUIET", str(int(is_quiet)))
    config.config.cache_clear()
    try:
        stop = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(TRAP)), b"stop"))
        for threads in 4096, 1:
            cu.cuLaunchKernel(stop, 1, 1, 1, threads, 1, 1, 0, 0, (), 0)
        cu.cuCtxSynchronize()
        lines = [each for each in capsys.readouterr().err.splitlines() if "the kernel stop" in each]
        assert [each.partition(":")[2].split()[3:5] for each in lines] == (
            [] if is_quiet else [["was", "not"], ["failed:", "the"]]
        )
        assert notices._process.unread.value == 2
    finally:
        config.config.cache_clear()


@pytest.mark.parametrize("number", sorted(STICKY))
def test_a_launch_after_a_failed_kernel_is_not_noted(capsys, monkeypatch, number):
    """The kernel that failed is."""
    monkeypatch.setattr(notices, "_process", notices._Process())
    notices.refused("cuLaunchKernel", Failure(number, "the fault of before"))
    assert capsys.readouterr().err == ""
    notices.refused("cuLaunchKernel", Failure(INVALID_VALUE, "no such grid"))
    assert "was not launched: " in capsys.readouterr().err


def test_the_sticky_numbers():
    """Of the CUDA documentation: "the process must be terminated and relaunched"."""
    assert {ILLEGAL_ADDRESS, ASSERT, LAUNCH_FAILED, 702, 714, 715, 716, 717, 718} <= STICKY
    assert not STICKY & {INVALID_VALUE, OUT_OF_MEMORY, COOPERATIVE_LAUNCH_TOO_LARGE, NOT_READY}


def test_names():
    assert readable("_ZN4mine4stopIiEEvPT_") == "mine::stop"
    assert readable("_ZN12_GLOBAL__N_15checkEPii") == "check"
    assert readable("_ZL5checkPii") == "check"
    assert readable("_Zz") == "_Zz"


def test_lines_of_headers():
    """Of a chain of calls the innermost place outside of the folders; its file may be new."""
    chain = "/own/a.h:1:45 @[ /own/b.h:2:5 @[ /x/c d.cu:4:9 @[ e.cu:1:2 ] ] ]"
    ptx = f"\t.loc\t1 1 45 // {chain}\n\t.loc\t2 7 1 // e.cu:7:1\n"
    ptx += '\t.file\t1 "/own/a.h"\n\t.file\t2 "/x/e.cu"\n'
    made = with_users_lines(ptx, ("/own",))
    assert made.startswith("\t.loc\t3 4 9 // /x/c d.cu:4:9\n\t.loc\t2 7 1 // e.cu:7:1\n")
    assert made.endswith('\t.file\t3 "/x/c d.cu"\n')
    assert with_users_lines(made, ("/own",)) == made
