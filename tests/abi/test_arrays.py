"""Arrays of texels and copies of them: documented results and errors, on each device."""

import threading

import numpy as np
import pytest
from tests.abi.calling import (
    BAD,
    NO_HANDLE,
    OK,
    REFUSED,
    by_row,
    downloaded,
    good,
    host_function,
    uploaded,
)

from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

FORMAT, TYPE = cu.CUarray_format, cu.CUmemorytype
FLOAT = FORMAT.CU_AD_FORMAT_FLOAT
TO_DEVICE, TO_HOST, WITHIN, ANY = (rt.cudaMemcpyKind(n) for n in range(1, 5))


def array(width, height=0, depth=0, form=FLOAT, channels=1, flags=0):
    desc = cu.CUDA_ARRAY3D_DESCRIPTOR()
    desc.Width, desc.Height, desc.Depth = width, height, depth
    desc.Format, desc.NumChannels, desc.Flags = form, channels, flags
    return cu.cuArray3DCreate(desc)


def box(is_3d=True, **members):
    made = cu.CUDA_MEMCPY3D() if is_3d else cu.CUDA_MEMCPY2D()
    for name, value in members.items():
        setattr(made, name, value)
    return made


def test_descriptions(context):
    desc = cu.CUDA_ARRAY_DESCRIPTOR()
    desc.Width, desc.Height, desc.Format, desc.NumChannels = 5, 3, FORMAT.CU_AD_FORMAT_HALF, 4
    made = good(cu.cuArrayCreate(desc))
    told = good(cu.cuArrayGetDescriptor(made))
    assert bytes(told) == bytes(desc)
    layered = good(array(8, 8, 6, FORMAT.CU_AD_FORMAT_SIGNED_INT8, 2, flags=4 | 2))
    told = good(cu.cuArray3DGetDescriptor(layered))
    assert (told.Width, told.Height, told.Depth, told.Flags) == (8, 8, 6, 6)
    assert told.Format == FORMAT.CU_AD_FORMAT_SIGNED_INT8 and told.NumChannels == 2
    form, extent, flags = good(rt.cudaArrayGetInfo(int(layered)))
    assert (form.x, form.y, form.z, form.f) == (8, 8, 0, 0) and flags == 6
    assert (extent.width, extent.height, extent.depth) == (8, 8, 6)
    good(cu.cuArrayDestroy(made))
    assert cu.cuArrayGetDescriptor(made)[0] == NO_HANDLE == cu.cuArrayDestroy(made)[0]


@pytest.mark.parametrize(
    "sizes, channels, flags, error",
    [
        ((0, 0, 0), 1, 0, BAD),
        ((4, 4, 4), 3, 0, BAD),
        ((1 << 63, 0, 0), 1, 0, BAD),
        ((4, 1 << 40, 0), 1, 0, BAD),
        ((4, 3, 6), 1, 4, BAD),
        ((4, 4, 5), 1, 4, BAD),
        ((4, 0, 4), 1, 0, BAD),
        ((4, 4, 0), 1, 1, BAD),
        ((4, 4, 4), 1, 0x40, REFUSED),
        ((4, 4, 4), 1, 0x80000000, BAD),
    ],
)
def test_arrays_that_there_are_not(context, sizes, channels, flags, error):
    assert array(*sizes, FLOAT, channels, flags)[0] == error


def test_formats_that_there_are_not(context):
    assert array(4, form=FORMAT.CU_AD_FORMAT_NV12)[0] == REFUSED
    assert array(4, form=77)[0] == BAD
    assert cu.cuArrayCreate(None)[0] == BAD == cu.cuArray3DCreate(None)[0]
    assert cu.cuMipmappedArrayCreate(None, 1)[0] == BAD
    kind = rt.cudaChannelFormatKind
    wrong = good(rt.cudaCreateChannelDesc(8, 16, 0, 0, kind.cudaChannelFormatKindSigned))
    assert rt.cudaMallocArray(wrong, 4, 4, 0)[0].name == "cudaErrorInvalidChannelDescriptor"
    packed = good(rt.cudaCreateChannelDesc(8, 0, 0, 0, kind.cudaChannelFormatKindNV12))
    assert rt.cudaMallocArray(packed, 4, 4, 0)[0] == REFUSED
    assert rt.cudaMallocArray(None, 4, 4, 0)[0] == BAD


def test_what_arrays_are_not(context):
    made = good(array(4))
    levels = good(mipmapped(8, 8, 0, 2))
    assert cu.cuArrayGetPlane(made, 0)[0] == BAD
    assert cu.cuArrayGetSparseProperties(made)[0] == BAD
    assert cu.cuMipmappedArrayGetSparseProperties(levels)[0] == BAD
    assert cu.cuArrayGetMemoryRequirements(made, 0)[0] == BAD
    assert cu.cuMipmappedArrayGetMemoryRequirements(levels, 0)[0] == BAD
    assert cu.cuArrayGetPlane(levels, 0)[0] == NO_HANDLE


def mipmapped(width, height, depth, levels, flags=0):
    desc = cu.CUDA_ARRAY3D_DESCRIPTOR()
    desc.Width, desc.Height, desc.Depth = width, height, depth
    desc.Format, desc.NumChannels, desc.Flags = FLOAT, 1, flags
    return cu.cuMipmappedArrayCreate(desc, levels)


def test_levels(context):
    whole = good(mipmapped(8, 2, 0, 99))
    sizes = []
    for n in range(4):
        told = good(cu.cuArrayGetDescriptor(good(cu.cuMipmappedArrayGetLevel(whole, n))))
        sizes.append((told.Width, told.Height))
    assert sizes == [(8, 2), (4, 1), (2, 1), (1, 1)]
    assert cu.cuMipmappedArrayGetLevel(whole, 4)[0] == BAD
    level = good(cu.cuMipmappedArrayGetLevel(whole, 1))
    assert cu.cuArrayDestroy(level)[0] == BAD
    good(cu.cuMipmappedArrayDestroy(whole))
    assert cu.cuMipmappedArrayGetLevel(whole, 0)[0] == NO_HANDLE
    assert cu.cuArrayGetDescriptor(level)[0] == NO_HANDLE


def test_copies_of_bytes(context):
    values = np.arange(24, dtype=np.float32)
    host = np.zeros_like(values)
    first, second = good(array(24)), good(array(6, 4))
    good(cu.cuMemcpyHtoA(first, 0, values, values.nbytes))
    good(cu.cuMemcpyAtoA(second, 0, first, 0, values.nbytes))
    good(cu.cuMemcpyAtoH(host, second, 0, values.nbytes))
    assert (host == values).all()
    x = uploaded(np.zeros_like(values))
    good(cu.cuMemcpyAtoD(x, second, 40, 20))
    assert (downloaded(x, host)[:5] == values[10:15]).all()
    good(cu.cuMemcpyDtoA(first, 8, x, 20))
    stream = good(cu.cuStreamCreate(1))
    pinned = good(cu.cuMemAllocHost(values.nbytes))
    good(cu.cuMemcpyAtoHAsync(pinned, first, 0, values.nbytes, stream))
    good(cu.cuMemcpyHtoAAsync(second, 0, pinned, values.nbytes, stream))
    good(cu.cuStreamSynchronize(stream))
    good(cu.cuMemcpyAtoH(host, second, 0, values.nbytes))
    assert (host[2:7] == values[10:15]).all() and (host[7:] == values[7:]).all()
    for call in (
        lambda: cu.cuMemcpyHtoA(first, 2, values, 4),  # cuts a texel
        lambda: cu.cuMemcpyHtoA(first, 0, values, 100),
        lambda: cu.cuMemcpyHtoA(first, 1 << 63, values, 4),
        lambda: cu.cuMemcpyAtoH(host, first, 96, 4),
        lambda: cu.cuMemcpyAtoD(int(x) + 92, first, 0, 8),
        lambda: cu.cuMemcpyAtoD(1 << 59, first, 0, 8),
        lambda: cu.cuMemcpyHtoA(first, 0, 0, 8),
        lambda: cu.cuMemcpyAtoH(0, first, 0, 8),
    ):
        assert call()[0] == BAD
    assert by_row("driver", "cuMemcpyHtoA", int(first), 0, values.ctypes.data, 8) == 0
    assert by_row("driver", "cuMemcpyAtoH", host.ctypes.data, int(first), 0, 8) == 0
    assert (host[:2] == values[:2]).all()
    for wrong in (0, int(x), stream, 1 << 63):
        assert cu.cuMemcpyHtoA(wrong, 0, values, 4)[0] == NO_HANDLE


def test_boxes(context):
    values = np.arange(3 * 5 * 7, dtype=np.float32).reshape(3, 5, 7)
    there, other = good(array(9, 6, 4)), good(array(7, 5, 3))
    good(
        cu.cuMemcpy3D(
            box(
                srcMemoryType=TYPE.CU_MEMORYTYPE_HOST,
                srcHost=values.ctypes.data,
                srcPitch=28,
                srcHeight=5,
                dstMemoryType=TYPE.CU_MEMORYTYPE_ARRAY,
                dstArray=there,
                dstXInBytes=8,
                dstY=1,
                dstZ=1,
                WidthInBytes=28,
                Height=5,
                Depth=3,
            )
        )
    )
    good(
        cu.cuMemcpy3D(
            box(
                srcMemoryType=3,
                srcArray=there,
                srcXInBytes=12,
                srcY=2,
                srcZ=2,
                dstMemoryType=3,
                dstArray=other,
                dstXInBytes=4,
                WidthInBytes=20,
                Height=3,
                Depth=2,
            )
        )
    )
    back = np.zeros((2, 3, 5), np.float32)
    for z in range(2):
        good(
            cu.cuMemcpy3D(
                box(
                    srcMemoryType=3,
                    srcArray=other,
                    srcXInBytes=4,
                    srcZ=z,
                    dstMemoryType=1,
                    dstHost=back[z].ctypes.data,
                    dstPitch=20,
                    WidthInBytes=20,
                    Height=3,
                    Depth=1,
                )
            )
        )
    assert (back == values[1:3, 1:4, 1:6]).all()
    for wrong in ({"srcXInBytes": 2}, {"srcY": 6}, {"Depth": 9}, {"srcLOD": 1}, {"srcZ": 1 << 63}):
        given = dict(srcMemoryType=3, srcArray=there, dstMemoryType=1, WidthInBytes=8, Height=1)
        given |= {"dstHost": back.ctypes.data, "Depth": 1, **wrong}
        assert cu.cuMemcpy3D(box(**given))[0] == BAD
    assert cu.cuMemcpy3D(box(**given | {"srcZ": 0, "srcArray": 3}))[0] == NO_HANDLE


def test_rows_in_two_dimensions(context):
    values = np.arange(4 * 6, dtype=np.float32).reshape(4, 6)
    there, x = good(array(6, 4)), uploaded(values)
    rows = dict(WidthInBytes=12, Height=2)
    good(
        cu.cuMemcpy2D(
            box(
                False,
                srcMemoryType=2,
                srcDevice=x,
                srcPitch=24,
                srcXInBytes=4,
                srcY=1,
                dstMemoryType=3,
                dstArray=there,
                dstXInBytes=8,
                dstY=2,
                **rows,
            )
        )
    )
    back = np.zeros((2, 3), np.float32)
    out = box(False, srcMemoryType=3, srcArray=there, srcXInBytes=8, srcY=2, **rows)
    out.dstMemoryType, out.dstHost, out.dstPitch = TYPE.CU_MEMORYTYPE_HOST, back.ctypes.data, 12
    good(cu.cuMemcpy2D(out))
    assert (back == values[1:3, 1:4]).all()


def runtime_array(width, height=0, depth=0, flags=0, levels=0):
    form = good(rt.cudaCreateChannelDesc(32, 0, 0, 0, rt.cudaChannelFormatKind(2)))
    extent = rt.cudaExtent()
    extent.width, extent.height, extent.depth = width, height, depth
    if levels:
        return good(rt.cudaMallocMipmappedArray(form, extent, levels, flags))
    if depth:
        return good(rt.cudaMalloc3DArray(form, extent, flags))
    return good(rt.cudaMallocArray(form, width, height, flags))


def test_the_runtime_s_copies(context):
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    first, second = runtime_array(6, 4), runtime_array(6, 4)
    back, x = np.zeros_like(values), uploaded(values * 2)
    good(rt.cudaMemcpy2DToArray(first, 0, 0, values, 24, 24, 4, TO_DEVICE))
    good(rt.cudaMemcpy2DToArray(first, 8, 1, int(x), 24, 8, 2, WITHIN))
    good(rt.cudaMemcpy2DArrayToArray(second, 0, 0, first, 0, 0, 24, 4, WITHIN))
    good(rt.cudaMemcpy2DFromArray(back, 24, second, 0, 0, 24, 4, TO_HOST))
    want = values.copy()
    want[1:3, 2:4] = values[:2, :2] * 2
    assert (back == want).all()
    good(rt.cudaMemcpyFromArray(back, second, 8, 1, 32, ANY))
    assert (back.ravel()[:8] == want.ravel()[8:16]).all()
    good(rt.cudaMemcpyToArray(first, 4, 2, values, 16, TO_DEVICE))
    good(rt.cudaMemcpyArrayToArray(second, 0, 0, first, 4, 2, 16, WITHIN))
    good(rt.cudaMemcpyFromArray(int(x), second, 0, 0, 16, ANY))
    assert (downloaded(x, values).ravel()[:4] == values.ravel()[:4]).all()
    error = rt.cudaError_t
    direction = error.cudaErrorInvalidMemcpyDirection
    assert rt.cudaMemcpy2DToArray(first, 0, 0, values, 24, 24, 4, TO_HOST) == (direction,)
    assert rt.cudaMemcpy2DArrayToArray(second, 0, 0, first, 0, 0, 24, 4, TO_HOST) == (direction,)
    pitch = rt.cudaMemcpy2DToArray(first, 0, 0, values, 4, 24, 4, TO_DEVICE)
    assert pitch == (error.cudaErrorInvalidPitchValue,)
    assert rt.cudaMemcpy2DToArray(first, 8, 0, values, 24, 24, 4, TO_DEVICE)[0] == BAD
    good(rt.cudaFreeArray(first))
    good(rt.cudaFreeArray(0))
    assert rt.cudaFreeArray(first)[0] == NO_HANDLE
    levels = runtime_array(8, 8, levels=3)
    told = good(rt.cudaGetChannelDesc(good(rt.cudaGetMipmappedArrayLevel(levels, 2))))
    assert (told.x, told.y, told.f) == (32, 0, 2)
    good(rt.cudaFreeMipmappedArray(levels))
    good(rt.cudaFreeMipmappedArray(0))
    assert good(rt.cudaArrayGetInfo(runtime_array(4, 4, 2, 1)))[2] == 1


def test_copies_follow_their_stream(context):
    values = np.arange(16, dtype=np.float32)
    there, stream = good(array(16)), good(cu.cuStreamCreate(1))
    go = threading.Event()
    kept, wait = host_function(go.wait)
    pinned = good(cu.cuMemAllocHost(values.nbytes))
    good(cu.cuMemcpyHtoA(there, 0, values, values.nbytes))
    good(cu.cuLaunchHostFunc(stream, wait, 0))
    good(cu.cuMemcpyAtoHAsync(pinned, there, 0, values.nbytes, stream))
    assert cu.cuStreamQuery(stream)[0] != OK
    go.set()
    good(cu.cuStreamSynchronize(stream))
    x = uploaded(values)
    good(cu.cuMemcpyHtoD(x, pinned, values.nbytes))
    assert (downloaded(x, values) == values).all() and kept


def test_arrays_end_with_their_context(context):
    second = good(cu.cuCtxCreate(None, 0, 0))
    made, levels = good(array(4)), good(mipmapped(4, 4, 0, 3))
    level = good(cu.cuMipmappedArrayGetLevel(levels, 0))
    good(cu.cuCtxDestroy(second))
    assert cu.cuArrayGetDescriptor(made)[0] == NO_HANDLE
    assert cu.cuMipmappedArrayGetLevel(levels, 0)[0] == NO_HANDLE
    assert cu.cuMemcpyHtoA(level, 0, np.zeros(4, np.float32), 4)[0] == NO_HANDLE
