"""Clusters of several blocks: numbers, barriers, the shared memory of others, copies to it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, text_of

from gridlane import compiler, cuda
from gridlane.core.errors import DeviceError, KernelError, LaunchError
from gridlane.core.options import KernelOptions, Target
from gridlane.core.tensor_map import SWIZZLES, Element, TensorMap
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel

CLUSTERED = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
THREADS = 64
TILE = f"""
.shared .align 16 .b8 tile[{4 * THREADS}]; .shared .align 8 .b64 bar;
mov.u32 %r1, tile; mov.u32 %r2, bar; shl.b32 %r3, %t, 2; add.u32 %r4, %r1, %r3;
mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank;
add.u32 %r7, %r5, 1; setp.eq.u32 %p1, %r7, %r6; @%p1 mov.u32 %r7, 0;
setp.eq.u32 %p2, %t, 0;
"""
"""``%r1``: the tile, ``%r2``: the mbarrier, ``%r4``: the thread's word, ``%r5``: the rank, ``%r7``:
the next rank, ``%p2``: whether the thread is the first one."""
SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
OWN = """
mov.u32 %r40, %ctaid.z; mov.u32 %r41, %nctaid.y; mad.lo.u32 %r40, %r40, %r41, 0;
mov.u32 %r41, %ctaid.y; add.u32 %r40, %r40, %r41; mov.u32 %r41, %nctaid.x;
mul.lo.u32 %r40, %r40, %r41; mov.u32 %r41, %ctaid.x; add.u32 %r40, %r40, %r41;
mov.u32 %r41, %ntid.x; mad.lo.u32 %r40, %r40, %r41, %t;
mul.wide.u32 %own, %r40, 4; add.u64 %own, %own, %made;
"""


def written(
    device: str,
    body: str,
    grid: tuple[int, ...] = (8,),
    cluster: tuple[int, ...] = (4, 1, 1),
    source: np.ndarray | None = None,
    threads: int = THREADS,
    shared: int = 0,
    via: str = "",
    module: str = "",
) -> np.ndarray:
    """The words that the threads write, by blocks."""
    current.choose(get_device(device))
    text = text_of(OWN + body, module)
    sizes = ", ".join(map(str, cluster))
    text = text.replace(".param .u64 made) {", f".param .u64 made) .reqnctapercluster {sizes} {{")
    if PTXAS and device == "interp":
        kernel = compiler.compile_kernel(
            PtxSource(parse_ptx(text), "k"), (), KernelOptions(), Target("cuda", processor="sm_90")
        )
        ours = kernel.code.decode()
        assert cluster == (1, 1, 1) or f".reqnctapercluster {sizes}" in ours
        with TemporaryDirectory() as folder:
            for each in (text, ours):
                assert not refused_by_ptxas(each, Path(folder), "sm_90a")
    given = np.zeros(1, np.uint32) if source is None else source
    results: list[np.ndarray] = []
    for way in (via, "ir") if device == "cuda" and not via else (via,):
        results.append(np.zeros((int(np.prod(grid)), threads), np.uint32))
        kernel = cuda.RawModule(code=text, via=way).get_function("k")
        kernel(grid, (threads,), (given, results[-1]), shared_mem=shared)
        np.testing.assert_array_equal(results[-1], results[0])
    return results[0]


def ranks(grid: tuple[int, int, int], cluster: tuple[int, int, int]) -> np.ndarray:
    """The rank of each block of a grid, in the order of the blocks."""
    z, y, x = np.indices(grid[::-1])
    cx, cy, cz = cluster
    return (x % cx + cx * (y % cy + cy * (z % cz))).ravel()


@pytest.mark.parametrize("via", ["", "ir"])
@pytest.mark.parametrize("device", CLUSTERED)
@pytest.mark.parametrize("cluster", [(2, 1, 1), (1, 2, 2), (2, 2, 2), (1, 1, 1)])
def test_special_registers(device, cluster, via):
    registers = [
        *(f"%{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid",
          "cluster_nctaid") for axis in "xyz"),
        "%cluster_ctarank", "%cluster_nctarank",
    ]  # fmt: skip
    grid = 4, 2, 2
    z, y, x = (each.ravel() for each in np.indices(grid[::-1]))
    for number, name in enumerate(registers):
        made = written(device, f"mov.u32 %result, {name};", grid, cluster, threads=1, via=via)
        axis = number % 3
        place, size, blocks = (x, y, z)[axis], cluster[axis], grid[axis]
        wanted = {
            "%clusterid": place // size,
            "%nclusterid": np.full_like(x, blocks // size),
            "%cluster_ctaid": place % size,
            "%cluster_nctaid": np.full_like(x, size),
            "%cluster_ctarank": ranks(grid, cluster),
            "%cluster_nctarank": np.full_like(x, np.prod(cluster)),
        }[name.partition(".")[0]]
        np.testing.assert_array_equal(made[:, 0], wanted, name)
    code = "mov.pred %p1, %is_explicit_cluster; selp.u32 %result, 1, 0, %p1;"
    assert (written(device, code, grid, cluster, threads=1, via=via) == 1).all()


@pytest.mark.parametrize("via", ["", "ir"])
@pytest.mark.parametrize("device", CLUSTERED)
@pytest.mark.parametrize("kind", ["window", "generic", "tagged"])
def test_each_block_reads_what_the_next_one_wrote(device, kind, via):
    read = {
        "window": "mapa.shared::cluster.u32 %r8, %r4, %r7; ld.shared::cluster.u32 %result, [%r8];",
        "generic": """cvt.u64.u32 %rd1, %r4; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r7;
        ld.u32 %result, [%rd2]; getctarank.u64 %r9, %rd2; isspacep.shared::cluster %p3, %rd2;
        isspacep.shared::cta %p4, %rd2; isspacep.global %p5, %rd2;
        setp.ne.u32 %p6, %r9, %r7; @%p6 mov.u32 %result, 9999; @!%p3 mov.u32 %result, 9998;
        @%p4 mov.u32 %result, 9997; @%p5 mov.u32 %result, 9996;
        getctarank.u64 %r9, %rd1; setp.ne.u32 %p6, %r9, %r5; @%p6 mov.u32 %result, 9995;""",
        "tagged": """mapa.shared::cluster.u32 %r8, %r4, %r7;
        getctarank.shared::cluster.u32 %r9, %r8; cvt.u64.u32 %rd1, %r8;
        cvta.shared::cluster.u64 %rd1, %rd1; ld.u32 %result, [%rd1];
        setp.ne.u32 %p6, %r9, %r7; @%p6 mov.u32 %result, 9999;""",
    }[kind]
    body = f"""{TILE} mad.lo.u32 %r8, %r5, 100, %t; st.shared.u32 [%r4], %r8;
    {SYNC} {read} {SYNC}"""
    made = written(device, body, via=via)
    rank = ranks((8, 1, 1), (4, 1, 1))
    np.testing.assert_array_equal(made, 100 * ((rank + 1) % 4)[:, None] + np.arange(THREADS))


@pytest.mark.parametrize("device", CLUSTERED)
def test_writes_and_atomics_in_dynamic_memory(device):
    """Each thread adds to a word of each block, in dynamic shared memory, by all kinds of
    addresses; and a vector is written to the block before."""
    body = f"""{TILE.replace(f".shared .align 16 .b8 tile[{4 * THREADS}];", "")}
    mov.u32 %r8, 0; st.shared.u32 [%r4], %r8; {SYNC}
    mov.u32 %r9, 0;
    AGAIN: mapa.shared::cluster.u32 %r10, %r1, %r9; add.u32 %r11, %r10, %r3;
    atom.shared::cluster.add.u32 %r12, [%r11], %r5; red.shared::cluster.add.u32 [%r11+-4+4], 10;
    cvt.u64.u32 %rd1, %r11; cvta.shared::cluster.u64 %rd1, %rd1; atom.add.u32 %r12, [%rd1], 100;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, %r6; @%p3 bra AGAIN;
    {SYNC} ld.shared.u32 %r13, [%r4];
    shl.b32 %r14, %t, 3; and.b32 %r14, %r14, {4 * THREADS - 1}; {SYNC}
    mapa.shared::cluster.u32 %r10, %r1, %r7; add.u32 %r10, %r10, %r14;
    setp.lt.u32 %p3, %t, {THREADS // 2};
    @%p3 st.shared::cluster.v2.u32 [%r10], {{%r5, %t}}; {SYNC}
    ld.shared.u32 %r15, [%r4]; mad.lo.u32 %result, %r13, 1000, %r15;"""
    module = ".extern .shared .align 16 .b8 tile[];"
    made = written(device, body, shared=4 * THREADS, module=module)
    rank = ranks((8, 1, 1), (4, 1, 1))[:, None]
    thread = np.arange(THREADS)
    vector = np.where(thread % 2, thread // 2, (rank - 1) % 4)
    np.testing.assert_array_equal(made, 1000 * (6 + 40 + 400) + vector)


@pytest.mark.parametrize("device", CLUSTERED)
def test_blocks_that_spin_on_words_that_peers_write(device):
    """The last block sets the first one's flag, and each sets that of the next one then."""
    body = f"""{TILE} .shared .align 4 .b32 flag;
    mov.u32 %r20, flag; @%p2 st.shared.u32 [%r20], 0; {SYNC}
    setp.eq.u32 %p3, %r5, 3; mov.u32 %r21, 1; mapa.shared::cluster.u32 %r22, %r20, %r7;
    @%p3 bra TELL;
    SPIN: ld.acquire.cluster.shared::cta.u32 %r23, [%r20]; setp.eq.u32 %p4, %r23, 0; @%p4 bra SPIN;
    TELL: @%p2 st.release.cluster.shared::cluster.u32 [%r22], %r21;
    {SYNC} ld.shared.u32 %result, [%r20]; {SYNC}"""
    assert (written(device, body) == 1).all()


MBARRIER = f"""{TILE} @%p2 mbarrier.init.shared::cta.b64 [%r2], COUNT;
fence.mbarrier_init.release.cluster; {SYNC}"""
WAIT = """
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p8, [%r2], 0;
@!%p8 bra WAIT;
"""


@pytest.mark.parametrize("device", CLUSTERED)
def test_arrivals_at_the_mbarrier_of_a_peer(device):
    """All threads of the block before write a word and arrive."""
    body = f"""{MBARRIER.replace("COUNT", str(THREADS))}
    mapa.shared::cluster.u32 %r8, %r4, %r7; mapa.shared::cluster.u32 %r9, %r2, %r7;
    mad.lo.u32 %r10, %r5, 100, %t; st.shared::cluster.u32 [%r8], %r10;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
    {WAIT} xor.b32 %r11, %r3, 4; add.u32 %r11, %r1, %r11; ld.shared.u32 %result, [%r11]; {SYNC}"""
    rank = ranks((8, 1, 1), (4, 1, 1))[:, None]
    wanted = 100 * ((rank - 1) % 4) + (np.arange(THREADS) ^ 1)
    np.testing.assert_array_equal(written(device, body), wanted)


@pytest.mark.parametrize("device", CLUSTERED)
def test_copies_that_tell_the_mbarrier_of_a_peer(device):
    """A block copies its memory to the next one, and words by single stores and sums."""
    body = f"""{MBARRIER.replace("COUNT", "1")}
    .shared .align 16 .b8 there[{12 * THREADS}];
    mov.u32 %r20, there; mad.lo.u32 %r21, %t, 4, %r20;
    mad.lo.u32 %r8, %r5, 1000, %t; st.shared.u32 [%r4], %r8;
    st.shared.u32 [%r21+{8 * THREADS}], 7; fence.proxy.async.shared::cta; {SYNC}
    mapa.shared::cluster.u32 %r9, %r20, %r7; mapa.shared::cluster.u32 %r10, %r2, %r7;
    mapa.shared::cluster.u32 %r11, %r21, %r7;
    @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {12 * THREADS};
    @%p2 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
        [%r9], [%r1], {4 * THREADS}, [%r10];
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32
        [%r11+{4 * THREADS}], %r8, [%r10];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32
        [%r11+{8 * THREADS}], %r5, [%r10];
    {WAIT} ld.shared.u32 %r12, [%r21]; ld.shared.u32 %r13, [%r21+{4 * THREADS}];
    ld.shared.u32 %r14, [%r21+{8 * THREADS}]; sub.u32 %r13, %r13, %r12;
    mad.lo.u32 %r12, %r12, 100, %r13; add.u32 %result, %r12, %r14; {SYNC}"""
    rank = ranks((8, 1, 1), (4, 1, 1))[:, None]
    before = (rank - 1) % 4
    wanted = 100 * (1000 * before + np.arange(THREADS)) + 7 + before
    np.testing.assert_array_equal(written(device, body), wanted)


@pytest.mark.parametrize("device", CLUSTERED)
def test_bytes_expected_at_the_mbarrier_of_a_peer(device):
    body = f"""{MBARRIER.replace("COUNT", "2")}
    mapa.shared::cluster.u32 %r9, %r2, %r7; mapa.shared::cluster.u32 %r8, %r1, %r7;
    @%p2 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r9], 4;
    @%p2 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r8], %r5, [%r9];
    @%p2 mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r9], 8;
    @%p2 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r9], 8;
    @%p2 mbarrier.arrive.shared::cluster.b64 _, [%r9], 1;
    {WAIT} ld.shared.u32 %result, [%r1]; {SYNC}"""
    rank = ranks((8, 1, 1), (4, 1, 1))[:, None]
    wanted = np.broadcast_to((rank - 1) % 4, (8, THREADS))
    np.testing.assert_array_equal(written(device, body), wanted)


@pytest.mark.parametrize("device", CLUSTERED)
def test_copies_to_several_blocks(device):
    """Each block copies a quarter of the tile to the blocks of a mask: all but itself, and it
    copies that quarter alone."""
    part = THREADS  # bytes
    body = f"""{MBARRIER.replace("COUNT", "1")}
    @!%p2 bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {4 * part};
    mul.lo.u32 %r8, %r5, {part}; add.u32 %r9, %r1, %r8; mov.u32 %r10, %clusterid.x;
    mad.lo.u32 %r10, %r10, {4 * part}, %r8; cvt.u64.u32 %rd1, %r10; add.u64 %rd1, %rd1, %source;
    mov.u32 %r11, 1; shl.b32 %r11, %r11, %r5; xor.b32 %r12, %r11, 15;
    cvt.u16.u32 %h1, %r11; cvt.u16.u32 %h2, %r12;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [%r9], [%rd1], {part}, [%r2], %h2;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r9], [%rd1], {part}, [%r2];
    {WAIT} ld.shared.u32 %result, [%r4]; {SYNC}"""
    source = np.arange(2 * THREADS, dtype=np.uint32) * 3 + 5
    made = written(device, body, source=source)
    np.testing.assert_array_equal(made, np.repeat(source.reshape(2, THREADS), 4, axis=0))


@pytest.mark.parametrize("device", [each for each in CLUSTERED if each != "cuda"])
@pytest.mark.parametrize("swizzle", [0, 128])
def test_boxes_of_tensors_for_several_blocks(device, swizzle):
    """Each block copies two rows of a matrix to all, or to the next block alone."""
    current.choose(get_device(device))
    rows, words, threads = 16, 32, 256
    table = np.arange(rows * words, dtype=np.uint32).reshape(rows, words) * 7 + 1
    there = cuda.to_device(table)
    box = TensorMap(
        there.device_pointer, Element.U32, (words, rows), (4 * words,), (words, 2), (1, 1),
        SWIZZLES[swizzle],
    )  # fmt: skip
    source = np.frombuffer(box.encode(), np.uint64)
    copy = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    for to_all in (True, False):
        sent = f"""{copy}.multicast::cluster [%r12], [%source, {{0, %r13}}], [%r2], %h1;"""
        if not to_all:
            sent = f"""mapa.shared::cluster.u32 %r14, %r12, %r7;
            mapa.shared::cluster.u32 %r15, %r2, %r7;
            {copy} [%r14], [%source, {{0, %r13}}], [%r15];"""
        body = f"""{TILE.replace(".align 16 .b8 tile[256]", ".align 1024 .b8 tile[1024]")}
        st.shared.u32 [%r4], 0; @%p2 mbarrier.init.shared::cta.b64 [%r2], 1;
        fence.mbarrier_init.release.cluster; fence.proxy.async; {SYNC}
        @!%p2 bra WAIT;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {1024 if to_all else 256};
        shl.b32 %r12, %r5, 8; add.u32 %r12, %r12, %r1;
        mov.u32 %r13, %ctaid.x; shl.b32 %r13, %r13, 1;
        mov.u16 %h1, 15; {sent}
        {WAIT} ld.shared.u32 %result, [%r4]; {SYNC}"""
        made = written(device, body, source=source, threads=threads).reshape(2, 4, 8, words)
        parts = table.reshape(2, 1, 8, words)
        if swizzle:  # of each row 16 bytes change places by its number
            line = np.arange(8)[:, None] ^ np.arange(8)
            units = parts.reshape(2, 1, 8, 8, 4)
            parts = np.take_along_axis(units, line[None, None, :, :, None], 3).reshape(parts.shape)
        for rank in range(4):
            wanted = parts[:, 0].copy()
            if not to_all:
                own = np.arange(8) // 2 == (rank - 1) % 4
                wanted[:, ~own] = 0
            np.testing.assert_array_equal(made[:, rank], wanted)


@pytest.mark.parametrize("device", CLUSTERED)
def test_blocks_that_end_and_wait_apart(device):
    """Threads that have ended do not count; a block arrives, works, and waits later."""
    body = f"""{TILE} st.shared.u32 [%r4], %t; {SYNC}
    setp.ge.u32 %p3, %t, 32; @%p3 bra DONE;
    setp.eq.u32 %p4, %r5, 0; @%p4 bra FIRST;
    barrier.cluster.arrive.relaxed; mov.u32 %r8, %t; mul.lo.u32 %r8, %r8, 3;
    barrier.cluster.wait.acquire; bra BEHIND;
    FIRST: mov.u32 %r8, 5; barrier.cluster.arrive.release; barrier.cluster.wait;
    BEHIND: mapa.shared::cluster.u32 %r9, %r4, %r7; ld.shared::cluster.u32 %r10, [%r9];
    add.u32 %result, %r8, %r10; {SYNC}
    st.global.u32 [%own], %result; ret;
    DONE: mov.u32 %result, 1;"""
    made = written(device, body)
    thread, rank = np.arange(THREADS), ranks((8, 1, 1), (4, 1, 1))[:, None]
    wanted = np.where(rank == 0, 5 + thread, 4 * thread)
    np.testing.assert_array_equal(made[:, :32], wanted[:, :32])
    assert (made[:, 32:] == 1).all()


@pytest.mark.parametrize("device", CLUSTERED)
def test_reductions_of_a_block_within_a_cluster(device):
    """Barriers of a block, of some of its warps, and reductions at them."""
    body = f"""{TILE} setp.lt.u32 %p3, %t, 8; setp.ne.u32 %p4, %r5, 0; and.pred %p3, %p3, %p4;
    barrier.cta.red.popc.aligned.u32 %r8, 0, %p3; st.shared.u32 [%r4], %r8; {SYNC}
    mapa.shared::cluster.u32 %r9, %r4, %r7; ld.shared::cluster.u32 %r10, [%r9];
    setp.lt.u32 %p5, %t, 32; @!%p5 bra OTHERS;
    barrier.sync 1, 32; bra JOINED;
    OTHERS: barrier.sync 2, 32;
    JOINED: mad.lo.u32 %result, %r8, 100, %r10; {SYNC}"""
    made = written(device, body)
    rank = ranks((8, 1, 1), (4, 1, 1))[:, None]
    counts = 8 * (rank > 0)
    wanted = 100 * counts + 8 * ((rank + 1) % 4 > 0)
    np.testing.assert_array_equal(made, np.broadcast_to(wanted, made.shape))


@pytest.mark.parametrize("device", CLUSTERED)
def test_a_histogram_over_a_cluster(device):
    """The example of CUDA's programming guide: bins are distributed over the blocks."""
    bins = 4 * 16
    body = f"""{TILE} mov.u32 %r8, 0; setp.lt.u32 %p3, %t, 16; @%p3 st.shared.u32 [%r4], %r8; {SYNC}
    mov.u32 %r9, %ctaid.x; mad.lo.u32 %r9, %r9, {THREADS}, %t; mul.wide.u32 %rd1, %r9, 4;
    add.u64 %rd1, %rd1, %source; ld.global.u32 %r10, [%rd1];
    shr.u32 %r11, %r10, 4; and.b32 %r12, %r10, 15; shl.b32 %r12, %r12, 2; add.u32 %r12, %r12, %r1;
    cvt.u64.u32 %rd2, %r12; cvta.shared.u64 %rd2, %rd2; mapa.u64 %rd3, %rd2, %r11;
    red.add.u32 [%rd3], 1; {SYNC}
    mov.u32 %result, 0; @%p3 ld.shared.u32 %result, [%r4]; {SYNC}"""
    source = np.random.default_rng(5).integers(0, bins, (32, THREADS)).astype(np.uint32)
    made = written(device, body, grid=(32,), source=source)
    wanted = [np.bincount(each, minlength=bins) for each in source.reshape(8, -1)]
    np.testing.assert_array_equal(made[:, :16].reshape(8, bins), wanted)


@pytest.mark.parametrize("device", [each for each in CLUSTERED if each != "cuda"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("@%p3 barrier.cluster.arrive; @%p3 barrier.cluster.wait; @!%p3 bar.sync 0;",
         "arrive|come"),
        ("setp.eq.u32 %p4, %r5, 1; @%p4 trap;", "trap"),
        ("mov.u32 %r8, %laneid; setp.eq.u32 %p4, %r8, 3; @%p4 barrier.cluster.arrive;"
         "@%p4 barrier.cluster.wait; @!%p4 barrier.cluster.arrive; @!%p4 barrier.cluster.wait;",
         "arrive"),
    ],
)  # fmt: skip
def test_threads_that_do_not_arrive(device, code, words):
    body = f"{TILE} setp.lt.u32 %p3, %t, 32; {code} {SYNC} mov.u32 %result, 1;"
    with pytest.raises(KernelError, match=words) as error:
        written(device, body)
    assert words != "trap" or "ctaid=[1, 0, 0]" in str(error.value)


def test_refusals():
    text = text_of("mov.u32 %result, %cluster_nctarank;")
    head = ".param .u64 made) {"

    def launch(directive: str, grid: tuple[int, ...], device: str = "interp") -> None:
        current.choose(get_device(device))
        module = cuda.RawModule(code=text.replace(head, f"{head[:-1]} {directive} {{"))
        made = np.zeros(32, np.uint32)
        module.get_function("k")(grid, (1,), (made, made))

    launch(".reqnctapercluster 2", (2,))
    for directive, grid, words in (
        (".reqnctapercluster 2", (3,), "no multiple"),
        (".reqnctapercluster 4, 4, 1", (4, 4), "1 to 8"),
        (".explicitcluster", (2,), "cudaLaunchAttributeClusterDimension"),
        (".reqntid 1 .reqnctapercluster 2 .blocksareclusters", (2,), "grids count clusters"),
        (".reqnctapercluster 4 .maxclusterrank 2", (4,), "for 2 at most"),
    ):
        with pytest.raises(LaunchError, match=words):
            launch(directive, grid)


def test_a_grid_of_part_of_a_cluster_that_no_plan_has_checked():
    current.choose(get_device("cpu"))
    text = text_of("mov.u32 %result, 1;").replace(
        ".param .u64 made) {", ".param .u64 made) .reqnctapercluster 2, 1, 1 {"
    )
    kernel = Kernel(PtxSource(parse_ptx(text), "k"))
    made = cuda.to_device(np.zeros(32, np.uint32))
    plan = kernel.plan((32, 1, 1), device=get_device("cpu"))
    params = plan.pack(made.device_pointer, made.device_pointer)
    plan.kernel.launch(params, 2, 1, 1, 0)
    assert (made.copy_to_host() == 1).all()
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_CLUSTER_SIZE"):
        plan.kernel.launch(params, 3, 1, 1, 0)
