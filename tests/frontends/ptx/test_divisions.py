"""Divisions of 64 bits as compilers write them: with a branch for operands of 32 bits, or as a
multiplication, whose upper half counts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
BODY = """
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pq, .param .u64 pr, .param .u64 ph) {{
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<30>;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd1, %r1, 8;
  ld.param.u64 %rd2, [pa];
  add.s64 %rd2, %rd2, %rd1;
  ld.global.u64 %rd3, [%rd2];
  ld.param.u64 %rd4, [pb];
  add.s64 %rd4, %rd4, %rd1;
  ld.global.u64 %rd5, [%rd4];
  or.b64 %rd6, %rd3, %rd5;
  and.b64 %rd7, %rd6, -4294967296;
  setp.eq.s64 %p1, %rd7, 0;
  @%p1 bra NARROW;
  div.{t}64 %rd10, %rd3, %rd5;
  mul.lo.s64 %rd11, %rd10, %rd5;
  sub.s64 %rd12, %rd3, %rd11;
  bra.uni DONE;
NARROW:
  cvt.u32.u64 %r2, %rd3;
  cvt.u32.u64 %r3, %rd5;
  div.u32 %r4, %r2, %r3;
  mul.lo.s32 %r5, %r4, %r3;
  sub.s32 %r6, %r2, %r5;
  cvt.u64.u32 %rd10, %r4;
  cvt.u64.u32 %rd12, %r6;
DONE:
  mul.hi.{t}64 %rd13, %rd3, %rd5;
  ld.param.u64 %rd20, [pq];
  add.s64 %rd20, %rd20, %rd1;
  st.global.u64 [%rd20], %rd10;
  ld.param.u64 %rd21, [pr];
  add.s64 %rd21, %rd21, %rd1;
  st.global.u64 [%rd21], %rd12;
  ld.param.u64 %rd22, [ph];
  add.s64 %rd22, %rd22, %rd1;
  st.global.u64 [%rd22], %rd13;
  ret;
}}"""
EDGES = (0, 1, 7, (1 << 31) - 1, (1 << 32) - 1, 1 << 32, (1 << 53) + 1, (1 << 63) - 1, 1 << 63)
NUMBERS = [n for edge in EDGES for n in (edge, -edge % (1 << 64))] + [3, 10, 100, 1000, 65537, 99]
WORD = 1 << 64


def wanted(a: int, b: int, signed: bool) -> tuple[int, int, int]:
    """The quotient, the remainder and the product's upper half."""
    narrow = max(a, b) < 1 << 32
    if signed:
        a, b = (n - WORD if n >> 63 else n for n in (a, b))
    upper = (a * b) >> 64
    if b == 0:
        quotient = (1 << 32) - 1 if narrow else -1
        return quotient, a, upper
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b, upper


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("kind", ["s", "u"])
def test_divisions_of_every_width(device: str, kind: str) -> None:
    """In each group of lanes some operands fit in 32 bits and others do not."""
    current.choose(get_device(device))
    kernel = cuda.RawModule(code=HEAD + BODY.format(t=kind)).get_function("k")
    for turn in range(len(NUMBERS)):
        divisors = NUMBERS[turn:] + NUMBERS[:turn]
        a, b = np.array(NUMBERS, np.uint64), np.array(divisors, np.uint64)
        made = [np.zeros(len(NUMBERS), np.uint64) for _ in range(3)]
        kernel(1, len(NUMBERS), (a, b, *made))
        for index, (x, y) in enumerate(zip(NUMBERS, divisors, strict=True)):
            model = tuple(n % WORD for n in wanted(x, y, kind == "s"))
            assert tuple(int(each[index]) for each in made) == model, (x, y)
