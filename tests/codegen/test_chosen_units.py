"""Choices between -1.0, 1.0 and the zeros, which Mesa's compilers read with the other zero."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import results

ONES = {16: 0x3C00, 32: 0x3F800000, 64: 0x3FF0000000000000}
"""The bits of 1.0."""
READ = {
    16: "cvt.u32.u16 %result, %h3;",
    32: "mov.b32 %result, %f3;",
    64: "mov.b64 {%r1, %r2}, %fd3; xor.b32 %result, %r1, %r2;",
}
FILES = {16: "h", 32: "f", 64: "fd"}
T = np.arange(32)


def expected(bits: int, first: int, second: int) -> np.ndarray:
    made = [(each & 0xFFFFFFFF) ^ (each >> 32) if bits == 64 else each for each in (first, second)]
    return np.where(T < 5, *made)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("way", ["select", "branch"])
def test_the_sign_of_a_zero(device, bits, way):
    """Every pair of a one and a zero, in either order."""
    top, file = 1 << bits - 1, FILES[bits]
    for one in (ONES[bits], ONES[bits] | top):
        for zero in (0, top):
            for first, second in ((one, zero), (zero, one)):
                put = f"mov.b{bits} %{file}1, {first}; mov.b{bits} %{file}2, {second};"
                if file != "h":
                    put = f"mov.f{bits} %{file}1, 0{'fd'[bits == 64]}{first:0{bits // 4}X};"
                    put += f"mov.f{bits} %{file}2, 0{'fd'[bits == 64]}{second:0{bits // 4}X};"
                chosen = f"selp.b{bits} %{file}3, %{file}1, %{file}2, %p1;"
                if way == "branch":
                    chosen = f"""mov.b{bits} %{file}3, %{file}2; @!%p1 bra DONE;
                    mov.b{bits} %{file}3, %{file}1; DONE:"""
                body = f"setp.lt.u32 %p1, %t, 5; {put} {chosen} {READ[bits]}"
                assert list(results(device, body)) == list(expected(bits, first, second)), body


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("first, second", [(0xBF800000, 0), (0x3F800000, 0x80000000)])
def test_integers_with_such_bits(device, first, second):
    body = f"setp.lt.u32 %p1, %t, 5; selp.b32 %result, {first}, {second}, %p1;"
    assert list(results(device, body)) == list(np.where(T < 5, first, second))
