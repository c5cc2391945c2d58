"""Libraries that a program opens later, with NVIDIA's static runtime inside."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.abi import installed

from gridlane.abi.library.build import PRELOADED

HERE = Path(__file__).parent / "programs"
SOURCE = """
__device__ int counter = FIRST;
__global__ void k(int *p) { *p = ++counter; }
extern "C" int work() {
    int *p, h = 0;
    int error = cudaMalloc(&p, 4);
    if (error) return -error;
    k<<<1, 1>>>(p);
    cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
    cudaFree(p);
    return h;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The libraries, a program that opens others, and two of these."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed, and it builds the programs")
    made = installed.folder(tmp_path_factory, "opened")
    subprocess.run(
        ["cc", HERE / "opener.c", "-o", made / "opener", "-ldl"], check=True, timeout=300
    )
    (made / "work.cu").write_text(SOURCE)
    for name, first in (("one", 10), ("two", 20)):
        words = "-Xcompiler", "-fPIC", "-shared", f"-DFIRST={first}", str(made / "work.cu")
        built = installed.by_nvcc(tmp_path_factory, f"opened-{name}", *words)
        shutil.copy(built, made / f"lib{name}.so")
    shutil.copy(made / "libone.so", made / "libstripped.so")
    subprocess.run(["strip", made / "libstripped.so"], check=True, timeout=300)
    return made


def opened(folder, *words, preload=True):
    """What the program prints; {N} in its arguments is the library of the name N."""
    kept = {k: v for k, v in os.environ.items() if k.startswith("GRIDLANE_CACHE")}
    if preload:
        kept["LD_PRELOAD"] = str(folder / PRELOADED)
    return subprocess.run(
        [folder / "opener", *(each[0] + str(folder / each[1:]) for each in words)],
        env={"LD_LIBRARY_PATH": str(folder), **kept},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_libraries_that_are_opened_later(folder):
    found = opened(folder, "+libone.so", "=libtwo.so", "+libone.so")
    assert (found.stdout, found.stderr) == ("11 21 12 ", ""), found


def test_libraries_that_are_closed_and_opened_again(folder):
    """They may come back to the same place, with their own code at first."""
    found = opened(folder, *["+libone.so", "-"] * 4, "+libtwo.so", "-", "=libone.so", "+libtwo.so")
    assert (found.stdout, found.stderr) == ("11 11 11 11 21 11 21 ", ""), found


def test_a_stripped_library_says_what_to_do(folder):
    found = opened(folder, "+libtwo.so", "+libstripped.so", "+libstripped.so")
    assert found.stdout == "21 -500 -500 "
    (line,) = found.stderr.splitlines()
    assert f"{folder}/libstripped.so has NVIDIA's runtime inside" in line
    assert "no symbols of it are left" in line and "-lcudart_gridlane, or gridlane cc" in line


def test_without_the_preloaded_library_exec_is_named(folder):
    found = opened(folder, "+libone.so", preload=False)
    assert found.stdout == "-500 "
    (line,) = found.stderr.splitlines()
    assert f"{folder}/libone.so has NVIDIA's runtime inside" in line and "gridlane exec" in line


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("site/cupy_backends/cuda", "CuPy is out of gridlane's scope"),
        ("site/torch/lib", "PyTorch is out of gridlane's scope"),
        ("site/cuda/bindings/_internal", "gridlane.cuda.runtime in the place of"),
    ],
)
def test_packages_are_told_by_name(folder, place, words):
    (folder / place).mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "libstripped.so", folder / place / "extension.so")
    found = opened(folder, f"+{place}/extension.so")
    assert found.stdout == "-500 " and words in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_the_vendor_s_own_library_before_gridlane_s(folder, tmp_path):
    vendors = Path("/usr/local/cuda/lib64/libcudart.so.13")
    if not vendors.is_file():
        pytest.skip(f"{vendors} is not installed")
    source = tmp_path / "p.c"
    source.write_text("int cudaFree(void *); int main(void) { return cudaFree(0) != 500; }\n")
    made = tmp_path / "p"
    subprocess.run(["cc", source, vendors, "-o", made], check=True, timeout=300)
    path = f"{vendors.parent}:{folder}"
    found = subprocess.run(
        [made], env={"LD_LIBRARY_PATH": path}, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0 and "gridlane doctor PROGRAM" in found.stderr
