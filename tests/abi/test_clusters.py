"""Clusters of several blocks by CUDA's interface, on each device."""

import ctypes

import numpy as np
import pytest
from tests.abi.calling import cu, device_array, good, host_array, name

from gridlane.cuda import runtime as rt

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry peers(.param .u64 out) DIRECTIVE
{
    .reg .b32 %r<12>;
    .reg .b64 %rd<8>;
    .shared .align 4 .u32 cell;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %cluster_nctarank;
    mov.u32 %r3, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %nctaid.x;
    mad.lo.u32 %r3, %r8, %r9, %r3;
    barrier.cluster.arrive; barrier.cluster.wait;
    xor.b32 %r4, %r1, 1;
    mov.u32 %r5, cell;
    mapa.shared::cluster.u32 %r6, %r5, %r4;
    st.shared::cluster.u32 [%r6], %r3;
    barrier.cluster.arrive; barrier.cluster.wait;
    ld.shared.u32 %r7, [cell];
    mad.lo.u32 %r7, %r2, 100, %r7;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r7;
    ret;
}
"""
L = cu.CUlaunchAttributeID
CLUSTERLESS = "CUDA_ERROR_NOT_SUPPORTED"
WRONG = "CUDA_ERROR_INVALID_CLUSTER_SIZE"


@pytest.fixture
def has(primary):
    """Whether the device has clusters."""
    number = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH
    return good(cu.cuDeviceGetAttribute(number, 0))


def peers(directive=""):
    module = good(cu.cuModuleLoadData(PTX.replace("DIRECTIVE", directive).encode() + bytes(1)))
    return good(cu.cuModuleGetFunction(module, b"peers"))


def launched(function, grid, cluster=None):
    """What the blocks write, or the error of the launch."""
    config = cu.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = 1, 1, 1
    config.attrs, config.numAttrs = [], 0
    if cluster is not None:
        attribute = cu.CUlaunchAttribute()
        attribute.id = L.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        size = attribute.value.clusterDim
        size.x, size.y, size.z = cluster
        config.attrs, config.numAttrs = [attribute], 1
    out = device_array(np.zeros(8, np.uint32))
    result = cu.cuLaunchKernelEx(config, function, ((out,), (ctypes.c_void_p,)), 0)
    return name(result) if result[0] else host_array(out, np.zeros(8, np.uint32)).tolist()


ALONG_X = [201, 200, 203, 202, 205, 204, 207, 206]
ALONG_Y = [204, 205, 206, 207, 200, 201, 202, 203]


def test_clusters_of_launches(has):
    function = peers()
    pairs = [((8, 1, 1), (2, 1, 1), ALONG_X), ((4, 2, 1), (1, 2, 1), ALONG_Y)]
    for grid, cluster, wanted in pairs:
        assert launched(function, grid, cluster) == (wanted if has else CLUSTERLESS)
    if has:
        for grid, cluster in (((7, 1, 1), (2, 1, 1)), ((16, 1, 1), (16, 1, 1))):
            assert launched(function, grid, cluster) == WRONG


def test_clusters_of_functions(has):
    wanted = ALONG_X if has else CLUSTERLESS
    of_code = peers(".reqnctapercluster 2, 1, 1")
    assert launched(of_code, (8, 1, 1)) == wanted
    assert launched(of_code, (8, 1, 1), (2, 1, 1)) == wanted
    open_ = peers(".explicitcluster")
    assert launched(open_, (8, 1, 1)) == WRONG
    assert launched(open_, (8, 1, 1), (2, 1, 1)) == wanted
    by_program = peers()
    for axis, size in (("WIDTH", 2), ("HEIGHT", 1), ("DEPTH", 1)):
        number = getattr(cu.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_{axis}")
        good(cu.cuFuncSetAttribute(by_program, number, size))
    assert launched(by_program, (8, 1, 1)) == wanted
    if has:
        assert launched(of_code, (8, 1, 1), (4, 1, 1)) == WRONG
        assert launched(of_code, (7, 1, 1)) == WRONG


def test_larger_clusters_where_a_program_allows_them(has):
    function = peers()
    number = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    good(cu.cuFuncSetAttribute(function, number, 1))
    config = cu.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = 16, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 1, 1, 1
    attribute = cu.CUlaunchAttribute()
    attribute.id = L.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    size = attribute.value.clusterDim
    size.x, size.y, size.z = 16, 1, 1
    config.attrs, config.numAttrs = [attribute], 1
    out = device_array(np.zeros(16, np.uint32))
    result = cu.cuLaunchKernelEx(config, function, ((out,), (ctypes.c_void_p,)), 0)
    if not has:
        assert name(result) == CLUSTERLESS
    elif result[0]:
        assert name(result) == WRONG  # a GPU whose clusters have eight blocks
    else:
        got = host_array(out, np.zeros(16, np.uint32))
        assert got.tolist() == [1600 + (n ^ 1) for n in range(16)]


def test_clusters_of_functions_in_graphs(has):
    function = peers(".reqnctapercluster 2, 1, 1")
    by_program = peers()
    for axis, size in (("WIDTH", 2), ("HEIGHT", 1), ("DEPTH", 1)):
        number = getattr(cu.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_{axis}")
        good(cu.cuFuncSetAttribute(by_program, number, size))
    for each in (function, by_program):
        graph = good(cu.cuGraphCreate(0))
        out = device_array(np.zeros(8, np.uint32))
        params = cu.CUDA_KERNEL_NODE_PARAMS()
        params.func, params.sharedMemBytes = each, 0
        params.gridDimX, params.gridDimY, params.gridDimZ = 8, 1, 1
        params.blockDimX, params.blockDimY, params.blockDimZ = 1, 1, 1
        params.kernelParams = ((out,), (ctypes.c_void_p,))
        result = cu.cuGraphAddKernelNode(graph, None, 0, params)
        if not has:
            assert name(result) == CLUSTERLESS
            continue
        good(result)
        executable = good(cu.cuGraphInstantiate(graph, 0))
        good(cu.cuGraphLaunch(executable, 0))
        good(cu.cuCtxSynchronize())
        assert host_array(out, np.zeros(8, np.uint32)).tolist() == ALONG_X


def test_figures_of_the_runtime(has):
    attribute = rt.cudaDeviceAttr.cudaDevAttrClusterLaunch
    assert good(rt.cudaDeviceGetAttribute(attribute, 0)) == has
    assert good(rt.cudaGetDeviceProperties(0)).clusterLaunch == has
