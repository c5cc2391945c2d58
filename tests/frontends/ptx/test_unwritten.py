"""Registers that are read before they are written: 0 on devices, on interp an error where it
matters."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import results, text_of

from gridlane.core.errors import KernelError
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.ir.printer import print_module

OWN = np.arange(32)
LOW = "setp.lt.u32 %p1, %t, 16;"

HARMLESS = {
    "the side that is chosen": (
        "setp.lt.u32 %p1, %t, 99; mov.u32 %r1, 7; selp.b32 %result, %r1, %r2, %p1;",
        7,
    ),
    "a value without use": ("add.u32 %r1, %r2, 1; mul.lo.u32 %r1, %r1, %t; mov.u32 %result, 5;", 5),
    "written in the first iteration": (
        # That the branch is taken first, no analysis of paths sees.
        """mov.u32 %r2, 0;
        LOOP: setp.ne.u32 %p1, %r2, 0; @%p1 bra LATER;
        mov.u32 %r1, %t; bra NEXT;
        LATER: add.u32 %r1, %r1, 1;
        NEXT: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 4; @%p2 bra LOOP;
        mov.u32 %result, %r1;""",
        OWN + 3,
    ),
    "written under both guards": (
        f"{LOW} @%p1 mov.u32 %result, 3; @!%p1 mov.u32 %result, 4;",
        np.where(OWN < 16, 3, 4),
    ),
    "the other half": ("mov.u32 %r1, 9; cvt.u16.u32 %h1, %r1; mov.b32 %r2, {%h1, %h2};"
                       "mov.b32 {%h3, %h4}, %r2; cvt.u32.u16 %result, %h3;", 9),
    "masked off": ("mov.b32 %r2, {%h2, %h2}; and.b32 %r3, %r2, 0; add.u32 %result, %r3, 2;", 2),
    "permuted away": ("prmt.b32 %result, %t, %r2, 0x3210;", OWN),
    "the other lane": (
        f"{LOW} @%p1 mov.u32 %r1, %t; shfl.sync.idx.b32 %r2, %r1, 5, 31, -1; mov.u32 %result, %r2;",
        5,
    ),
    "overwritten in local memory": (
        """.local .align 8 .b32 own_array[2]; mov.u64 %rd2, own_array; cvta.local.u64 %rd3, %rd2;
        st.v2.u32 [%rd3], {%r1, %r2}; st.u32 [%rd3], %t; ld.u32 %result, [%rd3];""",
        OWN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("what", HARMLESS)
def test_what_does_not_matter(device, what):
    body, wanted = HARMLESS[what]
    np.testing.assert_array_equal(results(device, body), np.broadcast_to(wanted, 32))


MATTERS = {
    "store: the value stored": "mov.u32 %result, 1;\nst.global.u32 [%own], %r7;",
    "store: the value": "mov.u32 %result, 1;\nst.global.v2.u32 [%made], {%t, %r7};",
    "if: the condition": "mov.u32 %result, 1;\n@%p7 bra END; add.u32 %result, %t, 1;\nEND:",
    "if: the condition of": "mov.u32 %result, 1;\n@%p7 st.global.u32 [%own], %t;",
    "load: the address": "add.u64 %rd1, %rd7, %rd7;\nld.global.u32 %result, [%rd1];",
    "store: the address": "mov.u32 %result, 1;\nst.global.u32 [%rd7], %t;",
    "atomic: an operand": "mov.u32 %result, 1;\nred.global.add.u32 [%own], %r7;",
    "barrier_part: the barrier's count": "mov.u32 %result, 1;\nbar.sync 1, %r7;",
}


@pytest.mark.parametrize("told", MATTERS)
def test_what_matters(told):
    """The error has the line of the instruction, and names the register."""
    body = MATTERS[told]
    first = text_of("HERE").split("\n").index("HERE") + 1
    with pytest.raises(KernelError) as caught:
        results("interp", body)
    message = str(caught.value)
    assert message.startswith(told)
    assert re.search(r"%(r|p|rd)7, which is read before it is written", message)
    assert f":{first + 1}:" in message


@pytest.mark.parametrize("device", DEVICES)
def test_devices_take_zero(device):
    body = "add.u32 %r1, %r7, 3; @%p7 add.u32 %r1, %r1, 1; add.u32 %result, %r1, %r8;"
    assert results(device, body).tolist() == [3] * 32


FUNCTION = """.func (.reg .b32 %out) part(.reg .b32 %in)
{
.reg .pred %p<2>;
setp.lt.u32 %p1, %in, 16; @%p1 mov.u32 %out, %in;
ret;
}
"""


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_a_result_that_is_not_used(device):
    body = f"call (%r1), part, (%t); {LOW} selp.b32 %result, %r1, 50, %p1;"
    got = results(device, body, module=FUNCTION)
    np.testing.assert_array_equal(got, np.where(OWN < 16, OWN, 50))


def test_a_result_that_is_used():
    with pytest.raises(KernelError, match=r"value stored depends on %out.*thread \(16, 0, 0\)"):
        results("interp", "call (%result), part, (%t);", module=FUNCTION)


@pytest.mark.parametrize(
    "body",
    [
        f"{LOW} @%p1 bra A; mov.u32 %result, 1; bra B; A: mov.u32 %result, 2; B:",
        "mov.u32 %r1, 0; A: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra A;",
        f"{LOW} mov.u32 %r1, %t; @%p1 mov.u32 %r1, 8; mov.u32 %result, %r1;",
        f"{LOW} @!%p1 bra B; mov.u32 %r1, 3; B: mov.u32 %r1, 4; add.u32 %result, %r1, 1;",
    ],
)
def test_registers_that_are_written_first(body):
    """They are as they were: nothing is tracked."""
    module = parse_ptx(text_of(body + " mov.u32 %result, 1;"))
    assert "undefined" not in print_module(PtxSource(module, "k").translate((), KernelOptions()))
