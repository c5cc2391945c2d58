"""mbarrier, where threads may wait for others in a loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane import cuda
from gridlane.core.config import Config
from gridlane.core.errors import CompileError
from gridlane.launch import current
from gridlane.launch.devices import get_device

WAITING = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
I = np.arange(128)
START = """
.shared .align 8 .b8 bar[16]; .shared .align 4 .b8 tile[512];
mov.u32 %r20, bar; mov.u32 %r21, tile; shl.b32 %r22, %t, 2; add.u32 %r22, %r21, %r22;
setp.eq.u32 %p10, %t, 0;
@%p10 mbarrier.init.shared.b64 [%r20], {count};
bar.sync 0;
"""
EXCHANGE = """
xor.b32 %r23, %t, 127; shl.b32 %r23, %r23, 2; add.u32 %r23, %r21, %r23;
ld.shared.u32 %result, [%r23];
"""
ALL_WAIT = (
    START.format(count=128)
    + """
st.shared.u32 [%r22], %t;
mbarrier.arrive.shared.b64 %rd1, [%r20];
WAIT: mbarrier.try_wait.shared.b64 %p1, [%r20], %rd1;
@!%p1 bra WAIT;
"""
    + EXCHANGE
)
PHASES = (
    START.format(count=128)
    + """
mov.u32 %r1, 0; mov.u32 %r2, %t; mov.u32 %result, 0;
AGAIN: st.shared.u32 [%r22], %r2;
mbarrier.arrive.release.cta.shared::cta.b64 _, [%r20];
and.b32 %r3, %r1, 1;
WAIT: mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r20], %r3;
@!%p1 bra WAIT;
xor.b32 %r23, %t, 127; shl.b32 %r23, %r23, 2; add.u32 %r23, %r21, %r23;
ld.shared.u32 %r4, [%r23]; add.u32 %result, %result, %r4; add.u32 %r2, %r2, 1000;
bar.sync 0;
add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 5; @%p2 bra AGAIN;
"""
)
BYTES = (
    START.format(count=2)
    + """
st.shared.u32 [%r22], %t; bar.sync 0; mov.u32 %r5, 0;
@!%p10 bra LOOK;
mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r20], 64;
mbarrier.pending_count.b64 %r5, %rd1;
mbarrier.arrive.noComplete.shared.b64 %rd2, [%r20], 1;
mbarrier.pending_count.b64 %r6, %rd2; mad.lo.u32 %r5, %r5, 10, %r6;
mbarrier.test_wait.parity.shared.b64 %p3, [%r20], 0; selp.u32 %r6, 1, 0, %p3;
mad.lo.u32 %r5, %r5, 10, %r6;
mbarrier.complete_tx.relaxed.cta.shared.b64 [%r20], 48;
mbarrier.complete_tx.relaxed.cta.shared.b64 [%r20], 16;
LOOK: bar.sync 0;
mbarrier.try_wait.parity.shared.b64 %p1, [%r20], 0;
mbarrier.try_wait.parity.shared.b64 %p2, [%r20], 1, 100;
selp.u32 %r1, 1000, 0, %p1; selp.u32 %r2, 500, 0, %p2; add.u32 %result, %r1, %r2;
add.u32 %result, %result, %r5;
"""
)


@pytest.mark.parametrize("device", WAITING)
def test_all_threads_wait(device):
    assert (results(device, ALL_WAIT, 128) == 127 - I).all()


@pytest.mark.parametrize("device", WAITING)
def test_phases(device):
    assert (results(device, PHASES, 128) == 5 * (127 - I) + 10_000).all()


@pytest.mark.parametrize("device", WAITING)
def test_bytes_that_are_to_come(device):
    want = np.where(I == 0, 1000 + 210, 1000)
    assert (results(device, BYTES, 128) == want).all()


@pytest.mark.parametrize("device", WAITING)
def test_arrivals_that_drop_out(device):
    body = (
        START.format(count=128)
        + """
    setp.ge.u32 %p1, %t, 100;
    @%p1 mbarrier.arrive_drop.shared.b64 %rd1, [%r20];
    @!%p1 mbarrier.arrive.shared.b64 %rd1, [%r20];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r20], 0; @!%p2 bra WAIT;
    bar.sync 0; mov.u32 %result, 7; @%p1 bra END;
    mbarrier.arrive.shared.b64 %rd2, [%r20];
    LOOK: mbarrier.try_wait.shared.b64 %p2, [%r20], %rd2; @!%p2 bra LOOK;
    mov.u32 %result, 9;
    END:
    """
    )
    assert (results(device, body, 128) == np.where(I < 100, 9, 7)).all()


@pytest.mark.parametrize("device", WAITING)
def test_copies_that_arrive(device):
    body = (
        START.format(count=128)
        + """
    mul.wide.u32 %rd3, %t, 4; add.u64 %rd3, %rd3, %source;
    cp.async.ca.shared.global [%r22], [%rd3], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r20];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r20], 0; @!%p2 bra WAIT;
    """
        + EXCHANGE
    )
    source = np.random.default_rng(4).integers(0, 1 << 32, 128, np.uint32)
    assert (results(device, body, 128, source) == source[::-1]).all()


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_wait_for_what_does_not_come_ends(device, monkeypatch):
    monkeypatch.setattr(Config, "spin_nanoseconds", 100_000_000)
    monkeypatch.setattr("gridlane.compiler.default_cache", lambda: None)
    body = (
        START.format(count=128)
        + """
    setp.lt.u32 %p1, %t, 64; @!%p1 bra LAST;
    mbarrier.arrive.shared.b64 %rd1, [%r20];
    WAIT: mbarrier.try_wait.shared.b64 %p2, [%r20], %rd1; @!%p2 bra WAIT;
    LAST: mov.u32 %result, 1;
    """
    )
    with pytest.raises(RuntimeError, match=r"others that do not arrive|has waited in this loop"):
        results(device, body, 128)


APART = """
.shared .align 8 .b8 bar[16];
mov.u32 %r20, bar; mov.u32 %r21, tile; add.u32 %r21, %r21, 0; setp.eq.u32 %p10, %t, 0;
@%p10 mbarrier.init.shared.b64 [%r20], 1;
bar.sync 0;
@%p10 mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r20], 128;
@%p10 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r21], [%source], 128, [%r20];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r20], 0;
@!%p1 bra WAIT;
shl.b32 %r22, %t, 2; add.u32 %r22, %r21, %r22; ld.shared.u32 %result, [%r22];
"""


@pytest.mark.parametrize("device", WAITING)
def test_a_barrier_and_memory_whose_size_the_launch_sets(device):
    """Their addresses are numbers, of two memories."""
    current.choose(get_device(device))
    source, made = np.arange(5, 37, dtype=np.uint32), np.zeros(32, np.uint32)
    text = text_of(APART, ".extern .shared .align 16 .b8 tile[];")
    kernel = cuda.RawModule(code=text).get_function("k")
    kernel((1,), (32,), (source, made), shared_mem=128)
    assert (made == source).all()


@pytest.mark.parametrize("device", [each for each in DEVICES if each not in WAITING])
def test_shaders_refuse_them(device):
    with pytest.raises(CompileError, match="target has no mbarrier_"):
        results(device, ALL_WAIT, 128)


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("body", [ALL_WAIT, PHASES, BYTES])
def test_ptxas_accepts_them(tmp_path: Path, body):
    assert refused_by_ptxas(text_of(body), tmp_path) == []
