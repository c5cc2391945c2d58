"""Atomics on vectors: each element is changed at once."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

ALL = ["interp", *DEVICES]
HALVES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("device", ALL)
def test_floats(device):
    body = """
    cvt.rn.f32.u32 %f1, %t; mov.f32 %f2, 0f3f800000; mul.f32 %f3, %f1, 0f40000000;
    red.global.add.v4.f32 [%source], {%f1, %f2, %f3, %f2};
    atom.global.gpu.add.v2.f32 {%f4, %f5}, [%source+16], {%f2, %f1};
    cvt.rzi.u32.f32 %result, %f4;
    """
    source = np.zeros(6, np.float32)
    made = results(device, body, 32, source)
    assert (source == [496, 32, 992, 32, 32, 496]).all()
    assert sorted(made) == list(range(32))


@pytest.mark.parametrize("device", ALL)
@pytest.mark.parametrize("kind", HALVES)
def test_halves(device, kind):
    body = f"""
    cvt.rn.f32.u32 %f1, %t; cvt.rn.{kind}.f32 %h1, %f1; neg.{kind} %h2, %h1;
    mov.b32 %r1, {{%h1, %h2}}; mov.u32 %result, 0;
    red.global.max.noftz.v2.{kind} [%source], {{%h1, %h2}};
    red.global.min.noftz.v4.{kind} [%source+8], {{%h1, %h2, %h2, %h1}};
    atom.global.add.noftz.v2.{kind}x2 {{%r2, %r3}}, [%source+16], {{%r1, %r1}};
    """
    of = HALVES[kind]
    source = np.full(12, 3, np.float32).astype(of)
    before = source.view(np.uint16)
    results(device, body, 8, before)
    want = [7, 3, 3, 3, 0, -7, -7, 0, 31, -25, 31, -25]
    assert (before.view(of).astype(np.float32) == want).all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_them(tmp_path: Path):
    body = """
    red.relaxed.gpu.global.add.v2.f32 [%rd1], {%f1, %f2};
    atom.global.add.L2::cache_hint.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1], {%f1, %f2, %f3, %f4}, %rd2;
    red.global.max.noftz.v8.bf16 [%rd1], {%h1, %h2, %h3, %h4, %h1, %h2, %h3, %h4};
    atom.global.min.noftz.v4.f16x2 {%r1, %r2, %r3, %r4}, [%rd1], {%r1, %r2, %r3, %r4};
    """
    assert refused_by_ptxas(text_of(body), tmp_path) == []
