"""alloca, registers of 128 bits, the number of a launch, and which memory an address is of."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane import cuda
from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.launch import current
from gridlane.launch.devices import get_device

EVERY = pytest.mark.parametrize("device", ["interp", *DEVICES])
WITH_STACK = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
T = np.arange(32, dtype=np.uint32)

FILLS = """
.func (.param .b32 total) fills (.param .b32 count)
{
.reg .b32 %n, %i, %sum, %v; .reg .b64 %size, %at, %where, %wide; .reg .pred %p;
ld.param.b32 %n, [count];
mul.wide.u32 %size, %n, 4;
alloca.u64 %at, %size, 16;
mov.b32 %i, 0;
FILL:
setp.ge.u32 %p, %i, %n;
@%p bra SUM;
mul.wide.u32 %wide, %i, 4;
add.u64 %where, %at, %wide;
mul.lo.u32 %v, %i, %n;
st.local.u32 [%where], %v;
add.u32 %i, %i, 1;
bra FILL;
SUM:
mov.b32 %sum, 0;
ADD:
setp.eq.u32 %p, %i, 0;
@%p bra DONE;
sub.u32 %i, %i, 1;
mul.wide.u32 %wide, %i, 4;
add.u64 %where, %at, %wide;
ld.local.u32 %v, [%where];
add.u32 %sum, %sum, %v;
bra ADD;
DONE:
st.param.b32 [total], %sum;
ret;
}
"""
BODY = """
.local .align 4 .b32 kept[4];
st.local.u32 [kept+4], %t;
add.u32 %r9, %t, 3;
cvt.u64.u32 %rd9, %r9;
stacksave.u64 %rd1;
alloca.u64 %rd2, %rd9;
alloca.u64 %rd3, 12, 4;
and.b64 %rd4, %rd2, 7;
st.local.u8 [%rd2], 7;
st.local.u32 [%rd3], %t;
cvta.local.u64 %rd5, %rd3;
call (%r1), fills, (%r9);
call (%r2), fills, (%t);
ld.u32 %r3, [%rd5];
ld.local.u8 %r4, [%rd2];
ld.local.u32 %r5, [kept+4];
stackrestore.u64 %rd1;
alloca.u64 %rd6, 1;
setp.ne.b64 %p1, %rd6, %rd2;
@%p1 trap;
add.u32 %result, %r1, %r2;
mad.lo.u32 %result, %r3, 100000, %result;
mad.lo.u32 %result, %r4, 1000000, %result;
mad.lo.u32 %result, %r5, 10000000, %result;
cvt.u32.u64 %r6, %rd4;
add.u32 %result, %result, %r6;
"""


@pytest.mark.parametrize("device", WITH_STACK)
def test_alloca(device):
    sums = sum((n * n * (n - 1) // 2) for n in (T + 3, np.maximum(T, 1)))
    want = sums + T * 100000 + 7000000 + T * 10000000
    assert list(results(device, BODY, module=FILLS, via="ir")) == list(want.astype(np.uint32))


@pytest.mark.parametrize("device", [each for each in DEVICES if each not in WITH_STACK])
def test_shaders_refuse_alloca(device):
    with pytest.raises(TargetError, match=r"allocates memory by alloca: .* have no stack"):
        results(device, BODY, module=FILLS)


def test_alloca_of_more_than_the_stack(monkeypatch):
    small = dataclasses.replace(config(), stack=512, cache=False)
    for module in ("source", "translate"):
        monkeypatch.setattr(f"gridlane.frontends.ptx.{module}.config", lambda: small)
    size = (
        "cvt.u64.u32 %rd1, %t; add.u64 %rd1, %rd1, {}; alloca.u64 %rd2, %rd1; mov.b32 %result, 3;"
    )
    assert set(results("cpu", size.format(400))) == {3}
    for count in (490, 512, 1 << 32, (1 << 64) - 40):
        with pytest.raises(MemoryError, match="stack is full, with 512 bytes"):
            results("cpu", size.format(count))


WIDE = """
.reg .b128 %q<3>; .reg .b128 last;
.shared .align 16 .b8 s[512];
mov.b128 %q0, {%own, %source};
mul.wide.u32 %rd1, %t, 16;
mov.u64 %rd2, s;
add.u64 %rd2, %rd2, %rd1;
add.u64 %rd3, %source, %rd1;
ld.global.b128 %q1, [%rd3];
st.shared.b128 [%rd2], %q1;
mov.b128 {%rd4, %rd5}, %q0;
setp.ne.b64 %p1, %rd4, %own;
@%p1 trap;
ld.volatile.shared.b128 %q2, [%rd2];
mov.b128 last, %q2;
st.global.b128 [%rd3], last;
mov.b128 {_, %rd6}, last;
cvt.u32.u64 %result, %rd6;
"""


@EVERY
def test_registers_of_128_bits(device):
    words = np.arange(1, 129, dtype=np.uint32) * 0x01234567
    given = words.copy()
    assert list(results(device, WIDE, source=given)) == list(words[2::4])
    assert (given == words).all()


SPACES = """
.shared .b32 s[4]; .local .b32 l[4];
mov.u64 %rd1, seven; cvta.const.u64 %rd1, %rd1;
mov.u64 %rd2, plain; cvta.global.u64 %rd2, %rd2;
mov.u64 %rd3, s; cvta.shared.u64 %rd3, %rd3;
mov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4;
cvta.global.u64 %rd5, %source;
mov.b32 %result, 0;
""" + "".join(
    f"isspacep.{space} %p1, %rd{n}; selp.b32 %r1, {1 << 5 * at + n - 1}, 0, %p1;"
    "or.b32 %result, %result, %r1;\n"
    for at, space in enumerate(("const", "global", "shared", "local", "shared::cluster"))
    for n in range(1, 6)
)


@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each != "webgpu")])
def test_which_memory_an_address_is_of(device):
    module = ".const .u32 seven = 7; .global .u32 plain = 8;"
    want = 0b00100_01000_00100_10010_00001
    assert set(results(device, SPACES, module=module)) == {want}


def test_hints_of_loads_of_constants():
    body = (
        "ld.weak.const.u32 %r1, [seven]; ld.const.ca.u32 %r2, [seven]; add.u32 %result, %r1, %r2;"
    )
    assert set(results("cpu", body, module=".const .u32 seven = 7;")) == {14}


def test_the_number_of_a_launch():
    text = text_of("mov.u64 %rd1, %gridid; cvt.u32.u64 %result, %rd1; mov.u32 %r1, %gridid;")
    seen = []
    for device in ("interp", "cpu", "cpu"):
        current.choose(get_device(device))
        kernel = cuda.RawModule(code=text).get_function("k")
        for _ in range(2):
            made = np.zeros(64, np.uint32)
            kernel(2, 32, (np.zeros(1, np.uint32), made))
            seen.append(set(made[:32]))
    assert all(len(each) == 1 for each in seen)
    numbers = [each.pop() for each in seen]
    assert numbers == sorted(set(numbers))


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_them(tmp_path: Path):
    module = ".const .u32 seven = 7; .global .u32 plain = 8;"
    for body, more in ((BODY, FILLS), (WIDE, ""), (SPACES, module)):
        assert refused_by_ptxas(text_of(body, more), tmp_path) == []


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_code_for_memory_that_a_kernel_has_not(device):
    body = """cvta.global.u64 %rd1, %source; mov.b32 %result, 7;
    isspacep.local %p1, %rd1; @!%p1 bra over;
    mov.b64 %rd3, 64; cvta.to.local.u64 %rd2, %rd3; ld.volatile.local.u32 %result, [%rd2];
over:
"""
    assert set(results(device, body)) == {7}
