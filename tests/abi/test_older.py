"""The driver's older functions, which only programs in C find, and copies between contexts."""

import ctypes

import numpy as np
import pytest
from tests.abi.runtime import called, error, good

from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

E = cu.CUresult


@pytest.fixture
def context(device):
    good(cu.cuInit(0))
    return good(cu.cuCtxCreate(None, 0, 0))


def test_older_contexts_streams_and_events(context):
    number, (made,) = called("cuCtxCreate", 0, 0)
    assert number == 0 and int(good(cu.cuCtxGetCurrent())) == made
    assert called("cuCtxPopCurrent") == (0, (made,))
    assert called("cuCtxPushCurrent", made) == (0, ())
    stream, event = good(cu.cuStreamCreate(0)), good(cu.cuEventCreate(0))
    assert called("cuStreamGetCtx_v2", int(stream)) == (0, (made, 0))
    assert called("cuStreamDestroy", int(stream)) == (0, ())
    assert error(cu.cuStreamQuery(stream)) == E.CUDA_ERROR_INVALID_HANDLE
    assert called("cuEventDestroy", int(event)) == (0, ())
    assert called("cuEventDestroy", int(event))[0] == E.CUDA_ERROR_INVALID_HANDLE
    assert called("cuCtxDestroy", made) == (0, ())
    assert good(cu.cuCtxGetCurrent()) == context
    number, (made,) = called("cuCtxCreate_v3", 0, 0, 0, 0)
    assert number == 0 and called("cuCtxDestroy", made) == (0, ())
    assert called("cuCtxCreate_v3", 0, 1, 0, 0)[0] == E.CUDA_ERROR_INVALID_VALUE


def test_older_primary_contexts_and_memory(context):
    primary = good(cu.cuDevicePrimaryCtxRetain(0))
    assert called("cuDevicePrimaryCtxSetFlags", 0, 4) == (0, ())
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (4, 1)
    assert called("cuDevicePrimaryCtxReset", 0) == (0, ())
    assert error(cu.cuCtxSetCurrent(primary)) == E.CUDA_ERROR_INVALID_CONTEXT
    assert called("cuDevicePrimaryCtxRelease", 0) == (0, ())
    values = np.zeros(64, np.uint8)
    assert called("cuMemHostRegister", values.ctypes.data, 64, 0) == (0, ())
    good(cu.cuMemHostUnregister(values))
    number, (made,) = called("cuDeviceGetUuid", 0)
    assert number == 0 and bytes(made.bytes) == bytes(good(cu.cuDeviceGetUuid(0)).bytes)


def test_a_few_attributes_in_one_structure(context):
    made, now = good(cu.cuDeviceGetProperties(0)), good(rt.cudaGetDeviceProperties(0))
    assert made.maxThreadsPerBlock == now.maxThreadsPerBlock
    assert made.maxThreadsDim == now.maxThreadsDim and made.maxGridSize == now.maxGridSize
    assert made.sharedMemPerBlock == now.sharedMemPerBlock
    assert (made.SIMDWidth, made.regsPerBlock) == (now.warpSize, now.regsPerBlock)


def test_what_devices_do_not_have(context):
    kind = cu.CUexecAffinityType.CU_EXEC_AFFINITY_TYPE_SM_COUNT
    assert good(cu.cuDeviceGetExecAffinitySupport(kind, 0)) == 0
    assert error(cu.cuDeviceGetExecAffinitySupport(9, 0)) == E.CUDA_ERROR_INVALID_VALUE
    assert error(cu.cuCtxGetExecAffinity(kind)) == E.CUDA_ERROR_NOT_SUPPORTED
    assert error(cu.cuDeviceGetLuid(0)) == E.CUDA_ERROR_NOT_SUPPORTED
    for each in (cu.cuCtxAttach, cu.cuCtxDetach, cu.cuCtxRecordEvent, cu.cuDeviceGetLuid):
        assert each.__doc__.partition("\n\n")[2].startswith("Refused: ")


def test_texels_of_linear_memory(context):
    attribute = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH
    most = good(cu.cuDeviceGetAttribute(attribute, 0))
    form = cu.CUarray_format.CU_AD_FORMAT_FLOAT
    assert good(cu.cuDeviceGetTexture1DLinearMaxWidth(form, 4, 0)) == most
    assert error(cu.cuDeviceGetTexture1DLinearMaxWidth(form, 3, 0)) == E.CUDA_ERROR_INVALID_VALUE
    assert error(cu.cuDeviceGetTexture1DLinearMaxWidth(9999, 1, 0)) == E.CUDA_ERROR_INVALID_VALUE
    texel = rt.cudaChannelFormatDesc()
    wrong = rt.cudaError_t.cudaErrorInvalidValue
    assert error(rt.cudaDeviceGetTexture1DLinearMaxWidth(texel, 0)) == wrong
    assert error(rt.cudaDeviceGetTexture1DLinearMaxWidth(None, 0)) == wrong
    texel.x, texel.f = 32, rt.cudaChannelFormatKind.cudaChannelFormatKindFloat
    assert good(rt.cudaDeviceGetTexture1DLinearMaxWidth(texel, 0)) == most


def test_copies_of_planes_between_contexts(context):
    values = np.arange(64, dtype=np.uint8).reshape(4, 16)
    x = good(cu.cuMemAlloc(64))
    good(cu.cuMemcpyHtoD(x, values, 64))
    other = good(cu.cuCtxCreate(None, 0, 0))
    y = good(cu.cuMemAlloc(64))
    good(cu.cuMemsetD8(y, 0, 64))
    box = cu.CUDA_MEMCPY3D_PEER()
    box.srcMemoryType = box.dstMemoryType = cu.CUmemorytype.CU_MEMORYTYPE_DEVICE
    box.srcDevice, box.srcPitch, box.srcHeight, box.srcContext = x, 16, 4, context
    box.dstDevice, box.dstPitch, box.dstHeight, box.dstContext = y, 16, 4, other
    box.srcXInBytes, box.dstY, box.WidthInBytes, box.Height, box.Depth = 3, 1, 10, 3, 1
    good(cu.cuMemcpy3DPeer(box))
    back, expected = np.zeros_like(values), np.zeros_like(values)
    expected[1:4, :10] = values[:3, 3:13]
    good(cu.cuMemcpyDtoH(back, y, 64))
    assert (back == expected).all()
    box.srcY, box.dstY, box.Height = 3, 0, 1
    good(cu.cuMemcpy3DPeerAsync(box, 0))
    expected[0, :10] = values[3, 3:13]
    good(cu.cuMemcpyDtoH(back, y, 64))
    assert (back == expected).all()
    assert error(cu.cuMemcpy3DPeer(None)) == E.CUDA_ERROR_INVALID_VALUE
    box.srcContext = ctypes.c_uint64(0xDEAD0).value
    assert error(cu.cuMemcpy3DPeer(box)) == E.CUDA_ERROR_INVALID_CONTEXT
