"""What the textures of a GPU do where CUDA's documents say nothing, for ``textures_on_gpu.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.frontends.ptx import model_textures as model

COUNT = 512
F = np.float32
RNG = np.random.default_rng(7)
MODES = ("wrap", "clamp", "mirror", "border")


def run(backend: Any) -> None:
    """Print it all."""
    lines(backend)
    volumes(backend)
    levels(backend)
    colours(backend)


def lines(backend: Any) -> None:
    """Print what a filter of one axis, and coordinates at the edges, give."""

    def at(texels: np.ndarray, x: list[float], **more: Any) -> np.ndarray:
        how = model.Texture([texels[None, None, None]], **more)
        given = np.resize(np.array(x, F), COUNT)
        out = np.zeros((COUNT, 4), F)
        backend.run("tex_1d", backend.image(texels, how), given, out, threads=COUNT)
        return out[: len(x)]

    step = np.array([[0.0], [1.0]], F)
    fine = np.arange(COUNT) / 2048 + 0.5
    got = at(step, [*fine], linear=True)[:, 0] * 256
    for told, rounded in (
        ("to nearest even", np.rint),
        ("half up", lambda x: np.floor(x + 0.5)),
        ("down", np.floor),
    ):
        wrong = np.count_nonzero(got != rounded((fine - 0.5) * 256))
        print(f"  weights rounded {told}: {wrong} of {len(fine)} differ")
    print("  a texel of one channel:", at(np.array([[2.0]], F), [0.5])[0])
    odd = [np.nan, np.inf, -np.inf, 3e38, -3e38, -1e-9, -1e-7, 1.0, 0.99999994]
    three = np.array([[1.0], [2.0], [3.0]], F)
    for mode in range(4):
        for linear in (False, True):
            made = at(three, odd, modes=(mode,) * 3, normalized=True, linear=linear)[:, 0]
            print(f"  {MODES[mode]} {'linear' if linear else 'point'} at {odd}: {made}")
    bad = np.array([[1.0], [np.inf], [np.nan]], F)
    print("  1 beside inf, inf beside nan:", at(bad, [0.5, 1.5], linear=True)[:, 0])
    bytes_ = np.arange(256, dtype=np.uint8)[:, None]
    how = model.Texture([model.decoded(bytes_, True)[None, None, None]])
    x = np.resize(np.arange(256, dtype=F), COUNT)
    out = np.zeros((COUNT, 4), F)
    backend.run("tex_1d", backend.image(bytes_, how, 0, 1), x, out, threads=COUNT)
    wrong = np.count_nonzero(out[:256, 0] != np.arange(256, dtype=F) / F(255))
    print(f"  bytes / 255 rounded correctly: {wrong} of 256 differ")


def volumes(backend: Any) -> None:
    """Print the weights of texels around places of three axes."""
    corners = np.eye(8, dtype=F).reshape(2, 2, 2, 8)
    at = np.floor(RNG.uniform(0, 256, (3, COUNT))).astype(F)
    parts: list[np.ndarray] = []
    for half in (corners[..., :4], corners[..., 4:]):
        how = model.Texture([half[None]], linear=True)
        out = np.zeros((COUNT, 4), F)
        given = [x / F(256) + F(0.5) for x in at]
        backend.run("tex_3d", backend.image(np.ascontiguousarray(half), how), *given, out,
                    threads=COUNT)  # fmt: skip
        parts.append(out)
    weights = np.concatenate(parts, -1) * 256
    known = np.stack(model._weights([*at.astype(int)]), -1)
    print(f"  weights of 3 axes: {np.count_nonzero(weights != known)} of {known.size} differ")
    for n in range(12):
        print("   ", at[:, n], weights[n], known[n])


def levels(backend: Any) -> None:
    """Print the levels of detail of numbers and of gradients: each level has its number."""
    texels = [np.full((256 >> n, 256 >> n, 1), n, F) for n in range(9)]
    how = model.Texture(
        [each[None, None] for each in texels], (1,) * 3, True, True, linear_levels=True,
        clamp=(0.0, 8.0),
    )  # fmt: skip
    middle, steps = np.full(COUNT, 0.5, F), np.zeros((2, COUNT, 2), F)
    mean = backend.mipmapped(how, texels)
    detail, out = (np.arange(COUNT) / 1024 + 1).astype(F), np.zeros(COUNT, F)
    backend.run("levels", mean, middle, middle, detail, out, threads=COUNT)
    print("  levels * 256 at n / 1024:", *((out[:24] - 1) * 256))
    shapes = [(1, 0, 0, 0), (3, 0, 0, 0), (0, 3, 0, 0), (0, 0, 3, 0), (3, 3, 0, 0), (3, 1, 0, 0),
              (4, 2, 0, 0), (4, 3, 0, 0), (3, 0, 3, 0), (3, 0, 0, 3), (3, 3, 3, 3), (3, 3, -3, 3),
              (4, 1, 1, 4), (4, 2, 2, 1), (4, 2, -2, 1), (5, 0, 0, 0), (6, 0, 0, 0), (7, 0, 0, 0),
              (4, 0.5, 0, 0), (4, 0, 0.5, 0), (4, 0, 0, 0.5),
              (4, 0, 0, 2), (4, 0, 0, 4)]  # fmt: skip
    for n, shape in enumerate(shapes):
        steps[0, n], steps[1, n] = np.array(shape, F).reshape(2, 2) / 256
    random = RNG.uniform(-8, 8, (60, 4)).astype(F)
    for n, shape in enumerate(random):
        steps[0, 100 + n], steps[1, 100 + n] = shape.reshape(2, 2) / F(256)
    backend.run("gradients", mean, middle, middle, *steps, out, threads=COUNT)
    for n, shape in (*enumerate(shapes), *enumerate(map(tuple, random), 100)):
        print("  gradients", *(f"{each:.6g}" for each in shape), "level * 256", out[n] * 256)


def colours(backend: Any) -> None:
    """Print what sRGB bytes read as."""
    bytes_ = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, 1)
    how = model.Texture([model.decoded(bytes_, True, True)[None, None, None]])
    made = np.zeros((COUNT, 4), F)
    x = np.resize(np.arange(256, dtype=F), COUNT)
    backend.run("tex_1d", backend.image(bytes_, how, 0, 3), x, made, threads=COUNT)
    print("  sRGB * 2**20:", *(int(each) for each in made[:256, 0].astype(float) * 2**20))
    print(
        "  alpha of sRGB is linear:", bool((made[:256, 3] == np.arange(256, dtype=F) / 255).all())
    )
