"""Forms that are those of f32 on other operands, against the model of the ones of f32."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of
from tests.frontends.ptx.oracle import cases

EDGES = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]
HALVES = {"f16": [0, 1, 0x3C01, 0x7BFF, 0x7C00, 0x7E00], "bf16": [0, 1, 0x3F81, 0x7F7F, 0x7F80]}
PAIRS = ["add.f32x2", "add.rz.ftz.f32x2", "sub.rp.f32x2", "mul.rm.ftz.f32x2", "fma.rn.ftz.f32x2"]
MIXED = ["add.f32.f16", "sub.rm.sat.f32.bf16", "fma.rp.f32.f16", "fma.rn.sat.f32.bf16"]
EXTREMES = ["min.f32", "max.ftz.NaN.f32", "max.abs.f32", "min.ftz.NaN.abs.f32"]
WORDS = 6
"""The operands of a thread: the lower and the upper word of three."""

_GUARD = "setp.ge.u32 %p1, %t, 32; @%p1 ret;\n"
"""Half of the block's threads have operands, as each has room for two results."""


def _operands(seed: int) -> np.ndarray:
    made = random.Random(seed)
    words = [made.choice([made.choice(EDGES), made.getrandbits(31)]) for _ in range(32 * WORDS)]
    return np.array([word | made.getrandbits(1) << 31 for word in words], np.uint32)


def _body(spelling: str) -> str:
    """Two words of results: of a pair both halves, else the same word."""
    root, last = spelling.split(".")[0], spelling.split(".")[-1]
    count = 3 if root in ("fma", "min", "max") else 2
    text = "mad.wide.u32 %rd1, %t, 24, %source; mad.wide.u32 %own, %t, 8, %made;\n"
    for n in range(3):
        text += f"ld.global.v2.u32 {{%r{n}, %r1{n}}}, [%rd1 + {8 * n}]; mov.b32 %f{n}, %r{n};\n"
        text += f"mov.b64 %rd2{n}, {{%r{n}, %r1{n}}}; cvt.u16.u32 %h{n}, %r{n};\n"
    kind = {"f32x2": "%rd2", "f32": "%f"}.get(last, "%h")
    names = [f"{kind}{n}" for n in range(count)]
    if kind == "%h":
        names[-1] = f"%f{count - 1}"
    result = "%rd3" if kind == "%rd2" else "%f9"
    text += f"{spelling} {result}, {', '.join(names)};\n"
    if kind == "%rd2":
        return text + "mov.b64 {%result, %r20}, %rd3; st.global.u32 [%own + 4], %r20;"
    return text + "mov.b32 %result, %f9;"


def _widened(half: int, kind: str) -> int:
    found = np.array([half], np.uint16)
    if kind == "bf16":
        return half << 16
    return int(found.view(np.float16).astype(np.float32).view(np.uint32)[0])


def _wanted(spelling: str, words: list[int]) -> list[int]:
    """The results of a thread: of a pair the lower word first."""
    parts = spelling.split(".")
    single = ".".join([*(e for e in parts[:-1] if e not in ("f32", "abs")), "f32"])
    compute: Callable[..., tuple[int, ...]] = cases(single)[0].compute
    if parts[-1] == "f32x2":
        count = 3 if parts[0] == "fma" else 2
        return [compute(*words[at : 2 * count : 2])[0] for at in (0, 1)]
    if parts[-1] == "f32":
        magnitude = 0x7FFFFFFF if "abs" in parts else 0xFFFFFFFF
        first, second, third = (word & magnitude for word in words[::2])
        return list(compute(compute(first, second)[0], third))
    halves = [_widened(word & 0xFFFF, parts[-1]) for word in words[::2]]
    at = 2 if parts[0] == "fma" else 1
    return list(compute(*halves[:at], words[2 * at]))


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("spelling", [*PAIRS, *MIXED, *EXTREMES])
def test_against_the_model(device, spelling):
    source = _operands(7)
    halves = HALVES.get(spelling.split(".")[-1])
    if halves:
        source[::4] = source[::4] & 0xFFFF0000 | np.resize(halves, source[::4].size)
    is_pair = spelling.endswith("x2")
    made = results(device, _GUARD + _body(spelling), 64, source)
    for thread, words in enumerate(source.reshape(-1, WORDS).tolist()):
        wanted = np.array(_wanted(spelling, words), np.uint32).view(np.float32)
        got = made[2 * thread : 2 * thread + 1 + is_pair].view(np.float32)
        assert np.array_equal(got.view(np.uint32), wanted.view(np.uint32)) or np.array_equal(
            got, wanted, equal_nan=True
        ), (spelling, [hex(word) for word in words], got, wanted)


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_them(tmp_path: Path):
    for spelling in [*PAIRS, *MIXED, *EXTREMES]:
        text = text_of(_body(spelling), target="sm_100")
        assert refused_by_ptxas(text, tmp_path, "sm_100") == []


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_the_canonical_nan(device):
    body = """mov.b16 %h1, 0x7E01; mov.b16 %h2, 0x3C00; max.NaN.f16 %h3, %h1, %h2;
    mov.b16 %h4, 0xFFC1; min.NaN.bf16 %h5, %h2, %h4; mov.b32 %result, {%h3, %h5};"""
    assert (results(device, body) == 0x7FFF7FFF).all()
