"""Barriers with a number and a count, on each device; and those that cannot be kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane.core.errors import CompileError, KernelError, PtxError

ALL = ["interp", *DEVICES]
TILE = ".shared .align 4 .b8 tile[1024];"
EXCHANGE = """
mov.u32 %r1, tile; shl.b32 %r2, %t, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %t;
{barrier}
xor.b32 %r4, %r2, 252; add.u32 %r5, %r1, %r4; ld.shared.u32 %result, [%r5];
"""
I = np.arange(128)
"""Threads of two groups of 64, whose warps exchange words."""


@pytest.mark.parametrize("device", ALL)
@pytest.mark.parametrize(
    "barrier",
    [
        "bar.sync 5;",
        "bar.sync 5, 128;",
        "barrier.sync 5, 128;",
        "barrier.cta.sync.aligned 0, 128;",
        "shr.u32 %r8, %t, 6; add.u32 %r8, %r8, 1; bar.sync %r8, 64;",
        "mov.u32 %r9, %ntid.x; bar.cta.sync 15, %r9;",
    ],
)
def test_words_are_exchanged(device, barrier):
    made = results(device, TILE + EXCHANGE.format(barrier=barrier), 128)
    assert (made == (I ^ 63)).all()


APART = """
and.b32 %r10, %t, 3; setp.eq.u32 %p2, %r10, 0; setp.lt.u32 %p1, %t, 32;
@%p1 bra FIRST;
bar.red.popc.u32 %result, 1, 96, %p2;
bra LAST;
FIRST: bar.red.popc.u32 %result, 2, 32, !%p2;
LAST:
"""


@pytest.mark.parametrize("device", ALL)
def test_warps_wait_apart(device):
    made = results(device, APART, 128)
    assert (made == np.where(I < 32, 24, 24)).all()


@pytest.mark.parametrize("device", ALL)
def test_votes(device):
    body = """
    setp.lt.u32 %p1, %t, 64; shr.u32 %r1, %t, 5; add.u32 %r2, %r1, 3;
    barrier.cta.red.and.aligned.pred %p2, %r2, 32, %p1;
    barrier.cta.red.or.pred %p3, 8, 128, %p1;
    selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %result, %r3, %r4;
    """
    assert (results(device, body, 128) == np.where(I < 64, 3, 2)).all()


PRODUCED = """
setp.lt.u32 %p1, %t, 32; mov.u32 %r1, tile; and.b32 %r2, %t, 31; shl.b32 %r2, %r2, 2;
add.u32 %r3, %r1, %r2; mov.u32 %r5, 0;
@!%p1 bra CONSUMES;
mul.lo.u32 %r4, %t, 3; st.shared.u32 [%r3], %r4; bar.arrive 1, 128;
bra LAST;
CONSUMES: bar.sync 1, 128; ld.shared.u32 %r5, [%r3];
LAST: mov.u32 %result, %r5;
"""


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_warp_that_does_not_wait(device):
    made = results(device, TILE + PRODUCED, 128)
    assert (made == np.where(I < 32, 0, I % 32 * 3)).all()


@pytest.mark.parametrize("device", [each for each in DEVICES if each not in ("cpu", "cuda")])
def test_arrivals_are_refused_where_warps_run_in_no_order(device):
    with pytest.raises(CompileError, match="barrier_arrive"):
        results(device, TILE + PRODUCED, 128)


@pytest.mark.parametrize("device", [each for each in ALL if each != "cuda"])
@pytest.mark.parametrize("barrier", ["bar.sync 1, 96;", "and.b32 %r9, %t, 1; bar.sync %r9, 32;"])
def test_other_threads_than_it_waits_for(device, barrier):
    """NVIDIA's hardware waits for ever for the others."""
    with pytest.raises((KernelError, RuntimeError), match="threads"):
        results(device, TILE + EXCHANGE.format(barrier=barrier), 128)


@pytest.mark.parametrize(
    "barrier, told",
    [
        ("bar.sync 16;", "barriers 0 to 15, not 16"),
        ("bar.sync 1, 33;", "a multiple of 32, not 33"),
        ("bar.red.popc.u32 %r1, 1, 0, %p1;", "a multiple of 32, not 0"),
        ("bar.arrive 1;", "bar.arrive with 1 operands is not translated"),
    ],
)
def test_a_barrier_that_is_none(barrier, told):
    with pytest.raises(PtxError, match=told):
        results("interp", barrier)


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("body", [APART, TILE + PRODUCED])
def test_ptxas_accepts_them(tmp_path: Path, body):
    assert refused_by_ptxas(text_of(body), tmp_path) == []
