"""Sources of CUDA 12 and older by ``gridlane cc``, unmodified: what they print is nvcc's."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.abi.test_cc import cc, prefix, pytestmark, run  # noqa: F401

HERE = Path(__file__).parent / "programs"


def test_names_of_old_sources(cc, tmp_path):  # noqa: F811
    shutil.copy(HERE / "old_names.cu", tmp_path)
    text = (HERE / "old_names.cuh").read_text().replace("LATIN", "\xe9\x92")
    (tmp_path / "old_names.cuh").write_bytes(text.encode("latin-1"))
    cc("-w", "old_names.cu", "-lcuda", "-o", "program")
    found = run("./program")
    assert (found.returncode, found.stdout) == (0, "<< <1>> >(\nwell\n"), found


def test_names_of_the_host(cc):  # noqa: F811
    cc(HERE / "old_names.cpp", "-o", "program")
    found = run("./program")
    assert (found.returncode, found.stdout) == (0, "12 3 1 0\n"), found


OVERFLOW = r"""
#include <cstdio>
__global__ void square(int *a) { a[threadIdx.x] *= a[threadIdx.x]; }
int main() {
    int n = 128, *a = new int[n], *d;
    for (int i = 0; i < n; i++) a[i] = i * 3001;
    cudaMalloc(&d, n * 4); cudaMemcpy(d, a, n * 4, cudaMemcpyHostToDevice);
    square<<<1, n>>>(d);
    cudaMemcpy(a, d, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) if (a[i] != i * 3001 * (i * 3001)) return 1;
    const char *s = "LATIN"; // LATIN
    printf("same %d\n", (unsigned char)s[0]);
}
"""


def test_the_host_wraps_and_keeps_bytes(cc, tmp_path):  # noqa: F811
    """As g++ does, which nvcc calls: overflow wraps at -O3, and a text has the file's bytes."""
    (tmp_path / "host.cu").write_bytes(OVERFLOW.replace("LATIN", "\xe9\x92").encode("latin-1"))
    cc("-w", "-O3", "host.cu", "-o", "program")
    assert run("./program").stdout == "same 233\n"


def test_texture_references(cc, tmp_path):  # noqa: F811
    """Declared in a header, as old programs have them, and next to a managed variable."""
    text = (HERE / "references.cu").read_text()
    head, body = text.split("__managed__", 1)
    (tmp_path / "declared.cuh").write_text(head.replace("#include <cstdio>\n", ""))
    (tmp_path / "main.cu").write_text(
        f'#include "declared.cuh"\n#include <cstdio>\n__managed__{body}'
    )
    cc("-w", "main.cu", "-o", "program")
    found = run("./program")
    right = "0 0: 3 45 0 1 0.2 5 8 42 43 5 0 7 0\n"
    assert (found.returncode, found.stdout) == (0, right), found


def test_graphs_that_allocate_and_choose(cc):  # noqa: F811
    cc("-w", HERE / "graph_nodes.cu", "-o", "program")
    for device in ("cpu", "interp"):
        found = run("./program", device)
        assert (found.returncode, found.stdout) == (
            0,
            "48 1 1\n36 7 1 1\n1\n8 2\n0 64 0 64 1 1\n",
        ), found


def test_functions_of_later_versions(cc):  # noqa: F811
    cc(HERE / "newer_functions.cu", "-o", "program")
    for device in ("cpu", "interp"):
        found = run("./program", device)
        assert (found.returncode, found.stdout) == (
            0,
            "3\n1 1 1 1\ncudaErrorInvalidValue\n7\n",
        ), found


THRUST = """1 0 999 499500
998001
498501 0
499500
999 999
18 10
7 22
3006 9
1000
334 6
3 1 20
8 2.5 0 6
6
3 1.5 39 n
"""
"""What nvcc's build of the same source prints."""


def test_thrust_of_the_host(cc):  # noqa: F811
    cc("-w", "-std=c++14", HERE / "thrust_host.cu", "-o", "program")
    found = run("./program")
    assert (found.returncode, found.stdout) == (0, THRUST), found


@pytest.mark.parametrize(
    "name", ["thrust_ordered", pytest.param("thrust_more", marks=pytest.mark.nightly)]
)
def test_thrust(cc, name):  # noqa: F811
    """The lines are those of nvcc's build with -DON_HOST, and a last one."""
    cc("-w", "-std=c++17", HERE / f"{name}.cu", "-o", "program")
    found = run("./program")
    right = (HERE / f"{name}.txt").read_text()
    assert (found.returncode, found.stdout) == (0, right), found


@pytest.mark.parametrize(
    "name",
    [pytest.param("cub_device", marks=pytest.mark.nightly), "cub_device_more", "cub_blocks"],
)
def test_cub(cc, name):  # noqa: F811
    """The lines are those of nvcc's build; the last two of cub_device_more are of a newer CUB."""
    cc("-w", "-std=c++17", HERE / f"{name}.cu", "-o", "program")
    found = run("./program")
    right = (HERE / f"{name}.txt").read_text()
    assert (found.returncode, found.stdout) == (0, right), found


def test_memory_and_events_of_two_processes(cc, tmp_path):  # noqa: F811
    cc("-w", HERE / "two_processes.cu", "-o", "program")
    for _ in range(4):  # later ones begin without Python, and C allocates
        found = run("./program", GRIDLANE_CACHE_DIR=str(tmp_path / "cache"))
        assert (found.returncode, found.stdout) == (0, "1\n0 105 105 0 1 1\n1 1\n"), found
    found = run("./program", "interp")  # its memory is not for others
    assert found.returncode == 1 and "does not support" in found.stdout, found


def test_the_driver_alone(prefix, tmp_path):  # noqa: F811
    """A section of device code and no runtime: the loader finds all that the program needs, also
    a name of CUDA 3.1, which is refused, as it has addresses of 32 bits."""
    (tmp_path / "driver.c").write_text(
        '__attribute__((section(".nv_fatbin"))) const char empty[16] = {0};\n'
        "int cuInit(unsigned), cuDeviceGetCount(int *), printf(const char *, ...);\n"
        "int cuMemcpyDtoDAsync(unsigned, unsigned, unsigned, void *);\n"
        "int main(void) { int n = -1, e = cuInit(0); cuDeviceGetCount(&n);"
        ' printf("%d %d %d\\n", e, n, cuMemcpyDtoDAsync(0, 0, 4, 0)); return empty[0]; }\n'
    )
    words = ["cc", "driver.c", f"-L{prefix}/lib", "-lcuda", "-o", "driver"]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=100)
    from gridlane.abi.library.elf import runtime_in

    assert runtime_in(tmp_path / "driver") == "none"
    assert run(tmp_path / "driver", LD_LIBRARY_PATH=f"{prefix}/lib").stdout == "0 1 801\n"


BESIDE = r"""
#include "beside.h"
#include <cstdio>
__global__ void first(int *x) { *x = RIGHT; }
int main() {
    int *x, y;
    cudaMalloc(&x, 4);
    first<<<1, 1>>>(x);
    cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost);
    printf("%d %d\n", y, RIGHT);
}
"""


def test_a_header_beside_the_source(cc, tmp_path):  # noqa: F811
    """It comes before those of the current folder and of -I, for the device as for the host."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "beside.cu").write_text(BESIDE)
    (inner / "beside.h").write_text("enum { RIGHT = 7 };")
    (tmp_path / "beside.h").write_text("enum { RIGHT = 1 };")
    cc("-w", "-I.", "inner/beside.cu", "-o", "program")
    assert run("./program").stdout == "7 7\n"
