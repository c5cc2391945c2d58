"""Names that libraries and shading languages have too; variables that bodies declare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

import gridlane
from gridlane import cuda

NAMED = """.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 {variable} = 7;
.func (.reg .u32 o) {function}(.reg .u32 a) {{ mul.lo.u32 o, a, 3; ret; }}
.visible .entry {entry}(.param .u64 output) {{
    .reg .u64 p; .reg .f32 f; .reg .f64 d; .reg .u32 a, b; .shared .align 4 .b8 {shared}[64];
    ld.param.u64 p, [output];
    mov.f32 f, 0f3F800000;
    sin.approx.f32 f, f;
    st.f32 [p], f;
    ld.global.u32 a, [{variable}];
    call (b), {function}, (a);
    st.shared.u32 [{shared}], b;
    ld.shared.u32 a, [{shared}];
    st.u32 [p+4], a;
    ret;
}}
"""
PLACES = ("entry", "function", "variable", "shared")
LIBRARIES = ("sin", "sinf", "memcpy", "main")
LANGUAGES = ("float", "kernel", "fn", "sample", "thread", "vec4", "gl_Position")
OWN = [("cpu", each) for each in LIBRARIES] + [
    (device, each)
    for device in DEVICES
    if device not in ("cpu", "cuda")
    for each in ("sin", *LANGUAGES[:: 1 if device == "webgpu" else 3])
]


@pytest.mark.parametrize(("device", "name"), OWN)
def test_names_of_others(device: str, name: str) -> None:
    for place in PLACES if device == "cpu" else ("entry", "variable"):
        names = {each: f"own_{each}" for each in PLACES} | {place: name}
        out = np.zeros(2, np.float32)
        with gridlane.device(device):
            module = cuda.RawModule(code=NAMED.format(**names))
            module.get_function(names["entry"])((1,), (1,), (out,))
        assert out[0] == pytest.approx(0.841471, abs=1e-4)
        assert out.view(np.uint32)[1] == 21


INSIDE = """
.global .align 4 .u32 count = 5;
.const .align 4 .u32 weights[3] = { 1, 20, 300 };
{ .global .u32 count; atom.global.add.u32 %r1, [count], 1; }
atom.global.add.u32 %r2, [count], 2;
ld.const.u32 %r3, [weights+8];
add.u32 %result, %r1, %r2; add.u32 %result, %result, %r3;
"""
"""A kernel's own variables, of which one hides another one's name."""


@pytest.mark.parametrize("device", ["interp", "cpu", *(d for d in DEVICES if d == "vulkan")])
def test_variables_of_bodies(device: str) -> None:
    made = results(device, INSIDE, 8)
    assert sorted(made.tolist()) == [305 + 3 * n for n in range(8)]


def test_variables_of_bodies_outlive_a_launch() -> None:
    out = np.zeros(4, np.uint32)
    with gridlane.device("cpu"):
        kernel = cuda.RawModule(code=text_of(INSIDE)).get_function("k")
        for _ in range(2):
            kernel((1,), (4,), (out, out))
    assert sorted(out.tolist()) == [305 + 3 * n for n in range(4, 8)]


@pytest.mark.skipif(not PTXAS, reason="there is no ptxas")
def test_ptxas_takes_variables_of_bodies(tmp_path: Path) -> None:
    assert refused_by_ptxas(text_of(INSIDE), tmp_path) == []
