"""``alignment=`` of local and shared arrays holds wherever a kernel sees an address."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import ArgumentError, ConstantError, TargetError, TypingError
from gridlane.cuda.types import uint64
from gridlane.launch import current
from gridlane.launch.devices import get_device

NUMBERS = [name for name in DEVICES if name in ("cpu", "cuda", "vulkan")]
"""The devices on which the addresses of local and shared memory are numbers."""

PACKED = np.dtype([("a", np.uint8), ("b", np.float32)])
BLOCK, BLOCKS = 40, 3
LOCAL, SHARED = 8, 3


@pytest.fixture(params=["interp", *NUMBERS])
def device(request):
    return current.choose(get_device(request.param))


def kernel_of(align, barrier):
    shared = min(align, 1024)

    @cuda.jit
    def kernel(out, sums):
        i, own = cuda.grid(1), cuda.threadIdx.x
        a = cuda.local.array(3, np.uint8, alignment=align)
        b = cuda.local.array((2, 3), np.float32, align)
        c = cuda.local.array(5, PACKED, alignment=align)
        d = cuda.local.array(7, np.int32)  # between the others, with no alignment of its own
        e = cuda.local.array(2, np.complex64, alignment=64)
        f = cuda.shared.array(3, np.uint8)
        g = cuda.shared.array(BLOCK, np.float32, alignment=shared)
        h = cuda.shared.array(0, np.int32, alignment=shared)
        if i % 3:  # some lanes alone
            for j in range(3):
                a[j], b[1, j], c[j].b, d[j], e[j % 2] = i, i + j, i - j, j, i * 1j
        else:
            for j in range(3):
                a[j], b[1, j], c[j].b, d[j], e[j % 2] = i, i + j, i - j, j, i * 1j
        f[own % 3] = 1
        g[own] = i
        h[own] = own
        if barrier:
            cuda.syncthreads()
        out[0, i], out[1, i], out[2, i] = a.ctypes.data, b.ctypes.data, c.ctypes.data
        out[3, i], out[4, i] = g.ctypes.data, h.ctypes.data
        out[5, i], out[6, i], out[7, i] = e.ctypes.data, d.ctypes.data, f.ctypes.data
        sums[i] = a[2] + b[1, 2] + c[2].b + d[2] + e[1].imag + g[own] + h[own]

    return kernel


@pytest.mark.parametrize("align", [8, 64, 256, 4096])
def test_addresses_are_aligned(device, align):
    for barrier in (False, True):
        out = np.zeros((8, BLOCKS * BLOCK), np.uint64)
        sums = np.zeros(BLOCKS * BLOCK, np.float32)
        kernel_of(align, barrier)[BLOCKS, BLOCK, 0, 4 * BLOCK](out, sums)
        for row in out[:3]:
            assert not (row % align).any()
        assert not (out[3:5] % min(align, 1024)).any()
        assert not (out[5] % 64).any()
        i = np.arange(BLOCKS * BLOCK)
        assert sums.tolist() == (i + (i + 2) + (i - 2) + 2 + i + i + i % BLOCK).tolist()


def test_dynamic_memory_follows_static_arrays(device):
    """Of several alignments the largest holds; static arrays stay where they are."""

    @cuda.jit
    def kernel(out):
        static = cuda.shared.array(5, np.uint8)
        words = cuda.shared.array(0, np.uint32)
        wide = cuda.shared.array(0, np.uint8, alignment=512)
        i = cuda.threadIdx.x
        if i == 0:
            words[0] = 0x01020304
            static[4] = 9
        cuda.syncthreads()
        if i == 1:
            out[0], out[1] = wide.ctypes.data % 512, words.ctypes.data - wide.ctypes.data
            out[2], out[3], out[4] = wide[3], static[4], words.size

    out = np.full(5, 7, np.uint64)
    kernel[1, 2, 0, 16](out)
    assert out.tolist() == [0, 0, 1, 9, 4]


@pytest.mark.skipif("cpu" not in DEVICES, reason="no CPU device")
def test_blocks_whose_warps_wait_for_each_other():
    """Chunks are coroutines there, whose frames LLVM lays out."""
    current.choose(get_device("cpu"))

    @cuda.jit
    def kernel(out, flags):
        own = cuda.local.array(3, np.uint8, alignment=512)
        i = cuda.threadIdx.x
        own[i % 3] = i
        if i == 0:
            while cuda.atomic.add(flags, 0, 0) == 0:
                pass
        if i == 40:
            cuda.atomic.add(flags, 0, 1)
        out[0, i], out[1, i] = own.ctypes.data % 512, own[i % 3]

    out = np.zeros((2, 64), np.uint64)
    kernel[1, 64](out, np.zeros(1, np.int32))
    assert not out[0].any() and out[1].tolist() == [*range(64)]


PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 out)
{
    .reg .b64 %a<4>;
    .shared .align 1024 .b8 all[4];
    .local .align 512 .b8 own[4];
    ld.param.u64 %a0, [out];
    cvta.shared.u64 %a1, all;
    cvta.local.u64 %a2, own;
    st.global.u64 [%a0], %a1;
    st.global.u64 [%a0+8], %a2;
    ret;
}
"""


def test_variables_of_ptx(device):
    """The same op and the same layout hold them."""
    out = cuda.to_device(np.full(2, 1, np.uint64))
    cuda.RawModule(code=PTX).get_function("kernel")(1, 1, (out,))
    shared, local = (int(each) for each in out.copy_to_host())
    assert not shared % 1024 and not local % 512


def test_static_arrays_end_where_dynamic_memory_may_begin():
    """NVIDIA's driver places dynamic memory right behind them, at a multiple of 16."""

    def kernel(out):
        few = cuda.shared.array(5, np.uint8)
        more = cuda.shared.array(3, np.float64)
        wide = cuda.shared.array(0, np.uint8, alignment=512)
        i = cuda.threadIdx.x
        few[i], more[i], wide[i] = i, i, i
        cuda.syncthreads()
        out[i] = few[1 - i] + more[1 - i] + wide[1 - i]

    def uses_a_part(out):
        few = cuda.shared.array(5, np.uint8)
        wide = cuda.shared.array(0, np.uint8, alignment=512)
        few[4] = 9
        cuda.syncthreads()
        out[0] = wide[3] + few[4]

    for each in (kernel, uses_a_part):
        text, _ = cuda.compile_ptx(each, (uint64[:],), cc=(8, 0))
        (static,) = re.findall(r"^\s*\.shared \.align (\d+) \.b8 \w+\[(\d+)\]", text, re.M)
        assert static == ("512", "512")
        assert re.search(r"\.extern \.shared \.align 512 ", text)


def test_ptx_has_the_alignments():
    def kernel(out):
        a = cuda.local.array(3, np.uint8, alignment=64)
        b = cuda.shared.array(3, np.uint8, alignment=256)
        c = cuda.shared.array(0, np.uint8, alignment=128)
        out[0], out[1], out[2] = a.ctypes.data, b.ctypes.data, c.ctypes.data

    text, _ = cuda.compile_ptx(kernel, (uint64[:],), cc=(8, 0))
    found = re.findall(r"\.(local|shared) \.align (\d+)", text)
    assert sorted(found) == [("local", "64"), ("shared", "128"), ("shared", "256")]


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_vectors_in_aligned_arrays(name):
    """Their alignment is known, so one access takes a vector."""
    current.choose(get_device(name))

    @cuda.jit
    def kernel(out):
        own = cuda.local.array(16, np.float32, alignment=32)
        i = cuda.threadIdx.x
        for j in range(16):
            own[j] = 100 * i + j
        fours = own.view(cuda.float32x4)
        fours[i % 3] = fours[3].wzyx
        out[i] = own[4 * (i % 3) + 1] + fours[i % 4].x

    out = np.zeros(40, np.float32)
    kernel[1, 40](out)
    want = [0.0] * 40
    for i in range(40):
        own = [100 * i + j for j in range(16)]
        at = 4 * (i % 3)
        own[at : at + 4] = own[12:][::-1]
        want[i] = own[at + 1] + own[4 * (i % 4)]
    assert out.tolist() == want


def test_two_alignments_at_one_place():
    """A device function has an array for each constant that it is called with."""
    current.choose(get_device("interp"))

    @cuda.jit(device=True)
    def start(align):
        return cuda.shared.array(1, np.uint8, alignment=align).ctypes.data

    @cuda.jit
    def kernel(out):
        out[0], out[1] = start(16), start(1024)

    out = np.zeros(2, np.uint64)
    kernel[1, 1](out)
    assert not out[0] % 16 and not out[1] % 1024 and out[0] != out[1]


INVALID = (-1, 0, 1, 3, 4, 17, 33)
NO_INTEGERS = (True, "1.0", "1", "foo", 1.0, 1.5, 16.0, (16,))


@pytest.mark.parametrize("memory", [cuda.local, cuda.shared])
def test_invalid_alignments(memory):
    """As in numba's test_array_alignment.py, and more."""

    def made(align):
        @cuda.jit
        def kernel(out):
            a = memory.array(4, np.uint8, alignment=align)
            out[0] = a.ctypes.data

        return kernel

    out = np.zeros(1, np.uint64)
    for align in INVALID:
        with pytest.raises(ValueError, match="Alignment must be"):
            made(align)[1, 1](out)
    for align in NO_INTEGERS:
        with pytest.raises((TypingError, ConstantError), match=r"RequireLiteralValue:.*alignment"):
            made(align)[1, 1](out)

    @cuda.jit
    def unknown(out, n):
        out[0] = memory.array(4, np.uint8, alignment=n).ctypes.data

    with pytest.raises(ConstantError, match="RequireLiteralValue: alignment must be a constant"):
        unknown[1, 1](out, 16)


def test_what_no_device_holds():
    """NVIDIA's driver keeps 1024 bytes in front of a block's shared memory, and places no array at
    a larger multiple; a stack that is aligned further takes that much more."""

    @cuda.jit
    def shared(out):
        out[0] = cuda.shared.array(4, np.uint8, alignment=2048).ctypes.data

    @cuda.jit
    def local(out):
        own = cuda.local.array(4, np.uint8, alignment=1 << 20)
        out[0] = own.ctypes.data

    out = np.zeros(1, np.uint64)
    with pytest.raises(ConstantError, match="at most 1024 for shared memory, not 2048"):
        shared[1, 1](out)
    with pytest.raises(ConstantError, match="'own' takes 1048564 bytes"):
        local[1, 1](out)


@pytest.mark.parametrize("name", [name for name in DEVICES if name not in NUMBERS])
def test_where_no_address_is_seen(name):
    """There the arrays work, and addresses are refused by name."""
    current.choose(get_device(name))

    @cuda.jit
    def works(out):
        own = cuda.local.array(4, np.int32, alignment=256)
        all_ = cuda.shared.array(8, np.int32, alignment=256)
        rest = cuda.shared.array(0, np.int32, alignment=256)
        i = cuda.threadIdx.x
        own[i % 4], all_[i], rest[i] = i, 2 * i, 3 * i
        cuda.syncthreads()
        out[i] = own[i % 4] + all_[7 - i] + rest[7 - i]

    @cuda.jit
    def refused(out):
        out[0] = cuda.local.array(4, np.int32, alignment=256).ctypes.data % 256

    out = np.zeros(8, np.int32)
    works[1, 8, 0, 32](out)
    assert out.tolist() == [i + 5 * (7 - i) for i in range(8)]
    with pytest.raises(TargetError, match="local memory has no addresses that are numbers"):
        refused[1, 1](out)


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_arrays_between_words(name):
    """The GPU's answer is an error, and a device that reads whole words has no other."""
    current.choose(get_device(name))

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    records = cuda.to_device(np.array([(1, n, n) for n in range(9)], [*PACKED.descr, ("c", "<i2")]))
    for view, dtype in ((records["b"], np.float32), (records["c"], np.int16)):
        if name == "cpu":
            double[1, 32](view)
            assert view.copy_to_host().tolist() == [2 * n for n in range(9)]
        else:
            with pytest.raises((ArgumentError, RuntimeError), match="multiple"):
                double[1, 32](view)
        copied = cuda.to_device(np.arange(9, dtype=dtype))
        double[1, 32](copied)
        assert copied.copy_to_host().tolist() == [2 * n for n in range(9)]
