"""Textures and surfaces of CUDA C++, on each device, against a model of CUDA's arithmetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx import model_textures as model

from gridlane import cuda
from gridlane.core.errors import KernelError
from gridlane.cuda import texture
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parent / "textures.cu"
REFERENCES = SOURCE.parent / "programs/texture_references.cu"
COUNT = 64
F = np.float32
FLAGS = texture.cudaArraySurfaceLoadStore


_modules: dict[str, cuda.RawModule] = {}
_EACH = [("interp", "clang"), ("cpu", "nvrtc"), *((name, "clang") for name in DEVICES)]


@pytest.fixture(params=_EACH, ids="-".join)
def module(request: pytest.FixtureRequest) -> cuda.RawModule:
    device, compiler = request.param
    return _module(device, compiler)


# The other devices run the same IR functions in other tests.
@pytest.fixture(
    params=[each for each in _EACH if each[0] in ("interp", "cpu", "cuda", "vulkan")], ids="-".join
)
def some(request: pytest.FixtureRequest) -> cuda.RawModule:
    device, compiler = request.param
    return _module(device, compiler)


def _module(device: str, compiler: str) -> cuda.RawModule:
    current.choose(get_device(device))
    if compiler not in _modules:
        _modules[compiler] = cuda.RawModule(path=SOURCE, backend=compiler)
    return _modules[compiler]


def run(module: cuda.RawModule, name: str, *args: object) -> None:
    module.get_function(name)(1, COUNT, args)


def form(texels: np.ndarray) -> texture.ChannelFormatDescriptor:
    bits = [texels.dtype.itemsize * 8 * (n < texels.shape[-1]) for n in range(4)]
    return texture.ChannelFormatDescriptor(*bits, "iuf".index(texels.dtype.kind))


def array(texels: np.ndarray, flags: int = 0) -> texture.CUDAarray:
    """An array of texels (…, channel)."""
    sizes = texels.shape[-2::-1]
    if flags & texture.cudaArrayLayered and texels.ndim == 3:
        sizes = (sizes[0], 0, sizes[1])
    made = texture.CUDAarray(form(texels), *sizes, flags=flags)
    made.copy_from(texels)
    return made


def image(texels: np.ndarray, how: model.Texture, flags: int = 0, **more: int):
    """A texture as the model has it."""
    resource = texture.ResourceDescriptor(0, cuArr=array(texels, flags))
    return texture.TextureObject(resource, descriptor(how, **more))


def descriptor(how: model.Texture, **more: int) -> texture.TextureDescriptor:
    return texture.TextureDescriptor(
        how.modes,
        int(how.linear),
        normalizedCoords=how.normalized,
        borderColors=how.border,
        mipmapFilterMode=int(how.linear_levels),
        mipmapLevelBias=how.bias,
        minMipmapLevelClamp=how.clamp[0],
        maxMipmapLevelClamp=how.clamp[1],
        **more,
    )


def places(seed: int, size: int, normalized: bool) -> np.ndarray:
    """Coordinates inside and outside, with edges."""
    made = np.random.default_rng(seed).uniform(-2.5, 3.5, COUNT).astype(F)
    edges = [0, 1, -0.0, 0.5 / size, 1 - 0.5 / size, np.nan, np.inf, -np.inf, 3e38, -1e-9, 2, -1]
    made[: len(edges)] = np.roll(np.array(edges, F), seed)
    with np.errstate(over="ignore"):
        return made if normalized else made * F(size)


def same(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (got, want)


RNG = np.random.default_rng(5)
IMAGES = {
    "f4": RNG.normal(0, 9, (5, 7, 1)).astype(F),
    "4f2": RNG.normal(0, 9, (4, 6, 4)).astype(np.float16),
    "2u1": RNG.integers(0, 256, (3, 5, 2), np.uint8),
    "4u2": RNG.integers(0, 2**16, (5, 4, 4), np.uint16),
    "4i2": RNG.integers(-(2**15), 2**15, (2, 9, 4), np.int16),
    "tiny": RNG.normal(0, 9, (1, 1, 1)).astype(F),
}
HOW = [
    (linear, normalized, modes)
    for linear in (False, True)
    for normalized, modes in (
        *((True, (mode, 3 - mode)) for mode in range(4)),
        (False, (model.CLAMP, model.BORDER)),
        (False, (model.BORDER, model.WRAP)),
    )
]


def test_images(module):
    """Each filter and address mode, of texels of each kind."""
    for name, texels in IMAGES.items():
        integers = texels.dtype.kind != "f"
        values = model.decoded(texels, integers)[None, None]
        for linear, normalized, modes in HOW:
            border = (0.5, -1.0, 2.0, 4.0)
            how = model.Texture([values], (*modes, 0), linear, normalized, border, of=texels.dtype)
            x, y = (places(n, size, normalized) for n, size in enumerate(texels.shape[1::-1]))
            out = np.zeros((COUNT, 4), F)
            run(module, "tex_2d", image(texels, how, readMode=int(integers)), x, y, out)
            assert out.tobytes() == model.sample(how, [x, y]).tobytes(), (name, how)


def test_integers(module):
    """Integers as they are, with a border of their own."""
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4"):
        info = np.iinfo(dtype)
        texels = RNG.integers(info.min, info.max, (4, 4, 4), dtype, endpoint=True)
        border = tuple(np.array([1, -2, 3, -4], np.int32).view(F))
        how = model.Texture([model.decoded(texels)[None, None]], (model.BORDER,) * 3, border=border)
        x, y = places(1, 4, False), places(2, 4, False)
        out = np.zeros((COUNT, 4), np.int32)
        run(module, "tex_2d_integers", image(texels, how), x, y, out)
        same(out, model.sample(how, [x, y]).view(np.int32))


def test_lines_and_volumes(module):
    line = RNG.normal(0, 1, (11, 2)).astype(F)
    volume = RNG.normal(0, 1, (3, 4, 5, 1)).astype(F)
    x, y, z = (places(n, 5, False) for n in range(3))
    for linear in (False, True):
        how = model.Texture([line[None, None, None]], linear=linear)
        out = np.zeros((COUNT, 4), F)
        run(module, "tex_1d", image(line, how), x, out)
        same(out, model.sample(how, [x]))
        modes = model.CLAMP, model.BORDER, model.CLAMP
        how = model.Texture([volume[None]], modes, linear=linear, border=(9.0,) * 4)
        run(module, "tex_3d", image(volume, how), x, y, z, out)
        same(out, model.sample(how, [x, y, z]))


def test_linear_and_pitched_memory(module):
    bytes_ = RNG.integers(0, 256, (50, 4), np.uint8)
    floats = RNG.normal(0, 1, 64).astype(F)
    there, more = cuda.to_device(bytes_), cuda.to_device(floats)
    how = texture.TextureDescriptor()
    four = texture.ResourceDescriptor(2, arr=there, chDesc=form(bytes_), sizeInBytes=200)
    one = texture.ResourceDescriptor(2, arr=more, chDesc=form(floats[:, None]), sizeInBytes=4 * 50)
    x = RNG.integers(-10, 60, COUNT).astype(np.int32)
    x[:4] = -(2**31), 2**31 - 1, 49, 50
    out, also = np.zeros((COUNT, 4), np.uint8), np.zeros(COUNT, F)
    objects = (texture.TextureObject(each, how) for each in (four, one))
    run(module, "fetches", *objects, x, out, also)
    inside = (x >= 0) & (x < 50)
    at = np.where(inside, x, 0)
    same(out, np.where(inside[:, None], bytes_[at], 0).astype(np.uint8))
    same(also, np.where(inside, floats[at], F(0)))
    rows = RNG.normal(0, 1, (4, 16)).astype(F)
    known = model.Texture([rows[None, None, :, :9, None]], linear=True)
    pitched = texture.ResourceDescriptor(
        3,
        arr=cuda.to_device(rows),
        chDesc=form(floats[:, None]),
        width=9,
        height=4,
        pitchInBytes=64,
    )
    x, y = places(0, 9, False), places(1, 4, False)
    made = np.zeros((COUNT, 4), F)
    run(module, "tex_2d", texture.TextureObject(pitched, descriptor(known)), x, y, made)
    same(made, model.sample(known, [x, y]))


def test_layers(some):
    lines = RNG.integers(-999, 999, (3, 8, 2)).astype(np.int16)
    images = RNG.normal(0, 1, (4, 5, 6, 2)).astype(F)
    x, y = places(0, 6, False), places(1, 5, False)
    layer = RNG.integers(-3, 6, COUNT).astype(np.int32)
    # The number of a layer is unsigned: what is too large, and so below 0, is the last.
    known = np.where(layer < 0, 99, layer)
    of_lines = model.Texture([model.decoded(lines)[:, None, None]])
    of_images = model.Texture([images[:, None]], linear=True)
    line, out = np.zeros((COUNT, 2), np.int16), np.zeros((COUNT, 2), F)
    objects = (image(lines, of_lines, 1), image(images, of_images, 1))
    run(some, "layers", *objects, x, y, layer, line, out)
    same(line, model.sample(of_lines, [x], known)[:, :2].astype(np.int16))
    same(out, np.ascontiguousarray(model.sample(of_images, [x, y], known)[:, :2]))


def test_cubes(some):
    texels = RNG.normal(0, 1, (12, 4, 4, 1)).astype(F)
    x, y, z = RNG.normal(0, 1, (3, COUNT)).astype(F)
    x[:4], y[:4], z[:4] = (1, -1, 1, -1), (1, 1, -1, -1), (1, -1, -1, 1)
    number = RNG.integers(0, 3, COUNT).astype(np.int32)
    how = model.Texture([texels[:, None]], linear=True, normalized=True)
    cube = image(texels[:6], how, texture.cudaArrayCubemap)
    several = image(texels, how, texture.cudaArrayCubemap | texture.cudaArrayLayered)
    out, more = np.zeros(COUNT, F), np.zeros(COUNT, F)
    run(some, "cubes", cube, several, x, y, z, number, out, more)
    face, s, t = model.on_face(x, y, z)
    same(out, np.ascontiguousarray(model.sample(how, [s, t], face)[:, 0]))
    want = model.sample(how, [s, t], np.minimum(number * 6 + face, 11))
    same(more[number < 2], np.ascontiguousarray(want[number < 2, 0]))


def mipmapped(how: model.Texture, texels: list[np.ndarray]) -> texture.TextureObject:
    height, width, _ = texels[0].shape
    made = texture.MipmappedArray(form(texels[0]), width, height, levels=len(texels))
    for number, level in enumerate(texels):
        made.level(number).copy_from(level)
    return texture.TextureObject(texture.ResourceDescriptor(1, cuArr=made), descriptor(how))


def test_levels(some):
    texels = [RNG.normal(0, 1, (8 >> n, max(1, 12 >> n), 1)).astype(F) for n in range(4)]
    x, y = places(0, 12, True), places(1, 8, True)
    detail = RNG.uniform(-1, 5, COUNT).astype(F)
    detail[:4] = np.nan, np.inf, -np.inf, 1.5
    step = RNG.normal(0, 0.3, (4, COUNT)).astype(F)
    step[:, 0] = 0
    for linear, bias, clamp in ((False, 0.0, (0.0, 9.0)), (True, 0.25, (0.5, 2.5))):
        levels = [each[None, None] for each in texels]
        how = model.Texture(levels, (0, 0, 0), True, True, (0.0,) * 4, linear, bias, clamp)
        made, out = mipmapped(how, texels), np.zeros(COUNT, F)
        run(some, "levels", made, x, y, detail, out)
        known = np.nan_to_num(detail, nan=-1e9)
        want = model.sample_detail(how, known, [x, y])
        same(out, np.ascontiguousarray(want[:, 0]))
        dx, dy = np.ascontiguousarray(step[:2].T), np.ascontiguousarray(step[2:].T)
        run(some, "gradients", made, x, y, dx, dy, out)
        found = model.detail_of(how, [*step[:2]], [*step[2:]])
        either = [
            model.sample_detail(how, found + F(small), [x, y])[:, 0] for small in (-1e-5, 0, 1e-5)
        ]
        assert np.all(np.any([out == each for each in either], axis=0))


def test_gathers(some):
    texels = RNG.normal(0, 1, (6, 5, 4)).astype(F)
    how = model.Texture([texels[None, None]], (model.CLAMP, model.BORDER, 0), border=(7.0,) * 4)
    x, y = places(0, 5, False), places(1, 6, False)
    out, more = np.zeros((COUNT, 4), F), np.zeros((COUNT, 4), F)
    run(some, "gathers", image(texels, how, texture.cudaArrayTextureGather), x, y, out, more)
    same(out, model.gather(how, [x, y], 0))
    same(more, model.gather(how, [x, y], 2))


def surface(of: texture.CUDAarray) -> texture.SurfaceObject:
    return texture.SurfaceObject(texture.ResourceDescriptor(0, cuArr=of))


def test_surfaces(module):
    texels = RNG.integers(0, 99, (4, 20, 4), np.uint8)
    source, target = array(texels, FLAGS), array(np.zeros_like(texels), FLAGS)
    objects = surface(source), surface(target)
    module.get_function("turned")((1, 6), 32, (*objects, 20, 4))
    out = np.zeros_like(texels)
    target.copy_to(out)
    want = texels[::-1, ::-1] + np.array([0, 0, 0, 1], np.uint8)
    same(out, np.ascontiguousarray(want))
    flat = np.zeros((4, 80), np.uint8)
    target.copy_to(flat)
    same(flat, out.reshape(4, 80))


def test_surfaces_of_each_shape(module):
    line = np.arange(100, 116, dtype=np.int16)[:, None]
    volume = RNG.integers(0, 99, (3, 2, 16, 2)).astype(F)
    layers = RNG.integers(0, 99, (2, 16, 1, 4)).astype(np.uint32)
    parts = [array(line, FLAGS), array(volume, FLAGS), array(layers, FLAGS | 1)]
    out, n = np.zeros(COUNT, np.int32), np.arange(COUNT)
    run(module, "volumes", *map(surface, parts), out)
    wide = layers[1, :, 0].copy().view(np.int64)
    inside = n < 16
    at = np.where(inside, n, 15)
    third = np.where(inside, (wide[at, 0] - wide[at, 1]).astype(np.int32), 0)
    # What a line's byte is read as, another thread may have written before.
    seen = np.where(inside, volume[2, 1, at, 0], 0) + third
    near = out - seen.astype(np.int32)
    assert np.all((near == line[at, 0]) | (near < 8192))
    made = np.zeros_like(volume)
    parts[1].copy_to(made)
    want = volume.copy()
    want[0, 0] = np.stack([volume[2, 1, :, 1], n[:16]], -1)
    same(made, want)
    bytes_ = np.zeros((16, 1), np.int16)
    parts[0].copy_to(bytes_)
    same(bytes_.view(np.int8).ravel(), np.arange(32, dtype=np.int8))


@pytest.mark.parametrize(("x", "y"), [(-4, 0), (16, 0), (0, 3), (0, -1), (2, 0)])
def test_a_trap(module, x, y):
    made = array(np.zeros((3, 4, 1), F), FLAGS)
    with pytest.raises((KernelError, RuntimeError), match="surface"):
        module.get_function("trapped")(1, 1, (surface(made), x, y))
        cuda.synchronize()
    out = np.ones((3, 4), F)
    made.copy_to(out)
    assert not out.any()


@pytest.mark.parametrize("device", ["interp", *(n for n in DEVICES if n in ("cpu", "vulkan"))])
def test_references(device):
    current.choose(get_device(device))
    module = cuda.RawModule(path=REFERENCES, backend="clang", via="ir")
    floats = RNG.normal(0, 1, (8, 1)).astype(F)
    colours = RNG.integers(0, 256, (3, 8, 4), np.uint8)
    volume = RNG.integers(-99, 99, (2, 1, 8, 2)).astype(np.int32)
    canvas = array(np.zeros((3, 8, 1), F), FLAGS)
    values = model.decoded(colours, True)[None, None]
    how = model.Texture([values], linear=True, of=colours.dtype)
    linear = texture.ResourceDescriptor(
        2, arr=cuda.to_device(floats), chDesc=form(floats), sizeInBytes=floats.nbytes
    )
    texture.TextureReference(module.get_texref("line"), linear, texture.TextureDescriptor())
    module.get_texref("image").bind(image(colours, how, readMode=1))
    module.get_texref("volume").bind(image(volume, model.Texture([])))
    module.get_texref("canvas").bind(surface(canvas))
    out, seen = np.zeros(8, F), np.zeros((8, 4), F)
    module.get_function("reads")(1, 8, (out, seen))
    n = np.arange(8).astype(F)
    same(seen, model.sample(how, [n + F(0.5), np.full(8, 1.5, F)]))
    same(out, floats[:, 0] + volume[1, 0, :, 1].astype(F))
    made = np.zeros((3, 8), F)
    canvas.copy_to(made)
    assert (made[2] == out).all() and not made[:2].any()


def test_a_template_that_is_the_programs_own():
    code = """template <typename T> struct texture { T x; };
    extern "C" __global__ void k(float *x) { texture<float> t = {2}; x[0] = t.x; }"""
    current.choose(get_device("cpu"))
    out = np.zeros(1, F)
    cuda.RawKernel(code, "k", backend="clang")(1, 1, (out,))
    assert out == [2]
