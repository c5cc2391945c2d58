"""Copies of planes between arrays of texels and linear memory, by the runtime and in batches."""

import numpy as np
import pytest
from tests.abi.runtime import error, good

from gridlane.cuda import runtime as rt

E = rt.cudaError_t
KINDS = rt.cudaMemcpyKind
FLOAT = rt.cudaChannelFormatKind.cudaChannelFormatKindFloat
BAD = E.cudaErrorInvalidValue


def array_of(width, height, depth, bits=32):
    """An array of float texels."""
    form = rt.cudaChannelFormatDesc()
    form.x, form.f = bits, FLOAT
    return good(rt.cudaMalloc3DArray(form, rt.make_cudaExtent(width, height, depth), 0))


def of_host(values):
    """Planes of a numpy array as a pitched pointer: its rows and planes are dense."""
    _, height, width = values.shape
    pitch = width * values.itemsize
    return rt.make_cudaPitchedPtr(values.ctypes.data, pitch, width, height)


def parameters(extent, kind, **ends):
    made = rt.cudaMemcpy3DParms()
    made.extent, made.kind = rt.make_cudaExtent(*extent), kind
    for name, value in ends.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def volume(device):
    """Values, and an array with them."""
    values = np.random.default_rng(5).random((4, 5, 6), np.float32)
    array = array_of(6, 5, 4)
    up = parameters((6, 5, 4), KINDS.cudaMemcpyHostToDevice, srcPtr=of_host(values), dstArray=array)
    good(rt.cudaMemcpy3D(up))
    return values, array


def test_a_box_of_an_array(volume):
    values, array = volume
    back = np.zeros((2, 3, 4), np.float32)
    down = parameters(
        (4, 3, 2),
        KINDS.cudaMemcpyDeviceToHost,
        srcArray=array,
        srcPos=rt.make_cudaPos(1, 2, 2),
        dstPtr=of_host(back),
    )
    stream = good(rt.cudaStreamCreate())
    good(rt.cudaMemcpy3DAsync(down, stream))
    good(rt.cudaStreamSynchronize(stream))
    assert (back == values[2:4, 2:5, 1:5]).all()


def test_from_an_array_to_another(volume):
    values, array = volume
    other = array_of(8, 8, 8)
    extent = 3, 2, 2
    within = parameters(extent, KINDS.cudaMemcpyDeviceToDevice, srcArray=array, dstArray=other)
    within.dstPos = rt.make_cudaPos(5, 6, 6)
    good(rt.cudaMemcpy3D(within))
    back = np.zeros((2, 2, 3), np.float32)
    down = parameters(extent, KINDS.cudaMemcpyDefault, srcArray=other, dstPtr=of_host(back))
    down.srcPos = rt.make_cudaPos(5, 6, 6)
    good(rt.cudaMemcpy3D(down))
    assert (back == values[:2, :2, :3]).all()


def test_wrong_boxes_of_arrays(volume):
    values, array = volume
    up = KINDS.cudaMemcpyHostToDevice
    host = of_host(values)

    def failed(extent=(6, 5, 4), **ends):
        return error(rt.cudaMemcpy3D(parameters(extent, up, **ends)))

    assert failed(srcPtr=host, dstArray=array, dstPos=rt.make_cudaPos(1, 0, 0)) == BAD
    assert failed(srcPtr=host, dstArray=array, dstPos=rt.make_cudaPos(1 << 63, 0, 0)) == BAD
    assert failed((7, 5, 4), srcPtr=host, dstArray=array) == E.cudaErrorInvalidPitchValue
    assert failed((1 << 62, 5, 4), srcPtr=host, dstArray=array) == BAD
    assert failed(srcPtr=host, srcArray=array, dstArray=array) == BAD
    assert failed(srcArray=array, dstArray=array_of(6, 5, 4, 16)) == BAD
    good(rt.cudaFreeArray(array))
    assert failed(srcPtr=host, dstArray=array) == E.cudaErrorInvalidResourceHandle


def test_a_batch_with_an_array(volume):
    values, array = volume
    back, stream = np.zeros((3, 4), np.float32), good(rt.cudaStreamCreate())
    op = rt.cudaMemcpy3DBatchOp()
    kinds = rt.cudaMemcpy3DOperandType
    op.src.type, op.dst.type = kinds.cudaMemcpyOperandTypeArray, kinds.cudaMemcpyOperandTypePointer
    op.src.op.array.array = array
    offset = op.src.op.array.offset
    offset.x, offset.y, offset.z = 2, 1, 3
    op.dst.op.ptr.ptr = back.ctypes.data
    op.extent, op.srcAccessOrder = rt.make_cudaExtent(4, 3, 1), 1
    good(rt.cudaMemcpy3DBatchAsync(1, [op], 0, stream))
    good(rt.cudaStreamSynchronize(stream))
    assert (back == values[3, 1:4, 2:6]).all()
    op.src.type = 9
    assert error(rt.cudaMemcpy3DBatchAsync(1, [op], 0, stream)) == BAD
