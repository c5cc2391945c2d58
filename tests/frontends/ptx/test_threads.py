"""Lanes, fences, clocks and copies with zeros, on each device."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

from gridlane.core.errors import CompileError
from gridlane.frontends.ptx import parse_ptx
from gridlane.frontends.ptx.translate import translate

ALL = ["interp", *DEVICES]
CLOCKED = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
LANES = np.arange(32)


def shuffled(mode: str, by: int, packed: int) -> tuple[np.ndarray, np.ndarray]:
    """The lane that shfl.sync reads, and its predicate, as the PTX ISA describes them."""
    clamp, segment = packed & 31, packed >> 8 & 31
    places, inside = [], []
    for lane in range(32):
        most = lane & segment | clamp & ~segment
        by &= 31
        place = {
            "up": lane - by,
            "down": lane + by,
            "bfly": lane ^ by,
            "idx": lane & segment | by & ~segment,
        }[mode]
        holds = place >= most if mode == "up" else place <= most
        places.append(place if holds else lane)
        inside.append(holds)
    return np.array(places), np.array(inside)


@pytest.mark.parametrize("device", ALL)
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("by, packed", [(5, 0x181F), (2, 0x1803), (9, 0x0A05)])
def test_shuffles_of_any_segment(device, mode, by, packed):
    body = f"""
    ld.global.u32 %r1, [%source]; mul.lo.u32 %r2, %t, 7;
    shfl.sync.{mode}.b32 %r3|%p1, %r2, {by}, %r1, 0xffffffff;
    shfl.sync.{mode}.b32 %r4, %r2, {by}, {packed}, -1;
    selp.u32 %r5, 1000, 0, %p1; add.u32 %result, %r3, %r5;
    setp.ne.u32 %p2, %r3, %r4; @%p2 mov.u32 %result, 99999;
    """
    places, inside = shuffled(mode, by, packed)
    made = results(device, body, source=np.array([packed], np.uint32))
    assert (made == places * 7 + inside * 1000).all()


@pytest.mark.parametrize("device", ALL)
def test_a_leader_is_elected(device):
    body = """
    setp.lt.u32 %p1, %t, 12; mov.u32 %result, 7;
    @%p1 bra END;
    elect.sync %r1|%p2, 0xfffff000;
    selp.u32 %result, 100, 0, %p2; add.u32 %result, %result, %r1;
    elect.sync _|%p2, 0xfffff000;
    @%p2 add.u32 %result, %result, 1000;
    END:
    """
    want = np.where(LANES < 12, 7, np.where(LANES == 12, 1112, 12))
    assert (results(device, body) == want).all()


@pytest.mark.parametrize("device", ALL)
def test_votes_of_lanes_that_run(device):
    """As nvcc wrote them for devices before 7.0."""
    body = """
    and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %t, 32;
    vote.ballot.b32 %result, %p1; vote.all.pred %p3, %p2; vote.any.pred %p4, %p1;
    shfl.down.b32 %r2|%p5, %t, 1, 31;
    selp.u32 %r3, 1, 0, %p3; xor.b32 %result, %result, %r3; add.u32 %result, %result, %r2;
    """
    want = (0x55555555 ^ 1) + np.minimum(LANES + 1, 31)
    assert (results(device, body, target="sm_60") == want).all()


FENCES = """
fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; membar.proxy.alias;
fence.mbarrier_init.release.cluster; fence.acq_rel.gpu; fence.sc.cta; membar.gl;
setmaxnreg.dec.sync.aligned.u32 40; nanosleep.u32 20; pmevent 1;
createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd1, 0f3f000000;
createpolicy.range.global.L2::evict_last.b64 %rd2, [%source], 128, 256;
createpolicy.cvt.L2.b64 %rd3, 0x16f0000000000000;
ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.u32 %result, [%source], %rd1;
"""


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_fences_and_hints(device):
    assert (results(device, FENCES, source=np.array([5], np.uint32), target="sm_90a") == 5).all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_them(tmp_path: Path):
    assert refused_by_ptxas(text_of(FENCES, target="sm_90a"), tmp_path, "sm_90a") == []


@pytest.mark.parametrize("device", CLOCKED)
def test_clocks_do_not_go_back(device):
    body = """
    mov.u64 %rd1, %clock64; mov.u64 %rd2, %globaltimer; mov.u32 %r1, %clock; mov.u32 %r7, %clock_hi;
    mov.u64 %rd3, %clock64; mov.u64 %rd4, %globaltimer; mov.u32 %r2, %clock;
    setp.ge.u64 %p1, %rd3, %rd1; setp.ge.u64 %p2, %rd4, %rd2; sub.s32 %r3, %r2, %r1;
    setp.ge.s32 %p3, %r3, 0; mov.u32 %r4, %smid; mov.u32 %r5, %nsmid;
    setp.lt.and.u32 %p4, %r4, %r5, %p1; and.pred %p4, %p4, %p2; and.pred %p4, %p4, %p3;
    setp.ne.and.u64 %p4, %rd1, 0, %p4; selp.u32 %result, 1, 0, %p4;
    """
    assert (results(device, body) == 1).all()


@pytest.mark.parametrize("device", [each for each in DEVICES if each not in CLOCKED])
def test_shaders_have_no_clock(device):
    with pytest.raises(CompileError, match="machine"):
        results(device, "mov.u32 %result, %clock;")


@pytest.mark.parametrize("device", ALL)
def test_a_cluster_is_a_block(device):
    body = """
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctaid.x; mov.u32 %r3, %clusterid.x;
    mov.u32 %r4, %nclusterid.x; mov.u32 %r5, %cluster_ctaid.y; mov.u32 %r6, %cluster_nctarank;
    mad.lo.u32 %result, %r2, 10, %r1; mad.lo.u32 %result, %result, 10, %r3;
    mad.lo.u32 %result, %result, 10, %r4; mad.lo.u32 %result, %result, 10, %r5;
    mad.lo.u32 %result, %result, 10, %r6;
    """
    assert (results(device, body) == 100101).all()


def test_clusters_that_the_kernel_names():
    text = text_of("mov.u32 %result, %cluster_ctarank;")
    text = re.sub(r"(\.entry k\([^)]*\))", r"\1 .reqnctapercluster 2, 1, 1", text)
    assert translate(parse_ptx(text), "k").cluster == (2, 1, 1)


@pytest.mark.parametrize("device", ALL)
def test_a_breakpoint_is_an_error(device):
    body = "setp.gt.u32 %p1, %t, 40; mov.u32 %result, 3; @%p1 brkpt;"
    assert (results(device, body) == 3).all()
    with pytest.raises(RuntimeError, match="no debugger is attached"):
        results(device, body, 64, via="ir")


COPY = """
.shared .align 16 .b8 tile[512];
mov.u32 %r1, tile; shl.b32 %r2, %t, 4; add.u32 %r1, %r1, %r2; cvt.u64.u32 %rd2, %r2;
add.u64 %rd1, %source, %rd2; mov.u32 %r9, 0x01010101;
createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0;
st.shared.v4.u32 [%r1], {{%r9, %r9, %r9, %r9}};
{copy}
cp.async.commit_group; cp.async.wait_group 0;
ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r1];
mad.lo.u32 %result, %r5, 3, %r6; mad.lo.u32 %result, %result, 5, %r7;
mad.lo.u32 %result, %result, 7, %r8;
"""


def copied(given: np.ndarray, size: int, source: np.ndarray) -> np.ndarray:
    """The words of each thread's 16 bytes, mixed."""
    tile = np.full((32, 16), 1, np.uint8)
    tile[:, :size] = source.view(np.uint8).reshape(32, 16)[:, :size]
    for lane in range(32):
        tile[lane, min(size, int(given[lane])) : size] = 0
    words = tile.view(np.uint32).astype(np.uint64)
    return (((words[:, 0] * 3 + words[:, 1]) * 5 + words[:, 2]) * 7 + words[:, 3]).astype(np.uint32)


@pytest.mark.parametrize("device", ALL)
@pytest.mark.parametrize(
    "copy, size, given",
    [
        (
            "min.u32 %r3, %t, 16; cp.async.cg.shared.global [%r1], [%rd1], 16, %r3;",
            16,
            LANES,
        ),
        (
            "min.u32 %r3, %t, 8; cp.async.ca.shared.global.L2::128B [%r1], [%rd1], 8, %r3;",
            8,
            LANES,
        ),
        (
            "setp.gt.u32 %p1, %t, 9; cp.async.ca.shared::cta.global [%r1], [%rd1], 4, %p1;",
            4,
            np.where(LANES > 9, 0, 4),
        ),
        (
            "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, 12, %rd5;",
            16,
            np.full(32, 12),
        ),
    ],
)
def test_a_copy_that_ends_in_zeros(device, copy, size, given):
    via = "ir" if "hint" in copy else ""  # which an H200 ends as an illegal instruction
    source = np.random.default_rng(3).integers(0, 2**32, 128, np.uint32)
    made = results(device, COPY.format(copy=copy), source=source, via=via)
    assert (made == copied(given, size, source)).all()


def reduction(between: str, memory: str = "shared") -> str:
    """A sum over the warp, whose lanes read what others have written."""
    steps = (
        f"ld.{memory}.u32 %r3, [%r1]; ld.{memory}.u32 %r4, [%r1 + {4 * step}]; "
        f"add.u32 %r3, %r3, %r4; {between} st.{memory}.u32 [%r1], %r3; {between}"
        for step in (16, 8, 4, 2, 1)
    )
    return f"""
    .shared .b32 tile[128]; mov.u32 %r1, tile; shr.u32 %r5, %t, 5; and.b32 %r6, %t, 31;
    mad.lo.u32 %r5, %r5, 64, %r6; shl.b32 %r5, %r5, 2; add.u32 %r1, %r1, %r5;
    st.{memory}.u32 [%r1 + 128], 0; st.{memory}.u32 [%r1], %t; {between}
    {"".join(steps)}
    shl.b32 %r6, %r6, 2; sub.u32 %r1, %r1, %r6; ld.{memory}.u32 %result, [%r1];"""


SUMS = np.repeat([sum(range(32)), sum(range(32, 64))], 32)


@pytest.mark.parametrize("device", ALL)
def test_lanes_that_wait_for_each_other(device):
    assert (results(device, reduction("bar.warp.sync 0xffffffff;"), 64) == SUMS).all()


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize(
    "between, memory",
    [("membar.cta;", "shared"), ("fence.acq_rel.cta;", "shared"), ("", "volatile")],
)
def test_lanes_in_lockstep(device, between, memory):
    """Kernels older than the barrier of a warp have no more than this between lanes."""
    memory = "volatile.shared" if memory == "volatile" else memory
    assert (results(device, reduction(between, memory), 64) == SUMS).all()
