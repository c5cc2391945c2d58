"""PTX of large kernels, which LLVM's code generation does not optimise again."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import literals
from tests.codegen.test_nvptx import CASES, LEAST, PTXAS, checked_by_ptxas, kernel_ptx, ptx_of
from tests.effort import NIGHTLY

from gridlane import cuda
from gridlane.codegen.llvm.gpu.nvptx import ptx
from gridlane.core.argtypes import int32
from gridlane.core.options import KernelOptions, Target


@pytest.fixture
def levels(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The levels of the machines that are used from now on."""
    found: list[int] = []
    original = ptx.target_machine

    def noted(processor: str, features: str, level: int):
        found.append(level)
        return original(processor, features, level)

    monkeypatch.setattr(ptx, "target_machine", noted)
    return found


def test_size_decides_the_level(levels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    literals.code(5, Target("cuda"))
    assert levels == [3, 3]
    monkeypatch.setattr(ptx, "LARGE", 100)
    literals.code(5, Target("cuda"))
    assert levels == [3, 3, 3, 0]


def test_products_and_sums_still_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = [literals.code(5, Target("cuda")).count(b"fma.rn.f64")]
    monkeypatch.setattr(ptx, "LARGE", 0)
    fused.append(literals.code(5, Target("cuda")).count(b"fma.rn.f64"))
    assert fused[1] >= fused[0] > 10


def test_products_by_warpgroups_are_always_optimised(
    levels: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else their sums are copied between registers, and ptxas serializes them."""
    monkeypatch.setattr(ptx, "LARGE", 0)
    case = next(each for each in CASES if each.op == "warpgroup_mma")
    ptx_of(case.module, "sm_90a", KernelOptions())
    assert levels == [3, 3]


@pytest.mark.parametrize("options", [KernelOptions(), KernelOptions(opt=False)], ids=["", "O0"])
def test_every_op_is_generated_without_optimising(
    options: KernelOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ptx, "LARGE", 0)
    chosen = [case for case in CASES if LEAST.get(str(case), LEAST.get(case.op, 0)) <= 90]
    chosen = chosen[:: 1 if NIGHTLY else 9]
    texts = [ptx_of(case.module, "sm_90", options) for case in chosen]
    if PTXAS is not None:
        checked_by_ptxas(texts if NIGHTLY else texts[::3], "sm_90", tmp_path)


@cuda.jit
def on_own_memory(out):
    """Atomics on a local array."""
    own = cuda.local.array(4, int32)
    t = cuda.threadIdx.x
    for k in range(4):
        own[k] = t + k
    out[0] = cuda.atomic.add(own, t & 3, 5)
    out[1] = cuda.atomic.cas(own, (t + 1) & 3, 3, 9)
    out[2] = own[t & 3] + own[(t + 1) & 3]


@pytest.mark.parametrize("opt", [True, False])
def test_atomics_on_own_memory_are_loads_and_stores(opt: bool) -> None:
    """LLVM has no instruction for these, and ended the process without its optimiser."""
    made = kernel_ptx(on_own_memory.py_func, int32[::1], opt=opt)
    assert "atom" not in made and "ld.local" in made
