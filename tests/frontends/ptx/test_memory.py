"""Variables of a module, generic addresses and functions by address, on each device."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import results, text_of

from gridlane import cuda
from gridlane.core.errors import ArgumentError, PtxError
from gridlane.frontends.ptx import ModuleData, parse_ptx
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parent / "memory.cu"
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
T = np.arange(32)


@pytest.fixture(scope="module", params=["clang", "nvrtc"])
def text(request: pytest.FixtureRequest) -> str:
    return cuda.compile_cpp(SOURCE.read_text(), backend=request.param)


@pytest.fixture(params=["interp", *DEVICES])
def module(request: pytest.FixtureRequest, text: str) -> cuda.RawModule:
    """A module of its own, as kernels change its memory."""
    current.choose(get_device(request.param))
    return cuda.RawModule(code=text)


def run(module: cuda.RawModule, name: str, *args: object, threads: int = 1, **more: int) -> None:
    module.get_function(name)(1, threads, args, **more)


def test_kernels_share_the_variables(module):
    x = np.zeros(32, np.int32)
    run(module, "count", x, threads=32)
    assert sorted(x) == list(range(5, 37))
    counter = module.get_global("counter").view(np.int32)
    assert counter.copy_to_host() == [37]
    counter.copy_to_device(np.array([100], np.int32))
    run(module, "handed_on", x)
    assert x[1] == 109
    run(module, "one_of_two", x, 1)
    assert x[1] == 7
    x[:] = 0
    run(module, "one_of_two", x, 0)
    assert list(x[:2]) == [7, 7]
    x[0] = 3
    run(module, "handed_on", x)
    assert list(x[:2]) == [12, 16]


def test_addresses_in_global_memory(module):
    slot, x = np.zeros(1, np.uint64), np.zeros(2, np.int32)
    run(module, "kept_in_memory", slot, x)
    assert list(x) == [8, 9]
    assert slot[0] == module.get_global("counter").address


def test_constants_that_the_host_writes(module):
    x = np.zeros(1, np.float32)
    run(module, "tables", x, 2)
    assert x == [6.5]
    factors = module.get_global("factors").view(np.float32)
    factors.copy_to_device(np.array([9, 8, 7], np.float32))
    run(module, "tables", x, 2)
    assert x == [-1 + 7]
    table = module.get_global("table").view(np.float32)
    assert list(table.copy_to_host()) == [1, 2, -1, 4]


def test_addresses_of_shared_memory(module):
    x = np.zeros(32, np.int32)
    run(module, "shared_addresses", x, threads=32)
    assert list(x) == list((31 - (T ^ 1)) * 3 + (31 - T) * 3 + 9)


def test_an_address_of_any_memory(module):
    x = np.zeros(65, np.int32)
    run(module, "any_memory", x, 1, threads=32, shared_mem=128)
    which = (T + 1) % 4
    own = ((T + 1) & 7) + T + 9
    of = np.choose(which, [1110 + T, 1210 + T, 2000 + own, 4310 + T])
    assert list(x[:32]) == list(of)
    assert list(x[32:64]) == list(np.where(which == 3, 310, 300) + T) and x[64] == 8


def test_addresses_of_32_bits(module):
    x = np.zeros(32, np.int32)
    run(module, "narrow_addresses", x, threads=32, shared_mem=128)
    assert list(x) == list(np.where(T % 3, 100, 200) + T)


def test_functions_by_address(module):
    x = T.astype(np.float32)
    run(module, "virtual_functions", x, threads=32)
    assert list(x) == list(np.where(T & 1, 2 * T * T, 3 * T))
    x = T.astype(np.int32)
    run(module, "functions", x, 1, threads=32)
    assert list(x) == list(np.choose((T + 1) % 3, [T + T, T * T, T * 0]))


def test_a_call_of_no_function(text):
    current.choose(get_device("interp"))
    with pytest.raises(RuntimeError, match="the address of a call is of no function"):
        run(cuda.RawModule(code=text), "no_function", np.zeros(1, np.int32))


def test_a_parameter_by_index(module):
    x, many = T.astype(np.int32), np.arange(16, dtype=np.int32) * 11
    run(module, "parameter_by_index", x, many.tobytes(), threads=32)
    assert list(x) == list(many[(T * 8) & 15])


def test_modules_have_memory_of_their_own(text):
    current.choose(get_device("cpu"))
    one, two = cuda.RawModule(code=text), cuda.RawModule(code=text)
    x = np.zeros(4, np.int32)
    run(one, "count", x, threads=4)
    assert one.get_global("counter").view(np.int32).copy_to_host() == [9]
    assert two.get_global("counter").view(np.int32).copy_to_host() == [5]
    alone = cuda.RawKernel(text, "count")
    alone(1, 4, (x,))
    assert sorted(x) == [5, 6, 7, 8]
    kernel = one.get_function("count")
    del one
    gc.collect()
    kernel(1, 4, (x,))
    assert sorted(x) == [9, 10, 11, 12]


def test_threads_that_launch_first_at_once(text):
    current.choose(get_device("cpu"))
    module = cuda.RawModule(code=text)
    kernel, xs = module.get_function("count"), [np.zeros(8, np.int32) for _ in range(8)]
    workers = [threading.Thread(target=kernel, args=(1, 8, (x,))) for x in xs]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert sorted(np.concatenate(xs)) == list(range(5, 69))


def test_no_such_variable(text):
    with pytest.raises(ArgumentError, match=r"no variable nothing here; .*: .*count"):
        cuda.RawModule(code=text).get_global("nothing")


@pytest.mark.parametrize(
    "declared, wanted",
    [
        (".b32 v[3] = {1, -2, 0f3F800000}", np.array([1, -2, 0x3F800000], "<i4").tobytes()),
        (".u64 v[2] = {w+4, generic(w)}", np.array([36, 32], "<u8").tobytes()),
        (".u64 v[2] = {f, 0}", np.array([(4 << 56) + 16, 0], "<u8").tobytes()),
        (".u8 v[3] = {0xFF(w), 0xFF00(w), 7}", bytes([32, 0, 7])),
        (".f64 v = 1.5", np.array([1.5]).tobytes()),
        (".f32 v[2][2] = {{1.0, 2.0}, {3.0, 4.0}}", np.array([1, 2, 3, 4], "<f4").tobytes()),
        (".f32 v[2][2] = {{1.0}, {3.0, 4.0}}", np.array([1, 0, 3, 4], "<f4").tobytes()),
        (".b8 v[2][2][2] = {{{1}, {2}}, {3, 4}}", bytes([1, 0, 2, 0, 3, 4, 0, 0])),
        (".v2 .b8 v[2] = {{1}, {2, 3}}", bytes([1, 0, 2, 3])),
        (".b16 v[2] = {1 + 2*3, (1<<4)|1}", bytes([7, 0, 17, 0])),
        (".b8 v[] = {72, 105, 0}", b"Hi\0"),
        (".align 8 .b8 v[4] = {1}", bytes([1, 0, 0, 0])),
    ],
)
def test_initial_values(declared, wanted):
    module = parse_ptx(f"{HEAD}.func f() {{ ret; }}\n.global {declared};\n.global .b64 w[2];\n")
    data = ModuleData(module)
    assert data.initial(16)[: len(wanted)].tobytes() == wanted
    assert data.size_of("v") == len(wanted) and data.offsets["w"] == 16


@pytest.mark.parametrize(
    "declared, told",
    [
        (".b32 v[2] = {1, 2, 3}", "has 8 bytes, and 12 are given"),
        (".u64 v = nowhere", "names nowhere, which is not defined"),
        (".u32 v = w", "is an address, which has 8 bytes"),
        (".u32 v = 1 2", "the initial value 1 2 is not translated"),
        (".b8 v[2][2] = {{1, 2, 3}, {4}}", "a row has more than its 2. dimension"),
        (".b32 v = 1 << 70.5", "is not translated"),
        (".f32 v = 1", "1 is no .f32"),
        (".b32 v = 1.5", "1.5 is no .b32"),
        (".b32 v = 0d3FF0000000000000", "is no .b32"),
        (".u64 v = w+1.5", "is not translated"),
    ],
)
def test_malformed_initial_values(declared, told):
    with pytest.raises(PtxError, match=told.replace("+", r"\+")):
        ModuleData(parse_ptx(f"{HEAD}.global {declared};\n.global .b64 w[2];\n")).initial(0)


SIZES = """
.shared .align 4 .b8 a[132]; .shared .align 16 .b8 b[20];
st.shared.u32 [a], %t; st.shared.u32 [b], %t;
call f, ();
mov.u32 %r1, %total_smem_size; mov.u32 %r2, %aggr_smem_size; mov.u32 %r3, %dynamic_smem_size;
mad.lo.u32 %result, %r1, 65536, %r3; setp.ne.u32 %p1, %r1, %r2; @%p1 trap;
"""
CALLED = ".func f() { .shared .align 8 .b8 c[40]; st.shared.u32 [c], 1; ret; }"


@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each != "cuda")])
@pytest.mark.parametrize("dynamic, total", [(48, 256), (64, 384)])
def test_the_size_of_shared_memory(device, dynamic, total):
    """Variables of 132 bytes, 20 from 144 on and 40 from 168 on; in steps of 128 bytes."""
    current.choose(get_device(device))
    made = np.zeros(32, np.uint32)
    kernel = cuda.RawModule(code=text_of(SIZES, CALLED)).get_function("k")
    kernel(1, 32, (np.zeros(1, np.uint32), made), shared_mem=dynamic)
    assert set(made.tolist()) == {total << 16 | dynamic}


WHOLE = """
.shared .align 16 .b8 all[32768]; mov.u64 %rd1, all; cvta.shared.u64 %rd1, %rd1;
setp.eq.u64 %p1, %rd1, 0; @%p1 trap;
mad.wide.u32 %rd1, %t, 1024, %rd1; st.u32 [%rd1 + 1020], %t;
setp.gt.u32 %p1, %t, 99; selp.b64 %rd1, %source, %rd1, %p1;
bar.sync 0; ld.u32 %result, [%rd1 + 1020];
"""


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_all_of_the_shared_memory(device):
    """Addresses that are numbers begin at 0 there."""
    assert list(results(device, WHOLE)) == list(range(32))


MEETING = """
mov.b32 %result, %envreg2; mov.b32 %r1, %envreg1; or.b32 %result, %result, %r1;
setp.eq.u32 %p1, %result, 0; @%p1 trap;
"""


@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each != "cuda")])
def test_a_grid_of_several_blocks_that_would_meet(device):
    """It traps, and the error says what for; a kernel without such code is not explained so."""
    current.choose(get_device(device))
    given, made = np.zeros(1, np.uint32), np.zeros(32, np.uint32)
    kernel = cuda.RawModule(code=text_of(MEETING)).get_function("k")
    kernel(1, 32, (given, made))
    assert all(made)
    with pytest.raises(RuntimeError, match="a trap, as code of cooperative groups does where"):
        kernel(2, 32, (given, made))
    plain = cuda.RawModule(code=text_of("trap;")).get_function("k")
    with pytest.raises(RuntimeError, match="the kernel has run into a trap") as caught:
        plain(1, 32, (given, made))
    assert "groups" not in str(caught.value)


GRID = """
mov.u32 %r20, %tid.x; mov.u32 %r21, %ctaid.x; mov.u32 %r22, %nctaid.x; mov.u32 %r23, %ntid.x;
mad.lo.u32 %r24, %r21, %r23, %r20; mul.lo.u32 %r25, %r22, %r23; sub.u32 %r26, %r25, 1;
sub.u32 %r26, %r26, %r24; mul.wide.u32 %rd5, %r24, 4; mul.wide.u32 %rd6, %r26, 4;
add.s64 %rd5, %source, %rd5; add.s64 %rd6, %source, %rd6; mov.u32 %r30, 0; mov.u32 %result, 0;
mov.u32 %r1, %envreg2; cvt.u64.u32 %rd1, %r1; mov.u32 %r2, %envreg1; cvt.u64.u32 %rd2, %r2;
shl.b64 %rd8, %rd2, 32; or.b64 %rd3, %rd8, %rd1; setp.ne.s64 %p1, %rd3, 0; @%p1 bra AGAIN; trap;
AGAIN:
mad.lo.u32 %r27, %r30, 100, %r24; st.global.u32 [%rd5], %r27; add.s64 %rd4, %rd3, 4;
barrier.sync 0; setp.ne.u32 %p2, %r20, 0; @%p2 bra MET;
setp.eq.u32 %p3, %r21, 0; sub.u32 %r3, -2147483647, %r22; selp.b32 %r3, %r3, 1, %p3;
atom.add.release.gpu.u32 %r4, [%rd4], %r3;
SPIN:
{load} %r5, [%rd4]; xor.b32 %r6, %r5, %r4; setp.gt.s32 %p4, %r6, -1; @%p4 bra SPIN;
MET:
barrier.sync 0; ld.global.u32 %r28, [%rd6]; add.u32 %result, %result, %r28;
barrier.sync 0; @%p2 bra LEFT;
atom.add.release.gpu.u32 %r7, [%rd4], %r3;
LEAVE:
{load} %r8, [%rd4]; xor.b32 %r9, %r8, %r7; setp.gt.s32 %p5, %r9, -1; @%p5 bra LEAVE;
LEFT:
mul.lo.u32 %r41, %r30, 2; ld.param.u64 %rd9, [made]; barrier.sync 0; {more}
add.u32 %r30, %r30, 1; setp.lt.u32 %p6, %r30, 3; @%p6 bra AGAIN;
mul.wide.u32 %rd7, %r21, 128; add.s64 %own, %own, %rd7;
"""
"""The barrier of a grid as nvcc writes that of NVIDIA's header, in a loop: each thread reads what
the opposite one of the grid wrote. A block's results follow those of the block before it."""


def meet(device: str, body: str) -> np.ndarray:
    """The results of four blocks."""
    current.choose(get_device(device))
    given, made = cuda.to_device(np.zeros(128, np.uint32)), cuda.to_device(np.zeros(128, np.uint32))
    kernel = cuda.RawModule(code=text_of(body)).get_function("k")
    kernel(4, 32, (given, made))
    cuda.synchronize()  # a launch that waits may be left to a thread
    return made.copy_to_host()


@pytest.mark.parametrize("load", ["ld.acquire.gpu.u32", "ld.volatile.u32"])
@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each != "cuda")])
def test_a_grid_of_several_blocks_meets(device, load):
    made = meet(device, GRID.replace("{load}", load).replace("{more}", ""))
    assert list(made) == list(3 * np.arange(127, -1, -1) + 300)


@pytest.mark.parametrize(
    "more",
    [
        "st.global.u64 [%rd5], %rd3;",
        "ld.volatile.u32 %r40, [%rd4];",
        "mov.u64 %rd3, %source;",
        "atom.exch.b32 %r40, [%rd4], 0;",
    ],
)
def test_other_uses_of_the_word_of_a_launch(more):
    """Then nothing is known of the loop, and the kernel traps."""
    with pytest.raises(RuntimeError, match="a trap, as code of cooperative groups does where"):
        meet("cpu", GRID.replace("{load}", "ld.acquire.gpu.u32").replace("{more}", more))


def test_a_barrier_in_the_way():
    """The block behind the loop is also reached by threads that did not pass the branch before
    it."""
    body = GRID.replace("{load}", "ld.acquire.gpu.u32").replace("{more}", "")
    around = body.replace("AGAIN:", "setp.eq.u32 %p7, %r21, 9; @%p7 bra MET;\nAGAIN:")
    with pytest.raises(RuntimeError, match="a trap, as code of cooperative groups does where"):
        meet("cpu", around)
