"""Texture and surface objects in kernels, on each device, against the documented arithmetic."""

import ctypes
import itertools

import numpy as np
import pytest
from tests.abi.calling import BAD, REFUSED, downloaded, good, uploaded
from tests.abi.test_arrays import FLOAT, array, mipmapped, runtime_array
from tests.frontends.ptx import model_textures as model

from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

F = np.float32
RNG = np.random.default_rng(7)
ADDRESS, FILTER = cu.CUaddress_mode, cu.CUfilter_mode
SURFACES = 2

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry sampled(.param .u64 t, .param .u64 at, .param .u64 out) {
    .reg .b32 %r<4>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [at]; ld.param.u64 %rd2, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd3, %r0, 8; add.s64 %rd3, %rd1, %rd3;
    ld.global.v2.f32 {%f1, %f2}, [%rd3];
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd0, {%f1, %f2}];
    mul.wide.u32 %rd4, %r0, 16; add.s64 %rd4, %rd2, %rd4;
    st.global.v4.f32 [%rd4], {%f3, %f4, %f5, %f6};
    ret;
}
.visible .entry fetched(.param .u64 t, .param .u64 out) {
    .reg .b32 %r<4>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd0, [t]; ld.param.u64 %rd2, [out];
    mov.u32 %r0, %tid.x;
    tex.1d.v4.f32.s32 {%f3, %f4, %f5, %f6}, [%rd0, {%r0}];
    mul.wide.u32 %rd4, %r0, 4; add.s64 %rd4, %rd2, %rd4;
    st.global.f32 [%rd4], %f3;
    ret;
}
.visible .entry layered(.param .u64 t, .param .u64 out) {
    .reg .b32 %r<4>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd0, [t]; ld.param.u64 %rd2, [out];
    mov.u32 %r0, %tid.x; mov.f32 %f0, 0f3F000000;
    tex.a2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd0, {%r0, %f0, %f0, %f0}];
    mul.wide.u32 %rd4, %r0, 4; add.s64 %rd4, %rd2, %rd4;
    st.global.f32 [%rd4], %f3;
    ret;
}
.visible .entry leveled(.param .u64 t, .param .u64 out) {
    .reg .b32 %r<4>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd0, [t]; ld.param.u64 %rd2, [out];
    mov.u32 %r0, %tid.x; mov.f32 %f0, 0f00000000; cvt.rn.f32.u32 %f1, %r0;
    tex.level.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd0, {%f0, %f0}], %f1;
    mul.wide.u32 %rd4, %r0, 4; add.s64 %rd4, %rd2, %rd4;
    st.global.f32 [%rd4], %f3;
    ret;
}
.visible .entry painted(.param .u64 s) {
    .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [s];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y;
    mad.lo.u32 %r3, %r1, 100, %r0;
    shl.b32 %r2, %r0, 2;
    sust.b.2d.b32.trap [%rd0, {%r2, %r1}], {%r3};
    ret;
}
"""


@pytest.fixture
def kernels(context):
    return good(cu.cuModuleLoadData(TEXT.encode() + b"\0"))


def launch(kernels, name, block, *params):
    function = good(cu.cuModuleGetFunction(kernels, name))
    values = tuple(int(each) for each in params), (ctypes.c_uint64,) * len(params)
    good(cu.cuLaunchKernel(function, 1, 1, 1, *block, 0, 0, values, 0))
    good(cu.cuCtxSynchronize())


def resource(of=None, **members):
    made = cu.CUDA_RESOURCE_DESC()
    if of is not None:
        made.res.array.hArray = of
    for name, value in members.items():
        if name in ("resType", "flags"):
            setattr(made, name, value)
    return made


def how(modes=(1, 1, 1), linear=False, flags=0, **more):
    made = cu.CUDA_TEXTURE_DESC()
    made.addressMode = [ADDRESS(each) for each in modes]
    made.filterMode, made.flags = FILTER(int(linear)), flags
    for name, value in more.items():
        setattr(made, name, value)
    return made


def filled(values, flags=0, form=FLOAT):
    """An array of texels: (y, x) or (y, x, channel)."""
    height, width = values.shape[:2]
    channels = values.shape[2] if values.ndim > 2 else 1
    made = good(array(width, height, 0, form, channels, flags))
    good(cu.cuMemcpyHtoA(made, 0, np.ascontiguousarray(values), values.nbytes))
    return made


def sampled(kernels, texture, at):
    out = uploaded(np.zeros((len(at), 4), F))
    launch(kernels, b"sampled", (len(at), 1, 1), texture, uploaded(at.astype(F)), out)
    return downloaded(out, np.zeros((len(at), 4), F))


AT = RNG.uniform(-0.7, 1.7, (64, 2)).astype(F)


def test_floats(kernels):
    values = RNG.normal(0, 1, (5, 7)).astype(F)
    texels = filled(values)
    for mode, linear in itertools.product(range(4), (False, True)):
        given = how((mode,) * 3, linear, 2, borderColor=[0.7, 2.0, 3.0, 4.0])
        texture = good(cu.cuTexObjectCreate(resource(texels), given, None))
        of = model.Texture(
            [values[None, None, :, :, None]],
            (mode,) * 3,
            linear=linear,
            normalized=True,
            border=(0.7, 0.0, 0.0, 0.0),
        )
        want = model.sample(of, [AT[:, 0], AT[:, 1]])
        assert (sampled(kernels, texture, AT)[:, 0] == want[:, 0]).all(), (mode, linear)


def test_bytes_as_numbers_up_to_one(kernels):
    values = RNG.integers(0, 256, (4, 6, 4)).astype(np.uint8)
    texels = filled(values, form=cu.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT8)
    y, x = np.divmod(np.arange(24), 6)
    for srgb in (False, True):
        texture = good(cu.cuTexObjectCreate(resource(texels), how(flags=16 * srgb), None))
        got = sampled(kernels, texture, np.stack([x, y], 1).astype(F) + F(0.5))
        want = model.decoded(values.reshape(24, 4), True, srgb)
        assert np.abs(got - want).max() < 1e-6


def test_linear_memory(kernels):
    values = RNG.normal(0, 1, 40).astype(F)
    x = uploaded(values)
    given = resource(resType=cu.CUresourcetype.CU_RESOURCE_TYPE_LINEAR)
    inner = given.res.linear
    inner.devPtr, inner.format, inner.numChannels, inner.sizeInBytes = int(x) + 32, FLOAT, 1, 64
    texture = good(cu.cuTexObjectCreate(given, how(linear=True), None))
    out = uploaded(np.zeros(20, F))
    launch(kernels, b"fetched", (20, 1, 1), texture, out)
    got = downloaded(out, np.zeros(20, F))
    assert (got[:16] == values[8:24]).all() and not got[16:].any()
    told = good(cu.cuTexObjectGetResourceDesc(texture))
    assert told.resType == 2 and int(told.res.linear.devPtr) == int(x) + 32
    assert told.res.linear.sizeInBytes == 64
    for name, value in (("devPtr", 0), ("devPtr", int(x) + 2), ("sizeInBytes", 1 << 20)):
        kept = int(getattr(inner, name))
        setattr(inner, name, value)
        assert cu.cuTexObjectCreate(given, how(), None)[0] == BAD
        setattr(inner, name, kept)


def test_rows(kernels):
    values = RNG.normal(0, 1, (6, 16)).astype(F)
    x = uploaded(values)
    given = resource(resType=cu.CUresourcetype.CU_RESOURCE_TYPE_PITCH2D)
    inner = given.res.pitch2D
    inner.devPtr, inner.format, inner.numChannels = x, FLOAT, 1
    inner.width, inner.height, inner.pitchInBytes = 10, 6, 64
    texture = good(cu.cuTexObjectCreate(given, how(), None))
    at = np.stack([np.arange(12), np.arange(12) % 6], 1).astype(F)
    got = sampled(kernels, texture, at)[:, 0]
    assert (got == values[np.arange(12) % 6, np.minimum(np.arange(12), 9)]).all()
    for name, value in (("pitchInBytes", 36), ("height", 7), ("width", 0)):
        kept = getattr(inner, name)
        setattr(inner, name, value)
        assert cu.cuTexObjectCreate(given, how(), None)[0] == BAD
        setattr(inner, name, kept)


def test_layers_and_a_view_of_them(kernels):
    values = RNG.normal(0, 1, (5, 2, 2)).astype(F)
    layers = good(array(2, 2, 5, flags=1))
    good(cu.cuMemcpyHtoA(layers, 0, values, values.nbytes))
    view = cu.CUDA_RESOURCE_VIEW_DESC()
    view.width, view.height, view.depth = 2, 2, 5
    view.firstLayer, view.lastLayer = 1, 3
    for seen, first, last in ((None, 0, 4), (view, 1, 3)):
        texture = good(cu.cuTexObjectCreate(resource(layers), how(), seen))
        out = uploaded(np.zeros(6, F))
        launch(kernels, b"layered", (6, 1, 1), texture, out)
        want = values[np.minimum(np.arange(6) + first, last), 0, 0]
        assert (downloaded(out, np.zeros(6, F)) == want).all()
    assert bytes(good(cu.cuTexObjectGetResourceViewDesc(texture))) == bytes(view)
    for name, value in (("lastLayer", 5), ("width", 3), ("lastMipmapLevel", 1), ("format", 99)):
        kept = getattr(view, name)
        setattr(view, name, value)
        assert cu.cuTexObjectCreate(resource(layers), how(), view)[0] in (BAD, REFUSED)
        setattr(view, name, kept)
    view.format = cu.CUresourceViewFormat.CU_RES_VIEW_FORMAT_UNSIGNED_BC1
    assert cu.cuTexObjectCreate(resource(layers), how(), view)[0] == REFUSED


def test_a_view_in_another_format(kernels):
    values = RNG.normal(0, 1, (3, 4)).astype(F)
    texels = filled(values, form=cu.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT32)
    view = cu.CUDA_RESOURCE_VIEW_DESC()
    view.width, view.height = 4, 3
    view.format = cu.CUresourceViewFormat.CU_RES_VIEW_FORMAT_FLOAT_1X32
    texture = good(cu.cuTexObjectCreate(resource(texels), how(), view))
    y, x = np.divmod(np.arange(12), 4)
    got = sampled(kernels, texture, np.stack([x, y], 1))
    assert (got[:, 0] == values.ravel()).all()
    view.format = cu.CUresourceViewFormat.CU_RES_VIEW_FORMAT_FLOAT_2X32
    assert cu.cuTexObjectCreate(resource(texels), how(), view)[0] == REFUSED


def test_levels_and_a_view_of_them(kernels):
    levels = good(mipmapped(8, 8, 0, 4))
    for n in range(4):
        part = np.full((8 >> n) ** 2, n + 1, F)
        level = good(cu.cuMipmappedArrayGetLevel(levels, n))
        good(cu.cuMemcpyHtoA(level, 0, part, part.nbytes))
    given = resource(resType=cu.CUresourcetype.CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
    given.res.mipmap.hMipmappedArray = levels
    view = cu.CUDA_RESOURCE_VIEW_DESC()
    view.width, view.height, view.firstMipmapLevel, view.lastMipmapLevel = 8, 8, 1, 2
    sampling = how(flags=2, maxMipmapLevelClamp=9.0)
    for seen, want in ((None, [1, 2, 3, 4, 4]), (view, [2, 3, 3, 3, 3])):
        texture = good(cu.cuTexObjectCreate(given, sampling, seen))
        out = uploaded(np.zeros(5, F))
        launch(kernels, b"leveled", (5, 1, 1), texture, out)
        assert list(downloaded(out, np.zeros(5, F))) == want
    assert cu.cuTexObjectCreate(given, how(), None)[0] == BAD  # coordinates are not normalized
    assert cu.cuSurfObjectCreate(given)[0] == BAD
    told = good(cu.cuTexObjectGetResourceDesc(texture))
    assert told.resType == 1 and told.res.mipmap.hMipmappedArray == levels


def test_surfaces(kernels):
    made = good(array(6, 4, flags=SURFACES))
    surface = good(cu.cuSurfObjectCreate(resource(made)))
    launch(kernels, b"painted", (6, 4, 1), surface)
    got = np.zeros((4, 6), np.uint32)
    good(cu.cuMemcpyAtoH(got, made, 0, got.nbytes))
    assert (got == np.arange(4)[:, None] * 100 + np.arange(6)).all()
    assert good(cu.cuSurfObjectGetResourceDesc(surface)).res.array.hArray == made
    assert cu.cuTexObjectDestroy(surface)[0] == BAD
    good(cu.cuSurfObjectDestroy(surface))
    assert cu.cuSurfObjectDestroy(surface)[0] == BAD
    assert cu.cuSurfObjectCreate(resource(good(array(6, 4))))[0] == BAD
    assert cu.cuSurfObjectCreate(None)[0] == BAD


def test_the_runtime_s_textures(kernels):
    values = RNG.normal(0, 1, (5, 7)).astype(F)
    made = runtime_array(7, 5, flags=SURFACES)
    kind = rt.cudaMemcpyKind.cudaMemcpyHostToDevice
    good(rt.cudaMemcpy2DToArray(made, 0, 0, values, 28, 28, 5, kind))
    given, sampling = rt.cudaResourceDesc(), rt.cudaTextureDesc()
    given.res.array.array = made
    sampling.addressMode = [rt.cudaTextureAddressMode(0)] * 3
    sampling.filterMode = rt.cudaTextureFilterMode.cudaFilterModeLinear
    sampling.normalizedCoords = 1
    texture = good(rt.cudaCreateTextureObject(given, sampling, None))
    want = model.sample(
        model.Texture([values[None, None, :, :, None]], (0,) * 3, linear=True, normalized=True),
        [AT[:, 0], AT[:, 1]],
    )
    assert (sampled(kernels, texture, AT)[:, 0] == want[:, 0]).all()
    assert bytes(good(rt.cudaGetTextureObjectTextureDesc(texture))) == bytes(sampling)
    assert bytes(good(rt.cudaGetTextureObjectResourceDesc(texture))) == bytes(given)
    assert rt.cudaGetTextureObjectResourceViewDesc(texture)[0] == BAD
    surface = good(rt.cudaCreateSurfaceObject(given))
    launch(kernels, b"painted", (7, 5, 1), surface)
    got = np.zeros((5, 7), np.uint32)
    from_device = rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
    good(rt.cudaMemcpy2DFromArray(got, 28, made, 0, 0, 28, 5, from_device))
    assert (got == np.arange(5)[:, None] * 100 + np.arange(7)).all()
    assert good(rt.cudaGetSurfaceObjectResourceDesc(surface)).resType == 0
    good(rt.cudaDestroySurfaceObject(surface))
    good(rt.cudaDestroyTextureObject(texture))
    assert rt.cudaDestroyTextureObject(texture)[0] == BAD
