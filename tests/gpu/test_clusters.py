"""Clusters of several blocks on a real GPU."""

from __future__ import annotations

import pytest
from tests.gpu import programs

HEAD = """
import dataclasses
import numpy as np
from gridlane import cuda
from gridlane.cuda import int32, uint32
from gridlane.core import argtypes
from gridlane.core.errors import DeviceError, LaunchError
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.frontends.python.stubs import (
    cluster_rank, cluster_size, cluster_sync, load_words_anywhere, peer_address,
    store_words_anywhere,
)
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel, compile_for

device = get_device("cuda")

def planned(function, types, block, size):
    def compiled(*args):
        return dataclasses.replace(compile_for(*args), cluster=(size, 1, 1))
    return Kernel(PythonSource(function), types, None, compiled).plan((block, 1, 1))

out_type = argtypes.int32[::1]

def launched(plan, blocks, count, shared=0):
    out = cuda.to_device(np.zeros(count, np.int32))
    params = plan.pack(out.device_pointer, count, 4)
    plan.launch((blocks, 1, 1), params, shared)
    cuda.synchronize()
    return out.copy_to_host()
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs a program on the GPU, in a process whose device it is."""
    return lambda body: programs.run(tmp_path, HEAD + body)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_blocks_write_to_each_other(run, size):
    run(f"""
def ring(out):
    tile = cuda.shared.array(128, uint32)
    rank, size, thread = cluster_rank(), cluster_size(), cuda.threadIdx.x
    cluster_sync()
    later = peer_address(tile, int32((rank + 1) % size))
    block = cuda.blockIdx.x
    store_words_anywhere(later + 16 * thread, block, thread, rank, size)
    cluster_sync()
    a, b, c, d = load_words_anywhere(peer_address(tile, rank) + 16 * thread)
    at = 4 * (32 * block + thread)
    out[at] = a
    out[at + 1] = b
    out[at + 2] = c
    out[at + 3] = tile[4 * thread + 3]
    cluster_sync()

got = launched(planned(ring, (out_type,), 32, {size}), 16, 16 * 128).reshape(16, 32, 4)
for block in range(16):
    rank = block % {size}
    before = (rank - 1) % {size}
    assert (got[block, :, 0] == block - rank + before).all()
    assert (got[block, :, 1] == np.arange(32)).all()
    assert (got[block, :, 2] == before).all() and (got[block, :, 3] == {size}).all()
""")


def test_sixteen_bytes_arrive_whole(run):
    """A ring of one slot in shared memory, with a sequence word in each 16 bytes."""
    run("""
def relay(out):
    slot = cuda.shared.array(0, uint32)
    lane, rank = cuda.threadIdx.x, cluster_rank()
    for n in range(8):
        slot[4 * lane + n % 4] = 0
    cluster_sync()
    mine, theirs = peer_address(slot, rank) + 16 * lane, peer_address(slot, 1 - rank) + 16 * lane
    torn = int32(0)
    for n in range(1, 100001):
        if rank == 0:
            store_words_anywhere(theirs, n, n + lane, ~n, n)
        there = False
        while not there:
            a, b, c, d = load_words_anywhere(mine)
            there = cuda.all_sync(0xFFFFFFFF, d == uint32(n))
        if a != uint32(n) or b != uint32(n + lane) or c != uint32(~n):
            torn += 1
        if rank == 1:
            store_words_anywhere(theirs, n, n + lane, ~n, n)
    out[32 * rank + lane] = torn + 1
    cluster_sync()

plan = planned(relay, (out_type,), 32, 2)
assert (launched(plan, 2, 64, 512) == 1).all()
assert plan.kernel.kernel.active_clusters(32, 512) > 0
""")


def test_refusals(run):
    run("""
def nothing(out):
    out[cuda.blockIdx.x] = cluster_size()

assert launched(planned(nothing, (out_type,), 32, 2), 6, 6).tolist() == [2] * 6
for size, blocks, words in ((2, 3, "no multiple"), (16, 16, "1 to 8")):
    try:
        launched(planned(nothing, (out_type,), 32, size), blocks, blocks)
    except LaunchError as error:
        assert words in str(error), error
    else:
        raise AssertionError(size)
""")


PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry peers(.param .u64 out) DIRECTIVE
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    .shared .align 4 .u32 cell;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %cluster_nctarank;
    mov.u32 %r3, %ctaid.x;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    xor.b32 %r4, %r1, 1;
    mov.u32 %r5, cell;
    mapa.shared::cluster.u32 %r6, %r5, %r4;
    st.shared::cluster.u32 [%r6], %r3;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ld.shared.u32 %r7, [cell];
    mad.lo.u32 %r7, %r2, 100, %r7;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r7;
    ret;
}
"""


def test_ptx_of_clusters(run):
    run(f"""
PTX = {PTX!r}
import ctypes
from gridlane.cuda import driver as cu
out = cuda.to_device(np.zeros(4, np.int32))
module = cuda.RawModule(code=PTX.replace("DIRECTIVE", ".reqnctapercluster 2, 1, 1"))
module.get_function("peers")((4,), (1,), (out,))
cuda.synchronize()
assert out.copy_to_host().tolist() == [201, 200, 203, 202], out.copy_to_host()

def good(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) > 1 else None

good(cu.cuInit(0))
good(cu.cuCtxSetCurrent(good(cu.cuDevicePrimaryCtxRetain(0))))
module = good(cu.cuModuleLoadData(PTX.replace("DIRECTIVE", "").encode() + bytes(1)))
kernel = good(cu.cuModuleGetFunction(module, b"peers"))
config, attribute = cu.CUlaunchConfig(), cu.CUlaunchAttribute()
config.gridDimX, config.gridDimY, config.gridDimZ = 4, 1, 1
config.blockDimX, config.blockDimY, config.blockDimZ = 1, 1, 1
attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
size = attribute.value.clusterDim
size.x, size.y, size.z = 2, 1, 1
config.attrs, config.numAttrs = [attribute], 1
memory = good(cu.cuMemAlloc(16))
good(cu.cuLaunchKernelEx(config, kernel, ((int(memory),), (ctypes.c_void_p,)), 0))
found = (ctypes.c_int32 * 4)()
good(cu.cuMemcpyDtoH(found, memory, 16))
assert list(found) == [201, 200, 203, 202], list(found)
""")
