"""CUDA's interface on NVIDIA's driver: what is the driver's own."""

from __future__ import annotations

import ctypes
import struct

import pytest
from tests.abi.calling import good, name
from tests.abi.conftest import forget
from tests.abi.kernels import HEAD, TEXT

from gridlane.cuda import driver as cu


@pytest.fixture
def begun(machine):
    """A machine whose interface has a context."""
    forget()
    good(cu.cuInit(0))
    good(cu.cuCtxSetCurrent(good(cu.cuDevicePrimaryCtxRetain(0))))
    yield machine
    forget()


def test_cooperative_launches_are_the_drivers(begun):
    counted = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(TEXT)), b"counted"))
    params = (0,), (ctypes.c_void_p,)
    good(cu.cuLaunchKernel(counted, 2, 1, 1, 1, 1, 1, 0, 0, params, 0))
    good(cu.cuLaunchCooperativeKernel(counted, 2, 1, 1, 1, 1, 1, 0, 0, params))
    good(cu.cuCtxSynchronize())
    assert begun.calls.count("cuLaunchKernel") == 1
    assert begun.calls.count("cuLaunchCooperativeKernel") == 1
    large = cu.cuLaunchCooperativeKernel(counted, 1 << 30, 1, 1, 1, 1, 1, 0, 0, params)
    assert name(large) == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"


def test_cooperative_kernels_have_whole_structures(begun):
    """A structure of PTX has several values for us, and one address for the driver."""
    text = (
        HEAD.encode() + b".visible .entry whole(.param .align 4 .b8 x[12], .param .u32 y) {ret;}\0"
    )
    whole = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(text)), b"whole"))
    params = ((ctypes.c_uint32 * 3)(1, 2, 3), 4), (None, ctypes.c_uint32)
    good(cu.cuLaunchCooperativeKernel(whole, 1, 1, 1, 1, 1, 1, 0, 0, params))
    good(cu.cuCtxSynchronize())
    (launch,) = [each for each in begun.launches if each.name == "whole"]
    assert launch.params == struct.pack("<4I", 1, 2, 3, 4)


def test_clusters_are_the_drivers(begun):
    text = HEAD.encode() + b".visible .entry whole(.param .align 4 .b8 x[12]) { ret; }\0"
    whole = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(text)), b"whole"))
    params = ((ctypes.c_uint32 * 3)(1, 2, 3),), (None,)
    good(cu.cuLaunchKernelEx(clustered(4, 2), whole, params, 0))
    good(cu.cuCtxSynchronize())
    (launch,) = [each for each in begun.launches if each.name == "whole"]
    assert (launch.cluster, launch.grid, launch.params[:12]) == (
        *((2, 1, 1), (4, 1, 1)),
        bytes(params[0][0]),
    )
    for grid, size in ((3, 2), (32, 16)):
        result = cu.cuLaunchKernelEx(clustered(grid, size), whole, params, 0)
        assert name(result) == "CUDA_ERROR_INVALID_CLUSTER_SIZE"
    assert len([each for each in begun.launches if each.name == "whole"]) == 1


def test_larger_clusters_where_a_program_allows_them(begun):
    """The driver is told of it; without it such a launch is refused, and 17 blocks always."""
    text = HEAD.encode() + b".visible .entry whole(.param .align 4 .b8 x[12]) { ret; }\0"
    whole = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(text)), b"whole"))
    params = ((ctypes.c_uint32 * 3)(1, 2, 3),), (None,)
    number = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    assert good(cu.cuOccupancyMaxPotentialClusterSize(whole, clustered(16, 16))) == 8
    for allowed, wanted in ((0, 0), (1, 1), (0, 1)):
        good(cu.cuFuncSetAttribute(whole, number, allowed))
        result = cu.cuLaunchKernelEx(clustered(32, 16), whole, params, 0)
        good(cu.cuCtxSynchronize())
        assert allowed or name(result) == "CUDA_ERROR_INVALID_CLUSTER_SIZE"
        assert len([each for each in begun.launches if each.name == "whole"]) == wanted
    (launch,) = [each for each in begun.launches if each.name == "whole"]
    assert (launch.cluster, launch.grid) == ((16, 1, 1), (32, 1, 1))
    assert sum(line.startswith("cuFuncSetAttribute") for line in begun.log) == 1
    good(cu.cuFuncSetAttribute(whole, number, 1))
    assert good(cu.cuOccupancyMaxPotentialClusterSize(whole, clustered(16, 16))) == 16
    held = good(cu.cuOccupancyMaxActiveClusters(whole, clustered(16, 16)))
    assert held == 4 * (2048 // 32) // 16
    result = cu.cuLaunchKernelEx(clustered(34, 17), whole, params, 0)
    assert name(result) == "CUDA_ERROR_INVALID_CLUSTER_SIZE"


def test_a_gpu_without_larger_clusters(begun):
    """Its driver refuses them; the context lives."""
    text = HEAD.encode() + b".visible .entry whole(.param .align 4 .b8 x[12]) { ret; }\0"
    whole = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(text)), b"whole"))
    params = ((ctypes.c_uint32 * 3)(1, 2, 3),), (None,)
    number = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    good(cu.cuFuncSetAttribute(whole, number, 1))
    begun.fail("cuOccupancyMaxActiveClusters", 912)
    assert good(cu.cuOccupancyMaxPotentialClusterSize(whole, clustered(16, 16))) == 8
    begun.fail("cuLaunchKernelEx", 912)
    result = cu.cuLaunchKernelEx(clustered(16, 16), whole, params, 0)
    assert name(result) == "CUDA_ERROR_INVALID_CLUSTER_SIZE"
    good(cu.cuLaunchKernelEx(clustered(16, 8), whole, params, 0))
    good(cu.cuCtxSynchronize())
    assert [each.cluster for each in begun.launches if each.name == "whole"] == [(8, 1, 1)]


def test_larger_clusters_of_code(begun):
    text = HEAD.encode() + b".visible .entry wide() .reqnctapercluster 16, 1, 1 { ret; }\0"
    wide = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(text)), b"wide"))
    result = cu.cuLaunchKernel(wide, 16, 1, 1, 1, 1, 1, 0, 0, ((), ()), 0)
    assert name(result) == "CUDA_ERROR_INVALID_CLUSTER_SIZE"
    number = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    good(cu.cuFuncSetAttribute(wide, number, 1))
    good(cu.cuLaunchKernel(wide, 16, 1, 1, 1, 1, 1, 0, 0, ((), ()), 0))
    good(cu.cuCtxSynchronize())
    assert "wide" in [each.name for each in begun.launches]
    assert sum(line.startswith("cuFuncSetAttribute") for line in begun.log) == 1


def clustered(grid, size):
    """A configuration of a grid of clusters."""
    config, attribute = cu.CUlaunchConfig(), cu.CUlaunchAttribute()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 32, 1, 1
    attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    dimension = attribute.value.clusterDim
    dimension.x, dimension.y, dimension.z = size, 1, 1
    config.attrs, config.numAttrs = [attribute], 1
    return config
