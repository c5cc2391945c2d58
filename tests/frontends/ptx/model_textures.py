"""Texture reads by CUDA's documented arithmetic, in numpy; it imports nothing of gridlane.

CUDA C++ Programming Guide, "Texture Fetching" and "Texture and Surface Memory". What these leave
open is as seen on a GPU of compute capability 9.0 by ``tests/peers/textures_on_gpu.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

WRAP, CLAMP, MIRROR, BORDER = range(4)
F = np.float32


@dataclass
class Texture:
    """A texture.

    Attributes:
        levels: each as (layer, z, y, x, channel), with the values that a texel reads as.
        modes: the address mode of each axis.
        of: the dtype of the texels, to which filters round.
    """

    levels: list[np.ndarray]
    modes: tuple[int, ...] = (CLAMP,) * 3
    linear: bool = False
    normalized: bool = False
    border: tuple[float, ...] = (0.0,) * 4
    linear_levels: bool = False
    bias: float = 0.0
    clamp: tuple[float, float] = field(default=(0.0, 0.0))
    of: np.dtype = field(default=np.dtype(F))

    def mode(self, axis: int) -> int:
        mode = self.modes[axis]
        return CLAMP if mode in (WRAP, MIRROR) and not self.normalized else mode


def decoded(texels: np.ndarray, normalized: bool = False, srgb: bool = False) -> np.ndarray:
    """What texels read as: floats, or integers of 32 bits."""
    if texels.dtype.kind == "f":
        return texels.astype(F)
    if not normalized:
        return texels.astype(np.int32 if texels.dtype.kind == "i" else np.uint32)
    most = np.iinfo(texels.dtype).max
    made = np.maximum(texels.astype(F) / F(most), F(-1))
    if srgb:
        c = texels[..., :3] / 255
        made[..., :3] = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4).astype(F)
    return made


def four(values: np.ndarray) -> np.ndarray:
    """Texels with the channels that they lack, which are 0."""
    lacking = 4 - values.shape[-1]
    return np.concatenate([values, np.zeros((*values.shape[:-1], lacking), values.dtype)], -1)


def _place(texture: Texture, axis: int, size: int, x: np.ndarray) -> np.ndarray:
    """A coordinate in texels: clamped, or in the first of the periods. NaN is 0."""
    x, mode = x.astype(F), texture.mode(axis)
    if texture.normalized:
        with np.errstate(invalid="ignore", over="ignore"):
            if mode == WRAP:
                x = np.minimum(x - np.floor(x), np.nextafter(F(1), F(0)))
            elif mode == MIRROR:
                x = x - F(2) * np.floor(x * F(0.5))
            x = x * F(size)
    x = np.where(np.isnan(x), F(0), x)
    if mode == BORDER:  # all is the border from there on
        return np.clip(x, F(-1), F(size + 1))
    return np.clip(x, F(0), F(2 * size if mode == MIRROR else size))


def _texel(texture: Texture, axis: int, size: int, index: np.ndarray) -> np.ndarray:
    """The number of a texel by the address mode; -1 is the border."""
    mode = texture.mode(axis)
    if mode == WRAP:
        return index % size
    if mode == MIRROR:
        folded = index % (2 * size)
        return np.where(folded < size, folded, 2 * size - 1 - folded)
    if mode == CLAMP:
        return np.clip(index, 0, size - 1)
    return np.where((index >= 0) & (index < size), index, -1)


def _pair(texture: Texture, axis: int, size: int, x: np.ndarray, linear: bool):
    """The first texel of one or two, and the weight of the second in parts of 256."""
    place = _place(texture, axis, size, x).astype(np.float64)
    if not linear:
        return np.floor(place).astype(np.int64), np.zeros(x.shape, np.int64)
    parts = np.floor(place * 256 + 0.5).astype(np.int64) - 128
    return parts >> 8, parts & 255


def _picked(texture: Texture, texels: np.ndarray, layer: np.ndarray, at: list[np.ndarray]):
    """Texels by their numbers along x, y, z; with the border."""
    outside = np.any([index < 0 for index in at], axis=0)
    x, y, z = (np.maximum(index, 0) for index in (*at, *[np.zeros_like(at[0])] * (3 - len(at))))
    found = four(texels[layer, z, y, x])
    border = np.array(texture.border, F)
    border[texels.shape[-1] :] = 0
    if texels.dtype.kind != "f":
        border = border.view(texels.dtype)
    elif texture.of.kind == "f":
        border = border.astype(texture.of).astype(F)
    else:  # the nearest that a texel may be
        most = np.iinfo(texture.of).max
        border = (
            np.ceil(np.clip(border, 0 if texture.of.kind == "u" else -1, 1) * most - 0.5) / most
        ).astype(F)
    return np.where(outside[:, None], border, found)


def sample(
    texture: Texture, at: list[np.ndarray], layer: np.ndarray | int = 0, level: int = 0
) -> np.ndarray:
    """Read a level at coordinates along x, y and z: four channels for each."""
    texels = texture.levels[level]
    layer = np.clip(np.broadcast_to(layer, at[0].shape), 0, len(texels) - 1)
    sizes = texels.shape[3:0:-1]
    pairs = [_pair(texture, axis, sizes[axis], x, texture.linear) for axis, x in enumerate(at)]
    if not texture.linear:
        found = [_texel(texture, n, sizes[n], first) for n, (first, _) in enumerate(pairs)]
        return _picked(texture, texels, layer, found)
    made = np.zeros((1 << len(at), len(at[0]), 4), F)
    weights = _weights([second for _, second in pairs])
    for number in range(1 << len(at)):
        found = [
            _texel(texture, axis, sizes[axis], first + (number >> axis & 1))
            for axis, (first, _) in enumerate(pairs)
        ]
        made[number] = _picked(texture, texels, layer, found)
    return _mixed(texture.of, made, weights)


def _weights(seconds: list[np.ndarray]) -> list[np.ndarray]:
    """The weight of each texel around a place in 1 / 256, x changing fastest, as 300,000 reads of
    an H200 have them: the nearest to the product of a slice's and x's, half up; and to the product
    of that and y's, on the left half down."""
    behind = seconds[2] if len(seconds) == 3 else np.zeros_like(seconds[0])
    made: list[np.ndarray] = []
    for whole in (256 - behind, behind):
        right = np.floor(whole * seconds[0] / 256 + 0.5).astype(int)
        if len(seconds) == 1:
            return [whole - right, right]
        lower_left = np.ceil((whole - right) * seconds[1] / 256 - 0.5).astype(int)
        lower_right = np.floor(right * seconds[1] / 256 + 0.5).astype(int)
        upper = [whole - right - lower_left, right - lower_right]
        made += [*upper, lower_left, lower_right]
    return made[: 1 << len(seconds)]


def _mixed(of: np.dtype, texels: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """The sum of texels by their weights, rounded to the precision of their kind."""
    if of.kind != "f":
        most, full = np.iinfo(of).max, 65535 if of.kind == "u" else 32767
        whole = np.rint(texels.astype(np.float64) * most).astype(np.int64)
        total = sum(each * weight[:, None] for each, weight in zip(whole, weights))
        steps = (2 * total * full + most * 256) // (2 * most * 256)
        return np.maximum(steps.astype(F) / F(full), F(-1))
    total = np.zeros(texels.shape[1:], F)
    for each, weight in zip(texels, weights):
        with np.errstate(invalid="ignore"):
            part = each * (weight.astype(F) / F(256))[:, None]
        total = total + np.where(weight[:, None] == 0, F(0), part)
    return total.astype(of).astype(F)


def fetch(texture: Texture, at: list[np.ndarray], level: int = 0) -> np.ndarray:
    """Read a level at integers, which do not wrap."""
    texels = texture.levels[level]
    sizes = texels.shape[3:0:-1]
    found = [_texel(texture, n, sizes[n], x.astype(np.int64)) for n, x in enumerate(at)]
    return _picked(texture, texels, np.zeros(at[0].shape, int), found)


def sample_detail(
    texture: Texture, detail: np.ndarray, at: list[np.ndarray], layer: np.ndarray | int = 0
) -> np.ndarray:
    """Read the level, or two, of a level of detail."""
    last = len(texture.levels) - 1
    detail = np.clip(detail.astype(F) + F(texture.bias), *map(F, texture.clamp))
    detail = np.clip(detail, F(0), F(last))
    made = np.stack([sample(texture, at, layer, level) for level in range(last + 1)])
    points = np.arange(len(detail))
    if not texture.linear_levels:
        return made[np.floor(detail + F(0.5)).astype(int), points]
    parts = np.rint(detail.astype(np.float64) * 256).astype(int)
    first, second = parts >> 8, ((parts & 255) / 256).astype(F)[:, None]
    far = made[np.minimum(first + 1, last), points]
    mixed = made[first, points] * (F(1) - second) + far * second
    return np.where(second > 0, mixed, made[first, points])


def detail_of(texture: Texture, dx: list[np.ndarray], dy: list[np.ndarray]) -> np.ndarray:
    """The level of detail of gradients along x and along y."""
    sizes = texture.levels[0].shape[3:0:-1]
    scale = [size if texture.normalized else 1 for size in sizes]
    lengths = [
        np.sqrt(sum((step * size) ** 2 for step, size in zip(steps, scale))) for steps in (dx, dy)
    ]
    with np.errstate(divide="ignore"):
        return np.log2(np.maximum(*lengths)).astype(F)


def gather(texture: Texture, at: list[np.ndarray], channel: int) -> np.ndarray:
    """One channel of the four texels that linear filtering would use."""
    texels = texture.levels[0]
    sizes = texels.shape[3:0:-1]
    (i, _), (j, _) = (_pair(texture, axis, sizes[axis], x, True) for axis, x in enumerate(at))
    made = []
    for right, below in ((0, 1), (1, 1), (1, 0), (0, 0)):
        found = [_texel(texture, 0, sizes[0], i + right), _texel(texture, 1, sizes[1], j + below)]
        made.append(_picked(texture, texels, np.zeros(i.shape, int), found)[:, channel])
    return np.stack(made, -1)


def on_face(x: np.ndarray, y: np.ndarray, z: np.ndarray):
    """The face of a cube in a direction, and the coordinates on it."""
    made = []
    for a, b, c in zip(x, y, z):
        if abs(a) >= abs(b) and abs(a) >= abs(c):
            face, m, s, t = (0, a, -c, -b) if a >= 0 else (1, -a, c, -b)
        elif abs(b) >= abs(c):
            face, m, s, t = (2, b, a, c) if b >= 0 else (3, -b, a, -c)
        else:
            face, m, s, t = (4, c, a, -b) if c >= 0 else (5, -c, -a, -b)
        made.append((face, (s / m + F(1)) * F(0.5), (t / m + F(1)) * F(0.5)))
    face, s, t = zip(*made)
    return np.array(face), np.array(s, F), np.array(t, F)
