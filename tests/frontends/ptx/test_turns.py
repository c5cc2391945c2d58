"""Warps of a block that wait for each other in loops, on the CPU in any order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import results

from gridlane import cuda
from gridlane.core.config import Config
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parent / "turns.cu"
HAVE = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
LANES = np.arange(32)


@pytest.fixture(scope="module")
def module() -> cuda.RawModule:
    return cuda.RawModule(path=SOURCE)


def run(module: cuda.RawModule, name: str, by: int, threads: int = 64, blocks: int = 1):
    x = np.zeros(threads * blocks, np.int32)
    module.get_function(name)(blocks, threads, (x, np.int32(by)))
    return x.reshape(blocks, -1, 32)


@pytest.mark.parametrize("device", HAVE)
@pytest.mark.parametrize("producer", [0, 1, 2])
def test_a_flag(module, device, producer):
    current.choose(get_device(device))
    x = run(module, "flag", producer, 96, 5)
    for block, made in enumerate(x):
        for warp, row in enumerate(made):
            assert (row == (0 if warp == producer else (31 - LANES) * 3 + block + 1)).all()


@pytest.mark.parametrize("device", HAVE)
@pytest.mark.parametrize("producer", [0, 1])
def test_a_ring(module, device, producer):
    current.choose(get_device(device))
    for block, made in enumerate(run(module, "ring", producer, 64, 3)):
        count = 40 + block
        assert not made[producer].any()
        assert (made[1 - producer] == 100 * sum(range(count)) + count * (31 - LANES)).all()


@pytest.mark.parametrize("device", HAVE)
def test_each_for_the_next(module, device):
    current.choose(get_device(device))
    (made,) = run(module, "backwards", 3, 128)
    assert (made == np.arange(128).reshape(4, 32)[:, ::-1]).all()


@pytest.mark.parametrize("device", HAVE)
@pytest.mark.parametrize("first", [0, 1])
def test_both_sides_of_a_branch(module, device, first):
    current.choose(get_device(device))
    (made,) = run(module, "ping_pong", first)
    assert made[0, 0] == 20 and made[0, 2 + first] == sum(range(9))


PIPELINE = """
.shared .align 8 .b8 bars[16]; .shared .b32 cell;
mov.u32 %r20, bars; setp.ne.u32 %p10, %t, 0;
@!%p10 mbarrier.init.shared.b64 [%r20], 1; @!%p10 mbarrier.init.shared.b64 [%r20+8], 32;
bar.sync 0;
mov.u32 %result, 0; mov.u32 %r1, 0; setp.lt.u32 %p1, %t, 32; setp.ne.u32 %p2, %t, PRODUCER;
setp.eq.u32 %p3, PRODUCER, 0; xor.pred %p1, %p1, %p3;
@%p1 bra CONSUME;
@%p2 bra LAST;
PRODUCE: and.b32 %r2, %r1, 1; mul.lo.u32 %r3, %r1, %r1;
st.shared.u32 [cell], %r3; mbarrier.arrive.shared.b64 _, [%r20];
EMPTY: mbarrier.try_wait.parity.shared.b64 %p4, [%r20+8], %r2; @!%p4 bra EMPTY;
add.u32 %r1, %r1, 1; setp.lt.u32 %p5, %r1, 9; @%p5 bra PRODUCE;
bra LAST;
CONSUME: and.b32 %r2, %r1, 1;
FULL: mbarrier.try_wait.parity.shared.b64 %p4, [%r20], %r2; @!%p4 bra FULL;
ld.shared.u32 %r3, [cell]; add.u32 %result, %result, %r3;
mbarrier.arrive.shared.b64 _, [%r20+8];
add.u32 %r1, %r1, 1; setp.lt.u32 %p5, %r1, 9; @%p5 bra CONSUME;
LAST:
"""


@pytest.mark.parametrize("device", HAVE)
@pytest.mark.parametrize("producer", [0, 32])
def test_two_sides_that_wait_by_mbarrier(device, producer):
    made = results(device, PIPELINE.replace("PRODUCER", str(producer)), 64).reshape(2, 32)
    assert not made[producer // 32].any()
    assert (made[1 - producer // 32] == sum(n * n for n in range(9))).all()


def test_a_kernel_of_12000_ops():
    """Larger kernels are functions of their own elsewhere; a coroutine is one function."""
    long = "mov.u32 %r40, 1;" + "mad.lo.u32 %r40, %r40, %t, 3;\n" * 3000
    body = PIPELINE.replace("PRODUCER", "0") + "add.u32 %result, %result, %r40;"
    own, wanted = np.arange(64, dtype=np.uint32), np.ones(64, np.uint32)
    for _ in range(3000):
        wanted = wanted * own + np.uint32(3)
    wanted[32:] += sum(n * n for n in range(9))
    assert (results("cpu", long + body, 64) == wanted).all()


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("producer", [0, 1])
def test_a_wait_that_nobody_ends(monkeypatch, device, producer):
    monkeypatch.setattr(Config, "spin_nanoseconds", 200_000_000)
    monkeypatch.setattr("gridlane.compiler.default_cache", lambda: None)
    current.choose(get_device(device))
    with pytest.raises(RuntimeError, match=r"has waited in this loop for 0.2 s .*_SPIN_LIMIT"):
        run(cuda.RawModule(path=SOURCE), "nobody", producer)


@pytest.mark.parametrize("opt", [True, False])
def test_in_python(opt):
    """Each warp adds once the one behind it has, at LLVM's lowest level as well."""
    current.choose(get_device("cpu"))

    @cuda.jit(opt=opt)
    def kernel(turn, x):
        warp = cuda.threadIdx.x // 32
        if cuda.threadIdx.x % 32 == 0:
            while cuda.atomic.add(turn, 0, 0) != warp:
                pass
            x[warp] = x[warp + 1] + warp + 1
            cuda.threadfence()
            cuda.atomic.sub(turn, 0, 1)

    turn, x = np.full(1, 3, np.int32), np.zeros(5, np.int32)
    kernel[1, 128](turn, x)
    assert x.tolist() == [10, 9, 7, 4, 0]


@pytest.mark.parametrize("device", HAVE)
@pytest.mark.parametrize("producer", [0, 1])
def test_reductions_at_barriers(device, producer):
    """The warps that wait for a flag reduce over the block in front of it and behind it."""
    body = f"""
    .shared .b32 flag; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [flag], 0;
    setp.lt.u32 %p2, %t, 5; bar.red.popc.u32 %r1, 0, %p2;
    shr.u32 %r2, %t, 5; setp.eq.u32 %p3, %r2, {producer}; @%p3 bra SETS;
    ASKS: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p4, %r3, 0; @%p4 bra ASKS; bra MEET;
    SETS: mov.u32 %r3, 9; st.volatile.shared.u32 [flag], 7;
    MEET: setp.ge.u32 %p5, %t, 3; bar.red.and.pred %p6, 0, %p5; bar.red.or.pred %p7, 0, !%p5;
    selp.u32 %r4, 100, 0, %p6; selp.u32 %r5, 1000, 0, %p7;
    mad.lo.u32 %result, %r1, 10000, %r3; add.u32 %result, %result, %r4;
    add.u32 %result, %result, %r5;"""
    own = np.where(np.arange(64) // 32 == producer, 9, 7)
    assert (results(device, body, 64) == 51000 + own).all()
