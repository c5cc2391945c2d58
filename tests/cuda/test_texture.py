"""Descriptors, arrays of texels, and objects: what they take, copy and refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.cuda import texture
from gridlane.launch import current
from gridlane.launch.devices import get_device

FLOAT, SIGNED, UNSIGNED = 2, 0, 1
ONE = texture.ChannelFormatDescriptor(32, 0, 0, 0, FLOAT)
BYTES = texture.ChannelFormatDescriptor(8, 8, 8, 8, UNSIGNED)


@pytest.fixture(autouse=True)
def on_the_cpu() -> None:
    current.choose(get_device("cpu"))


def image(form: texture.ChannelFormatDescriptor = ONE, **more: object) -> texture.TextureObject:
    resource = texture.ResourceDescriptor(0, cuArr=texture.CUDAarray(form, 4, 3))
    return texture.TextureObject(resource, texture.TextureDescriptor(**more))


def linear(array: object, form: object = ONE, size: int = 64, **more: object):
    resource = texture.ResourceDescriptor(2, arr=array, chDesc=form, sizeInBytes=size)
    return texture.TextureObject(resource, texture.TextureDescriptor(**more))


def pitched(width: int, height: int, pitch: int) -> texture.ResourceDescriptor:
    return texture.ResourceDescriptor(
        3, arr=cuda.device_array(32, "f4"), chDesc=ONE, width=width, height=height,
        pitchInBytes=pitch,
    )  # fmt: skip


def test_formats():
    assert ONE.get_channel_format() == {"x": 32, "y": 0, "z": 0, "w": 0, "f": 2}
    assert (BYTES.size, BYTES.channels, BYTES.dtype) == (4, 4, np.uint8)


@pytest.mark.parametrize(
    "given",
    [
        (32, 32, 32, 0, FLOAT),
        (0, 0, 0, 0, FLOAT),
        (8, 16, 0, 0, UNSIGNED),
        (0, 8, 0, 0, UNSIGNED),
        (8, 0, 0, 0, FLOAT),
        (64, 0, 0, 0, SIGNED),
        (32, 0, 0, 0, 3),
        (-8, 0, 0, 0, SIGNED),
    ],
)
def test_bad_formats(given):
    with pytest.raises(ArgumentError, match="channels of"):
        texture.ChannelFormatDescriptor(*given)


@pytest.mark.parametrize(
    ("sizes", "flags", "told"),
    [
        ((0, 0, 0), 0, "no array of 0 x 0 x 0"),
        ((4, -1, 0), 0, "no array of"),
        ((4, 4, 0), 16, "no array of"),
        ((4, 0, 4), 0, "has a height, or layers"),
        ((4, 4, 0), texture.cudaArrayLayered, "there are no layers"),
        ((4, 3, 6), texture.cudaArrayCubemap, "faces of cubes are squares"),
        ((4, 4, 12), texture.cudaArrayCubemap, "six for each cube"),
        ((4, 4, 9), texture.cudaArrayCubemap | texture.cudaArrayLayered, "six for each cube"),
        ((200000, 0, 0), 0, "the largest is 131072"),
        ((8, 20000, 8), 0, "the largest is 16384 x 16384 x 16384"),
    ],
)
def test_bad_sizes(sizes, flags, told):
    with pytest.raises(ArgumentError, match=told):
        texture.CUDAarray(ONE, *sizes, flags=flags)


def test_copies():
    """Host and device arrays, with the channels apart or not, on a stream or not."""
    values = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    there = texture.CUDAarray(BYTES, 4, 3)
    stream = cuda.stream()
    for given in (values, values.reshape(3, 16), cuda.to_device(values)):
        there.copy_from(np.zeros_like(values))
        there.copy_from(given, stream)
        flat, apart = np.zeros((3, 16), np.uint8), cuda.device_array((3, 4, 4), np.uint8)
        there.copy_to(flat, stream)
        there.copy_to(apart)
        assert (flat == values.reshape(3, 16)).all()
        assert (apart.copy_to_host() == values).all()
    there.copy_from(values.transpose(1, 0, 2).copy().transpose(1, 0, 2))
    part = np.zeros((3, 32), np.uint8)[:, ::2]
    there.copy_to(part)
    assert (part == flat).all()
    for bad in (values[:2], values.astype(np.int8), values.reshape(-1)):
        with pytest.raises(ArgumentError, match=r"the texels are uint8 with shape \(3, 16\)"):
            there.copy_from(bad)
        with pytest.raises(ArgumentError, match="the texels are uint8"):
            there.copy_to(np.ascontiguousarray(bad))
    with pytest.raises(ArgumentError, match="out_arr is a list"):
        there.copy_to([1, 2])


def test_mipmapped_arrays():
    made = texture.MipmappedArray(ONE, 8, 2, levels=4)
    assert [(made.level(n).width, made.level(n).height) for n in range(4)] == [
        *((8, 2), (4, 1), (2, 1), (1, 1))
    ]
    layers = texture.MipmappedArray(ONE, 8, 8, 3, 2, texture.cudaArrayLayered)
    assert [layers.level(n).depth for n in range(2)] == [3, 3]
    for levels in (0, 5):
        with pytest.raises(ArgumentError, match="an array of this size has 1 to 4"):
            texture.MipmappedArray(ONE, 8, 2, levels=levels)


MADE = {
    "neither 0 nor 1": lambda: image(filterMode=2),
    "addressModes=": lambda: image(addressModes=(0, 7)),
    "three numbers": lambda: image(addressModes=(0,) * 4),
    "borderColors=": lambda: image(borderColors=(1, 2)),
    "maxAnisotropy=4": lambda: image(maxAnisotropy=4),
    "linear filtering is of floats": lambda: image(BYTES, filterMode=1),
    "integers of 32 bits": lambda: image(
        texture.ChannelFormatDescriptor(32, 0, 0, 0, SIGNED), readMode=1
    ),
    "sRGB is of": lambda: image(sRGB=True),
    "without a filter": lambda: linear(cuda.device_array(16, "f4"), filterMode=1),
    "a contiguous device array": lambda: linear(np.zeros(16, "f4")),
    "contiguous device": lambda: linear(cuda.device_array((8, 4), "f4")[:, ::2]),
    "chDesc, the format": lambda: linear(cuda.device_array(16, "f4"), None),
    "the array has 60 bytes": lambda: linear(cuda.device_array(15, "f4")),
    "sizeInBytes=2": lambda: linear(cuda.device_array(15, "f4"), size=2),
    "no multiple of a texel": lambda: linear(cuda.device_array(99, "u1")[1:]),
    "with room for a row of 40": lambda: pitched(10, 2, 36),
    "is no multiple": lambda: pitched(4, 2, 18),
    "5 rows of 32 bytes": lambda: pitched(8, 5, 32),
    "0 rows of 32": lambda: pitched(8, 0, 32),
    "cuArr is a NoneType": lambda: texture.ResourceDescriptor(0),
    "not a CUDAarray": lambda: texture.ResourceDescriptor(
        0, cuArr=texture.MipmappedArray(ONE, 4, 4)
    ),
    "no type 9": lambda: texture.ResourceDescriptor(9),
    "SurfaceLoadStore": lambda: texture.SurfaceObject(
        texture.ResourceDescriptor(0, cuArr=texture.CUDAarray(ONE, 4, 4))
    ),
    "a surface is of a CUDAarray": lambda: texture.SurfaceObject(pitched(8, 2, 32)),
    "desc is a int": lambda: texture.CUDAarray(4, 4, 4),
}


@pytest.mark.parametrize("told", MADE)
def test_bad_objects(told):
    with pytest.raises(ArgumentError, match=told):
        MADE[told]()


def test_objects_belong_to_a_device_and_a_process():
    made = image()
    with pytest.raises(TypeError, match="make one of its descriptors there"):
        pickle.dumps(made)
    resource = made.ResDesc
    current.choose(get_device("interp"))
    kernel = cuda.RawKernel('extern "C" __global__ void k(cudaTextureObject_t t) {}', "k")
    with pytest.raises(ArgumentError, match=r"of the device 'cpu'.* device is 'interp'"):
        kernel(1, 1, (made,))
    with pytest.raises(ArgumentError, match="of the device 'cpu'"):
        texture.TextureObject(resource, texture.TextureDescriptor())


def test_an_object_keeps_its_memory():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = texture.CUDAarray(ONE, 4, 3)
    array.copy_from(values)
    made = texture.TextureObject(
        texture.ResourceDescriptor(0, cuArr=array), texture.TextureDescriptor()
    )
    del array
    others = [cuda.to_device(np.full(12, 9, np.float32)) for _ in range(20)]
    out = np.zeros(3, np.float32)
    code = """extern "C" __global__ void k(cudaTextureObject_t t, float *out)
    { out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 1); }"""
    cuda.RawKernel(code, "k")(1, 3, (made, out))
    assert list(out) == [4, 5, 6] and len(others) == 20


def test_a_parameter_that_is_no_handle():
    code = 'extern "C" __global__ void k(int t, float u) {}'
    with pytest.raises(ArgumentError, match="a TextureObject, and the parameter has 4 bytes"):
        cuda.RawKernel(code, "k")(1, 1, (image(), np.float32(1)))
