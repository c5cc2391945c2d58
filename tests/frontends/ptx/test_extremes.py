"""The least and the greatest of three, against the model of those of two; the canonical NaN."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of
from tests.frontends.ptx.oracle import cases

EDGES = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]
SPELLINGS = ["min.f32", "max.ftz.NaN.f32", "max.abs.f32", "min.ftz.NaN.abs.f32"]
BODY = """mad.wide.u32 %rd1, %t, 12, %source;
ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8];
{spelling} %f4, %f1, %f2, %f3; mov.b32 %result, %f4;"""


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_three_operands(device, spelling):
    made = random.Random(7)
    words = [made.choice([*EDGES, made.getrandbits(31)]) for _ in range(768)]
    source = np.array([word | made.getrandbits(1) << 31 for word in words], np.uint32)
    compute = cases(spelling.replace(".abs", ""))[0].compute
    magnitude = 0x7FFFFFFF if ".abs" in spelling else 0xFFFFFFFF
    got = results(device, BODY.format(spelling=spelling), 256, source).view(np.float32)
    wanted: list[Any] = []
    for row in source.reshape(-1, 3).tolist():
        first, second, third = (word & magnitude for word in row)
        wanted += compute(compute(first, second)[0], third)
    expected = np.array(wanted, np.uint32).view(np.float32)
    is_nan = np.isnan(expected)
    assert (np.isnan(got) == is_nan).all()
    assert (got.view(np.uint32) == expected.view(np.uint32))[~is_nan].all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_three_operands(tmp_path: Path):
    body = "\n".join(f"{spelling} %f4, %f1, %f2, %f3;" for spelling in SPELLINGS)
    assert refused_by_ptxas(text_of(body, target="sm_100"), tmp_path, "sm_100") == []


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_the_canonical_nan(device):
    body = """mov.b16 %h1, 0x7E01; mov.b16 %h2, 0x3C00; max.NaN.f16 %h3, %h1, %h2;
    mov.b16 %h4, 0xFFC1; min.NaN.bf16 %h5, %h2, %h4; mov.b32 %result, {%h3, %h5};"""
    assert (results(device, body) == 0x7FFF7FFF).all()
