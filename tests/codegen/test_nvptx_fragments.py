"""PTX for fragments: what is generated for which GPU, that it assembles, and who holds what."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from benchmarks.nvidia import tensor_kernel
from tests.codegen.test_nvptx import PTXAS, checked_by_ptxas, kernel_ptx, ptx_of
from tests.effort import NIGHTLY
from tests.frontends.running import launch

from gridlane import cuda
from gridlane.codegen.llvm.gpu.nvptx.registers import packed, registers
from gridlane.conformance.cases import Case
from gridlane.conformance.fragments import fragments
from gridlane.core.argtypes import float16, float32
from gridlane.core.dtypes import bf16, f16, f32, i8, i32
from gridlane.core.errors import TargetError
from gridlane.ir.types import FragmentType, Role

CASES = list(fragments())
REFUSED = {
    "sm_70": "needs compute capability",
    "sm_75": r"(bf16|tf32)( factors)? needs compute capability 8\.0",
}


def generated(case: Case, processor: str) -> str | None:
    """PTX, or None where the processor is refused for a stated reason."""
    try:
        text = ptx_of(case.module, processor)
    except TargetError as error:
        if processor not in REFUSED:
            raise
        assert re.search(REFUSED[processor], str(error))
        return None
    assert processor != "sm_70", "compute capability 7.0 has other tensor instructions"
    return text


@pytest.mark.parametrize("processor", ["sm_70", "sm_75", "sm_80", "sm_90", "sm_100"])
def test_every_case_is_generated_or_refused(processor: str, tmp_path: Path) -> None:
    # A few of each op; at night all of them.
    usual = 3 if processor == "sm_90" else 10
    texts = [generated(case, processor) for case in CASES[:: 1 if NIGHTLY else usual]]
    kept = [text for text in texts if text is not None]
    assert (processor == "sm_70") == (not kept)
    assert not any(".local" in text for text in kept), "fragments stay in registers"
    if PTXAS is not None and kept:
        checked_by_ptxas(kept if NIGHTLY else kept[::2], processor, tmp_path)


def product(a, b, c):
    x = cuda.shared.array((64, 24), float16)
    y = cuda.shared.array((16, 72), float16)
    acc = cuda.wmma.fill((64, 64), float32, 0.0)
    for _ in range(a.shape[0]):
        cuda.syncthreads()
        left = cuda.wmma.load_a(x, (0, 0), (64, 16), "row")
        acc = cuda.wmma.mma(left, cuda.wmma.load_b(y, (0, 0), (16, 64), "row"), acc)
    cuda.wmma.store(c, (0, 0), acc)


HALVES = (float16[:, ::1], float16[:, ::1], float32[:, ::1])


def test_a_warp_tile() -> None:
    text = kernel_ptx(product, *HALVES)
    assert text.count("ldmatrix.sync.aligned.m8n8.x4.shared.b16") == 4
    assert text.count("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") == 4
    assert text.count("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 32
    assert text.count("st.global.v2") == 64 and "ld.shared" not in text


def test_the_generation_before_takes_two_steps() -> None:
    text = kernel_ptx(product, *HALVES, processor="sm_75")
    assert text.count("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32") == 64


def test_the_product_of_the_benchmarks(tmp_path: Path) -> None:
    kernel = tensor_kernel.product(float16)
    x = np.random.default_rng(5).standard_normal((128, 128)).astype(np.float16)
    y = np.random.default_rng(6).standard_normal((128, 512)).astype(np.float16)
    z = np.zeros((128, 512), np.float16)
    grid, threads = tensor_kernel.blocks(z), tensor_kernel.THREADS
    launch(kernel.py_func, grid, threads, x, y, z, shared=tensor_kernel.SHARED)
    wanted = x.astype(np.float64) @ y.astype(np.float64)
    assert np.abs(z - wanted).max() <= 2**-10 * np.abs(wanted).max()
    types = (float16[:, ::1],) * 3
    text = kernel_ptx(kernel.py_func, *types, launch_bounds=(threads,))
    # Each fragment of the loop is loaded once in it and the first once before.
    slices = tensor_kernel.INNER // tensor_kernel.SLICE
    assert text.count("ldmatrix") == 8 * (slices + 1) and text.count("mma.sync") == 32 * slices
    copies = tensor_kernel.COPIES_A + tensor_kernel.COPIES_B
    assert text.count("cp.async.cg") == copies * tensor_kernel.STAGES and ".local" not in text
    if PTXAS is None:
        return
    (tmp_path / "k.ptx").write_text(text)
    command = [PTXAS, "-v", "-arch=sm_90", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr


@pytest.mark.parametrize(
    "type_",
    [
        *(FragmentType(Role.A, 32, 64, dtype) for dtype in (f16, bf16, f32, i8)),
        *(FragmentType(Role.B, 64, 32, dtype) for dtype in (f16, bf16, f32, i8)),
        *(FragmentType(Role.ACC, 32, 48, dtype) for dtype in (f16, bf16, f32, i32)),
    ],
    ids=str,
)
def test_each_element_has_one_place(type_: FragmentType) -> None:
    """The formulas of the PTX ISA give every element to one lane, register and part of it."""
    along = 2 if type_.role is Role.ACC else packed(type_)
    found = []
    numbers = []
    for register in registers(type_):
        numbers.append(register.number)
        for lane in range(32):
            g, t = lane // 4, lane % 4 * along
            for part in range(packed(type_)):
                if type_.role is Role.B:
                    found.append((register.row + t + part, register.col + g))
                else:
                    found.append((register.row + g, register.col + t + part))
    assert numbers == list(range(len(numbers)))
    wanted = [(row, col) for row in range(type_.rows) for col in range(type_.cols)]
    assert sorted(found) == wanted


# Lane 5 (g = 1, t = 1) as in the tables of the PTX ISA for m16n8k16, k8 and k32.
@pytest.mark.parametrize(
    ("type_", "places"),
    [
        (FragmentType(Role.A, 16, 16, f16), [(1, 2), (9, 2), (1, 10), (9, 10)]),
        (FragmentType(Role.A, 16, 8, f32), [(1, 1), (9, 1), (1, 5), (9, 5)]),
        (FragmentType(Role.A, 16, 32, i8), [(1, 4), (9, 4), (1, 20), (9, 20)]),
        (FragmentType(Role.B, 16, 16, f16), [(2, 1), (10, 1), (2, 9), (10, 9)]),
        (FragmentType(Role.B, 8, 16, f32), [(1, 1), (5, 1), (1, 9), (5, 9)]),
        (FragmentType(Role.B, 32, 16, i8), [(4, 1), (20, 1), (4, 9), (20, 9)]),
        (
            FragmentType(Role.ACC, 16, 16, f32),
            [(1, 2), (1, 3), (9, 2), (9, 3), (1, 10), (1, 11), (9, 10), (9, 11)],
        ),
        (FragmentType(Role.ACC, 16, 16, f16), [(1, 2), (9, 2), (1, 10), (9, 10)]),
    ],
    ids=str,
)
def test_places_of_a_lane(type_: FragmentType, places: list[tuple[int, int]]) -> None:
    along = 2 if type_.role is Role.ACC else packed(type_)
    down, right = (along, 1) if type_.role is Role.B else (1, along)
    assert [(r.row + down, r.col + right) for r in registers(type_)] == places
