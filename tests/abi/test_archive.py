"""The static runtime: programs that find gridlane's libcudart without a library path."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.abi import installed as shared

from gridlane.abi.library.archive import ARCHIVE, build_archive
from gridlane.abi.library.elf import runtime_in

HERE = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the runtime, and the archive by both of its names."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copy(shared.prefix(tmp_path_factory) / "lib" / "libcudart.so.13", folder)
    build_archive(folder, folder)
    (folder / "libcudart_static.a").symlink_to(ARCHIVE)
    return folder


def run(program, **settings):
    kept = {k: v for k, v in os.environ.items() if k.startswith("GRIDLANE_CACHE")}
    command = [str(program)]
    return subprocess.run(command, env=kept | settings, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize(
    "words",
    [
        ["vector_add.cu", "-cudart", "none", "-lcudart_gridlane"],
        ["units_main.cu", "units_other.cu", "-rdc=true"],
        pytest.param(
            ["per_thread.cu", "--default-stream", "per-thread"], marks=pytest.mark.nightly
        ),
    ],
    ids=["by its name", "in the place of nvcc's", "per thread"],
)
def test_programs_of_nvcc(installed, tmp_path, words):
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed, and it builds the programs")
    made = tmp_path / "program"
    words = [str(HERE / each) if each.endswith(".cu") else each for each in words]
    command = ["nvcc", "-w", "-arch=sm_80", *words, f"-L{installed}", "-o", str(made)]
    subprocess.run(command, check=True, timeout=200)
    assert runtime_in(made) == "gridlane"
    subprocess.run(["strip", str(made)], check=True, timeout=300)
    assert runtime_in(made) == "gridlane"
    found = run(made, GRIDLANE_QUIET="1")  # launches are refused on purpose
    assert (found.returncode, found.stdout[-5:], found.stderr) == (0, "well\n", "")


SMALL = r"""
#include <stdio.h>
int cudaMalloc(void **made, size_t bytes), cudaGetDeviceCount(int *count);
const char *cudaGetErrorName(int code);
int main(void)
{
    int count = 0, code = cudaGetDeviceCount(&count);
    void *made = 0;
    printf("%d %s %d\n", code, cudaGetErrorName(code), cudaMalloc(&made, 4));
    return 0;
}
"""


@pytest.fixture(scope="module")
def small(installed):
    source, made = installed / "small.c", installed / "small"
    source.write_text(SMALL)
    command = ["cc", str(source), "-o", str(made), f"-L{installed}", "-lcudart_gridlane"]
    subprocess.run([*command, "-ldl", "-lpthread", "-Wl,--gc-sections"], check=True, timeout=300)
    return made


def test_a_program_of_c(small):
    assert runtime_in(small) == "gridlane"
    assert run(small).stdout == "0 cudaSuccess 0\n"


def test_no_library_to_open(small, installed):
    """CUDA's code for a driver that is not there; by the library path it is found again."""
    other = installed / "other"
    other.mkdir()
    library = installed / "libcudart.so.13"
    library.rename(other / library.name)
    try:
        found = run(small)
        assert found.stdout == "35 there is no libcudart of gridlane 35\n"
        assert found.stderr.count("gridlane install") == 1
        assert run(small, LD_LIBRARY_PATH=str(other)).stdout == "0 cudaSuccess 0\n"
        (installed / "foreign").mkdir()
        foreign = installed / "foreign" / library.name
        subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", str(foreign)], check=True)
        assert run(small, LD_LIBRARY_PATH=str(foreign.parent)).stdout.startswith("35 ")
    finally:
        (other / library.name).rename(library)
