"""PTX that flushes and approximates becomes the same instructions again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.codegen.test_nvptx import PTXAS, checked_by_ptxas, ptx_of

from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) {{
    .reg .f32 %f<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [x];
    ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd1];
    {line}
    st.global.f32 [%rd1], %f5;
    ret;
}}
"""
LINES = {
    "add.rn.ftz.f32 %f5, %f1, %f2;": "add.rn.ftz.f32",
    "sub.ftz.f32 %f5, %f1, %f2;": "sub.rn.ftz.f32|add.rn.ftz.f32",
    "mul.ftz.f32 %f5, %f1, %f2;": "mul.rn.ftz.f32",
    "fma.rn.ftz.f32 %f5, %f1, %f2, %f3;": "fma.rn.ftz.f32",
    "fma.rm.ftz.f32 %f5, %f1, %f2, %f3;": "fma.rm.ftz.f32",
    "fma.rp.f32 %f5, %f1, %f2, %f3;": "fma.rp.f32",
    "fma.rz.f32 %f5, %f1, %f2, %f3;": "fma.rz.f32",
    "div.rn.ftz.f32 %f5, %f1, %f2;": "div.rn.ftz.f32",
    "div.approx.ftz.f32 %f5, %f1, %f2;": "div.approx.ftz.f32",
    "div.approx.f32 %f5, %f1, %f2;": "div.approx.f32",
    "rcp.approx.ftz.f32 %f5, %f1;": "rcp.approx.ftz.f32",
    "rcp.approx.f32 %f5, %f1;": "rcp.approx.f32",
    "sqrt.rn.ftz.f32 %f5, %f1;": "sqrt.rn.ftz.f32",
    "sqrt.approx.f32 %f5, %f1;": "sqrt.approx.f32",
    "rsqrt.approx.ftz.f32 %f5, %f1;": "rsqrt.approx.ftz.f32",
    "sin.approx.ftz.f32 %f5, %f1;": "sin.approx.ftz.f32",
    "cos.approx.f32 %f5, %f1;": "cos.approx.f32",
    "lg2.approx.ftz.f32 %f5, %f1;": "lg2.approx.ftz.f32",
    "ex2.approx.ftz.f32 %f5, %f1;": "ex2.approx.ftz.f32",
    "tanh.approx.f32 %f5, %f1;": "tanh.approx.f32",
    "abs.ftz.f32 %f5, %f1;": "mul.rn.ftz.f32",
}
"""Instructions, and one of those that are made of each."""


def made_of(line: str, processor: str) -> str:
    source = PtxSource(parse_ptx(TEXT.format(line=line)), "k")
    return ptx_of(source.translate((), KernelOptions()), processor)


@pytest.mark.parametrize("line", LINES)
def test_an_instruction_stays_itself(line):
    text = made_of(line, "sm_90")
    assert any(re.search(rf"\s{re.escape(each)}\s", text) for each in LINES[line].split("|")), text
    assert "selp" not in text


@pytest.mark.skipif(PTXAS is None, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("processor", ["sm_75", "sm_90", "sm_100"])
def test_ptxas_accepts_them(processor, tmp_path: Path):
    checked_by_ptxas([made_of(line, processor) for line in LINES], processor, tmp_path)


def test_what_an_older_processor_lacks():
    text = made_of("tanh.approx.f32 %f5, %f1;", "sm_70")
    assert "tanh.approx" not in text and "ex2.approx" in text
