"""f32 to bf16 on NVIDIA GPUs: one instruction from compute capability 8.0 on."""

from __future__ import annotations

import pytest
from tests.codegen.test_nvptx import CASES, ptx_of

from gridlane.core.dtypes import bf16, f32
from gridlane.core.options import KernelOptions
from gridlane.ir.ops.arith import Cast


def casts(module) -> bool:
    return any(
        isinstance(op, Cast) and op.value.type is f32 and op.results[0].type is bf16
        for op in module.kernel.body.walk()
    )


@pytest.mark.parametrize(("processor", "count"), [("sm_75", 0), ("sm_80", 1), ("sm_90", 1)])
def test_rounding(processor: str, count: int) -> None:
    module = next(case.module for case in CASES if case.op == "cast" and casts(case.module))
    assert ptx_of(module, processor, KernelOptions()).count("cvt.rn.bf16.f32") == count
