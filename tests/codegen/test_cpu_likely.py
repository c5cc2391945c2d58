"""Addresses that are likely adjacent: one vector where a test says so, else what each lane has."""

from __future__ import annotations

import numpy as np
import pytest
from tests.codegen.test_cpu_shapes import INDEX, emitted

import gridlane
from gridlane import cuda

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 b)
{
    .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .f32 %f<8>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [b];
    mov.u32 %r2, %tid.x;
    cvt.u64.u32 %rd3, %r2;
"""
LOAD = """
    shl.b64 %rd8, %rd7, 2; add.s64 %rd9, %rd1, %rd8; ld.global.f32 %f1, [%rd9];
    shl.b64 %rd10, %rd3, 2; add.s64 %rd11, %rd2, %rd10; st.global.f32 [%rd11], %f1;
    ret;
}"""
STORE = """
    cvt.rn.f32.u32 %f1, %r2;
    shl.b64 %rd8, %rd7, 2; add.s64 %rd9, %rd2, %rd8; st.global.f32 [%rd9], %f1;
    ret;
}"""
SIGN = "cvt.s64.s32 %rd4, %r3; shr.s64 %rd5, %rd4, 63; and.b64 %rd6, %rd5, 64; "
BIT = "cvt.s64.s32 %rd4, %r3; and.b64 %rd5, %rd4, -9223372036854775808; shr.u64 %rd6, %rd5, 57; "
PLACES = {
    "the sign": "add.s32 %r3, %r2, %r1;" + SIGN + "add.s64 %rd7, %rd6, %rd3;",
    "the sign's bit": "add.s32 %r3, %r2, %r1;" + BIT + "add.s64 %rd7, %rd6, %rd3;",
    "one element": "add.s32 %r3, %r2, %r1;" + SIGN + "add.s64 %rd7, %rd6, 7;",
    "a far stride": "mad.lo.s32 %r3, %r2, 0x40000000, %r1;" + SIGN + "add.s64 %rd7, %rd6, %rd3;",
    "32 bits": "add.u32 %r3, %r2, %r1; cvt.u64.u32 %rd4, %r3; shr.u64 %rd5, %rd4, 26;"
    "and.b64 %rd6, %rd5, 32; add.s64 %rd7, %rd6, %rd3;",
    "what wraps": "add.u32 %r3, %r2, %r1; cvt.u64.u32 %rd4, %r3; sub.u32 %r4, 0, %r1;"
    "cvt.u64.u32 %rd5, %r4; add.s64 %rd6, %rd4, %rd5; and.b64 %rd7, %rd6, 127;",
    "a remainder": "add.u32 %r3, %r2, %r1; rem.u32 %r4, %r3, 100; cvt.u64.u32 %rd7, %r4;",
    "a signed remainder": "add.s32 %r3, %r2, %r1; rem.s32 %r4, %r3, 64; add.s32 %r4, %r4, 64;"
    "cvt.s64.s32 %rd7, %r4;",
    "a choice": "add.s32 %r3, %r2, %r1; setp.ge.s32 %p1, %r3, 0; selp.b64 %rd7, %rd3, 9, %p1;",
    "a masked choice": "add.s32 %r3, %r2, %r1; mov.u64 %rd7, %rd3; setp.lt.s32 %p1, %r3, 0;"
    "@%p1 bra L; add.s64 %rd7, %rd3, 32; L:",
    "a loop": "mov.u64 %rd7, %rd3; add.s32 %r3, %r2, %r1; and.b32 %r4, %r3, 3; M:"
    "add.s64 %rd7, %rd7, 16; add.s32 %r4, %r4, -1; setp.gt.s32 %p1, %r4, 0; @%p1 bra M;",
}
STARTS = (0, 5, 100, -1, -5, -16, -40, 2**31 - 1, 2**31 - 8, 2**31 - 16, 2**31 - 40, 2**30)


@pytest.mark.parametrize("what", [LOAD, STORE], ids=["load", "store"])
@pytest.mark.parametrize("place", PLACES)
def test_lanes_that_are_adjacent_or_not(place, what):
    made = {}
    text = HEAD + PLACES[place] + what
    if what == STORE and place in ("one element", "a choice"):
        text = text.replace("add.s64 %rd7, %rd6, 7;", "add.s64 %rd7, %rd6, %rd3;")
        text = text.replace("%rd3, 9, %p1", "%rd3, %rd12, %p1")
        text = text.replace("setp.ge", "add.s64 %rd12, %rd3, 64; setp.ge")  # one thread for each
    for device in ("interp", "cpu"):
        with gridlane.device(device):
            kernel = cuda.RawModule(code=text).get_function("k")
            for start in STARTS:
                x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
                kernel(1, 50, (x, y, start & 0xFFFFFFFF))
                made[device, start] = y
    for start in STARTS:
        assert np.array_equal(made["interp", start], made["cpu", start]), start


NEGATIVE = """
%63: i64 = const 63
%k: i64 = sub %i, %n
%sign: i64 = shr %k, %63
%back: i64 = and %sign, %n
%j: i64 = add %k, %back
%a: ptr<f32, global> = offset %p, %j
"""


def test_an_index_from_the_end_is_a_row_or_a_gather():
    text = emitted(
        INDEX + NEGATIVE + "%v: f32 = load %a\n%o: ptr<f32, global> = offset %q, %i\nstore %o, %v"
    )
    assert "load <16 x float>" in text and "masked.gather" in text
    assert "masked.scatter" not in text


def test_a_remainder_is_a_row_or_a_gather():
    text = emitted(
        INDEX
        + "%j: i64 = rem %i, %n\n%a: ptr<f32, global> = offset %p, %j\n%v: f32 = load %a\n"
        + "%o: ptr<f32, global> = offset %q, %i\nstore %o, %v"
    )
    assert "load <16 x float>" in text and "masked.gather" in text


def test_a_store_of_the_same():
    text = emitted(INDEX + NEGATIVE + "%v: f32 = const 0x1.0p+0\nstore %a, %v")
    assert "store <16 x float>" in text and "masked.scatter" in text


def test_an_index_of_another_stride_is_a_gather_alone():
    text = emitted(
        INDEX
        + NEGATIVE.replace("%p, %j", "%p, %e").replace("%a:", "%e: i64 = add %j, %j\n%a:")
        + "%v: f32 = load %a\nstore %q, %v"
    )
    assert "masked.gather" in text and "load <16 x float>" not in text
