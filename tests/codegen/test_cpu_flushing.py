"""Kernels whose arithmetic flushes subnormal numbers, by the processor's mode: against the ISA's
model and the interpreter, bit for bit."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from tests.frontends.ptx.bodies import results
from tests.frontends.ptx.oracle import Program, launched
from tests.frontends.ptx.test_forms import USES

import gridlane
from gridlane import cuda
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu.flushing import has_mode
from gridlane.compiler import generation
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import parse_ptx
from gridlane.frontends.ptx.source import PtxSource
from gridlane.launch import current
from gridlane.launch.devices import get_device

needs_mode = pytest.mark.skipif(
    not has_mode(machine.host()), reason="the processor has no mode that flushes as the ISA says"
)
ALONE = re.compile(
    r"(add|sub|mul|mad|fma|div|rcp|sqrt|rsqrt)(\.rn|\.approx|\.full)?\.ftz(\.sat)?\.f32"
    r"|(abs|neg|min|max)\.ftz(\.NaN)?\.f32|setp?\.\w+(\.and)?\.ftz(\.s32)?\.f32"
    r"|(mad|fma)\.r[zmp]\.ftz(\.sat)?\.f32|(ex2|lg2)\.approx\.ftz\.f32"
    r"|cvt\.r[nzmp]i\.ftz\.(s32\.f32|f32\.f32)"
)
FORMS = [use for use in USES if ALONE.fullmatch(use.spelling)]
HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 n)
{
    .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .f32 %f<20>; .reg .f64 %d<4>;
    .reg .b16 %h<4>;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 4;
    ld.param.u64 %rd1, [x]; add.s64 %rd1, %rd1, %rd4;
    ld.param.u64 %rd2, [y]; add.s64 %rd2, %rd2, %rd4;
    ld.param.u64 %rd3, [n]; add.s64 %rd3, %rd3, %rd4;
    ld.global.f32 %f1, [%rd1];
    ld.global.f32 %f2, [%rd1+256];
    ld.global.u32 %r2, [%rd3];
"""
TOLD = "setp.ne.u32 %p1, %r1, {0};"
LEARNED = {
    "an equality": ("setp.eq.ftz.f32 %p2, %f1, 0f00000000; selp.u32 %r3, 1, 2, %p2;", lambda b: 1),
    "no equality": ("setp.neu.ftz.f32 %p2, %f1, 0f80000000; selp.u32 %r3, 1, 2, %p2;", lambda b: 2),
    "an order": ("setp.gt.ftz.f32 %p2, %f1, 0f00000000; selp.u32 %r3, 1, 2, %p2;", lambda b: 2),
    "an fma": (
        "fma.rn.ftz.f32 %f2, %f1, 0f7F000000, 0f3F800000; mov.b32 %r3, %f2;",
        lambda b: 0x3F800000,
    ),
    "a root": ("sqrt.rn.ftz.f32 %f2, %f1; mov.b32 %r3, %f2;", lambda b: b & 1 << 31),
    "the integer above": ("cvt.rpi.ftz.s32.f32 %r3, %f1;", lambda b: 0),
}
"""Instructions whose operand is subnormal, with what they give of its bits: it counts as 0."""
END = "\nst.global.f32 [%rd2], %f3; ret; }"
ESCAPES = {
    "a product by 1": "mul.ftz.f32 %f3, %f1, 0f3F800000;",
    "a sum with -0": "add.ftz.f32 %f3, %f1, 0f80000000;",
    "a quotient by -1": "div.rn.ftz.f32 %f3, %f1, 0fBF800000;",
    "an fma of 1": "fma.rn.ftz.f32 %f3, %f1, 0f3F800000, 0f80000000;",
    "a sign": "mul.ftz.f32 %f4, %f1, %f2; neg.ftz.f32 %f3, %f4;",
    "a raw sign": "mul.ftz.f32 %f4, %f1, 0f3F800000; neg.f32 %f3, %f4;",
    "a magnitude": "sub.ftz.f32 %f4, %f1, %f2; abs.f32 %f3, %f4;",
    "copied signs": "mul.ftz.f32 %f4, %f1, 0f3F800000; copysign.f32 %f3, %f2, %f4;",
    "bits": "mul.ftz.f32 %f4, %f1, 0f3F800000; mov.b32 %r3, %f4; add.u32 %r3, %r3, 1;"
    "mov.b32 %f3, %r3;",
    "a choice": "mul.ftz.f32 %f4, %f1, 0f3F800000; setp.gt.s32 %p1, %r2, 1;"
    "selp.f32 %f3, %f4, %f1, %p1;",
    "a choice of products": "mul.ftz.f32 %f4, %f1, 0f3F800000; mul.ftz.f32 %f5, %f2, 0f3F800000;"
    "setp.gt.s32 %p1, %r2, 1; selp.f32 %f3, %f4, %f5, %p1;",
    "a comparison": "mul.ftz.f32 %f4, %f1, 0f3F800000; setp.gt.ftz.f32 %p1, %f4, 0f00000000;"
    "selp.f32 %f3, 0f3F800000, %f1, %p1;",
    "the smaller": "mul.ftz.f32 %f4, %f1, 0f3F800000; min.ftz.f32 %f3, %f4, %f2;",
    "the integer above": "cvt.rpi.ftz.s32.f32 %r3, %f1; cvt.rn.f32.s32 %f4, %r3;"
    "mul.ftz.f32 %f3, %f4, %f4;",
    "rounded": "mul.ftz.f32 %f4, %f1, 0f3F800000; cvt.rni.f32.f32 %f3, %f4;",
    "another lane": "mul.ftz.f32 %f4, %f1, 0f3F800000; mov.b32 %r3, %f4;"
    "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1; mov.b32 %f3, %r4;",
    "a loop from raw": "mov.f32 %f3, %f1; setp.eq.s32 %p1, %r2, 0; @%p1 bra E; L:"
    "mul.ftz.f32 %f3, %f3, 0f3F800000; add.s32 %r2, %r2, -1; setp.gt.s32 %p1, %r2, 0;"
    "@%p1 bra L; E:",
    "a root of a constant": "mul.ftz.f32 %f1, %f1, %f2; mov.b32 %r3, 0x400000;"
    "mov.b32 %f4, %r3; sqrt.rn.ftz.f32 %f3, %f4; add.ftz.f32 %f3, %f1, %f3;",
    "a root of one of two constants": "setp.gt.s32 %p1, %r2, 1; selp.b32 %r3, 0x400000, 0x3F800000,"
    "%p1; mov.b32 %f4, %r3; sqrt.rn.ftz.f32 %f3, %f4;",
    "an fma of constants": "setp.gt.s32 %p1, %r2, 1; selp.b32 %r3, 0x400000, 0x3F800000, %p1;"
    "mov.b32 %f4, %r3; fma.rn.ftz.f32 %f3, %f4, 0f7F000000, 0f3F000000;",
    "an fma of a small fma": "mul.ftz.f32 %f1, %f1, %f2; mov.b32 %r3, 0x00800000;"
    "mov.b32 %f4, %r3; fma.rn.ftz.f32 %f4, %f4, 0f3F000000, 0f80000000;"
    "fma.rn.ftz.f32 %f3, %f4, 0f7F000000, 0f3F000000; add.ftz.f32 %f3, %f1, %f3;",
    "a quotient by 2^-127": "mov.b32 %f4, 0x00400000; div.rn.ftz.f32 %f3, %f1, %f4;",
    "a root of a stored constant": "mul.ftz.f32 %f1, %f1, %f2; mov.u32 %r3, 3;"
    "st.global.u32 [%rd3], %r3; ld.global.f32 %f4, [%rd3]; sqrt.rn.ftz.f32 %f3, %f4;"
    "add.ftz.f32 %f3, %f1, %f3;",
    "raw numbers compared": "setp.lt.ftz.f32 %p1, %f1, %f2; selp.f32 %f4, %f1, %f2, %p1;"
    "mul.ftz.f32 %f3, %f4, 0f3F800000;",
    "an fma downwards of a small constant": "mov.b32 %r3, 0x80400000; mov.b32 %f4, %r3;"
    "fma.rm.ftz.f32 %f3, %f4, 0f3F800000, %f4; fma.rm.ftz.f32 %f3, %f1, %f2, %f3;",
    "an fma upwards": "fma.rp.ftz.f32 %f4, %f1, %f2, %f1; mul.ftz.f32 %f3, %f4, 0f3F800000;",
    "f64 of an integer": "cvt.rn.f64.u32 %d1, %r2; mul.f64 %d2, %d1, 0d3C10000000000000;"
    "cvt.rn.f32.f64 %f4, %d2; fma.rn.ftz.f32 %f3, %f1, %f2, %f4;",
    "a larger number compared": "max.ftz.f32 %f4, %f1, %f2; cvt.rn.f32.s32 %f5, %r2;"
    "setp.gt.ftz.f32 %p1, %f4, %f5; selp.f32 %f3, %f1, %f4, %p1; fma.rn.ftz.f32 %f4, %f1, %f2, %f4;"
    "setp.eq.ftz.f32 %p1, %f4, 0f40000000; @%p1 mov.f32 %f3, %f4;",
    "a loop": "mov.f32 %f3, 0f00000000; L: fma.rn.ftz.f32 %f3, %f1, 0f3F000000, %f3;"
    "add.s32 %r2, %r2, -1; setp.gt.s32 %p1, %r2, 0; @%p1 bra L;",
}
MIXED = {
    "a sum that keeps": "mul.ftz.f32 %f4, %f1, %f2; add.f32 %f3, %f4, %f1;",
    "f64": "mul.ftz.f32 %f4, %f1, %f2; cvt.f64.f32 %d1, %f1; mul.f64 %d1, %d1, %d1;"
    "cvt.rn.f32.f64 %f5, %d1; add.ftz.f32 %f3, %f4, %f5;",
    "f16": "mul.ftz.f32 %f4, %f1, %f2; cvt.rn.f16.f32 %h1, %f1; add.f16 %h1, %h1, %h1;"
    "cvt.f32.f16 %f5, %h1; add.ftz.f32 %f3, %f4, %f5;",
    "a comparison that keeps": "mul.ftz.f32 %f4, %f1, %f2; setp.gt.f32 %p1, %f1, 0f00000000;"
    "selp.f32 %f3, 0f3F800000, %f4, %p1;",
    "rounded up": "mul.ftz.f32 %f4, %f1, %f2; cvt.rpi.f32.f32 %f5, %f1; add.ftz.f32 %f3, %f4, %f5;",
    "an atomic sum": "mul.ftz.f32 %f3, %f1, %f2; atom.global.add.f32 %f5, [%rd3], %f1;",
    "the raw greater one": "setp.gt.ftz.f32 %p1, %f1, %f2; selp.f32 %f3, %f1, %f2, %p1;"
    "mul.ftz.f32 %f4, %f3, %f1; setp.eq.ftz.f32 %p1, %f4, 0f40000000; @%p1 mov.f32 %f3, %f4;",
    "a raw magnitude": "mul.ftz.f32 %f4, %f1, %f2; setp.eq.ftz.f32 %p1, %f4, 0f40000000;"
    "@%p1 mov.f32 %f1, %f4; setp.lt.ftz.f32 %p1, %f1, 0f00000000; neg.f32 %f3, %f1;"
    "selp.f32 %f3, %f3, %f1, %p1;",
    "the lesser in a branch": "mul.ftz.f32 %f4, %f1, %f2; mov.f32 %f3, %f1; setp.lt.ftz.f32 %p1,"
    "%f2, %f1; @!%p1 bra E; mov.f32 %f3, %f2; E: setp.eq.ftz.f32 %p2, %f4, 0f40000000;"
    "@%p2 mov.f32 %f3, %f4;",
    "a function": "sin.approx.ftz.f32 %f4, %f1; mul.ftz.f32 %f3, %f4, %f2;",
    "small f64": "mul.ftz.f32 %f4, %f1, %f2; cvt.rn.f64.u32 %d1, %r2;"
    "mul.f64 %d2, %d1, 0d3810000000000000; mul.f64 %d3, %d2, 0d3FD0000000000000;"
    "cvt.rn.f32.f64 %f5, %d3; add.ftz.f32 %f6, %f4, %f5; mov.f32 %f3, %f5;",
}
SUBNORMAL = np.uint32(0x00400000).view(np.float32)


def values() -> np.ndarray:
    """128 floats: edges of subnormal numbers, zeros, infinities, NaN and common ones."""
    edges = [0, 1, 0x3FFFFF, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x3F000000]
    edges += [0x3F7FFFFF, 0x3F800000, 0x40400000, 0x20000000, 0x1FFFFFFF, 0x7F7FFFFF, 0x7F800000]
    bits = np.array([*edges, *(edge | 0x80000000 for edge in edges)], np.uint32)
    return np.concatenate([bits, np.roll(bits, 1), np.roll(bits, 5), bits[::-1]]).view(np.float32)


def code(text: str) -> str:
    """The LLVM IR of a PTX kernel on the CPU."""
    parsed = parse_ptx(text)
    module = PtxSource(parsed, parsed.entries[0]).translate((), KernelOptions())
    return generation.text(module, get_device("cpu").target((64, 1, 1)), "llvm")


def ran(text: str, device: str) -> np.ndarray:
    """The bits that a kernel stores, with 1 for each NaN."""
    with gridlane.device(device):
        made = np.zeros(64, np.float32)
        cuda.RawModule(code=text).get_function("k")(
            1, 64, (values(), made, (np.arange(64) % 4).astype(np.uint32))
        )
    return np.where(np.isnan(made), np.uint32(1), made.view(np.uint32))


@needs_mode
@pytest.mark.parametrize("part", range(4))
def test_forms_alone_run_in_the_mode(part: int) -> None:
    program = Program(FORMS[part::4], 256, seed=part)
    assert "ldmxcsr" in code(program.text)
    current.choose(get_device("cpu"))
    assert list(program.wrong(launched(program, cuda.RawModule))) == []


@pytest.mark.parametrize("what", ESCAPES)
def test_values_that_leave_arithmetic_are_flushed(what: str) -> None:
    text = HEAD + ESCAPES[what] + END
    if has_mode(machine.host()):
        assert "ldmxcsr" in code(text)
    np.testing.assert_array_equal(ran(text, "cpu"), ran(text, "interp"))


@pytest.mark.parametrize("what", MIXED)
def test_other_kernels_flush_each_op(what: str) -> None:
    text = HEAD + MIXED[what] + END
    assert "ldmxcsr" not in code(text)
    if what != "a function":
        np.testing.assert_array_equal(ran(text, "cpu"), ran(text, "interp"))


@pytest.mark.parametrize("end", ["", "trap;"])
def test_the_mode_ends_with_the_kernel(end: str) -> None:
    text = HEAD + "mul.ftz.f32 %f3, %f1, %f2;" + end + END
    with gridlane.device("cpu"):
        kernel = cuda.RawModule(code=text).get_function("k")
        try:
            kernel(1, 64, (values(), np.zeros(64, np.float32), np.zeros(64, np.uint32)))
        except Exception:
            assert end
        else:
            assert not end
    assert SUBNORMAL * np.float32(1) == SUBNORMAL


INTERRUPTED = """
import os, signal, threading
import numpy as np
from gridlane import cuda
kernel = cuda.RawModule(code=open(0).read()).get_function("k")
arrays = np.ones(128, np.float32), np.zeros(64, np.float32), np.ones(64, np.uint32)
kernel(1, 64, (*arrays[:2], np.zeros(64, np.uint32)))
try:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    kernel(1, 64, arrays)
    cuda.synchronize()
except KeyboardInterrupt:
    print(np.uint32(0x400000).view(np.float32) * np.float32(1) > 0)
"""


def test_the_mode_ends_with_an_interrupted_kernel() -> None:
    loop = "L: mul.ftz.f32 %f3, %f1, %f2; setp.gt.u32 %p1, %r2, 0; @%p1 bra L;"
    environment = os.environ | {"GRIDLANE_DEVICE": "cpu"}
    made = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        input=HEAD + loop + END,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.stdout == "True\n", made.stderr


@needs_mode
@pytest.mark.parametrize("bits", [1, 0x400000, 0x80000001])
@pytest.mark.parametrize("test", ["sub.u32 %r2, %r1, {0}; setp.ne.u32 %p1, %r2, 0;", TOLD])
@pytest.mark.parametrize("use", LEARNED, ids=LEARNED)
def test_bits_that_a_branch_tells(bits, test, use):
    """LLVM knows the number behind a comparison of its bits."""
    code, flushed = LEARNED[use]
    body = f"""ld.global.u32 %r1, [%source]; mov.u32 %result, 77; {test.format(bits)}
    @%p1 bra DONE; mov.b32 %f1, %r1; {code}
    cvt.rn.f32.u32 %f3, %t; mul.ftz.f32 %f3, %f3, 0f3F000000; mov.b32 %r4, %f3;
    add.u32 %result, %r3, %r4; DONE:"""
    halves = (np.arange(32, dtype=np.float32) * np.float32(0.5)).view(np.uint32)
    made = results("cpu", body, source=np.array([bits], np.uint32))
    assert list(made) == list(halves + np.uint32(flushed(bits)))
