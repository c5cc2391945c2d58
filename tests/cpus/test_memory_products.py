"""Products of matrices in memory by the instructions of processors: the answers are the
interpreter's, and bytes are multiplied by the widest instruction that there is."""

from __future__ import annotations

import re

import pytest
from tests.cpus.cases import assert_right, by_op, expected, require, run, target_of

from gridlane.backends import backend
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu import emit_kernel
from gridlane.compiler import pipeline
from gridlane.compiler.generation import copied
from gridlane.compiler.layout import lay_out
from gridlane.conformance.cases import Case
from gridlane.core.options import KernelOptions

PROCESSORS = {
    "x86-64": r"\bpmaddwd\b.*xmm",
    "haswell": r"\bvpmaddwd\b.*ymm",
    "haswell,+avxvnni": r"\{vex\}\s+vpdpbusd\b.*ymm",
    "x86-64-v4": r"\bvpmaddwd\b.*zmm",
    "x86-64-v4,+avx512vnni": r"\bvpdpbusd\b.*zmm",
}
"""The instruction for bytes."""


def _of_bytes(case: Case) -> bool:
    return "8-i32-" in case.label


@pytest.mark.parametrize("processor", PROCESSORS)
def test_answers(processor: str) -> None:
    require(processor)
    for case in by_op()["warp_product"]:
        if _of_bytes(case) or processor == "x86-64-v4":
            assert_right(case, run(case, processor, KernelOptions()), expected(case), processor)


@pytest.mark.parametrize("kind", ["i8", "u8"])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_bytes_are_multiplied_several_at_once(processor: str, kind: str) -> None:
    label = f"{kind}-i32-64-16-32"
    (case,) = [each for each in by_op()["warp_product"] if each.label == label]
    module = copied(case.module)
    pipeline.run(module, backend("cpu"))
    made = machine.machine_for(target_of(processor))
    text = emit_kernel(module, lay_out(module.kernel)[0], case.block, made).text
    text = machine.assembly(text, made)
    assert re.search(PROCESSORS[processor], text), text
    assert not re.search(r"\bv?pmulld\b", text)
