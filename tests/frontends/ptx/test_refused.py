"""Instructions that ptxas refuses, each near one that it takes: an error at the instruction, and
never the meaning of the other one."""

from __future__ import annotations

import pytest
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, text_of

from gridlane.core.errors import PtxError
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.ir.verifier import verify

MMA = "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};"
INTO = "shared::cluster.global.mbarrier::complete_tx::bytes"
OUT = "global.shared::cta.bulk_group"
PAIRS = {
    "layouts": (
        f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {MMA}",
        f"mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32 {MMA}",
    ),
    "spaces of a copy": (
        "cp.async.ca.shared.global [%r1], [%rd1], 4;",
        "cp.async.ca.global.shared [%r1], [%rd1], 4;",
    ),
    "spaces of a large copy": (
        f"cp.async.bulk.{INTO} [%r1], [%rd1], 16, [%r2];",
        "cp.async.bulk.global.shared::cluster.mbarrier::complete_tx::bytes "
        "[%r1], [%rd1], 16, [%r2];",
    ),
    "spaces of a reduction": (
        f"cp.reduce.async.bulk.{OUT}.add.u32 [%rd1], [%r1], 16;",
        "cp.reduce.async.bulk.shared::cta.global.bulk_group.add.u32 [%rd1], [%r1], 16;",
    ),
    "bytes of a large copy": (
        f"cp.async.bulk.{INTO} [%r1], [%rd1], 32, [%r2];",
        f"cp.async.bulk.{INTO} [%r1], [%rd1], 8, [%r2];",
    ),
    "bytes of a large store": (
        f"cp.async.bulk.{OUT} [%rd1], [%r1], 48;",
        f"cp.async.bulk.{OUT} [%rd1], [%r1], 15;",
    ),
    "bytes around L1": (
        "cp.async.cg.shared.global [%r1], [%rd1], 16;",
        "cp.async.cg.shared.global [%r1], [%rd1], 8;",
    ),
    "no operand of a trap": ("@%p1 trap;", "@%p1 trap 1;"),
    "no operand of an exit": ("@%p1 exit;", "@%p1 exit %r1;"),
    "no result of an entry": ("@%p1 ret;", "@%p1 ret %r1;"),
    "a policy that a sum names": (
        "red.global.add.L2::cache_hint.u32 [%rd1], %r2, %rd3;",
        "red.global.add.u32 [%rd1], %r2, %rd3;",
    ),
    "a policy that is missing": (
        "red.global.add.u32 [%rd1], %r2;",
        "red.global.add.L2::cache_hint.u32 [%rd1], %r2;",
    ),
    "a policy of an atomic": (
        "atom.global.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd3;",
        "atom.global.add.u32 %r1, [%rd1], %r2, %rd3;",
    ),
    "a policy of a load": (
        "ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;",
        "ld.global.u32 %r1, [%rd1], %rd2;",
    ),
    "a load's missing policy": (
        "ld.global.u32 %r1, [%rd1];",
        "ld.global.L2::cache_hint.u32 %r1, [%rd1];",
    ),
    "a policy of a store": (
        "st.global.L2::cache_hint.u32 [%rd1], %r1, %rd2;",
        "st.global.u32 [%rd1], %r1, %rd2;",
    ),
    "a policy of a large copy": (
        f"cp.async.bulk.{OUT}.L2::cache_hint [%rd1], [%r1], 16, %rd2;",
        f"cp.async.bulk.{OUT} [%rd1], [%r1], 16, %rd2;",
    ),
    "a predicate of a table": (
        "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 3, %p2;",
        "lop3.or.b32 %r1, %r2, %r3, %r4, 3, %p2;",
    ),
    "a negated predicate": ("set.eq.u32.f64 %r1, %fd1, %fd2;", "set.eq.u32.f64 %r1, !%p1, %fd2;"),
    "decimals as a barrier": ("bar.sync 1;", "bar.sync 1.5;"),
    "decimals as bits": ("mov.b32 %r1, 0f3FC00000;", "mov.b32 %r1, 1.5;"),
    "decimals as a number": ("mov.u32 %r1, 1;", "mov.u32 %r1, 1.5;"),
    "decimals in a store": ("st.global.u32 [%rd1], 1;", "st.global.u32 [%rd1], 1.5;"),
    "decimals as a lane": (
        "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
        "shfl.sync.bfly.b32 %r1, %r2, 1.5, 31, -1;",
    ),
    "decimals as groups": ("cp.async.wait_group 1;", "cp.async.wait_group 1.5;"),
    "a third source's lanes": (
        "vmax4.u32.u32.s32 %r1.b31, %r2.b3210, %r3.b0246, %r4;",
        "vmax4.u32.u32.s32 %r1.b31, %r2.b3210, %r3.b0246, %r4.b2;",
    ),
    "a pause": ("nanosleep.u32 100;", "nanosleep.u32 1.5;"),
    "a pause at an address": ("nanosleep.u32 %r1;", "nanosleep.u32 [%rd1];"),
    "an event": ("pmevent 15;", "pmevent 16;"),
    "an event in a register": ("pmevent.mask 0xFFFF;", "pmevent.mask %r1;"),
    "a line that is fetched": ("prefetch.L1 [%rd1];", "prefetch.L1 %rd1;"),
    "a line that is discarded": ("discard.global.L2 [%rd1], 128;", "discard.global.L2 [%rd1], 64;"),
    "a line's priority": (
        "applypriority.global.L2::evict_normal [%rd1], 128;",
        "applypriority.global.L2::evict_normal 33, 128;",
    ),
    "what is fetched": (
        "cp.async.bulk.prefetch.L2.global [%rd1], 64;",
        "cp.async.bulk.prefetch.L2.global 64, [%rd1];",
    ),
}
HEAD = (
    ".shared .align 16 .b8 tile[1024]; mov.u32 %r1, tile; add.u32 %r2, %r1, 64; mov.u32 %r3, %r1;"
    "mov.u32 %r4, %r1; mov.u32 %r5, %r1; mov.u32 %r6, %r1; mov.b64 %rd1, %made;"
    "mov.b64 %rd2, 0; mov.b64 %rd3, 0; setp.eq.u32 %p1, %t, 99; setp.eq.u32 %p2, %t, 98;"
    "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;"
    "mov.f64 %fd1, 0d0000000000000000; mov.f64 %fd2, %fd1;\n"
)


def module_of(instruction: str) -> str:
    return text_of(HEAD + instruction + "\nmov.u32 %result, 0;")


def translate(instruction: str) -> None:
    module = parse_ptx(module_of(instruction))
    verify(PtxSource(module, "k").translate((), KernelOptions()))


@pytest.mark.parametrize("name", PAIRS)
def test_refused(name):
    good, bad = PAIRS[name]
    translate(good)
    with pytest.raises(PtxError) as caught:
        translate(bad)
    line = module_of(bad).split("\n").index(bad) + 1
    assert f"line {line}" in str(caught.value) or f":{line}:" in str(caught.value)


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize("name", PAIRS)
def test_ptxas_refuses_the_same(name, tmp_path):
    good, bad = PAIRS[name]
    assert refused_by_ptxas(module_of(good), tmp_path) == []
    assert refused_by_ptxas(module_of(bad), tmp_path)
