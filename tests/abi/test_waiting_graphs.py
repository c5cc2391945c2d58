"""Graphs on the default stream whose kernels wait for the host."""

import ctypes

import numpy as np
import pytest
from tests.abi.graphing import device_array, good, host_array, kernel, new_graph, scaling
from tests.abi.kernels import HEAD

from gridlane.cuda import driver as cu

WAITING = f"""{HEAD}
.visible .entry waiting(.param .u64 flag) {{
    .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p;
    ld.param.u64 %rd1, [flag];
AGAIN:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p, %r1, 0;
    @%p bra AGAIN;
    st.volatile.global.u32 [%rd1+4], %r1;
    ret;
}}
"""


@pytest.fixture
def flag():
    """Two words of the host's that kernels see: what they wait for, and what they saw."""
    address = good(cu.cuMemHostAlloc(8, cu.CU_MEMHOSTALLOC_DEVICEMAP))
    made = np.frombuffer((ctypes.c_uint32 * 2).from_address(int(address)), np.uint32)
    made[:] = 0
    yield made
    good(cu.cuCtxSynchronize())
    good(cu.cuMemFreeHost(address))


def waiting(flag):
    function = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(WAITING.encode())), b"waiting"))
    made = cu.CUDA_KERNEL_NODE_PARAMS()
    made.func = function
    made.gridDimX = made.gridDimY = made.gridDimZ = 1
    made.blockDimX = made.blockDimY = made.blockDimZ = 1
    made.kernelParams = (flag.ctypes.data,), (ctypes.c_uint64,)
    return made


@pytest.mark.parametrize("device", ["cpu"], indirect=True)
@pytest.mark.parametrize("stream", [0, cu.CU_STREAM_LEGACY, cu.CU_STREAM_PER_THREAD])
def test_the_launch_of_a_graph_returns(begun, flag, stream):
    graph, x = new_graph(), device_array(np.arange(10, dtype=np.uint32))
    first = good(cu.cuGraphAddKernelNode(graph, None, 0, scaling(kernel(), x, 2, 1, 10)))
    wait = good(cu.cuGraphAddKernelNode(graph, [first], 1, waiting(flag)))
    good(cu.cuGraphAddKernelNode(graph, [wait], 1, scaling(kernel(), x, 3, 0, 10)))
    made = good(cu.cuGraphInstantiate(graph, 0))
    for _ in range(2):
        flag[:] = 0
        good(cu.cuGraphLaunch(made, stream))
        good(cu.cuGraphLaunch(made, stream))
        assert cu.cuStreamQuery(stream)[0] == cu.CUresult.CUDA_ERROR_NOT_READY and flag[1] == 0
        flag[0] = 5
        good(cu.cuStreamSynchronize(stream))
        assert flag[1] == 5
    expected = np.arange(10)
    for _ in range(4):
        expected = (2 * expected + 1) * 3
    assert host_array(x, np.zeros(10, np.uint32)).tolist() == expected.tolist()
