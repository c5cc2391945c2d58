"""Texture and surface objects apart from their kernels: lifetimes, descriptions, refusals."""

import ctypes
import threading

import numpy as np
import pytest
from tests.abi.calling import BAD, NO_HANDLE, OK, REFUSED, downloaded, good
from tests.abi.test_arrays import array
from tests.abi.test_textures import TEXT, F, filled, how, resource

from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt


def test_views_of_cubes(context):
    """A view has whole cubes."""
    cubes = good(array(2, 2, 18, flags=1 | 4))
    view = cu.CUDA_RESOURCE_VIEW_DESC()
    view.width, view.height, view.depth = 2, 2, 18
    for first, last, error in ((6, 17, OK), (0, 5, OK), (5, 10, BAD), (6, 10, BAD), (2, 5, BAD)):
        view.firstLayer, view.lastLayer = first, last
        assert cu.cuTexObjectCreate(resource(cubes), how(), view)[0] == error, (first, last)


def test_threads(context):
    seen, values = [], np.ones((2, 2), F)

    def work():
        cu.cuCtxSetCurrent(context)
        for _ in range(30):
            made = filled(values)
            texture = good(cu.cuTexObjectCreate(resource(made), how(), None))
            told = good(cu.cuTexObjectGetResourceDesc(texture))
            seen.append(told.res.array.hArray == made)
            good(cu.cuTexObjectDestroy(texture))
            good(cu.cuArrayDestroy(made))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert seen == [True] * 90


def test_descriptions(context):
    made = filled(np.ones((2, 2), F))
    given = how((0, 3, 2), True, 2 | 1 | 32, maxAnisotropy=1, mipmapLevelBias=0.5)
    texture = good(cu.cuTexObjectCreate(resource(made), given, None))
    assert bytes(good(cu.cuTexObjectGetTextureDesc(texture))) == bytes(given)
    assert bytes(good(cu.cuTexObjectGetResourceDesc(texture))) == bytes(resource(made))
    assert cu.cuTexObjectGetResourceViewDesc(texture)[0] == BAD
    told = good(rt.cudaGetTextureObjectTextureDesc(int(texture)))
    assert list(told.addressMode) == [0, 3, 2] and told.normalizedCoords == 1
    assert told.readMode == 0 and told.disableTrilinearOptimization == 1
    good(cu.cuTexObjectDestroy(texture))
    assert cu.cuTexObjectDestroy(texture)[0] == BAD
    assert cu.cuTexObjectGetTextureDesc(texture)[0] == BAD


@pytest.mark.parametrize(
    "sampling, error",
    [
        (how(flags=64), REFUSED),
        (how(maxAnisotropy=4), REFUSED),
        (how(flags=0x1000), BAD),
        (how(filterMode=7), BAD),
        (None, BAD),
    ],
)
def test_textures_that_there_are_not(context, sampling, error):
    made = filled(np.ones((2, 2), F))
    assert cu.cuTexObjectCreate(resource(made), sampling, None)[0] == error


def test_resources_that_there_are_not(context):
    assert cu.cuTexObjectCreate(None, how(), None)[0] == BAD
    assert cu.cuTexObjectCreate(resource(resType=7), how(), None)[0] == BAD
    for wrong in (0, 1 << 63, good(cu.cuStreamCreate(0))):
        assert cu.cuTexObjectCreate(resource(wrong), how(), None)[0] == NO_HANDLE
        assert cu.cuTexObjectDestroy(int(wrong))[0] == BAD
    integers = good(array(4, 4, form=cu.CUarray_format.CU_AD_FORMAT_SIGNED_INT32))
    assert cu.cuTexObjectCreate(resource(integers), how(linear=True), None)[0] == BAD
    good(cu.cuTexObjectCreate(resource(integers), how(), None))
    assert cu.cuTexRefCreate()[0] == REFUSED and "cuTexObjectCreate" in cu.cuTexRefCreate.__doc__


def test_attributes_of_the_device(context):
    """What they say is the most can be made, where the device has room for it."""
    kind = cu.CUdevice_attribute

    def told(name):
        return good(cu.cuDeviceGetAttribute(getattr(kind, f"CU_DEVICE_ATTRIBUTE_{name}"), 0))

    width = told("MAXIMUM_TEXTURE1D_WIDTH")
    good(cu.cuArrayDestroy(good(array(width))))
    assert array(width + 1)[0] == BAD
    layers = told("MAXIMUM_TEXTURE2D_LAYERED_LAYERS")
    good(cu.cuArrayDestroy(good(array(1, 1, layers, flags=1))))
    assert array(1, 1, layers + 1, flags=1)[0] == BAD
    assert told("TEXTURE_ALIGNMENT") == 16 and told("MAXIMUM_SURFACE2D_HEIGHT") > 0


def test_objects_end_with_their_context(context):
    second = good(cu.cuCtxCreate(None, 0, 0))
    texture = good(cu.cuTexObjectCreate(resource(filled(np.ones((2, 2), F))), how(), None))
    good(cu.cuCtxDestroy(second))
    assert cu.cuTexObjectGetTextureDesc(texture)[0] == BAD


def test_a_context_that_a_kernel_ended(device):
    """Its arrays, textures and pool memory end with it, and the next one works."""
    good(cu.cuInit(0))
    first = good(cu.cuCtxCreate(None, 0, 0))
    pool = good(cu.cuDeviceGetDefaultMemPool(0))
    used = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
    texture = good(cu.cuTexObjectCreate(resource(filled(np.ones((2, 2), F))), how(), None))
    good(cu.cuMemAllocAsync(64, 0))
    fetched = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(TEXT.encode())), b"fetched"))
    out = good(cu.cuMemAlloc(64))
    values = (0, int(out)), (ctypes.c_uint64,) * 2
    cu.cuLaunchKernel(fetched, 1, 1, 1, 1, 1, 1, 0, 0, values, 0)
    fault = cu.cuCtxSynchronize()[0]
    assert fault == cu.CUresult.CUDA_ERROR_LAUNCH_FAILED
    assert cu.cuTexObjectCreate(resource(), how(), None)[0] == fault
    assert cu.cuMemAllocAsync(64, 0)[0] == fault
    good(cu.cuCtxDestroy(first))
    second = good(cu.cuCtxCreate(None, 0, 0))
    assert int(good(cu.cuMemPoolGetAttribute(pool, used))) == 0
    assert cu.cuTexObjectGetTextureDesc(texture)[0] == BAD
    x = good(cu.cuMemAllocAsync(64, 0))
    good(cu.cuMemsetD8(x, 3, 64))
    assert (downloaded(x, np.zeros(64, np.uint8)) == 3).all()
    good(cu.cuCtxDestroy(second))
