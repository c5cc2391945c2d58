"""Calls in PTX: parameters and results in registers, constants, guards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane import cuda
from gridlane.core.errors import PtxError

EVERY = pytest.mark.parametrize("device", ["interp", *DEVICES])
T = np.arange(32, dtype=np.uint32)

FUNCTIONS = """
.func (.reg .u32 %out, .reg .pred %less) both (.reg .u32 %a, .reg .pred %p, .reg .f32 %x)
{
.reg .u32 %n;
cvt.rzi.u32.f32 %n, %x;
@%p add.u32 %n, %n, 100;
setp.lt.u32 %less, %n, %a;
add.u32 %out, %n, %a;
ret;
}
.func (.reg .b32 %out) early (.reg .b32 %a)
{
.reg .pred %p;
setp.gt.u32 %p, %a, 9;
mov.b32 %out, 7;
@%p ret;
add.u32 %a, %a, 1;
mul.lo.u32 %out, %a, %a;
}
.func (.param .b32 out) kept (.param .b32 a)
{
.reg .b32 %a;
ld.param.b32 %a, [a];
add.u32 %a, %a, 5;
st.param.b32 [out], %a;
ret;
}
.func stored (.reg .u64 %to, .reg .u32 %value) { st.u32 [%to], %value; ret; }
"""
TABLE = ".const .u64 table[1] = { kept };"
BODY = """
setp.gt.u32 %p1, %t, 5;
call (%r1, %p2), both, (%t, %p1, 0f41200000);
selp.u32 %r2, 1000, 0, %p2;
add.u32 %r1, %r1, %r2;
call (%r3), early, (%t);
add.u32 %r1, %r1, %r3;
call (%r4), kept, (12);
add.u32 %r1, %r1, %r4;
mov.u32 %r5, 3;
@!%p1 call (%r5), kept, (%r5);
add.u32 %result, %r1, %r5;
"""


def wanted() -> np.ndarray:
    """What BODY makes."""
    n = np.where(T > 5, 110, 10)
    both = n + T + np.where(n < T, 1000, 0)
    early = np.where(T > 9, 7, (T + 1) ** 2)
    return both + early + 17 + np.where(T > 5, 3, 8)


@EVERY
def test_registers_constants_and_guards(device):
    assert list(results(device, BODY, module=FUNCTIONS)) == list(wanted())


def test_another_name_of_a_function():
    more = ".func (.param .b32 out) other (.param .b32 a);\n.alias other, kept;"
    body = "call (%result), other, (%t);"
    assert list(results("cpu", body, module=FUNCTIONS + more)) == list(T + 5)


@pytest.mark.parametrize(
    "alias, told",
    [
        (".alias f, nothing;", "nothing is no function that is defined"),
        (".alias kept, early;", "kept is defined a second time"),
        (".alias kept;", "no directive of a module"),
    ],
)
def test_what_is_no_alias(alias, told):
    with pytest.raises(PtxError, match=told):
        results("interp", "", module=FUNCTIONS + alias)


GUARDED = """
setp.lt.u32 %p1, %t, 8;
{
.param .b32 given; .param .b32 back;
st.param.b32 [given], %t;
@%p1 call (back), kept, (given);
ld.param.b32 %r1, [back];
}
selp.b32 %r1, %r1, 1, %p1;
ld.const.u64 %rd1, [table];
prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
call (%r2), %rd1, (%r1), prototype;
@!%p1 call (_), %rd1, (9), prototype;
add.u64 %rd2, %own, 0;
call stored, (%rd2, %r2);
ld.global.u32 %result, [%own];
"""


@EVERY
def test_guarded_params_and_calls_by_address(device):
    found = results(device, GUARDED, module=FUNCTIONS + TABLE)
    assert list(found) == list(np.where(T < 8, T + 10, 6))


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_them(tmp_path: Path):
    assert refused_by_ptxas(text_of(BODY, FUNCTIONS), tmp_path) == []


@pytest.mark.parametrize(
    "body, told",
    [
        ("call (%r1), kept, (%rd1);", "an operand has 64 bits, not the 32 of .u32"),
        ("call (%rd1), kept, (%r1);", "%rd1 has 64 bits, the result has 32"),
        ("call (%r1), kept, (%r1, %r2);", "2 arguments or results are given, not the 1 of kept"),
        ("call (%r1), kept, ({%r1, %r2});", "pass a .param variable"),
        ("call (3), kept, (%r1);", "a result is a register"),
        ("call (%r1), bytes, (%r1);", "a has 8 bytes: pass a .param variable"),
    ],
)
def test_operands_that_fit_no_parameter(body, told):
    more = """.func (.param .b32 out) bytes (.param .b8 a[8]) { ret; }"""
    with pytest.raises(PtxError, match=told):
        results("interp", body, module=FUNCTIONS + more)


def test_labels_that_begin_with_a_percent_sign():
    body = "mov.b32 %result, 1; setp.gt.u32 %p1, %t, 3; @%p1 bra %on; mov.b32 %result, 2; %on:"
    assert list(results("cpu", body)) == list(np.where(T > 3, 1, 2))


def test_a_kernel_has_no_registers_as_parameters():
    text = ".version 8.0 .target sm_80\n.entry k(.reg .u32 %a) { ret; }"
    with pytest.raises(PtxError, match=r"k is a kernel: its parameters are \.param variables"):
        cuda.RawModule(code=text)


SECOND = """
.func (.param .b32 out) second (.param .b64 unused, .param .align 8 .b8 pair[16])
{
.reg .b32 %a;
ld.param.b32 %a, [pair+8];
st.param.b32 [out], %a;
ret;
}
"""


@EVERY
def test_what_a_callee_does_not_need(device):
    body = """{ .param .b64 a; .param .align 8 .b8 b[16]; .param .b32 c;
    st.param.b32 [b+8], %t; call (c), second, (a, b); ld.param.b32 %result, [c]; }"""
    assert list(results(device, body, module=SECOND)) == list(T)


@EVERY
def test_labels_for_debuggers_within_a_call(device):
    body = """{ .param .b32 a; .param .b32 c;
    $L__tmp0: st.param.b32 [a], %t; $L__tmp1: call (c), kept, (a);
    $L__tmp2: ld.param.b32 %result, [c]; }"""
    assert list(results(device, body, module=FUNCTIONS)) == [t + 5 for t in T]


@pytest.mark.parametrize("before", ["st.param.b32 [a], %t;", "call (a), kept, (%t);"])
def test_an_argument_that_another_block_writes(before):
    body = (
        "{ .param .b32 a; .param .b32 c;"
        + before
        + """setp.gt.u32 %p1, %t, 5;
    @%p1 bra L;
    call (c), kept, (a); ld.param.b32 %result, [c];
    L: }"""
    )
    with pytest.raises(PtxError, match="bytes 0 to 4 of a were not written whole"):
        results("cpu", body, module=FUNCTIONS)
