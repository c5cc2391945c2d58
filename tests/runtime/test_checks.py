"""Checked kernels on the CPU: what goes wrong is named, and nothing else is stopped."""

import re

import cffi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES, assert_same, run_on
from tests.frontends.ptx.wmma_kernels import gemm

import gridlane
from gridlane import cuda
from gridlane.compiler.generation import text
from gridlane.conformance.suite import cases
from gridlane.core import config
from gridlane.core.device_errors import KernelFault
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.runtime.drivers.cpu_ranges import joined

ffi = cffi.FFI()


@pytest.fixture(autouse=True)
def checked(monkeypatch):
    """Each kernel is made in the test, as the setting holds for kernels from then on."""
    monkeypatch.setenv("GRIDLANE_CHECK", "1")
    config.config.cache_clear()
    with gridlane.device("cpu"):
        yield
    monkeypatch.undo()
    config.config.cache_clear()


def kernel_at(read):
    """A kernel that copies what a function reads at a thread's number."""
    get = cuda.jit(device=True)(read)

    @cuda.jit
    def kernel(a, out, by):
        out[cuda.grid(1)] = get(a, cuda.grid(1) + by)

    return kernel


def at(a, i):
    return a[i]


def at_row(a, i):
    return a[2, i]


def at_column(a, i):
    return a[i % 3, i // 3]


def at_view(a, i):
    return a[1:, 3:][1, i]


def at_field(a, i):
    return a[i].y


def by_atomic(a, i):
    return cuda.atomic.add(a, i, np.float32(1))


def in_shared(a, i):
    s = cuda.shared.array(16, np.float32)
    s[i] = i
    return s[i]


def in_local(a, i):
    s = cuda.local.array((2, 9), np.float32)
    s[1, i] = i
    return s[1, i]


LINE = np.arange(16, dtype=np.float32)
TABLE = np.arange(30, dtype=np.float32).reshape(3, 10)
RECORDS = np.zeros(16, [("x", "f4"), ("y", "f4")])


@pytest.mark.parametrize(
    "read, array, by, lane, told",
    (
        (at, LINE, 9, 7, "16 on axis 0 of a, whose shape is (16,)"),
        (at, LINE, -17, 0, "-17 on axis 0 of a, whose shape is (16,)"),
        (at, LINE, 1 << 28, 0, "268435456 on axis 0 of a, whose shape is (16,)"),
        (at, LINE[::2], 1, 7, "8 on axis 0 of a, whose shape is (8,)"),
        (at_row, TABLE, 3, 7, "10 on axis 1 of a, whose shape is (3, 10)"),
        (at_column, TABLE.T, 5, 4, "3 on axis 1 of a, whose shape is (10, 3)"),
        (at_view, TABLE, 0, 7, "7 on axis 1"),
        (at_field, RECORDS, 9, 7, "16 on axis 0 of a, whose shape is (16,)"),
        (by_atomic, LINE.copy(), 9, 7, "16 on axis 0 of a, whose shape is (16,)"),
        (in_shared, LINE, 9, 7, "16 on axis 0 of s, whose shape is (16,)"),
        (in_local, LINE, 2, 7, "9 on axis 1 of s, whose shape is (2, 9)"),
    ),
)
def test_an_index_is_named(read, array, by, lane, told):
    out = np.zeros(8, np.float32)
    kernel = kernel_at(read)
    with pytest.raises(IndexError) as error:
        kernel[1, 8](array, out, by)
    message = str(error.value)
    assert f"tid=[{lane}, 0, 0] ctaid=[0, 0, 0]: index is out of bounds: {told}" in message
    assert f"{__file__}" in message and "^^^" in message


def test_debug_names_it_as_well(monkeypatch):
    """The other threads go on, as numba's do."""
    monkeypatch.delenv("GRIDLANE_CHECK")
    config.config.cache_clear()

    @cuda.jit(debug=True, opt=False)
    def kernel(a, out):
        out[cuda.grid(1)] = a[cuda.grid(1), 3]

    out = np.zeros(8, np.float32)
    with pytest.raises(IndexError, match=r"3 on axis 0 of a, whose shape is \(3, 10\)"):
        kernel[4, 2](TABLE, out)
    assert out.tolist() == [3, 13, 23, 0, 0, 0, 0, 0]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(-60, 60), st.integers(1, 70))
def test_indices_are_what_numpy_takes(count, width, by, threads):
    kernel = CROSSWISE[0]
    table = np.arange(count * width, dtype=np.int32).reshape(count, width)
    indices = np.arange(threads) + by
    out = np.zeros(threads, np.int32)
    try:
        wanted = table[indices, indices % width]
    except IndexError:
        with pytest.raises(IndexError):
            kernel[1, threads](table, out, by)
        return
    kernel[1, threads](table, out, by)
    assert (out == wanted).all()


CROSSWISE = []


@pytest.fixture(autouse=True)
def crosswise(checked):
    @cuda.jit
    def kernel(table, out, by):
        i = cuda.threadIdx.x
        n = i + by
        out[i] = table[n, n % table.shape[1]]

    CROSSWISE[:] = [kernel]


def test_many_threads_give_one_report_and_the_device_goes_on():
    @cuda.jit
    def kernel(a, by):
        a[cuda.grid(1) + by] += 1

    a = cuda.to_device(np.zeros(1 << 18, np.float32))
    for _ in range(3):
        with pytest.raises(IndexError) as error:
            kernel[1 << 10, 256](a, 1 << 18)
        assert str(error.value).count("tid=") == 1
    kernel[1 << 10, 256](cuda.to_device(np.zeros(1 << 18, np.float32)), 0)
    stream = cuda.stream()
    kernel[1 << 10, 256, stream](a, 1)
    with pytest.raises(IndexError, match="262144 on axis 0 of a"):
        stream.synchronize()
    b = cuda.to_device(np.zeros(1 << 18, np.float32))
    kernel[1 << 10, 256](b, 0)
    assert (b.copy_to_host() == 1).all()


def test_a_loop_of_each_lane_tells_its_thread():
    @cuda.jit
    def sums(starts, values, out):
        i = cuda.grid(1)
        total = np.float32(0)
        for n in range(starts[i], starts[i + 1]):
            total += values[n]
        out[i] = total

    starts = np.arange(0, 65 * 8, 8).astype(np.int32)
    values, out = np.ones(512, np.float32), np.zeros(64, np.float32)
    sums[2, 32](starts, values, out)
    assert (out == 8).all()
    starts[41:] += 100
    with pytest.raises(IndexError) as error:
        sums[2, 32](starts, values, out)
    told = r"tid=\[(\d+), 0, 0\] ctaid=\[(\d), 0, 0\]: .*: (\d+) on axis 0 of values"
    thread, block, index = map(int, re.match(told, str(error.value)).groups())
    assert index >= 512
    assert starts[block * 32 + thread] <= index < starts[block * 32 + thread + 1]


# ---- pointers

POINTERS = """
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .b32 table[4] = {7, 8, 9, 10};
.const .align 4 .b32 fixed[4] = {1, 2, 3, 4};
.extern .shared .align 16 .b8 given[];
.visible .entry copy(.param .u64 from, .param .u64 into, .param .s32 by)
{
    .reg .u64 %d<6>; .reg .u32 %r<4>;
    ld.param.u64 %d0, [from]; ld.param.u64 %d1, [into]; ld.param.s32 %r0, [by];
    cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %d1, %d1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
    add.s32 %r0, %r0, %r1;
    mul.wide.s32 %d4, %r0, 4; add.u64 %d5, %d0, %d4;
    ld.global.u32 %r2, [%d5];
    st.global.u32 [%d3], %r2;
    ret;
}
.visible .entry pairs(.param .u64 from, .param .u64 into, .param .s32 by)
{
    .reg .u64 %d<6>; .reg .u32 %r<4>;
    ld.param.u64 %d0, [from]; ld.param.u64 %d1, [into]; ld.param.s32 %r0, [by];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2;
    mul.wide.s32 %d4, %r0, 4; add.u64 %d5, %d0, %d4;
    ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d5];
    st.global.v4.u32 [%d3], {%r0, %r1, %r2, %r3};
    ret;
}
.visible .entry count(.param .u64 from, .param .u64 into, .param .s32 by)
{
    .reg .u64 %d<4>; .reg .u32 %r<3>;
    ld.param.u64 %d1, [into]; ld.param.s32 %r0, [by];
    mov.u32 %r1, %tid.x; add.s32 %r0, %r0, %r1;
    mul.wide.s32 %d2, %r0, 4; add.u64 %d3, %d1, %d2;
    atom.global.add.u32 %r2, [%d3], 1;
    ret;
}
.visible .entry shared(.param .u64 from, .param .u64 into, .param .s32 by)
{
    .shared .align 4 .b8 own[64];
    .reg .u64 %d<4>; .reg .u32 %r<6>;
    ld.param.u64 %d1, [into]; ld.param.s32 %r0, [by];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, own; add.u32 %r3, %r3, %r2;
    st.shared.u32 [%r3], %r1;
    add.s32 %r0, %r0, %r1; shl.b32 %r0, %r0, 2; mov.u32 %r4, given; add.u32 %r4, %r4, %r0;
    st.shared.u32 [%r4], %r1;
    mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
    ld.shared.u32 %r5, [%r3]; st.global.u32 [%d3], %r5;
    ret;
}
.visible .entry variables(.param .u64 from, .param .u64 into, .param .s32 by)
{
    .reg .u64 %d<8>; .reg .u32 %r<6>;
    ld.param.u64 %d1, [into]; ld.param.s32 %r0, [by];
    mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
    add.s32 %r0, %r0, %r1; mul.wide.s32 %d4, %r0, 4;
    mov.u64 %d5, table; add.u64 %d6, %d5, %d4; ld.global.u32 %r2, [%d6];
    mov.u64 %d5, fixed; add.u64 %d7, %d5, %d2; ld.const.u32 %r3, [%d7];
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%d3], %r2;
    ret;
}
.visible .entry through(.param .u64 from, .param .u64 into, .param .s32 by)
{
    .reg .u64 %d<8>; .reg .u32 %r<4>;
    ld.param.u64 %d0, [from]; ld.param.u64 %d1, [into]; ld.param.s32 %r0, [by];
    mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 8; add.u64 %d3, %d0, %d2;
    ld.global.u64 %d4, [%d3];
    mul.wide.s32 %d5, %r0, 4; add.u64 %d6, %d4, %d5;
    ld.global.u32 %r2, [%d6];
    mul.wide.u32 %d2, %r1, 4; add.u64 %d7, %d1, %d2;
    st.global.u32 [%d7], %r2;
    ret;
}
"""


WALKS = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry walk(.param .u64 from, .param .u64 into, .param .s32 by)
{
    .local .align 4 .b8 own[32];
    .reg .u64 %d<8>; .reg .u32 %r<6>; .reg .pred %p;
    ld.param.u64 %d1, [into]; ld.param.s32 %r0, [by];
    mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
    add.u32 %r0, %r0, %r1;
    mov.u64 %d4, own;
    mov.u32 %r1, 0;
again:
    st.local.u32 [%d4], %r1;
    add.u64 %d4, %d4, 4;
    add.u32 %r1, %r1, 1;
    setp.lt.s32 %p, %r1, %r0;
    @%p bra again;
    ld.local.u32 %r2, [own+8];
    st.global.u32 [%d1], %r2;
    ret;
}
"""


def launch(name, arguments, threads=4, shared=16, source=POINTERS):
    kernel = cuda.RawModule(code=source).get_function(name)
    kernel((1,), (threads,), arguments, shared_mem=shared)
    cuda.synchronize()


def device(count):
    return cuda.to_device(np.arange(count, dtype=np.uint32))


def pointer(array):
    return array.__cuda_array_interface__["data"][0]


def fault(*given, **options):
    with pytest.raises(KernelFault) as error:
        launch(*given, **options)
    assert error.value.number == 700
    return error.value


@pytest.mark.parametrize(
    "name, by, thread, told",
    (
        ("copy", 8, 2, "load of 4 bytes through parameter from at {}, directly behind the end of"),
        ("copy", -1, 0, "load of 4 bytes through parameter from at {}, 4 bytes in front of an"),
        ("copy", 1 << 28, 0, "1073741784 bytes behind the end of an allocation of 40 bytes"),
        ("pairs", 8, 0, "load of 16 bytes through parameter from at {}, 8 bytes before the end of"),
        ("count", 38, 2, "an atomic access of 4 bytes through parameter into at {}, directly"),
        ("shared", 1, 3, "store of 4 bytes at byte 16 of the dynamic shared memory, which has 16"),
        ("shared", -3, 0, "store of 4 bytes at byte -12 of the dynamic shared memory"),
        ("variables", 1 << 20, 0, "load of 4 bytes through the module's variables at {}"),
    ),
)
def test_an_access_of_ptx_is_named(name, by, thread, told):
    good, into = device(10), device(40)
    launch(name, (good, into, np.int32(0)))
    error = fault(name, (good, into, np.int32(by)))
    assert told.partition("{}")[2].lstrip(", ") in error.text or "{}" not in told
    assert told.partition("{}")[0] in error.text
    assert error.thread == (thread, 0, 0) and error.kernel == name
    line = POINTERS.splitlines()[error.loc.line - 1]
    assert any(word in line for word in ("ld.", "st.", "atom."))
    launch(name, (good, into, np.int32(0)))


def test_an_access_to_a_matrix_is_named():
    source, rows = gemm(2), device(64 * 32 // 2)
    columns, sums = device(32 * 32 // 2), device(64 * 32)
    launch("gemm", (rows, columns, sums), threads=64, source=source)
    error = fault("gemm", (rows, device(500), sums), threads=64, source=source)
    assert "load of 2 bytes through parameter b at" in error.text
    assert "wmma.load.b" in source.splitlines()[error.loc.line - 1]
    error = fault("gemm", (rows, columns, device(2000)), threads=64, source=source)
    assert "load of 4 bytes through parameter c at" in error.text


def test_values_are_right():
    into = device(4)
    launch("variables", (into, into, np.int32(0)))
    assert into.copy_to_host().tolist() == [8, 10, 12, 14]
    launch("copy", (device(10), into, np.int32(6)))
    assert into.copy_to_host().tolist() == [6, 7, 8, 9]


def test_a_static_array_has_its_own_end():
    into = device(40)
    launch("shared", (into, into, np.int32(0)), threads=16, shared=64)
    error = fault("shared", (into, into, np.int32(0)), threads=17, shared=68)
    assert "at byte 64 of the shared array own, which has 64 bytes" in error.text


def test_a_pointer_in_a_variable_has_the_end_of_its_local_array():
    into = device(4)
    launch("walk", (into, into, np.int32(5)), source=WALKS)
    assert into.copy_to_host().tolist() == [2, 2, 2, 2]
    error = fault("walk", (into, into, np.int32(7)), source=WALKS)
    assert "a store of 4 bytes at byte 32 of a local array, which has 32 bytes" in error.text
    assert error.thread == (2, 0, 0) and "st.local" in WALKS.splitlines()[error.loc.line - 1]


def test_a_pointer_in_a_variable_may_be_in_several_local_arrays():
    @cuda.jit
    def kernel(out, count, second):
        i = cuda.grid(1)
        own, more = cuda.local.array(5, np.int32), cuda.local.array(3, np.int32)
        p = ffi.from_buffer(own)
        if i == second:
            p = ffi.from_buffer(more)
        for n in range(count):
            p[0] = n + 10 * i
            p += 1
        out[i] = own[1] if i != second else more[1]

    out = np.zeros(4, np.int32)
    kernel[1, 4](out, 3, 2)
    assert out.tolist() == [1, 11, 21, 31]
    kernel[1, 4](out, 5, 4)
    assert out.tolist() == [1, 11, 21, 31]
    told = "a store of 4 bytes outside of the 2 arrays that it may be in"
    with pytest.raises(KernelFault, match=told) as error:
        kernel[1, 4](out, 30, 4)
    assert error.value.loc.line == kernel.py_func.__code__.co_firstlineno + 8


def test_a_pointer_in_a_variable_may_be_in_a_local_array_or_an_allocation():
    @cuda.jit
    def kernel(a, out, count):
        own = cuda.local.array(5, np.int32)
        for n in range(5):
            own[n] = n
        p = ffi.from_buffer(own if cuda.grid(1) == 1 else a)
        total = 0
        for n in range(count):
            total += p[0]
            p += 1
        out[cuda.grid(1)] = total

    a, out = cuda.to_device(np.arange(8, dtype=np.int32) * 10), np.zeros(2, np.int32)
    kernel[1, 2](a, out, 5)
    assert out.tolist() == [100, 10]
    told = "a load of 4 bytes outside of the kernel's own arrays at 0x"
    for count, block, thread in ((6, 2, 1), (9, 1, 0)):
        with pytest.raises(KernelFault, match=told) as error:
            kernel[1, block](a, out, count)
        assert error.value.thread == (thread, 0, 0)


def test_null_and_freed_memory_are_named():
    good = device(4)
    assert "at 0x0, which is null" in fault("copy", (np.uint64(0), good, np.int32(0))).text
    assert "close to null" in fault("copy", (np.uint64(16), good, np.int32(0))).text
    ended = cuda.to_device(np.zeros(1 << 20, np.uint8))
    address = pointer(ended)
    del ended
    told = fault("copy", (np.uint64(address + 8), good, np.int32(0))).text
    assert "in 1048576 bytes that were freed" in told


def test_pointers_in_memory_may_be_in_any_allocation():
    parts = [device(8) for _ in range(4)]
    table = cuda.to_device(np.array([pointer(part) for part in parts], np.uint64))
    into = device(4)
    launch("through", (table, into, np.int32(5)))
    assert into.copy_to_host().tolist() == [5, 5, 5, 5]
    error = fault("through", (table, into, np.int32(8)))
    assert "a load of 4 bytes at 0x" in error.text and "of 32 bytes" in error.text


@pytest.mark.parametrize(
    "make", (np.zeros, cuda.pinned_array, cuda.mapped_array, cuda.managed_array)
)
def test_host_memory_that_kernels_use_is_known(make):
    array = make(4, np.uint32)
    launch("copy", (device(4), array, np.int32(0)))
    assert array.tolist() == [0, 1, 2, 3]
    strided = make(8, np.uint32)[::2]
    launch("copy", (device(10), strided, np.int32(0)), threads=7)
    error = fault("copy", (device(10), strided, np.int32(0)), threads=9)
    assert "behind the end of an allocation of " in error.text


def test_without_the_setting_there_are_no_checks():
    ir = PtxSource(parse_ptx(POINTERS, "p"), "copy").translate((), KernelOptions())
    target = Target("cpu", (32, 1, 1))
    plain = text(ir, target, "llvm", KernelOptions())
    checked = text(ir, target, "llvm", KernelOptions(check=True))
    assert "check_lanes" in checked and "check" not in plain
    assert len(plain) < len(checked)


def test_ranges_that_overlap_are_one():
    assert joined(((0, 8), (2, 2), (4, 8), (12, 4), (20, 0))) == [(0, 12), (12, 4)]


@pytest.mark.parametrize("name", [name for name in DEVICES if name not in ("cpu", "interp")])
def test_other_devices_check_indices_and_say_what_they_do_not(name, capsys):
    @cuda.jit
    def kernel(a, i):
        a[i] = 1

    with gridlane.device(name):
        array = cuda.to_device(np.zeros(4, np.float32))
        kernel[1, 1](array, 0)
        with pytest.raises(IndexError, match="index is out of bounds: axis 0 of a"):
            kernel[1, 1](array, 4)
            cuda.synchronize()
    told = capsys.readouterr().err
    assert f"checks the indices of arrays in Python on {name}" in told


OPS = (
    *("load", "store", "offset", "recast", "from_address", "global", "dynamic_shared"),
    *("local_array", "atomic", "atomic_cas", "atomic_cas_pair", "async_copy", "barrier"),
    *("print", "loop", "shuffle", "call"),
)


@pytest.mark.parametrize("op", OPS)
def test_ops_do_what_they_do_without_checks(op):
    """The first and the last case of each."""
    found = [case for case in cases() if case.op == op]
    for case in (found[0], found[-1]):
        launch = case.module, case.grid, case.block, case.arrays, (), case.shared
        got, wanted = run_on("cpu", *launch), run_on("interp", *launch)
        assert_same(got.arrays, wanted.arrays, case.labels)
