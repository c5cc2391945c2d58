"""Mipmap levels: by a stated level of detail, or by gradients; and the faces of cubes."""

from __future__ import annotations

from gridlane.core.dtypes import f32, i32, u32
from gridlane.core.texture_record import Flag, LevelWord, Word
from gridlane.frontends.ptx.textures.filters import STEPS, floor
from gridlane.frontends.ptx.textures.records import Texture, called
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import math
from gridlane.ir.values import Function


def by_level(
    w: Writer,
    handle: Expression,
    detail: Expression,
    layer: Expression,
    *coordinates: Expression,
    reader: Function,
) -> list[Expression]:
    """Read the level, or the two levels, of a level of detail.

    Args:
        reader: reads one level.
    """
    texture = Texture(w, handle)
    bias, low, high = (
        texture.word(place).reread(f32) for place in (Word.BIAS, Word.LOWEST, Word.HIGHEST)
    )
    levels = texture.word(Word.LEVELS).cast(i32)
    last = levels - 1
    detail = (detail + bias).most(low).least(high).most(0.0).least(last.cast(f32))
    linear = texture.has(Flag.LINEAR_LEVELS)
    steps = (detail * float(STEPS)).rint().cast(i32)
    nearest = floor(w, detail + 0.5).cast(i32)
    first = w.select(linear, steps >> 8, nearest)
    second = w.select(linear, steps & (STEPS - 1), 0)
    results = [
        w.variable("channel", each)
        for each in called(w, reader, handle, first, layer, *coordinates)
    ]
    with w.when(second > 0):
        share = second.cast(f32) * (1.0 / STEPS)
        others = called(w, reader, handle, (first + 1).least(last), layer, *coordinates)
        for target, other in zip(results, others, strict=True):
            near, far = target.get().reread(f32), other.reread(f32)
            target.set((near * (1.0 - share) + far * share).reread(u32))
    return [each.get() for each in results]


def detail_of(w: Writer, handle: Expression, *gradients: Expression) -> list[Expression]:
    """The level of detail of gradients: those along x, then along y, of each coordinate."""
    texture = Texture(w, handle)
    sizes = (LevelWord.WIDTH, LevelWord.HEIGHT, LevelWord.DEPTH)
    count = len(gradients) // 2
    normalized = texture.has(Flag.NORMALIZED_COORDINATES)
    longest = w.real(0.0)
    for start in (0, count):
        total = w.real(0.0)
        for number in range(count):
            scale = w.select(normalized, texture.of_level(sizes[number]).cast(f32), 1.0)
            step = gradients[start + number] * scale
            total = total + step * step
        longest = longest.most(total)
    return [w.wrap(w.builder.unary(math.Log2, longest.value)) * 0.5]


def on_face(w: Writer, x: Expression, y: Expression, z: Expression) -> list[Expression]:
    """The face of a cube in a direction, and the coordinates on it from 0 to 1."""
    ax, ay, az = abs(x), abs(y), abs(z)
    by_x = (ax >= ay) & (ax >= az)
    by_y = ay >= az
    major = w.select(by_x, x, w.select(by_y, y, z))
    negative = major < 0.0
    number = w.select(by_x, w.const(0, i32), w.select(by_y, w.const(2, i32), 4))
    face = number + w.select(negative, w.const(1, i32), 0)
    side = w.select(by_x, w.select(negative, z, -z), w.select(by_y | ~negative, x, -x))
    up = w.select(by_x | ~by_y, -y, w.select(negative, -z, z))
    length = abs(major)
    return [face, (side / length + 1.0) * 0.5, (up / length + 1.0) * 0.5]
