"""Barriers with a number and a count, on each device; and those that cannot be kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane.core.config import Config
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


SLOTS = """
.shared .b32 slots[128]; mov.u32 %r1, slots; shl.b32 %r2, %t, 2; add.u32 %r3, %r1, %r2;
shr.u32 %r4, %t, 5; mov.u32 %r5, 0; mov.u32 %result, 0;
"""
RING = """
and.b32 %r6, %t, 31; shl.b32 %r7, %r6, 2; add.u32 %r3, %r1, %r7;
setp.eq.u32 %p1, %r4, PRODUCER; @%p1 bra PRODUCES;
CONSUMES: BAR.sync 1, 64; ld.shared.u32 %r7, [%r3]; add.u32 %result, %result, %r7;
BAR.arrive 2, 64; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 8; @%p2 bra CONSUMES;
bra LAST;
PRODUCES: setp.eq.u32 %p3, %r5, 0; @%p3 bra FIRST; BAR.sync 2, 64;
FIRST: mad.lo.u32 %r7, %r5, 100, %r6; st.shared.u32 [%r3], %r7; BAR.arrive 1, 64;
add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 8; @%p2 bra PRODUCES;
BAR.sync 2, 64;
LAST:
"""
NUMBER = {"FIXED": "3, 128", "VARIED": "%r9, 64"}
APART_TOO = """
setp.lt.u32 %p1, %r4, 2; and.b32 %r9, %r4, 1; add.u32 %r9, %r9, 1; @%p1 bra LOW;
mul.lo.u32 %r6, %t, 5; st.shared.u32 [%r3], %r6; bar.sync AT; bra READ;
LOW: mul.lo.u32 %r6, %t, 7; st.shared.u32 [%r3], %r6; bar.sync AT;
READ: xor.b32 %r2, %r2, 256; add.u32 %r1, %r1, %r2; ld.shared.u32 %result, [%r1];
"""
LOOP = """
setp.lt.u32 %p1, %t, 32;
AGAIN: setp.eq.u32 %p2, %r5, %t; @%p1 bra LOW; barrier.red.or.pred %p3, 5, 64, %p2; bra BOTH;
LOW: barrier.red.or.pred %p3, 5, 64, %p2;
BOTH: setp.ge.u32 %p4, %t, %r5; barrier.red.and.pred %p5, 6, 64, %p4;
selp.u32 %r6, 1, 0, %p3; selp.u32 %r7, 16, 0, %p5; add.u32 %r6, %r6, %r7;
add.u32 %result, %result, %r6; add.u32 %r5, %r5, 1; setp.lt.u32 %p6, %r5, 4; @%p6 bra AGAIN;
"""
LANES = """
setp.lt.u32 %p1, %t, 16; @!%p1 barrier.sync 2, 32; @!%p1 ld.shared.u32 %result, [%r3 + -64];
@%p1 st.shared.u32 [%r3], %t; @%p1 barrier.arrive 2, 32; @%p1 mov.u32 %result, 99;
"""
SHORT = """
st.shared.u32 [%r3], %t; setp.ge.u32 %p1, %t, 32; @%p1 bra LAST_ONES;
barrier.sync 4, 64; ld.shared.u32 %result, [%r1 + 132]; bra DONE;
LAST_ONES: barrier.sync 4, 64; ld.shared.u32 %result, [%r1 + 8];
DONE:
"""
ENDED = """
mov.u32 %result, 77; st.global.u32 [%own], %result; st.shared.u32 [%r3], %t;
and.b32 %r6, %t, 3; setp.eq.u32 %p2, %r6, 3; @%p2 exit;
setp.ge.u32 %p1, %t, 32; @%p1 bra LAST_ONES;
bar.sync 4, 64; ld.shared.u32 %result, [%r1 + 132]; bra DONE;
LAST_ONES: bar.sync 4, 64; ld.shared.u32 %result, [%r1 + 8];
DONE:
"""
ALL_WAIT = """
setp.lt.u32 %p1, %t, 32; @!%p1 bra ARRIVES; bar.sync 1; ld.shared.u32 %result, [%r3 + 128];
bra MEET;
ARRIVES: mul.lo.u32 %r6, %t, 5; st.shared.u32 [%r3], %r6; bar.arrive 1, 64;
MEET: bar.sync 0;
"""


def ring(kind: str, producer: int) -> tuple[str, int, np.ndarray]:
    own = np.arange(64)
    taken = np.where(own // 32 == producer, 0, 2800 + 8 * (own % 32))
    return RING.replace("BAR", kind).replace("PRODUCER", str(producer)), 64, taken


BY_TURNS = {
    **{f"{kind} from {n}": ring(kind, n) for kind in ("bar", "barrier") for n in (0, 1)},
    **{
        f"{name} at two places": (
            APART_TOO.replace("AT", at),
            128,
            (I ^ 64) * np.where(I < 64, 5, 7),
        )
        for name, at in NUMBER.items()
    },
    "reductions": (LOOP, 64, np.full(64, 4 + 16)),
    "lanes of a warp": (LANES, 32, np.where(I < 16, 99, I - 16)[:32]),
    "a last warp of 8": (SHORT, 40, np.where(I < 32, 33, 2)[:40]),
    "lanes that have ended": (ENDED, 64, np.where(I % 4 == 3, 77, np.where(I < 32, 33, 2))[:64]),
    "a barrier of all": (ALL_WAIT, 64, np.where(I < 32, (I + 32) * 5, 0)[:64]),
}
"""Bodies whose warps meet at barriers in an order of their own, with threads and results."""


PARTS_OF_WARPS = {"lanes of a warp", "lanes that have ended", "a barrier of all"}
"""Cases that an H200 does not run: it waits for ever, or has no such instruction (driver 580)."""


@pytest.mark.parametrize("device", [each for each in ALL if each in ("interp", "cpu", "cuda")])
@pytest.mark.parametrize("case", BY_TURNS)
def test_warps_that_meet_in_any_order(device, case):
    if device == "cuda" and case in PARTS_OF_WARPS:
        pytest.skip("a GPU counts whole warps")
    body, threads, wanted = BY_TURNS[case]
    assert list(results(device, SLOTS + body, threads)) == list(wanted)


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_too_few_threads_come(monkeypatch, device):
    monkeypatch.setattr(Config, "spin_nanoseconds", 200_000_000)
    monkeypatch.setattr("gridlane.compiler.default_cache", lambda: None)
    with pytest.raises(RuntimeError, match=r"has waited in this loop for 0.2 s"):
        results(device, SLOTS + APART_TOO.replace("AT", "3, 160"), 128)


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_too_many_threads_come(device):
    body = "mov.u32 %result, 0; bar.arrive 1, 64; bar.arrive 1, 96;"
    with pytest.raises(RuntimeError, match="more threads than the number of this barrier"):
        results(device, body, 96)


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
@pytest.mark.parametrize(
    "body", [APART, TILE + PRODUCED, *(SLOTS + body for body, *_ in BY_TURNS.values())]
)
def test_ptxas_accepts_them(tmp_path: Path, body):
    assert refused_by_ptxas(text_of(body), tmp_path) == []
