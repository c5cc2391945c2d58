"""Compare the textures of an NVIDIA GPU with gridlane's, and with the model of the tests.

    python tests/peers/textures_on_gpu.py [--devices cuda,cpu] [--probes]

Needs an NVIDIA GPU and cuda-bindings, and clang or NVRTC for the kernels. The same PTX goes to the
driver, with texture objects of the CUDA runtime, and to gridlane. For each mode a line says how
many of the numbers differ from the hardware's, and by how much at most; then the first of them.
``--probes`` prints what the hardware does where CUDA's documents say nothing. Where CuPy is, one
program runs with ``cupy.cuda.texture`` and with ``gridlane.cuda.texture``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.frontends.ptx import model_textures as model
from tests.peers import texture_probes

from gridlane import cuda
from gridlane.cuda import texture
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parents[1] / "frontends/cuda_cpp/textures.cu"
COUNT = texture_probes.COUNT
F = np.float32
RNG = np.random.default_rng(5)
MODES = texture_probes.MODES
Case = tuple[str, Callable[[Any], np.ndarray], np.ndarray]
"""A name, what runs it on a backend, and what the model says."""


class Ours:
    """gridlane's textures on a device."""

    def __init__(self, ptx: str, device: str) -> None:
        self.name, self._device = f"gridlane {device}", get_device(device)
        current.choose(self._device)
        self._module = cuda.RawModule(code=ptx)

    def image(self, texels: np.ndarray, how: model.Texture, flags: int = 0, read: int = 0):
        """A texture object of an array."""
        current.choose(self._device)
        sizes = [*texels.shape[-2::-1], 0, 0][:3]
        if flags & 1 and texels.ndim == 3:
            sizes = [sizes[0], 0, sizes[1]]
        array = texture.CUDAarray(_format(texels), *sizes, flags)
        array.copy_from(texels)
        return self._object(texture.ResourceDescriptor(0, cuArr=array), how, read)

    def mipmapped(self, how: model.Texture, texels: list[np.ndarray]):
        """A texture object of the levels of an image."""
        current.choose(self._device)
        height, width, _ = texels[0].shape
        array = texture.MipmappedArray(_format(texels[0]), width, height, 0, len(texels))
        for number, level in enumerate(texels):
            array.level(number).copy_from(level)
        return self._object(texture.ResourceDescriptor(1, cuArr=array), how, 0)

    def linear(self, texels: np.ndarray):
        """A texture object of linear memory."""
        current.choose(self._device)
        there = cuda.to_device(texels)
        form = _format(texels)
        resource = texture.ResourceDescriptor(2, None, there, form, texels.nbytes)
        return self._object(resource, model.Texture([]), 0)

    @staticmethod
    def _object(resource: texture.ResourceDescriptor, how: model.Texture, read: int):
        made = texture.TextureDescriptor(
            *(how.modes, int(how.linear), read & 1, bool(read >> 1), how.border, how.normalized),
            *(None, int(how.linear_levels), how.bias, *how.clamp),
        )
        return texture.TextureObject(resource, made)

    def run(self, name: str, *args: Any, threads: int) -> None:
        """Launch."""
        current.choose(self._device)
        self._module.get_function(name)(1, threads, args)


def _format(texels: np.ndarray) -> texture.ChannelFormatDescriptor:
    bits = [8 * texels.dtype.itemsize * (n < texels.shape[-1]) for n in range(4)]
    return texture.ChannelFormatDescriptor(*bits, "iuf".index(texels.dtype.kind))


def places(size: int, normalized: bool) -> np.ndarray:
    """Coordinates inside and outside."""
    made = RNG.uniform(-1.5, 2.5, COUNT).astype(F)
    return made if normalized else made * F(size)


def shown(texels: np.ndarray, how: model.Texture, read: int = 0) -> Callable[[Any], Any]:
    """What makes a texture object on a backend."""
    return lambda backend: backend.image(texels, how, 0, read)


def read(kernel: str, made: Callable[[Any], Any], at: list[np.ndarray], dtype: Any = F):
    """What runs a kernel that reads four channels at coordinates."""

    def run(backend: Any) -> np.ndarray:
        out = np.zeros((COUNT, 4), dtype)
        backend.run(kernel, made(backend), *at, out, threads=COUNT)
        return out

    return run


# --- the cases


def images() -> Iterator[Case]:
    kinds = {
        "f32": RNG.uniform(-1, 1, (9, 13, 1)).astype(F),
        "f16x4": RNG.uniform(-1, 1, (8, 8, 4)).astype(np.float16),
        "u8x2": RNG.integers(0, 256, (5, 7, 2), np.uint8),
        "i16": RNG.integers(-(2**15), 2**15, (6, 5, 1), np.int16),
        "u16x4": RNG.integers(0, 2**16, (6, 5, 4), np.uint16),
    }
    for name, texels in kinds.items():
        whole = texels.dtype.kind != "f"
        values = model.decoded(texels, whole)[None, None]
        for linear in (False, True):
            for normalized in (False, True):
                for mode in range(4) if normalized else (1, 3):
                    how = model.Texture(
                        *([values], (mode,) * 3, linear, normalized, (0.25, 0.5, 0.75, 1.0)),
                        of=texels.dtype,
                    )
                    at = [places(size, normalized) for size in texels.shape[1::-1]]
                    told = f"2d {name} {'linear' if linear else 'point'} {MODES[mode]}"
                    told += " normalized" if normalized else ""
                    make = shown(texels, how, int(whole))
                    yield told, read("tex_2d", make, at), model.sample(how, at)


def others() -> Iterator[Case]:
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4"):
        info = np.iinfo(dtype)
        texels = RNG.integers(info.min, info.max, (4, 4, 4), dtype, endpoint=True)
        how = model.Texture([model.decoded(texels)[None, None]])
        at = [places(4, False), places(4, False)]
        make = shown(texels, how)
        want = model.sample(how, at).view(np.int32)
        yield f"2d integers {dtype}", read("tex_2d_integers", make, at, np.int32), want
    line, volume = (RNG.uniform(-1, 1, s).astype(F) for s in ((11, 2), (5, 6, 7, 1)))
    for linear in (False, True):
        told = "linear" if linear else "point"
        how = model.Texture([line[None, None, None]], linear=linear)
        at = [places(11, False)]
        make = shown(line, how)
        yield f"1d {told}", read("tex_1d", make, at), model.sample(how, at)
        how = model.Texture([volume[None]], linear=linear)
        at = [places(size, False) for size in (7, 6, 5)]
        make = shown(volume, how)

        def in_3d(backend: Any, make: Any = make, at: Any = at) -> np.ndarray:
            out = np.zeros((COUNT, 4), F)
            backend.run("tex_3d", make(backend), *at, out, threads=COUNT)
            return out

        yield f"3d {told}", in_3d, model.sample(how, at)
    yield from (layered(), cube(), fetched(), srgb())
    yield from (gathered(channel) for channel in (0, 1))
    yield from levels()


def layered() -> Case:
    lines = RNG.integers(-999, 999, (3, 8, 2)).astype(np.int16)
    several = RNG.uniform(-1, 1, (4, 5, 6, 2)).astype(F)
    x, y = places(6, False), places(5, False)
    layer = RNG.integers(-2, 7, COUNT).astype(np.int32)
    known = np.where(layer < 0, 99, layer)
    of_lines = model.Texture([model.decoded(lines)[:, None, None]])
    of_images = model.Texture([several[:, None]], linear=True)

    def run(backend: Any) -> np.ndarray:
        line, out = np.zeros((COUNT, 2), np.int16), np.zeros((COUNT, 2), F)
        objects = backend.image(lines, of_lines, 1), backend.image(several, of_images, 1)
        backend.run("layers", *objects, x, y, layer, line, out, threads=COUNT)
        return np.concatenate([line.astype(F), out], -1)

    want = [model.sample(of_lines, [x], known), model.sample(of_images, [x, y], known)]
    return "layers", run, np.concatenate([each[:, :2].astype(F) for each in want], -1)


def cube() -> Case:
    texels = RNG.uniform(-1, 1, (12, 4, 4, 1)).astype(F)
    x, y, z = RNG.normal(0, 1, (3, COUNT)).astype(F)
    number = RNG.integers(0, 2, COUNT).astype(np.int32)
    how = model.Texture([texels[:, None]], linear=True, normalized=True)

    def run(backend: Any) -> np.ndarray:
        out, more = np.zeros(COUNT, F), np.zeros(COUNT, F)
        objects = backend.image(texels[:6], how, 4), backend.image(texels, how, 5)
        backend.run("cubes", *objects, x, y, z, number, out, more, threads=COUNT)
        return np.stack([out, more], -1)

    face, s, t = model.on_face(x, y, z)
    made = [model.sample(how, [s, t], face + 6 * n)[:, 0] for n in (0, number)]
    return "cubes", run, np.stack(made, -1)


def fetched() -> Case:
    four, one = RNG.integers(0, 256, (50, 4), np.uint8), RNG.uniform(-1, 1, (50, 1)).astype(F)
    x = RNG.integers(-9, 60, COUNT).astype(np.int32)

    def run(backend: Any) -> np.ndarray:
        out, more = np.zeros((COUNT, 4), np.uint8), np.zeros(COUNT, F)
        backend.run(
            "fetches", backend.linear(four), backend.linear(one), x, out, more, threads=COUNT
        )
        return np.concatenate([out.astype(F), more[:, None]], -1)

    inside = ((x >= 0) & (x < 50))[:, None]
    at = np.clip(x, 0, 49)
    both = np.concatenate([four[at].astype(F), one[at]], -1)
    return "1d fetches of linear memory", run, np.where(inside, both, F(0))


def srgb() -> Case:
    texels = RNG.integers(0, 256, (8, 8, 4), np.uint8)
    how = model.Texture([model.decoded(texels, True, True)[None, None]])
    at = [places(8, False), places(8, False)]
    make = shown(texels, how, 3)
    return "2d sRGB", read("tex_2d", make, at), model.sample(how, at)


def gathered(second: int) -> Case:
    texels = RNG.uniform(-1, 1, (6, 5, 4)).astype(F)
    how = model.Texture([texels[None, None]])
    at = [places(5, False), places(6, False)]

    def run(backend: Any) -> np.ndarray:
        out = np.zeros((COUNT, 4), F), np.zeros((COUNT, 4), F)
        backend.run("gathers", backend.image(texels, how, 8), *at, *out, threads=COUNT)
        return out[second]

    return f"gathers of channel {2 * second}", run, model.gather(how, at, 2 * second)


def levels() -> Iterator[Case]:
    texels = [RNG.uniform(-1, 1, (16 >> n, 16 >> n, 1)).astype(F) for n in range(4)]
    detail = RNG.uniform(-1, 5, COUNT).astype(F)
    steps = RNG.uniform(-0.3, 0.3, (2, COUNT, 2)).astype(F)
    for linear in (False, True):
        known = [each[None, None] for each in texels]
        how = model.Texture(
            *(known, (1,) * 3, True, True), linear_levels=linear, bias=0.25, clamp=(0.5, 2.75)
        )
        at = [places(16, True), places(16, True)]

        def by_level(backend: Any, how: Any = how, at: Any = at) -> np.ndarray:
            out = np.zeros(COUNT, F)
            made = backend.mipmapped(how, texels)
            backend.run("levels", made, *at, detail, out, threads=COUNT)
            return out

        def by_gradient(backend: Any, how: Any = how, at: Any = at) -> np.ndarray:
            out = np.zeros(COUNT, F)
            made = backend.mipmapped(how, texels)
            backend.run("gradients", made, *at, *steps, out, threads=COUNT)
            return out

        told = "linear" if linear else "nearest"
        yield f"{told} levels", by_level, model.sample_detail(how, detail, at)[:, 0]
        found = model.detail_of(how, [*steps[0].T], [*steps[1].T])
        yield f"{told} gradients", by_gradient, model.sample_detail(how, found, at)[:, 0]


def with_cupy() -> None:
    """One program, with CuPy's names and with ours."""
    import cupy

    current.choose(get_device("cuda"))
    code = SOURCE.read_text()
    values = RNG.uniform(-1, 1, (6, 8)).astype(F)
    x, y = places(8, False), places(6, False)
    results: list[np.ndarray] = []
    for module, arrays, kernels in (
        (cupy.cuda.texture, cupy.asarray, cupy.RawKernel),
        (texture, cuda.to_device, cuda.RawKernel),
    ):
        form = module.ChannelFormatDescriptor(32, 0, 0, 0, texture.cudaChannelFormatKindFloat)
        array = module.CUDAarray(form, 8, 6)
        array.copy_from(values)
        resource = module.ResourceDescriptor(texture.cudaResourceTypeArray, cuArr=array)
        made = module.TextureObject(resource, module.TextureDescriptor((1, 1), 1))
        out = arrays(np.zeros((COUNT, 4), F))
        kernels(code, "tex_2d")((1,), (COUNT,), (made, arrays(x), arrays(y), out))
        results.append(np.asarray(out.get() if hasattr(out, "get") else out.copy_to_host()))
    told(results[0], results[1], "the same program", "after CuPy")


def told(hardware: np.ndarray, got: np.ndarray, case: str, name: str) -> bool:
    """Print how a result differs from the hardware's; whether it does."""
    wrong = (hardware != got) & ~((hardware != hardware) & (got != got))
    count = np.count_nonzero(wrong)
    if not count:
        print(f"{case:42} {name:14} equal")
        return False
    apart = np.abs(hardware.astype(np.float64) - got.astype(np.float64))[wrong]
    place = tuple(int(n) for n in np.argwhere(wrong)[0])
    first = f"first at {place}: {hardware[place]!r}, here {got[place]!r}"
    print(
        f"{case:42} {name:14} {count} of {wrong.size} differ, at most {np.max(apart):.3g}; {first}"
    )
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", default="cuda,cpu", help="those of gridlane")
    parser.add_argument("--probes", action="store_true", help="what the documents leave open")
    options = parser.parse_args()
    # Drivers refuse a version that is newer than they are; these kernels need no new one.
    ptx = re.sub(r"\.version \d+\.\d+", ".version 7.8", cuda.compile_cpp(SOURCE.read_text()))
    from tests.peers.hardware_textures import Hardware

    hardware = Hardware(ptx)
    ours = [Ours(ptx, name) for name in options.devices.split(",") if name]
    if options.probes:
        texture_probes.run(hardware)
    differing = 0
    for case, run, want in (*images(), *others()):
        seen = run(hardware)
        differing += told(seen, want, case, "model")
        for backend in ours:
            told(seen, run(backend), case, backend.name)
    try:
        with_cupy()
    except ImportError:
        print("CuPy is absent")
    print(f"{differing} cases in which the model is not the hardware")


if __name__ == "__main__":
    main()
