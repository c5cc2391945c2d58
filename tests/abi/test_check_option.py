"""CUDA programs whose kernels check their accesses: what is wrong is named, and nothing else."""

import pytest
from tests.abi import installed
from tests.abi.test_notices import SOURCE, needs_compilers, run

from gridlane.abi.toolchain.building import build
from gridlane.abi.toolchain.options import parse

CHECKED = SOURCE.with_name("checked.cu")
PLACE = f"{CHECKED}:16:"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    pytest.importorskip("ziglang", reason="ziglang, which compiles CUDA C++, is not installed")
    prefix = installed.prefix(tmp_path_factory)

    def make(part):
        build(parse(["--check", str(CHECKED), "-o", str(part)]), prefix)

    return installed.once(tmp_path_factory, "checked", make)


@needs_compilers
def test_memory_of_all_kinds_is_known(program):
    for settings in ({}, {"GRIDLANE_CHECK": "0"}):
        found = run(program, "1", **settings)
        assert found.stdout.split() == ["496", "496", "496", "2944", "992", "cudaSuccess"]
        assert found.stderr == ""


@needs_compilers
@pytest.mark.parametrize(
    "mode, thread, told",
    (
        ("2", 31, "directly behind the end of an allocation of 128 bytes"),
        ("3", 0, "at 0x0, which is null"),
        ("4", 0, "in 1048576 bytes that were freed"),
        ("5", 0, "1073741696 bytes behind the end of an allocation of 128 bytes"),
    ),
)
def test_a_bad_access_is_named(program, mode, thread, told):
    found = run(program, mode)
    assert found.stdout == "cudaErrorIllegalAddress\n"
    line, *_ = found.stderr.splitlines()
    assert line.startswith(
        "gridlane: the kernel fill failed: a store of 4 bytes through parameter 1"
    )
    assert told in line and f"thread ({thread}, 0, 0) of block (0, 0, 0)" in line
    assert PLACE in line
