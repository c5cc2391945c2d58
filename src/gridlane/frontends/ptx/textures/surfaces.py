"""Places in surfaces. Their x coordinate counts bytes."""

from __future__ import annotations

from gridlane.core.dtypes import b1, i32, i64, u64
from gridlane.core.texture_record import LevelWord, Word
from gridlane.frontends.ptx.textures.filters import row_of
from gridlane.frontends.ptx.textures.records import Texture, limited
from gridlane.ir.expressions import Expression, Writer


def placed(
    w: Writer, handle: Expression, size: Expression, layer: Expression, *coordinates: Expression
) -> list[Expression]:
    """The address of ``size`` bytes of a surface, or of the nearest inside of it; whether it is the
    requested one; and whether the bytes fit into a row and the coordinate is a multiple of their
    size."""
    texture = Texture(w, handle)
    last = texture.of_level(LevelWord.WIDTH) * texture.size.cast(i32) - size
    sizes = (LevelWord.HEIGHT, LevelWord.DEPTH)
    lasts = [last, *(texture.of_level(each) - 1 for each in sizes[: len(coordinates) - 1])]
    layers = texture.word(Word.LAYERS).cast(i32) - 1
    inside = w.const(True, b1)
    indices: list[Expression] = []
    for x, high in zip((*coordinates, layer), (*lasts, layers), strict=True):
        place = limited(w, x, high)
        inside = inside & place.equals(x)
        indices.append(place)
    row = row_of(texture, indices[:-1], indices[-1])
    offset = texture.offset(row, indices[0].cast(i64))
    sound = (last >= 0) & (coordinates[0] & (size - 1)).equals(0)
    return [texture.address() + offset.reread(u64), inside, sound]
