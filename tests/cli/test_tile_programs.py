"""The commands on files of tile programs, as Triton's users write them."""

from __future__ import annotations

import json
import re

import pytest

FILE = """\
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x

@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr, KIND: tl.constexpr = tl.float32):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, twice(total).to(KIND), mask=i < n)

@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + i[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + j[None, :])
    tl.store(c + i[:, None] * N + j[None, :], tl.dot(left, right))

@triton.jit
def wrong(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), missing)
"""
ADD = "*fp32:16, *fp32, *fp32:16, i32, BLOCK=128"
PRODUCT = "*fp16:16, *fp16:16, *fp32:16, M=64, N=64, K=32, num_warps=4"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tile_kernels.py"
    path.write_text(FILE)
    return path


def test_instructions_of_a_processor(file, gridlane):
    words = "compile", f"{file.name}:product", "--sig", PRODUCT, "--target", "ptx", "--arch"
    code = gridlane(*words, "sm_80").stdout
    assert ".visible .entry product(" in code and "mma.sync" in code


def test_a_launch_in_the_file(file, gridlane):
    file.write_text(
        FILE + "import numpy as np\nfor kind in (np.float32, np.int32):\n"
        "    x = np.zeros(64, kind)\n    add.fn[(1,)](x, x, x, 64, BLOCK=64, num_warps=2)\n"
    )
    done = gridlane("compile", f"{file.name}:add", "--target", "wgsl")
    assert done.stdout.count("@workgroup_size(64, 1, 1)") == 2
    assert (
        "// add(*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=64, KIND=triton.language.float32)"
        in done.stdout
    )


def test_lists(file, gridlane):
    done = gridlane("compile", f"{file.name}:add", "--list", "--sig", ADD)
    assert (
        "add(*fp32:16, *fp32, *fp32:16, i32, BLOCK=128, KIND=triton.language.float32)"
        in done.stdout
    )
    assert "devices  cpu, interp, cuda, vulkan, metal, webgpu, opengl" in done.stdout


def test_explanations(file, gridlane):
    words = "explain", f"{file.name}:product", "--sig", PRODUCT
    done = gridlane(*words, "--device", "cuda", "--arch", "sm_80")
    assert "on cuda, blocks of 128x1x1:" in done.stdout
    lines = done.stdout.splitlines()
    dot = lines.index(next(each for each in lines if "tl.dot" in each))
    assert "matrix instructions of 16x8x16 f16, by 2 warps down and 2 across" in lines[dot + 1]
    assert "f16 of 64x32: 4096 bytes of shared memory" in done.stdout
    shared = re.search(r"128 threads, with (\d+) of at most \d+ bytes of shared", done.stdout)
    assert shared is not None and int(shared[1]) >= 8192
    done = gridlane(*words, "--device", "cpu")
    assert "of the worker's memory" in done.stdout and "packed factors" in done.stdout


def test_explanations_in_programs(file, gridlane):
    program = file.with_name("program.py")
    program.write_text(
        "import numpy as np, tile_kernels as k\n"
        "print(k.product.explain())\n"
        "x = np.zeros((32, 32), np.float32)\n"
        "k.product[(1,)](x, x, x, M=32, N=32, K=32)\n"
        "print(k.product.explain())\n"
        f'print(k.product.explain("{PRODUCT}"))\n'
    )
    done = gridlane("run", str(program))
    assert "product is not compiled yet" in done.stdout
    assert "product(*fp32:16, *fp32:16, *fp32:16, M=32, N=32, K=32) on cpu" in done.stdout
    assert "product(*fp16:16, *fp16:16, *fp32:16, M=64, N=64, K=32) on cpu" in done.stdout


def test_a_page(file, gridlane, tmp_path):
    done = gridlane(
        "export", "--web", f"{file.name}:add", "--sig", f"add={ADD}", "-o", str(tmp_path / "page")
    )
    assert done.returncode == 0, done.stderr
    (kernel,) = json.loads((tmp_path / "page" / "manifest.json").read_text())["kernels"]
    assert kernel["block"] == [128, 1, 1] and kernel["axes"] == 1
    assert [each["name"] for each in kernel["arguments"]] == ["x", "y", "out", "n"]
    assert "@workgroup_size(128, 1, 1)" in (tmp_path / "page" / "add.wgsl").read_text()


def test_passes(file, gridlane, tmp_path):
    gridlane("compile", f"{file.name}:add", "--sig", ADD, "-o", str(tmp_path / "add.ir"))
    done = gridlane("opt", "add.ir", "--passes", "lower-tiles", "--target", "webgpu")
    assert done.returncode == 0, done.stderr
    assert "tile_load" not in done.stdout and "thread_idx x" in done.stdout
    done = gridlane("compile", "add.ir", "--target", "wgsl")
    assert "@compute" in done.stdout


def test_what_is_wrong(file, fails):
    message = fails("compile", f"{file.name}:wrong", "--sig", "*fp32, i32")
    assert "compile: --sig of wrong: N is a constant: give its value, as in N=128" in message
    message = fails("compile", f"{file.name}:wrong", "--sig", "*fp32, 64", status=1)
    assert "missing is not defined" in message and "line 24" in message


def test_what_is_missing(file, fails):
    message = fails("compile", f"{file.name}:add")
    assert '--sig "*fp32, *fp32, *fp32, *fp32, BLOCK=128, KIND=128"' in message
    message = fails(
        "compile", f"{file.name}:add", "--sig", ADD, "--target", "wgsl", "--block", "64"
    )
    assert "follows from num_warps" in message
    message = fails("compile", f"{file.name}:add", "--sig", ADD, "--explain")
    assert "add is a tile program" in message
