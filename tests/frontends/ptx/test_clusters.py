"""Clusters of one block, and copies of many bytes by one thread."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import results

ALL = ["interp", *DEVICES]
WAITING = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
I = np.arange(32)
TILE = """.shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 bar;
mov.u32 %r1, tile; mov.u32 %r2, bar; shl.b32 %r3, %t, 2; add.u32 %r4, %r1, %r3;
setp.eq.u32 %p1, %t, 0;
"""
START = f"""{TILE} @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
fence.mbarrier_init.release.cluster; bar.sync 0;
"""
WAIT = """
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
@!%p2 bra WAIT;
"""


@pytest.mark.parametrize("device", ALL)
def test_the_memory_of_a_cluster_is_that_of_the_block(device):
    body = f"""{TILE}
    mov.u32 %r9, %cluster_ctarank;
    mapa.shared::cluster.u32 %r5, %r4, %r9;
    st.shared::cluster.u32 [%r5], %t;
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
    xor.b32 %r6, %r3, 12; add.u32 %r6, %r6, %r1;
    cvt.u64.u32 %rd1, %r6; cvta.shared::cluster.u64 %rd1, %rd1;
    mapa.u64 %rd2, %rd1, 0; ld.u32 %result, [%rd2];
    getctarank.u64 %r7, %rd2; isspacep.shared::cluster %p2, %rd2;
    mapa.shared::cluster.u32 %r8, tile, 0; atom.shared::cluster.add.u32 %r8, [%r8], %r7;
    griddepcontrol.wait; griddepcontrol.launch_dependents;
    @!%p2 mov.u32 %result, 77;"""
    assert (results(device, body) == I ^ 3).all()


@pytest.mark.parametrize("device", WAITING)
def test_a_copy_that_tells_a_barrier(device):
    body = f"""{START} @!%p1 bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%source], 1024, [%r2];
    {WAIT} mad.lo.u32 %r4, %t, 28, %r1; ld.shared.u32 %result, [%r4];"""
    assert (results(device, body, source=np.arange(256, dtype=np.uint32)) == 7 * I).all()


@pytest.mark.parametrize("device", WAITING)
def test_stores_that_tell_a_barrier(device):
    body = f"""{START} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 384;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %t, [%r2];
    add.u32 %r5, %r4, %r3;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r5+512], {{%t, %r3}}, [%r2];
    {WAIT} ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r5+516]; add.u32 %result, %r6, %r7;"""
    # Which an H200 ends as an illegal instruction.
    assert (results(device, body, via="ir") == 5 * I).all()


@pytest.mark.parametrize("device", ALL)
def test_copies_and_sums_to_global_memory(device):
    body = f"""{TILE} st.shared.u32 [%r4], %t; st.global.u32 [%own], 1000;
    fence.proxy.async.shared::cta; bar.sync 0;
    @!%p1 bra DONE;
    mov.u32 %r5, 64; add.u64 %rd1, %made, 64;
    cp.async.bulk.global.shared::cta.bulk_group [%made], [%r1], %r5;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%rd1], [%r1], 32;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1+16], 32;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;
    DONE: ret;"""
    wanted = np.where(I < 16, I, np.where(I < 24, 1000 + I - 12, 1000))
    assert (results(device, body) == wanted).all()
