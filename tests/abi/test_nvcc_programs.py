"""Whole CUDA programs that nvcc builds: linked with libcudart, or with the vendor's inside."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.abi import installed
from tests.devices import DEVICES

from gridlane.abi.library.build import PRELOADED

HERE = Path(__file__).parent / "programs"
PROGRAMS = {
    "vector_add": ("vector_add.cu",),
    "shared_memory": ("shared_memory.cu",),
    "groups_scan": ("groups_scan.cu",),
    "grid_group": ("grid_group.cu",),
    "streams": ("streams.cu",),
    "graph": ("graph.cu",),
    "variables": ("variables.cu",),
    "managed": ("managed.cu",),
    "printing": ("printing.cu",),
    "asserting": ("asserting.cu",),
    "units": ("units_main.cu", "units_other.cu", "-rdc=true"),
    "per_thread": ("per_thread.cu", "--default-stream", "per-thread"),
    "plain": ("vector_add.cu", "--compress-mode=none"),
    "quick": ("shared_memory.cu", "--compress-mode=speed"),
    "static": ("variables.cu", "-cudart", "static"),
    "no_pie": ("streams.cu", "-cudart", "static", "-Xcompiler", "-no-pie"),
}
"""The sources and options of each."""

OF_THE_HOST = {"managed"}
"""Programs that need a device whose memory is the host's."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the libraries."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed, and it builds the programs")
    return installed.folder(tmp_path_factory, "programs")


@pytest.fixture
def program(folder, name, tmp_path_factory):
    """A program, which is built once in a run."""
    words = [str(HERE / each) if each.endswith(".cu") else each for each in PROGRAMS[name]]
    runtime = [] if "-cudart" in words else ["-cudart", "shared"]
    return installed.by_nvcc(tmp_path_factory, f"program-{name}", *runtime, *words)


def run(folder, program, name, device):
    kept = {k: v for k, v in os.environ.items() if k.startswith(("GRIDLANE_CACHE", "VK_", "XDG_"))}
    preload = {"LD_PRELOAD": str(folder / PRELOADED)} if "static" in PROGRAMS[name] else {}
    return subprocess.run(
        [str(program)],
        env={"LD_LIBRARY_PATH": str(folder), "GRIDLANE_DEVICE": device, **kept, **preload},
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(folder, program, name, device):
    if device not in DEVICES:
        pytest.skip(f"there is no device {device}")
    found = run(folder, program, name, device)
    if name in OF_THE_HOST and device == "vulkan":
        assert found.returncode
        assert "memory of its own" in found.stderr or "cudaErrorNotSupported" in found.stdout
        return
    assert found.returncode == 0, (found.returncode, found.stdout, found.stderr)
    assert found.stdout.endswith("well\n")
    if name == "printing":
        assert found.stdout == "thread 0 of 3: text 0.75\nthread 1 of 3: text 0.75\nwell\n"


def test_kernels_that_launch_kernels(folder, tmp_path_factory):
    """With NVIDIA's device runtime inside, whose functions call its driver's."""
    words = str(HERE / "device_launches.cu"), "-rdc=true", "-lcudadevrt", "-cudart", "shared"
    program = installed.by_nvcc(tmp_path_factory, "program-launches", *words)
    found = run(folder, program, "units", "cpu")
    printed = "cudaSuccess no error\n10 11 12 13 20 0\n"
    assert (found.returncode, found.stdout) == (0, printed), found


WAYS = {"replaced": ("-cudart", "static"), "gridlane": ("-cudart", "none", "-lcudart_gridlane")}
"""NVIDIA's runtime inside, whose functions jump to gridlane's, or gridlane's own."""


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [each for each in PROGRAMS if "-cudart" not in PROGRAMS[each]])
def test_a_program_by_other_ways(folder, name, way, tmp_path):
    """Those with the shared runtime again; nvcc links parts of a program with its own alone."""
    sources = [str(HERE / each) if each.endswith(".cu") else each for each in PROGRAMS[name]]
    linked = ("-lcudart_static",) if way == "gridlane" and "-rdc=true" in sources else WAYS[way]
    words = ["-w", "-arch=sm_80", *sources, f"-L{folder}", *linked]
    made = tmp_path / "program"
    words = [each for each in words if way == "gridlane" or each != f"-L{folder}"]
    subprocess.run(["nvcc", *words, "-o", str(made)], check=True, timeout=300)
    preload = {"LD_PRELOAD": str(folder / PRELOADED)} if way == "replaced" else {}
    for device in ("cpu", "vulkan"):
        if device not in DEVICES or (name in OF_THE_HOST and device == "vulkan"):
            continue
        kept = {k: v for k, v in os.environ.items() if k.startswith(("GRIDLANE_CACHE", "VK_"))}
        given = {"LD_LIBRARY_PATH": str(folder), "GRIDLANE_DEVICE": device, **kept, **preload}
        found = subprocess.run([str(made)], env=given, capture_output=True, text=True, timeout=200)
        assert (found.returncode, found.stdout[-5:]) == (0, "well\n"), (device, found)


def test_a_library_with_the_vendor_s_runtime_inside(folder, tmp_path):
    """One that a program is linked with registers its kernels before all of the program does."""
    source, main = tmp_path / "library.cu", tmp_path / "main.c"
    source.write_text(
        "__global__ void k(int *p) { *p = 42; }\n"
        'extern "C" int work() { int *d, h = 0; cudaMalloc(&d, 4); k<<<1, 1>>>(d);\n'
        "  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); return h; }\n"
    )
    main.write_text("int work(void); int main(void) { return work(); }\n")
    made, program = tmp_path / "libwork.so", tmp_path / "program"
    options = ["-w", "-arch=sm_80", "-cudart", "static", "-Xcompiler", "-fPIC", "-shared"]
    subprocess.run(["nvcc", *options, str(source), "-o", str(made)], check=True, timeout=300)
    subprocess.run(["cc", str(main), str(made), "-o", str(program)], check=True, timeout=300)
    preloaded = {"LD_PRELOAD": str(folder / PRELOADED), "LD_LIBRARY_PATH": str(folder)}
    assert subprocess.run([str(program)], env=preloaded, timeout=200).returncode == 42
