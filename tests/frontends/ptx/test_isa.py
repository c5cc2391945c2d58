"""What hand-written programs for areas of the ISA have shown: each row is a program, and what its
threads write as the ISA's text says, in Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane.core.errors import PtxError


@dataclass(frozen=True)
class Row:
    """A body, what each thread of 32 writes, and the module around it."""

    body: str
    wanted: Callable[[int], int]
    module: str = ""
    target: str = "sm_90"
    via: str = ""


def _looked_up(t: int, table: int) -> int:
    rows = [4 * (t >> at & 1) | 2 * (0xAAAA >> at & 1) | (0xCC >> at & 1) for at in range(32)]
    return sum((table >> row & 1) << at for at, row in enumerate(rows))


def _spaces(register: str) -> str:
    """A bit for each space that a generic address is of."""
    names = "param", "param::entry", "global", "local", "shared", "const"
    asked = (
        f"isspacep.{name} %p1, {register}; selp.u32 %r1, {1 << at}, 0, %p1; "
        "or.b32 %result, %result, %r1; "
        for at, name in enumerate(names)
    )
    return "mov.u32 %result, 0; " + "".join(asked)


TABLES = """
.global .u32 words[8] = {5, 6, 7, 8, 9, 10, 11, 12};
.global .u32 square[4][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
.global .b8 bytes[8] = {1, 2, 3, 4};
.const .u16 halves[4] = {9, 8, 7, 6};
"""
INDEX = "and.b32 %r1, %t, 3; "
SUM = """
.func (.param .b32 r) sum (.param .b32 n, .param .align 8 .b8 given[])
{ .reg .b32 %a<6>; .reg .b64 %at; .reg .pred %p; ld.param.b32 %a1, [n]; mov.b64 %at, given;
mov.u32 %a2, 0; mov.u32 %a3, 0;
NEXT: ld.local.b32 %a4, [%at]; add.u32 %a2, %a2, %a4; add.u64 %at, %at, 4; add.u32 %a3, %a3, 1;
setp.lt.u32 %p, %a3, %a1; @%p bra NEXT;
st.param.b32 [r], %a2; ret; }
"""
SUMS = """
.param .b32 n; .param .b32 r;
{ .param .align 8 .b8 given[4]; st.param.b32 [given], %t; st.param.b32 [n], 1;
  CALL (r), FUNCTION, (n, given)WITH; ld.param.b32 %r1, [r]; }
{ .param .align 8 .b8 given[12]; st.param.b32 [given], %t; st.param.b32 [given + 4], 7;
  st.param.b32 [given + 8], 9; st.param.b32 [n], 3; CALL (r), FUNCTION, (n, given)WITH;
  ld.param.b32 %r2, [r]; }
mad.lo.u32 %result, %r1, 100, %r2;
"""
PROTOTYPE = (
    "mov.u64 %rd1, sum; kind: .callprototype (.param .b32 _) _ (.param .b32 _, "
    ".param .align 8 .b8 _[]);"
)


def _sums(function: str, last: str = "") -> str:
    made = SUMS.replace("CALL", "call").replace("FUNCTION", function)
    return made.replace("WITH", last)


LEAST = """
mul.lo.u32 %r1, %t, 37; and.b32 %r1, %r1, 31; sub.s32 %r1, %r1, 16; cvt.rn.f32.s32 %f1, %r1;
setp.eq.u32 %p1, %t, 9; selp.f32 %f2, 0f7FFFFFFF, %f1, %p1; mov.f32 %f3, 0fFFC00000;
setp.lt.u32 %p2, %t, 7; selp.f32 %f4, 0f80000000, 0f00000000, %p2;
redux.sync.KIND.f32 %f5, SOURCE, 0xffffffff; mov.b32 %result, %f5;
"""


def _reduced(kind: str, source: str, bits: int) -> Row:
    body = LEAST.replace("KIND", kind).replace("SOURCE", source)
    return Row(body, lambda t: bits, target="sm_100a", via="ir")  # older GPUs refuse it


ROWS = {
    "an element at a register": Row(
        INDEX + "ld.global.u32 %result, words[%r1];", lambda t: 5 + t % 4, TABLES
    ),
    "the low word of a register": Row(
        INDEX + "cvt.u64.u32 %rd1, %r1; or.b64 %rd1, %rd1, 0xFFFF00000000;"
        "ld.global.u32 %result, words[%rd1 + 2];",
        lambda t: 7 + t % 4,
        TABLES,
    ),
    "an index of 16 bits": Row(
        INDEX + "cvt.u16.u32 %h1, %r1; ld.global.u8 %result, bytes[%h1];",
        lambda t: 1 + t % 4,
        TABLES,
    ),
    "a constant below 0": Row(
        INDEX + "add.u32 %r1, %r1, 4;ld.const.u16 %result, halves[%r1 + -4];",
        lambda t: 9 - t % 4,
        TABLES,
    ),
    "an element of rows": Row(
        INDEX + "ld.global.u32 %result, square[%r1 + 1];", lambda t: 1 + t % 4, TABLES
    ),
    "elements under a guard": Row(
        INDEX + "mov.u32 %result, 77; setp.lt.u32 %p1, %t, 9;"
        "@%p1 ld.global.u32 %result, words[%r1];",
        lambda t: 5 + t % 4 if t < 9 else 77,
        TABLES,
    ),
    "elements of shared memory": Row(
        ".shared .u32 tile[33]; st.shared.u32 tile[%t + 1], %t; bar.sync 0; mov.u32 %r3, 31;"
        "sub.u32 %r3, %r3, %t; mov.u32 %r4, tile[%r3]; ld.shared.u32 %result, [%r4 + 4];",
        lambda t: 31 - t,
    ),
    "elements of local memory": Row(
        INDEX + ".local .u32 own[4]; st.local.u32 own[%r1], %t; ld.local.u32 %result, own[%r1];",
        lambda t: t,
    ),
    **{
        f"lop3 with the table {given}": Row(
            f"lop3.b32 %result, %t, 0xAAAA, 0xCC, {given};",
            lambda t, given=given: _looked_up(t, given & 255),
        )
        for given in (256, -1, 0x1E8)
    },
    "the space of a parameter": Row(
        "mov.b64 %rd1, source; cvta.param.u64 %rd1, %rd1; " + _spaces("%rd1"), lambda t: 7
    ),
    "the space of a parameter or a local variable": Row(
        ".local .b32 own[4]; mov.b64 %rd1, source; cvta.param.u64 %rd1, %rd1;"
        "mov.b64 %rd2, own; cvta.local.u64 %rd2, %rd2; setp.lt.u32 %p1, %t, 9;"
        "selp.b64 %rd1, %rd1, %rd2, %p1; " + _spaces("%rd1"),
        lambda t: 7 if t < 9 else 8,
    ),
    "the space of a function's parameter": Row(
        "call (%result), asks, (%made);",
        lambda t: 8,
        ".func (.reg .u32 %result) asks (.param .u64 given) { .reg .pred %p1; .reg .b32 %r1;"
        ".reg .b64 %at; mov.b64 %at, given; cvta.local.u64 %at, %at; " + _spaces("%at") + "ret; }",
    ),
    "arrays for a parameter without a size": Row(_sums("sum"), lambda t: 100 * t + t + 16, SUM),
    "the same by an address": Row(
        PROTOTYPE + _sums("%rd1", ", kind"), lambda t: 100 * t + t + 16, SUM
    ),
    # Numbers -16.0 to 15.0 but for one that is NaN, NaN alone, and zeros of both signs.
    "the least float": _reduced("min", "%f2", 0xC1800000),
    "the greatest size": _reduced("max.abs", "%f1", 0x41800000),
    "a NaN among floats": _reduced("max.NaN", "%f2", 0x7FFFFFFF),
    "no number": _reduced("min", "%f3", 0x7FFFFFFF),
    "the least zero": _reduced("min", "%f4", 0x80000000),
    "the greatest zero": _reduced("max", "%f4", 0),
    "fences of tensors' descriptions": Row(
        "fence.proxy.tensormap::generic.release.gpu;"
        "fence.proxy.tensormap::generic.acquire.sys [%source], 128; mov.u32 %result, 3;",
        lambda t: 3,
    ),
    "no reserved memory": Row(
        "mov.u32 %r1, %reserved_smem_offset_begin; mov.u32 %r2, %reserved_smem_offset_cap;"
        "mov.u32 %r3, %reserved_smem_offset_end; sub.u32 %result, %r3, %r1;",
        lambda t: 0,
        via="ir",  # GPUs reserve some
    ),
    "a float that begins with a point": Row(
        "mov.f32 %f1, .25; mul.f32 %f1, %f1, 8.0; cvt.rzi.u32.f32 %result, %f1;", lambda t: 2
    ),
    "sizes in octal": Row(
        ".shared .align 1 .b8 tile[0200]; st.shared.u8 [tile + 127], %t;"
        "mov.u32 %result, %total_smem_size;",
        lambda t: 128,
    ),
    "sizes in warps": Row(
        ".local .align 4 .b8 own[WARP_SZ]; st.local.u32 [own + 28], %t;"
        "ld.local.u32 %result, [own + 28];",
        lambda t: t,
    ),
    "a sum that is an address elsewhere": Row(
        ".shared .b32 tile[32]; mov.u64 %rd2, tile; cvta.shared.u64 %rd2, %rd2;"
        "mad.wide.u32 %rd1, %t, 4, %rd2; st.u32 [%rd1], %t; setp.gt.u32 %p1, %t, 99;"
        "selp.b64 %rd1, %source, %rd1, %p1; ld.u32 %result, [%rd1];",
        lambda t: t,
    ),
    "a difference that is one": Row(
        ".shared .b32 tile[32]; mov.u64 %rd2, tile; cvta.shared.u64 %rd2, %rd2;"
        "mul.wide.u32 %rd3, %t, 4; add.u64 %rd2, %rd2, 124; sub.u64 %rd1, %rd2, %rd3;"
        "st.u32 [%rd1], %t; setp.gt.u32 %p1, %t, 99;"
        "selp.b64 %rd1, %source, %rd1, %p1; ld.u32 %result, [%rd1];",
        lambda t: t,
    ),
    "the type of no handle": Row(
        "istypep.texref %p1, %source; selp.u32 %result, 1, 0, %p1;",
        lambda t: 0,
        ".global .texref image;",
    ),
}
T = range(32)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_programs(device, row: Row):
    wanted = np.array([row.wanted(t) & 0xFFFFFFFF for t in T], np.uint32)
    made = results(device, row.body, module=row.module, target=row.target, via=row.via)
    assert list(made) == list(wanted)


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_ptxas_accepts_them(tmp_path: Path, row: Row):
    text = text_of(row.body, row.module, row.target, "8.8")
    assert refused_by_ptxas(text, tmp_path, row.target) == []


@pytest.mark.parametrize(
    "body, told",
    [
        ("mov.b32 %result, %envreg31;", "%envreg31 is refused: the driver of a GPU sets it"),
        ("mov.u64 %rd1, %pm7_64;", "%pm7_64 is refused: it is a counter of performance"),
        ("mov.u32 %result, %envreg32;", "neither declared nor a special register"),
        ("lop3.b32 %result, %t, %t, %t, 1.5;", "the table is an integer constant"),
        ("ld.global.u32 %result, words[2 * %t];", "no element of an array"),
        (".shared .b8 own[09];", r"\[09\]: the size of an array is a number"),
    ],
)
def test_refusals(body, told):
    with pytest.raises(PtxError, match=told):
        results("interp", body, module=TABLES)
